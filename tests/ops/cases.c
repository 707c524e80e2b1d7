#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t below(struct draw *d, int64_t n) { return (int64_t)wl_random_below(d->seed, d->number, d->i++, (uint64_t)n); }

int64_t one_of(struct draw *d, const int64_t *v, int64_t n) { return v[below(d, n)]; }

void train(struct wl_plan *p)
{
    struct wl_counts c = { 0 };
    struct wl_err e = { 0 };
    if (wl_plan_train(p, true, true, &c, &e)) fail_msg("%s", e.msg);
}

struct floats read_tensor(int (*read)(struct wl_plan *, const struct wl_tensor *, float *, struct wl_err *),
                          struct wl_plan *p, const struct wl_tensor *t, struct wl_arena *a)
{
    struct wl_err e = { 0 };
    size_t n = (size_t)wl_dims_count(wl_tensor_dims(t));
    struct floats f = { wl_new_array(a, float, n), n };
    if (read(p, t, f.v, &e)) fail_msg("%s", e.msg);
    return f;
}

void compare(const char *what, struct floats got, struct floats want, double nmse_limit, const char *line)
{
    double d = nmse(got, want);
    if (!(d <= nmse_limit)) fail_msg("%s: NMSE %.3g > %.3g; repeat: %s", what, d, nmse_limit, line);
}

void same_bits(const char *what, struct floats x, struct floats y, const char *line)
{
    if (memcmp(x.v, y.v, x.n * sizeof *x.v)) fail_msg("%s: other bits; repeat: %s", what, line);
}

char *repeat_line(struct wl_arena *a, const char *program, const char *op, uint64_t number, enum wl_dtype precision,
                  const struct wl_tensor *x, const struct wl_tensor *y)
{
    return wl_strf(a, "%s %s %llu%s (%s%s%s)", program, op, (unsigned long long)number,
                   precision == WL_BF16 ? " bf16" : "", x ? wl_strf(a, "x %s", wl_dims_text(a, wl_tensor_dims(x))) : "",
                   x ? ", y " : "y ", wl_dims_text(a, wl_tensor_dims(y)));
}

/* ---- the program ---- */

/* A case, or all of an operation. */
struct subject {
    const struct cases *of;
    const void *op;
    uint64_t number;
    enum wl_dtype precision;
};

static const void *op_at(const struct cases *c, size_t i) { return (const char *)c->ops + i * c->op_size; }
static const char *name_of(const void *op) { return *(const char *const *)op; }

static void test_op(void **state)
{
    const struct subject *s = *state;
    struct wl_err e = { 0 };
    if (wl_backend_precision("cpu", s->precision, true, &e)) {
        printf("SKIP: %s\n", e.msg);
        skip();
    }
    for (uint64_t i = 0; i < s->of->each; i++) s->of->run(s->op, i, s->precision);
}

static void test_alone(void **state)
{
    const struct subject *s = *state;
    s->of->run(s->op, s->number, s->precision);
}

static int run_alone(const struct cases *c, const char *name, const char *number, bool bf16)
{
    struct subject s = { c, NULL, strtoull(number, NULL, 10), bf16 ? WL_BF16 : WL_F32 };
    for (size_t i = 0; i < c->n_ops; i++)
        if (!strcmp(name, name_of(op_at(c, i)))) s.op = op_at(c, i);
    if (!s.op) {
        printf("no operation %s\n", name);
        return 2;
    }
    const struct CMUnitTest one[] = { cmocka_unit_test_prestate(test_alone, &s) };
    return cmocka_run_group_tests(one, NULL, NULL);
}

int cases_main(const struct cases *c, int argc, char **argv)
{
    if (argc > 2) return run_alone(c, argv[1], argv[2], argc > 3 && !strcmp(argv[3], "bf16"));
    const enum wl_dtype precisions[] = { WL_F32, WL_BF16 };
    const size_t n = WL_COUNT(precisions) * c->n_ops;
    struct wl_arena *a = wl_arena_new(NULL);
    struct CMUnitTest *tests = wl_new_array(a, struct CMUnitTest, n + c->n_others);
    struct subject *subjects = wl_new_array(a, struct subject, n);
    for (size_t i = 0; i < n; i++) {
        subjects[i] = (struct subject) { c, op_at(c, i % c->n_ops), 0, precisions[i / c->n_ops] };
        const char *name = wl_strf(a, "%s %s", name_of(subjects[i].op), wl_dtype_name(subjects[i].precision));
        tests[i] = (struct CMUnitTest) { name, test_op, NULL, NULL, &subjects[i] };
    }
    for (size_t i = 0; i < c->n_others; i++) tests[n + i] = c->others[i];
    int failed = _cmocka_run_group_tests("cases", tests, n + c->n_others, NULL, NULL);
    wl_arena_free(a);
    return failed;
}

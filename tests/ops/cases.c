#include "cases.h"

#include "gradient_check.h"

#include "nn/simd/simd.h"

#include <math.h>
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

void products_on_one_thread(const char *what, struct floats two, struct floats one, const char *line)
{
    if (wl_str_eq(wl_simd()->name, "x86-64-v4"))
        same_bits(what, two, one, line);
    else
        compare(what, two, one, 1e-12, line);
}

/* ---- a case ---- */

struct wl_tensor *case_input(struct twin *t, const char *name, struct wl_dims dims)
{
    struct wl_tensor *x = wl_input(t->g, name, WL_F32, dims);
    wl_want_gradient(t->g, x);
    return x;
}

void fill_tokens(struct twin *t, uint64_t seed)
{
    for (size_t i = 0; i < t->g->n_tensors; i++) {
        const struct wl_tensor *in = t->g->tensors[i];
        if (in->role != WL_ROLE_INPUT || in->dtype != WL_I32) continue;
        int32_t *to = wl_plan_input(t->plan, in);
        const bool lengths = !strcmp(in->name, "lengths"), positions = !strcmp(in->name, "positions");
        const int64_t limit = lengths ? t->s + 1 : positions ? t->s : t->vocabulary;
        for (int64_t k = 0; k < wl_dims_count(&in->dims); k++)
            to[k] = (int32_t)wl_random_below(seed, wl_hash_fnv1a(in->name), (uint64_t)k, (uint64_t)limit);
        if (lengths) to[0] = (int32_t)t->s;
    }
}

const struct op_case *find_case(const struct op_family *f, const char *op)
{
    for (size_t i = 0; i < f->n_ops; i++)
        if (!strcmp(op, f->ops[i].name)) return &f->ops[i];
    return NULL;
}

static void fill_padding(const struct twin *t)
{
    float *target = wl_plan_input(t->plan, t->target);
    const struct wl_dims *size = wl_tensor_dims(t->y);
    const int64_t n = wl_dims_count(size);
    for (int64_t i = t->rows * (n / size->d[0]); i < n; i++) target[i] = NAN;
}

struct twin case_twin(const struct op_family *f, const struct op_case *op, uint64_t number, struct wl_plan_opts opts,
                      struct wl_arena *a)
{
    struct draw d = { 3, number ^ wl_hash_fnv1a(op->name), 0 };
    struct twin t = { .g = wl_graph_new(a), .number = number, .vocabulary = 2 };
    op->build(&t, &d);
    if (!wl_op_is_loss(t.y->producer->op)) {
        t.target = wl_input(t.g, "target", WL_F32, *wl_tensor_dims(t.y));
        wl_mean_square(t.g, "loss", t.y, t.target, (struct wl_loss) { .weight = 100 });
    }
    opts.keep_values = true;
    opts.slow_bf16 = true;
    struct wl_err e = { 0 };
    const int rc = wl_plan_new(&t.plan, t.g, &opts, NULL, a, &e);
    if (rc == WL_EUNAVAIL && strstr(e.msg, "does not have this operation")) {
        printf("SKIP: %s\n", e.msg);
        wl_arena_free(a);
        skip();
    }
    if (rc) fail_msg("%s", e.msg);
    wl_plan_set_loss_scale(t.plan, &(struct wl_loss_scale) { .scale = 4 }); /* no overflow: losses weigh 100 */
    fill_inputs(t.plan, t.g, number, 2);
    fill_state(t.plan, number);
    if (t.rows) fill_padding(&t);
    if (f->fill) f->fill(&t, number);
    return t;
}

/* ---- what is compared ---- */

/* The line that runs a case alone, "test_ops conv2d 7 gradient", with the shapes of its input and result. */
static char *repeat_line(const struct op_case *op, const char *test, const struct twin *t, struct wl_arena *a)
{
    return wl_strf(a, "test_ops %s %llu %s (%s%sy %s)", op->name, (unsigned long long)t->number, test,
                   t->x ? wl_strf(a, "x %s", wl_dims_text(a, wl_tensor_dims(t->x))) : "", t->x ? ", " : "",
                   wl_dims_text(a, wl_tensor_dims(t->y)));
}

/* What a plan has computed. */
struct computed {
    struct floats y, dx, dw;
};

static struct computed computed(const struct twin *t, struct wl_arena *a)
{
    train(t->plan);
    struct computed c = { .y = read_tensor(wl_plan_value, t->plan, t->y, a), .dw = all_gradients(t->plan, a) };
    if (t->x) c.dx = read_tensor(wl_plan_value_gradient, t->plan, t->x, a);
    return c;
}

static void compare_threads(const struct op_family *f, const struct computed *two, const struct computed *one,
                            const char *line)
{
    if (!f->same_on_one_thread) return;
    f->same_on_one_thread("one thread, result", two->y, one->y, line);
    if (two->dx.n) f->same_on_one_thread("one thread, gradient of x", two->dx, one->dx, line);
    f->same_on_one_thread("one thread, gradients of parameters", two->dw, one->dw, line);
}

/* cpu: with another number of threads, and once more. */
static void repeat_on_cpu(const struct op_family *f, const struct op_case *op, const struct twin *t,
                          enum wl_dtype precision, const struct computed *got, const char *line, struct wl_arena *a)
{
    const struct wl_plan_opts on_one = { .backend = "cpu", .precision = precision, .threads = 1 };
    const struct twin one = case_twin(f, op, t->number, on_one, a);
    const struct computed alone = computed(&one, a);
    compare_threads(f, got, &alone, line);
    same_bits("a second run", got->dw, computed(t, a).dw, line);
}

/* gpu: with the threads of kernels in other orders, which a missing barrier shows; the second run is that of a captured
 * graph. */
static void repeat_in_orders(const struct twin *t, const struct computed *got, const char *line, struct wl_arena *a)
{
    static const char *const orders[] = { "backward", "random", "forward" };
    for (size_t i = 0; i < WL_COUNT(orders); i++) {
        setenv("WATTLAW_SIM_ORDER", orders[i], 1);
        const struct computed other = computed(t, a);
        const char *what = wl_strf(a, "threads %s", orders[i]);
        same_bits(wl_strf(a, "%s, result", what), got->y, other.y, line);
        if (t->x) same_bits(wl_strf(a, "%s, gradient of x", what), got->dx, other.dx, line);
        same_bits(wl_strf(a, "%s, gradients of parameters", what), got->dw, other.dw, line);
    }
}

static void compare_evaluation(struct twin *t, struct twin *ref, double tolerance, const char *line, struct wl_arena *a)
{
    struct wl_counts c = { 0 }, r = { 0 };
    assert_int_equal(wl_plan_eval(t->plan, &c, NULL), 0);
    assert_int_equal(wl_plan_eval(ref->plan, &r, NULL), 0);
    compare("result in evaluation", read_tensor(wl_plan_value, t->plan, t->y, a),
            read_tensor(wl_plan_value, ref->plan, ref->y, a), tolerance, line);
    assert_int_equal(c.samples, r.samples);
    assert_int_equal(c.top1, r.top1);
    assert_int_equal(c.top5, r.top5);
}

static const char *test_name(const char *backend, enum wl_dtype precision, struct wl_arena *a)
{
    const char *type = wl_dtype_name(precision);
    return strcmp(backend, "cpu") != 0 ? wl_strf(a, "%s-%s", backend, type) : type;
}

void run_backend_case(const struct op_family *f, const struct op_case *op, uint64_t number, const char *backend,
                      enum wl_dtype precision)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const bool bf16 = wl_dtype_bytes(precision) == 2, cpu = !strcmp(backend, "cpu");
    const struct wl_plan_opts on_ref = { .backend = "ref", .precision = precision };
    const struct wl_plan_opts on_it = { .backend = backend, .precision = precision, .threads = 2 };
    struct twin it = case_twin(f, op, number, on_it, a), ref = case_twin(f, op, number, on_ref, a);
    const char *line = repeat_line(op, test_name(backend, precision, a), &it, a);
    const struct computed got = computed(&it, a), want = computed(&ref, a);

    /* Output and target may be close, which makes the rounding of the loss's gradient count more. */
    const double own = bf16 ? op->tolerance_bf16 : op->tolerance, front = bf16 ? 1.5e-5 : 1e-11;
    const double exact = ref.front ? fmax(own, front) : own, near = fmax(exact, bf16 ? 6e-5 : 1e-9);
    compare("result", got.y, want.y, exact, line);
    if (it.x) compare("gradient of x", got.dx, want.dx, near, line);
    compare("gradients of parameters", got.dw, want.dw, near, line);
    if (cpu)
        repeat_on_cpu(f, op, &it, precision, &got, line, a);
    else
        repeat_in_orders(&it, &got, line, a);
    compare_evaluation(&it, &ref, near, line, a);
    same_bits("gradients after evaluation", got.dw, all_gradients(it.plan, a), line);
    wl_arena_free(a);
}

void run_gradient_case(const struct op_family *f, const struct op_case *op, uint64_t number)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const struct twin ref = case_twin(f, op, number, (struct wl_plan_opts) { .backend = "ref" }, a);
    assert_true(check_gradients(&ref, repeat_line(op, "gradient", &ref, a)) > 0);
    wl_arena_free(a);
}

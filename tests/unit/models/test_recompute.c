/* Recomputation in the backward pass: for every network the gradients, the losses, and the parameters and statistics
 * after two updates have the same bits as without it, and less memory is needed. */
#include "ranks.h"
#include "workloads.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- a training -------------------------------------------------------------------------------------------------- */

enum { MAX_FLOATS = 1 << 22 };

/* What it left: the gradients of each update, then every state. */
struct result {
    struct outcome outcome;
    struct wl_plan_info info;
    struct wl_counts train, eval;
    size_t n;
    float x[MAX_FLOATS];
};

static int append_states(struct wl_plan *p, bool gradients, struct result *r, struct wl_err *e)
{
    int rc = 0;
    for (size_t i = 0; i < wl_plan_state_count(p) && !rc; i++) {
        const struct wl_state s = wl_plan_state(p, i);
        if (gradients && s.kind != WL_STATE_PARAM) continue;
        WL_CHECK(r->n + s.count <= MAX_FLOATS);
        rc = gradients ? wl_plan_gradient_read(p, i, r->x + r->n, e) : wl_plan_state_read(p, i, r->x + r->n, e);
        r->n += s.count;
    }
    return rc;
}

struct task {
    const struct workload *workload;
    struct wl_plan_opts opts;
};

static int train(const void *task, struct wl_comm *c, void *found, struct wl_arena *a, struct wl_err *e)
{
    const struct task *t = task;
    const struct workload *w = t->workload;
    struct wl_plan_opts opts = t->opts;
    struct result *r = found;
    struct built b = { .a = a, .workload = w };
    struct wl_graph *g = wl_graph_new(a);
    struct wl_plan *p;
    opts.seed = 3;
    opts.slow_bf16 = true;
    opts.optim = (struct wl_optim) { .momentum = 0.9 };
    int rc = w->build(&b, g, e);
    if (!rc) rc = wl_plan_new(&p, g, &opts, c, a, e);
    if (rc) return rc;
    r->info = wl_plan_info(p);
    const int micros = opts.micro_batches ? opts.micro_batches : 1, rank = c ? c->rank : 0;
    const int updates = opts.backend ? 1 : 2; /* plain C is slow */
    for (int u = 0; u < updates && !rc; u++) {
        for (int m = 0; m < micros && !rc; m++) {
            w->fill(&b, p, (uint64_t)(1 + u + 10 * m + 100 * rank));
            rc = wl_plan_train(p, m == 0, m == micros - 1, &r->train, e);
        }
        if (!rc) rc = append_states(p, true, r, e);
        if (!rc) rc = wl_plan_update(p, 0.01, e);
    }
    if (!rc) rc = wl_plan_eval(p, &r->eval, e);
    return rc ? rc : append_states(p, false, r, e);
}

/* The result of each worker. */
static struct result *run(const struct workload *w, struct wl_plan_opts opts, int workers)
{
    struct result *results = run_ranks(workers, train, &(struct task) { w, opts }, sizeof *results);
    for (int k = 0; k < workers; k++) {
        const struct outcome *o = &results[k].outcome;
        if (o->rc == WL_EUNAVAIL) skip();
        if (o->rc) fail_msg("%s, rank %d: %s", w->name, k, o->msg);
    }
    return results;
}

static void same_bits(const struct workload *w, const struct result *x, const struct result *y)
{
    assert_true(x->n > 1000);
    assert_int_equal(x->n, y->n);
    for (size_t i = 0; i < x->n; i++)
        if (memcmp(&x->x[i], &y->x[i], sizeof(float)))
            fail_msg("%s: number %zu of %zu is %.9g, and %.9g with recomputation", w->name, i, x->n, (double)x->x[i],
                     (double)y->x[i]);
    assert_memory_equal(&x->train, &y->train, sizeof x->train);
    assert_memory_equal(&x->eval, &y->eval, sizeof x->eval);
}

/* In f32 the processors' tiny VGG16 needs most memory in its first step, as it does not keep relus before pools. */
static bool keeps_little(const struct workload *w) { return wl_str_eq(w->name, "vgg16"); }

static void compare(const struct workload *w, struct wl_plan_opts opts, int workers)
{
    struct result *plain = run(w, opts, workers);
    assert_true(plain->info.segments == 0 && plain->info.keeping_bytes == plain->info.total_bytes);
    opts.recompute = true;
    struct result *smallest = run(w, opts, workers);
    const bool saves = smallest->info.segments > 0;
    assert_true(saves || keeps_little(w));
    assert_int_equal(smallest->info.keeping_bytes, plain->info.total_bytes);
    assert_true(smallest->info.value_bytes < plain->info.value_bytes || !saves);
    opts.recompute = false;
    opts.memory_bytes = (smallest->info.total_bytes + plain->info.total_bytes) / 2;
    struct result *limited = run(w, opts, workers);
    assert_true((limited->info.segments > 0) == saves && limited->info.total_bytes <= opts.memory_bytes);
    assert_false(limited->info.recompute_flops > smallest->info.recompute_flops); /* of molecules they are not known */
    for (int k = 0; k < workers; k++) {
        same_bits(w, &plain[k], &smallest[k]);
        same_bits(w, &plain[k], &limited[k]);
    }
    struct result *const all[] = { plain, smallest, limited };
    for (size_t i = 0; i < WL_COUNT(all); i++) free_found(all[i], workers, sizeof **all);
}

static void test_same_bits_f32(void **state)
{
    compare(*state, (struct wl_plan_opts) { .threads = 2 }, 1);
    compare(*state, (struct wl_plan_opts) { .threads = 1, .micro_batches = 2 }, 1);
}

static void test_same_bits_bf16(void **state)
{
    compare(*state, (struct wl_plan_opts) { .threads = 1, .micro_batches = 2, .precision = WL_BF16 }, 1);
}

static void test_same_bits_ref(void **state) { compare(*state, (struct wl_plan_opts) { .backend = "ref" }, 1); }

static void test_same_bits_ref_bf16(void **state)
{
    compare(*state, (struct wl_plan_opts) { .backend = "ref", .precision = WL_BF16 }, 1);
}

static void test_same_bits_winograd(void **state)
{
    compare(*state, (struct wl_plan_opts) { .threads = 1, .conv = WL_CONV_WINOGRAD }, 1);
}

static void test_same_bits_ranks(void **state)
{
    compare(*state, (struct wl_plan_opts) { .threads = 1, .micro_batches = 2 }, 2);
}

#define ON(i, test)                                                                     \
    {                                                                                   \
        .name = #test "/" #i, .test_func = test, .initial_state = (void *)&workloads[i] \
    }
/* The workloads by their place in the table. */
#define ON_ALL(test) \
    ON(0, test), ON(1, test), ON(2, test), ON(3, test), ON(4, test), ON(5, test), ON(6, test), ON(7, test)

/* The tests whose names begin with the argument. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        ON_ALL(test_same_bits_f32),
        ON_ALL(test_same_bits_bf16),
        /* VGG16's memory is that of its first convolution, so nothing is to be gained here; DimeNet has SchNet's rules
         */
        ON(0, test_same_bits_ref),
        ON(2, test_same_bits_ref),
        ON(3, test_same_bits_ref),
        ON(4, test_same_bits_ref),
        ON(6, test_same_bits_ref),
        ON(3, test_same_bits_ref_bf16),
        ON(1, test_same_bits_winograd),
        ON(2, test_same_bits_winograd),
        ON(0, test_same_bits_ranks),
        ON(3, test_same_bits_ranks),
    };
    if (argc > 1 && !select_cases(tests, WL_COUNT(tests), argv[1])) return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

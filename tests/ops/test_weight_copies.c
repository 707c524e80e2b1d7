/* Copies of parameters in bf16 that products read on processors: the optimizer writes them, and they follow states that
 * are written. A plan whose copies come from its updates and one whose copies come from the states of the first compute
 * the same bits, with any number of threads; and no step writes one. */
#include "backend_compare.h"
#include "nn/cpu/gemm_bf16.h"
#include "nn/plan/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { SEED = 5, ROWS = 5, WIDTH = 128 };

/* Matrices that are cut into tiles, with parameters before, between and after them, and one that is read twice. */
static struct wl_graph *network(struct wl_arena *a)
{
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *x = wl_input(g, "x", WL_F32, WL_DIMS(ROWS, WIDTH));
    for (int i = 0; i < 2; i++) {
        if (i) wl_scope_reuse(g, "again");
        x = wl_project(g, "tied", x, (struct wl_project) { .features = WIDTH, .deviation = 0.1, .gelu = true });
        if (i) wl_scope_pop(g);
    }
    x = wl_layer_norm(g, "norm", x, NULL, (struct wl_layer_norm) { 0 });
    x = wl_project(g, "wide", x, (struct wl_project) { .features = 1216, .deviation = 0.1 }); /* in two cuts */
    x = wl_project(g, "narrow", x, (struct wl_project) { .features = 64, .deviation = 0.1, .no_bias = true });
    x = wl_project(g, "odd", x, (struct wl_project) { .features = 7, .deviation = 0.1 }); /* has none */
    wl_mean_square(g, "loss", x, wl_input(g, "target", WL_F32, x->dims), (struct wl_loss) { 0 });
    return g;
}

static struct wl_plan *new_plan(const char *optimizer, enum wl_dtype precision, int threads, struct wl_arena *a)
{
    struct wl_plan *p = NULL;
    struct wl_err e = { 0 };
    struct wl_graph *g = network(a);
    const struct wl_plan_opts o = {
        .backend = "cpu",
        .precision = precision,
        .threads = threads,
        .seed = SEED,
        .slow_bf16 = true,
        .micro_batches = 2,
        .optim = { .kind = optimizer, .momentum = 0.9, .weight_decay = 0.1, .decay_weights_only = true },
    };
    if (wl_plan_new(&p, g, &o, NULL, a, &e)) fail_msg("%s", e.msg);
    fill_inputs(p, g, SEED, 2);
    return p;
}

static double train(struct wl_plan *p)
{
    struct wl_counts c = { 0 };
    struct wl_err e = { 0 };
    if (wl_plan_train(p, true, false, &c, &e) || wl_plan_train(p, false, true, &c, &e) || wl_plan_update(p, 0.01, &e))
        fail_msg("%s", e.msg);
    return c.loss_sum;
}

static void move_states(struct wl_plan *from, struct wl_plan *to, struct wl_arena *a)
{
    struct wl_err e = { 0 };
    for (size_t i = 0; i < wl_plan_state_count(from); i++) {
        float *v = wl_new_array(a, float, wl_plan_state(from, i).count);
        if (wl_plan_state_read(from, i, v, &e) || wl_plan_state_write(to, i, v, &e)) fail_msg("%s", e.msg);
    }
    wl_plan_set_updates(to, 3);
}

static void check_equal(struct wl_plan *x, struct wl_plan *y, struct wl_arena *a)
{
    for (int kind = WL_STATE_PARAM; kind <= WL_STATE_OPTIM; kind++) {
        const struct floats one = all_states(x, (enum wl_state_kind)kind, a),
                            two = all_states(y, (enum wl_state_kind)kind, a);
        assert_int_equal(one.n, two.n);
        assert_memory_equal(one.v, two.v, one.n * sizeof(float));
    }
}

static bool has_kernels(void)
{
#ifndef _OPENMP
    printf("SKIP: without OpenMP in its compiler the products are oneDNN's, which have all threads\n");
    return false;
#endif
    if (wl_gemm_bf16()) return true;
    printf("SKIP: the processor has no AVX512_BF16, or AMX beside it\n");
    return false;
}

/* The second plan has trained before, so that it has copies of other parameters. */
static void test_copies_follow_updates(void **state)
{
    (void)state;
    if (!has_kernels()) skip();
    const char *const optimizers[] = { "sgd", "adam", "adamw" };
    for (size_t i = 0; i < WL_COUNT(optimizers); i++) {
        struct wl_arena *a = wl_arena_new(NULL);
        struct wl_plan *p = new_plan(optimizers[i], WL_BF16, 1, a), *q = new_plan(optimizers[i], WL_BF16, 3, a);
        double loss[3];
        for (int u = 0; u < 3; u++) loss[u] = train(p);
        assert_true(loss[0] != loss[1] && loss[1] != loss[2]);
        train(q);
        move_states(p, q, a);
        for (int u = 0; u < 2; u++) assert_true(train(p) == train(q));
        check_equal(p, q, a);
        wl_arena_free(a);
    }
}

/* Without copies optimizers compute the same from the same gradients: in f32 none is made. */
static void test_updates_are_those_without_copies(void **state)
{
    (void)state;
    if (!has_kernels()) skip();
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_plan *p = new_plan("adamw", WL_BF16, 2, a), *q = new_plan("adamw", WL_F32, 2, a);
    struct wl_counts c = { 0 };
    struct wl_err e = { 0 };
    assert_true(p->info.copy_bytes > 0 && q->info.copy_bytes == 0 && p->param_floats == q->param_floats);
    for (int u = 0; u < 2; u++) {
        struct wl_plan *both[] = { p, q };
        for (int k = 0; k < 2; k++)
            if (wl_plan_train(both[k], true, true, &c, &e)) fail_msg("%s", e.msg);
        memcpy(q->gradient, p->gradient, p->param_floats * sizeof(float));
        for (int k = 0; k < 2; k++)
            if (wl_plan_update(both[k], 0.01, &e)) fail_msg("%s", e.msg);
        check_equal(p, q, a);
    }
    wl_arena_free(a);
}

/* A matrix that two operations read has one copy for each direction. */
static void test_no_step_writes_copies(void **state)
{
    (void)state;
    if (!has_kernels()) skip();
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_plan *p = new_plan("sgd", WL_BF16, 1, a);
    const size_t numbers = 2 * (WIDTH * WIDTH + WIDTH * 1216 + 1216 * 64);
    assert_int_equal(p->info.copy_bytes, numbers * sizeof(uint16_t));
    for (size_t i = 0; i < p->program.n_steps; i++) {
        const struct wl_step *s = p->program.steps[i];
        for (int k = 0; k < s->n_uses; k++) assert_false(s->uses[k].write && s->uses[k].buf->class == WL_MEM_COPY);
    }
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies_follow_updates),
        cmocka_unit_test(test_updates_are_those_without_copies),
        cmocka_unit_test(test_no_step_writes_copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Copies of parameters in 16 bits on simulated GPUs: the optimizer writes them, and they follow states that are
 * written. A plan whose copies come from its updates and one whose copies come from the states of the first compute the
 * same bits. */
#include "nn/graph/graph.h"
#include "nn/nn.h"
#include "nn/plan/internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "backend_compare.h"

enum { SEED = 5, LAYERS = 34 }; /* 70 copies: an update takes two launches */

/* Weights in KRSC whose copies are padded, 3 to 8 and 10 to 16 channels, and plain ones, with biases in 16 bits. */
static struct wl_graph *network(struct wl_arena *a)
{
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *x = wl_input(g, "images", WL_F32, WL_DIMS(2, 3, 5, 4));
    x = wl_conv2d(g, "conv1", x,
                  (struct wl_conv) { .channels = 10, .kernel = { 3, 3 }, .pad = { 1, 1 }, .bias = true });
    x = wl_conv2d(g, "conv2", wl_relu(g, "relu", x), (struct wl_conv) { .channels = 8, .kernel = { 2, 2 } });
    x = wl_linear(g, "fc", x, 4);
    for (int i = 0; i < LAYERS; i++)
        x = wl_project(g, wl_strf(a, "layer%d", i), x, (struct wl_project) { .features = 4, .deviation = 0.5 });
    wl_mean_square(g, "loss", x, wl_input(g, "target", WL_F32, x->dims), (struct wl_loss) { 0 });
    return g;
}

static struct wl_plan *new_plan(const char *optimizer, enum wl_dtype precision, struct wl_arena *a)
{
    struct wl_plan *p = NULL;
    struct wl_err e = { 0 };
    struct wl_graph *g = network(a);
    const struct wl_plan_opts o = {
        .backend = "gpu",
        .precision = precision,
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

/* The second plan has trained before, so that it has copies of other parameters. */
static void copies_follow(const char *optimizer, enum wl_dtype precision)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_plan *p = new_plan(optimizer, precision, a), *q = new_plan(optimizer, precision, a);
    double loss[3];
    for (int u = 0; u < 3; u++) loss[u] = train(p);
    assert_true(loss[0] != loss[1] && loss[1] != loss[2]);
    train(q);
    move_states(p, q, a);
    for (int u = 0; u < 2; u++) assert_true(train(p) == train(q));
    check_equal(p, q, a);
    wl_arena_free(a);
}

static void test_copies_follow_updates(void **state)
{
    (void)state;
    copies_follow("sgd", WL_BF16);
    copies_follow("adamw", WL_F16);
}

/* Steps read the copies and none makes them; their memory is part of the plan's. */
static void test_no_step_copies_weights(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_plan *p = new_plan("sgd", WL_BF16, a), *f32 = new_plan("sgd", WL_F32, a);
    assert_true(p->info.copy_bytes > 0 && f32->info.copy_bytes == 0);
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
        cmocka_unit_test(test_no_step_copies_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

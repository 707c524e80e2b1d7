/* What is read after an evaluation, and what belongs to training alone. */
#include "network.h"

/* Nothing after the forward step of the loss runs in evaluation: no copy for the backward pass, no gradient. */
static void test_evaluation_ends_at_the_loss(void **state)
{
    (void)state;
    struct wl_plan *p = plan((struct wl_plan_opts) { 0 }, NULL);
    bool after_loss = false;
    int eval = 0, train = 0;
    for (size_t i = 0; i < p->program.n_steps; i++) {
        const struct wl_step *s = p->program.steps[i];
        if (after_loss) assert_int_equal(s->when, WL_TRAIN);
        after_loss = after_loss || (s->node->op == WL_OP_CROSS_ENTROPY && !strcmp(s->pass, "forward"));
        eval += (s->when & WL_EVAL) != 0;
        train += (s->when & WL_TRAIN) != 0;
    }
    assert_true(after_loss && eval < train);
}

/* A network whose outputs are values that others would overwrite, and one that no loss needs. */
struct with_outputs {
    struct wl_graph *graph;
    struct wl_tensor *images, *conv, *logits, *aside;
};

static struct with_outputs with_outputs(bool declared)
{
    struct with_outputs w = { .graph = wl_graph_new(a) };
    struct wl_graph *g = w.graph;
    w.images = wl_input(g, "images", WL_F32, WL_DIMS(BATCH, 3, 8, 8));
    struct wl_tensor *labels = wl_input(g, "labels", WL_I32, WL_DIMS(BATCH));
    w.conv = wl_conv2d(g, "conv", w.images, (struct wl_conv) { .channels = 18, .kernel = { 3, 3 }, .bias = true });
    struct wl_tensor *x = wl_relu(g, "relu", w.conv);
    w.aside = wl_linear(g, "aside", x, 2);
    w.logits = wl_linear(g, "fc", x, CLASSES);
    wl_cross_entropy(g, "loss", w.logits, labels, (struct wl_loss) { 0 });
    wl_cross_entropy(g, "aux", w.aside, labels, (struct wl_loss) { .weight = 0.1, .auxiliary = true });
    struct wl_tensor *const outputs[] = { w.conv, w.aside, w.logits };
    for (size_t i = 0; declared && i < WL_COUNT(outputs); i++) wl_output(g, outputs[i]);
    return w;
}

static struct wl_plan *plan_of(const struct with_outputs *w, struct wl_plan_opts o)
{
    struct wl_plan *p = NULL;
    struct wl_err e = { 0 };
    if (wl_plan_new(&p, w->graph, &o, NULL, a, &e)) fail_msg("%s", e.msg);
    float *x = wl_plan_input(p, w->images);
    for (uint64_t i = 0; i < BATCH * 3 * 64; i++) x[i] = (float)wl_random_normal(5, 5, i);
    return p;
}

/* What is read of an output is what a plan that keeps every value holds of it, with every back-end and precision; it
 * stays through training, which has no step for it. */
static void test_outputs_equal_kept_values(void **state)
{
    (void)state;
    static const char *const backends[] = { "cpu", "ref" };
    for (int variant = 0; variant < 4; variant++) {
        struct wl_plan_opts o = { .backend = backends[variant / 2],
                                  .precision = variant % 2 ? WL_BF16 : WL_F32,
                                  .slow_bf16 = true };
        if (wl_backend_precision(o.backend, o.precision, true, NULL)) continue;
        struct with_outputs kept = with_outputs(false), read = with_outputs(true);
        struct wl_plan *q = plan_of(&read, o);
        o.keep_values = true;
        struct wl_plan *p = plan_of(&kept, o);
        struct wl_counts c = { 0 };
        assert_int_equal(wl_plan_eval(p, &c, NULL), 0);
        assert_int_equal(wl_plan_eval(q, &c, NULL), 0);
        assert_int_equal(train(q, true, true, NULL), 0);
        struct wl_tensor *const from[] = { kept.conv, kept.logits }, *const to[] = { read.conv, read.logits };
        for (size_t i = 0; i < WL_COUNT(to); i++) {
            size_t n = (size_t)wl_dims_count(wl_tensor_dims(to[i]));
            float *want = wl_new_array(a, float, n);
            const float *has = wl_plan_output(q, to[i]);
            assert_int_equal(wl_plan_value(p, from[i], want, NULL), 0);
            for (size_t k = 0; k < n; k++)
                if (!(fabsf(has[k] - want[k]) <= (variant % 2 ? 2e-2f : 1e-5f) * (1 + fabsf(want[k]))))
                    fail_msg("variant %d, %s[%zu] = %g, want %g", variant, wl_tensor_name(to[i]), k, has[k], want[k]);
        }
        assert_true(wl_plan_output(q, read.aside)[0] != 0);
        for (size_t i = 0; i < q->program.n_steps; i++)
            for (int k = 0; k < q->program.steps[i]->n_uses; k++)
                if (q->program.steps[i]->uses[k].buf->class == WL_MEM_OUTPUT)
                    assert_int_equal(q->program.steps[i]->when, WL_EVAL);
        assert_true(wl_plan_info(q).output_bytes > 0);
    }
}

static void test_inputs_and_losses_are_no_outputs(void **state)
{
    (void)state;
    for (int which = 0; which < 2; which++) {
        struct wl_err e = { 0 };
        struct wl_graph *g = network();
        wl_output(g, which ? g->nodes[g->n_nodes - 1]->out : g->tensors[0]);
        assert_int_equal(wl_graph_check(g, &e), WL_EINVAL);
        assert_non_null(strstr(e.msg, "an output must be the result of an operation that is not a loss"));
    }
}

/* An auxiliary head is trained and not evaluated: its loss is part of the one and not of the other. */
static void test_auxiliary_loss_is_not_evaluated(void **state)
{
    (void)state;
    double loss[2][2]; /* with the auxiliary head; of training, of evaluation */
    for (int with = 0; with < 2; with++) {
        struct wl_graph *g = wl_graph_new(a);
        struct wl_tensor *x = wl_input(g, "images", WL_F32, WL_DIMS(BATCH, 3, 8, 8));
        struct wl_tensor *labels = wl_input(g, "labels", WL_I32, WL_DIMS(BATCH));
        struct wl_plan *p;
        struct wl_tensor *y = wl_conv2d(g, "conv", x, (struct wl_conv) { .channels = 18, .kernel = { 3, 3 } });
        if (with) {
            struct wl_tensor *side =
                wl_linear(g, "side", wl_batch_norm(g, "bn", y, (struct wl_batch_norm_opts) { 0 }), CLASSES);
            wl_cross_entropy(g, "side_loss", side, labels, (struct wl_loss) { .weight = 0.4, .auxiliary = true });
        }
        wl_cross_entropy(g, "loss", wl_linear(g, "fc", y, CLASSES), labels, (struct wl_loss) { 0 });
        assert_int_equal(wl_plan_new(&p, g, &(struct wl_plan_opts) { .seed = 1 }, NULL, a, NULL), 0);
        float *images = wl_plan_input(p, x);
        for (uint64_t i = 0; i < BATCH * 3 * 64; i++) images[i] = (float)wl_random_normal(5, 5, i);
        struct wl_counts t = { 0 }, v = { 0 };
        assert_int_equal(wl_plan_train(p, true, true, &t, NULL), 0);
        assert_int_equal(wl_plan_eval(p, &v, NULL), 0);
        assert_int_equal(t.samples, BATCH);
        assert_int_equal(v.samples, BATCH);
        loss[with][0] = t.loss_sum;
        loss[with][1] = v.loss_sum;
    }
    assert_true(loss[1][0] > loss[0][0] * 1.05);
    assert_true(loss[1][1] == loss[0][1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ARENA(test_evaluation_ends_at_the_loss),
        WITH_ARENA(test_outputs_equal_kept_values),
        WITH_ARENA(test_inputs_and_losses_are_no_outputs),
        WITH_ARENA(test_auxiliary_loss_is_not_evaluated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

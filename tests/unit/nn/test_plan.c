/* A plan's options, first values and states, running statistics, and what it reports of itself. */
#include "network.h"

/* ---- options and misuse ---- */

static void expect_error(struct wl_plan_opts o, int code, const char *says)
{
    struct wl_plan *p;
    struct wl_err e = { 0 };
    assert_int_equal(wl_plan_new(&p, network(), &o, NULL, a, &e), code);
    if (!strstr(e.msg, says)) fail_msg("'%s' does not say '%s'", e.msg, says);
}

static void test_bad_options_are_refused(void **state)
{
    (void)state;
    expect_error((struct wl_plan_opts) { .backend = "cpuu" }, WL_EINVAL,
                 "back-end 'cpuu' is not known; did you mean 'cpu'?");
    expect_error((struct wl_plan_opts) { .threads = -1 }, WL_EINVAL, "threads is -1");
    expect_error((struct wl_plan_opts) { .micro_batches = -1 }, WL_EINVAL, "micro-batches is -1");
    expect_error((struct wl_plan_opts) { .optim.momentum = 1 }, WL_EINVAL, "momentum is 1");
    expect_error((struct wl_plan_opts) { .optim.weight_decay = NAN }, WL_EINVAL, "weight decay is nan");
    expect_error((struct wl_plan_opts) { .optim.kind = "adamm" }, WL_EINVAL, "optimizer 'adamm' is not known");
}

static void test_graph_without_loss_is_evaluated_only(void **state)
{
    (void)state;
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *x = wl_input(g, "x", WL_F32, WL_DIMS(1, 4));
    struct wl_tensor *y = wl_relu(g, "relu", x);
    struct wl_plan *p;
    struct wl_err e = { 0 };
    assert_int_equal(wl_plan_new(&p, g, &(struct wl_plan_opts) { 0 }, NULL, a, &e), WL_EINVAL);
    assert_string_equal(e.msg, "the graph has no loss: it can only be evaluated");
    struct wl_plan_opts o = { .eval_only = true, .keep_values = true };
    assert_int_equal(wl_plan_new(&p, g, &o, NULL, a, &e), 0);
    memcpy(wl_plan_input(p, x), (const float[]) { -1, 2, -3, 4 }, 4 * sizeof(float));
    struct wl_counts c = { 0 };
    float got[4];
    assert_int_equal(wl_plan_eval(p, &c, &e), 0);
    assert_int_equal(wl_plan_value(p, y, got, &e), 0);
    assert_memory_equal(got, ((const float[]) { 0, 2, 0, 4 }), sizeof got);
    assert_int_equal(wl_plan_value_gradient(p, y, got, &e), WL_ENOENT);
}

/* A batch that no machine holds is refused when the plan is made. */
static void test_batch_beyond_memory_is_refused(void **state)
{
    (void)state;
    struct wl_graph *g = wl_graph_new(a);
    struct wl_tensor *x = wl_input(g, "x", WL_F32, WL_DIMS((int64_t)1 << 24, 64, 112, 112));
    wl_mean_square(g, "loss", wl_relu(g, "relu", x), wl_input(g, "t", WL_F32, *wl_tensor_dims(x)),
                   (struct wl_loss) { 0 });
    struct wl_plan *p;
    struct wl_err e = { 0 };
    assert_int_equal(wl_plan_new(&p, g, &(struct wl_plan_opts) { .backend = "ref" }, NULL, a, &e), WL_ENOMEM);
    assert_non_null(strstr(e.msg, "no memory: the plan needs "));
    assert_non_null(strstr(e.msg, "of them for activations"));
}

static void test_micro_batches_out_of_order_are_refused(void **state)
{
    (void)state;
    struct wl_err e = { 0 };
    struct wl_plan *p = plan((struct wl_plan_opts) { .micro_batches = 2 }, NULL);
    assert_int_equal(wl_plan_update(p, 0.1, &e), WL_EINVAL);
    assert_int_equal(train(p, false, true, &e), WL_EINVAL);
    assert_int_equal(train(p, true, false, &e), 0);
    assert_int_equal(train(p, false, false, &e), 0);
    assert_int_equal(train(p, false, true, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "the plan was made for 2 micro-batches a step"));

    p = plan((struct wl_plan_opts) { .eval_only = true }, NULL);
    assert_int_equal(train(p, true, true, &e), WL_EINVAL);
    struct wl_counts c = { 0 };
    assert_int_equal(wl_plan_eval(p, &c, &e), 0);
    assert_int_equal(c.samples, BATCH);
    assert_int_equal(wl_plan_gradient_read(p, 0, NULL, &e), WL_ENOENT);
    assert_true(wl_plan_info(p).gradient_bytes == 0 && wl_plan_info(p).optim_bytes == 0);
}

static void test_label_beyond_the_classes_is_an_error(void **state)
{
    (void)state;
    struct wl_plan *p = plan((struct wl_plan_opts) { 0 }, NULL);
    int32_t *labels = wl_plan_input(p, p->program.graph->tensors[1]);
    labels[2] = CLASSES;
    struct wl_err e = { 0 };
    assert_int_equal(train(p, true, true, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "loss (forward): label 4 of sample 2 is beyond the 4 classes"));
    labels[2] = -1;
    assert_int_equal(train(p, true, true, &e), 0);
}

/* A table without gaps: the plan asks for no callback whether it is there. */
static void check_device(const struct wl_device_ops *d)
{
    assert_non_null(d);
    assert_true(d->align >= WL_ALIGN && (d->align & (d->align - 1)) == 0);
    assert_true(d->memory && d->host_memory && d->release && d->huge_bytes && d->put && d->get);
    assert_true(d->begin && d->run && d->end && d->step && d->add && d->round && d->sum_moments);
    assert_true(d->get_async && d->wait && d->lap);
    assert_true(d->update && d->update_statistics && d->threads && d->machine);
}

static void test_backend_tables_are_complete(void **state)
{
    (void)state;
    size_t n = 0;
    for (; wl_backend_row(n); n++) {
        const struct wl_backend *b = wl_backends[n];
        assert_non_null(b->row.name);
        if (b->row.unavailable) continue;
        assert_non_null(b->row.help);
        assert_non_null(b->library);
        assert_non_null(b->open);
        check_device(b->device);
        assert_non_null(b->sum);
        assert_non_null(b->reorder);
        assert_true(!b->layout_name == !b->read && !b->read == !b->write);
        for (int op = 0; op < WL_OP_COUNT; op++) {
            assert_non_null(b->rules[op]->forward);
            assert_true(!b->rules[op]->backward == wl_op_info((enum wl_op)op)->no_backward);
        }
    }
    assert_true(n >= 2);
}

/* ---- parameters ---- */

/* He's normal for convolutions, U(+-1/sqrt(F)) for the head, the same for each back-end and known by name and seed. */
static void test_initial_values_depend_on_name_and_seed(void **state)
{
    (void)state;
    size_t n;
    struct wl_plan *p = plan((struct wl_plan_opts) { .seed = 9 }, NULL);
    float *w = state_of(p, "layer1.conv.weight", &n);
    assert_int_equal(n, 18 * 18 * 9);
    double sum = 0, squares = 0, deviation = sqrt(2.0 / (18 * 9));
    for (size_t i = 0; i < n; i++) {
        sum += (double)w[i];
        squares += (double)w[i] * (double)w[i];
    }
    assert_true(fabs(sum / (double)n) < 4 * deviation / sqrt((double)n));
    assert_true(fabs(squares / (double)n / (deviation * deviation) - 1) < 4 * sqrt(2.0 / (double)n));
    assert_true(w[100] == (float)(deviation * wl_random_normal(9, wl_hash_fnv1a("layer1.conv.weight"), 100)));
    float *ref = state_of(plan((struct wl_plan_opts) { .seed = 9, .backend = "ref" }, NULL), "layer1.conv.weight", &n);
    assert_memory_equal(w, ref, n * sizeof *w);
    float *other = state_of(plan((struct wl_plan_opts) { .seed = 10 }, NULL), "layer1.conv.weight", &n);
    assert_true(memcmp(w, other, n * sizeof *w));
    float *fc = state_of(p, "fc.weight", &n), bound = 1 / sqrtf(18 * 64), largest = 0;
    for (size_t i = 0; i < n; i++) largest = fmaxf(largest, fabsf(fc[i]));
    assert_true(largest <= bound && largest > 0.98f * bound);
}

/* What is written comes back bit for bit, padded layouts included, and leaves no trace in other states. */
static void test_written_states_are_read_back(void **state)
{
    (void)state;
    struct wl_plan *p = plan((struct wl_plan_opts) { 0 }, NULL);
    size_t count = wl_plan_state_count(p);
    assert_int_equal(count, 2 * (2 + 2 * 2 + 2) + 2 * 2); /* conv.weight, bn.{weight,bias}, fc.{weight,bias} twice */
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < count; i++) {
            struct wl_state s = wl_plan_state(p, i);
            assert_true(s.count == (size_t)wl_dims_count(&s.dims));
            float *want = wl_new_array(a, float, s.count), *got = wl_new_array(a, float, s.count);
            for (size_t j = 0; j < s.count; j++) want[j] = (float)wl_random_normal(1, wl_hash_fnv1a(s.name), j);
            if (pass == 0) assert_int_equal(wl_plan_state_write(p, i, want, NULL), 0);
            assert_int_equal(wl_plan_state_read(p, i, got, NULL), 0);
            assert_memory_equal(got, want, s.count * sizeof *got);
        }
}

static void test_decay_weights_only_spares_norms(void **state)
{
    (void)state;
    size_t n;
    struct wl_plan_opts o = { .optim = { .weight_decay = 0.5, .decay_weights_only = true } };
    for (int pass = 0; pass < 2; pass++) {
        struct wl_plan *p = plan(o, NULL);
        assert_int_equal(train(p, true, true, NULL), 0);
        memset(p->gradient, 0, p->param_floats * sizeof(float));
        float *w = state_of(p, "layer0.conv.weight", &n), gamma = *state_of(p, "layer0.bn.weight", &n);
        assert_int_equal(wl_plan_update(p, 1, NULL), 0);
        float *w2 = state_of(p, "layer0.conv.weight", &n), gamma2 = *state_of(p, "layer0.bn.weight", &n);
        for (size_t i = 0; i < n; i++) assert_true(w2[i] == w[i] * 0.5f);
        assert_true(gamma2 == (pass ? 0.5f : 1) * gamma);
        o.optim.decay_weights_only = false;
    }
}

/* ---- running statistics ---- */

/* The mean and the unbiased variance of the first channel of the first convolution: x [3,3,8,8], w [18,3,3,3], pad 1.
 */
static void moments_of_conv(const float *x, const float *w, double *mean, double *variance)
{
    double y[BATCH * 64], squares = 0;
    *mean = 0;
    for (int64_t i = 0; i < BATCH * 64; i++) {
        const int64_t n = i / 64, row = i / 8 % 8, column = i % 8;
        y[i] = 0;
        for (int64_t k = 0; k < 27; k++) {
            const int64_t c = k / 9, u = row + k / 3 % 3 - 1, v = column + k % 3 - 1;
            if (u < 0 || v < 0 || u > 7 || v > 7) continue;
            y[i] += (double)x[((n * 3 + c) * 8 + u) * 8 + v] * (double)w[k];
        }
        *mean += y[i] / (BATCH * 64);
    }
    for (int64_t i = 0; i < BATCH * 64; i++) squares += (y[i] - *mean) * (y[i] - *mean);
    *variance = squares / (BATCH * 64 - 1);
}

/* One update moves them by a tenth towards the mean of the micro-batches, with the unbiased variance. */
static void running_statistics_move_on(const char *backend)
{
    size_t n;
    double mean, variance;
    struct wl_plan *p = plan((struct wl_plan_opts) { .backend = backend, .micro_batches = 2 }, NULL);
    float *x = wl_plan_input(p, p->program.graph->tensors[0]);
    moments_of_conv(x, state_of(p, "layer0.conv.weight", &n), &mean, &variance);
    assert_int_equal(train(p, true, false, NULL), 0);
    for (int i = 0; i < BATCH * 3 * 64; i++) x[i] *= 3; /* the second micro-batch has three times the mean */
    assert_int_equal(train(p, false, true, NULL), 0);
    assert_true(*state_of(p, "layer0.bn.running_mean", &n) == 0);
    assert_int_equal(wl_plan_update(p, 0, NULL), 0);
    const double moved_mean = (double)*state_of(p, "layer0.bn.running_mean", &n),
                 moved_variance = (double)*state_of(p, "layer0.bn.running_var", &n);
    assert_true(fabs(moved_mean - 0.1 * 2 * mean) < 1e-6);
    /* Variance v of the first, 9 v of the second: 1 + .1 (5 v - 1). */
    assert_true(fabs(moved_variance - (0.9 + 0.1 * 5 * variance)) < 1e-5);
}

static void test_running_statistics_move_towards_the_mean(void **state)
{
    (void)state;
    for (size_t i = 0; wl_backend_row(i); i++)
        if (!wl_backend_row(i)->unavailable && !wl_backend_row(i)->gpus)
            running_statistics_move_on(wl_backend_row(i)->name);
}

static void test_info_equals_hand_computation(void **state)
{
    (void)state;
    struct wl_plan_info f = wl_plan_info(plan((struct wl_plan_opts) { .threads = 1 }, NULL));
    assert_int_equal(f.threads, 1);
    assert_int_equal(f.batch, BATCH);
    struct wl_plan_info parts =
        wl_plan_info(plan((struct wl_plan_opts) { .threads = 1, .batch = 1, .dry = true }, NULL));
    assert_true(parts.batch == 1 && fabs(parts.forward_flops - BATCH * f.forward_flops) < 1);
    assert_int_equal(f.parameters, 18 * 27 + 18 * 18 * 9 + 4 * 18 + 18 * 64 * CLASSES + CLASSES);
    double conv0 = 2.0 * 18 * 64 * 27, conv1 = 2.0 * 18 * 64 * 18 * 9, fc = 2.0 * 18 * 64 * CLASSES;
    assert_true(fabs(f.forward_flops - (conv0 + conv1 + fc)) < 1);
    assert_true(fabs(f.train_flops - (2 * conv0 + 3 * (conv1 + fc))) < 1);
    assert_true(f.value_bytes > 0 && f.value_bytes < f.unshared_bytes);
    assert_true(f.live_bytes > 0 && f.live_bytes <= f.value_bytes);
    assert_true(f.in_place > 0 && f.in_place < f.steps && f.in_place_bytes > 0);
    assert_true(f.total_bytes ==
                f.param_bytes + f.gradient_bytes + f.optim_bytes + f.statistic_bytes + f.input_bytes + f.value_bytes);
}

/* The steps say what the totals say; a dry plan has the same ones and cannot run. */
static void test_steps_explain_the_plan(void **state)
{
    (void)state;
    struct wl_plan *p = plan((struct wl_plan_opts) { 0 }, NULL),
                   *dry = plan((struct wl_plan_opts) { .dry = true }, NULL);
    struct wl_plan_info f = wl_plan_info(p), d = wl_plan_info(dry);
    assert_int_equal(wl_plan_step_count(p), f.steps);
    assert_true(d.steps == f.steps && d.total_bytes == f.total_bytes && d.parameters == f.parameters);
    double train = 0, forward = 0;
    for (size_t i = 0; i < wl_plan_step_count(p); i++) {
        struct wl_plan_step s = wl_plan_step(p, i, a);
        assert_true(s.training || s.evaluation);
        assert_true(s.name && s.pass && s.implementation && s.n_buffers > 0);
        for (size_t k = 0; k < s.n_buffers; k++) assert_true(s.buffers[k].layout && s.buffers[k].memory);
        if (s.training) train += s.flops;
        if (s.evaluation) forward += s.flops;
        assert_string_equal(s.implementation, wl_plan_step(dry, i, a).implementation);
    }
    assert_true(fabs(train - f.train_flops) < 1 && fabs(forward - f.forward_flops) < 1);
    size_t gradients = 0;
    for (int i = 0; i < f.buckets; i++) gradients += wl_plan_bucket(p, (size_t)i).bytes;
    assert_true(gradients == f.gradient_bytes);

    struct wl_counts c = { 0 };
    struct wl_err e = { 0 };
    assert_int_equal(wl_plan_train(dry, true, true, &c, &e), WL_EINVAL);
    assert_int_equal(wl_plan_eval(dry, &c, &e), WL_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ARENA(test_bad_options_are_refused),
        WITH_ARENA(test_graph_without_loss_is_evaluated_only),
        WITH_ARENA(test_batch_beyond_memory_is_refused),
        WITH_ARENA(test_micro_batches_out_of_order_are_refused),
        WITH_ARENA(test_label_beyond_the_classes_is_an_error),
        WITH_ARENA(test_backend_tables_are_complete),
        WITH_ARENA(test_initial_values_depend_on_name_and_seed),
        WITH_ARENA(test_written_states_are_read_back),
        WITH_ARENA(test_decay_weights_only_spares_norms),
        WITH_ARENA(test_running_statistics_move_towards_the_mean),
        WITH_ARENA(test_info_equals_hand_computation),
        WITH_ARENA(test_steps_explain_the_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

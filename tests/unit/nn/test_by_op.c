/* Where a step's time goes, and what it is bound by: times add up to the step, and bounds are those of counts that are
 * made here by hand. */
#include "network.h"

#include "nn/plan/by_op.h"

/* Ceilings that no machine has, so that a bound says what it was computed of. */
static const struct wl_device_peaks peaks = {
    .device = "test",
    .measured = true,
    .threads = 1,
    .bytes_per_s_read = 1e6,
    .bytes_per_s_copy = 2e6,
    .bytes_per_s_add = 3e6,
    .flop_per_s_f32 = 1e9,
    .flop_per_s_tf32 = NAN,
    .flop_per_s_16bit = 4e9,
    .flop_per_s_int16 = 8e9,
};

static struct wl_plan *reference_plan(bool dry)
{
    struct wl_plan *p = plan((struct wl_plan_opts) { .backend = "ref", .threads = 1, .dry = dry }, NULL);
    p->info.peaks = peaks;
    p->info.update_bound_s = 1e-3;
    return p;
}

static size_t find(const struct wl_plan *p, const char *name, const char *pass)
{
    for (size_t i = 0; i < p->program.n_steps; i++) {
        const struct wl_step *s = p->program.steps[i];
        if (!strcmp(s->node->name, name) && wl_str_starts(s->pass, pass)) return i;
    }
    fail_msg("no step %s %s", name, pass);
    return 0;
}

static void expect_close(const char *what, double got, double want)
{
    if (!(fabs(got / want - 1) < 1e-9)) fail_msg("%s is %.9g: expected %.9g", what, got, want);
}

/* layer1.conv: 18 channels to 18 in windows of 3x3 on 8x8 points. */
static const double conv_flop = 2.0 * BATCH * 18 * 8 * 8 * 18 * 3 * 3;
static const double conv_bytes = 4.0 * (2.0 * BATCH * 18 * 8 * 8 + 18 * 18 * 9);
/* fc: BATCH rows of 18*64 numbers by as many rows of weights as there are classes. */
static const double fc_flop = 2.0 * BATCH * 18 * 64 * CLASSES;
static const double fc_bytes = 4.0 * (BATCH * 18 * 64 + 18 * 64 * CLASSES + CLASSES + BATCH * CLASSES);

static void test_bounds_are_those_of_independent_counts(void **state)
{
    (void)state;
    struct wl_plan *p = reference_plan(true);
    const struct wl_plan_step conv = wl_plan_step(p, find(p, "layer1.conv", "forward"), a),
                              fc = wl_plan_step(p, find(p, "fc", "forward"), a);
    expect_close("flop of the convolution", conv.flops * BATCH, conv_flop);
    expect_close("bytes of the convolution", conv.moved_bytes, conv_bytes);
    expect_close("flop of the product", fc.flops * BATCH, fc_flop);
    expect_close("bytes of the product", fc.moved_bytes, fc_bytes);
    /* More than a third of the convolution's bytes are written, next to none of the product's. */
    assert_false(conv.bound_by_flops || fc.bound_by_flops);
    expect_close("bound of the convolution", conv.bound_s, conv_bytes / peaks.bytes_per_s_add);
    expect_close("bound of the product", fc.bound_s, fc_bytes / peaks.bytes_per_s_read);
    p->info.peaks.flop_per_s_f32 = 1e6;
    const struct wl_plan_step slow = wl_plan_step(p, find(p, "layer1.conv", "forward"), a);
    assert_true(slow.bound_by_flops);
    expect_close("bound of the convolution by flop", slow.bound_s, conv_flop / 1e6);
    static const char *const backward[] = { "backward weights", "backward data" };
    for (size_t i = 0; i < WL_COUNT(backward); i++)
        expect_close(backward[i], wl_plan_step(p, find(p, "layer1.conv", backward[i]), a).computed_flops * BATCH,
                     conv_flop);
}

/* A kernel that is not direct states its own count. */
static void test_kernels_state_their_arithmetic(void **state)
{
    (void)state;
    struct wl_plan *p = reference_plan(true);
    const size_t i = find(p, "layer1.conv", "forward");
    p->info.peaks.flop_per_s_int16 = 1e6;
    p->program.steps[i]->arithmetic =
        (struct wl_arithmetic) { .algorithm = "F(4x4,3x3)", .work = .25, .numbers = WL_NUMBERS_INT16 };
    const struct wl_plan_step s = wl_plan_step(p, i, a);
    expect_close("direct flop", s.flops * BATCH, conv_flop);
    expect_close("computed flop", s.computed_flops * BATCH, conv_flop / 4);
    expect_close("bound", s.bound_s, conv_flop / 4 / 1e6);
    assert_string_equal(s.algorithm, "F(4x4,3x3)");
    assert_string_equal(s.numbers, "int16");
    const struct wl_plan_step direct = wl_plan_step(p, find(p, "layer0.conv", "forward"), a);
    assert_string_equal(direct.algorithm, "direct");
    assert_string_equal(direct.numbers, "f32");
    assert_null(wl_plan_step(p, find(p, "layer0.bn", "forward"), a).algorithm);
}

static void time_steps(struct wl_plan *p, struct wl_by_op *t, int rounds)
{
    struct wl_err e = { 0 };
    for (int i = 0; i < rounds; i++) {
        wl_by_op_begin(t);
        if (train(p, true, true, &e) || wl_plan_update(p, 0, &e)) fail_msg("%s", e.msg);
        wl_by_op_end(t);
    }
}

/* Another process may have its turn between two operations: the best of some steps counts. */
static void test_times_add_up_to_the_step(void **state)
{
    (void)state;
    struct wl_plan *p = reference_plan(false);
    double best = 0;
    for (int attempt = 0; attempt < 50 && best < .9; attempt++) {
        struct wl_by_op *t = wl_by_op_new(p, 1, a);
        struct wl_by_op_rows rows;
        time_steps(p, t, 1);
        wl_by_op_rows(t, false, &rows, a);
        assert_true(rows.by_processor_time);
        assert_true(rows.total.time.wall_s <= rows.step.wall_s && rows.total.time.cpu_s <= rows.step.cpu_s);
        best = fmax(best, rows.total.time.wall_s / rows.step.wall_s);
    }
    if (best < .9) fail_msg("operations take %.3g of the step", best);
}

static const struct wl_by_op_row *row_of(const struct wl_by_op_rows *r, const char *class)
{
    for (size_t i = 0; i < r->n; i++)
        if (!strcmp(r->v[i].class, class)) return &r->v[i];
    fail_msg("no class %s", class);
    return NULL;
}

static void test_classes_are_sums_of_their_operations(void **state)
{
    (void)state;
    struct wl_plan *p = reference_plan(false);
    struct wl_by_op *t = wl_by_op_new(p, 3, a);
    struct wl_by_op_rows classes, single;
    p->program.steps[find(p, "layer0.conv", "backward weights")]->arithmetic =
        (struct wl_arithmetic) { .algorithm = "half", .work = .5 };
    time_steps(p, t, 3);
    wl_by_op_rows(t, false, &classes, a);
    wl_by_op_rows(t, true, &single, a);
    assert_int_equal(classes.total.steps, single.total.steps);
    expect_close("time of all", classes.total.time.wall_s, single.total.time.wall_s);
    expect_close("bound of all", classes.total.bound_s, single.total.bound_s);
    expect_close("flop of all", classes.total.flops, wl_plan_info(p).train_flops * BATCH);
    for (size_t i = 1; i < classes.n; i++) assert_true(classes.v[i - 1].time.wall_s >= classes.v[i].time.wall_s);
    for (size_t i = 1; i < single.n; i++)
        assert_true(single.v[i - 1].time.wall_s - single.v[i - 1].bound_s >=
                    single.v[i].time.wall_s - single.v[i].bound_s);
    const struct wl_by_op_row *conv = row_of(&classes, "conv2d 3x3 forward");
    assert_int_equal(conv->steps, 2);
    assert_null(conv->name);
    assert_string_equal(row_of(&classes, "conv2d 3x3 backward weights, half in f32")->name, "layer0.conv");
    assert_int_equal(row_of(&classes, "optimizer")->steps, 1);

    struct wl_text text = WL_TEXT(a);
    const struct wl_table table = wl_by_op_table(&single, 2, a);
    assert_int_equal(wl_table_rows(&table), 3); /* and the sum */
    wl_table_text(&table, &text, 0);
    assert_non_null(strstr(text.s, "time/bound"));
}

/* Of the processor that runs the test: no more than plausible, and no less than a bad one. */
static void test_ceilings_are_measured(void **state)
{
    (void)state;
    struct wl_err e = { 0 };
    struct wl_plan *p = plan((struct wl_plan_opts) { .backend = "ref", .threads = 1, .dry = true }, NULL);
    assert_true(isnan(wl_plan_step(p, 0, a).bound_s));
    assert_string_equal(wl_by_op_ceilings(p, a), "");
    if (wl_plan_measure_peaks(p, &e)) fail_msg("%s", e.msg);
    const struct wl_device_peaks m = wl_plan_info(p).peaks;
    assert_true(m.measured && m.device && m.threads == 1);
    assert_true(m.flop_per_s_f32 > 1e8 && m.flop_per_s_f32 < 1e13);
    assert_true(isnan(m.flop_per_s_16bit) || m.flop_per_s_16bit > .5 * m.flop_per_s_f32);
    const double memory[] = { m.bytes_per_s_read, m.bytes_per_s_copy, m.bytes_per_s_add };
    for (size_t i = 0; i < WL_COUNT(memory); i++) assert_true(memory[i] > 1e7 && memory[i] < 1e13);
    assert_true(wl_plan_step(p, 0, a).bound_s > 0 && wl_plan_info(p).update_bound_s > 0);
    assert_true(wl_str_starts(wl_by_op_ceilings(p, a), "ceilings of "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ARENA(test_bounds_are_those_of_independent_counts),
        WITH_ARENA(test_kernels_state_their_arithmetic),
        WITH_ARENA(test_times_add_up_to_the_step),
        WITH_ARENA(test_classes_are_sums_of_their_operations),
        WITH_ARENA(test_ceilings_are_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

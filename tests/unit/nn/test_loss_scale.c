/* Loss scaling in f16: test_loss_scale [ref|gpu]. gpu is given the fakes of CUDA by the environment. */
#include "network.h"
#include "ranks.h"

#include <stdio.h>

static const char *backend = "ref";

static struct wl_plan *new_plan(struct wl_comm *c)
{
    return plan((struct wl_plan_opts) { .backend = backend,
                                        .precision = WL_F16,
                                        .threads = 1,
                                        .seed = 3,
                                        .conv = WL_CONV_DIRECT,
                                        .optim = { .kind = "adamw", .weight_decay = 0.01 } },
                c);
}

/* Images of a batch, or such as are infinite in f16. */
static void fill(struct wl_plan *p, uint64_t batch, bool overflow)
{
    float *x = wl_plan_input(p, p->program.graph->tensors[0]);
    for (uint64_t i = 0; i < BATCH * 3 * 64; i++) x[i] = overflow ? 1e6f : (float)wl_random_normal(5, batch, i);
}

static int step(struct wl_plan *p, uint64_t batch, bool overflow, struct wl_err *e)
{
    fill(p, batch, overflow);
    int rc = train(p, true, true, e);
    return rc ? rc : wl_plan_update(p, 0.01, e);
}

static void update(struct wl_plan *p, uint64_t batch, bool overflow)
{
    struct wl_err e = { 0 };
    if (step(p, batch, overflow, &e)) fail_msg("%s", e.msg);
}

static float *all_states(struct wl_plan *p, size_t *n)
{
    *n = 0;
    for (size_t i = 0; i < wl_plan_state_count(p); i++) *n += wl_plan_state(p, i).count;
    float *all = wl_new_array(a, float, *n), *at = all;
    for (size_t i = 0; i < wl_plan_state_count(p); at += wl_plan_state(p, i++).count)
        assert_int_equal(wl_plan_state_read(p, i, at, NULL), 0);
    return all;
}

static bool same_states(struct wl_plan *p, struct wl_plan *q)
{
    size_t n, m;
    const float *x = all_states(p, &n), *y = all_states(q, &m);
    return n == m && memcmp(x, y, n * sizeof *x) == 0;
}

static void copy_states(struct wl_plan *from, struct wl_plan *to)
{
    size_t n;
    const float *at = all_states(from, &n);
    for (size_t i = 0; i < wl_plan_state_count(to); at += wl_plan_state(to, i++).count)
        assert_int_equal(wl_plan_state_write(to, i, at, NULL), 0);
}

static void expect(const struct wl_plan *p, double scale, int64_t good, int64_t skipped)
{
    const struct wl_loss_scale s = wl_plan_loss_scale(p);
    if (s.scale != scale || s.good != good || s.skipped != skipped)
        fail_msg("scale %g, good %lld, skipped %lld; expected %g, %lld, %lld", s.scale, (long long)s.good,
                 (long long)s.skipped, scale, (long long)good, (long long)skipped);
}

static void test_overflow_skips_the_update_and_halves_the_scale(void **state)
{
    (void)state;
    size_t n;
    struct wl_plan *p = new_plan(NULL);
    expect(p, 65536, 0, 0);
    for (uint64_t i = 0; i < 3; i++) update(p, i, false);
    expect(p, 65536, 3, 0);
    const float *before = all_states(p, &n);
    update(p, 3, true);
    expect(p, 32768, 0, 1);
    assert_memory_equal(all_states(p, &n), before, n * sizeof *before);
    update(p, 4, false);
    expect(p, 32768, 1, 1);
    const float *after = all_states(p, &n);
    assert_true(memcmp(after, before, n * sizeof *before) != 0);
    for (size_t i = 0; i < n; i++) assert_true(isfinite(after[i]));
}

static void test_gradients_that_the_caller_rejects(void **state)
{
    (void)state;
    size_t n;
    struct wl_plan *p = new_plan(NULL);
    const float *before = all_states(p, &n);
    fill(p, 0, false);
    assert_int_equal(train(p, true, true, NULL), 0);
    wl_plan_reject_gradients(p);
    assert_int_equal(wl_plan_update(p, 0.01, NULL), 0);
    assert_memory_equal(all_states(p, &n), before, n * sizeof *before);
    expect(p, 32768, 0, 1);
}

/* Whatever the scale, the gradients that are read are those of the loss. */
static void test_gradients_are_read_without_the_scale(void **state)
{
    (void)state;
    struct wl_plan *p = new_plan(NULL);
    const size_t n = wl_plan_state(p, 0).count;
    float *g[2] = { wl_new_array(a, float, n), wl_new_array(a, float, n) };
    double apart = 0, size = 0;
    for (int i = 0; i < 2; i++) {
        wl_plan_set_loss_scale(p, &(struct wl_loss_scale) { .scale = i ? 1024 : 4096 });
        fill(p, 0, false);
        assert_int_equal(train(p, true, true, NULL), 0);
        assert_int_equal(wl_plan_gradient_read(p, 0, g[i], NULL), 0);
    }
    for (size_t i = 0; i < n; i++) {
        apart += pow((double)g[0][i] - (double)g[1][i], 2);
        size += pow((double)g[0][i], 2);
    }
    assert_true(size > 0);
    assert_true(apart < 1e-5 * size);
}

static void test_scale_doubles_after_good_updates(void **state)
{
    (void)state;
    struct wl_plan *p = new_plan(NULL);
    wl_plan_set_loss_scale(p, &(struct wl_loss_scale) { .scale = 1024, .good = WL_LOSS_SCALE_GOOD - 2 });
    update(p, 0, false);
    expect(p, 1024, WL_LOSS_SCALE_GOOD - 1, 0);
    update(p, 1, false);
    expect(p, 2048, 0, 0);
    update(p, 2, true);
    expect(p, 1024, 0, 1);
}

/* What continues from states and scale has the bits of what was not interrupted; Adam's steps are those that were made,
 * as if the skipped update had not been. */
static void test_a_skipped_update_leaves_no_trace(void **state)
{
    (void)state;
    struct wl_plan *through = new_plan(NULL), *resumed = new_plan(NULL), *without = new_plan(NULL);
    for (uint64_t i = 0; i < 4; i++) update(through, i, i == 2);
    const struct wl_loss_scale s = wl_plan_loss_scale(through);
    copy_states(through, resumed);
    wl_plan_set_updates(resumed, 4);
    wl_plan_set_loss_scale(resumed, &s);
    for (uint64_t i = 0; i < 4; i++) {
        if (i == 2) wl_plan_set_loss_scale(without, &(struct wl_loss_scale) { .scale = 32768 });
        if (i != 2) update(without, i, false);
    }
    update(through, 4, false);
    update(resumed, 4, false);
    update(without, 4, false);
    assert_true(same_states(through, resumed));
    assert_true(same_states(through, without));
    expect(resumed, 32768, 2, 1);
}

static void test_the_least_scale_is_the_end(void **state)
{
    (void)state;
    struct wl_plan *p = new_plan(NULL);
    struct wl_err e = { 0 };
    size_t n;
    const float *before = all_states(p, &n);
    for (int i = 0; i < 16; i++) update(p, 0, true);
    expect(p, WL_LOSS_SCALE_LEAST, 0, 16);
    assert_int_equal(step(p, 0, true, &e), WL_EJOB);
    if (!strstr(e.msg, "smallest loss scale (1)")) fail_msg("%s", e.msg);
    assert_memory_equal(all_states(p, &n), before, n * sizeof *before);
}

static void test_scale_has_a_largest_value(void **state)
{
    (void)state;
    struct wl_loss_scale s = { .scale = WL_LOSS_SCALE_MOST, .good = WL_LOSS_SCALE_GOOD - 1 };
    wl_loss_scale_good(&s);
    assert_true(s.scale == WL_LOSS_SCALE_MOST && s.good == 0);
}

static void test_backends_without_a_precision_name_those_with_it(void **state)
{
    (void)state;
    struct wl_err e = { 0 };
    assert_int_equal(wl_backend_precision("boxed", WL_F16, false, &e), WL_EUNAVAIL);
    assert_string_equal(e.msg, "back-end boxed does not have f16; ref and gpu do");
    assert_int_equal(wl_backend_tf32("boxed", &e), WL_EUNAVAIL);
    assert_string_equal(e.msg, "back-end boxed does not have tf32; gpu does");
    assert_int_equal(wl_backend_precision("ref", WL_F16, false, &e), 0);
}

/* ---- ranks ---- */

enum { RANKS = 2 };

/* The overflow is of rank 1 alone. value: the scale, skipped updates, a sum over the states. */
static int train_together(struct wl_comm *c, struct report *r, struct wl_err *e)
{
    size_t n;
    int rc = 0;
    a = c->arena;
    struct wl_plan *p = new_plan(c);
    for (uint64_t i = 0; i < 4 && !rc; i++) rc = step(p, 10 * i + (uint64_t)c->rank, i == 2 && c->rank == 1, e);
    if (!rc) rc = wl_plan_average_statistics(p, e);
    if (rc) return rc;
    const float *states = all_states(p, &n);
    r->value[0] = wl_plan_loss_scale(p).scale;
    r->value[1] = (double)wl_plan_loss_scale(p).skipped;
    for (size_t i = 0; i < n; i++) r->value[2] += (double)states[i] * (double)(1 + i % 7);
    return 0;
}

static void test_overflow_of_one_rank_skips_on_all(void **state)
{
    (void)state;
    const struct wl_comm_opts how = { .backend = "shm", .on_gpus = !strcmp(backend, "gpu") };
    const struct report *r = run_ranks_as(RANKS, &how, train_together);
    for (int k = 0; k < RANKS; k++) {
        if (!r[k].came_back || r[k].rc) fail_msg("rank %d: %s", k, r[k].msg);
        assert_true(r[k].value[0] == 32768 && r[k].value[1] == 1);
        assert_true(isfinite(r[k].value[2]) && r[k].value[2] == r[0].value[2]);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        WITH_ARENA(test_overflow_of_one_rank_skips_on_all), /* first: ranks are forked, which CUDA does not survive */
        WITH_ARENA(test_overflow_skips_the_update_and_halves_the_scale),
        WITH_ARENA(test_gradients_that_the_caller_rejects),
        WITH_ARENA(test_gradients_are_read_without_the_scale),
        WITH_ARENA(test_scale_doubles_after_good_updates),
        WITH_ARENA(test_a_skipped_update_leaves_no_trace),
        WITH_ARENA(test_the_least_scale_is_the_end),
        WITH_ARENA(test_scale_has_a_largest_value),
        WITH_ARENA(test_backends_without_a_precision_name_those_with_it),
    };
    if (argc > 1) backend = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}

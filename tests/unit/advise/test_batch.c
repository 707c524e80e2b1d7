/* The batch search: published worked example, and what must hold whatever the data. */
#include "near.h"

#include "advise/advise.h"

static struct wl_advise_batch *new_search(const struct wl_advise_batch_opts *o, struct wl_arena *a)
{
    struct wl_advise_batch *s = NULL;
    struct wl_err e;
    if (wl_advise_batch_new(&s, o, a, &e)) fail_msg("%s", e.msg);
    return s;
}

static void add(struct wl_advise_batch *s, size_t i, enum wl_advise_batch_outcome outcome, double cost)
{
    struct wl_err e;
    if (wl_advise_batch_add(s, &(struct wl_advise_batch_trial) { i, outcome, cost }, &e)) fail_msg("%s", e.msg);
}

/* docs/adr/116 */
static void worked_example(void **state)
{
    static const double batch[] = { 32, 64, 128, 256, 512 };
    static const double mean[] = { 5.6685076, 5.2242551, 4.7857613, 4.8079975, 5.0989398 };
    static const double sd[] = { .483928, .2160821, .1566211, .1553388, .4309053 };
    static const double gain[] = { .01175919, 0, .0256522, .02486252, .07108372 };
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_advise_batch_opts o = wl_advise_batch_defaults(batch, 5, 2);
    struct wl_advise_batch *s = new_search(&o, a);
    (void)state;
    add(s, 2, WL_ADVISE_BATCH_REACHED, 100);
    add(s, 3, WL_ADVISE_BATCH_REACHED, 130);
    add(s, 1, WL_ADVISE_BATCH_STOPPED, 200);
    const struct wl_advise_batch_estimate *v = wl_advise_batch_estimates(s);
    for (size_t i = 0; i < 5; i++) {
        near(v[i].ln_cost, mean[i], 1e-7);
        near(v[i].sd, sd[i], 1e-7);
        near(v[i].gain, gain[i], 1e-8);
    }
    wl_arena_free(a);
}

/* ---- properties ---- */

static const double sizes[] = { 8, 16, 32, 64, 128, 256, 512, 1024 };
enum { SIZES = 8 };

/* A valley with its bottom at 64; batches below 16 diverge, above 256 do not fit. */
static double valley(size_t i) { return 100 * exp(0.15 * ((double)i - 3) * ((double)i - 3)); }

static struct wl_advise_batch_step train(struct wl_advise_batch *s, size_t *trials)
{
    struct wl_advise_batch_step step;
    for (*trials = 0; !(step = wl_advise_batch_next(s)).done; ++*trials) {
        assert_true(*trials < 8 && step.index < SIZES);
        const double cost = valley(step.index);
        if (step.index > 5)
            add(s, step.index, WL_ADVISE_BATCH_OUT_OF_MEMORY, 0);
        else if (step.index < 1)
            add(s, step.index, WL_ADVISE_BATCH_DIVERGED, 0);
        else if (cost > step.limit)
            add(s, step.index, WL_ADVISE_BATCH_STOPPED, step.limit);
        else
            add(s, step.index, WL_ADVISE_BATCH_REACHED, cost);
    }
    return step;
}

/* From any start the bottom is found, no batch is tried twice that failed, nor any above one that did not fit. */
static void finds_the_bottom(void **state)
{
    (void)state;
    for (size_t start = 0; start < SIZES; start++) {
        struct wl_arena *a = wl_arena_new(NULL);
        const struct wl_advise_batch_opts o = wl_advise_batch_defaults(sizes, SIZES, start);
        struct wl_advise_batch *s = new_search(&o, a);
        size_t trials;
        const struct wl_advise_batch_step step = train(s, &trials);
        if (step.index != 3) fail_msg("from %g: %g after %zu trials", sizes[start], sizes[step.index], trials);
        assert_true(step.reason == WL_ADVISE_BATCH_SETTLED || step.reason == WL_ADVISE_BATCH_SPENT);
        wl_arena_free(a);
    }
}

/* The unit of cost does not matter. */
static void units(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_advise_batch_opts o = wl_advise_batch_defaults(sizes, SIZES, 2);
    struct wl_advise_batch *s = new_search(&o, a), *t = new_search(&o, a);
    (void)state;
    for (size_t i = 2; i < 5; i++) {
        add(s, i, WL_ADVISE_BATCH_REACHED, valley(i));
        add(t, i, WL_ADVISE_BATCH_REACHED, 3.6e6 * valley(i));
    }
    for (size_t i = 0; i < SIZES; i++) {
        const struct wl_advise_batch_estimate v = wl_advise_batch_estimates(s)[i], w = wl_advise_batch_estimates(t)[i];
        near(w.ln_cost - v.ln_cost, log(3.6e6), 1e-9);
        near(w.sd, v.sd, 1e-9);
        near(w.gain, v.gain, 1e-9);
    }
    wl_arena_free(a);
}

/* Out of memory rules out, and says nothing about the cost. */
static void out_of_memory(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_advise_batch_opts o = wl_advise_batch_defaults(sizes, SIZES, 7);
    struct wl_advise_batch *s = new_search(&o, a), *t = new_search(&o, a);
    (void)state;
    add(s, 7, WL_ADVISE_BATCH_OUT_OF_MEMORY, 0);
    struct wl_advise_batch_step step = wl_advise_batch_next(s);
    assert_int_equal(step.reason, WL_ADVISE_BATCH_SMALLER);
    assert_true(step.index > 1 && step.index < 6 && isinf(step.limit));
    add(s, 5, WL_ADVISE_BATCH_OUT_OF_MEMORY, 0);
    add(s, 3, WL_ADVISE_BATCH_REACHED, 100);
    add(t, 3, WL_ADVISE_BATCH_REACHED, 100);
    const struct wl_advise_batch_estimate *v = wl_advise_batch_estimates(s), *w = wl_advise_batch_estimates(t);
    for (size_t i = 0; i < SIZES; i++) {
        near(v[i].ln_cost, w[i].ln_cost, 1e-12);
        assert_int_equal(v[i].failed, i >= 5);
    }
    near(wl_advise_batch_next(s).limit, 200, 1e-9);
    wl_arena_free(a);
}

/* A divergence counts as a stop at the limit that holds now, whenever it came. */
static void diverged(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_advise_batch_opts o = wl_advise_batch_defaults(sizes, SIZES, 7);
    struct wl_advise_batch *s = new_search(&o, a), *t = new_search(&o, a);
    (void)state;
    add(s, 6, WL_ADVISE_BATCH_DIVERGED, 3);
    add(s, 3, WL_ADVISE_BATCH_REACHED, 100);
    add(t, 3, WL_ADVISE_BATCH_REACHED, 100);
    add(t, 6, WL_ADVISE_BATCH_STOPPED, 200);
    for (size_t i = 0; i < SIZES; i++)
        near(wl_advise_batch_estimates(s)[i].ln_cost, wl_advise_batch_estimates(t)[i].ln_cost, 1e-12);
    wl_arena_free(a);
}

static void nothing_trains(void **state)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_advise_batch_opts o = wl_advise_batch_defaults(sizes, SIZES, 4);
    struct wl_advise_batch *s = new_search(&o, a);
    struct wl_advise_batch_step step;
    size_t trials = 0;
    (void)state;
    for (; !(step = wl_advise_batch_next(s)).done; trials++)
        add(s, step.index, trials % 2 ? WL_ADVISE_BATCH_DIVERGED : WL_ADVISE_BATCH_OUT_OF_MEMORY, 0);
    assert_int_equal(step.reason, WL_ADVISE_BATCH_NONE);
    assert_true(trials <= 8);
    wl_arena_free(a);
}

static void bad_input(void **state)
{
    static const double descending[] = { 64, 32 };
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_advise_batch_opts o = wl_advise_batch_defaults(descending, 2, 0);
    struct wl_advise_batch *s;
    struct wl_err e;
    (void)state;
    assert_int_equal(wl_advise_batch_new(&s, &o, a, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "32 follows 64"));
    o = wl_advise_batch_defaults(sizes, SIZES, 8);
    assert_int_equal(wl_advise_batch_new(&s, &o, a, &e), WL_EINVAL);
    o = wl_advise_batch_defaults(sizes, SIZES, 0);
    o.stop_at = 1;
    assert_int_equal(wl_advise_batch_new(&s, &o, a, &e), WL_EINVAL);
    o.stop_at = 2;
    s = new_search(&o, a);
    const struct wl_advise_batch_trial bad[] = { { 8, WL_ADVISE_BATCH_REACHED, 1 },
                                                 { 0, WL_ADVISE_BATCH_REACHED, 0 },
                                                 { 0, WL_ADVISE_BATCH_STOPPED, -1 },
                                                 { 0, WL_ADVISE_BATCH_DIVERGED, NAN } };
    for (size_t i = 0; i < WL_COUNT(bad); i++) assert_int_equal(wl_advise_batch_add(s, &bad[i], &e), WL_EINVAL);
    assert_int_equal(wl_advise_batch_next(s).reason, WL_ADVISE_BATCH_START);
    wl_arena_free(a);
}

/* ---- the largest that fits ---- */

/* ---- worker counts ---- */

static const double workers[] = { 1, 2, 4, 8, 16, 32, 64, 128 };

/* Time of an epoch: parallel, serial and collective parts. */
static double ideal_s(size_t i, double collective) { return 1000 / workers[i] + 5 + collective * workers[i]; }

/* With noise of up to 2 %, drawn from a seed. */
static double measured_s(size_t i, double collective, unsigned *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    return ideal_s(i, collective) * exp(((double)*seed / 4294967296.0 - 0.5) * 0.04);
}

/* A search over the counts: worker-seconds of its trials, and how far its choice is above the least time. */
static void search_workers(const double *price, double collective, unsigned seed, double *spent, double *regret)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_advise_batch_opts o = wl_advise_batch_defaults(workers, 8, 0);
    struct wl_advise_batch_step step;
    double least = INFINITY;
    o.price = price;
    struct wl_advise_batch *s = new_search(&o, a);
    while (!(step = wl_advise_batch_next(s)).done) {
        const double t = measured_s(step.index, collective, &seed);
        add(s, step.index, WL_ADVISE_BATCH_REACHED, t);
        *spent += t * workers[step.index];
    }
    for (size_t i = 0; i < 8; i++) least = fmin(least, ideal_s(i, collective));
    *regret += ideal_s(step.index, collective) / least - 1;
    wl_arena_free(a);
}

/* Per price the same choice costs fewer worker-seconds. */
static void a_price_saves_worker_time(void **state)
{
    double plain_s = 0, priced_s = 0, plain = 0, priced = 0;
    const int n = 200;
    (void)state;
    for (int i = 0; i < n; i++) {
        const double collective = 0.02 * pow(2, i % 8);
        search_workers(NULL, collective, (unsigned)i, &plain_s, &plain);
        search_workers(workers, collective, (unsigned)i, &priced_s, &priced);
    }
    print_message("worker-seconds %.0f, per price %.0f; regret %.4f, per price %.4f\n", plain_s / n, priced_s / n,
                  plain / n, priced / n);
    assert_true(priced_s < 0.95 * plain_s);
    assert_true(priced / n < 0.03 && priced / n < plain / n + 0.005);
}

static uint64_t largest(uint64_t first, uint64_t step, uint64_t most, uint64_t truth, size_t *tries)
{
    struct wl_advise_largest s;
    struct wl_err e;
    uint64_t b;
    if (wl_advise_largest_init(&s, first, step, most, &e)) fail_msg("%s", e.msg);
    for (*tries = 0; (b = wl_advise_largest_next(&s)); ++*tries) {
        assert_true(b % step == 0 && *tries < 130 && (!most || b <= most));
        assert_int_equal(wl_advise_largest_add(&s, b, b <= truth, &e), 0);
    }
    return s.fits;
}

static void largest_fits(void **state)
{
    size_t tries;
    (void)state;
    for (uint64_t step = 1; step <= 24; step += 23)
        for (uint64_t truth = 0; truth < 300; truth++)
            for (uint64_t first = 1; first < 400; first += 57)
                assert_int_equal(largest(first, step, 0, truth, &tries), truth - truth % step);
    assert_int_equal(largest(32, 8, 100, 1000, &tries), 96);
    assert_int_equal(largest(1000, 8, 100, 1000, &tries), 96);
    assert_int_equal(tries, 1);
    assert_int_equal(largest(64, 1, 0, 5000, &tries), 5000);
    assert_true(tries < 24);
    assert_int_equal(largest(1, 1, 0, UINT64_MAX, &tries), UINT64_MAX);
}

static void largest_refuses(void **state)
{
    struct wl_advise_largest s;
    struct wl_err e;
    (void)state;
    assert_int_equal(wl_advise_largest_init(&s, 8, 0, 0, &e), WL_EINVAL);
    assert_int_equal(wl_advise_largest_init(&s, 8, 16, 15, &e), WL_EINVAL);
    assert_int_equal(wl_advise_largest_init(&s, 8, 8, 0, &e), 0);
    assert_int_equal(wl_advise_largest_add(&s, 12, true, &e), WL_EINVAL);
    assert_int_equal(wl_advise_largest_add(&s, 64, true, &e), 0);
    assert_int_equal(wl_advise_largest_add(&s, 32, false, &e), WL_EINVAL);
    assert_non_null(strstr(e.msg, "batch 32 does not fit, but 64 did"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_example),
        cmocka_unit_test(finds_the_bottom),
        cmocka_unit_test(units),
        cmocka_unit_test(out_of_memory),
        cmocka_unit_test(diverged),
        cmocka_unit_test(nothing_trains),
        cmocka_unit_test(a_price_saves_worker_time),
        cmocka_unit_test(bad_input),
        cmocka_unit_test(largest_fits),
        cmocka_unit_test(largest_refuses),
    };
    return cmocka_run_group_tests_name("advise-batch", tests, NULL, NULL);
}

/* The sampler: deadlines, slow sensors, failures, overflow. */
#include "fixture.h"

#include "base/thread.h"
#include "power/sampler/worker.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- Sensors made for these tests ---- */

/* Counts its reads; sleeps; fails from read `bad_from` up to `bad_to`. */
struct fake_sensor {
    int64_t sleep_ns;
    long hangs_at; /* this read waits for its file to end; 0: none */
    int file;      /* of a pipe */
    long bad_from, bad_to;
    long slow_reads; /* the first reads, which take .15 s */
    int64_t step_ns; /* update period of a counter; 0: at each read */
    long reads;
};

static void fake_read(struct wl_sensor *s, struct wl_due due, struct wl_reading *out)
{
    (void)due;
    struct fake_sensor *t = s->state;
    int64_t t0 = wl_now_ns();
    if (t->sleep_ns > 0) wl_sleep_until(t0 + t->sleep_ns);
    long n = t->reads++;
    char end;
    if (n < t->slow_reads) wl_sleep_until(t0 + WL_NS_PER_S / 20 * 3);
    if (t->hangs_at > 0 && n == t->hangs_at) (void)!read(t->file, &end, 1);
    if (n >= t->bad_from && n < t->bad_to)
        wl_reading_fail(&out[0], "the sensor is broken");
    else
        wl_reading_set(&out[0], t->step_ns > 0 ? (double)(t0 / t->step_ns) : (double)n, t0);
}

static const struct wl_sensor_ops fake_ops = { .name = "fake", .help = "for tests", .read = fake_read };

/* A list of n fake_sensors with one channel each, as wl_sensors_open would give it. */
static struct wl_sensors *fake_sensors(struct fixture *f, struct fake_sensor *fake, size_t n)
{
    struct wl_sensors *all = wl_new(f->a, struct wl_sensors);
    all->n_open = all->n_channels = all->n_devices = n;
    all->open = wl_new_array(f->a, struct wl_sensor *, n);
    all->channels = wl_new_array(f->a, struct wl_channel, n);
    all->devices = wl_new_array(f->a, struct wl_device, n);
    for (size_t i = 0; i < n; i++) {
        struct wl_sensor *s = wl_new(f->a, struct wl_sensor);
        *s = (struct wl_sensor) { .ops = &fake_ops, .arena = f->a, .state = &fake[i], .first_channel = i };
        wl_sensor_add_channel(s, 0, WL_POWER, WL_SCOPE_NODE, WL_VARIANT_INSTANT);
        s->readings = wl_new_array(f->a, struct wl_reading, 1);
        s->read_s = (double)fake[i].sleep_ns / WL_NS_PER_S;
        all->open[i] = s;
    }
    return all;
}

/* ---- Tests ---- */

static void an_empty_run_has_a_first_and_a_last_sample(void **state)
{
    struct fixture *f = *state;
    struct fake_sensor fake = { 0 };
    int64_t t0 = wl_now_ns();
    struct wl_sampler *s = start_sampler(f, fake_sensors(f, &fake, 1), 0.1); /* the next tick would be 10 s away */
    wl_sampler_stop(s);
    wl_sampler_stop(s);
    int64_t t1 = wl_now_ns();
    assert_true(t1 - t0 < 2 * WL_NS_PER_S);
    struct wl_sample out[4];
    assert_int_equal(wl_sampler_drain(s, out, 4), 2);
    assert_true(out[0].value == 0 && out[1].value == 1);
    assert_true(t0 <= out[0].t_ns && out[0].t_ns <= out[1].t_ns && out[1].t_ns <= t1);
    struct wl_sampler_stats stats;
    wl_sampler_stats(s, &stats);
    assert_true(stats.ticks == 2 && stats.samples == 2 && isnan(stats.achieved_period_s) && stats.cpu_ns > 0);
}

/* On a busy machine ticks may be missed; each is either taken or counted as skipped. */
static void ticks_and_skipped_ticks_account_for_the_time(void **state)
{
    struct fixture *f = *state;
    struct fake_sensor fake = { 0 };
    const int64_t period_ns = WL_NS_PER_S / 200;
    int64_t t0 = wl_now_ns();
    struct wl_sampler *s = start_sampler(f, fake_sensors(f, &fake, 1), 200);
    struct wl_sampler_stats stats = { 0 };
    while (stats.ticks < 20) {
        sleep_ms(20);
        wl_sampler_stats(s, &stats);
    }
    wl_sampler_stop(s);
    int64_t elapsed_ns = wl_now_ns() - t0;
    wl_sampler_stats(s, &stats);
    static struct wl_sample out[1000];
    size_t n = wl_sampler_drain(s, out, WL_COUNT(out));
    assert_int_equal(n, stats.samples);
    assert_true(n > 3 && stats.achieved_period_s >= 0.99 * stats.period_s);
    int64_t counted = (int64_t)(stats.ticks - 2 + stats.skipped);
    int64_t passed = (out[n - 2].t_ns - out[0].t_ns) / period_ns; /* deadlines up to the thread's last tick */
    if (counted < passed - 1 || counted > elapsed_ns / period_ns + 1)
        fail_msg("%d ticks, %d deadlines, %d periods", (int)counted, (int)passed, (int)(elapsed_ns / period_ns));
    /* Ticks are on the grid: no reading is before its deadline. */
    for (size_t i = 1; i + 1 < n; i++) assert_true(out[i].t_ns - t0 >= (int64_t)i * period_ns);
}

static void a_slow_sensor_has_its_own_thread(void **state)
{
    struct fixture *f = *state;
    struct fake_sensor two[2] = { { .sleep_ns = 35 * (WL_NS_PER_S / 1000) }, { 0 } };
    struct wl_sampler *s = start_sampler(f, fake_sensors(f, two, 2), 100);
    struct wl_sampler_stats stats;
    struct wl_channel_stats slow = { 0 }, fast;
    for (int i = 0; i < 100 && slow.samples < 8; i++) {
        sleep_ms(40);
        wl_sampler_channel_stats(s, 0, &slow);
    }
    wl_sampler_stop(s);
    wl_sampler_stats(s, &stats);
    wl_sampler_channel_stats(s, 0, &slow);
    wl_sampler_channel_stats(s, 1, &fast);
    assert_int_equal(stats.threads, 2);
    assert_true(stats.skipped >= 2 * (slow.samples - 2)); /* each reading takes three and a half periods */
    assert_true(stats.achieved_period_s > 0.03);
    assert_true(fast.samples > slow.samples);
}

static void failures_are_gaps_and_never_zero(void **state)
{
    struct fixture *f = *state;
    struct fake_sensor fake = { .bad_from = 3, .bad_to = 6 };
    struct wl_sampler *s = start_sampler(f, fake_sensors(f, &fake, 1), 100);
    for (int i = 0; i < 1000; i++) {
        struct wl_sampler_stats now;
        wl_sampler_stats(s, &now);
        if (now.ticks > 8) break;
        sleep_ms(10);
    }
    wl_sampler_stop(s);
    struct wl_channel_stats c;
    wl_sampler_channel_stats(s, 0, &c);
    assert_int_equal(c.errors, 3);
    assert_string_equal(c.last_why, "the sensor is broken");
    static struct wl_sample out[1000];
    size_t n = wl_sampler_drain(s, out, WL_COUNT(out));
    assert_int_equal(n, c.samples + c.errors);
    for (size_t i = 0; i < n; i++) assert_true(i >= 3 && i < 6 ? isnan(out[i].value) : out[i].value == (double)i);
    assert_true(c.gap_ns >= out[6].t_ns - out[2].t_ns);
}

/* The first reading takes .15 s, so that its instant is unknown, and is repeated before the job may start. */
static void a_slow_reading_at_an_end_is_repeated(void **state)
{
    struct fixture *f = *state;
    struct fake_sensor fake = { .slow_reads = 2 };
    struct wl_sampler *s = start_sampler(f, fake_sensors(f, &fake, 1), 0.1);
    struct wl_channel_stats c;
    wl_sampler_channel_stats(s, 0, &c);
    assert_true(c.samples >= 1 && c.errors >= 2);
    assert_string_equal(c.last_why, WL_SLOW_WHY);
    uint64_t before = c.samples;
    wl_sampler_edges(s, WL_EDGES_BEFORE);
    for (int i = 0; i < 500 && c.samples == before; i++) {
        sleep_ms(10);
        wl_sampler_channel_stats(s, 0, &c);
    }
    assert_true(c.samples > before); /* although no tick is due for ten seconds */
    wl_sampler_stop(s);
}

static void a_sensor_that_never_recovers_has_an_open_gap(void **state)
{
    struct fixture *f = *state;
    struct fake_sensor fake = { .bad_from = 0, .bad_to = 1000000 };
    struct wl_sampler *s = start_sampler(f, fake_sensors(f, &fake, 1), 100);
    sleep_ms(50);
    wl_sampler_stop(s);
    struct wl_channel_stats c;
    wl_sampler_channel_stats(s, 0, &c);
    assert_true(c.samples == 0 && c.errors >= 2 && c.gap_ns >= 50 * (WL_NS_PER_S / 1000));
    int64_t at_stop_ns = c.gap_ns;
    sleep_ms(5);
    wl_sampler_channel_stats(s, 0, &c);
    assert_int_equal(c.gap_ns, at_stop_ns);
}

/* How many samples of the channel a request for edges adds, not counting ticks. */
static size_t dense_samples(struct wl_sampler *s, enum wl_sampler_edge_side edges, uint32_t channel)
{
    static struct wl_sample out[1000];
    struct wl_sampler_stats before, after;
    size_t of_channel = 0;
    wl_sampler_stats(s, &before);
    while (wl_sampler_drain(s, out, WL_COUNT(out)) > 0) continue;
    wl_sampler_edges(s, edges);
    size_t n = wl_sampler_drain(s, out, WL_COUNT(out));
    wl_sampler_stats(s, &after);
    for (size_t i = 0; i < n; i++) of_channel += out[i].channel == channel;
    return of_channel - (after.ticks - before.ticks);
}

/* Of two counters of a thread, one has steps of 40 ms: its sensor is read every 2 ms until it has changed as often as
 * requested, or two steps have passed. The other one is read once, and again only if that took long. A busy machine
 * reads less often, never more; repeated until it has read as often as it should. */
static void edges_of_counters_are_read_in_bursts(void **state)
{
    struct fixture *f = *state;
    enum { STEPPED, SMOOTH, PATIENCE_S = 60 };
    struct fake_sensor two[2] = { { .step_ns = 40 * (WL_NS_PER_S / 1000) }, { 0 } };
    struct wl_sensors *sensors = fake_sensors(f, two, 2);
    sensors->channels[STEPPED] = (struct wl_channel) { .quantity = WL_ENERGY, .update_s = 0.04 };
    sensors->channels[SMOOTH] = (struct wl_channel) { .quantity = WL_ENERGY, .update_s = 0.001 };
    struct wl_sampler *s = start_sampler(f, sensors, 0.1);
    const int64_t until_ns = wl_now_ns() + PATIENCE_S * WL_NS_PER_S;
    size_t one = 0, two_edges = 0;
    while (one < 15 || two_edges < 30) { /* each request comes just after an edge */
        if (wl_now_ns() > until_ns) fail_msg("at most %zu readings for one edge, %zu for two", one, two_edges);
        size_t single = dense_samples(s, WL_EDGES_BEFORE, SMOOTH);
        assert_true(single >= 1 && single <= 4);
        size_t before = dense_samples(s, WL_EDGES_BEFORE, STEPPED), after = dense_samples(s, WL_EDGES_AFTER, STEPPED);
        assert_true(before >= 1 && before <= 21 && after >= 1 && after <= 42);
        one = before > one ? before : one;
        two_edges = after > two_edges ? after : two_edges;
    }
    two[STEPPED].step_ns = 3600 * WL_NS_PER_S; /* it does not change: the burst ends after two steps */
    size_t still = dense_samples(s, WL_EDGES_AFTER, STEPPED);
    assert_true(still >= 1 && still <= 45);
    wl_sampler_stop(s);
}

static uint64_t errors_of(const struct wl_sampler *s, size_t channel)
{
    struct wl_channel_stats c;
    wl_sampler_channel_stats(s, channel, &c);
    return c.errors;
}

/* One of two sensors of a thread hangs: the other gets a new thread; the hung one returns, with a thread of its own. */
static void a_hung_reading_is_isolated(void **state)
{
    struct fixture *f = *state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct fake_sensor two[2] = { { .hangs_at = 5, .file = ends[0] }, { 0 } };
    struct wl_sampler *s = start_sampler(f, fake_sensors(f, two, 2), 100);
    static struct wl_sample out[4096];
    size_t n = 0;
    for (int i = 0; i < 500 && errors_of(s, 0) == 0; i++) {
        sleep_ms(20);
        n += wl_sampler_drain(s, out + n, WL_COUNT(out) - n);
    }
    struct wl_channel_stats hung, other, later;
    wl_sampler_channel_stats(s, 0, &hung);
    wl_sampler_channel_stats(s, 1, &other);
    assert_true(hung.samples == 5 && hung.errors == 1 && hung.gap_ns > 0);
    assert_string_equal(hung.last_why, "the sensor has not answered for a second");
    for (int i = 0; i < 500; i++) {
        sleep_ms(20);
        wl_sampler_channel_stats(s, 1, &later);
        if (later.samples > other.samples + 5) break;
    }
    assert_true(later.samples > other.samples + 5 && later.errors == 0);

    close(ends[1]); /* it answers late and continues */
    for (int i = 0; i < 500 && hung.samples < 8; i++) {
        sleep_ms(20);
        wl_sampler_channel_stats(s, 0, &hung);
    }
    wl_sampler_stop(s);
    assert_true(hung.samples >= 8 && hung.errors == 2);
    assert_string_equal(hung.last_why, "the sensor took longer than a second to answer");
    for (size_t got; (got = wl_sampler_drain(s, out + n, WL_COUNT(out) - n)) > 0;) n += got;
    int64_t last[2] = { 0 };
    for (size_t i = 0; i < n; i++) {
        assert_true(out[i].t_ns >= last[out[i].channel]);
        last[out[i].channel] = out[i].t_ns;
    }
    close(ends[0]);
}

static void a_reading_that_never_returns_is_abandoned(void **state)
{
    struct fixture *f = *state;
    int ends[2];
    static struct fake_sensor two[2]; /* the abandoned thread keeps using them */
    struct wl_arena *kept = wl_arena_new(NULL), *a = f->a;
    assert_int_equal(pipe(ends), 0);
    two[0] = (struct fake_sensor) { .hangs_at = 3, .file = ends[0] };
    f->a = kept; /* sensors whose memory is leaked */
    struct wl_sensors *sensors = fake_sensors(f, two, 2);
    f->a = wl_arena_new(NULL);
    struct wl_sampler *s = start_sampler(f, sensors, 100);
    struct wl_channel_stats c = { 0 };
    for (int i = 0; i < 500 && c.samples < 3; i++) {
        sleep_ms(10);
        wl_sampler_channel_stats(s, 0, &c);
    }
    sleep_ms(100);
    wl_sampler_stop(s);
    wl_sampler_channel_stats(s, 0, &c);
    assert_true(sensors->open[0]->abandoned && c.samples == 3 && c.errors >= 1 && c.gap_ns > 0);
    assert_string_equal(c.last_why, "the sensor had not answered by the end of the run");
    wl_sampler_channel_stats(s, 1, &c);
    assert_true(!sensors->open[1]->abandoned && c.samples >= 4 && c.errors == 0); /* with a last reading */
    static struct wl_sample out[4096];
    size_t n = wl_sampler_drain(s, out, WL_COUNT(out));
    assert_true(n > 0);
    wl_arena_free(f->a);
    f->a = a;
    close(ends[1]); /* it answers after the end: ignored, nothing breaks */
    sleep_ms(50);
    wl_arena_leak(kept);
}

static void an_invalid_rate_is_rejected(void **state)
{
    struct fixture *f = *state;
    struct fake_sensor fake = { 0 };
    struct wl_sampler *s;
    assert_int_equal(wl_sampler_start(&s, fake_sensors(f, &fake, 1), 0, f->a, &f->e), WL_EINVAL);
    assert_int_equal(wl_sampler_start(&s, fake_sensors(f, &fake, 1), NAN, f->a, &f->e), WL_EINVAL);
}

/* A small ring is not drained: what does not fit is dropped and counted. */
static void overflow_is_counted(void **state)
{
    struct fixture *f = *state;
    struct fake_sensor fake = { 0 };
    struct wl_sampler *s;
    assert_int_equal(wl_sampler_start_with(&s, fake_sensors(f, &fake, 1), 500, 0.01, f->a, &f->e), 0);
    struct wl_sampler_stats stats = { 0 };
    for (int i = 0; i < 100 && stats.lost == 0; i++) {
        sleep_ms(40);
        wl_sampler_stats(s, &stats);
    }
    wl_sampler_stop(s);
    wl_sampler_stats(s, &stats);
    assert_int_equal(stats.samples, 32); /* 5 ticks and 16 readings at the ends, rounded up to a power of two */
    assert_int_equal(stats.samples + stats.lost, fake.reads);
    static struct wl_sample out[100];
    assert_int_equal(wl_sampler_drain(s, out, WL_COUNT(out)), 32);
    assert_true(out[31].value == 31); /* the oldest are kept */
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(an_empty_run_has_a_first_and_a_last_sample),
        WITH_FIXTURE(ticks_and_skipped_ticks_account_for_the_time),
        WITH_FIXTURE(a_slow_sensor_has_its_own_thread),
        WITH_FIXTURE(failures_are_gaps_and_never_zero),
        WITH_FIXTURE(a_slow_reading_at_an_end_is_repeated),
        WITH_FIXTURE(a_sensor_that_never_recovers_has_an_open_gap),
        WITH_FIXTURE(edges_of_counters_are_read_in_bursts),
        WITH_FIXTURE(a_hung_reading_is_isolated),
        WITH_FIXTURE(a_reading_that_never_returns_is_abandoned),
        WITH_FIXTURE(an_invalid_rate_is_rejected),
        WITH_FIXTURE(overflow_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

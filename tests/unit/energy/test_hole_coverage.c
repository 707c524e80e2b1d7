/* Is the energy of a window with holes right or missing, and is the truth in the stated interval? */
#include "random_cases.h"

/* Readings that fail for a while: a driver that hangs, a sampler that was stopped, a busy machine. One to four holes of
 * .3 s to half of the window, anywhere from a second before it to a second after it. `together`: counter and power have
 * the same holes. */
static void punch(const struct drawn *d, int c, double *value, uint64_t stream)
{
    double length_s = (double)(d->t1 - d->t0) / S;
    int n = 1 + (int)(4 * wl_random_uniform(stream, (uint64_t)c, 0));
    for (int k = 0; k < n; k++) {
        double u = wl_random_uniform(stream, (uint64_t)c, 2 * (uint64_t)k + 1);
        double hole_s = 0.3 * pow(fmax(1, length_s / 2 / 0.3), u);
        double at_s = (length_s + 2) * wl_random_uniform(stream, (uint64_t)c, 2 * (uint64_t)k + 2) - 1;
        int64_t from = d->t0 + (int64_t)(at_s * 1e9), to = from + (int64_t)(hole_s * 1e9);
        for (size_t i = 0; i < readings.n; i++)
            if (readings.t_ns[i] > from && readings.t_ns[i] < to) value[i] = NAN;
    }
}

enum { LONG_CASES = 20000 };
static double widths[LONG_CASES];

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Windows that have an energy. */
struct holed {
    int cases, in, missing, by[3];
    size_t n_widths;
};

/* The energy of a window, as chosen in a run, is right or missing, and missing only if most of it is holes in the power
 * readings. */
static void judge_holed(struct holed *h, const struct drawn *d, int64_t gap, int c)
{
    struct wl_sensor_response g = { d->gpu.profile.update_s, NAN, NAN, d->gpu.profile.limit_w[2] },
                              g_counter = wl_sensor_response_unknown;
    struct wl_time_series power = { readings.t_ns, readings.power_w, readings.n };
    struct wl_time_series energy = { readings.t_ns, readings.energy_j, readings.n };
    struct wl_energy of[3] = { wl_energy_of_counter(&energy, &power, d->t0, d->t1, gap, &g_counter),
                               wl_energy_of_power(&power, d->t0, d->t1, gap, &g),
                               wl_energy_combined(&energy, &power, d->t0, d->t1, gap, &g_counter, &g) };
    const struct wl_energy *e = &of[wl_energy_choose(&of[0], &of[1], &of[2])];
    double truth = truth_j(d);
    for (int m = 0; m < 3; m++) /* each method by itself too */
        assert_true(isnan(of[m].energy_j) ? of[m].why != NULL : of[m].lo_j <= of[m].hi_j);
    h->cases++;
    if (isnan(e->energy_j)) {
        assert_true(of[1].coverage < 0.5);
        h->missing++;
        return;
    }
    bool in = e->lo_j <= truth && truth <= e->hi_j;
    h->in += in;
    h->by[e - of]++;
    widths[h->n_widths++] = 100 * (e->hi_j - e->lo_j) / 2 / truth;
    if (!in)
        printf("  %d by %s misses: %s: %.2f J in %.2f to %.2f, truth %.2f\n", c, wl_energy_method_name(e - of),
               d->words, e->energy_j, e->lo_j, e->hi_j, truth);
}

/* The long form, by hand: WATTLAW_COVERAGE_CASES=5000. */
static int holed_cases(void)
{
    const char *asked = getenv("WATTLAW_COVERAGE_CASES");
    int n = asked ? atoi(asked) : 2 * CASES;
    return n < LONG_CASES ? n : LONG_CASES;
}

static void check_holed(const char *what, bool counter_too, bool together, double widest_pct)
{
    struct holed h = { 0 };
    for (int c = 0, n = holed_cases(); c < n; c++) {
        struct drawn d;
        struct choice of = { .profile = ANY, .step_s = 0.1 };
        draw_case(c, &of, &d);
        read_all(&d, c, step_of(&d, &of));
        if (!counter_too)
            for (size_t i = 0; i < readings.n; i++) readings.energy_j[i] = NAN;
        punch(&d, c, readings.power_w, 7);
        punch(&d, c, readings.energy_j, together ? 7 : 8);
        judge_holed(&h, &d, wl_max_gap_ns(0.1), c);
    }
    qsort(widths, h.n_widths, sizeof *widths, by_value);
    double median = widths[h.n_widths / 2], high = widths[h.n_widths * 9 / 10];
    int known = h.cases - h.missing;
    printf("%s: %d of %d in the interval, median half width %.2f %%, 90 %% below %.1f %%; by counter %d, integral %d, "
           "both %d; "
           "%d of %d missing\n",
           what, h.in, known, median, high, h.by[0], h.by[1], h.by[2], h.missing, h.cases);
    assert_true(h.in >= 0.95 * known && median < widest_pct && known >= 0.7 * h.cases);
}

static void intervals_cover_holes(void **state)
{
    (void)state;
    check_holed("holes of all readings", true, true, 5);
    check_holed("holes of counter and power apart", true, false, 5);
    check_holed("holes, no counter", false, true, 35);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(intervals_cover_holes) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

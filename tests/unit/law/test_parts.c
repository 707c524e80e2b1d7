/* Energy by parts against the values of make_hier_golden.py, and how often it and the interval from ln(E/N) hold a new
 * run. */
#include "../stats/check.h"

#include "law/law.h"

enum { COUNTS = 7, REPEATS = 2, RUNS = COUNTS * REPEATS };

static struct wl_energy_parts fit_parts(const struct wl_energy_parts_run *runs, const struct wl_hier_prior *time,
                                        const struct wl_hier_prior *power, struct wl_arena *a)
{
    struct wl_energy_parts p;
    struct wl_err e;
    if (wl_energy_parts_fit(runs, RUNS, time, power, &p, a, &e)) fail_msg("%s", e.msg);
    return p;
}

/* ---- golden values ---- */

/* Example A of the time, and 300 - 5i and 298 - 5i W. */
static void example(struct wl_energy_parts_run *runs)
{
    static const double time_s[RUNS] = { 1008, 1014, 512, 505, 261, 258, 134, 136, 72.1, 73, 41.6, 41, 25.5, 26 };
    for (int i = 0; i < RUNS; i++) {
        const int k = i / REPEATS;
        runs[i] = (struct wl_energy_parts_run) { 1 << k, log(time_s[i]), log(300 - 2 * (i % REPEATS) - 5 * k) };
    }
}

static double golden(const char *quantity, struct wl_arena *a)
{
    struct wl_csv csv;
    golden_open(&csv, "hier_values.csv", a);
    while (golden_next(&csv))
        if (wl_str_eq(csv.row[0], "energy") && wl_str_eq(csv.row[1], quantity)) return golden_real(&csv, "value");
    fail_msg("no golden value %s", quantity);
    return NAN;
}

static void close_to(double got, double truth)
{
    if (!(fabs(got - truth) <= 1e-4)) fail_msg("%.9g, expected %.9g", got, truth);
}

static void values_agree_with_dense_matrices(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_energy_parts_run runs[RUNS], reversed[RUNS];
    example(runs);
    for (int i = 0; i < RUNS; i++) reversed[i] = runs[RUNS - 1 - i];
    const struct wl_energy_parts p = fit_parts(runs, &wl_hier_time_prior, &wl_hier_power_prior, a),
                                 q = fit_parts(reversed, &wl_hier_time_prior, &wl_hier_power_prior, a);
    const struct wl_hier_mixture m = wl_energy_parts_energy(&p, 128, WL_HIER_RUN, a);
    close_to(p.correlation, golden("rho", a));
    close_to(wl_hier_quantile(&m, 0.5), golden("merged run median", a));
    close_to(wl_hier_quantile(&m, 0.025), golden("merged run lo", a));
    close_to(wl_hier_quantile(&m, 0.975), golden("merged run hi", a));
    assert_true(fabs(q.correlation - p.correlation) < 1e-9);
    wl_arena_free(a);
}

static struct wl_energy_parts_forecast at_128(const struct wl_energy_parts *p, struct wl_arena *a)
{
    return *wl_energy_parts_forecasts(p, &(double) { 128 }, 1, a);
}

static void the_product_is_that_of_its_parts(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_energy_parts_run runs[RUNS];
    example(runs);
    struct wl_energy_parts p = fit_parts(runs, &wl_hier_time_prior, &wl_hier_power_prior, a);
    const struct wl_energy_parts_forecast f = at_128(&p, a);
    assert_true(fabs(f.energy_j.value / (128 * f.power_w.value * f.time_s.value) - 1) < 0.01);
    assert_true(f.energy_j.lo < f.energy_j.value && f.energy_j.value < f.energy_j.hi);
    p.growth = 1; /* weak scaling: an epoch at 128 workers is 128 times the work */
    const struct wl_energy_parts_forecast weak = at_128(&p, a);
    assert_true(fabs(weak.energy_j.lo / f.energy_j.lo / 128 - 1) < 1e-9);
    assert_true(fabs(weak.time_s.value / f.time_s.value / 128 - 1) < 1e-9);
    assert_true(weak.power_w.value == f.power_w.value);
    wl_arena_free(a);
}

/* ---- coverage ---- */

struct truth {
    const char *name;
    double overhead, exponent; /* t = N^-exponent + overhead */
    double slope, idle;        /* P = 300 W N^slope (idle + (1 - idle) x share of t that is not overhead) */
};
static const struct truth truths[] = { { "Amdahl, P flat", 0.01, 1, 0, 1 },
                                       { "Amdahl, P falls", 0.01, 1, -0.04, 1 },
                                       { "Amdahl, P idle + busy", 0.01, 1, 0, 0.3 },
                                       { "power law, P flat", 0, 0.85, 0, 1 } };
static const double config_sds[] = { 0, 0.03 }, at[] = { 128, 256 };
enum { REPLICATES = 50, NEW = COUNTS }; /* NEW: stream of the run to forecast */

/* A run of a configuration: the sd of time and power are 2 and 1 % between runs, correlated by -.5, and config_sd and a
 * third of it between configurations. */
static struct wl_energy_parts_run draw(const struct truth *t, double workers, double config_sd, uint64_t replicate,
                                       uint64_t config, uint64_t run)
{
    const uint64_t of_config = 2 * config, of_run = 1000 + 2 * (config * 10 + run);
    const double busy = pow(workers, -t->exponent), share = busy / (busy + t->overhead),
                 u = wl_random_normal(31, replicate, of_run), v = wl_random_normal(31, replicate, of_run + 1);
    return (struct wl_energy_parts_run) {
        workers, log(busy + t->overhead) + config_sd * wl_random_normal(31, replicate, of_config) + 0.02 * u,
        log(300 * pow(workers, t->slope) * (t->idle + (1 - t->idle) * share)) +
            config_sd / 3 * wl_random_normal(31, replicate, of_config + 1) + 0.01 * (-0.5 * u + sqrt(0.75) * v)
    };
}

struct score {
    int held;
    double ln_width; /* sum */
};

static void score(struct score *s, const struct wl_hier_mixture *m, double seen)
{
    const double lo = wl_hier_quantile(m, 0.025), hi = wl_hier_quantile(m, 0.975);
    s->held += lo <= seen && seen <= hi;
    s->ln_width += hi - lo;
}

/* A fifth of the nodes: coverage does not need six digits. */
static struct wl_hier_prior coarse(struct wl_hier_prior p)
{
    p.tau_nodes = 7;
    p.sigma_nodes = 3;
    return p;
}

/* What ln(E/N) gives by itself. */
static struct wl_hier_fit fit_energy(const struct wl_energy_parts_run *runs, const struct wl_hier_prior *prior,
                                     struct wl_hier_data *data, struct wl_arena *a)
{
    struct wl_hier_run v[RUNS];
    struct wl_hier_fit fit = { 0 };
    struct wl_err e;
    for (int i = 0; i < RUNS; i++)
        v[i] = (struct wl_hier_run) { .workers = runs[i].workers,
                                      .epochs = 1,
                                      .mean = runs[i].ln_time_s + runs[i].ln_power_w };
    if (wl_hier_reduce(v, RUNS, data, a, &e) || wl_hier_fit(data, prior, &fit, a, &e)) fail_msg("%s", e.msg);
    return fit;
}

static void replicate(const struct truth *t, double config_sd, uint64_t k, struct score *direct, struct score *parts)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_energy_parts_run runs[RUNS];
    struct wl_hier_data data;
    for (uint64_t i = 0; i < RUNS; i++) runs[i] = draw(t, 1 << i / REPEATS, config_sd, k, i / REPEATS, i % REPEATS);
    const struct wl_hier_prior time = coarse(wl_hier_time_prior), power = coarse(wl_hier_power_prior),
                               energy = coarse(wl_hier_energy_prior);
    const struct wl_energy_parts p = fit_parts(runs, &time, &power, a);
    const struct wl_hier_fit fit = fit_energy(runs, &energy, &data, a);
    for (size_t j = 0; j < WL_COUNT(at); j++) {
        const struct wl_energy_parts_run next = draw(t, at[j], config_sd, k, NEW + j, 0);
        const double ln_energy = next.ln_time_s + next.ln_power_w + log(at[j]);
        const struct wl_hier_query query = { at[j], WL_HIER_RUN, WL_HIER_ALL, false };
        struct wl_hier_mixture m = wl_hier_predict(&fit, &query, a);
        score(&direct[j], &m, ln_energy - log(at[j]));
        m = wl_energy_parts_energy(&p, at[j], WL_HIER_RUN, a);
        score(&parts[j], &m, ln_energy);
    }
    wl_arena_free(a);
}

/* 400 campaigns, each forecast at 2 and 4 times its range: no cell below 88 %, all together 94 % and more. Widths are
 * printed: the parts are wider where power is flat and narrower where it is not. */
static void both_intervals_hold_a_new_run(void **state)
{
    (void)state;
    int held[2] = { 0 }, n = 0;
    double width[2] = { 0 };
    print_message("held %% and mean ratio of ends: ln(E/N) and by parts\n");
    for (size_t t = 0; t < WL_COUNT(truths); t++)
        for (size_t c = 0; c < WL_COUNT(config_sds); c++) {
            struct score s[2][WL_COUNT(at)] = { 0 };
            for (uint64_t k = 0; k < REPLICATES; k++) replicate(&truths[t], config_sds[c], k, s[0], s[1]);
            for (size_t j = 0; j < WL_COUNT(at); j++, n++) {
                double percent[2], ratio[2];
                for (int i = 0; i < 2; i++) {
                    percent[i] = 100.0 * s[i][j].held / REPLICATES;
                    ratio[i] = exp(s[i][j].ln_width / REPLICATES);
                    held[i] += s[i][j].held;
                    width[i] += s[i][j].ln_width / REPLICATES;
                }
                print_message("%-22s config %.0f %%, N %3g: %5.1f %5.3f   %5.1f %5.3f\n", truths[t].name,
                              100 * config_sds[c], at[j], percent[0], ratio[0], percent[1], ratio[1]);
                assert_true(percent[0] >= 88 && percent[1] >= 88);
            }
        }
    for (int i = 0; i < 2; i++)
        print_message("%s: held %.1f %%, mean ratio of ends %.3f\n", i ? "by parts" : "ln(E/N)",
                      100.0 * held[i] / (n * REPLICATES), exp(width[i] / n));
    assert_true(held[0] >= 0.94 * n * REPLICATES && held[1] >= 0.94 * n * REPLICATES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_agree_with_dense_matrices),
        cmocka_unit_test(the_product_is_that_of_its_parts),
        cmocka_unit_test(both_intervals_hold_a_new_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

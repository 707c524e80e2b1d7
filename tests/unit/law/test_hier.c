/* The hierarchical model: values of make_hier_golden.py, the reduction of runs against the likelihood of all runs, and
 * what must hold whatever the data. */
#include "../stats/check.h"

#include "law/hier/posterior.h"
#include "law/hier/reduce.h"

enum { MOST = 128 };

struct example {
    struct wl_hier_run runs[MOST];
    size_t n;
    struct wl_hier_data data;
    struct wl_hier_fit fit;
    struct wl_arena *arena;
};

static void add_run(struct example *x, double workers, double response)
{
    assert_true(x->n < MOST);
    const size_t config = x->n == 0                              ? 0
                          : x->runs[x->n - 1].workers == workers ? x->runs[x->n - 1].config
                                                                 : x->runs[x->n - 1].config + 1;
    x->runs[x->n++] = (struct wl_hier_run) { .workers = workers, .config = config, .epochs = 1, .mean = log(response) };
}

static void fit(struct example *x, const struct wl_hier_prior *prior)
{
    struct wl_err e;
    if (wl_hier_reduce(x->runs, x->n, &x->data, x->arena, &e)) fail_msg("%s", e.msg);
    if (wl_hier_fit(&x->data, prior, &x->fit, x->arena, &e)) fail_msg("%s", e.msg);
}

/* ---- golden values ---- */

static const double *weight_named(const struct wl_hier_fit *f, const char *name)
{
    for (size_t i = 0; i < WL_HIER_FAMILIES; i++)
        if (wl_str_eq(name, wl_hier_family_name(i))) return &f->weight[i];
    fail_msg("no family %s", name);
    return NULL;
}

static size_t index_in(const char *const *words, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++)
        if (wl_str_eq(words[i], word)) return i;
    fail_msg("unknown word %s", word);
    return n;
}

/* "exact run lo" at N: the quantile of ln(response). */
static double prediction(const struct example *x, const char *quantity, double at)
{
    static const char *const how[] = { "exact", "merged" }, *const what[] = { "curve", "config", "run" },
                             *const end[] = { "median", "lo", "hi" };
    static const double level[] = { 0.5, 0.025, 0.975 };
    char words[3][16];
    assert_int_equal(sscanf(quantity, "%15s %15s %15s", words[0], words[1], words[2]), 3);
    const struct wl_hier_query query = { at, index_in(what, 3, words[1]), WL_HIER_ALL,
                                         index_in(how, 2, words[0]) == 0 };
    struct wl_hier_mixture m = wl_hier_predict(&x->fit, &query, x->arena);
    return wl_hier_quantile(&m, level[index_in(end, 3, words[2])]);
}

static void check_value(const struct example *x, const struct wl_csv *csv)
{
    const char *name = csv->row[0], *quantity = csv->row[1];
    if (wl_str_starts(quantity, "verdict")) return;
    const double truth = golden_real(csv, "value");
    const bool weight = wl_str_starts(quantity, "weight "), merged = wl_str_starts(quantity, "merged");
    const double got =
        weight ? *weight_named(&x->fit, quantity + strlen("weight ")) : prediction(x, quantity, golden_real(csv, "at"));
    if (!(fabs(got - truth) <= (merged ? 1e-4 : 1e-6)))
        fail_msg("%s %s at %s: %.9g, expected %.9g", name, quantity, csv->row[2], got, truth);
}

/* The values of the case whose runs were just read. */
static size_t check_case(struct example *x, const char *name)
{
    struct wl_csv csv;
    size_t checked = 0;
    fit(x, &wl_hier_time_prior);
    golden_open(&csv, "hier_values.csv", x->arena);
    while (golden_next(&csv))
        if (wl_str_eq(csv.row[0], name)) check_value(x, &csv), checked++;
    return checked;
}

/* Visits the data of each case: published examples and real ladders. */
static void for_each_case(void (*visit)(struct example *x, const char *name, void *ctx), void *ctx)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_csv csv;
    struct example x = { .arena = wl_arena_new(a) };
    char *name = NULL;
    golden_open(&csv, "hier_data.csv", a);
    for (bool more = true; more;) {
        more = golden_next(&csv);
        if (name && (!more || !wl_str_eq(name, csv.row[0]))) {
            visit(&x, name, ctx);
            wl_arena_free(x.arena);
            x = (struct example) { .arena = wl_arena_new(a) };
        }
        if (!more) break;
        name = wl_strdup(a, csv.row[0]);
        add_run(&x, golden_real(&csv, "workers"), golden_real(&csv, "time_s"));
    }
    wl_arena_free(a);
}

static void count_checked(struct example *x, const char *name, void *checked)
{
    *(size_t *)checked += check_case(x, name);
}

static void values_agree_with_dense_matrices(void **state)
{
    (void)state;
    size_t checked = 0;
    for_each_case(count_checked, &checked);
    assert_true(checked > 600);
}

/* ---- the reduction ---- */

/* ln of the likelihood of all runs at (tau, sigma) with the flat a integrated out, up to a constant: by Cholesky of the
 * covariance of the runs. curve: [n] at each run. */
static double likelihood_of_runs(const struct example *x, double tau2, double sigma2, const double *curve)
{
    double l[16][16], d[16], one[16], ln_det = 0, dd = 0, d1 = 0, oo = 0;
    const size_t n = x->n;
    assert_true(n <= 16);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            const struct wl_hier_run *p = &x->runs[i], *q = &x->runs[j];
            double v = 0.5 * tau2 * fmin(log2(p->workers / x->runs[0].workers), log2(q->workers / x->runs[0].workers));
            if (p->config == q->config) v += tau2;
            if (i == j) v += sigma2 + x->data.epoch_variance / (double)p->epochs;
            for (size_t k = 0; k < j; k++) v -= l[i][k] * l[j][k];
            l[i][j] = i == j ? sqrt(v) : v / l[j][j];
        }
        d[i] = x->runs[i].mean - curve[i];
        one[i] = 1;
        for (size_t k = 0; k < i; k++) d[i] -= l[i][k] * d[k], one[i] -= l[i][k] * one[k];
        d[i] /= l[i][i];
        one[i] /= l[i][i];
        ln_det += 2 * log(l[i][i]);
        dd += d[i] * d[i];
        d1 += d[i] * one[i];
        oo += one[i] * one[i];
    }
    return -0.5 * (ln_det + log(oo) + dd - d1 * d1 / oo);
}

static void unequal_runs_and_epochs(struct example *x)
{
    static const struct {
        double workers;
        size_t config, epochs;
        double mean, sum_squares;
    } runs[] = { { 1, 0, 3, 5.0, 2e-4 },    { 1, 0, 7, 5.03, 9e-4 },   { 1, 0, 3, 5.01, 1e-4 }, { 2, 1, 5, 4.32, 4e-4 },
                 { 4, 2, 2, 3.70, 1e-4 },   { 4, 2, 9, 3.68, 7e-4 },   { 4, 3, 9, 3.73, 8e-4 }, { 4, 3, 4, 3.72, 2e-4 },
                 { 16, 4, 20, 2.50, 3e-3 }, { 16, 4, 10, 2.48, 1e-3 }, { 16, 4, 1, 2.53, 0 } };
    for (; x->n < WL_COUNT(runs); x->n++)
        x->runs[x->n] = (struct wl_hier_run) { runs[x->n].workers, runs[x->n].config, runs[x->n].epochs,
                                               runs[x->n].mean, runs[x->n].sum_squares };
}

/* Prior of the nodes: what the posterior's ln_prior holds beside the likelihood. */
static double ln_half_cauchy(double s, double scale) { return log(s) - log1p(s * s / (scale * scale)) - log(scale); }

static void the_reduction_keeps_the_likelihood_of_all_runs(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct example x = { .arena = a };
    struct wl_hier_scatter v;
    struct wl_err e;
    unequal_runs_and_epochs(&x);
    assert_int_equal(wl_hier_reduce(x.runs, x.n, &x.data, a, &e), 0);
    assert_int_equal(x.data.n_configs, 5);
    assert_int_equal(x.data.n_workers, 4);
    assert_true(x.data.typical_epochs == 5);
    wl_hier_scatter_nodes(&x.data, &wl_hier_time_prior, &v, a);
    double first = NAN, quadratic[MOST];
    assert_true(v.n <= MOST && v.n > 20);
    for (double b = 0.5; b < 1.2; b += 0.3) {
        double s[8], curve[16];
        for (size_t i = 0; i < v.m; i++) s[i] = -b * log(x.data.workers[i]);
        for (size_t i = 0; i < x.n; i++) curve[i] = -b * log(x.runs[i].workers);
        wl_hier_scatter_residual(&v, s, quadratic);
        for (size_t q = 0; q < v.n; q++) {
            const double sigma2 = v.sigma2[q] - x.data.epoch_variance / x.data.typical_epochs;
            const double got = v.ln_prior[q] - 0.5 * quadratic[q] - ln_half_cauchy(sqrt(sigma2), 0.03) -
                               ln_half_cauchy(sqrt(v.tau2[q]), 0.02);
            const double difference = got - likelihood_of_runs(&x, v.tau2[q], sigma2, curve);
            if (isnan(first)) first = difference;
            if (!(fabs(difference - first) < 1e-6)) fail_msg("node %zu: off by %g", q, difference - first);
        }
    }
    wl_arena_free(a);
}

/* ---- what must hold ---- */

static void amdahl_ladder(struct example *x, double scale)
{
    for (double n = 1; n <= 32; n *= 2)
        for (int k = 0; k < 2; k++) add_run(x, n, scale * (100 / n + 1 + 0.01 * k));
}

static struct wl_hier_mixture at(const struct example *x, double workers, enum wl_hier_what what)
{
    return wl_hier_predict(&x->fit, &(struct wl_hier_query) { workers, what, WL_HIER_ALL, false }, x->arena);
}

static void the_unit_and_the_order_of_runs_do_not_matter(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct example x = { .arena = a }, scaled = { .arena = a }, reversed = { .arena = a };
    amdahl_ladder(&x, 1);
    amdahl_ladder(&scaled, 1000);
    for (size_t i = x.n; i-- > 0;) reversed.runs[reversed.n++] = x.runs[i];
    fit(&x, &wl_hier_time_prior);
    fit(&scaled, &wl_hier_time_prior);
    fit(&reversed, &wl_hier_time_prior);
    struct wl_hier_mixture m = at(&x, 128, WL_HIER_RUN), s = at(&scaled, 128, WL_HIER_RUN),
                           r = at(&reversed, 128, WL_HIER_RUN);
    for (double p = 0.05; p < 1; p += 0.3) {
        assert_true(fabs(wl_hier_quantile(&s, p) - wl_hier_quantile(&m, p) - log(1000)) < 1e-5);
        assert_true(fabs(wl_hier_quantile(&r, p) - wl_hier_quantile(&m, p)) < 1e-5);
    }
    wl_arena_free(a);
}

/* A run's interval is wider than its configuration's, that than the curve's; all widen with distance on both sides. */
static void intervals_widen(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct example x = { .arena = a };
    amdahl_ladder(&x, 1);
    fit(&x, &wl_hier_time_prior);
    static const double up[] = { 32, 64, 128, 512, 4096 }, down[] = { 1, 0.5, 0.125 };
    for (int what = WL_HIER_CURVE; what <= WL_HIER_RUN; what++) {
        double last = 0;
        for (size_t i = 0; i < WL_COUNT(up); i++) {
            struct wl_hier_mixture m = at(&x, up[i], what), wider = at(&x, up[i], WL_HIER_RUN);
            assert_true(wl_hier_variance(&m) > last);
            assert_true(wl_hier_variance(&wider) >= wl_hier_variance(&m));
            last = wl_hier_variance(&m);
        }
        for (size_t i = 1; i < WL_COUNT(down); i++) {
            struct wl_hier_mixture near = at(&x, down[i - 1], what), far = at(&x, down[i], what);
            assert_true(wl_hier_variance(&far) > wl_hier_variance(&near));
        }
    }
    wl_arena_free(a);
}

/* Intervals at the largest worker count and up to 256 times as many. Also counts quantiles of runs inside those of
 * their configuration: the property does not follow from those of the distributions. */
static void check_nested(struct example *x, const char *name, void *inside)
{
    fit(x, &wl_hier_time_prior);
    const double top = x->data.workers[x->data.n_configs - 1], workers[] = { top, 2 * top, 16 * top, 256 * top };
    const struct wl_hier_predictions *p = wl_hier_predictions_new(&x->fit, workers, WL_COUNT(workers), x->arena);
    for (size_t i = 0; i < WL_COUNT(workers); i++) {
        const struct wl_hier_intervals v = wl_hier_intervals(p, i, WL_HIER_CURVE, 0.95, x->arena);
        for (int k = WL_HIER_CURVE; k < WL_HIER_RUN; k++)
            if (!(v.of[k + 1].lo <= v.of[k].lo && v.of[k].hi <= v.of[k + 1].hi && v.of[k].lo < v.of[k].median))
                fail_msg("%s at %g: %.9g to %.9g, then %.9g to %.9g", name, workers[i], v.of[k].lo, v.of[k].hi,
                         v.of[k + 1].lo, v.of[k + 1].hi);
        const struct wl_hier_mixture run = wl_hier_prediction(p, i, WL_HIER_RUN, WL_HIER_ALL, x->arena);
        *(size_t *)inside += wl_hier_quantile(&run, 0.975) < v.of[WL_HIER_CONFIG].hi;
    }
}

/* A power law, Amdahl's law or a logarithmic or linear overhead on 2 to 7 worker counts, with effects of configurations
 * of 0 or 3 %. */
static void simulated_ladder(struct example *x, uint64_t k)
{
    const size_t counts = 2 + k % 6;
    for (size_t i = 0; i < counts; i++) {
        const double n = (double)(1u << i), truth[] = { pow(n, -0.9), 1 / n + 0.01, 1 / n + 0.005 + 0.003 * (double)i,
                                                        1 / n + 0.002 + 0.0002 * n };
        const double effect = (k / 24 % 2 ? 0.03 : 0) * wl_random_normal(5, k, i);
        for (size_t r = 0; r < 1 + 2 * (k % 2); r++)
            add_run(x, n, 100 * truth[k / 6 % 4] * exp(effect + 0.005 * wl_random_normal(6, k, 8 * i + r)));
    }
}

static void intervals_hold_each_other(void **state)
{
    (void)state;
    enum { SIMULATED = 48 };
    size_t inside = 0;
    for_each_case(check_nested, &inside);
    for (uint64_t k = 0; k < SIMULATED; k++) {
        struct example x = { .arena = wl_arena_new(NULL) };
        char name[32];
        snprintf(name, sizeof name, "simulated %d", (int)k);
        simulated_ladder(&x, k);
        check_nested(&x, name, &inside);
        wl_arena_free(x.arena);
    }
    assert_true(inside > 10);
}

/* Bins in a table hold what a search merges: the same components up to their order. */
static void binned_components_are_merged_ones(void **state)
{
    (void)state;
    static const double workers[] = { 1, 32, 128, 4096 }, levels[] = { 1e-3, 0.025, 0.3, 0.5, 0.975 };
    struct wl_arena *a = wl_arena_new(NULL);
    struct example x = { .arena = a };
    amdahl_ladder(&x, 1);
    fit(&x, &wl_hier_time_prior);
    for (size_t i = 0; i < WL_COUNT(workers); i++)
        for (int what = WL_HIER_CURVE; what <= WL_HIER_RUN; what++) {
            struct wl_hier_mixture binned = at(&x, workers[i], what),
                                   merged =
                                       wl_hier_predict(&x.fit,
                                                       &(struct wl_hier_query) { workers[i], what, WL_HIER_ALL, true },
                                                       a);
            wl_hier_merge(&merged, a);
            assert_int_equal(binned.n, merged.n);
            assert_true(fabs(wl_hier_variance(&binned) / wl_hier_variance(&merged) - 1) < 1e-9);
            for (size_t k = 0; k < WL_COUNT(levels); k++)
                assert_true(fabs(wl_hier_quantile(&binned, levels[k]) - wl_hier_quantile(&merged, levels[k])) < 1e-9);
        }
    wl_arena_free(a);
}

/* The filter, which any data have, and the quadratic form of data whose means do not depend on sigma. */
static void contrasts_agree_with_the_filter(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct example x = { .arena = a };
    struct wl_hier_scatter v;
    double s[8], by_contrasts[MOST], by_filter[MOST];
    struct wl_err e;
    amdahl_ladder(&x, 1);
    assert_int_equal(wl_hier_reduce(x.runs, x.n, &x.data, a, &e), 0);
    wl_hier_scatter_nodes(&x.data, &wl_hier_time_prior, &v, a);
    assert_non_null(v.contrasts);
    struct wl_hier_scatter filter = v;
    filter.contrasts = NULL;
    for (double b = -0.5; b < 1.8; b += 0.07) {
        for (size_t i = 0; i < v.m; i++) s[i] = -b * log(x.data.workers[i]);
        wl_hier_scatter_residual(&v, s, by_contrasts);
        wl_hier_scatter_residual(&filter, s, by_filter);
        for (size_t q = 0; q < v.n; q++) assert_true(fabs(by_contrasts[q] / by_filter[q] - 1) < 1e-7);
    }
    wl_arena_free(a);
}

/* The mixture of all families is that of each by its weight. */
static void families_make_up_the_whole(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct example x = { .arena = a };
    amdahl_ladder(&x, 1);
    fit(&x, &wl_hier_time_prior);
    struct wl_hier_mixture all = at(&x, 64, WL_HIER_CONFIG);
    double mean = 0;
    for (int f = 0; f < WL_HIER_FAMILIES; f++) {
        struct wl_hier_mixture m = wl_hier_predict(&x.fit, &(struct wl_hier_query) { 64, WL_HIER_CONFIG, f, false }, a);
        if (m.n) mean += x.fit.weight[f] * wl_hier_mean(&m);
    }
    assert_true(fabs(mean - wl_hier_mean(&all)) < 1e-5);
    wl_arena_free(a);
}

/* A measurement at the forecast's own worker count narrows it most, and one that is repeated hardly. */
static void a_measurement_nearby_narrows_most(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct example x = { .arena = a };
    amdahl_ladder(&x, 1);
    fit(&x, &wl_hier_time_prior);
    const struct wl_hier_query query = { 128, WL_HIER_CONFIG, WL_HIER_ALL, false };
    struct wl_hier_mixture m = wl_hier_predict(&x.fit, &query, a);
    const double sd = sqrt(wl_hier_variance(&m)), there = wl_hier_sd_after(&x.fit, &query, 128, 2),
                 near = wl_hier_sd_after(&x.fit, &query, 64, 2), again = wl_hier_sd_after(&x.fit, &query, 2, 2);
    assert_true(there < near && near < again && again < sd * 1.001);
    assert_true(again > 0.8 * sd);
    assert_true(wl_hier_sd_after(&x.fit, &query, 64, 100) < near && near < wl_hier_sd_after(&x.fit, &query, 64, 1));
    wl_arena_free(a);
}

static void left_out_families_have_a_reason(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct example x = { .arena = a };
    add_run(&x, 0.5, 10);
    for (double n = 1; n <= 8; n *= 2) add_run(&x, n, 10 / n);
    fit(&x, &wl_hier_time_prior);
    double sum = 0;
    for (size_t f = 0; f < WL_HIER_FAMILIES; f++) {
        assert_true((x.fit.weight[f] > 0) == !x.fit.reason[f]);
        sum += x.fit.weight[f];
    }
    assert_true(fabs(sum - 1) < 1e-12);
    assert_string_equal(x.fit.reason[WL_HIER_AMDAHL_LOG], "ln N is negative below one worker");
    assert_string_equal(x.fit.reason[WL_HIER_IDLE], "its prior weight is 0");
    wl_arena_free(a);
}

static void bad_input_is_refused(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e;
    struct wl_hier_data d;
    struct wl_hier_fit f;
    struct wl_hier_run runs[] = { { 1, 0, 1, 3, 0 }, { 1, 0, 1, 3.1, 0 } };
    assert_int_equal(wl_hier_reduce(runs, 2, &d, a, &e), WL_EINVAL);
    assert_string_equal(e.msg, "1 worker count: a curve needs two");
    runs[1].workers = 2;
    runs[1].config = 1;
    struct wl_hier_prior p = wl_hier_time_prior;
    assert_int_equal(wl_hier_reduce(runs, 2, &d, a, &e), 0);
    p.tau = 0;
    assert_int_equal(wl_hier_fit(&d, &p, &f, a, &e), WL_EINVAL);
    assert_string_equal(e.msg, "prior: tau is 0: expected a positive number");
    p = wl_hier_time_prior;
    memset(p.weight, 0, sizeof p.weight);
    assert_int_equal(wl_hier_fit(&d, &p, &f, a, &e), WL_ENOENT);
    runs[0].mean = NAN;
    assert_int_equal(wl_hier_reduce(runs, 2, &d, a, &e), WL_EINVAL);
    wl_arena_free(a);
}

/* Needles of a density, a plain without any between them, and a tail that holds nothing. */
static void quantiles_invert_the_distribution(void **state)
{
    (void)state;
    static const double p[] = { 1e-4, 0.025, 0.2999, 0.3001, 0.5, 0.6999, 0.7001, 0.975, 0.9999 };
    double weight[] = { 0.3, 0.4, 0.3 - 1e-9, 1e-9 }, mean[] = { 0, 1, 5, 1e4 }, sd[] = { 1e-6, 0.1, 1e-3, 1 };
    const struct wl_hier_mixture m = { weight, mean, sd, 4 };
    for (size_t i = 0; i < WL_COUNT(p); i++) {
        const double y = wl_hier_quantile(&m, p[i]);
        assert_true(fabs(wl_hier_cdf(&m, y) - p[i]) < 1e-6);
        assert_true(i == 0 || y > wl_hier_quantile(&m, p[i - 1]));
    }
    assert_true(fabs(wl_hier_quantile(&m, 0.5) - 1) < 1e-9);
    sd[0] = sd[2] = 0.3;
    mean[3] = 8;
    for (size_t i = 0; i < WL_COUNT(p); i++)
        assert_true(fabs(wl_hier_cdf(&m, wl_hier_quantile(&m, p[i])) - p[i]) < 1e-11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_agree_with_dense_matrices),
        cmocka_unit_test(the_reduction_keeps_the_likelihood_of_all_runs),
        cmocka_unit_test(the_unit_and_the_order_of_runs_do_not_matter),
        cmocka_unit_test(intervals_widen),
        cmocka_unit_test(intervals_hold_each_other),
        cmocka_unit_test(binned_components_are_merged_ones),
        cmocka_unit_test(contrasts_agree_with_the_filter),
        cmocka_unit_test(families_make_up_the_whole),
        cmocka_unit_test(a_measurement_nearby_narrows_most),
        cmocka_unit_test(left_out_families_have_a_reason),
        cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(quantiles_invert_the_distribution),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

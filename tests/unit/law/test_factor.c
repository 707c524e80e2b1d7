/* Does a factor change the law? Invariances, and error rates of the verdict. */
#include "table.h"

#include "../stats/check.h"

#include <time.h>

enum { LEVELS = 3, COUNTS = 6, REPEATS = 3, ROWS = LEVELS * COUNTS * REPEATS };

struct campaign {
    double beta[LEVELS];
    double run_sd, config_sd; /* of ln t: between runs, and between worker counts of a level as a whole */
    uint64_t seed;
};

static void make(struct row *rows, const struct campaign *c)
{
    static const char *const labels[REPEATS] = { "1", "2", "3" };
    size_t n = 0;
    for (int l = 0; l < LEVELS; l++)
        for (int k = 0; k < COUNTS; k++)
            for (int r = 0; r < REPEATS; r++, n++) {
                double noise = c->run_sd * wl_random_normal(21, c->seed, n) +
                               c->config_sd * wl_random_normal(22, c->seed, (uint64_t)(l * COUNTS + k));
                rows[n] = (struct row) { .workload = "net", .run = labels[r], .workers = 1 << k, .samples = 640 };
                rows[n].power_cap_w = 100 + 50 * l;
                rows[n].time_s = 60 / (1 + 0.2 * l) * pow(rows[n].workers, -c->beta[l]) * exp(noise);
            }
}

static struct wl_factor_result compare_rows(const struct row *rows, size_t n, double margin, struct wl_arena *a)
{
    struct wl_observations obs = table_of(rows, n, a);
    struct wl_factor_options options = { .factor = "power_cap_w", .margin = margin, .ratio_margin = 0.05 };
    struct wl_factor_result out;
    struct wl_err e;
    if (wl_factor_compare(&obs, &options, &out, a, &e)) fail_msg("%s", e.msg);
    assert_int_equal(out.n, 1);
    return out;
}

static double share_of(const struct campaign *like, size_t campaigns, enum wl_factor_verdict verdict)
{
    size_t hits = 0;
    for (uint64_t k = 0; k < campaigns; k++) {
        struct wl_arena *a = wl_arena_new(NULL);
        struct row rows[ROWS];
        struct campaign c = *like;
        c.seed = k;
        make(rows, &c);
        hits += compare_rows(rows, ROWS, 0.05, a).groups[0].verdict == verdict;
        wl_arena_free(a);
    }
    return (double)hits / (double)campaigns;
}

/* Equal slopes are rejected in about 5 % of cases or fewer, also where all runs of a worker count shift together. */
static void equal_slopes_are_rarely_rejected(void **state)
{
    (void)state;
    const struct campaign runs = { { 0.8, 0.8, 0.8 }, 0.03, 0, 0 }, configs = { { 0.8, 0.8, 0.8 }, 0.02, 0.03, 0 };
    double by_runs = share_of(&runs, 400, WL_FACTOR_DIFFERENT),
           by_configs = share_of(&configs, 400, WL_FACTOR_DIFFERENT);
    print_message("equal slopes called different: %.3f with scatter between runs, %.3f with worker counts that move\n",
                  by_runs, by_configs);
    assert_true(by_runs <= 0.08 && by_configs <= 0.09);
}

/* Slopes that differ by the margin are found equivalent in about 5 % of cases or fewer; equal ones are at low noise. */
static void equivalence_has_few_false_positives(void **state)
{
    (void)state;
    const struct campaign apart = { { 0.8, 0.8, 0.85 }, 0.03, 0, 0 }, same = { { 0.8, 0.8, 0.8 }, 0.01, 0, 0 };
    const struct campaign noisy = { { 0.8, 0.8, 0.8 }, 0.15, 0, 0 };
    assert_true(share_of(&apart, 200, WL_FACTOR_EQUIVALENT) <= 0.08);
    assert_true(share_of(&same, 100, WL_FACTOR_EQUIVALENT) >= 0.9);
    assert_true(share_of(&noisy, 100, WL_FACTOR_EQUIVALENT) <= 0.05);
}

/* n (ln(2 pi sse / n) + 1) + 2 k + 2 k (k + 1) / (n - k - 1), k the parameters and sigma (Hurvich and Tsai 1989). */
static double aicc(double sse, double n, double parameters)
{
    const double k = parameters + 1;
    return n * (log(2 * M_PI * sse / n) + 1) + 2 * k + 2 * k * (k + 1) / (n - k - 1);
}

/* A common slope has one parameter per level and one more, separate slopes have two per level. */
static void aicc_counts_every_parameter(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct campaign c = { { 0.8, 0.81, 0.8 }, 0.03, 0, 3 };
    struct row rows[ROWS];
    make(rows, &c);
    const struct wl_factor_group *g = compare_rows(rows, ROWS, 0.05, a).groups;
    assert_near(g->aicc_common, aicc(g->over_runs.sse_common, ROWS, LEVELS + 1), 1e-9);
    assert_near(g->aicc_separate, aicc(g->over_runs.sse_separate, ROWS, 2 * LEVELS), 1e-9);
    wl_arena_free(a);
}

static void units_and_order_do_not_matter(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct campaign c = { { 0.8, 0.85, 0.9 }, 0.02, 0, 5 };
    struct row rows[ROWS], other[ROWS];
    make(rows, &c);
    for (size_t i = 0; i < ROWS; i++) {
        other[i] = rows[ROWS - 1 - i];
        other[i].time_s *= 1e3;
        other[i].workers *= 4;
    }
    const struct wl_factor_group *p = compare_rows(rows, ROWS, 0.05, a).groups;
    const struct wl_factor_group *q = compare_rows(other, ROWS, 0.05, a).groups;
    assert_int_equal(p->verdict, WL_FACTOR_DIFFERENT);
    assert_int_equal(q->verdict, WL_FACTOR_DIFFERENT);
    assert_near(q->tests->f, p->tests->f, 1e-7);
    assert_near(q->tests->pairs[2].difference, p->tests->pairs[2].difference, 1e-12);
    assert_near(q->tests->pairs[1].p_same, p->tests->pairs[1].p_same, 1e-9);
    assert_near(q->slowdowns[3].ratio.value, p->slowdowns[3].ratio.value, 1e-12);
    wl_arena_free(a);
}

/* With runs_needed runs and the observed scatter, two equal slopes are found equivalent in 80 % of cases. */
static void runs_needed_gives_the_power(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct campaign c = { { 0.8, 0.8, 0.8 }, 0.12, 0, 9 };
    struct row rows[ROWS];
    make(rows, &c);
    const struct wl_factor_group *g = compare_rows(rows, ROWS, 0.05, a).groups;
    assert_int_equal(g->verdict, WL_FACTOR_UNDECIDED);
    double sigma = g->over_runs.sigma, sxx = 0, n = g->runs_needed * COUNTS, df = LEVELS * (n - 2);
    for (int k = 0; k < COUNTS; k++) sxx += g->runs_needed * pow((k - 2.5) * log(2), 2);
    double se = sigma * sqrt(2 / sxx), reach = 0.05 / se - wl_t_quantile(0.95, df);
    assert_true(wl_t_cdf(reach, df) - wl_t_cdf(-reach, df) >= 0.8);
    wl_arena_free(a);
}

static void cap_is_compared_with_uncapped(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct campaign c = { { 0.8, 0.8, 0.8 }, 0.02, 0, 3 };
    struct row rows[ROWS];
    make(rows, &c);
    for (size_t i = ROWS / 3; i < ROWS; i++) rows[i].power_cap_w = 0; /* missing: no cap was set */
    const struct wl_factor_group *g = compare_rows(rows, ROWS, 0.05, a).groups;
    assert_int_equal(g->n_levels, 2);
    assert_string_equal(g->levels[g->base].value, "uncapped");
    const struct wl_factor_group *one = compare_rows(rows, ROWS / 3, 0.05, a).groups;
    assert_string_equal(one->refusal, "nothing to compare: power_cap_w has one value here, 100");
    wl_arena_free(a);
}

/* At one worker count no law can be fitted; the base is still the highest level, and uncapped is above any cap. */
static void base_is_highest_level_without_a_law(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct campaign c = { { 0.8, 0.8, 0.8 }, 0.02, 0, 3 };
    struct row rows[ROWS];
    make(rows, &c);
    for (size_t i = 0; i < ROWS; i++) rows[i].workers = 4;
    const struct wl_factor_group *g = compare_rows(rows, ROWS, 0.05, a).groups;
    assert_non_null(g->refusal);
    assert_int_equal(g->highest, LEVELS - 1);
    assert_int_equal(g->base, LEVELS - 1);
    for (size_t i = 0; i < ROWS; i++) rows[i].power_cap_w = i % 2 ? 0 : 100;
    g = compare_rows(rows, ROWS, 0.05, a).groups;
    assert_string_equal(g->levels[g->highest].value, "uncapped");
    wl_arena_free(a);
}

/* ---- the worker count as a block ---- */

/* Amdahl curves W(level)/N + c with effects of configurations (levels x worker counts) and of runs; `shared`: what all
 * levels have in common at a worker count. */
struct bent {
    double w[2], c;
    size_t counts, levels;
    double run_sd, config_sd, shared_sd;
};

static size_t make_bent(struct row *rows, const struct bent *b, uint64_t seed)
{
    static const char *const labels[REPEATS] = { "1", "2", "3" };
    size_t n = 0;
    for (size_t l = 0; l < b->levels; l++)
        for (size_t k = 0; k < b->counts; k++)
            for (size_t r = 0; r < REPEATS; r++, n++) {
                const double workers = (double)(1u << k),
                             noise = b->run_sd * wl_random_normal(31, seed, n) +
                                     b->config_sd * wl_random_normal(32, seed, n / REPEATS) +
                                     b->shared_sd * wl_random_normal(33, seed, k);
                rows[n] = (struct row) { .workload = "net", .run = labels[r], .workers = workers, .samples = 640 };
                rows[n].power_cap_w = 100 + 50 * (double)l;
                rows[n].time_s = (b->w[l > 0] / workers + b->c) * exp(noise);
            }
    return n;
}

/* Share of campaigns with this verdict, %; *covered: of all slowdowns at each N, the share of levels whose intervals
 * hold the truth at every N. */
static double share_of_bent(const struct bent *b, enum wl_factor_verdict verdict, double *covered)
{
    enum { CAMPAIGNS = 200 };
    static struct row rows[3 * 8 * REPEATS];
    size_t hits = 0, held = 0, sets = 0;
    for (uint64_t k = 0; k < CAMPAIGNS; k++) {
        struct wl_arena *a = wl_arena_new(NULL);
        const size_t n = make_bent(rows, b, k);
        const struct wl_factor_group *g = compare_rows(rows, n, 0.05, a).groups;
        hits += g->verdict == verdict;
        bool all = true;
        for (size_t i = 0; i < g->n_slowdowns; i++) {
            const struct wl_factor_slowdown *s = &g->slowdowns[i];
            const double truth = (b->w[s->level > 0] / s->workers + b->c) / (b->w[g->base > 0] / s->workers + b->c);
            if (!isnan(s->workers)) all = all && s->ratio.lo <= truth && truth <= s->ratio.hi;
        }
        sets += g->verdict != WL_FACTOR_EQUIVALENT;
        held += g->verdict != WL_FACTOR_EQUIVALENT && all;
        wl_arena_free(a);
    }
    if (covered) *covered = 100 * (double)held / (double)sets;
    return 100.0 * (double)hits / CAMPAIGNS;
}

/* Equal levels under a bent curve, with and without effects of configurations and of worker counts. */
static void parallel_levels_are_rejected_five_times_in_a_hundred(void **state)
{
    (void)state;
    static const struct bent cells[] = { { { 100, 100 }, 1, 8, 2, 0.02, 0, 0 },
                                         { { 100, 100 }, 1, 8, 3, 0.02, 0.03, 0 },
                                         { { 100, 100 }, 1, 4, 2, 0.02, 0.03, 0 },
                                         { { 100, 100 }, 1, 4, 3, 0.02, 0, 0 },
                                         { { 100, 100 }, 1, 8, 2, 0.02, 0.03, 0.03 } };
    double sum = 0;
    for (size_t i = 0; i < WL_COUNT(cells); i++) {
        const double share = share_of_bent(&cells[i], WL_FACTOR_DIFFERENT, NULL);
        print_message("%zu levels, %zu worker counts: %.1f %% called different\n", cells[i].levels, cells[i].counts,
                      share);
        assert_true(share >= 2 && share <= 8);
        sum += share;
    }
    assert_true(sum / WL_COUNT(cells) > 3 && sum / WL_COUNT(cells) < 7);
}

/* A clock that slows the work 1.8 times under a constant overhead: the exponents differ by .05. */
static void a_clock_under_a_constant_is_seen(void **state)
{
    (void)state;
    const struct bent clean = { { 180, 100 }, 0.5, 8, 2, 0.02, 0, 0 },
                      shifted = { { 180, 100 }, 0.5, 8, 2, 0.02, 0.03, 0 };
    double covered[2];
    const double seen = share_of_bent(&clean, WL_FACTOR_DIFFERENT, &covered[0]),
                 with_effects = share_of_bent(&shifted, WL_FACTOR_DIFFERENT, &covered[1]);
    print_message(
        "seen in %.0f %% (%.0f %% with effects of configurations); slowdowns held at every N in %.0f, %.0f %%\n", seen,
        with_effects, covered[0], covered[1]);
    assert_true(seen >= 95 && with_effects >= 80);
    assert_true(covered[0] >= 95 && covered[1] >= 95);
}

/* Where the worker counts are on a power law, slopes decide, however much they differ. */
static void a_power_law_is_compared_by_slopes(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct campaign c = { { 0.8, 0.85, 0.9 }, 0.02, 0, 5 };
    struct row rows[ROWS];
    make(rows, &c);
    const struct wl_factor_group *g = compare_rows(rows, ROWS, 0.05, a).groups;
    assert_false(g->scaled_work.decides);
    assert_true(g->scaled_work.overhead > 0 && g->scaled_work.overhead < 1);
    wl_arena_free(a);
}

static double golden_block(const char *quantity, struct wl_arena *a)
{
    struct wl_csv csv;
    golden_open(&csv, "hier_values.csv", a);
    while (golden_next(&csv))
        if (wl_str_eq(csv.row[0], "compare") && wl_str_eq(csv.row[1], quantity)) return golden_real(&csv, "value");
    fail_msg("no golden value %s", quantity);
    return NAN;
}

/* The example of make_hier_golden.py: means less those of rows and columns. */
static void blocks_agree_with_numpy(void **state)
{
    (void)state;
    static const double w[] = { 1.8, 1.3, 1 },
                        sign[3][6] = { { 1, -1, 1, -1, 1, -1 }, { -1, 1, 1, -1, -1, 1 }, { 1, 1, -1, -1, 1, 1 } };
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[18];
    for (size_t i = 0; i < 18; i++) {
        const double workers = (double)(1u << i % 6);
        rows[i] = (struct row) {
            .workload = "net", .run = "1", .workers = workers, .samples = 640, .power_cap_w = 100 + (double)(i / 6)
        };
        rows[i].time_s = (w[i / 6] / workers + 0.01) * exp(0.01 * sign[i / 6][i % 6]);
    }
    const struct wl_factor_tests *t = compare_rows(rows, 18, 0.05, a).groups[0].tests;
    assert_string_equal(t->basis, "blocks");
    agree("F", t->f, golden_block("F", a), 8);
    agree("p", t->p, golden_block("p", a), 8);
    agree("s2", t->sigma * t->sigma, golden_block("s2", a), 8);
    agree("df", t->df, golden_block("df", a), 15);
    agree("slope", -t->pairs[1].difference, golden_block("slope 2", a) - golden_block("slope 0", a), 8);
    const struct wl_factor_scaled_work *work = &compare_rows(rows, 18, 0.05, a).groups[0].scaled_work;
    agree("overhead of scaled work", work->overhead, golden_block("work overhead", a), 6);
    agree("F of scaled work", work->f, golden_block("work F", a), 6);
    agree("p of scaled work", work->p, golden_block("work p", a), 6);
    assert_true(work->decides);
    wl_arena_free(a);
}

/* One worker count: no exponents, but ratios with their intervals, and the levels that no other beats in both. */
static void one_worker_count_gives_ratios(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[9];
    static const double time[] = { 180, 104, 100 }, energy[] = { 26500, 26000, 30000 };
    for (size_t i = 0; i < 9; i++) {
        const double noise = 0.002 * (double)(i % 3);
        rows[i] = (struct row) { .workload = "net",
                                 .run = i % 3 == 0   ? "1"
                                        : i % 3 == 1 ? "2"
                                                     : "3",
                                 .workers = 1,
                                 .samples = 640,
                                 .power_cap_w = 100 + 50 * (double)(i / 3) };
        rows[i].time_s = time[i / 3] * exp(noise);
        rows[i].energy_j = energy[i / 3] * exp(-noise);
    }
    const struct wl_factor_group *g = compare_rows(rows, 9, 0.05, a).groups;
    assert_string_equal(g->refusal, "one worker count: exponents cannot be compared, ratios can");
    assert_int_equal(g->n_cells, 3);
    assert_near(g->cells[0].time.ratio.value, 1.8, 1e-9);
    assert_near(g->cells[0].edp.ratio.value, 1.8 * 26500 / 30000, 1e-9);
    assert_near(g->cells[0].power.ratio.value, 26500.0 / 30000 / 1.8, 1e-9);
    assert_true(g->cells[0].time.ratio.lo < 1.8 && 1.8 < g->cells[0].time.ratio.hi);
    assert_true(g->cells[0].time.configurations.hi > g->cells[0].time.ratio.hi);
    assert_true(!g->cells[0].pareto && g->cells[1].pareto && g->cells[2].pareto);
    assert_true(g->cells[1].time.p_same < 0.05 && g->cells[0].time.p_same > 0.99);
    assert_true(isnan(g->cells[2].time.ratio.lo) && g->cells[2].time.ratio.value == 1);
    wl_arena_free(a);
}

/* ---- the same work, shared worker counts, other allocations, many levels ---- */

/* Two levels of the same speed per sample: t = samples (100/N + 1) / 640. */
static size_t make_work(struct row *rows, double (*samples_at)(size_t level, double workers))
{
    static const char *const labels[REPEATS] = { "1", "2", "3" };
    size_t n = 0;
    for (size_t l = 0; l < 2; l++)
        for (size_t k = 0; k < COUNTS; k++)
            for (size_t r = 0; r < REPEATS; r++, n++) {
                const double workers = (double)(1u << k);
                rows[n] = (struct row) { .workload = "net", .run = labels[r], .workers = workers };
                rows[n].power_cap_w = 100 + 50 * (double)l;
                rows[n].samples = samples_at(l, workers);
                rows[n].time_s = rows[n].samples / 640 * (100 / workers + 1) * exp(0.01 * wl_random_normal(51, 3, n));
                rows[n].energy_j = 300 * workers * rows[n].time_s;
            }
    return n;
}

static double twice_at_one_level(size_t level, double workers)
{
    (void)workers;
    return level ? 640 : 1280;
}
static double weak_at_one_level(size_t level, double workers) { return level ? 640 : 640 * workers; }
static double neither(size_t level, double workers)
{
    (void)level;
    return 640 * sqrt(workers);
}
static double weak_of_two_sizes(size_t level, double workers) { return (level ? 640 : 1280) * workers; }

static bool factor_notes(const struct wl_factor_group *g, const char *part)
{
    for (size_t i = 0; i < g->notes.n; i++)
        if (strstr(g->notes.v[i], part)) return true;
    return false;
}

/* One slowdown of about 1, equal to the ratio at each worker count; the samples are those of the first run. */
static void unlike_work_is_compared_per_sample(void **state)
{
    (void)state;
    static const struct {
        double (*samples)(size_t, double);
        double reference;
        bool per_worker;
    } cases[] = { { twice_at_one_level, 1280, false },
                  { weak_at_one_level, 640, false },
                  { neither, 640, false },
                  { weak_of_two_sizes, 1280, true } };
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[2 * COUNTS * REPEATS];
    for (size_t i = 0; i < WL_COUNT(cases); i++) {
        const size_t n = make_work(rows, cases[i].samples);
        const struct wl_factor_group *g = compare_rows(rows, n, 0.05, a).groups;
        assert_null(g->refusal);
        assert_int_equal(g->verdict, WL_FACTOR_EQUIVALENT);
        assert_near(g->slowdowns[0].ratio.value, 1, 0.01);
        for (size_t c = 0; c < g->n_cells; c++) assert_near(g->cells[c].time.ratio.value, 1, 0.03);
        assert_near(g->work.samples, cases[i].reference, 1e-9);
        assert_int_equal(g->work.per_worker, cases[i].per_worker);
        assert_true(factor_notes(g, "the work of epochs differs: levels are compared per sample, as epochs of"));
    }
    wl_arena_free(a);
}

static double same_at_both(size_t level, double workers)
{
    (void)level, (void)workers;
    return 640;
}

/* Epochs of the same work keep their times; where samples are missing in part, only like work is compared. */
static void work_is_compared_only_where_it_is_known(void **state)
{
    (void)state;
    struct wl_arena *a = wl_arena_new(NULL);
    struct row rows[2 * COUNTS * REPEATS];
    size_t n = make_work(rows, same_at_both);
    const struct wl_factor_group *g = compare_rows(rows, n, 0.05, a).groups;
    assert_true(isnan(g->work.samples) && !factor_notes(g, "per sample"));
    assert_near(log(g->levels[0].law.configs[0].response), log(g->levels[0].law.configs[0].time_s), 1e-14);
    rows[0].samples = 0;
    assert_null(compare_rows(rows, n, 0.05, a).groups->refusal);
    n = make_work(rows, neither);
    for (size_t i = 0; i < n / 2; i++) rows[i].samples = 0;
    g = compare_rows(rows, n, 0.05, a).groups;
    assert_string_equal(g->refusal, "the work of epochs differs, and samples are not recorded in every run: times and "
                                    "energies are not comparable");
    assert_null(g->tests);
    wl_arena_free(a);
}

/* One bent curve, each level a part of it: a bend and a difference look alike. counts [2 levels]: from, to. */
static const struct wl_factor_group *compare_parts(const size_t from[2], const size_t to[2], struct wl_arena *a)
{
    struct row rows[2 * 8];
    size_t n = 0;
    for (size_t l = 0; l < 2; l++)
        for (size_t k = from[l]; k < to[l]; k++, n++) {
            const double workers = (double)(1u << k);
            rows[n] = (struct row) { .workload = "net", .run = "1", .workers = workers, .samples = 640 };
            rows[n].power_cap_w = 250 + 150 * (double)l;
            rows[n].time_s = (100 / workers + 3) * exp(0.005 * wl_random_normal(52, 1, n));
        }
    return compare_rows(rows, n, 0.05, a).groups;
}

static void levels_without_common_worker_counts_are_undecided(void **state)
{
    (void)state;
    static const size_t from[2][2] = { { 4, 0 }, { 3, 0 } }, to[2][2] = { { 8, 4 }, { 8, 5 } };
    static const char *const why[] = { "the levels share no worker count: parallelism needs three",
                                       "the levels share 2 worker counts: parallelism needs three" };
    struct wl_arena *a = wl_arena_new(NULL);
    for (size_t i = 0; i < 2; i++) {
        const struct wl_factor_group *g = compare_parts(from[i], to[i], a);
        assert_int_equal(g->verdict, WL_FACTOR_UNDECIDED);
        assert_string_equal(g->verdict_reason, why[i]);
        assert_string_equal(g->runs_needed_reason,
                            "the same 5 or more worker counts at every level would decide; fewer rarely do");
        assert_int_equal(g->n_slowdowns, i ? 2 : 0);
        assert_true(isnan(g->p_bh) && g->over_configs.p < 0.05);
    }
    wl_arena_free(a);
}

/* 1.976 (two runs of 100 and 102 s against 199 and 200): the scatter of configurations is known, runs hardly widen it.
 */
static void other_allocations_have_their_own_degrees_of_freedom(void **state)
{
    (void)state;
    const double ln = log(1.976), run_se = hypot(log(1.02) / 2, log(200.0 / 199) / 2), tau2 = 2 * 0.02 * 0.02;
    const struct wl_law_ratio r = { ln, run_se, 1.125 };
    const struct wl_estimate e = wl_law_ratio_of_configurations(&r);
    const double df = 1.125 * pow((run_se * run_se + tau2) / (run_se * run_se), 2),
                 half = wl_t_quantile(0.975, df) * sqrt(run_se * run_se + tau2);
    assert_near(e.lo, 1.976 * exp(-half), 1e-12);
    assert_near(e.hi, 1.976 * exp(half), 1e-12);
    assert_true(e.hi / e.lo < 1.2);
    const struct wl_law_ratio exact = { ln, 0, NAN };
    assert_near(log(wl_law_ratio_of_configurations(&exact).hi) - ln, 1.959963984540054 * sqrt(tau2), 1e-12);
    const struct wl_law_ratio single = { ln, NAN, NAN };
    assert_true(isnan(wl_law_ratio_of_configurations(&single).hi));
}

/* A hundred levels: the time grows with the levels, not with their pairs. */
static void many_levels_do_not_take_long(void **state)
{
    (void)state;
    enum { MANY = 100, EACH = 4 };
    static struct row rows[MANY * EACH];
    struct wl_arena *a = wl_arena_new(NULL);
    for (size_t i = 0; i < MANY * EACH; i++) {
        const double workers = (double)(1u << i % EACH);
        rows[i] = (struct row) { .workload = "net", .run = "1", .workers = workers, .samples = 640 };
        rows[i].power_cap_w = 100 + (double)(i / EACH);
        rows[i].time_s = (100 / workers + 3) * exp(0.01 * wl_random_normal(53, 1, i));
    }
    const clock_t start = clock();
    const struct wl_factor_group *g = compare_rows(rows, MANY * EACH, 0.05, a).groups;
    const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    const struct wl_factor_pair *p = &g->tests->pairs[1234];
    print_message("%d levels: %.2f s of CPU\n", MANY, seconds);
    assert_int_equal(g->tests->n_pairs, MANY * (MANY - 1) / 2);
    agree("p by Tukey", p->p_tukey, wl_studentised_range_sf(fabs(p->t) * M_SQRT2, MANY, p->df), 9);
    assert_true(seconds < 5); /* one by one: 20 s */
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_slopes_are_rarely_rejected),
        cmocka_unit_test(equivalence_has_few_false_positives),
        cmocka_unit_test(aicc_counts_every_parameter),
        cmocka_unit_test(units_and_order_do_not_matter),
        cmocka_unit_test(runs_needed_gives_the_power),
        cmocka_unit_test(cap_is_compared_with_uncapped),
        cmocka_unit_test(base_is_highest_level_without_a_law),
        cmocka_unit_test(parallel_levels_are_rejected_five_times_in_a_hundred),
        cmocka_unit_test(a_clock_under_a_constant_is_seen),
        cmocka_unit_test(a_power_law_is_compared_by_slopes),
        cmocka_unit_test(blocks_agree_with_numpy),
        cmocka_unit_test(one_worker_count_gives_ratios),
        cmocka_unit_test(unlike_work_is_compared_per_sample),
        cmocka_unit_test(work_is_compared_only_where_it_is_known),
        cmocka_unit_test(levels_without_common_worker_counts_are_undecided),
        cmocka_unit_test(other_allocations_have_their_own_degrees_of_freedom),
        cmocka_unit_test(many_levels_do_not_take_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

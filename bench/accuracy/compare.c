/* Error rates and power of compare: equal levels under a bent curve, and levels that differ. */
#include "accuracy.h"

#include "law/factor/verdict.h"

enum { MOST_LEVELS = 3, MOST_COUNTS = 8, MOST_RUNS = 3 };

/* t = W N^-slope + c, of the first level and of the others. */
struct levels {
    double work[2], slope[2], c;
};
static const struct levels equal = { { 100, 100 }, { 1, 1 }, 1 }, clock = { { 180, 100 }, { 1, 1 }, 1 },
                           small = { { 180, 100 }, { 1, 1 }, 0.5 }, slopes = { { 100, 100 }, { 0.85, 0.9 }, 0 };

struct cell {
    const struct levels *truth;
    size_t n_levels, counts, runs;
    double run_sd, config_sd, shared_sd; /* shared: by all levels at a worker count */
};

struct shares {
    double different, equivalent; /* % */
    double held; /* % of the sets of slowdowns at each N, one set a level, that hold the truth together */
};

static double truth_at(const struct levels *t, size_t level, double workers)
{
    const size_t i = level > 0;
    return t->work[i] * pow(workers, -t->slope[i]) + t->c;
}

static struct campaign simulate(const struct cell *c, uint64_t key, uint64_t replicate)
{
    struct campaign t = campaign_new(MOST_LEVELS * MOST_COUNTS * MOST_RUNS);
    for (size_t i = 0; i < c->n_levels * c->counts * c->runs; i++) {
        const size_t config = i / c->runs, count = config % c->counts, level = config / c->counts;
        const double workers = ldexp(1, (int)count),
                     noise = c->run_sd * wl_random_normal(key, 3 * replicate, i) +
                             c->config_sd * wl_random_normal(key, 3 * replicate + 1, config) +
                             c->shared_sd * wl_random_normal(key, 3 * replicate + 2, count);
        const size_t row = campaign_add(&t, workers, i % c->runs, truth_at(c->truth, level, workers) * exp(noise));
        t.obs.power_cap_w[row] = 100 + 50 * (double)level;
    }
    campaign_end(&t);
    return t;
}

static struct wl_factor_group *compare(struct campaign *t)
{
    const struct wl_factor_options options = { .factor = "power_cap_w", .margin = 0.05, .ratio_margin = 0.05 };
    struct wl_factor_result r;
    struct wl_err e;
    must(wl_factor_compare(&t->obs, &options, &r, t->arena, &e), &e);
    return &r.groups[0];
}

/* Share of the levels, but the base, all of whose slowdowns hold the truth. Levels are in the order of their caps. */
static double share_held(const struct cell *c, const struct wl_factor_group *g)
{
    bool held[MOST_LEVELS] = { true, true, true };
    for (size_t i = 0; i < g->n_slowdowns; i++) {
        const struct wl_factor_slowdown *s = &g->slowdowns[i];
        const double truth = truth_at(c->truth, s->level, s->workers) / truth_at(c->truth, g->base, s->workers);
        held[s->level] = held[s->level] && s->ratio.lo <= truth && truth <= s->ratio.hi;
    }
    size_t n = 0;
    for (size_t l = 0; l < c->n_levels; l++) n += l != g->base && held[l];
    return (double)n / (double)(c->n_levels - 1);
}

/* A slowdown at each N, whatever was decided. */
static void slow_down_at_each_count(struct wl_factor_group *g, struct wl_arena *a)
{
    if (g->verdict == WL_FACTOR_EQUIVALENT) g->verdict = WL_FACTOR_UNDECIDED;
    g->n_slowdowns = 0;
    wl_factor_fill_slowdowns(g, a);
}

static struct shares shares_of(const struct cell *c, uint64_t key, size_t replicates)
{
    struct shares out = { 0 };
    for (size_t k = 0; k < replicates; k++) {
        struct campaign t = simulate(c, key, k);
        struct wl_factor_group *g = compare(&t);
        out.different += g->verdict == WL_FACTOR_DIFFERENT ? 100.0 / (double)replicates : 0;
        out.equivalent += g->verdict == WL_FACTOR_EQUIVALENT ? 100.0 / (double)replicates : 0;
        slow_down_at_each_count(g, t.arena);
        out.held += 100 * share_held(c, g) / (double)replicates;
        wl_arena_free(t.arena);
    }
    return out;
}

static const char *cell_name(const struct cell *c, struct wl_arena *a)
{
    return wl_strf(a, "%zu levels, %zu worker counts, %zu runs, configurations %g %%, shared %g %%", c->n_levels,
                   c->counts, c->runs, 100 * c->config_sd, 100 * c->shared_sd);
}

static void print_cell(const struct cell *c, const struct shares *s)
{
    printf("| %zu | %zu | %zu | %g %% | %g %% | %.1f | %.1f | %.1f |", c->n_levels, c->counts, c->runs,
           100 * c->config_sd, 100 * c->shared_sd, s->different, s->equivalent, s->held);
}

static void print_head(const char *title, bool bounds)
{
    static const char columns[] = "| levels | worker counts | runs | configurations | shared | DIFFERENT, % | "
                                  "EQUIVALENT, % | slowdowns hold, % |";
    printf("\n%s\n\n%s%s\n|---|---|---|---|---|---|---|---|%s\n", title, columns,
           bounds ? " shape known, % | and scatter, % |" : "", bounds ? "---|---|" : "");
}

/* ---- what a test could reach at 5 % ---- */

/* Of one that knows the shape of the difference along N, and the scatter too (df infinite). `distance`: the length of
 * the difference less its mean, in standard deviations of a difference of two cells. */
static double power_of(double distance, double df)
{
    enum { STEPS = 4000 };
    const double critical = isinf(df) ? wl_normal_quantile(0.975) : wl_t_quantile(0.975, df);
    double power = 0, total = 0;
    for (int i = 0; i < STEPS; i++) { /* over the estimated scatter / the true one */
        const double ratio = isinf(df) ? 1 : 4 * (i + 0.5) / STEPS,
                     weight = isinf(df) ? 1 : exp((df - 1) * log(ratio) - df * ratio * ratio / 2);
        power += weight * (wl_normal_sf(critical * ratio - distance) + wl_normal_cdf(-critical * ratio - distance));
        total += weight;
    }
    return 100 * power / total;
}

static double distance_of(const struct cell *c)
{
    double difference[MOST_COUNTS], mean = 0, sum = 0;
    for (size_t i = 0; i < c->counts; i++) {
        const double workers = ldexp(1, (int)i);
        difference[i] = log(truth_at(c->truth, 0, workers) / truth_at(c->truth, 1, workers));
        mean += difference[i] / (double)c->counts;
    }
    for (size_t i = 0; i < c->counts; i++) sum += (difference[i] - mean) * (difference[i] - mean);
    return sqrt(sum / (2 * (c->config_sd * c->config_sd + c->run_sd * c->run_sd / (double)c->runs)));
}

/* ---- the tables ---- */

/* Index i as digits of the sizes; the cell is one of their products. */
static size_t digit(size_t *i, size_t base)
{
    const size_t d = *i % base;
    *i /= base;
    return d;
}

enum { TYPE_I_LEAST, TYPE_I_MOST, MEAN_LEAST, MEAN_MOST, HELD, SEEN, SEEN_SMALL, PROMISES };
enum { EQUAL_CELLS = 2 * 2 * 3 * 2 * 2, UNEQUAL_CELLS = 2 * 2 * 2, TABLES = 3 };

struct tables {
    const struct extent *x;
    struct promise promises[PROMISES];
    size_t done, total; /* cells */
};

static void add_cell(struct tables *t, const struct cell *c, const struct shares *s)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const char *name = cell_name(c, a);
    print_cell(c, s);
    promise_add(&t->promises[HELD], s->held, name);
    if (c->truth == &equal) {
        promise_add(&t->promises[TYPE_I_LEAST], s->different, name);
        promise_add(&t->promises[TYPE_I_MOST], s->different, name);
    }
    if (c->truth == &clock && c->counts == 8) promise_add(&t->promises[SEEN], s->different, name);
    if (c->truth == &small && c->counts == 8 && c->config_sd == 0)
        promise_add(&t->promises[SEEN_SMALL], s->different, name);
    progress(++t->done, t->total);
    wl_arena_free(a);
}

static void equal_levels(struct tables *t)
{
    double sum = 0, n = 0;
    print_head("Equal levels under 100/N + 1, runs of sd 2 %", false);
    for (size_t i = 0; i < EQUAL_CELLS; i += t->x->every) {
        size_t rest = i;
        struct cell c = { .truth = &equal, .run_sd = 0.02 };
        c.n_levels = 2 + digit(&rest, 2);
        c.counts = digit(&rest, 2) ? 8 : 4;
        c.runs = 1 + digit(&rest, 3);
        c.config_sd = digit(&rest, 2) ? 0.03 : 0;
        c.shared_sd = digit(&rest, 2) ? 0.03 : 0;
        const struct shares s = shares_of(&c, 2313000 + i, t->x->replicates);
        add_cell(t, &c, &s);
        puts("");
        fflush(stdout);
        sum += s.different;
        n++;
    }
    for (size_t i = MEAN_LEAST; i <= MEAN_MOST; i++) {
        t->promises[i].campaigns = t->x->replicates * (size_t)n;
        promise_add(&t->promises[i], sum / n, "");
    }
}

static void unequal_levels(struct tables *t, const char *title, const struct levels *truth, uint64_t key)
{
    print_head(title, true);
    for (size_t i = 0; i < UNEQUAL_CELLS; i++) {
        size_t rest = i;
        struct cell c = { .truth = truth, .n_levels = 2, .run_sd = 0.02 };
        c.counts = digit(&rest, 2) ? 8 : 4;
        c.config_sd = digit(&rest, 2) ? 0.03 : 0;
        c.runs = digit(&rest, 2) ? 3 : 1;
        const struct shares s = shares_of(&c, key + i, t->x->replicates);
        add_cell(t, &c, &s);
        printf(" %.1f | %.1f |\n", power_of(distance_of(&c), (double)c.counts - 2),
               power_of(distance_of(&c), INFINITY));
        fflush(stdout);
    }
}

int bench_compare(const struct extent *x)
{
    const size_t n = x->replicates;
    struct tables t = {
        .x = x,
        .promises = { [TYPE_I_LEAST] = { "DIFFERENT of a cell of equal levels", false, 3, n },
                      [TYPE_I_MOST] = { "DIFFERENT of a cell of equal levels", true, 7, n },
                      [MEAN_LEAST] = { "DIFFERENT of equal levels, in the mean", false, 3 },
                      [MEAN_MOST] = { "DIFFERENT of equal levels, in the mean", true, 7 },
                      [HELD] = { "slowdowns of a level that hold together", false, 95, n },
                      [SEEN] = { "DIFFERENT of the clock at eight worker counts", false, 95, n },
                      [SEEN_SMALL] = { "DIFFERENT of the clock under half the overhead, no configuration "
                                       "effects, eight worker counts",
                                       false, 95, n } },
        .total = (EQUAL_CELLS - 1) / x->every + 1 + TABLES * UNEQUAL_CELLS
    };
    progress(0, t.total);
    equal_levels(&t);
    unequal_levels(&t, "A clock that slows the work 1.8 times, 100/N + 1", &clock, 2314000);
    unequal_levels(&t, "A clock that slows the work 1.8 times, 100/N + .5", &small, 2314100);
    unequal_levels(&t, "Exponents .85 and .90", &slopes, 2315000);
    return promises_report(t.promises, PROMISES);
}

/* Error rates and power of compare: equal levels under a bent curve, and levels that differ. */
#include "accuracy.h"

enum { MOST_LEVELS = 3, MOST_COUNTS = 8, MOST_RUNS = 3 };

/* t = W N^-slope + c, of the first level and of the others. */
struct levels {
    double work[2], slope[2], c;
};
static const struct levels equal = { { 100, 100 }, { 1, 1 }, 1 }, clock = { { 180, 100 }, { 1, 1 }, 0.5 },
                           slopes = { { 100, 100 }, { 0.85, 0.9 }, 0 };

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

static const struct wl_factor_group *compare(struct campaign *t, double margin)
{
    const struct wl_factor_options options = { .factor = "power_cap_w", .margin = margin, .ratio_margin = 0.05 };
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

static const double margin = 0.05;
static const double no_margin = 1e-9; /* nothing is EQUIVALENT: a slowdown at each N, whatever was decided */

static struct shares shares_of(const struct cell *c, uint64_t key, size_t replicates)
{
    struct shares out = { 0 };
    for (size_t k = 0; k < replicates; k++) {
        struct campaign t = simulate(c, key, k);
        const enum wl_factor_verdict verdict = compare(&t, margin)->verdict;
        out.different += verdict == WL_FACTOR_DIFFERENT ? 100.0 / (double)replicates : 0;
        out.equivalent += verdict == WL_FACTOR_EQUIVALENT ? 100.0 / (double)replicates : 0;
        out.held += 100 * share_held(c, compare(&t, no_margin)) / (double)replicates;
        wl_arena_free(t.arena);
    }
    return out;
}

static void print_cell(const struct cell *c, const struct shares *s)
{
    printf("| %zu | %zu | %zu | %g %% | %g %% | %.1f | %.1f | %.1f |\n", c->n_levels, c->counts, c->runs,
           100 * c->config_sd, 100 * c->shared_sd, s->different, s->equivalent, s->held);
    fflush(stdout);
}

static void print_head(const char *title)
{
    printf("\n%s\n\n", title);
    puts("| levels | worker counts | runs | configurations | shared | DIFFERENT, % | EQUIVALENT, % | slowdowns hold, % "
         "|\n"
         "|---|---|---|---|---|---|---|---|");
}

/* Index i as digits of the sizes; the cell is one of their products. */
static size_t digit(size_t *i, size_t base)
{
    const size_t d = *i % base;
    *i /= base;
    return d;
}

static int check_equal(const struct cell *c, const struct shares *s, size_t replicates)
{
    const double near = chance(5, replicates);
    return promise(s->different >= 3 - near && s->different <= 7 + near,
                   "%zu levels, %zu worker counts, %zu runs: DIFFERENT in %.1f %%, 3 to 7", c->n_levels, c->counts,
                   c->runs, s->different) +
           promise(s->held >= 95 - chance(95, replicates), "slowdowns hold in %.1f %%, at least 95", s->held);
}

static int equal_levels(const struct extent *x)
{
    enum { CELLS = 2 * 2 * 3 * 2 * 2 };
    int missed = 0;
    double sum = 0, n = 0;
    print_head("Equal levels under 100/N + 1, runs of sd 2 %");
    for (size_t i = 0; i < CELLS; i += x->every) {
        size_t rest = i;
        struct cell c = { .truth = &equal, .run_sd = 0.02 };
        c.n_levels = 2 + digit(&rest, 2);
        c.counts = digit(&rest, 2) ? 8 : 4;
        c.runs = 1 + digit(&rest, 3);
        c.config_sd = digit(&rest, 2) ? 0.03 : 0;
        c.shared_sd = digit(&rest, 2) ? 0.03 : 0;
        const struct shares s = shares_of(&c, 2313000 + i, x->replicates);
        print_cell(&c, &s);
        missed += check_equal(&c, &s, x->replicates);
        sum += s.different;
        n++;
    }
    printf("\nDIFFERENT in the mean: %.2f %%\n", sum / n);
    const double near = chance(5, x->replicates * (size_t)n);
    return missed +
           promise(sum / n >= 3 - near && sum / n <= 7 + near, "DIFFERENT in %.2f %% in the mean, 3 to 7", sum / n);
}

static int unequal_levels(const struct extent *x, const char *title, const struct levels *truth, uint64_t key)
{
    enum { CELLS = 2 * 2 * 2 };
    int missed = 0;
    print_head(title);
    for (size_t i = 0; i < CELLS; i++) {
        size_t rest = i;
        struct cell c = { .truth = truth, .n_levels = 2, .run_sd = 0.02 };
        c.counts = digit(&rest, 2) ? 8 : 4;
        c.config_sd = digit(&rest, 2) ? 0.03 : 0;
        c.runs = digit(&rest, 2) ? 3 : 1;
        const struct shares s = shares_of(&c, key + i, x->replicates);
        print_cell(&c, &s);
        missed += promise(s.held >= 95 - chance(95, x->replicates), "slowdowns hold in %.1f %%", s.held);
        if (truth == &clock && c.counts == 8 && c.config_sd == 0 && c.runs == 3)
            missed +=
                promise(s.different >= 95 - chance(95, x->replicates), "the clock is seen in %.1f %%", s.different);
    }
    return missed;
}

int bench_compare(const struct extent *x)
{
    return equal_levels(x) + unequal_levels(x, "A clock that slows the work 1.8 times, 100/N + .5", &clock, 2314000) +
           unequal_levels(x, "Exponents .85 and .90", &slopes, 2315000);
}

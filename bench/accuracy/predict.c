/* Coverage of forecasts: of 95 % intervals of one new run, at two and four times the largest measured worker count. */
#include "cell.h"

static const struct truth truths[] = {
    { TRUTH_POWER, .beta = 0.85, .smallest = 1 },
    { TRUTH_POWER, .beta = 0.5, .smallest = 1 },
    { TRUTH_AMDAHL, .c = 0.01, .smallest = 1, .idle = 0.35 },
    { TRUTH_AMDAHL, .c = 0.001, .smallest = 8, .idle = 0.35 },
    { TRUTH_LOG, .c = 0.01, .g = 0.003, .smallest = 1, .idle = 0.35 },
    { TRUTH_LOG, .c = 0.003, .g = 0.0009, .smallest = 8, .idle = 0.35 },
    { TRUTH_LINEAR, .c = 0.01, .g = 1e-4, .smallest = 1, .idle = 0.35 },
    { TRUTH_LINEAR, .c = 0.001, .g = 1e-5, .smallest = 8, .idle = 0.35 },
};
static const struct design designs[] = {
    { .counts = 5, .runs = 3, .run_sd = 0.02 },
    { .counts = 6, .runs = 1, .run_sd = 0.02 },
    { .counts = 7, .runs = 2, .run_sd = 0.01 },
    { .counts = 8, .runs = 3, .run_sd = 0.005 },
    { .counts = 6, .runs = 3, .run_sd = 0.02, .unequal_runs = true },
    { .counts = 7, .runs = 3, .run_sd = 0.01, .epoch_sd = 0.05 },
    { .counts = 7, .runs = 3, .run_sd = 0.01, .epoch_sd = 0.05, .unequal_epochs = true },
    { .counts = 6, .runs = 3, .run_sd = 0.01, .unequal_runs = true, .epoch_sd = 0.1, .unequal_epochs = true },
};
static const double config_sds[] = { 0, 0.02, 0.03 };
enum { DISTANCES = 2 };
static const double distances[DISTANCES] = { 2, 4 };
static const double level = 7; /* ln(response) of one worker where there is no overhead */

/* ---- a cell ---- */

struct coverage {
    double covered[DISTANCES]; /* % of new runs inside their interval */
    double ratio[DISTANCES];   /* of its ends, median */
    double oracle[DISTANCES];  /* of one who knows the truth's family and every sd */
    double error[DISTANCES];   /* of the forecast's median, median, % */
};

/* Streams of a campaign's random numbers. */
enum { CONFIG_TIME, RUN_TIME, EPOCH_TIME, CONFIG_POWER, RUN_POWER, STREAMS };

static double normal(const struct cell *c, size_t replicate, int stream, size_t i)
{
    return wl_random_normal(c->key, (uint64_t)(replicate * STREAMS) + (uint64_t)stream, i);
}

static double config_effect(const struct cell *c, size_t replicate, size_t i)
{
    const double power = c->response == WL_LAW_ENERGY ? power_sd * normal(c, replicate, CONFIG_POWER, i) : 0;
    return c->config_sd * (normal(c, replicate, CONFIG_TIME, i) + power);
}

static double run_effect(const struct cell *c, size_t replicate, size_t i)
{
    const double power = c->response == WL_LAW_ENERGY ? power_sd * normal(c, replicate, RUN_POWER, i) : 0;
    return c->design->run_sd * (normal(c, replicate, RUN_TIME, i) + power);
}

enum { MOST_RUNS = 8, MOST_EPOCHS = 64, NEW = 1000 /* configurations and runs from here are new ones */ };

static void add_run(struct campaign *t, const struct cell *c, size_t replicate, size_t count, size_t run)
{
    const size_t id = count * MOST_RUNS + run, epochs = design_epochs(c->design, count, run);
    const double mean = level + cell_ln_truth(c, cell_workers(c, count)) + config_effect(c, replicate, count) +
                        run_effect(c, replicate, id);
    for (size_t e = 0; e < epochs; e++) {
        const double y = mean + c->design->epoch_sd * normal(c, replicate, EPOCH_TIME, id * MOST_EPOCHS + e);
        const size_t row = campaign_add(t, cell_workers(c, count), run, exp(y));
        if (c->response == WL_LAW_ENERGY) t->obs.energy_j[row] = exp(y);
        if (epochs > 1) t->obs.epoch[row] = (double)e + 1;
    }
}

static struct campaign simulate(const struct cell *c, size_t replicate)
{
    struct campaign t = campaign_new(c->design->counts * MOST_RUNS * MOST_EPOCHS);
    for (size_t i = 0; i < c->design->counts; i++)
        for (size_t r = 0; r < design_runs(c->design, i); r++) add_run(&t, c, replicate, i, r);
    campaign_end(&t);
    return t;
}

/* ln(response) of a new run of a new configuration; it has as many epochs as the median run. */
static double new_run(const struct cell *c, size_t replicate, size_t i, double workers, double epochs)
{
    const double epoch = c->design->epoch_sd / sqrt(epochs);
    return level + cell_ln_truth(c, workers) + config_effect(c, replicate, NEW + i) +
           run_effect(c, replicate, NEW * MOST_RUNS + i) +
           epoch * normal(c, replicate, EPOCH_TIME, NEW * MOST_RUNS * MOST_EPOCHS + i);
}

struct answer {
    bool covers;
    double ratio, error;
};

static struct wl_law_posterior posterior_of(struct campaign *t, const struct cell *c)
{
    struct wl_err e;
    struct wl_law_result laws;
    struct wl_law_posterior p;
    const struct wl_law_options options = { .response = c->response };
    must(wl_law_fit(&t->obs, &options, &laws, t->arena, &e), &e);
    WL_CHECK(laws.n == 1);
    must(wl_law_posterior(&laws.groups[0], c->response, NULL, false, &p, t->arena, &e), &e);
    WL_CHECK(!p.refusal);
    return p;
}

static void forecast(const struct cell *c, size_t replicate, struct answer out[DISTANCES])
{
    struct campaign t = simulate(c, replicate);
    const struct wl_law_posterior p = posterior_of(&t, c);
    for (size_t i = 0; i < DISTANCES; i++) {
        const double at = cell_workers(c, c->design->counts - 1) * distances[i], unit = p.growth * log(at);
        struct wl_hier_mixture m =
            wl_hier_predict(&p.fit, &(struct wl_hier_query) { at, WL_HIER_RUN, WL_HIER_ALL, false }, t.arena);
        const double seen = new_run(c, replicate, i, at, p.data->typical_epochs);
        const double lo = wl_hier_quantile(&m, 0.025) + unit, hi = wl_hier_quantile(&m, 0.975) + unit;
        out[i] =
            (struct answer) { lo <= seen && seen <= hi, exp(hi - lo),
                              100 * fabs(exp(wl_hier_quantile(&m, 0.5) + unit - level - cell_ln_truth(c, at)) - 1) };
    }
    wl_arena_free(t.arena);
}

static struct coverage coverage_of(const struct cell *c, size_t replicates)
{
    struct coverage out = { 0 };
    double *ratio[DISTANCES], *error[DISTANCES];
    struct wl_arena *a = wl_arena_new(NULL);
    for (size_t i = 0; i < DISTANCES; i++) {
        ratio[i] = wl_new_array(a, double, replicates);
        error[i] = wl_new_array(a, double, replicates);
    }
    for (size_t k = 0; k < replicates; k++) {
        struct answer answers[DISTANCES];
        forecast(c, k, answers);
        for (size_t i = 0; i < DISTANCES; i++) {
            out.covered[i] += answers[i].covers ? 100.0 / (double)replicates : 0;
            ratio[i][k] = answers[i].ratio;
            error[i][k] = answers[i].error;
        }
    }
    for (size_t i = 0; i < DISTANCES; i++) {
        out.ratio[i] = median(ratio[i], replicates);
        out.error[i] = median(error[i], replicates);
        out.oracle[i] = cell_oracle(c, cell_workers(c, c->design->counts - 1) * distances[i]);
    }
    wl_arena_free(a);
    return out;
}

/* ---- the table ---- */

/* Cells of one kind: both distances. */
struct total {
    double covered, least, ratio[DISTANCES], oracle[DISTANCES], error[DISTANCES];
    size_t cells;
};

static void add_to(struct total *t, const struct coverage *v)
{
    if (!t->cells) t->least = 100;
    t->cells++;
    for (size_t i = 0; i < DISTANCES; i++) {
        t->covered += v->covered[i] / DISTANCES;
        t->least = fmin(t->least, v->covered[i]);
        t->ratio[i] += log(v->ratio[i]);
        t->oracle[i] += log(v->oracle[i]);
        t->error[i] += v->error[i];
    }
}

static void print_total(const char *name, const struct total *t)
{
    const double n = (double)t->cells;
    if (!t->cells) return;
    printf("| %s | %zu | %.1f | %.1f ", name, DISTANCES * t->cells, t->covered / n, t->least);
    for (size_t i = 0; i < DISTANCES; i++)
        printf("| %.2f (%.2f), %.1f %% ", exp(t->ratio[i] / n), exp(t->oracle[i] / n), t->error[i] / n);
    puts("|");
}

static void print_head(const char *title)
{
    printf("\n%s. Ratio of the interval's ends (the oracle's) and error of the median, at 2 and 4 times the largest "
           "N.\n\n",
           title);
    puts("| cells | number | inside, % | smallest | at 2x | at 4x |\n|---|---|---|---|---|---|");
}

static const char *design_name(const struct design *d, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    wl_text_addf(&t, "%zu worker counts, %s%zu runs of sd %g %%", d->counts, d->unequal_runs ? "1 to " : "", d->runs,
                 100 * d->run_sd);
    if (d->epoch_sd > 0)
        wl_text_addf(&t, ", %s epochs of sd %g %%", d->unequal_epochs ? "2 to 60" : "5", 100 * d->epoch_sd);
    return t.s;
}

enum { CONFIG_SDS = WL_COUNT(config_sds), FAMILIES = TRUTH_LINEAR + 1 };

struct totals {
    struct total by_sd[CONFIG_SDS], by_family[FAMILIES][CONFIG_SDS], by_design[WL_COUNT(designs)][CONFIG_SDS];
};

static void print_totals(const struct totals *t)
{
    struct wl_arena *a = wl_arena_new(NULL);
    print_head("By the truth");
    for (size_t f = 0; f < FAMILIES; f++)
        for (size_t s = 0; s < CONFIG_SDS; s++)
            print_total(wl_strf(a, "%s, configurations %g %%", truth_name((enum truth_family)f), 100 * config_sds[s]),
                        &t->by_family[f][s]);
    print_head("By what was measured");
    for (size_t d = 0; d < WL_COUNT(designs); d++)
        for (size_t s = 0; s < CONFIG_SDS; s++)
            print_total(wl_strf(a, "%s, configurations %g %%", design_name(&designs[d], a), 100 * config_sds[s]),
                        &t->by_design[d][s]);
    print_head("All");
    for (size_t s = 0; s < CONFIG_SDS; s++)
        print_total(wl_strf(a, "configurations %g %%", 100 * config_sds[s]), &t->by_sd[s]);
    wl_arena_free(a);
}

/* Without configuration effects an interval may be too wide: a few means cannot show that there are none. */
enum { LEAST_WITHOUT, LEAST_WITH, MEAN_WITHOUT, MEAN_AT_LEAST, MEAN_AT_MOST, PROMISES };
struct promises {
    struct promise v[PROMISES];
};

static struct promises new_promises(size_t replicates)
{
    return (struct promises) {
        .v = { [LEAST_WITHOUT] = { "coverage of a cell without configuration effects", false, 94, replicates },
               [LEAST_WITH] = { "coverage of a cell with configuration effects", false, 90, replicates },
               [MEAN_WITHOUT] = { "mean coverage without configuration effects", false, 94 },
               [MEAN_AT_LEAST] = { "mean coverage with configuration effects of 2 to 3 %", false, 94 },
               [MEAN_AT_MOST] = { "mean coverage with configuration effects of 2 to 3 %", true, 98 } }
    };
}

static int report(struct promises *p, const struct totals *t, size_t replicates)
{
    double sum = 0;
    size_t cells = 0;
    for (size_t s = 0; s < CONFIG_SDS; s++) {
        const struct total *all = &t->by_sd[s];
        if (config_sds[s] == 0 && all->cells) {
            p->v[MEAN_WITHOUT].campaigns = replicates * DISTANCES * all->cells;
            promise_add(&p->v[MEAN_WITHOUT], all->covered / (double)all->cells, "");
        } else {
            sum += all->covered;
            cells += all->cells;
        }
    }
    for (size_t i = MEAN_AT_LEAST; cells && i <= MEAN_AT_MOST; i++) {
        p->v[i].campaigns = replicates * DISTANCES * cells;
        promise_add(&p->v[i], sum / (double)cells, "");
    }
    return promises_report(p->v, PROMISES);
}

static const char *cell_name(const struct cell *c, struct wl_arena *a)
{
    return wl_strf(a, "%s from N = %g, %s, configurations %g %%", truth_name(c->truth->family), c->truth->smallest,
                   design_name(c->design, a), 100 * c->config_sd);
}

static void add_cell(struct promises *p, const struct cell *c, const struct coverage *v)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const char *name = cell_name(c, a);
    printf("%zu. %s:", c->number, name);
    for (size_t i = 0; i < DISTANCES; i++) {
        printf(" %gx %.1f %% inside, ratio %.2f (%.2f), error %.1f %%;", distances[i], v->covered[i], v->ratio[i],
               v->oracle[i], v->error[i]);
        promise_add(&p->v[c->config_sd > 0 ? LEAST_WITH : LEAST_WITHOUT], v->covered[i],
                    wl_strf(a, "%s, at %gx", name, distances[i]));
    }
    putchar('\n');
    fflush(stdout);
    wl_arena_free(a);
}

static int run(const struct extent *x, enum wl_law_response response)
{
    const size_t all = WL_COUNT(truths) * WL_COUNT(designs) * CONFIG_SDS;
    struct totals totals = { 0 };
    struct promises promises = new_promises(x->replicates);
    if (x->first >= all) {
        fprintf(stderr, "cell %zu: expected 0 to %zu\n", x->first, all - 1);
        return 1;
    }
    progress(0, all);
    for (size_t i = x->first; i < all; i += x->every) {
        const size_t s = i % CONFIG_SDS, d = i / CONFIG_SDS % WL_COUNT(designs), t = i / CONFIG_SDS / WL_COUNT(designs);
        const struct cell c = { &truths[t], &designs[d], config_sds[s], response, i, 2311001 + i };
        const struct coverage v = coverage_of(&c, x->replicates);
        add_cell(&promises, &c, &v);
        add_to(&totals.by_sd[s], &v);
        add_to(&totals.by_family[c.truth->family][s], &v);
        add_to(&totals.by_design[d][s], &v);
        progress((i - x->first) / x->every + 1, (all - 1 - x->first) / x->every + 1);
    }
    print_totals(&totals);
    return report(&promises, &totals, x->replicates);
}

int bench_predict(const struct extent *x) { return run(x, WL_LAW_TIME); }
int bench_energy(const struct extent *x) { return run(x, WL_LAW_ENERGY); }

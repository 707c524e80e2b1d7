/* bench_recommend [SEEDS|full [VARIANT [FOLDER]]]: are the probabilities and savings of wattlaw recommend right?
 * Simulated campaigns, SEEDS (full, the default: 63, which is 2,016 campaigns a variant) of each of 32 designs (noise
 * of runs, effects of settings, runs) in three variants: workers x cap; with batch as a third axis; noise of time and
 * power correlated. The tables of docs/accuracy.md. Ends with status 1 where a promise fails. With FOLDER the counts of
 * each design are kept there, one CSV file each, and a later run with the same number of seeds takes them from there;
 * of all variants reliability diagrams are drawn there (gnuplot).
 */
#include "advise/advise.h"

#include "recommend/tally.h"

#include <math.h>

enum { MOST = 60, VARIANTS = 3, PLAIN = 0, BATCH, CORRELATED, FULL = 63 };
static const double noises[] = { 0.01, 0.03 }, effects[] = { 0, 0.01, 0.02, 0.03 };
static const size_t repeats[] = { 1, 2, 3, 5 };
static const char *const variants[VARIANTS] = { "workers x cap", "workers x cap x batch", "correlated noise" },
                         *const legend[VARIANTS] = { "cap", "cap x batch", "correlated" };

struct design {
    int variant;
    double noise, effect;
    size_t runs;
};

/* ---- random numbers: one stream for each campaign ---- */

struct dice {
    uint64_t stream, at;
};

static double uniform(struct dice *d, double lo, double hi)
{
    return lo + (hi - lo) * wl_random_uniform(20260119, d->stream, d->at++);
}

static double normal(struct dice *d, double sd) { return sd * wl_random_normal(20260120, d->stream, d->at++); }

/* ---- a truth: Amdahl's law, a cap slows the compute; power is static plus a busy share ---- */

struct truth {
    size_t n;
    double workers[MOST], cap[MOST], batch[MOST];
    double t[MOST], p[MOST]; /* ln */
};

struct machine {
    double serial, busy, exponent, idle, peak, by_batch;
};

static void set_truth(struct truth *x, size_t i, const struct machine *m, struct dice *d, double effect)
{
    const double n = x->workers[i], c = x->cap[i],
                 clock = fmin(1, pow(fmax((c - m->idle) / (m->peak - m->idle), 0.05), 1 / m->exponent)),
                 stretch = m->busy / clock + 1 - m->busy,
                 batch = x->batch[i] > 0 ? 1 + m->by_batch * 16 / x->batch[i] : 1,
                 compute = (1 - m->serial) * stretch * batch / n, time = compute + m->serial * (1 + 0.3 * log2(n)),
                 power = m->idle +
                         (m->peak - m->idle) * pow(clock, m->exponent) * compute / time * m->busy / clock / stretch +
                         0.15 * (1 - compute / time);
    x->t[i] = log(100 * time) + normal(d, effect);
    x->p[i] = log(power) + normal(d, effect / 2);
}

static struct truth draw_truth(const struct design *g, struct dice *d)
{
    static const double caps[] = { 0.4, 0.55, 0.7, 0.85, 1 };
    const struct machine m = { pow(10, uniform(d, -3, -1.3)), uniform(d, 0.4, 1),    uniform(d, 1.6, 3.2),
                               uniform(d, 0.1, 0.3),          uniform(d, 0.75, 1.1), uniform(d, 0.1, 1) };
    const size_t counts = g->variant == BATCH ? 4 : 6, batches = g->variant == BATCH ? 3 : 1;
    struct truth x = { .n = counts * 5 * batches };
    for (size_t i = 0; i < x.n; i++) {
        x.workers[i] = ldexp(1, (int)(i / 5 / batches));
        x.cap[i] = caps[i / batches % 5];
        x.batch[i] = g->variant == BATCH ? ldexp(16, (int)(i % batches)) : NAN;
        set_truth(&x, i, &m, d, g->effect);
    }
    return x;
}

static double ln_energy(const struct truth *x, size_t i) { return log(x->workers[i]) + x->t[i] + x->p[i]; }

static struct wl_observations observe(const struct truth *x, const struct design *g, struct dice *d, struct wl_arena *a)
{
    struct wl_observations obs = { .source = "simulated" };
    const double rho = g->variant == CORRELATED ? (uniform(d, 0, 1) < 0.5 ? -0.7 : 0.7) : 0;
    wl_obs_alloc(&obs, x->n * g->runs, a);
    for (size_t row = 0; row < obs.n; row++) {
        const size_t i = row / g->runs;
        const double of_t = normal(d, g->noise), of_p = rho * of_t + sqrt(1 - rho * rho) * normal(d, g->noise);
        obs.workload[row] = "net";
        obs.workers[row] = x->workers[i];
        obs.power_cap_w[row] = 100 * x->cap[i];
        obs.local_batch[row] = x->batch[i];
        obs.run[row] = wl_strf(a, "%zu", row);
        obs.time_s[row] = exp(x->t[i] + of_t);
        obs.energy_j[row] = obs.time_s[row] * x->workers[i] * exp(x->p[i] + of_p);
        obs.samples[row] = 1;
    }
    wl_obs_index_runs(&obs, a);
    return obs;
}

/* ---- one campaign ---- */

struct world {
    const struct design *design;
    struct truth x;
    struct wl_observations obs;
    struct wl_choose_campaign campaign;
    size_t of[MOST]; /* setting of the truth of each of the campaign's */
    size_t ref;      /* of the truth */
    double most;     /* of the slowdown, a ratio */
};

static bool beaten(const struct truth *x, size_t i)
{
    for (size_t k = 0; k < x->n; k++)
        if (x->t[k] < x->t[i] && ln_energy(x, k) < ln_energy(x, i)) return true;
    return false;
}

/* What the least of the raw means would be, among those whose raw mean time keeps the limit. */
static void judge_raw(const struct world *w, struct tally *to)
{
    double t[MOST] = { 0 }, e[MOST] = { 0 };
    size_t best = w->ref;
    for (size_t i = 0; i < w->x.n; i++) {

        for (size_t r = i * w->design->runs; r < (i + 1) * w->design->runs; r++) {
            t[i] += log(w->obs.time_s[r]) / (double)w->design->runs;
            e[i] += log(w->obs.energy_j[r]) / (double)w->design->runs;
        }
    }
    for (size_t i = 0; i < w->x.n; i++)
        if (t[i] - t[w->ref] <= log(w->most) && e[i] < e[best]) best = i;
    to->raw_bias += e[best] - e[w->ref] - (ln_energy(&w->x, best) - ln_energy(&w->x, w->ref));
    to->raw_broken += w->x.t[best] - w->x.t[w->ref] > log(w->most);
}

static void judge(const struct world *w, const struct wl_choose_result *r, struct tally *to)
{
    const struct truth *x = &w->x;
    const size_t choice = w->of[r->choice];
    double best = INFINITY;
    for (size_t i = 0; i < x->n; i++) {
        const size_t k = w->of[i];
        if (k != w->ref) tally_count(to->bins[LIMIT], r->rows[i].meets[0], x->t[k] - x->t[w->ref] <= log(w->most));
        if (r->rows[i].allowed) best = fmin(best, ln_energy(x, k));
        tally_count(to->bins[w->design->effect > 0 ? FRONT : FRONT_NO_EFFECT], r->rows[i].pareto, !beaten(x, k));
    }
    tally_count(to->bins[WITHIN_1], r->within[0], ln_energy(x, choice) <= best + log(1.01));
    tally_count(to->bins[WITHIN_3], r->within[1], ln_energy(x, choice) <= best + log(1.03));
    const struct wl_estimate *s = &r->saving[WL_CHOOSE_ENERGY];
    const double saved = ln_energy(x, choice) - ln_energy(x, w->ref);
    to->bias += log(s->value) - saved;
    to->covered += log(s->lo) <= saved && saved <= log(s->hi);
    to->broken += x->t[choice] - x->t[w->ref] > log(w->most);
    to->campaigns++;
}

/* A limit on the energy near that of some setting. */
static void judge_budget(const struct world *w, struct dice *d, struct tally *to, struct wl_arena *a)
{
    const struct truth *x = &w->x;
    const double budget = ln_energy(x, (size_t)uniform(d, 0, (double)x->n)) + normal(d, 0.03);
    double limit[MOST], p[MOST];
    for (size_t i = 0; i < x->n; i++) limit[i] = budget - log(x->workers[w->of[i]]);
    wl_joint_probabilities(w->campaign.groups[0].joint, &(struct wl_joint_question) { 1, 1, WL_JOINT_ABSOLUTE, limit },
                           p, a);
    for (size_t i = 0; i < x->n; i++) tally_count(to->bins[BUDGET], p[i], ln_energy(x, w->of[i]) <= budget);
}

/* A limit next to what the campaign expects of each setting: of its time against the reference's (power 0), of its
 * energy. Next to the truth it would tell what the campaign does not know. */
static void judge_near(const struct world *w, size_t ref, double power, struct dice *d, struct tally *to,
                       struct wl_arena *a)
{
    static const double spread[] = { 0.003, 0.01, 0.03 };
    const struct wl_joint *joint = w->campaign.groups[0].joint;
    const double *t = wl_joint_means(joint, WL_JOINT_TIME), *p = wl_joint_means(joint, WL_JOINT_POWER);
    const size_t reference = power > 0 ? WL_JOINT_ABSOLUTE : ref;
    double limit[MOST], stated[MOST];
    for (size_t i = 0; i < w->x.n; i++)
        limit[i] = t[i] + power * p[i] - (power > 0 ? 0 : t[ref]) + normal(d, spread[i % WL_COUNT(spread)]);
    wl_joint_probabilities(joint, &(struct wl_joint_question) { 1, power, reference, limit, NULL }, stated, a);
    for (size_t i = 0; i < w->x.n; i++) {
        const size_t k = w->of[i];
        const double truth = w->x.t[k] + power * w->x.p[k] - (power > 0 ? 0 : w->x.t[w->ref]);
        if (k != w->ref || power > 0)
            tally_count(to->bins[power > 0 ? NEAR_BUDGET : NEAR_LIMIT], stated[i], truth <= limit[i]);
    }
}

/* The reference is uncapped, with one of the four largest worker counts and the first batch; the limit is near the time
 * of a setting that is slower. */
static void draw_question(struct world *w, struct dice *d)
{
    const size_t batches = w->design->variant == BATCH ? 3 : 1;
    size_t slower[MOST], n = 0;
    w->ref = w->x.n - batches - 5 * batches * (size_t)uniform(d, 0, 4);
    for (size_t i = 0; i < w->x.n; i++)
        if (w->x.t[i] > w->x.t[w->ref] + 0.04) slower[n++] = i;
    const double near = n ? w->x.t[slower[(size_t)uniform(d, 0, (double)n)]] - w->x.t[w->ref] : 0.1;
    w->most = exp(fmax(0.01, near + normal(d, 0.015)));
}

static void simulate(const struct design *g, uint64_t stream, struct tally *to)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct dice d = { stream, 0 };
    struct world w = { .design = g, .x = draw_truth(g, &d) };
    struct wl_err e;
    draw_question(&w, &d);
    w.obs = observe(&w.x, g, &d, a);
    const struct wl_choose_campaign_options how = { .node_size = NAN, .global_batch = NAN, .site_power_w = NAN };
    must(wl_choose_campaign(&w.obs, &how, &w.campaign, a, &e), &e);
    struct wl_choose_limit limit = { "slowdown", WL_CHOOSE_TIME, true, w.most };
    struct wl_choose_options o = { .limits = &limit, .n_limits = 1, .probability = 0.9, .max_power_w = NAN };
    o.prices = (struct wl_choose_prices) { 1, NAN, NAN, NAN, NAN };
    for (size_t i = 0; i < w.x.n; i++) {
        w.of[i] = w.campaign.row[i] / g->runs;
        if (w.of[i] == w.ref) o.reference = i;
    }
    const struct wl_choose_input in = wl_choose_campaign_input(&w.campaign);
    struct wl_choose_result r;
    must(wl_choose(&in, &o, &r, a, &e), &e);
    judge(&w, &r, to);
    judge_raw(&w, to);
    judge_budget(&w, &d, to, a);
    judge_near(&w, o.reference, 0, &d, to, a);
    judge_near(&w, o.reference, 1, &d, to, a);
    wl_arena_free(a);
}

/* ---- tables and promises ---- */

static int promise(bool holds, const char *what, const char *where, double value)
{
    printf("%s: %s (%s: %.3f)\n", holds ? "PASS" : "FAIL", what, where, value);
    return !holds;
}

/* A limit that lies next to the true time of a setting says where that is: of this setting half of the limits are kept,
 * whatever the campaign says. No statement from the campaign alone can be right of the middle bins. */
static bool is_judged(enum tally_kind k, size_t b) { return k != LIMIT || b == 0 || b + 1 == BINS; }

/* Bins with enough cases: kept within max(3 points, 2.5 standard errors) of the mean stated. */
static int check_bins(const struct tally *t, const char *name)
{
    static const size_t enough = 1000;
    int failed = 0;
    for (size_t k = 0; k <= WITHIN_3; k++) {
        double worst = 0;
        bool any = false, holds = true;
        for (size_t b = 0; b < BINS; b++) {
            const struct bin *v = &t->bins[k][b];
            if (v->n < enough || !is_judged((enum tally_kind)k, b)) continue;
            const double n = (double)v->n, p = v->stated / n, off = v->kept / n - p;
            any = true;
            if (fabs(off) > fabs(worst)) worst = off;
            holds = holds && fabs(off) <= fmax(0.03, 2.5 * sqrt(p * (1 - p) / n));
        }
        if (any) failed += promise(holds, tally_kinds[k], name, worst);
    }
    return failed;
}

static void simulate_design(const struct design *g, uint64_t stream, size_t seeds, const char *folder, struct tally *t,
                            struct wl_arena *a)
{
    const char *path = folder ? wl_strf(a, "%s/%d-noise%g-effect%g-runs%zu-seeds%zu.csv", folder, g->variant, g->noise,
                                        g->effect, g->runs, seeds)
                              : NULL;
    if (path && tally_read(path, t)) return;
    for (size_t k = 0; k < seeds; k++) simulate(g, stream + k, t);
    if (path) tally_write(path, t, a);
}

/* *repeated: of the designs with two runs or more. */
static int run_variant(int variant, size_t seeds, const char *folder, struct tally *repeated, struct wl_arena *a)
{
    struct tally all = { 0 };
    *repeated = (struct tally) { 0 };
    printf("\n%s\n\n| noise | effects | runs | saving - truth, points (raw means) | interval holds | limit broken (raw "
           "means) |\n|---|---|---|---|---|---|\n",
           variants[variant]);
    for (size_t n = 0; n < WL_COUNT(noises); n++)
        for (size_t f = 0; f < WL_COUNT(effects); f++)
            for (size_t r = 0; r < WL_COUNT(repeats); r++) {
                const struct design g = { variant, noises[n], effects[f], repeats[r] };
                struct tally t = { 0 };
                simulate_design(&g, ((((uint64_t)variant * 2 + n) * 4 + f) * 4 + r) * 1000000, seeds, folder, &t, a);
                const double c = t.campaigns / 100;
                printf("| %g %% | %g %% | %zu | %+.2f (%+.2f) | %.0f %% | %.1f %% (%.1f %%) |\n", 100 * g.noise,
                       100 * g.effect, g.runs, t.bias / c, t.raw_bias / c, t.covered / c, t.broken / c,
                       t.raw_broken / c);
                fflush(stdout);
                tally_add(&all, &t);
                if (g.runs > 1) tally_add(repeated, &t);
            }
    tally_print(repeated, wl_strf(a, "%s, two runs or more", variants[variant]));
    tally_print(&all, wl_strf(a, "%s, all", variants[variant]));
    printf("\n");
    const double c = repeated->campaigns;
    const struct bin *at = &repeated->bins[NEAR_LIMIT][5];
    int failed = check_bins(repeated, variants[variant]);
    if (c >= 500) {
        failed += promise(fabs(repeated->bias / c) <= 0.005, "saving is unbiased to .5 points", variants[variant],
                          repeated->bias / c);
        failed += promise(repeated->broken / c <= 0.02, "limits are broken in at most 2 %", variants[variant],
                          repeated->broken / c);
    }
    if (at->n >= 1000)
        failed += promise(at->kept / (double)at->n >= 0.87, "stated .85 to .95: kept in 87 % or more",
                          variants[variant], at->kept / (double)at->n);
    return failed;
}

int main(int argc, char **argv)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const size_t seeds = argc > 1 && !wl_str_eq(argv[1], "full") ? strtoul(argv[1], NULL, 10) : FULL;
    const char *folder = argc > 3 ? argv[3] : NULL;
    struct tally repeated[VARIANTS];
    int failed = 0;
    const size_t only = argc > 2 ? strtoul(argv[2], NULL, 10) : VARIANTS;
    if (argc > 4 || !seeds || only > VARIANTS) {
        fputs("usage: bench_recommend [SEEDS|full [0|1|2|3 (all) [FOLDER]]]\n", stderr);
        return 2;
    }
    for (int v = 0; v < VARIANTS; v++)
        if (only == VARIANTS || only == (size_t)v) failed += run_variant(v, seeds, folder, &repeated[v], a);
    if (folder && only == VARIANTS) tally_draw(repeated, legend, VARIANTS, folder, a);
    wl_arena_free(a);
    return failed > 0;
}

/* Does a factor change the law? Groups, their levels, and the verdict. */
#include "law/factor.h"

#include "law/internal.h"

#include <math.h>
#include <stdlib.h>

static const double alpha = 0.05, power = 0.8;

const char *wl_factor_verdict_name(enum wl_factor_verdict v)
{
    static const char *const names[] = { "UNDECIDED", "DIFFERENT", "EQUIVALENT" };
    return names[v];
}

/* The factors that are caps, and the columns that tell whether they acted. */
static const struct cap_factor {
    const char *name, *acted;
} cap_factors[] = {
    { "power_cap_w", "power_cap_acted_pct" },
    { "clock_mhz", "clock_acted_pct" },
    { "mem_clock_mhz", "mem_clock_acted_pct" },
};

static const struct cap_factor *cap_factor(const char *name)
{
    for (size_t i = 0; i < WL_COUNT(cap_factors); i++)
        if (wl_streq(cap_factors[i].name, name)) return &cap_factors[i];
    return NULL;
}

static bool is_cap(const char *factor) { return cap_factor(factor) != NULL; }

static void note(struct wl_factor_group *g, struct wl_arena *a, const char *fmt, ...) WL_PRINTF(3, 4);
static void note(struct wl_factor_group *g, struct wl_arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    wl_strs_add(a, &g->notes, wl_strfv(a, fmt, ap));
    va_end(ap);
}

/* ---- levels ---- */

static int by_value(const void *p, const void *q)
{
    return wl_law_compare_values(((const struct wl_law_part *)p)->key->value,
                                 ((const struct wl_law_part *)q)->key->value);
}

/* Splits the rows of a group by the texts of the factor. */
static struct wl_law_parts split(const struct wl_law_part *part, const struct wl_obs_column *column, struct wl_arena *a)
{
    const char **texts = wl_new_array(a, const char *, part->n);
    size_t *ids = wl_new_array(a, size_t, part->n);
    for (size_t i = 0; i < part->n; i++) texts[i] = wl_obs_text(column, part->rows[i], a);
    struct wl_law_parts out = { .n = wl_law_number(texts, part->n, ids, a) };
    out.v = wl_new_array(a, struct wl_law_part, out.n);
    for (size_t i = 0; i < part->n; i++) {
        struct wl_law_part *to = &out.v[ids[i]];
        if (!to->rows) {
            to->rows = wl_new_array(a, size_t, part->n - i);
            to->key = wl_new(a, struct wl_law_key);
            *to->key = (struct wl_law_key) { column->name, texts[i] };
            to->n_key = 1;
        }
        to->rows[to->n++] = part->rows[i];
    }
    qsort(out.v, out.n, sizeof *out.v, by_value);
    return out;
}

/* NAN where the table has no such column of numbers, or no value in it here. */
static double mean_of(const struct wl_observations *obs, const struct wl_law_part *part, const char *name)
{
    struct wl_obs_column column;
    struct wl_err none;
    double sum = 0, n = 0;
    if (wl_obs_find(obs, name, &column, &none) < 0 || !column.real) return NAN;
    for (size_t i = 0; i < part->n; i++) {
        double v = column.real[part->rows[i]];
        if (isnan(v)) continue;
        sum += v;
        n++;
    }
    return n > 0 ? sum / n : NAN;
}

static struct wl_factor_achieved achieved_by(const struct wl_observations *obs, const struct wl_law_part *part)
{
    const struct cap_factor *cap = cap_factor(part->key->column);
    return (struct wl_factor_achieved) { .clock_mhz = mean_of(obs, part, "achieved_clock_mhz"),
                                         .mem_clock_mhz = mean_of(obs, part, "achieved_mem_clock_mhz"),
                                         .power_capped_pct = mean_of(obs, part, "power_capped_pct"),
                                         .caps_acted_pct = cap ? mean_of(obs, part, cap->acted) : NAN };
}

static void fit_level(struct wl_factor_level *level, const struct wl_law_part *part, const struct wl_observations *obs,
                      const struct wl_law_options *options, struct wl_arena *a)
{
    struct wl_law_group *g = &level->law;
    level->value = *part->key->value ? part->key->value : "uncapped";
    level->offset = level->offset_se = NAN;
    level->achieved = achieved_by(obs, part);
    wl_law_collect_runs(g, obs, part, options, a);
    wl_law_collect_configs(g, a);
    wl_law_estimate(g, a);
    level->why = g->refused;
}

static void collect_levels(struct wl_factor_group *g, const struct wl_law_part *part, const struct wl_observations *obs,
                           const struct wl_obs_column *column, const struct wl_factor_options *options,
                           struct wl_arena *a)
{
    struct wl_law_parts parts = split(part, column, a);
    g->levels = wl_new_array(a, struct wl_factor_level, parts.n);
    for (size_t i = 0; i < parts.n; i++) {
        if (!*parts.v[i].key->value && !is_cap(column->name)) {
            note(g, a, "left out: %s",
                 wl_law_count(a, parts.v[i].n,
                              wl_strf(a, "row without %s|rows without %s", column->name, column->name)));
            continue;
        }
        struct wl_factor_level *level = &g->levels[g->n_levels++];
        fit_level(level, &parts.v[i], obs, &options->law, a);
        g->compared += !level->why;
        g->estimated |= level->law.estimated;
        g->simulated |= level->law.simulated;
        if (level->why) note(g, a, "%s %s is not compared: %s", column->name, level->value, level->why);
        if (level->achieved.caps_acted_pct <= 0)
            note(g, a, "%s %s never acted: no device came near what it was limited to", column->name, level->value);
    }
}

/* The one asked for, if it can be compared, or the rule. False where it is not there. */
static bool choose_base(struct wl_factor_group *g, const struct wl_factor_options *options)
{
    bool from_top = !options->base && is_cap(options->factor);
    for (size_t i = 0; i < g->n_levels; i++) {
        size_t l = from_top ? g->n_levels - 1 - i : i;
        if (g->levels[l].why || (options->base && !wl_streq(options->base, g->levels[l].value))) continue;
        g->base = l;
        return true;
    }
    return false;
}

/* ---- slowdowns ---- */

static double squares_within(const struct wl_factor_group *g, double *df)
{
    double sum = 0;
    *df = 0;
    for (size_t l = 0; l < g->n_levels; l++) {
        const struct wl_lack_of_fit *lack = &g->levels[l].law.lack_of_fit;
        if (g->levels[l].why || !(lack->df2 > 0)) continue;
        sum += lack->ss_pure;
        *df += lack->df2;
    }
    return sum;
}

static struct wl_estimate ratio(double difference, double se, double df)
{
    double half = df > 0 && se > 0 ? wl_t_quantile(0.5 + WL_LAW_LEVEL / 2, df) * se : NAN;
    return (struct wl_estimate) { exp(difference), exp(difference - half), exp(difference + half) };
}

static const struct wl_law_config *at_workers(const struct wl_law_group *law, double workers)
{
    for (size_t i = 0; i < law->n_configs; i++)
        if (law->configs[i].workers == workers) return &law->configs[i];
    return NULL;
}

/* At each worker count that level and base share, with the scatter of repeats pooled over all of them. */
static void add_each(struct wl_factor_group *g, size_t l)
{
    double df, variance = squares_within(g, &df);
    const struct wl_law_group *law = &g->levels[l].law;
    variance /= df;
    for (size_t i = 0; i < law->n_configs; i++) {
        const struct wl_law_config *c = &law->configs[i], *b = at_workers(&g->levels[g->base].law, c->workers);
        if (!b) continue;
        double se = sqrt(variance * (1 / (double)c->runs + 1 / (double)b->runs));
        g->slowdowns[g->n_slowdowns++] =
            (struct wl_factor_slowdown) { l, c->workers, ratio(log(c->response / b->response), se, df) };
    }
}

static void fill_slowdowns(struct wl_factor_group *g, struct wl_arena *a)
{
    size_t most = g->n_levels;
    for (size_t l = 0; l < g->n_levels; l++) most += g->levels[l].law.n_configs;
    g->slowdowns = wl_new_array(a, struct wl_factor_slowdown, most);
    for (size_t l = 0; l < g->n_levels; l++) {
        if (l == g->base || g->levels[l].why) continue;
        if (g->verdict == WL_FACTOR_DIFFERENT) {
            add_each(g, l);
            continue;
        }
        const struct wl_factor_tests *t = g->tests;
        g->slowdowns[g->n_slowdowns++] =
            (struct wl_factor_slowdown) { l, NAN, ratio(t->offset[l], t->offset_se[l], t->beta_df) };
    }
}

/* ---- verdict ---- */

/* Runs at each level and worker count after which equal slopes would be told the same within the margin with 80 %
 * power: se falls with the root of the runs. Two one-sided tests at a true difference of 0 pass with that power where
 * margin / se >= t(0.95) + t(0.9). Seeing a difference of the margin takes fewer. */
static double runs_needed(const struct wl_factor_group *g, double margin)
{
    const struct wl_factor_tests *t = &g->over_runs;
    double widest = 0, configs = 0;
    for (size_t i = 0; i < t->n_pairs; i++) widest = fmax(widest, t->pairs[i].se);
    for (size_t l = 0; l < g->n_levels; l++)
        if (!g->levels[l].why) configs += (double)g->levels[l].law.n_configs;
    double now = (double)t->points / configs;
    for (double runs = 1; runs <= 1000; runs++) {
        double df = runs * configs - 2 * (double)g->compared;
        if (!(df > 0)) continue;
        double se = widest * sqrt(now / runs);
        if (margin / se >= wl_t_quantile(1 - alpha, df) + wl_t_quantile(1 - (1 - power) / 2, df)) return runs;
    }
    return NAN;
}

/* Lack of fit of the separate lines: do worker counts leave them by more than repeats explain? */
static bool moves_as_a_whole(const struct wl_factor_group *g)
{
    double df_pure, pure = squares_within(g, &df_pure);
    double df = g->over_runs.df - df_pure, lack = g->over_runs.sse_separate - pure;
    return df > 0 && df_pure > 0 && wl_f_sf(lack / df / (pure / df_pure), df, df_pure) < alpha;
}

static void decide(struct wl_factor_group *g, double margin, struct wl_arena *a)
{
    const struct wl_factor_tests *t = g->tests;
    double p_same = 0;
    for (size_t i = 0; i < t->n_pairs; i++) p_same = fmax(p_same, t->pairs[i].p_same);
    g->runs_needed = NAN;
    if (t->p < alpha) {
        g->verdict = WL_FACTOR_DIFFERENT;
        g->verdict_why =
            wl_strf(a, "equal slopes are rejected, p = %.2g%s", t->p,
                    p_same < alpha ? wl_strf(a, "; every difference is below %g all the same", margin) : "");
    } else if (t->n_pairs && p_same < alpha) {
        g->verdict = WL_FACTOR_EQUIVALENT;
        g->verdict_why =
            wl_strf(a, "every pair differs by less than %g, p = %.2g; equal slopes are not rejected", margin, p_same);
    } else {
        g->verdict = WL_FACTOR_UNDECIDED;
        g->verdict_why = t->why ? t->why
                                : wl_strf(a,
                                          "equal slopes are not rejected, p = %.2g, but differences of %g are not "
                                          "excluded either, p = %.2g",
                                          t->p, margin, p_same);
        if (t->n_pairs && moves_as_a_whole(g)) {
            g->runs_needed_why = "worker counts are off their lines by more than repeats explain: more worker counts "
                                 "help, more repeats do not";
        } else if (g->over_runs.n_pairs) {
            g->runs_needed = runs_needed(g, margin);
            g->runs_needed_why = wl_strf(a, "to find two slopes that are equal the same within %g with %g %% power%s",
                                         margin, 100 * power, isnan(g->runs_needed) ? ": beyond 1000 runs" : "");
        }
    }
}

static void choose_tests(struct wl_factor_group *g)
{
    const struct wl_factor_tests *runs = &g->over_runs, *configs = &g->over_configs;
    bool wider = configs->beta_hi - configs->beta_lo > runs->beta_hi - runs->beta_lo; /* false where either is NAN */
    g->tests = wider && !configs->why ? configs : runs;
}

static void rank(struct wl_factor_group *g)
{
    double n = (double)g->over_runs.points, k = (double)g->compared, best = INFINITY;
    g->aicc_common = wl_law_aicc(g->over_runs.sse_common, n, k + 1);
    g->aicc_separate = wl_law_aicc(g->over_runs.sse_separate, n, 2 * k);
    const struct {
        const char *name;
        double aicc;
    } rivals[] = { { "common_slope", g->aicc_common },
                   { "separate_slopes", g->aicc_separate },
                   { "shared_overhead", g->overhead.why ? NAN : g->overhead.aicc } };
    if (g->over_runs.why) return;
    for (size_t i = 0; i < WL_COUNT(rivals); i++)
        if (rivals[i].aicc < best) best = rivals[i].aicc, g->best_model = rivals[i].name;
}

/* ---- notes ---- */

static bool same_workers(const struct wl_law_group *p, const struct wl_law_group *q)
{
    if (p->n_configs != q->n_configs) return false;
    for (size_t i = 0; i < p->n_configs; i++)
        if (p->configs[i].workers != q->configs[i].workers) return false;
    return true;
}

static void note_ranges(struct wl_factor_group *g, struct wl_arena *a)
{
    for (size_t l = 0; l < g->n_levels; l++)
        if (!g->levels[l].why && !same_workers(&g->levels[l].law, &g->levels[g->base].law)) {
            note(g, a,
                 "the levels were not measured at the same worker counts: where the law bends, exponents differ by "
                 "that alone");
            return;
        }
}

static bool every_level_says(const struct wl_factor_group *g, const char *sentence)
{
    for (size_t l = 0; l < g->n_levels; l++) {
        const struct wl_strs *notes = &g->levels[l].law.notes;
        bool found = false;
        for (size_t i = 0; i < notes->n; i++) found |= wl_streq(notes->v[i], sentence);
        if (!found) return false;
    }
    return true;
}

/* The sentences about rows: behind their level, or once where every level has the same. */
static void note_levels(struct wl_factor_group *g, struct wl_arena *a)
{
    for (size_t l = 0; l < g->n_levels; l++) {
        const struct wl_strs *notes = &g->levels[l].law.notes;
        for (size_t i = 0; i < notes->n; i++) {
            bool common = every_level_says(g, notes->v[i]);
            if (!common) note(g, a, "%s: %s", g->levels[l].value, notes->v[i]);
            if (common && l == 0) note(g, a, "%s%s", g->n_levels > 1 ? "each level: " : "", notes->v[i]);
        }
    }
    if (g->simulated) note(g, a, "simulated: some of these rows are not measurements");
    if (g->estimated) note(g, a, "estimated: some of these rows are so marked; in a store, that is their energy");
}

static enum wl_law_scaling scaling_of(const struct wl_factor_group *g)
{
    enum wl_law_scaling first = WL_SCALING_UNKNOWN;
    bool any = false;
    for (size_t l = 0; l < g->n_levels; l++) {
        if (g->levels[l].why) continue;
        if (any && g->levels[l].law.scaling != first) return WL_SCALING_MIXED;
        first = g->levels[l].law.scaling;
        any = true;
    }
    return first;
}

/* ---- the comparison ---- */

static const char *refusal(const struct wl_factor_group *g, const char *factor, struct wl_arena *a)
{
    if (g->n_levels < 2)
        return wl_strf(a, "nothing to compare: %s has one value here%s%s", factor, g->n_levels ? ", " : "",
                       g->n_levels ? g->levels[0].value : "");
    return wl_strf(a, "nothing to compare: %s of %zu has a law", g->compared ? "one level" : "no level", g->n_levels);
}

static void compare_group(struct wl_factor_group *g, const struct wl_factor_options *options, struct wl_arena *a)
{
    wl_factor_test(&g->over_runs, g, false, options->margin, a);
    wl_factor_test(&g->over_configs, g, true, options->margin, a);
    choose_tests(g);
    decide(g, options->margin, a);
    g->scaling = scaling_of(g);
    wl_factor_fit_overhead(g, options->law.response, a);
    rank(g);
    for (size_t l = 0; l < g->n_levels; l++) {
        g->levels[l].offset = g->tests->offset[l];
        g->levels[l].offset_se = g->tests->offset_se[l];
    }
    fill_slowdowns(g, a);
    note_ranges(g, a);
}

static int check_options(const struct wl_factor_options *o, struct wl_err *e)
{
    if (wl_streq(o->factor, "workers"))
        return wl_fail(e, WL_EINVAL, "the worker count is what the law is about; compare another column");
    for (size_t i = 0; i < o->law.by.n; i++)
        if (wl_streq(o->law.by.v[i], o->factor))
            return wl_fail(e, WL_EINVAL, "%s cannot both separate groups and be compared in them", o->factor);
    if (!(o->margin > 0)) return wl_fail(e, WL_EINVAL, "the margin of equivalence must be positive");
    return o->law.drop_epochs < 0 ? wl_fail(e, WL_EINVAL, "drop_epochs is negative") : 0;
}

/* One scan over all groups for unequal slopes. */
static void scan_groups(struct wl_factor_result *r, struct wl_arena *a)
{
    double *p = wl_new_array(a, double, r->n), *adjusted = wl_new_array(a, double, r->n);
    for (size_t i = 0; i < r->n; i++) p[i] = r->groups[i].tests ? r->groups[i].tests->p : NAN;
    wl_benjamini_hochberg(p, r->n, adjusted, a);
    for (size_t i = 0; i < r->n; i++) r->groups[i].p_bh = adjusted[i];
}

int wl_factor_compare(const struct wl_observations *obs, const struct wl_factor_options *options,
                      struct wl_factor_result *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_obs_column column;
    struct wl_law_parts parts;
    bool base_found = !options->base;
    *out = (struct wl_factor_result) { options->factor, options->law.response, options->margin, NULL, 0 };
    int rc = check_options(options, e);
    if (rc == 0) rc = wl_obs_find(obs, options->factor, &column, e);
    if (rc == 0) rc = wl_law_partition(obs, &options->law.by, column.name, &parts, a, e);
    if (rc) return rc;
    out->groups = wl_new_array(a, struct wl_factor_group, parts.n);
    out->n = parts.n;
    for (size_t i = 0; i < parts.n; i++) {
        struct wl_factor_group *g = &out->groups[i];
        g->key = parts.v[i].key;
        g->n_key = parts.v[i].n_key;
        g->title = wl_law_title(&parts.v[i], a);
        g->aicc_common = g->aicc_separate = g->runs_needed = NAN;
        collect_levels(g, &parts.v[i], obs, &column, options, a);
        bool has_base = choose_base(g, options);
        base_found |= has_base;
        if (g->compared < 2)
            g->refused = refusal(g, column.name, a);
        else if (!has_base)
            g->refused = wl_strf(a, "nothing to compare: %s %s has no law here", column.name, options->base);
        else
            compare_group(g, options, a);
        note_levels(g, a);
    }
    scan_groups(out, a);
    return base_found ? 0 : wl_fail(e, WL_EINVAL, "%s has no value %s with a law", column.name, options->base);
}

/* Does a factor change the law? Groups, the comparison of their levels, and notes. */
#include "law/factor/factor.h"

#include "law/factor/ancova.h"
#include "law/factor/block.h"
#include "law/factor/levels.h"
#include "law/factor/overhead.h"
#include "law/factor/ratios.h"
#include "law/factor/verdict.h"
#include "law/fit/models.h"

#include <math.h>

static size_t highest_level(const struct wl_factor_group *g)
{
    size_t l = g->n_levels;
    while (l > 0 && g->levels[l - 1].law.n_configs == 0) l--;
    return l > 0 ? l - 1 : 0;
}

/* The requested base if it can be compared, else the default. False where the requested one is missing. */
static bool choose_base(struct wl_factor_group *g, const struct wl_factor_options *options)
{
    bool from_top = !options->base && wl_factor_is_cap(options->factor);
    for (size_t i = 0; i < g->n_levels; i++) {
        size_t l = from_top ? g->n_levels - 1 - i : i;
        if (g->levels[l].reason || (options->base && !wl_str_eq(options->base, g->levels[l].value))) continue;
        g->base = l;
        return true;
    }
    if (from_top) g->base = g->highest;
    return false;
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
        if (!g->levels[l].reason && !same_workers(&g->levels[l].law, &g->levels[g->base].law)) {
            wl_strs_addf(a, &g->notes,
                         "the levels were measured at different worker counts: where the law is curved, that alone "
                         "makes exponents differ");
            return;
        }
}

static bool is_common_note(const struct wl_factor_group *g, const char *sentence)
{
    for (size_t l = 0; l < g->n_levels; l++) {
        const struct wl_strs *notes = &g->levels[l].law.notes;
        bool found = false;
        for (size_t i = 0; i < notes->n; i++) found |= wl_str_eq(notes->v[i], sentence);
        if (!found) return false;
    }
    return true;
}

/* The notes on rows: prefixed by their level, or once where all levels have the same. */
static void note_levels(struct wl_factor_group *g, struct wl_arena *a)
{
    for (size_t l = 0; l < g->n_levels; l++) {
        const struct wl_strs *notes = &g->levels[l].law.notes;
        for (size_t i = 0; i < notes->n; i++) {
            bool common = is_common_note(g, notes->v[i]);
            if (!common) wl_strs_addf(a, &g->notes, "%s: %s", g->levels[l].value, notes->v[i]);
            if (common && l == 0)
                wl_strs_addf(a, &g->notes, "%s%s", g->n_levels > 1 ? "each level: " : "", notes->v[i]);
        }
    }
    if (g->simulated) wl_strs_addf(a, &g->notes, "simulated: some of these rows are not measurements");
    if (g->estimated)
        wl_strs_addf(a, &g->notes,
                     "estimated: some of these rows are marked as estimates; in a store, that concerns their energy");
}

static enum wl_law_scaling scaling_of(const struct wl_factor_group *g)
{
    enum wl_law_scaling first = WL_SCALING_UNKNOWN;
    bool any = false;
    for (size_t l = 0; l < g->n_levels; l++) {
        if (g->levels[l].reason) continue;
        if (any && g->levels[l].law.scaling != first) return WL_SCALING_MIXED;
        first = g->levels[l].law.scaling;
        any = true;
    }
    return first;
}

/* ---- the comparison ---- */

static void rank_models(struct wl_factor_group *g)
{
    double n = (double)g->over_runs.points, k = (double)g->compared, best = INFINITY;
    g->aicc_common = wl_law_aicc(g->over_runs.sse_common, n, k + 1);
    g->aicc_separate = wl_law_aicc(g->over_runs.sse_separate, n, 2 * k);
    const struct {
        const char *name;
        double aicc;
    } models[] = { { "common_slope", g->aicc_common },
                   { "separate_slopes", g->aicc_separate },
                   { "shared_overhead", g->overhead.reason ? NAN : g->overhead.aicc } };
    if (g->over_runs.reason) return;
    for (size_t i = 0; i < WL_COUNT(models); i++)
        if (models[i].aicc < best) best = models[i].aicc, g->best_model = models[i].name;
}

static const char *refusal(const struct wl_factor_group *g, const char *factor, struct wl_arena *a)
{
    if (g->n_levels < 2)
        return wl_strf(a, "nothing to compare: %s has one value here%s%s", factor, g->n_levels ? ", " : "",
                       g->n_levels ? g->levels[0].value : "");
    for (size_t l = 0; l < g->n_levels && g->compared == 0; l++)
        if (g->levels[l].law.n_configs > 1)
            return wl_strf(a, "no law at any of %zu levels: %s", g->n_levels, g->levels[l].reason);
    if (g->compared == 0) return "one worker count: exponents cannot be compared, ratios can";
    return wl_strf(a, "one level of %zu has a law: exponents cannot be compared", g->n_levels);
}

static void compare_group(struct wl_factor_group *g, const struct wl_factor_options *options, struct wl_arena *a)
{
    wl_factor_blocks(g, options->law.response, options->margin, a);
    wl_factor_ancova(&g->over_runs, g, false, options->margin, a);
    wl_factor_ancova(&g->over_configs, g, true, options->margin, a);
    g->tests = &g->over_blocks;
    wl_factor_decide(g, options->margin, a);
    g->scaling = scaling_of(g);
    wl_factor_fit_overhead(g, options->law.response, a);
    rank_models(g);
    for (size_t l = 0; l < g->n_levels; l++) {
        g->levels[l].offset = g->tests->offset[l];
        g->levels[l].offset_se = g->tests->offset_se[l];
    }
    wl_factor_fill_slowdowns(g, a);
    note_ranges(g, a);
}

static int check_options(const struct wl_factor_options *o, struct wl_err *e)
{
    if (wl_str_eq(o->factor, "workers"))
        return wl_fail(e, WL_EINVAL,
                       "workers cannot be the factor: the law is a function of it; compare another column");
    for (size_t i = 0; i < o->law.by.n; i++)
        if (wl_str_eq(o->law.by.v[i], o->factor))
            return wl_fail(e, WL_EINVAL, "%s cannot both separate groups and be compared in them", o->factor);
    if (!(o->ratio_margin > 0))
        return wl_fail(e, WL_EINVAL, "the margin of ratios is %g, must be positive", o->ratio_margin);
    if (!(o->margin > 0)) return wl_fail(e, WL_EINVAL, "the equivalence margin is %g, must be positive", o->margin);
    return o->law.drop_epochs < 0
               ? wl_fail(e, WL_EINVAL, "drop_epochs is %lld, must be 0 or more", (long long)o->law.drop_epochs)
               : 0;
}

/* One scan over all groups for unequal slopes. */
static void scan_groups(struct wl_factor_result *r, struct wl_arena *a)
{
    double *p = wl_new_array(a, double, r->n), *adjusted = wl_new_array(a, double, r->n);
    for (size_t i = 0; i < r->n; i++) p[i] = r->groups[i].tests ? r->groups[i].tests->p : NAN;
    wl_benjamini_hochberg(p, r->n, adjusted, a);
    for (size_t i = 0; i < r->n; i++) r->groups[i].p_bh = adjusted[i];
}

/* The message lists the values of the column. */
static int no_such_base(const struct wl_factor_result *r, const char *column, const char *base, struct wl_arena *a,
                        struct wl_err *e)
{
    struct wl_strs values = { 0 };
    for (size_t i = 0; i < r->n; i++)
        for (size_t l = 0; l < r->groups[i].n_levels; l++) {
            bool seen = false;
            for (size_t k = 0; k < values.n && !seen; k++) seen = wl_str_eq(values.v[k], r->groups[i].levels[l].value);
            if (!seen) wl_strs_add(a, &values, r->groups[i].levels[l].value);
        }
    struct wl_text list = WL_TEXT(a);
    for (size_t i = 0; i < values.n; i++) wl_text_addf(&list, "%s%s", i ? ", " : "; it has ", values.v[i]);
    return wl_fail(e, WL_EINVAL, "%s has no value %s with a law%s", column, base, list.n ? list.s : "");
}

int wl_factor_compare(const struct wl_observations *obs, const struct wl_factor_options *options,
                      struct wl_factor_result *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_obs_column column;
    struct wl_law_partition_cells parts;
    bool base_found = !options->base;
    *out = (struct wl_factor_result) { .factor = options->factor,
                                       .work = obs->work,
                                       .response = options->law.response,
                                       .margin = options->margin,
                                       .ratio_margin = options->ratio_margin };
    int rc = check_options(options, e);
    if (rc == 0) rc = wl_obs_find(obs, options->factor, &column, e);
    const struct wl_law_grouping rule = { .by = options->law.by, .excluded_column = rc ? NULL : column.name };
    if (rc == 0) rc = wl_law_partition(obs, &rule, &parts, a, e);
    if (rc) return rc;
    out->groups = wl_new_array(a, struct wl_factor_group, parts.n);
    out->n = parts.n;
    for (size_t i = 0; i < parts.n; i++) {
        struct wl_factor_group *g = &out->groups[i];
        g->key = parts.v[i].key;
        g->n_key = parts.v[i].n_key;
        g->title = wl_law_partition_title(&parts.v[i], a);
        g->rows_name = obs->work ? obs->work->name : "epochs";
        g->aicc_common = g->aicc_separate = g->runs_needed = NAN;
        wl_factor_collect_levels(g, &parts.v[i], obs, &column, options, a);
        g->highest = highest_level(g);
        bool has_base = choose_base(g, options);
        base_found |= has_base;
        if (g->compared < 2)
            g->refusal = refusal(g, column.name, a);
        else if (g->work.refusal)
            g->refusal = g->work.refusal;
        else if (!has_base)
            g->refusal = wl_strf(a, "nothing to compare: %s %s has no law here", column.name, options->base);
        else
            compare_group(g, options, a);
        wl_factor_fill_cells(g, options->ratio_margin, a);
        note_levels(g, a);
    }
    scan_groups(out, a);
    return base_found ? 0 : no_such_base(out, column.name, options->base, a, e);
}

/* Caps and clocks: what each level costs in speed and gains in energy, and whether it changes the law. */
#include "report/group_figure.h"
#include "report/groups.h"
#include "report/sections/law_tables.h"
#include "report/sections/runs.h"
#include "report/sections/sections.h"
#include "settings/settings.h"

#include <math.h>

/* Does the column have two values among the finished runs? No value is one: uncapped. */
static bool varies(const struct wl_report_data *g, const char *column)
{
    const char *first = NULL;
    bool any = false;
    for (size_t i = 0; i < g->n_groups; i++) {
        const struct wl_law_group *law = g->groups[i].law;
        for (size_t k = 0; k < law->n_key; k++) {
            if (!wl_str_eq(law->key[k].column, column)) continue;
            if (any && !wl_str_eq(first, law->key[k].value)) return true;
            first = law->key[k].value;
            any = true;
        }
    }
    return false;
}

static char *title_of(const struct wl_factor_group *group, struct wl_arena *a)
{
    return wl_law_key_words(group->key, group->n_key, a);
}

static const char *workload_of(const struct wl_factor_group *group)
{
    for (size_t i = 0; i < group->n_key; i++) {
        if (wl_str_eq(group->key[i].column, "workload")) return group->key[i].value;
    }
    return "";
}

/* All groups where they are few, else the last of each workload, which of several other caps has the highest. */
static bool is_drawn(const struct wl_factor_result *r, size_t i)
{
    enum { FEW = 6 };
    return r->n <= FEW || i + 1 == r->n || !wl_str_eq(workload_of(&r->groups[i]), workload_of(&r->groups[i + 1]));
}

/* ---- trade-off: speed and energy over those of the highest level ---- */

/* The worker counts at which every level has runs: [n], ascending. */
static size_t common_counts(const struct wl_factor_group *group, double *counts)
{
    const struct wl_law_group *base = &group->levels[group->highest].law;
    size_t n = 0;
    for (size_t i = 0; i < base->n_configs; i++) {
        bool everywhere = true;
        for (size_t l = 0; l < group->n_levels && everywhere; l++) {
            const struct wl_law_group *law = &group->levels[l].law;
            bool there = false;
            for (size_t k = 0; k < law->n_configs; k++) there |= law->configs[k].workers == base->configs[i].workers;
            everywhere = there;
        }
        if (everywhere) counts[n++] = base->configs[i].workers;
    }
    return n;
}

/* Levels are side by side in their order, at 0, 1, 2 ... */
static struct wl_figure_axis level_axis(const struct wl_factor_group *group, const struct wl_setting *factor,
                                        struct wl_arena *a)
{
    struct wl_figure_axis axis = { .label = factor->label, .unit = factor->unit, .min = NAN, .max = NAN };
    axis.ticks = (struct wl_reals) { wl_new_array(a, double, group->n_levels), group->n_levels };
    for (size_t l = 0; l < group->n_levels; l++) {
        axis.ticks.v[l] = (double)l;
        wl_strs_add(a, &axis.names, group->levels[l].value);
    }
    return axis;
}

/* Two series of bars: speed and energy of every level over level `norm`, at one worker count. */
static void add_bars(struct wl_figure *f, const struct wl_factor_group *group, size_t norm, size_t count,
                     double workers)
{
    enum { SPEED, ENERGY, BARS };
    static const char *const names[BARS] = { "speed", "energy" };
    const struct wl_law_group *base = &group->levels[norm].law;
    size_t n = group->n_levels;
    struct wl_figure_series s[BARS];
    double *y[BARS], *lo[BARS], *hi[BARS], *x = wl_new_array(f->arena, double, n);
    for (int k = 0; k < BARS; k++) {
        y[k] = wl_new_array(f->arena, double, n);
        lo[k] = wl_new_array(f->arena, double, n);
        hi[k] = wl_new_array(f->arena, double, n);
        s[k] = (struct wl_figure_series) { .label = wl_strf(f->arena, "%s, %.15g worker%s", names[k], workers,
                                                            workers == 1 ? "" : "s"),
                                           .style = WL_STYLE_BARS,
                                           .n = n,
                                           .x = x,
                                           .y = y[k],
                                           .lo = lo[k],
                                           .hi = hi[k],
                                           .option = { count + 1, norm + 1 } };
        const int rank = wl_figure_rank(f, &s[k]);
        s[k].colour = k + 2 * (rank > 0 ? rank : 0);
        if (norm != group->highest)
            s[k].label = wl_strf(f->arena, "%s, over %s", s[k].label, group->levels[norm].value);
    }
    for (size_t l = 0; l < n; l++) {
        struct wl_law_tradeoff t = wl_law_tradeoff(&group->levels[l].law, base, workers, f->arena);
        const struct wl_law_ratio speed = { -t.time.ln, t.time.se, t.time.df };
        const struct wl_estimate ratio[BARS] = { wl_law_ratio_estimate(&speed), wl_law_ratio_estimate(&t.energy) };
        x[l] = (double)l;
        for (int k = 0; k < BARS; k++) {
            y[k][l] = ratio[k].value;
            lo[k][l] = l == norm ? NAN : ratio[k].lo;
            hi[k][l] = l == norm ? NAN : ratio[k].hi;
        }
    }
    for (int k = 0; k < BARS; k++) wl_figure_add(f, &s[k]);
}

/* At every common worker count, over every level: what files show first. */
static void add_all_bars(const struct wl_report_data *g, const struct wl_factor_group *group, struct wl_figure *f)
{
    enum { MAX_NORMS = 8 };
    double *counts = wl_new_array(g->arena, double, group->levels[group->highest].law.n_configs);
    const size_t n = common_counts(group, counts), norms = group->n_levels <= MAX_NORMS ? group->n_levels : 0;
    wl_report_choose_counts(g, counts, n, f);
    for (size_t l = 0; l < group->n_levels; l++)
        wl_figure_option(f, 1, "1 is", group->levels[l].value, l == group->highest);
    for (size_t i = 0; i < n; i++) add_bars(f, group, group->highest, i, counts[i]);
    for (size_t l = 0; l < norms; l++)
        for (size_t i = 0; i < n && l != group->highest; i++) add_bars(f, group, l, i, counts[i]);
}

/* " At 390 W the power cap never acted.", for each level of which that is so. */
static const char *idle_levels(const struct wl_factor_group *group, const struct wl_setting *factor, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    for (size_t l = 0; l < group->n_levels; l++)
        if (group->levels[l].achieved.caps_acted_pct <= 0)
            wl_text_addf(&t, " At %s %s the %s never acted.", group->levels[l].value, factor->unit, factor->label);
    return t.n ? t.s : "";
}

static struct wl_figure *tradeoff_figure(const struct wl_report_data *g, const struct wl_factor_group *group,
                                         const struct wl_setting *factor)
{
    char *title = title_of(group, g->arena);
    struct wl_figure *f =
        wl_figure_new(g->arena, wl_strf(g->arena, "tradeoff-%s-%s", factor->section, wl_slug(title, g->arena)),
                      wl_strf(g->arena, "Speed and energy by %s, %s", factor->label, title));
    f->workload = *workload_of(group) ? workload_of(group) : NULL;
    f->factor = factor->label;
    f->x = level_axis(group, factor, g->arena);
    f->y = (struct wl_figure_axis) { .label = wl_strf(g->arena, "ratio to %s", group->levels[group->highest].value),
                                     .zero = true,
                                     .min = NAN,
                                     .max = NAN };
    f->metrics = "tradeoff";
    f->estimated = group->estimated;
    f->simulated = group->simulated;
    f->caption =
        wl_strf(g->arena,
                "Speed: work per time; energy: that of the same work. Geometric means over runs, with 95 %% intervals "
                "where there are repeats, over the level on the axis.%s",
                idle_levels(group, factor, g->arena));
    add_all_bars(g, group, f);
    if (!wl_figure_empty(f)) wl_figure_finish(f);
    return f;
}

/* ---- tables: the law at each level (Frey et al. 2022, Tables 3 to 6), and the verdict ---- */

static const struct wl_report_column level_columns[] = {
    { .id = "group", .label = "group", .text = true },
    { .id = "factor", .label = "factor", .text = true },
    { .id = "level", .label = "level", .text = true },
    { .id = "runs", .label = "runs" },
};
static const struct wl_report_column law_columns[] = {
    { .id = "power_capped_pct", .label = "power-capped", .unit = "%", .metric = "run-capped", .digits = 3 },
    { .id = "caps_acted_pct", .label = "caps that acted", .unit = "%", .metric = "caps-acted", .digits = 3 },
    WL_REPORT_LAW_COLUMNS,
};

static struct wl_report_columns all_level_columns(struct wl_arena *a)
{
    struct wl_report_columns v = { 0 };
    wl_report_columns_add(&v, level_columns, WL_COUNT(level_columns), a);
    wl_report_clock_columns(&v, "", a);
    wl_report_columns_add(&v, law_columns, WL_COUNT(law_columns), a);
    return v;
}

static void level_rows(const struct wl_report_data *g, const struct wl_factor_group *group,
                       const struct wl_setting *factor, struct wl_report_table *t)
{
    for (size_t l = 0; l < group->n_levels; l++) {
        const struct wl_factor_level *level = &group->levels[l];
        const struct wl_law_estimate *law = level->law.law;
        if (!law) continue;
        wl_report_table_text(t, title_of(group, g->arena));
        wl_report_table_text(t, factor->label);
        wl_report_table_text(t, level->value);
        wl_report_table_real(t, (double)level->law.n_runs);
        wl_report_clock_cells(t, level->achieved.clock);
        wl_report_table_real(t, level->achieved.power_capped_pct);
        wl_report_table_real(t, level->achieved.caps_acted_pct);
        wl_report_law_cells(t, law);
    }
}

static const struct wl_report_column test_columns[] = {
    { .id = "group", .label = "group", .text = true },
    { .id = "factor", .label = "factor", .text = true },
    { .id = "levels", .label = "levels" },
    { .id = "f", .label = "F of equal exponents", .metric = "equal-slopes", .digits = 3 },
    { .id = "p", .label = "p", .metric = "equal-slopes", .digits = 2 },
    { .id = "partial_eta2", .label = "partial eta2", .metric = "equal-slopes", .digits = 2 },
    { .id = "best_model", .label = "best model", .text = true },
    { .id = "verdict", .label = "exponents", .metric = "factor-verdict", .text = true },
    { .id = "why", .label = "because", .text = true },
};

static void test_row(const struct wl_report_data *g, const struct wl_factor_group *group,
                     const struct wl_setting *factor, struct wl_report_table *t)
{
    const struct wl_factor_tests *tests = group->tests;
    wl_report_table_text(t, title_of(group, g->arena));
    wl_report_table_text(t, factor->label);
    wl_report_table_real(t, (double)group->compared);
    wl_report_table_real(t, tests ? tests->f : NAN);
    wl_report_table_real(t, tests ? tests->p : NAN);
    wl_report_table_real(t, tests ? tests->partial_eta2 : NAN);
    wl_report_table_text(t, group->best_model);
    wl_report_table_text(t, tests ? wl_factor_verdict_name(group->verdict) : NULL);
    wl_report_table_text(t, group->refusal ? group->refusal : group->verdict_reason);
}

/* Of one group, as in the papers: a row for each level, exponent and fit. */
static struct wl_report_table *exponent_table(const struct wl_report_data *g, const struct wl_factor_group *group,
                                              const struct wl_setting *factor)
{
    struct wl_report_column *columns = wl_new_array(g->arena, struct wl_report_column, 4);
    columns[0] =
        (struct wl_report_column) { .id = "level", .label = factor->label, .unit = factor->unit, .text = true };
    columns[1] = (struct wl_report_column) { .id = "beta", .label = "exponent", .metric = "beta", .digits = 3 };
    columns[2] = (struct wl_report_column) { .id = "beta_se", .label = "s.e.", .metric = "beta", .digits = 2 };
    columns[3] = (struct wl_report_column) { .id = "r2", .label = "R2", .metric = "r2", .digits = 3 };
    const char *title = title_of(group, g->arena);
    struct wl_report_table *t =
        wl_report_table_new(g->arena,
                            wl_strf(g->arena, "exponents-by-%s-%s", factor->section, wl_slug(title, g->arena)),
                            wl_strf(g->arena, "Exponent by %s, %s", factor->label, title), columns, 4);
    t->simulated = group->simulated;
    t->workload = *workload_of(group) ? workload_of(group) : NULL;
    t->factor = factor->label;
    for (size_t l = 0; l < group->n_levels; l++) {
        const struct wl_law_estimate *law = group->levels[l].law.law;
        if (!law) continue;
        wl_report_table_text(t, group->levels[l].value);
        wl_report_table_real(t, law->beta);
        wl_report_table_real(t, law->beta_se);
        wl_report_table_real(t, law->r2);
    }
    return t;
}

/* ---- slowdown at each worker count ---- */

static const struct wl_report_column slowdown_columns[] = {
    { .id = "group", .label = "group", .text = true },
    { .id = "factor", .label = "factor", .text = true },
    { .id = "level", .label = "level", .text = true },
    { .id = "base", .label = "over that at", .text = true },
    { .id = "workers", .label = "workers" },
    { .id = "ratio", .label = "time, ratio", .metric = "slowdown", .digits = 4 },
    { .id = "lo", .label = "from", .metric = "slowdown", .digits = 4 },
    { .id = "hi", .label = "to", .metric = "slowdown", .digits = 4 },
};

static void slowdown_rows(const struct wl_report_data *g, const struct wl_factor_group *group,
                          const struct wl_setting *factor, struct wl_report_table *t)
{
    for (size_t i = 0; i < group->n_slowdowns; i++) {
        const struct wl_factor_slowdown *s = &group->slowdowns[i];
        wl_report_table_text(t, title_of(group, g->arena));
        wl_report_table_text(t, factor->label);
        wl_report_table_text(t, group->levels[s->level].value);
        wl_report_table_text(t, group->levels[group->base].value);
        wl_report_table_real(t, s->workers);
        wl_report_table_real(t, s->ratio.value);
        wl_report_table_real(t, s->ratio.lo);
        wl_report_table_real(t, s->ratio.hi);
    }
}

int wl_report_add_factors(const struct wl_report_data *g, struct wl_document *d, struct wl_err *e)
{
    const struct wl_report_columns columns = all_level_columns(g->arena);
    struct wl_report_table *levels = wl_report_table_new(g->arena, "factor-levels", "The law at each level", columns.v,
                                                         columns.n),
                           *tests = wl_report_table_new(g->arena, "factors", "Does the factor change the exponent?",
                                                        test_columns, WL_COUNT(test_columns)),
                           *slowdowns =
                               wl_report_table_new(g->arena, "factor-slowdowns", "Slowdown at each worker count",
                                                   slowdown_columns, WL_COUNT(slowdown_columns));
    struct wl_section *s = NULL;
    slowdowns->caption =
        "A row without workers holds at every worker count: its levels are EQUIVALENT. The intervals of "
        "a level hold together, with 95 % confidence.";
    for (const struct wl_setting *factor = wl_settings_table; factor->name; factor++) {
        struct wl_factor_options options = { .factor = factor->name,
                                             .margin = 0.05,
                                             .ratio_margin = 0.05,
                                             .law = { .drop_epochs = g->options.drop_epochs } };
        struct wl_factor_result r;
        if (!factor->section || !varies(g, factor->name)) continue;
        int rc = wl_factor_compare(&g->observations, &options, &r, g->arena, e);
        if (rc) return rc;
        if (!s) s = wl_document_section(d, "factors", "Caps and clocks");
        for (size_t k = 0; k < r.n; k++) {
            struct wl_figure *f = is_drawn(&r, k) ? tradeoff_figure(g, &r.groups[k], factor) : NULL;
            if (f && !wl_figure_empty(f)) wl_section_figure(d, s, f);
            struct wl_report_table *exponents = is_drawn(&r, k) ? exponent_table(g, &r.groups[k], factor) : NULL;
            if (exponents && exponents->n_rows) wl_section_table(d, s, exponents);
            levels->simulated = tests->simulated = slowdowns->simulated = levels->simulated || r.groups[k].simulated;
            level_rows(g, &r.groups[k], factor, levels);
            test_row(g, &r.groups[k], factor, tests);
            slowdown_rows(g, &r.groups[k], factor, slowdowns);
        }
    }
    if (levels->n_rows) wl_section_table(d, s, levels);
    if (tests->n_rows) wl_section_table(d, s, tests);
    if (slowdowns->n_rows) wl_section_table(d, s, slowdowns);
    return 0;
}

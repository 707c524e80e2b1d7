/* Time and speed-up against workers: runs, laws with their bands, ideal lines, and the tables of both. */
#include "report/gather.h"

#include <math.h>
#include <stdint.h>

enum { CURVE_POINTS = 40 };

/* Every worker count of the groups of a facet. */
static struct wl_reals worker_ticks(const struct wl_gathered *g, size_t facet)
{
    size_t n = 0;
    for (size_t i = 0; i < g->law.n; i++) n += g->groups[i].facet == facet ? g->law.groups[i].n_configs : 0;
    double *workers = wl_new_array(g->arena, double, n);
    n = 0;
    for (size_t i = 0; i < g->law.n; i++) {
        const struct wl_law_group *law = g->groups[i].law;
        for (size_t k = 0; g->groups[i].facet == facet && k < law->n_configs; k++)
            workers[n++] = law->configs[k].workers;
    }
    return wl_count_ticks(workers, n, true, 12, g->arena);
}

struct wl_axis wl_worker_axis(const struct wl_gathered *g, size_t facet)
{
    return (
        struct wl_axis) { .label = "workers", .log = true, .min = NAN, .max = NAN, .ticks = worker_ticks(g, facet) };
}

struct wl_figure *wl_group_figure(const struct wl_gathered *g, size_t facet, const char *id, const char *title)
{
    struct wl_figure *f = wl_figure_new(g->arena, wl_facet_id(g, facet, id), wl_facet_title(g, facet, title));
    f->x = wl_worker_axis(g, facet);
    for (size_t i = 0; i < g->law.n; i++) {
        if (g->groups[i].facet == facet) f->simulated = f->simulated || g->groups[i].law->simulated;
    }
    return f;
}

/* ---- time ---- */

static char *run_note(const struct wl_law_run *run, struct wl_arena *a)
{
    return wl_strf(a, "run %s, %zu epoch%s", run->label ? run->label : "-", run->epochs, run->epochs == 1 ? "" : "s");
}

static void add_run_points(struct wl_figure *f, const struct wl_report_group *group)
{
    const struct wl_law_group *law = group->law;
    double *x = wl_new_array(f->arena, double, law->n_runs), *y = wl_new_array(f->arena, double, law->n_runs);
    const char **notes = wl_new_array(f->arena, const char *, law->n_runs);
    for (size_t i = 0; i < law->n_runs; i++) {
        x[i] = law->runs[i].workers;
        y[i] = exp(law->runs[i].ln_time_s);
        notes[i] = run_note(&law->runs[i], f->arena);
    }
    wl_figure_add(f, &(struct wl_series) { .label = group->label,
                                           .style = WL_STYLE_POINTS,
                                           .n = law->n_runs,
                                           .x = x,
                                           .y = y,
                                           .notes = notes,
                                           .colour = group->colour,
                                           .marker = group->marker });
}

/* The law and, where it has an error estimate, its band. */
static void add_law(struct wl_figure *f, const struct wl_report_group *group)
{
    const struct wl_law_group *law = group->law;
    if (!law->law) return;
    struct wl_law_point *p = wl_law_curve(law, CURVE_POINTS, f->arena);
    double *x = wl_new_array(f->arena, double, CURVE_POINTS), *y = wl_new_array(f->arena, double, CURVE_POINTS),
           *lo = wl_new_array(f->arena, double, CURVE_POINTS), *hi = wl_new_array(f->arena, double, CURVE_POINTS);
    for (size_t i = 0; i < CURVE_POINTS; i++) {
        x[i] = p[i].workers;
        y[i] = p[i].value;
        lo[i] = p[i].curve_lo;
        hi[i] = p[i].curve_hi;
    }
    wl_figure_add(f, &(struct wl_series) {
                         .style = WL_STYLE_LINE, .n = CURVE_POINTS, .x = x, .y = y, .colour = group->colour });
    wl_figure_add(f,
                  &(struct wl_series) {
                      .style = WL_STYLE_BAND, .n = CURVE_POINTS, .x = x, .lo = lo, .hi = hi, .colour = group->colour });
}

/* From the smallest worker count on: t(N0) N0 / N for a fixed amount of work, t(N0) for work in proportion to the
 * workers. */
static void add_ideal_time(struct wl_figure *f, const struct wl_report_group *group, bool *labelled)
{
    const struct wl_law_group *law = group->law;
    if (law->n_configs < 2) return;
    const struct wl_law_config *first = &law->configs[0], *last = &law->configs[law->n_configs - 1];
    double t0 = isfinite(first->fitted) ? first->fitted : first->time_s;
    double shrink = law->scaling == WL_SCALING_WEAK ? 1 : first->workers / last->workers;
    double *x = wl_new_array(f->arena, double, 2), *y = wl_new_array(f->arena, double, 2);
    x[0] = first->workers;
    x[1] = last->workers;
    y[0] = t0;
    y[1] = t0 * shrink;
    wl_figure_add(f, &(struct wl_series) { .label = *labelled ? NULL : "ideal",
                                           .style = WL_STYLE_LINE,
                                           .n = 2,
                                           .x = x,
                                           .y = y,
                                           .colour = WL_COLOUR_NEUTRAL,
                                           .dashed = true });
    *labelled = true;
}

/* The group of a facet whose ideal line is drawn where one for each would hide the runs: the slowest. */
static size_t slowest(const struct wl_gathered *g, size_t facet)
{
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < g->law.n; i++) {
        const struct wl_law_group *law = g->groups[i].law;
        if (g->groups[i].facet != facet || law->n_configs < 2) continue;
        if (found == SIZE_MAX || law->configs[0].time_s > g->law.groups[found].configs[0].time_s) found = i;
    }
    return found;
}

static void add_ideal_times(const struct wl_gathered *g, size_t facet, struct wl_figure *f)
{
    enum { LINE_FOR_EACH = 2 };
    size_t groups = 0, only = slowest(g, facet);
    bool labelled = false;
    for (size_t i = 0; i < g->law.n; i++) groups += g->groups[i].facet == facet;
    for (size_t i = 0; i < g->law.n; i++) {
        if (g->groups[i].facet == facet && (groups <= LINE_FOR_EACH || i == only))
            add_ideal_time(f, &g->groups[i], &labelled);
    }
    if (groups > LINE_FOR_EACH)
        f->source = "The ideal line is that of the slowest group; those of the others are parallel to it.";
}

static struct wl_figure *time_figure(const struct wl_gathered *g, size_t facet)
{
    const char *span = wl_gathered_span(g);
    struct wl_figure *f =
        wl_group_figure(g, facet, "epoch-time", wl_strf(g->arena, "Time of one %s against workers", span));
    bool any_law = false;
    f->y = (struct wl_axis) {
        .label = wl_strf(g->arena, "%s time", span), .unit = "s", .log = true, .min = NAN, .max = NAN
    };
    f->metrics = "epoch-time beta band ideal";
    for (size_t i = 0; i < g->law.n; i++) {
        if (g->groups[i].facet != facet) continue;
        add_run_points(f, &g->groups[i]);
        add_law(f, &g->groups[i]);
        any_law = any_law || g->groups[i].law->law != NULL;
    }
    add_ideal_times(g, facet, f);
    f->caption = any_law
                     ? "Points: runs. Lines: fitted power laws; shaded: 95 % bands of the lines, where the data give "
                       "an error estimate. Dashed: ideal scaling from the smallest worker count."
                     : "Points: runs. No law was fitted: the notes on the laws say why.";
    wl_figure_finish(f);
    return f;
}

/* ---- speed-up ---- */

static void add_speedup(struct wl_figure *f, const struct wl_report_group *group)
{
    const struct wl_law_group *law = group->law;
    size_t n = law->n_configs;
    double *x = wl_new_array(f->arena, double, n), *y = wl_new_array(f->arena, double, n),
           *lo = wl_new_array(f->arena, double, n), *hi = wl_new_array(f->arena, double, n);
    for (size_t i = 0; i < n; i++) {
        const struct wl_law_config *c = &law->configs[i];
        x[i] = c->workers;
        y[i] = c->speedup.value;
        lo[i] = c->speedup.lo;
        hi[i] = c->speedup.hi;
    }
    wl_figure_add(f, &(struct wl_series) { .label = group->label,
                                           .style = WL_STYLE_POINTS,
                                           .n = n,
                                           .x = x,
                                           .y = y,
                                           .lo = lo,
                                           .hi = hi,
                                           .colour = group->colour,
                                           .marker = group->marker });
    wl_figure_add(f, &(struct wl_series) { .style = WL_STYLE_LINE, .n = n, .x = x, .y = y, .colour = group->colour });
}

/* One line from (N0, 1) for each different N0. */
static void add_ideal_speedup(const struct wl_gathered *g, size_t facet, struct wl_figure *f)
{
    double drawn = NAN;
    for (size_t i = 0; i < g->law.n; i++) {
        const struct wl_law_group *law = g->groups[i].law;
        if (g->groups[i].facet != facet || law->n_configs < 2 || law->configs[0].workers == drawn) continue;
        double *x = wl_new_array(f->arena, double, 2), *y = wl_new_array(f->arena, double, 2);
        x[0] = law->configs[0].workers;
        x[1] = law->configs[law->n_configs - 1].workers;
        y[0] = 1;
        y[1] = x[1] / x[0];
        wl_figure_add(f, &(struct wl_series) { .label = isnan(drawn) ? "ideal" : NULL,
                                               .style = WL_STYLE_LINE,
                                               .n = 2,
                                               .x = x,
                                               .y = y,
                                               .colour = WL_COLOUR_NEUTRAL,
                                               .dashed = true });
        drawn = x[0];
    }
}

/* The ideal speed-ups at the ticks of the workers. */
static struct wl_reals speedup_ticks(const struct wl_figure *f)
{
    struct wl_reals ticks = { wl_new_array(f->arena, double, f->x.ticks.n), f->x.ticks.n };
    bool whole = true;
    for (size_t i = 0; i < ticks.n; i++) {
        ticks.v[i] = f->x.ticks.v[i] / f->x.ticks.v[0];
        whole = whole && ticks.v[i] == floor(ticks.v[i]);
    }
    return whole && ticks.n > 2 ? ticks : (struct wl_reals) { NULL, 0 };
}

static struct wl_figure *speedup_figure(const struct wl_gathered *g, size_t facet)
{
    struct wl_figure *f = wl_group_figure(g, facet, "speedup", "Speed-up over the smallest worker count");
    f->y = (struct wl_axis) { .label = "speed-up", .log = true, .min = NAN, .max = NAN, .ticks = speedup_ticks(f) };
    f->metrics = "speedup ratio95 efficiency";
    f->caption =
        "Points: geometric means over the runs of a configuration, with 95 % intervals where there are repeats. "
        "Dashed: ideal.";
    for (size_t i = 0; i < g->law.n; i++) {
        if (g->groups[i].facet == facet) add_speedup(f, &g->groups[i]);
    }
    add_ideal_speedup(g, facet, f);
    wl_figure_finish(f);
    return f;
}

/* ---- tables ---- */

static const struct wl_column config_columns[] = {
    { .id = "group", .label = "group", .text = true },
    { .id = "workers", .label = "workers" },
    { .id = "runs", .label = "runs" },
    { .id = "time_s", .label = "time", .unit = "s", .metric = "epoch-time", .digits = 4 },
    { .id = "time_sd_pct", .label = "spread", .unit = "%", .metric = "sd", .digits = 2 },
    { .id = "energy_j", .label = "energy", .unit = "J", .metric = "epoch-energy", .digits = 4 },
    { .id = "mean_power_w", .label = "mean power", .unit = "W", .metric = "mean-power", .digits = 3 },
    { .id = "speedup", .label = "speed-up", .metric = "speedup", .digits = 3 },
    { .id = "speedup_lo", .label = "from", .metric = "ratio95", .digits = 3 },
    { .id = "speedup_hi", .label = "to", .metric = "ratio95", .digits = 3 },
    { .id = "efficiency", .label = "efficiency", .metric = "efficiency", .digits = 3 },
    { .id = "energy_ratio", .label = "energy ratio", .metric = "energy-ratio", .digits = 3 },
};

/* Standard deviation of ln(time) over the runs at one worker count, as a percentage of the time. */
static double spread_pct(const struct wl_law_group *law, double workers, struct wl_arena *a)
{
    double *y = wl_new_array(a, double, law->n_runs);
    size_t n = 0;
    for (size_t i = 0; i < law->n_runs; i++) {
        if (law->runs[i].workers == workers && isfinite(law->runs[i].ln_time_s)) y[n++] = law->runs[i].ln_time_s;
    }
    return 100 * expm1(wl_sd(y, n));
}

static struct wl_table_data *config_table(const struct wl_gathered *g)
{
    struct wl_table_data *t =
        wl_table_data_new(g->arena, "configurations", "Configurations", config_columns, WL_COUNT(config_columns));
    t->caption = wl_strf(g->arena,
                         "Time and energy are those of one %s: geometric means over runs. Ratios are to the "
                         "smallest worker count of the group.",
                         wl_gathered_span(g));
    for (size_t i = 0; i < g->law.n; i++) {
        const struct wl_law_group *law = g->groups[i].law;
        t->estimated = t->estimated || law->estimated;
        t->simulated = t->simulated || law->simulated;
        for (size_t k = 0; k < law->n_configs; k++) {
            const struct wl_law_config *c = &law->configs[k];
            wl_table_data_text(t, g->groups[i].name);
            wl_table_data_real(t, c->workers);
            wl_table_data_real(t, (double)c->runs);
            wl_table_data_real(t, c->time_s);
            wl_table_data_real(t, spread_pct(law, c->workers, g->arena));
            wl_table_data_real(t, c->energy_j);
            wl_table_data_real(t, c->energy_j / c->time_s);
            wl_table_data_real(t, c->speedup.value);
            wl_table_data_real(t, c->speedup.lo);
            wl_table_data_real(t, c->speedup.hi);
            wl_table_data_real(t, c->efficiency);
            wl_table_data_real(t, c->energy_ratio.value);
        }
    }
    return t;
}

static const struct wl_column law_columns[] = {
    { .id = "group", .label = "group", .text = true },
    { .id = "scaling", .label = "scaling", .text = true },
    { .id = "runs", .label = "runs" },
    { .id = "worker_counts", .label = "worker counts" },
    { .id = "beta", .label = "exponent", .metric = "beta", .digits = 3 },
    { .id = "beta_se", .label = "s.e.", .metric = "beta", .digits = 2 },
    { .id = "beta_lo", .label = "from", .metric = "ci95", .digits = 3 },
    { .id = "beta_hi", .label = "to", .metric = "ci95", .digits = 3 },
    { .id = "alpha", .label = "time at 1", .unit = "s", .metric = "alpha", .digits = 4 },
    { .id = "r2", .label = "R2", .metric = "r2", .digits = 4 },
    { .id = "basis", .label = "interval over", .text = true },
};

static const char *basis_of(const struct wl_law_estimate *e)
{
    if (wl_streq(e->name, "run_means")) return "runs";
    return wl_streq(e->name, "config_means") ? "configuration means" : e->name;
}

static struct wl_table_data *law_table(const struct wl_gathered *g)
{
    struct wl_table_data *t = wl_table_data_new(g->arena, "laws", "Fitted laws: time = alpha workers^-exponent",
                                                law_columns, WL_COUNT(law_columns));
    t->caption = "s.e.: standard error of the exponent; from, to: its 95 % interval.";
    for (size_t i = 0; i < g->law.n; i++) {
        const struct wl_law_group *law = g->groups[i].law;
        static const struct wl_law_estimate none = {
            .beta = NAN, .beta_se = NAN, .beta_lo = NAN, .beta_hi = NAN, .alpha = NAN, .r2 = NAN
        };
        const struct wl_law_estimate *best = law->law ? law->law : &none;
        t->simulated = t->simulated || law->simulated;
        wl_table_data_text(t, g->groups[i].name);
        wl_table_data_text(t, wl_law_scaling_name(law->scaling));
        wl_table_data_real(t, (double)law->n_runs);
        wl_table_data_real(t, (double)law->n_configs);
        wl_table_data_real(t, best->beta);
        wl_table_data_real(t, best->beta_se);
        wl_table_data_real(t, best->beta_lo);
        wl_table_data_real(t, best->beta_hi);
        wl_table_data_real(t, best->alpha);
        wl_table_data_real(t, best->r2);
        wl_table_data_text(t, isnan(best->beta_se) ? NULL : basis_of(best));
    }
    return t;
}

/* ---- notes on the laws: each once, with the groups that it is about ---- */

static const struct wl_column note_columns[] = {
    { .id = "groups", .label = "group", .text = true },
    { .id = "note", .label = "note", .text = true },
};

static bool has_note(const struct wl_law_group *law, const char *note)
{
    if (wl_streq(law->refused, note)) return true;
    for (size_t i = 0; i < law->notes.n; i++) {
        if (wl_streq(law->notes.v[i], note)) return true;
    }
    return false;
}

/* Adds a row for the note of group i, unless a group before it had the same. */
static void add_note(const struct wl_gathered *g, size_t i, const char *note, struct wl_table_data *t)
{
    struct wl_text names = WL_TEXT(g->arena);
    size_t n = 0;
    for (size_t k = 0; k < g->law.n; k++) {
        if (!has_note(g->groups[k].law, note)) continue;
        if (k < i) return;
        wl_text_addf(&names, "%s%s", n++ ? "; " : "", g->groups[k].name);
    }
    wl_table_data_text(t, n > 1 && n == g->law.n ? "all groups" : names.s);
    wl_table_data_text(t, note);
}

static struct wl_table_data *note_table(const struct wl_gathered *g)
{
    struct wl_table_data *t =
        wl_table_data_new(g->arena, "law-notes", "Notes on the laws", note_columns, WL_COUNT(note_columns));
    for (size_t i = 0; i < g->law.n; i++) {
        const struct wl_law_group *law = g->groups[i].law;
        if (law->refused) add_note(g, i, law->refused, t);
        for (size_t k = 0; k < law->notes.n; k++) add_note(g, i, law->notes.v[k], t);
    }
    return t;
}

void wl_add_scaling(const struct wl_gathered *g, struct wl_document *d)
{
    struct wl_section *s = wl_document_section(d, "scaling", "Time against workers");
    for (size_t k = 0; k < g->n_facets; k++) {
        struct wl_figure *time = time_figure(g, k), *speedup = speedup_figure(g, k);
        if (!wl_figure_empty(time)) wl_section_figure(d, s, time);
        if (!wl_figure_empty(speedup)) wl_section_figure(d, s, speedup);
    }
    wl_section_table(d, s, config_table(g));
    wl_section_table(d, s, law_table(g));
    struct wl_table_data *notes = note_table(g);
    if (notes->n_rows) wl_section_table(d, s, notes);
}

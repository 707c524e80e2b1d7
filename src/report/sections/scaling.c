/* Time and speed-up against workers: runs, laws with their bands, ideal lines. */
#include "report/group_figure.h"
#include "report/sections/sections.h"

#include <math.h>
#include <stdint.h>

enum { CURVE_POINTS = 20 };

/* ---- time ---- */

/* "run 3, 2 epochs"; where no run recorded epochs "run 3". */
static char *run_note(const struct wl_report_data *g, const struct wl_law_run *run)
{
    const struct wl_run_row *row = wl_report_data_run_by_label(g, run->label);
    const char *name = row ? wl_report_data_run_name(g, row->id) : "-";
    if (!wl_str_eq(g->span, "epoch")) return wl_strf(g->arena, "run %s", name);
    return wl_strf(g->arena, "run %s, %zu epoch%s", name, run->epochs, run->epochs == 1 ? "" : "s");
}

static void add_run_points(const struct wl_report_data *g, const struct wl_report_group *group, struct wl_figure *f)
{
    const struct wl_law_group *law = group->law;
    double *x = wl_new_array(f->arena, double, law->n_runs), *y = wl_new_array(f->arena, double, law->n_runs);
    const char **notes = wl_new_array(f->arena, const char *, law->n_runs);
    for (size_t i = 0; i < law->n_runs; i++) {
        x[i] = law->runs[i].workers;
        y[i] = exp(law->runs[i].ln_time_s);
        notes[i] = run_note(g, &law->runs[i]);
    }
    wl_figure_add(f, &(struct wl_figure_series) { .label = group->label,
                                                  .style = WL_STYLE_POINTS,
                                                  .n = law->n_runs,
                                                  .x = x,
                                                  .y = y,
                                                  .notes = notes,
                                                  .colour = group->colour,
                                                  .marker = group->marker });
}

/* The law and, where it has an error estimate, its band. */
static void add_power_law(struct wl_figure *f, const struct wl_report_group *group)
{
    const struct wl_law_group *law = group->law;
    struct wl_law_point *p = wl_law_curve(law, CURVE_POINTS, f->arena);
    double *x = wl_new_array(f->arena, double, CURVE_POINTS), *y = wl_new_array(f->arena, double, CURVE_POINTS),
           *lo = wl_new_array(f->arena, double, CURVE_POINTS), *hi = wl_new_array(f->arena, double, CURVE_POINTS);
    for (size_t i = 0; i < CURVE_POINTS; i++) {
        x[i] = p[i].workers;
        y[i] = p[i].value;
        lo[i] = p[i].curve_lo;
        hi[i] = p[i].curve_hi;
    }
    wl_figure_add(
        f,
        &(struct wl_figure_series) {
            .style = WL_STYLE_LINE, .n = CURVE_POINTS, .x = x, .y = y, .colour = group->colour, .dash = group->dash });
    wl_figure_add(f,
                  &(struct wl_figure_series) {
                      .style = WL_STYLE_BAND, .n = CURVE_POINTS, .x = x, .lo = lo, .hi = hi, .colour = group->colour });
}

/* The median of the hierarchical model, which weighs the curves by the evidence, and the 95 % band of a new
 * configuration. A group whose model is refused has no line. */
static void add_curve(struct wl_figure *f, const struct wl_report_group *group)
{
    const struct wl_law_fan *fan = &group->model->fan;
    if (!fan->n) return;
    wl_figure_add(f, &(struct wl_figure_series) { .style = WL_STYLE_LINE,
                                                  .n = fan->n,
                                                  .x = fan->workers,
                                                  .y = fan->value,
                                                  .colour = group->colour,
                                                  .dash = group->dash });
    wl_figure_add(f, &(struct wl_figure_series) { .style = WL_STYLE_BAND,
                                                  .n = fan->n,
                                                  .x = fan->workers,
                                                  .lo = fan->config_lo,
                                                  .hi = fan->config_hi,
                                                  .colour = group->colour });
}

/* The power law, or, where the data reject it, the curve that the evidence chose. */
static void add_law(struct wl_figure *f, const struct wl_report_group *group)
{
    if (group->law->verdict == WL_LAW_REJECTED)
        add_curve(f, group);
    else if (group->law->law)
        add_power_law(f, group);
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
    wl_figure_add(f, &(struct wl_figure_series) { .label = *labelled ? NULL : "ideal",
                                                  .style = WL_STYLE_LINE,
                                                  .n = 2,
                                                  .x = x,
                                                  .y = y,
                                                  .colour = WL_COLOUR_NEUTRAL,
                                                  .dashed = true });
    *labelled = true;
}

/* The group of a facet whose ideal line is drawn where one for each would hide the runs: the slowest. */
static size_t slowest(const struct wl_report_data *g, size_t facet)
{
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < g->n_drawn; i++) {
        const struct wl_law_group *law = g->groups[i].law;
        if (g->groups[i].facet != facet || law->n_configs < 2) continue;
        if (found == SIZE_MAX || law->configs[0].time_s > g->groups[found].law->configs[0].time_s) found = i;
    }
    return found;
}

static void add_ideal_times(const struct wl_report_data *g, size_t facet, struct wl_figure *f)
{
    enum { LINE_FOR_EACH = 2 };
    size_t groups = 0, only = slowest(g, facet);
    bool labelled = false;
    for (size_t i = 0; i < g->n_drawn; i++) groups += g->groups[i].facet == facet;
    for (size_t i = 0; i < g->n_drawn; i++) {
        if (g->groups[i].facet == facet && (groups <= LINE_FOR_EACH || i == only))
            add_ideal_time(f, &g->groups[i], &labelled);
    }
    if (groups > LINE_FOR_EACH && labelled)
        f->source = "The ideal line is that of the slowest group; those of the others are parallel to it.";
}

/* "Not a power law: bert, vgg16", with the source that is there already. */
static char *rejected_text(const struct wl_report_data *g, size_t facet, const char *source)
{
    struct wl_text t = WL_TEXT(g->arena);
    for (size_t i = 0; i < g->n_drawn; i++) {
        const struct wl_report_group *group = &g->groups[i];
        if (group->facet == facet && group->law->verdict == WL_LAW_REJECTED)
            wl_text_addf(&t, "%s%s", t.n ? ", " : "Not a power law, so the curve of the hierarchical model is drawn: ",
                         group->label);
    }
    if (!t.n) return (char *)source;
    wl_text_addf(&t, ".%s%s", source ? " " : "", source ? source : "");
    return t.s;
}

static struct wl_figure *time_figure(const struct wl_report_data *g, size_t facet)
{
    struct wl_figure *f =
        wl_report_group_figure(g, facet, "epoch-time",
                               wl_strf(g->arena, "Time of %s against workers", wl_report_data_one_span(g)));
    bool any_law = false;
    f->y = (struct wl_figure_axis) {
        .label = wl_report_data_of_span(g, "time"), .unit = "s", .log = true, .min = NAN, .max = NAN
    };
    f->metrics = "epoch-time beta band ideal";
    for (size_t i = 0; i < g->n_drawn; i++) {
        if (g->groups[i].facet != facet) continue;
        add_run_points(g, &g->groups[i], f);
        add_law(f, &g->groups[i]);
        any_law = any_law || g->groups[i].law->law != NULL;
    }
    add_ideal_times(g, facet, f);
    f->caption = any_law
                     ? "Points: runs. Lines: fitted power laws; shaded: 95 % bands of the lines, where the data give "
                       "an error estimate. Dashed: ideal scaling from the smallest worker count."
                     : "Points: runs. No law was fitted: see the notes on the laws.";
    f->source = rejected_text(g, facet, f->source);
    wl_figure_finish(f);
    return f;
}

/* ---- speed-up ---- */

/* One line from (N0, 1) for each different N0. */
static void add_ideal_speedup(const struct wl_report_data *g, size_t facet, struct wl_figure *f)
{
    double drawn = NAN;
    for (size_t i = 0; i < g->n_drawn; i++) {
        const struct wl_law_group *law = g->groups[i].law;
        if (g->groups[i].facet != facet || law->n_configs < 2 || law->configs[0].workers == drawn) continue;
        double *x = wl_new_array(f->arena, double, 2), *y = wl_new_array(f->arena, double, 2);
        x[0] = law->configs[0].workers;
        x[1] = law->configs[law->n_configs - 1].workers;
        y[0] = 1;
        y[1] = x[1] / x[0];
        wl_figure_add(f, &(struct wl_figure_series) { .label = isnan(drawn) ? "ideal" : NULL,
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

static struct wl_figure *speedup_figure(const struct wl_report_data *g, size_t facet)
{
    struct wl_figure *f = wl_report_ratio_figure(g, facet, "speedup", "Speedup", "speedup");
    f->base.below = true;
    f->y.log = true;
    f->y.ticks = speedup_ticks(f);
    f->metrics = "speedup ratio95 efficiency";
    f->caption =
        "Points: geometric means over the runs of a configuration, with 95 % intervals where there are repeats. "
        "Dashed: ideal.";
    for (size_t i = 0; i < g->n_drawn; i++) {
        if (g->groups[i].facet == facet)
            wl_report_add_ratios(f, &g->groups[i], offsetof(struct wl_law_config, speedup),
                                 offsetof(struct wl_law_config, time));
    }
    add_ideal_speedup(g, facet, f);
    wl_figure_finish(f);
    return f;
}

void wl_report_add_scaling_figures(const struct wl_report_data *g, struct wl_document *d, struct wl_section *s)
{
    for (size_t k = 0; k < g->n_facets; k++) {
        struct wl_figure *time = time_figure(g, k),
                         *speedup = wl_report_facet_scales(g, k) ? speedup_figure(g, k) : NULL;
        if (!wl_figure_empty(time)) wl_section_figure(d, s, time);
        if (speedup && !wl_figure_empty(speedup)) wl_section_figure(d, s, speedup);
    }
}

void wl_report_add_scaling(const struct wl_report_data *g, struct wl_document *d)
{
    size_t configs = 0;
    for (size_t i = 0; i < g->n_groups; i++) configs += g->groups[i].law->n_configs;
    if (configs == 0) return; /* no run recorded its worker count */
    struct wl_section *s = wl_document_section(d, "scaling", "Time against workers");
    wl_report_add_scaling_figures(g, d, s);
    wl_report_add_law_tables(g, d, s);
}

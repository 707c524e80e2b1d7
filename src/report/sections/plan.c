/* A plan from first principles beside the measurements: what it says before and after it is fitted to them. */
#include "report/sections/sections.h"

#include "planner/planner.h"

#include <math.h>

enum { CURVE_POINTS = 25 };
static const double reach = 4; /* of the figures, times the largest measured worker count */

/* The plan before and after its constants are fitted to the store's runs. */
struct compared {
    const struct wl_planner_plan *plan;
    const struct wl_report_data *g;
    struct wl_planner_rows rows;
    struct wl_planner_posterior before, after;
    struct wl_planner_forecast *was, *is; /* [rows.n] at the measured settings */
};

static int compare(const struct wl_report_data *g, struct compared *c, struct wl_err *e)
{
    c->plan = g->options.plan;
    c->g = g;
    int rc = wl_planner_rows_of(c->plan, &g->whole, &c->rows, g->arena, e);
    if (rc == 0) rc = wl_planner_calibrate(c->plan, 0, NULL, &c->before, g->arena, e);
    if (rc == 0) rc = wl_planner_calibrate(c->plan, 0, &c->rows, &c->after, g->arena, e);
    if (rc) return wl_err_prefix(e, "--plan");
    c->was = wl_new_array(g->arena, struct wl_planner_forecast, c->rows.n);
    c->is = wl_new_array(g->arena, struct wl_planner_forecast, c->rows.n);
    for (size_t i = 0; i < c->rows.n; i++) {
        c->was[i].workload = c->is[i].workload = c->rows.v[i].workload;
        c->was[i].at = c->is[i].at = c->rows.v[i].at;
    }
    wl_planner_forecast(&c->before, c->was, c->rows.n, g->arena);
    wl_planner_forecast(&c->after, c->is, c->rows.n, g->arena);
    return 0;
}

/* ---- table ---- */

static const struct wl_report_column columns[] = {
    { .id = "workload", .label = "workload", .text = true },
    { .id = "workers", .label = "workers" },
    { .id = "setting", .label = "setting", .text = true },
    { .id = "measured_s", .label = "measured time", .unit = "s", .metric = "plan-time", .digits = 4 },
    { .id = "planned_s", .label = "planned", .unit = "s", .metric = "plan-time", .digits = 4 },
    { .id = "planned_lo", .label = "95 % from", .unit = "s", .metric = "plan-time", .digits = 4 },
    { .id = "planned_hi", .label = "to", .unit = "s", .metric = "plan-time", .digits = 4 },
    { .id = "fitted_s", .label = "after a fit to these runs", .unit = "s", .metric = "plan-time", .digits = 4 },
    { .id = "measured_w", .label = "measured power of a worker", .unit = "W", .metric = "plan-power", .digits = 4 },
    { .id = "planned_w", .label = "planned", .unit = "W", .metric = "plan-power", .digits = 4 },
    { .id = "fitted_w", .label = "after a fit", .unit = "W", .metric = "plan-power", .digits = 4 },
};

static const char *setting_text(const struct wl_planner_setting *at, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    if (!isnan(at->local_batch)) wl_text_addf(&t, "local batch %g", at->local_batch);
    if (!isnan(at->cap_w)) wl_text_addf(&t, ", cap %g W", at->cap_w);
    if (!isnan(at->clock_mhz)) wl_text_addf(&t, ", clock %g MHz", at->clock_mhz);
    return t.s;
}

static struct wl_report_table *table_of(const struct compared *c)
{
    struct wl_arena *a = c->g->arena;
    struct wl_report_table *t = wl_report_table_new(a, "plan", "Planned and measured", columns, WL_COUNT(columns));
    t->caption = wl_strf(a,
                         "By %s (wattlaw plan) on machine %s: as the file says, with the 95 %% interval of the priors; "
                         "and with its constants fitted to these runs.",
                         c->plan->name, c->plan->machines[0].name);
    t->estimated = true;
    t->simulated = c->rows.simulated;
    for (size_t i = 0; i < c->rows.n; i++) {
        const struct wl_planner_row *row = &c->rows.v[i];
        wl_report_table_text(t, c->plan->workloads[row->workload].name);
        wl_report_table_real(t, row->at.workers);
        wl_report_table_text(t, setting_text(&row->at, a));
        wl_report_table_real(t, exp(row->ln_time));
        wl_report_table_real(t, c->was[i].time_s.value);
        wl_report_table_real(t, c->was[i].time_s.lo);
        wl_report_table_real(t, c->was[i].time_s.hi);
        wl_report_table_real(t, c->is[i].time_s.value);
        wl_report_table_real(t, exp(row->ln_power));
        wl_report_table_real(t, c->was[i].power_w.value);
        wl_report_table_real(t, c->is[i].power_w.value);
    }
    return t;
}

/* ---- figures ---- */

/* The first measured setting of a workload, which its figure is of; NULL: none. */
static const struct wl_planner_row *first_of(const struct compared *c, size_t workload)
{
    for (size_t i = 0; i < c->rows.n; i++)
        if (c->rows.v[i].workload == workload) return &c->rows.v[i];
    return NULL;
}

static bool differs(double x, double y) { return x != y && !(isnan(x) && isnan(y)); }

/* Do they differ in workers alone? */
static bool shares_curve(const struct wl_planner_row *x, const struct wl_planner_row *y)
{
    return x->workload == y->workload && !differs(x->at.local_batch, y->at.local_batch) &&
           !differs(x->at.accumulation, y->at.accumulation) && !differs(x->at.samples, y->at.samples) &&
           !differs(x->at.cap_w, y->at.cap_w) && !differs(x->at.clock_mhz, y->at.clock_mhz);
}

/* Points of a curve: workers that make whole replicas, from the smallest measured count to `reach` times the largest.
 */
static size_t curve_workers(const struct compared *c, const struct wl_planner_row *first, double *workers)
{
    const struct wl_planner_workload *w = &c->plan->workloads[first->workload];
    const double whole = (double)(w->tensor_parallel * w->pipeline_stages);
    double from = first->at.workers, to = from;
    size_t n = 0;
    for (size_t i = 0; i < c->rows.n; i++) {
        if (!shares_curve(&c->rows.v[i], first)) continue;
        from = fmin(from, c->rows.v[i].at.workers);
        to = fmax(to, c->rows.v[i].at.workers);
    }
    for (size_t i = 0; i < CURVE_POINTS; i++) {
        const double x = from * pow(reach * to / from, (double)i / (CURVE_POINTS - 1));
        const double v = fmax(round(x / whole), 1) * whole;
        if (!n || v > workers[n - 1]) workers[n++] = v;
    }
    return n;
}

struct curve {
    double workers[CURVE_POINTS], value[CURVE_POINTS], lo[CURVE_POINTS], hi[CURVE_POINTS];
    size_t n;
};

static struct curve *curve_of(const struct compared *c, const struct wl_planner_posterior *q,
                              const struct wl_planner_row *first)
{
    struct wl_planner_forecast f[CURVE_POINTS];
    struct curve *out = wl_new(c->g->arena, struct curve);
    out->n = curve_workers(c, first, out->workers);
    for (size_t i = 0; i < out->n; i++) {
        f[i] = (struct wl_planner_forecast) { .workload = first->workload, .at = first->at };
        f[i].at.workers = out->workers[i];
    }
    wl_planner_forecast(q, f, out->n, c->g->arena);
    for (size_t i = 0; i < out->n; i++)
        out->value[i] = f[i].time_s.value, out->lo[i] = f[i].time_s.lo, out->hi[i] = f[i].time_s.hi;
    return out;
}

static void add_band(struct wl_figure *f, const struct curve *v, const char *label, int colour)
{
    wl_figure_add(f, &(struct wl_figure_series) { .label = label,
                                                  .style = WL_STYLE_BAND,
                                                  .n = v->n,
                                                  .x = v->workers,
                                                  .lo = v->lo,
                                                  .hi = v->hi,
                                                  .colour = colour });
}

static void add_line(struct wl_figure *f, const struct curve *v, const char *label, int colour, bool dashed)
{
    wl_figure_add(f, &(struct wl_figure_series) { .label = label,
                                                  .style = WL_STYLE_LINE,
                                                  .n = v->n,
                                                  .x = v->workers,
                                                  .y = v->value,
                                                  .colour = colour,
                                                  .dashed = dashed });
}

static void add_measured(struct wl_figure *f, const struct compared *c, const struct wl_planner_row *first)
{
    double *x = wl_new_array(f->arena, double, c->rows.n), *y = wl_new_array(f->arena, double, c->rows.n);
    size_t n = 0;
    for (size_t i = 0; i < c->rows.n; i++) {
        if (!shares_curve(&c->rows.v[i], first)) continue;
        x[n] = c->rows.v[i].at.workers;
        y[n++] = exp(c->rows.v[i].ln_time);
    }
    wl_figure_add(f, &(struct wl_figure_series) {
                         .label = "measured", .style = WL_STYLE_POINTS, .n = n, .x = x, .y = y, .colour = 2 });
}

static struct wl_figure *figure_of(const struct compared *c, const struct wl_planner_row *first)
{
    struct wl_arena *a = c->g->arena;
    const char *name = c->plan->workloads[first->workload].name;
    struct wl_figure *f =
        wl_figure_new(a, wl_strf(a, "plan-%s", wl_slug(name, a)), wl_strf(a, "Planned and measured, %s", name));
    f->workload = name;
    f->factor = "workers";
    f->x = (struct wl_figure_axis) { .label = "workers", .log = true, .min = NAN, .max = NAN };
    f->y = (struct wl_figure_axis) { .label = "epoch time", .unit = "s", .log = true, .min = NAN, .max = NAN };
    f->metrics = "plan-time";
    f->estimated = true;
    f->simulated = c->rows.simulated;
    f->caption = wl_strf(a,
                         "%s. Dashed: the plan as its file says, with the 95 %% interval of its priors. Line: with its "
                         "constants fitted to all runs of the report. Points: geometric means over runs.",
                         setting_text(&first->at, a));
    const struct curve *before = curve_of(c, &c->before, first), *after = curve_of(c, &c->after, first);
    add_band(f, before, "95 % of the plan", 0);
    add_band(f, after, "95 % after a fit to these runs", 1);
    add_line(f, before, "planned", 0, true);
    add_line(f, after, "after a fit to these runs", 1, false);
    add_measured(f, c, first);
    wl_figure_finish(f);
    return f;
}

/* What the plan got wrong where it was not fitted, as a finding. */
static int add_accuracy(const struct compared *c, struct wl_document *d, struct wl_err *e)
{
    struct wl_arena *a = c->g->arena;
    struct wl_planner_accuracy x;
    int rc = wl_planner_leave_largest_out(c->plan, 0, &c->rows, &x, a, e);
    if (rc || x.why) return rc;
    wl_strs_addf(
        a, &d->findings,
        "The plan %s, fitted to the configurations with at most %g worker%s, is %.1f %% off (median) at more; %zu "
        "of %zu are inside its 95 %% interval.",
        c->plan->name, x.largest, x.largest == 1 ? "" : "s", 100 * x.median_error, x.inside, x.n);
    return 0;
}

int wl_report_add_plan(const struct wl_report_data *g, struct wl_document *d, struct wl_err *e)
{
    struct compared c = { 0 };
    if (!g->options.plan) return 0;
    int rc = compare(g, &c, e);
    if (rc) return rc;
    struct wl_section *s = wl_document_section(d, "plan", "Planned from first principles");
    for (size_t w = 0; w < c.plan->n_workloads; w++) {
        const struct wl_planner_row *first = first_of(&c, w);
        if (first) wl_section_figure(d, s, figure_of(&c, first));
    }
    wl_section_table(d, s, table_of(&c));
    for (size_t i = 0; i < c.rows.notes.n; i++)
        wl_strs_add(g->arena, &d->warnings, wl_strf(g->arena, "Plan: %s.", c.rows.notes.v[i]));
    return add_accuracy(&c, d, e);
}

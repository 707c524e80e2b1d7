/* Energy against worker-hours, and what drives the energy of a worker-hour (Huber et al. 2025). */
#include "report/groups.h"
#include "report/sections/sections.h"

#include <math.h>

static char *title_of(const struct wl_energy_law_group *group, struct wl_arena *a)
{
    return wl_law_key_words(group->key, group->n_key, a);
}

static bool any_estimated(const struct wl_energy_law_result *r, bool simulated)
{
    for (size_t i = 0; i < r->n; i++) {
        if (simulated ? r->groups[i].simulated : r->groups[i].estimated) return true;
    }
    return false;
}

/* The colour of the same workload elsewhere in the report, where it has one; else the group's own. */
static int colour_of(const struct wl_report_data *g, const struct wl_energy_law_group *group, size_t i)
{
    for (size_t k = 0; k < group->n_key; k++) {
        if (!wl_str_eq(group->key[k].column, "workload")) continue;
        for (size_t j = 0; j < g->n_drawn; j++) {
            if (g->groups[j].facet == 0 && wl_str_eq(g->groups[j].workload, group->key[k].value))
                return g->groups[j].colour;
        }
    }
    return (int)i;
}

static char *run_note(const struct wl_energy_law_run *run, struct wl_arena *a)
{
    return wl_strf(a, "run %s, %.15g worker%s", run->label ? run->label : "-", run->workers,
                   run->workers == 1 ? "" : "s");
}

/* ---- kWh on worker-hours ---- */

static void add_runs(const struct wl_report_data *g, const struct wl_energy_law_group *group, size_t i, const double *x,
                     const double *y, struct wl_figure *f)
{
    const char **notes = wl_new_array(f->arena, const char *, group->n);
    for (size_t k = 0; k < group->n; k++) notes[k] = run_note(&group->runs[k], f->arena);
    int colour = colour_of(g, group, i);
    wl_figure_add(f, &(struct wl_figure_series) { .label = title_of(group, g->arena),
                                                  .style = WL_STYLE_POINTS,
                                                  .n = group->n,
                                                  .x = x,
                                                  .y = y,
                                                  .notes = notes,
                                                  .colour = colour,
                                                  .marker = colour });
}

/* kWh = base + slope h over the measured hours, with the slope's own line through no scatter left out. */
static void add_fit(const struct wl_report_data *g, const struct wl_energy_law_group *group, size_t i,
                    struct wl_figure *f)
{
    enum { POINTS = 40 };
    if (!isfinite(group->slope.value)) return;
    double min = INFINITY, max = 0;
    for (size_t k = 0; k < group->n; k++) {
        min = fmin(min, group->runs[k].worker_h);
        max = fmax(max, group->runs[k].worker_h);
    }
    double *x = wl_new_array(f->arena, double, POINTS), *y = wl_new_array(f->arena, double, POINTS);
    for (int k = 0; k < POINTS; k++) { /* even in ln h: a straight line is bent on the logarithmic axes */
        x[k] = min * pow(max / min, (double)k / (POINTS - 1));
        y[k] = group->base.value + group->slope.value * x[k];
    }
    wl_figure_add(f, &(struct wl_figure_series) {
                         .style = WL_STYLE_LINE, .n = POINTS, .x = x, .y = y, .colour = colour_of(g, group, i) });
}

static struct wl_figure *energy_figure(const struct wl_report_data *g, const struct wl_energy_law_result *r)
{
    struct wl_figure *f = wl_figure_new(g->arena, "energy-worker-hours", "Energy against worker-hours");
    f->x = (struct wl_figure_axis) { .label = "worker-hours", .unit = "h", .log = true, .min = NAN, .max = NAN };
    f->y = (struct wl_figure_axis) { .label = "energy", .unit = "kWh", .log = true, .min = NAN, .max = NAN };
    f->factor = "workers";
    f->metrics = "worker-hours energy-line";
    f->caption = "Points: whole runs. Lines: kWh = base + slope x worker-hours, fitted by least squares.";
    for (size_t i = 0; i < r->n; i++) {
        const struct wl_energy_law_group *group = &r->groups[i];
        double *x = wl_new_array(g->arena, double, group->n), *y = wl_new_array(g->arena, double, group->n);
        for (size_t k = 0; k < group->n; k++) {
            x[k] = group->runs[k].worker_h;
            y[k] = group->runs[k].kwh;
        }
        add_runs(g, group, i, x, y, f);
        add_fit(g, group, i, f);
    }
    return f;
}

/* ---- kWh of a worker-hour against what may drive it ---- */

static const struct driver {
    const char *id, *title, *label;
    const char *factor;
    size_t member; /* of wl_energy_law_run */
} drivers[] = {
    { "rate-local-batch", "Energy per worker-hour against local batch", "local batch", "local batch",
      offsetof(struct wl_energy_law_run, local_batch) },
    { "rate-samples", "Energy per worker-hour against samples", "samples per worker-hour", NULL,
      offsetof(struct wl_energy_law_run, samples_per_worker_h) },
    { "rate-updates", "Energy per worker-hour against updates", "updates per worker-hour", NULL,
      offsetof(struct wl_energy_law_run, updates_per_worker_h) },
};

static struct wl_figure *driver_figure(const struct wl_report_data *g, const struct wl_energy_law_result *r,
                                       const struct driver *driver)
{
    struct wl_figure *f = wl_figure_new(g->arena, driver->id, driver->title);
    f->x = (struct wl_figure_axis) { .label = driver->label, .log = true, .min = NAN, .max = NAN };
    f->y = (struct wl_figure_axis) { .label = "energy per worker-hour", .unit = "kWh", .min = NAN, .max = NAN };
    f->factor = driver->factor;
    f->metrics = "energy-rate";
    f->caption = "Points: runs.";
    double min = INFINITY, max = 0;
    for (size_t i = 0; i < r->n; i++) {
        const struct wl_energy_law_group *group = &r->groups[i];
        double *x = wl_new_array(g->arena, double, group->n), *y = wl_new_array(g->arena, double, group->n);
        for (size_t k = 0; k < group->n; k++) {
            x[k] = *(const double *)((const char *)&group->runs[k] + driver->member);
            y[k] = group->runs[k].rate;
            if (!isfinite(x[k])) continue;
            min = fmin(min, x[k]);
            max = fmax(max, x[k]);
        }
        add_runs(g, group, i, x, y, f);
    }
    return max > min ? f : NULL; /* a single value shows no dependence */
}

/* ---- tables ---- */

static const struct wl_report_column fit_columns[] = {
    { .id = "group", .label = "group", .text = true },
    { .id = "runs", .label = "runs" },
    { .id = "worker_h", .label = "worker-hours", .unit = "h", .metric = "worker-hours", .digits = 4 },
    { .id = "kwh", .label = "energy", .unit = "kWh", .metric = "worker-hours", .digits = 4 },
    { .id = "rate", .label = "kWh a worker-hour", .metric = "energy-rate", .digits = 3 },
    { .id = "rate_cv_pct", .label = "variation", .unit = "%", .metric = "energy-rate", .digits = 2 },
    { .id = "base", .label = "base", .unit = "kWh", .metric = "energy-line", .digits = 3 },
    { .id = "slope", .label = "slope", .unit = "kWh/h", .metric = "energy-line", .digits = 3 },
    { .id = "slope_lo", .label = "from", .metric = "energy-line", .digits = 3 },
    { .id = "slope_hi", .label = "to", .metric = "energy-line", .digits = 3 },
    { .id = "r2", .label = "R2", .metric = "energy-line", .digits = 3 },
    { .id = "note", .label = "note", .text = true },
};

static struct wl_report_table *fit_table(const struct wl_report_data *g, const struct wl_energy_law_result *r)
{
    struct wl_report_table *t =
        wl_report_table_new(g->arena, "energy-laws", "Energy of a worker-hour", fit_columns, WL_COUNT(fit_columns));
    for (size_t i = 0; i < r->n; i++) {
        const struct wl_energy_law_group *group = &r->groups[i];
        if (group->n == 0) continue;
        wl_report_table_text(t, title_of(group, g->arena));
        wl_report_table_real(t, (double)group->n);
        wl_report_table_real(t, group->worker_h);
        wl_report_table_real(t, group->kwh);
        wl_report_table_real(t, group->rate);
        wl_report_table_real(t, 100 * group->rate_cv);
        wl_report_table_real(t, group->base.value);
        wl_report_table_real(t, group->slope.value);
        wl_report_table_real(t, group->slope.lo);
        wl_report_table_real(t, group->slope.hi);
        wl_report_table_real(t, group->r2);
        wl_report_table_text(t, group->reason);
    }
    return t;
}

static const struct wl_report_column driver_columns[] = {
    { .id = "group", .label = "group", .text = true },
    { .id = "by_samples", .label = "samples", .metric = "drivers", .digits = 3 },
    { .id = "samples_p", .label = "p", .metric = "drivers", .digits = 2 },
    { .id = "by_updates", .label = "updates", .metric = "drivers", .digits = 3 },
    { .id = "updates_p", .label = "p", .metric = "drivers", .digits = 2 },
    { .id = "r2", .label = "R2", .metric = "drivers", .digits = 3 },
    { .id = "vif", .label = "VIF", .metric = "drivers", .digits = 3 },
    { .id = "note", .label = "note", .text = true },
};

static struct wl_report_table *driver_table(const struct wl_report_data *g, const struct wl_energy_law_result *r)
{
    struct wl_report_table *t =
        wl_report_table_new(g->arena, "energy-drivers", "What drives the energy of a worker-hour", driver_columns,
                            WL_COUNT(driver_columns));
    for (size_t i = 0; i < r->n; i++) {
        const struct wl_energy_law_group *group = &r->groups[i];
        if (group->n == 0) continue;
        wl_report_table_text(t, title_of(group, g->arena));
        wl_report_table_real(t, group->by_samples.value);
        wl_report_table_real(t, group->by_samples.p);
        wl_report_table_real(t, group->by_updates.value);
        wl_report_table_real(t, group->by_updates.p);
        wl_report_table_real(t, group->drivers_r2);
        wl_report_table_real(t, group->vif);
        wl_report_table_text(t, group->drivers_reason);
    }
    return t;
}

int wl_report_add_worker_hours(const struct wl_report_data *g, struct wl_document *d, struct wl_err *e)
{
    struct wl_energy_law_options options = { .drop_epochs = 0 };
    struct wl_energy_law_result r;
    int rc = wl_energy_law_fit(&g->whole, &options, &r, g->arena, e);
    size_t runs = 0;
    for (size_t i = 0; rc == 0 && i < r.n; i++) runs += r.groups[i].n;
    if (rc || runs == 0) return rc;

    struct wl_section *s = wl_document_section(d, "worker-hours", "Energy against worker-hours");
    struct wl_figure *figures[1 + WL_COUNT(drivers)] = { energy_figure(g, &r) };
    for (size_t i = 0; i < WL_COUNT(drivers); i++) figures[1 + i] = driver_figure(g, &r, &drivers[i]);
    for (size_t i = 0; i < WL_COUNT(figures); i++) {
        struct wl_figure *f = figures[i];
        if (!f || wl_figure_empty(f)) continue;
        f->estimated = any_estimated(&r, false);
        f->simulated = any_estimated(&r, true);
        wl_figure_finish(f);
        wl_section_figure(d, s, f);
    }
    struct wl_report_table *tables[] = { fit_table(g, &r), driver_table(g, &r) };
    for (size_t i = 0; i < WL_COUNT(tables); i++) {
        tables[i]->estimated = any_estimated(&r, false);
        tables[i]->simulated = any_estimated(&r, true);
        wl_section_table(d, s, tables[i]);
    }
    return 0;
}

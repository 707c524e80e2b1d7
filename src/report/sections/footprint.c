/* Carbon and cost of the energy. */
#include "report/groups.h"
#include "report/sections/sections.h"

#include <math.h>

static const struct wl_report_column columns[] = {
    { .id = "group", .label = "group", .text = true },
    { .id = "runs", .label = "runs" },
    { .id = "kwh", .label = "energy", .unit = "kWh", .metric = "worker-hours", .digits = 4 },
    { .id = "site_kwh", .label = "with PUE", .unit = "kWh", .metric = "site-energy", .digits = 4 },
    { .id = "g_per_kwh", .label = "intensity", .unit = "g/kWh", .metric = "carbon", .digits = 4 },
    { .id = "carbon_kg", .label = "carbon", .unit = "kg CO2e", .metric = "carbon", .digits = 4 },
    { .id = "carbon_lo_kg", .label = "from", .metric = "carbon", .digits = 4 },
    { .id = "carbon_hi_kg", .label = "to", .metric = "carbon", .digits = 4 },
    { .id = "cost", .label = "cost", .metric = "cost", .digits = 4 },
};

/* Of each run of a group, g/kWh; NAN: unknown. */
static double *intensities_of(const struct wl_report_data *g, const struct wl_energy_law_group *group)
{
    const struct wl_report_footprint *f = g->options.footprint;
    double *v = wl_new_array(g->arena, double, group->n);
    for (size_t i = 0; i < group->n; i++) {
        const char *label = group->runs[i].label;
        int64_t id;
        v[i] = f->carbon && label && wl_str_to_int(label, &id) == 0 ? f->g_per_kwh(f->data, id) : NAN;
    }
    return v;
}

static void add_row(struct wl_report_table *t, const struct wl_report_data *g, const struct wl_energy_law_group *group,
                    const double *intensity)
{
    const struct wl_report_footprint *f = g->options.footprint;
    double carbon_g = 0, site_kwh = group->kwh * f->pue;
    for (size_t i = 0; i < group->n; i++) carbon_g += f->pue * group->runs[i].kwh * intensity[i];
    wl_report_table_text(t, wl_law_key_words(group->key, group->n_key, g->arena));
    wl_report_table_real(t, (double)group->n);
    wl_report_table_real(t, group->kwh);
    wl_report_table_real(t, site_kwh);
    wl_report_table_real(t, carbon_g / site_kwh);
    wl_report_table_real(t, 1e-3 * carbon_g);
    wl_report_table_real(t, 1e-3 * site_kwh * f->carbon_lo);
    wl_report_table_real(t, 1e-3 * site_kwh * f->carbon_hi);
    wl_report_table_real(t, site_kwh * f->price);
}

static const struct wl_run_row *run_named(const struct wl_report_data *g, const char *label)
{
    int64_t id;
    if (!label || wl_str_to_int(label, &id)) return NULL;
    for (size_t i = 0; i < g->runs.n; i++)
        if (g->runs.v[i].id == id) return &g->runs.v[i];
    return NULL;
}

/* Planned runs, which come first where a campaign was begun anew, have no start. */
static int64_t first_start_ns(const struct wl_report_data *g)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < g->runs.n; i++) {
        const int64_t start = g->runs.v[i].start.wall_ns;
        if (start != WL_NO_NS && start < first) first = start;
    }
    return first;
}

static double hours_since(const struct wl_run_row *run, int64_t first_ns)
{
    if (!run || run->start.wall_ns == WL_NO_NS) return NAN;
    return (double)(run->start.wall_ns - first_ns) / WL_NS_PER_S / 3600;
}

/* The intensity during each run; NULL where it is the same for all. */
static struct wl_figure *intensity_figure(const struct wl_report_data *g, const struct wl_energy_law_result *r,
                                          double *const *intensity)
{
    const struct wl_report_footprint *report = g->options.footprint;
    struct wl_figure *f = wl_figure_new(g->arena, "carbon-intensity", "Carbon intensity during the runs");
    f->x = (struct wl_figure_axis) {
        .label = "start of the run, after the first one", .unit = "h", .min = NAN, .max = NAN
    };
    f->y = (struct wl_figure_axis) { .label = "carbon intensity", .unit = "g/kWh", .min = NAN, .max = NAN };
    f->metrics = "carbon";
    f->caption = wl_strf(g->arena, "Points: runs. Source: %s.", report->carbon);
    const int64_t first_ns = first_start_ns(g);
    double min = INFINITY, max = -INFINITY;
    for (size_t i = 0; i < r->n; i++) {
        const struct wl_energy_law_group *group = &r->groups[i];
        double *x = wl_new_array(g->arena, double, group->n);
        const double *y = intensity[i];
        for (size_t k = 0; k < group->n; k++) {
            x[k] = hours_since(run_named(g, group->runs[k].label), first_ns);
            if (!isfinite(y[k])) continue;
            min = fmin(min, y[k]);
            max = fmax(max, y[k]);
        }
        wl_figure_add(f, &(struct wl_figure_series) { .label =
                                                          wl_law_key_words(group->key, group->n_key, g->arena),
                                                      .style = WL_STYLE_POINTS,
                                                      .n = group->n,
                                                      .x = x,
                                                      .y = y,
                                                      .colour = (int)i,
                                                      .marker = (int)i });
    }
    return max > min ? f : NULL;
}

static void add_marks(const struct wl_energy_law_result *r, bool *estimated, bool *simulated)
{
    for (size_t i = 0; i < r->n; i++) {
        *estimated |= r->groups[i].estimated;
        *simulated |= r->groups[i].simulated;
    }
}

int wl_report_add_footprint(const struct wl_report_data *g, struct wl_document *d, struct wl_err *e)
{
    const struct wl_report_footprint *f = g->options.footprint;
    struct wl_energy_law_options options = { .drop_epochs = 0 };
    struct wl_energy_law_result r;
    if (!f) return 0;
    int rc = wl_energy_law_fit(&g->whole, &options, &r, g->arena, e);
    if (rc < 0) return rc;
    const char *title =
        wl_strf(g->arena, "Carbon and cost: PUE %g%s%s%s", f->pue, f->carbon ? ", " : "", f->carbon ? f->carbon : "",
                isnan(f->price) ? "" : wl_strf(g->arena, ", %g %s/kWh", f->price, f->currency));
    struct wl_report_table *t = wl_report_table_new(g->arena, "footprint", title, columns, WL_COUNT(columns));
    double **intensity = wl_new_array(g->arena, double *, r.n);
    for (size_t i = 0; i < r.n; i++) {
        intensity[i] = intensities_of(g, &r.groups[i]);
        if (r.groups[i].n) add_row(t, g, &r.groups[i], intensity[i]);
    }
    struct wl_section *s = wl_document_section(d, "footprint", "Carbon and cost");
    struct wl_figure *figure = f->carbon ? intensity_figure(g, &r, intensity) : NULL;
    if (figure && !wl_figure_empty(figure)) {
        add_marks(&r, &figure->estimated, &figure->simulated);
        wl_figure_finish(figure);
        wl_section_figure(d, s, figure);
    }
    add_marks(&r, &t->estimated, &t->simulated);
    wl_section_table(d, s, t);
    return 0;
}

#include "report/fan_figure.h"

#include "report/labels.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { FAN_POINTS = 13 };
static const double shown_below = 8;     /* the figure begins at this fraction of the largest measured worker count */
static const double reach = 4;           /* of the figure, times the largest measured worker count */
static const double least_weight = 0.02; /* of a family that is drawn */

static void add_configurations(struct wl_figure *f, const struct wl_law_group *law, double from)
{
    size_t n = 0;
    double *x = wl_new_array(f->arena, double, law->n_configs), *y = wl_new_array(f->arena, double, law->n_configs);
    for (size_t i = 0; i < law->n_configs; i++) {
        if (law->configs[i].workers < from) continue;
        x[n] = law->configs[i].workers;
        y[n++] = law->configs[i].response;
    }
    wl_figure_add(f,
                  &(struct wl_figure_series) { .label = "measured", .style = WL_STYLE_POINTS, .n = n, .x = x, .y = y });
}

/* The forecasts that were asked for, with the intervals of one run. */
static void add_asked(struct wl_figure *f, const struct wl_report_fan *fan)
{
    const size_t n = fan->n_asked;
    if (!n) return;
    double *y = wl_new_array(f->arena, double, n), *lo = wl_new_array(f->arena, double, n),
           *hi = wl_new_array(f->arena, double, n);
    const struct wl_law_forecast *at = wl_law_forecasts(fan->posterior, fan->asked, n, f->arena);
    for (size_t i = 0; i < n; i++) {
        y[i] = at[i].value;
        lo[i] = at[i].lo;
        hi[i] = at[i].hi;
    }
    wl_figure_add(f, &(struct wl_figure_series) { .label = "forecast with 95 % of new runs",
                                                  .style = WL_STYLE_POINTS,
                                                  .n = n,
                                                  .x = fan->asked,
                                                  .y = y,
                                                  .lo = lo,
                                                  .hi = hi,
                                                  .colour = 1,
                                                  .marker = 1 });
}

static void add_band(struct wl_figure *f, const char *label, const struct wl_law_fan *fan, const double *lo,
                     const double *hi, int colour)
{
    wl_figure_add(f, &(struct wl_figure_series) { .label = label,
                                                  .style = WL_STYLE_BAND,
                                                  .n = fan->n,
                                                  .x = fan->workers,
                                                  .lo = lo,
                                                  .hi = hi,
                                                  .colour = colour });
}

static void add_families(struct wl_figure *f, const struct wl_law_posterior *p, const struct wl_law_fan *fan)
{
    for (int k = 0, colour = 2; k < WL_HIER_FAMILIES; k++) {
        if (!fan->family[k]) continue;
        wl_figure_add(f, &(struct wl_figure_series) { .label = wl_strf(f->arena, "%s, weight %.2f",
                                                                       wl_hier_family_name((enum wl_hier_family)k),
                                                                       p->fit.weight[k]),
                                                      .style = WL_STYLE_LINE,
                                                      .n = fan->n,
                                                      .x = fan->workers,
                                                      .y = fan->family[k],
                                                      .colour = colour++,
                                                      .dashed = true });
    }
}

/* From an eighth of the largest measured worker count, or from the smallest that was asked for. */
static double first_shown(const struct wl_report_fan *fan)
{
    const struct wl_hier_data *d = fan->posterior->data;
    double from = fmax(d->workers[0], d->workers[d->n_configs - 1] / shown_below);
    for (size_t i = 0; i < fan->n_asked; i++) from = fmin(from, fan->asked[i]);
    return from;
}

static double last_shown(const struct wl_report_fan *fan)
{
    const struct wl_hier_data *d = fan->posterior->data;
    double to = fan->to > 0 ? fan->to : reach * d->workers[d->n_configs - 1];
    to = fmax(to, d->workers[d->n_configs - 1]);
    for (size_t i = 0; i < fan->n_asked; i++) to = fmax(to, fan->asked[i]);
    return to;
}

static void set_axes(struct wl_figure *f, const struct wl_report_fan *fan)
{
    const bool joules = fan->response == WL_LAW_ENERGY;
    f->x = (struct wl_figure_axis) { .label = "workers", .log = true, .min = NAN, .max = NAN };
    f->y = (struct wl_figure_axis) { .label = wl_span_quantity(fan->span, fan->of_amount, joules ? "energy" : "time",
                                                               f->arena),
                                     .unit = wl_law_response_unit(fan->response),
                                     .log = true,
                                     .min = NAN,
                                     .max = NAN };
    f->metrics = "forecast";
    f->simulated = fan->law->simulated;
    f->estimated = joules && fan->law->estimated;
    f->caption =
        "Points: geometric means over runs. Line: median of the forecast. Shaded: 95 % intervals for one run of a new "
        "configuration, and for the mean of a new configuration. Dashed: the curves that make it up, with their "
        "posterior weights.";
}

struct wl_figure *wl_report_fan_figure(const struct wl_report_fan *fan, struct wl_arena *a)
{
    const double from = first_shown(fan);
    const struct wl_law_fan curves = wl_law_fan(fan->posterior, from, last_shown(fan), FAN_POINTS, least_weight, a);
    struct wl_figure *f =
        wl_figure_new(a, wl_strf(a, "forecast-%s", wl_slug(fan->name, a)), wl_strf(a, "Forecast, %s", fan->name));
    set_axes(f, fan);
    add_band(f, "95 % of new runs", &curves, curves.lo, curves.hi, 0);
    add_band(f, "95 % of new configurations", &curves, curves.config_lo, curves.config_hi, 0);
    wl_figure_add(
        f, &(struct wl_figure_series) {
               .label = "forecast", .style = WL_STYLE_LINE, .n = curves.n, .x = curves.workers, .y = curves.value });
    add_families(f, fan->posterior, &curves);
    add_configurations(f, fan->law, from);
    add_asked(f, fan);
    wl_figure_finish(f);
    return f;
}

/* ---- one figure as a file ---- */

enum { SVG, PDF, GP, CSV, ENDINGS };
static const char *const endings[ENDINGS] = { "svg", "pdf", "gp", "csv" };

static int draw(const struct wl_figure *f, const char *path, int ending, struct wl_arena *a, struct wl_err *e)
{
    struct wl_text script = WL_TEXT(a);
    const char *script_path = wl_strf(a, "%s.gp.tmp", path);
    wl_figure_gnuplot(f, &script);
    int rc = wl_file_write(script_path, script.s, script.n, e);
    if (rc == 0) rc = wl_gnuplot_run(script_path, endings[ending], path, a, e);
    unlink(script_path);
    return rc;
}

int wl_report_draw(const struct wl_figure *f, const char *path, struct wl_arena *a, struct wl_err *e)
{
    const char *dot = strrchr(path, '.');
    struct wl_text text = WL_TEXT(a);
    int ending = 0;
    while (ending < ENDINGS && !(dot && wl_str_eq(dot + 1, endings[ending]))) ending++;
    if (ending == ENDINGS)
        return wl_fail(e, WL_EUSAGE, "%s: expected a name that ends in .svg, .pdf, .gp or .csv", path);
    if (ending == SVG || ending == PDF) return draw(f, path, ending, a, e);
    if (ending == GP)
        wl_figure_gnuplot(f, &text);
    else
        wl_figure_csv(f, &text);
    return wl_file_write(path, text.s, text.n, e);
}

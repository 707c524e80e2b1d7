/* wattlaw predict: time or energy per epoch at a worker count that was not measured. */
#include "cmd/cmd.h"

#include "cmd/wattlaw/analysis.h"
#include "cmd/wattlaw/format.h"
#include "cmd/wattlaw/points.h"
#include "cmd/wattlaw/prior.h"
#include "report/report.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

struct predict_options {
    struct wl_strs map, by, at, prior;
    const char *response, *figure;
    int64_t drop_epochs;
    bool force, json;
};

static const struct wl_opt options[] = {
    { .name = "at",
      .type = WL_LINES,
      .offset = offsetof(struct predict_options, at),
      .required = true,
      .unit = "workers=N[,N...]",
      .help = "worker counts to predict for" },
    { .name = "figure",
      .type = WL_STR,
      .offset = offsetof(struct predict_options, figure),
      .unit = "FILE.svg",
      .help = "draw the forecast with its intervals and curves: .svg, .pdf, .gp (gnuplot) or .csv; several groups get "
              "FILE-2.svg, FILE-3.svg ... (default: no figure)" },
    { .name = "force",
      .type = WL_FLAG,
      .offset = offsetof(struct predict_options, force),
      .help = "predict even where the epochs of a group are not the same work (default: refuse)" },
    WL_PRIOR_OPT_ROW(struct predict_options),
    WL_ANALYSIS_OPT_ROWS(struct predict_options),
    WL_FIT_OPT_ROWS(struct predict_options),
    WL_OPT_END
};

/* One group: its posterior and the forecasts at all points. */
struct predicted {
    const struct wl_law_group *group;
    enum wl_law_response response;
    const char *figure; /* path; NULL: none */
    struct wl_law_posterior posterior;
    struct wl_law_forecast *at;
    struct wl_energy_parts parts;              /* of an energy: what explains it */
    struct wl_energy_parts_forecast *by_parts; /* [n]; NULL: no explanation */
    size_t n;
};

static int explain(struct predicted *p, const double *workers, const struct wl_prior *prior, struct wl_arena *a,
                   struct wl_err *e)
{
    int rc = wl_energy_parts_of_group(p->group, &prior->time, &prior->power, &p->parts, a, e);
    if (rc || p->parts.reason) return rc;
    p->by_parts = wl_energy_parts_forecasts(&p->parts, workers, p->n, a);
    return 0;
}

static int predict_group(const struct wl_law_group *g, enum wl_law_response response, const struct wl_points *points,
                         const struct wl_prior *prior, bool force, struct predicted *out, struct wl_arena *a,
                         struct wl_err *e)
{
    *out = (struct predicted) { .group = g, .response = response };
    int rc = wl_law_posterior(g, response, &prior->response, force, &out->posterior, a, e);
    if (rc || out->posterior.refusal) return rc;
    out->at = wl_law_forecasts(&out->posterior, points->workers, points->n, a);
    out->n = points->n;
    return response == WL_LAW_ENERGY ? explain(out, points->workers, prior, a, e) : 0;
}

/* ---- figure ---- */

/* FILE.svg for the first group, FILE-2.svg for the second. */
static const char *figure_path(const char *path, size_t number, struct wl_arena *a)
{
    const char *dot = strrchr(path, '.');
    if (number == 1 || !dot) return path;
    return wl_strf(a, "%.*s-%zu%s", (int)(dot - path), path, number, dot);
}

static int draw_figure(const struct predicted *p, const struct wl_points *points, const char *path, struct wl_arena *a,
                       struct wl_err *e)
{
    const struct wl_report_fan fan = { .law = p->group,
                                       .posterior = &p->posterior,
                                       .response = p->response,
                                       .name = p->group->title,
                                       .span = "epoch",
                                       .asked = points->workers,
                                       .n_asked = points->n };
    return wl_report_draw(wl_report_fan_figure(&fan, a), path, a, e);
}

/* ---- text ---- */

static enum wl_provenance provenance(const struct predicted *p)
{
    return p->response == WL_LAW_ENERGY ? wl_provenance_of(p->group->estimated, p->group->simulated) : WL_MEASURED;
}

static const char *range_text(double lo, double hi, struct wl_arena *a)
{
    return wl_strf(a, "%s to %s", wl_number_text(lo, a), wl_number_text(hi, a));
}

static void print_forecasts(const struct predicted *p, struct wl_arena *a)
{
    const char *unit = wl_law_response_unit(p->response);
    struct wl_table t = wl_table_new(a);
    wl_table_column(&t, "workers", true);
    wl_table_provenance_column(&t);
    wl_table_column(&t, wl_law_response_name(p->response), true);
    wl_table_column(&t, "95 % of new runs", false);
    wl_table_column(&t, "95 % of new configurations", false);
    for (size_t i = 0; i < p->n; i++) {
        const struct wl_law_forecast *f = &p->at[i];
        const struct wl_amount value = wl_amount_of(f->value, unit, provenance(p));
        wl_table_workers(&t, f->workers);
        wl_table_provenance(&t, provenance(p));
        wl_table_amount(&t, &value, 4);
        wl_table_cell(&t, range_text(f->lo, f->hi, a));
        wl_table_cell(&t, range_text(f->config_lo, f->config_hi, a));
        wl_table_row(&t);
    }
    wl_table_print(&t, WL_STDOUT, wl_out_width(WL_STDOUT));
}

static void print_words(const struct predicted *p, struct wl_arena *a)
{
    for (size_t i = 0; i < p->n; i++) {
        const struct wl_law_forecast *f = &p->at[i];
        wl_print("  N = %-6g %s\n", f->workers, f->reach);
        if (f->narrower < 0.9)
            wl_print("             a measurement at %g workers would narrow it most: to about %.0f %% of its width\n",
                     f->measure_at, 100 * f->narrower);
    }
    if (p->group->scaling == WL_SCALING_WEAK)
        wl_print("  work       an epoch has samples in proportion to the workers\n");
    wl_print("  scatter    configurations %s %%, runs %s %% (standard deviations in the posterior)\n",
             wl_format_percent(p->posterior.fit.tau, a), wl_format_percent(p->posterior.fit.sigma, a));
    for (size_t i = 0; i < p->posterior.notes.n; i++) wl_print("  note       %s\n", p->posterior.notes.v[i]);
}

/* What the formulas of the curves give: a unit of work takes t(N) / N where the work grows with the workers, and its
 * energy is E(N) / N where it does not. */
static const char *of_formulas(const struct predicted *p, struct wl_arena *a)
{
    const double growth = p->posterior.growth;
    return wl_strf(a, "%s(N)%s", wl_law_response_symbol(p->response),
                   growth == 0   ? ""
                   : growth == 1 ? " / N"
                                 : " / N^2");
}

static void print_families(const struct predicted *p, struct wl_arena *a)
{
    struct wl_table t = wl_table_new(a);
    wl_table_column(&t, "curve", false);
    wl_table_column(&t, of_formulas(p, a), false);
    wl_table_column(&t, "prior", true);
    wl_table_column(&t, "weight", true);
    for (size_t i = 0; i < p->n; i++) wl_table_column(&t, wl_strf(a, "at %g", p->at[i].workers), true);
    wl_table_column(&t, "", false);
    for (size_t k = 0; k < p->at[0].n_families; k++) {
        const struct wl_law_forecast_family *f = &p->at[0].families[k];
        wl_table_cell(&t, f->name);
        wl_table_cell(&t, f->formula);
        wl_table_cell(&t, wl_strf(a, "%.2f", f->prior));
        wl_table_cell(&t, f->reason ? NULL : wl_strf(a, "%.2f", f->weight));
        for (size_t i = 0; i < p->n; i++) wl_table_real(&t, p->at[i].families[k].value, 4);
        wl_table_cell(&t, f->reason ? f->reason : "");
        wl_table_row(&t);
    }
    wl_print("\n");
    wl_table_print(&t, WL_STDOUT, wl_out_width(WL_STDOUT));
}

/* The families of the power of a worker with their weights: "flat 0.52, slope 0.3, idle 0.18". */
static const char *power_families(const struct wl_hier_fit *power, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    for (size_t f = 0; f < WL_HIER_FAMILIES; f++)
        if (!power->reason[f]) wl_text_addf(&t, "%s%s %.2f", t.n ? ", " : "", wl_hier_family_name(f), power->weight[f]);
    return t.s;
}

static void estimate_cells(struct wl_table *t, const struct wl_estimate *v, struct wl_arena *a)
{
    wl_table_real(t, v->value, 4);
    wl_table_cell(t, range_text(v->lo, v->hi, a));
}

/* Energy as workers x power of a worker x time. */
static void print_parts(const struct predicted *p, struct wl_arena *a)
{
    static const char *const heads[] = { "time_s", "power_w of one", "energy_j" };
    if (!p->by_parts) {
        if (p->parts.reason) wl_print("  by parts   none: %s\n", p->parts.reason);
        return;
    }
    struct wl_table t = wl_table_new(a);
    wl_table_column(&t, "workers", true);
    for (size_t i = 0; i < WL_COUNT(heads); i++) {
        if (i == 1) wl_table_provenance_column(&t);
        wl_table_column(&t, heads[i], true);
        wl_table_column(&t, "95 %", false);
    }
    for (size_t i = 0; i < p->n; i++) {
        wl_table_real(&t, p->at[i].workers, 0);
        estimate_cells(&t, &p->by_parts[i].time_s, a);
        wl_table_provenance(&t, provenance(p));
        estimate_cells(&t, &p->by_parts[i].power_w, a);
        estimate_cells(&t, &p->by_parts[i].energy_j, a);
        wl_table_row(&t);
    }
    wl_print("\nby parts: workers x power of one x time, an explanation (correlation of their residuals %.2f)\n",
             p->parts.correlation);
    wl_table_print(&t, WL_STDOUT, wl_out_width(WL_STDOUT));
    wl_print("  power      %s\n", power_families(&p->parts.power, a));
}

static void print_group(const struct predicted *p, bool first, struct wl_arena *a)
{
    wl_print(first ? "%s%s%s\n" : "\n%s%s%s\n", p->group->title, p->group->simulated ? " (simulated)" : "",
             p->group->estimated ? " (estimated)" : "");
    if (p->posterior.refusal) {
        wl_print("  refused    %s\n", p->posterior.refusal);
        return;
    }
    print_forecasts(p, a);
    wl_print("\n");
    print_words(p, a);
    if (p->figure) wl_print("  figure     %s\n", p->figure);
    print_families(p, a);
    print_parts(p, a);
}

/* ---- JSON ---- */

static void add_pair(struct wl_json *o, const char *key, double lo, double hi)
{
    struct wl_json *interval = wl_json_add_array(o, key);
    wl_json_add_real(interval, NULL, lo);
    wl_json_add_real(interval, NULL, hi);
}

static void add_estimate(struct wl_json *o, const char *key, const char *interval, const struct wl_estimate *v)
{
    wl_json_add_real(o, key, v->value);
    add_pair(o, interval, v->lo, v->hi);
}

static void add_parts(struct wl_json *o, const struct wl_energy_parts_forecast *f)
{
    struct wl_json *parts = wl_json_add_object(o, "parts");
    add_estimate(parts, "time_s", "time_interval95", &f->time_s);
    add_estimate(parts, "power_w", "power_interval95", &f->power_w);
    add_estimate(parts, "energy_j", "energy_interval95", &f->energy_j);
}

/* What joins the parts of a group's energy. */
static void add_explanation(struct wl_json *group, const struct wl_energy_parts *p)
{
    struct wl_json *o = wl_json_add_object(group, "by_parts");
    wl_json_add_str(o, "why", p->reason);
    wl_json_add_real(o, "correlation", p->reason ? NAN : p->correlation);
    struct wl_json *power = wl_json_add_array(o, "power_models");
    for (size_t f = 0; f < WL_HIER_FAMILIES && !p->reason; f++) {
        if (!(p->power.prior->weight[f] > 0)) continue;
        struct wl_json *m = wl_json_add_object(power, NULL);
        wl_json_add_str(m, "name", wl_hier_family_name(f));
        wl_json_add_real(m, "prior", p->power.prior->weight[f]);
        wl_json_add_real(m, "weight", p->power.reason[f] ? NAN : p->power.weight[f]);
        wl_json_add_str(m, "why", p->power.reason[f]);
    }
}

static void add_forecast(struct wl_json *array, const struct wl_law_forecast *f,
                         const struct wl_energy_parts_forecast *parts)
{
    struct wl_json *o = wl_json_add_object(array, NULL);
    wl_json_add_number(o, "workers", f->workers);
    wl_json_add_real(o, "range_ratio", f->ratio);
    wl_json_add_real(o, "epoch", f->value);
    add_pair(o, "run_interval95", f->lo, f->hi);
    add_pair(o, "configuration_interval95", f->config_lo, f->config_hi);
    wl_json_add_str(o, "basis", "hierarchical");
    wl_json_add_str(o, "refused", NULL);
    wl_json_add_str(o, "reach", f->reach);
    wl_json_add_real(o, "measure_at", f->measure_at);
    wl_json_add_real(o, "width_after", f->narrower);
    struct wl_json *models = wl_json_add_array(o, "models");
    for (size_t i = 0; i < f->n_families; i++) {
        const struct wl_law_forecast_family *v = &f->families[i];
        struct wl_json *m = wl_json_add_object(models, NULL);
        wl_json_add_str(m, "name", v->name);
        wl_json_add_real(m, "prior", v->prior);
        wl_json_add_real(m, "weight", v->reason ? NAN : v->weight);
        wl_json_add_real(m, "epoch", v->value);
        wl_json_add_real(m, "se_ln", v->se);
        wl_json_add_str(m, "why", v->reason);
    }
    if (parts) add_parts(o, parts);
}

static void add_refusal(struct wl_json *array, double workers, const char *refusal)
{
    struct wl_json *o = wl_json_add_object(array, NULL);
    wl_json_add_number(o, "workers", workers);
    wl_json_add_str(o, "refused", refusal);
}

static void add_group(struct wl_json *array, const struct predicted *p, const struct wl_points *points)
{
    const struct wl_law_group *g = p->group;
    struct wl_json *o = wl_json_add_object(array, NULL), *key = wl_json_add_object(o, "key");
    for (size_t i = 0; i < g->n_key; i++)
        wl_json_add_str(key, g->key[i].column, *g->key[i].value ? g->key[i].value : NULL);
    wl_json_add_str(o, "title", g->title);
    wl_json_add_str(o, "scaling", wl_law_scaling_name(g->scaling));
    wl_json_add_bool(o, "estimated", g->estimated);
    wl_json_add_bool(o, "simulated", g->simulated);
    wl_json_add_real(o, "configuration_sd", p->posterior.refusal ? NAN : p->posterior.fit.tau);
    wl_json_add_real(o, "run_sd", p->posterior.refusal ? NAN : p->posterior.fit.sigma);
    struct wl_json *list = wl_json_add_array(o, "predictions"), *notes;
    for (size_t i = 0; i < p->n; i++) add_forecast(list, &p->at[i], p->by_parts ? &p->by_parts[i] : NULL);
    for (size_t i = p->n; i < points->n; i++) add_refusal(list, points->workers[i], p->posterior.refusal);
    if (p->n && p->response == WL_LAW_ENERGY) add_explanation(o, &p->parts);
    if (p->figure) wl_json_add_str(o, "figure", p->figure);
    notes = wl_json_add_array(o, "notes");
    for (size_t i = 0; i < p->posterior.notes.n; i++) wl_json_add_str(notes, NULL, p->posterior.notes.v[i]);
}

static struct wl_json *start_json(const char *source, const struct predict_options *o, const struct wl_law_result *r,
                                  const struct wl_prior *prior, struct wl_arena *a)
{
    struct wl_json *root = wl_analysis_json(source, a);
    wl_json_add_int(root, "drop_epochs", o->drop_epochs);
    wl_json_add_str(root, "response", wl_law_response_name(r->response));
    wl_json_add_str(root, "unit", wl_law_response_unit(r->response));
    wl_json_add_bool(root, "forced", o->force);
    wl_prior_json(prior, wl_json_add_object(root, "prior"));
    return root;
}

struct work {
    const struct predict_options *options;
    const struct wl_law_result *laws;
    const struct wl_points *points;
    const struct wl_prior *prior;
    size_t from;           /* group of the first item */
    struct predicted *out; /* [items] */
    int *rc;               /* [items] */
    struct wl_err *e;      /* [items] */
};

static void predict_item(void *ctx, size_t i, struct wl_arena *a)
{
    struct work *w = ctx;
    w->rc[i] = predict_group(&w->laws->groups[w->from + i], w->laws->response, w->points, w->prior, w->options->force,
                             &w->out[i], a, &w->e[i]);
}

/* Predicts n groups in threads; the error is that of the first. */
static int predict_block(struct work *w, size_t n, struct wl_arena *a, struct wl_err *e)
{
    w->out = wl_new_array(a, struct predicted, n);
    w->rc = wl_new_array(a, int, n);
    w->e = wl_new_array(a, struct wl_err, n);
    wl_parallel(n, predict_item, w, a);
    for (size_t i = 0; i < n; i++)
        if (w->rc[i]) {
            *e = w->e[i];
            return w->rc[i];
        }
    return 0;
}

/* All groups at all points, a few at a time: posteriors are large. *done: how many groups were predicted. */
static int predict(struct work *w, struct wl_json *groups, size_t *done, struct wl_arena *a, struct wl_err *e)
{
    enum { BLOCK = 64 };
    int rc = 0;
    for (; rc == 0 && w->from < w->laws->n; w->from += BLOCK) {
        struct wl_arena *scratch = wl_arena_new(a);
        const size_t n = w->laws->n - w->from < BLOCK ? w->laws->n - w->from : BLOCK;
        rc = predict_block(w, n, scratch, e);
        for (size_t i = 0; rc == 0 && i < n; i++) {
            struct predicted *p = &w->out[i];
            if (p->n) ++*done;
            if (p->n && w->options->figure) {
                p->figure = figure_path(w->options->figure, *done, scratch);
                rc = draw_figure(p, w->points, p->figure, scratch, e);
            }
            if (rc) break;
            if (groups)
                add_group(groups, p, w->points);
            else
                print_group(p, w->from + i == 0, scratch);
        }
        wl_arena_free(scratch);
    }
    return rc;
}

static int run(void *opts, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    const struct predict_options *o = opts;
    if (rest->args.n != 1 || rest->command)
        return wl_fail(e, WL_EUSAGE, "expected one store, campaign folder or CSV file");
    struct wl_observations obs = { 0 };
    struct wl_law_result result;
    struct wl_prior prior;
    struct wl_points points;
    struct wl_law_options how = { .by = o->by, .drop_epochs = o->drop_epochs, .runs_only = true };
    how.response = wl_str_eq(o->response, "energy_j") ? WL_LAW_ENERGY : WL_LAW_TIME;
    int rc = wl_prior_read(&o->prior, how.response, &prior, e);
    if (rc == 0) rc = wl_points_read(&o->at, &points, a, e);
    if (rc == 0) rc = wl_analysis_read(rest->args.v[0], &o->map, &obs, a, e);
    if (rc == 0) rc = wl_law_fit(&obs, &how, &result, a, e);
    if (rc) return rc;
    struct wl_json *root = o->json ? start_json(rest->args.v[0], o, &result, &prior, a) : NULL;
    size_t done = 0;
    struct work work = { .options = o, .laws = &result, .points = &points, .prior = &prior };
    rc = predict(&work, root ? wl_json_add_array(root, "groups") : NULL, &done, a, e);
    if (rc) return rc;
    if (root) wl_json_print(root);
    return done ? WL_EXIT_OK : WL_EXIT_FAILED;
}

const struct wl_cmd wl_cmd_predict = {
    .name = "predict",
    .usage = "STORE|CSV --at workers=N[,N...] [options]",
    .help = "predict time or energy per epoch at other worker counts, with intervals",
    .more =
        "A hierarchical model (docs/metrics.md) averages five families of curves by their posterior weights. Its\n"
        "intervals include what the curves, the scatter of configurations and runs, and the distance from the\n"
        "measured worker counts leave open: they widen instead of failing. Two worker counts are enough. Exit status\n"
        "1 if every group is refused.\n"
        "\n"
        "  wattlaw predict quickstart-results --at workers=16,32",
    .options = options,
    .options_size = sizeof(struct predict_options),
    .run = run,
};

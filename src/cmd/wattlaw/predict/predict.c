/* wattlaw predict: time or energy per epoch at a worker count that was not measured. */
#include "cmd/cmd.h"

#include "cmd/wattlaw/analysis.h"
#include "cmd/wattlaw/busy.h"
#include "cmd/wattlaw/predict/internal.h"
#include "cmd/wattlaw/prior.h"
#include "cmd/wattlaw/repeats.h"
#include "cmd/wattlaw/screen.h"
#include "report/report.h"

#include <stddef.h>
#include <string.h>

struct predict_options {
    const char *work;
    struct wl_strs map, by, at, prior;
    const char *response, *figure;
    int64_t drop_epochs;
    bool force, json, exclude_busy, all;
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
    WL_ALL_OPT_ROW(struct predict_options),
    WL_PRIOR_OPT_ROW(struct predict_options),
    WL_ANALYSIS_OPT_ROWS(struct predict_options),
    WL_FIT_OPT_ROWS(struct predict_options),
    WL_OPT_END
};

static int explain(struct wl_cmd_predicted *p, const double *workers, const struct wl_prior *prior, struct wl_arena *a,
                   struct wl_err *e)
{
    int rc = wl_energy_parts_of_group(p->group, &prior->time, &prior->power, &p->parts, a, e);
    if (rc || p->parts.reason) return rc;
    p->by_parts = wl_energy_parts_forecasts(&p->parts, workers, p->n, a);
    return 0;
}

static int predict_group(const struct wl_law_group *g, enum wl_law_response response, const struct wl_points *points,
                         const struct wl_prior *prior, bool force, struct wl_cmd_predicted *out, struct wl_arena *a,
                         struct wl_err *e)
{
    *out = (struct wl_cmd_predicted) { .group = g, .response = response };
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

static int draw_figure(const struct wl_cmd_predicted *p, const struct wl_points *points, const char *path,
                       struct wl_arena *a, struct wl_err *e)
{
    const struct wl_obs_work *amount = p->group->work;
    const struct wl_report_fan fan = { .law = p->group,
                                       .posterior = &p->posterior,
                                       .response = p->response,
                                       .name = p->group->title,
                                       .span = amount ? amount->amount : "epoch",
                                       .of_amount = amount != NULL,
                                       .asked = points->workers,
                                       .n_asked = points->n };
    return wl_report_draw(wl_report_fan_figure(&fan, a), path, a, e);
}

static struct wl_json *start_json(const char *source, const struct predict_options *o, const struct wl_law_result *r,
                                  const struct wl_prior *prior, struct wl_arena *a)
{
    struct wl_json *root = wl_analysis_json(source, a);
    wl_json_add_int(root, "drop_epochs", o->drop_epochs);
    if (!wl_str_eq(o->work, "epochs")) wl_json_add_str(root, "work", o->work);
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
    size_t from;                  /* group of the first item */
    struct wl_cmd_predicted *out; /* [items] */
    int *rc;                      /* [items] */
    struct wl_err *e;             /* [items] */
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
    w->out = wl_new_array(a, struct wl_cmd_predicted, n);
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
            struct wl_cmd_predicted *p = &w->out[i];
            if (p->n) ++*done;
            if (p->n && w->options->figure) {
                p->figure = figure_path(w->options->figure, *done, scratch);
                rc = draw_figure(p, w->points, p->figure, scratch, e);
            }
            if (rc) break;
            if (groups)
                wl_cmd_predicted_json(groups, p, w->points);
            else
                wl_cmd_predicted_print(p, w->from + i == 0, w->options->all, scratch);
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
    struct wl_busy_runs busy;
    struct wl_unlike_repeats unlike;
    struct wl_law_result result;
    struct wl_prior prior;
    struct wl_points points;
    struct wl_law_options how = { .by = o->by, .drop_epochs = o->drop_epochs, .runs_only = true };
    how.response = wl_str_eq(o->response, "energy_j") ? WL_LAW_ENERGY : WL_LAW_TIME;
    int rc = wl_prior_read(&o->prior, how.response, &prior, e);
    if (rc == 0) rc = wl_points_read(&o->at, &points, a, e);
    if (rc == 0) rc = wl_analysis_read(rest->args.v[0], &o->map, &obs, a, e);
    if (rc == 0) rc = wl_law_per_work(&obs, o->work, a, e);
    if (rc == 0) rc = wl_busy_runs_find(rest->args.v[0], o->exclude_busy, &obs, &busy, a, e);
    if (rc == 0) rc = wl_unlike_repeats_find(rest->args.v[0], &obs, &unlike, a, e);
    if (rc == 0) rc = wl_law_fit(&obs, &how, &result, a, e);
    if (rc) return rc;
    struct wl_json *root = o->json ? start_json(rest->args.v[0], o, &result, &prior, a) : NULL;
    size_t done = 0;
    struct work work = { .options = o, .laws = &result, .points = &points, .prior = &prior };
    rc = predict(&work, root ? wl_json_add_array(root, "groups") : NULL, &done, a, e);
    if (rc) return rc;
    if (root) {
        wl_busy_runs_json(&busy, root);
        wl_unlike_repeats_json(&unlike, root);
        wl_json_print(root);
    } else {
        wl_busy_runs_print(&busy, wl_screen_is_short(o->all), a);
        wl_unlike_repeats_print(&unlike, wl_screen_is_short(o->all), a);
        if (done && wl_screen_is_short(o->all))
            wl_screen_print_rest("curves with their weights, scatter, parts of the energy");
    }
    return done ? WL_EXIT_OK : WL_EXIT_FAILED;
}

const struct wl_cmd wl_cmd_predict = {
    .name = "predict",
    .usage = "STORE|CSV --at workers=N[,N...] [options]",
    .help = "predict time or energy per epoch, or other work, at other worker counts, with intervals",
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

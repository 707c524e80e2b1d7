/* wattlaw predict: time or energy per epoch at a worker count that was not measured. */
#include "cmd/cmd.h"

#include "cmd/wattlaw/analysis.h"
#include "cmd/wattlaw/format.h"
#include "law/law.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

struct predict_options {
    struct wl_strs map, by, at;
    const char *response;
    int64_t drop_epochs;
    bool force, json;
};

static const struct wl_opt options[] = {
    { .name = "at",
      .type = WL_LINES,
      .offset = offsetof(struct predict_options, at),
      .required = true,
      .unit = "workers=N",
      .help = "worker count to predict for" },
    { .name = "force",
      .type = WL_FLAG,
      .offset = offsetof(struct predict_options, force),
      .help =
          "predict beyond 4 times the measured worker counts, also with curves that failed or were not tested there" },
    WL_ANALYSIS_OPT_ROWS(struct predict_options),
    WL_FIT_OPT_ROWS(struct predict_options),
    WL_OPT_END
};

static int read_points(const struct wl_strs *at, double *workers, struct wl_err *e)
{
    static const char word[] = "workers=";
    for (size_t i = 0; i < at->n; i++) {
        bool named = wl_str_starts(at->v[i], word);
        if (!named || wl_str_to_real(at->v[i] + strlen(word), &workers[i]) || !(workers[i] > 0))
            return wl_fail(e, WL_EUSAGE, "--at %s: expected workers=N with a positive number", at->v[i]);
    }
    return 0;
}

/* ---- text ---- */

static void print_candidates(const struct wl_law_forecast *f, enum wl_law_response response, enum wl_provenance from,
                             struct wl_arena *a)
{
    struct wl_table t = wl_table_new(a);
    const char *const heads[] = { "curve", "t(N)", "weight", wl_law_response_name(response), "% off at larger N", "" };
    if (!f->n_components) return;
    for (size_t i = 0; i < WL_COUNT(heads); i++) {
        if (i == 3) wl_table_provenance_column(&t);
        wl_table_column(&t, heads[i], i > 1 && i < 5);
    }
    for (size_t i = 0; i < f->n_components; i++) {
        const struct wl_law_forecast_component *v = &f->components[i];
        wl_table_cell(&t, v->model->name);
        wl_table_cell(&t, v->model->formula);
        wl_table_cell(&t, v->reason || isnan(v->weight) ? NULL : wl_strf(a, "%.2f", v->weight));
        const struct wl_amount value = wl_amount_of(v->value, wl_law_response_unit(response), from);
        wl_table_provenance(&t, isnan(v->value) ? WL_MEASURED : from);
        wl_table_amount(&t, &value, 4);
        wl_table_real(&t, v->model->llo_pct, 3);
        wl_table_cell(&t, v->reason ? v->reason : "");
        wl_table_row(&t);
    }
    wl_print("\n");
    wl_table_print(&t, WL_STDOUT, wl_out_width(WL_STDOUT));
}

static void print_forecast(const struct wl_law_group *g, const struct wl_law_forecast *f, enum wl_law_response response,
                           struct wl_arena *a)
{
    const char *unit = wl_law_response_unit(response);
    const enum wl_provenance from =
        response == WL_LAW_ENERGY ? wl_provenance_of(g->estimated, g->simulated) : WL_MEASURED;
    if (f->refusal) {
        wl_print("  refused    N = %g: %s\n", f->workers, f->refusal);
    } else {
        wl_print("  an epoch at N = %g: %s %s%s", f->workers, wl_number_text(f->value, a), unit,
                 wl_provenance_mark(from));
        if (!isnan(f->lo))
            wl_print(", 95 %% interval %s to %s %s%s for one more run", wl_number_text(f->lo, a),
                     wl_number_text(f->hi, a), unit, wl_provenance_mark(from));
        if (f->ratio == 1)
            wl_print("; within the measured worker counts\n");
        else
            wl_print("; N is %.3g times the %s measured\n", f->ratio, f->ratio > 1 ? "most" : "least");
        if (g->scaling == WL_SCALING_WEAK) wl_print("  work       an epoch has samples in proportion to the workers\n");
    }
    for (size_t i = 0; i < f->notes.n; i++) wl_print("  note       %s\n", f->notes.v[i]);
    print_candidates(f, response, from, a);
}

/* ---- JSON ---- */

static void add_forecast(struct wl_json *array, const struct wl_law_forecast *f)
{
    struct wl_json *o = wl_json_add_object(array, NULL);
    wl_json_add_number(o, "workers", f->workers);
    wl_json_add_real(o, "range_ratio", f->ratio);
    wl_json_add_real(o, "epoch", f->value);
    struct wl_json *interval = wl_json_add_array(o, "run_interval95");
    wl_json_add_real(interval, NULL, f->lo);
    wl_json_add_real(interval, NULL, f->hi);
    wl_json_add_str(o, "basis", f->basis);
    wl_json_add_str(o, "refused", f->refusal);
    struct wl_json *models = wl_json_add_array(o, "models");
    for (size_t i = 0; i < f->n_components; i++) {
        const struct wl_law_forecast_component *v = &f->components[i];
        struct wl_json *m = wl_json_add_object(models, NULL);
        wl_json_add_str(m, "name", v->model->name);
        wl_json_add_real(m, "weight", v->reason ? NAN : v->weight);
        wl_json_add_real(m, "epoch", v->value);
        wl_json_add_real(m, "se_ln", v->se);
        wl_json_add_real(m, "llo_pct", v->model->llo_pct);
        wl_json_add_str(m, "why", v->reason);
    }
    struct wl_json *notes = wl_json_add_array(o, "notes");
    for (size_t i = 0; i < f->notes.n; i++) wl_json_add_str(notes, NULL, f->notes.v[i]);
}

static struct wl_json *add_group(struct wl_json *array, const struct wl_law_group *g)
{
    struct wl_json *o = wl_json_add_object(array, NULL), *key = wl_json_add_object(o, "key");
    for (size_t i = 0; i < g->n_key; i++)
        wl_json_add_str(key, g->key[i].column, *g->key[i].value ? g->key[i].value : NULL);
    wl_json_add_str(o, "title", g->title);
    wl_json_add_str(o, "scaling", wl_law_scaling_name(g->scaling));
    wl_json_add_bool(o, "estimated", g->estimated);
    wl_json_add_bool(o, "simulated", g->simulated);
    return wl_json_add_array(o, "predictions");
}

/* All groups at all points; returns how many were predicted. */
static size_t predict(const struct wl_law_result *r, const double *workers, size_t n, const struct predict_options *o,
                      struct wl_json *root, struct wl_arena *a)
{
    struct wl_json *groups = root ? wl_json_add_array(root, "groups") : NULL;
    size_t done = 0;
    for (size_t i = 0; i < r->n; i++) {
        const struct wl_law_group *g = &r->groups[i];
        struct wl_json *list = root ? add_group(groups, g) : NULL;
        if (!root)
            wl_print(i ? "\n%s%s%s\n" : "%s%s%s\n", g->title, g->simulated ? " (simulated)" : "",
                     g->estimated ? " (estimated)" : "");
        for (size_t j = 0; j < n; j++) {
            struct wl_law_forecast f = wl_law_forecast_at(g, workers[j], o->force, a);
            done += !f.refusal;
            if (root)
                add_forecast(list, &f);
            else
                print_forecast(g, &f, r->response, a);
        }
    }
    return done;
}

static int run(void *opts, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    const struct predict_options *o = opts;
    if (rest->args.n != 1 || rest->command)
        return wl_fail(e, WL_EUSAGE, "expected one store, campaign folder or CSV file");
    struct wl_observations obs = { 0 };
    struct wl_law_result result;
    struct wl_law_options how = { .by = o->by, .drop_epochs = o->drop_epochs, .thorough = true };
    how.response = wl_str_eq(o->response, "energy_j") ? WL_LAW_ENERGY : WL_LAW_TIME;
    double *workers = wl_new_array(a, double, o->at.n);
    int rc = read_points(&o->at, workers, e);
    if (rc == 0) rc = wl_analysis_read(rest->args.v[0], &o->map, &obs, a, e);
    if (rc == 0) rc = wl_law_fit(&obs, &how, &result, a, e);
    if (rc) return rc;
    struct wl_json *root = NULL;
    if (o->json) {
        root = wl_analysis_json(rest->args.v[0], a);
        wl_json_add_int(root, "drop_epochs", o->drop_epochs);
        wl_json_add_str(root, "response", wl_law_response_name(result.response));
        wl_json_add_str(root, "unit", wl_law_response_unit(result.response));
        wl_json_add_bool(root, "forced", o->force);
    }
    size_t done = predict(&result, workers, o->at.n, o, root, a);
    if (root) wl_json_print(root);
    return done ? WL_EXIT_OK : WL_EXIT_FAILED;
}

const struct wl_cmd wl_cmd_predict = {
    .name = "predict",
    .usage = "STORE|CSV --at workers=N [options]",
    .help = "predict time or energy per epoch at another worker count, with an interval",
    .more = "The curves of `wattlaw fit` are averaged with Akaike weights. Beyond the measured worker counts only "
            "curves that\n"
            "forecast the larger ones within 25 % are used, and the interval includes their error there. Exit status 1 "
            "if every\n"
            "prediction is refused.\n"
            "\n"
            "  wattlaw predict quickstart-results --at workers=16",
    .options = options,
    .options_size = sizeof(struct predict_options),
    .run = run,
};

/* wattlaw fit: the scaling law of each group, for people or as JSON. */
#include "cmd/wattlaw/fit/internal.h"

#include "cmd/cmd.h"
#include "cmd/wattlaw/analysis.h"
#include "cmd/wattlaw/prior.h"
#include "cmd/wattlaw/repeats.h"
#include "cmd/wattlaw/screen.h"

#include <stddef.h>

struct fit_options {
    const char *work;
    struct wl_strs map, by, prior;
    const char *response;
    int64_t drop_epochs;
    double beyond, margin;
    bool json, exclude_busy, all;
};

static const struct wl_opt options[] = {
    { .name = "beyond",
      .type = WL_REAL,
      .offset = offsetof(struct fit_options, beyond),
      .def = "0",
      .min = 0,
      .max = WL_LAW_WORKERS_MAX,
      .unit = "workers",
      .help = "largest worker count to fit when testing extrapolation to larger ones; 0: all but the two largest" },
    { .name = "margin",
      .type = WL_REAL,
      .offset = offsetof(struct fit_options, margin),
      .def = "0.05",
      .min = 0.001,
      .max = 10,
      .unit = "change",
      .help = "largest change of the exponent per factor of 10 in the worker count that still counts as a power law" },
    WL_ALL_OPT_ROW(struct fit_options),
    WL_PRIOR_OPT_ROW(struct fit_options),
    WL_ANALYSIS_OPT_ROWS(struct fit_options),
    WL_FIT_OPT_ROWS(struct fit_options),
    WL_OPT_END
};

static bool any_law(const struct wl_law_result *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->groups[i].law) return true;
    return false;
}

static int run(void *opts, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    const struct fit_options *o = opts;
    if (rest->args.n != 1 || rest->command)
        return wl_fail(e, WL_EUSAGE, "expected one store, campaign folder or CSV file");
    struct wl_observations obs = { 0 };
    struct wl_busy_runs busy;
    struct wl_unlike_repeats unlike;
    struct wl_law_result result;
    struct wl_law_curves *curves;
    struct wl_prior prior;
    struct wl_law_options how = { .by = o->by,
                                  .drop_epochs = o->drop_epochs,
                                  .beyond = o->beyond,
                                  .margin = o->margin,
                                  .thorough = true,
                                  .bootstrap = true };
    how.response = wl_str_eq(o->response, "energy_j") ? WL_LAW_ENERGY : WL_LAW_TIME;
    int rc = wl_prior_read(&o->prior, how.response, &prior, e);
    if (rc == 0) rc = wl_analysis_read(rest->args.v[0], &o->map, &obs, a, e);
    if (rc == 0) rc = wl_law_per_work(&obs, o->work, a, e);
    if (rc == 0) rc = wl_busy_runs_find(rest->args.v[0], o->exclude_busy, &obs, &busy, a, e);
    if (rc == 0) rc = wl_unlike_repeats_find(rest->args.v[0], &obs, &unlike, a, e);
    if (rc == 0) rc = wl_law_fit(&obs, &how, &result, a, e);
    if (rc == 0) rc = wl_law_curves_of_result(&result, &prior.response, &curves, a, e);
    if (rc) return rc;
    if (o->json) {
        struct wl_json *root = wl_analysis_json(rest->args.v[0], a);
        wl_json_add_int(root, "drop_epochs", o->drop_epochs);
        if (!wl_str_eq(o->work, "epochs")) wl_json_add_str(root, "work", o->work);
        wl_law_json(&result, root);
        wl_law_curves_json(curves, result.n, root);
        wl_prior_json(&prior, wl_json_add_object(root, "prior"));
        wl_busy_runs_json(&busy, root);
        wl_unlike_repeats_json(&unlike, root);
        wl_json_print(root);
    } else {
        wl_fit_print(&result, curves, &busy, &unlike, o->all, a);
    }
    return any_law(&result) ? WL_EXIT_OK : WL_EXIT_FAILED;
}

const struct wl_cmd wl_cmd_fit = {
    .name = "fit",
    .usage = "STORE|CSV [options]",
    .help = "fit the scaling law t = alpha N^-beta to each group of runs, with intervals",
    .more = "The law is fitted to runs, not to epochs; docs/guide.md explains how and why. Exit status 1 if no group "
            "has at\n"
            "least two worker counts.\n"
            "\n"
            "  wattlaw fit quickstart-results\n"
            "  wattlaw fit times.csv --map workers=gpus --map time_s=seconds --by model --json",
    .options = options,
    .options_size = sizeof(struct fit_options),
    .run = run,
};

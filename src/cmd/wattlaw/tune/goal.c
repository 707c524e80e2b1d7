/* What to search for, from the options. */
#include "cmd/cmd.h"
#include "cmd/wattlaw/analysis.h"
#include "cmd/wattlaw/tune/options.h"

#include <math.h>
#include <string.h>

/* "10%" is .1; NULL is any. */
static int parse_slowdown(const char *text, double *out, struct wl_err *e)
{
    *out = NAN;
    if (!text) return 0;
    size_t n = strlen(text);
    struct wl_arena *a = wl_arena_new(NULL);
    double percent = NAN;
    bool valid = n > 1 && text[n - 1] == '%' &&
                 wl_str_to_real(wl_str_strip(a, wl_strndup(a, text, n - 1)), &percent) == 0 && percent >= 0 &&
                 percent <= 1000;
    wl_arena_free(a);
    *out = percent / 100;
    return valid ? 0
                 : wl_fail(e, WL_EUSAGE, "--max-slowdown %s: expected a percentage from 0%% to 1000%%, such as 10%%",
                           text);
}

static enum wl_advise_cap_objective objective_of(const char *name)
{
    static const struct {
        const char *name;
        enum wl_advise_cap_objective objective;
    } table[] = { { "energy", WL_ADVISE_MIN_ENERGY },
                  { "edp", WL_ADVISE_MIN_EDP },
                  { "ed2p", WL_ADVISE_MIN_ED2P },
                  { "zeus", WL_ADVISE_MIN_ZEUS },
                  { "time", WL_ADVISE_MIN_TIME } };
    for (size_t i = 0; i < WL_COUNT(table); i++)
        if (wl_str_eq(table[i].name, name)) return table[i].objective;
    return WL_ADVISE_MIN_ENERGY;
}

static enum wl_cap_kind kind_of(const char *setting) { return wl_setting_find(setting)->cap; }

/* Curves of other workloads become the prior. */
static int read_history(const struct wl_tune_cmd_options *o, struct wl_tune_goal *goal, struct wl_arena *a,
                        struct wl_err *e)
{
    struct wl_observations obs;
    struct wl_advise_cap_curve *curves;
    struct wl_advise_cap_prior *prior;
    size_t n;
    if (!o->history) return 0;
    int rc = wl_analysis_read(o->history, &o->map, &obs, a, e);
    if (rc == 0) rc = wl_tune_history(&obs, kind_of(o->setting), &curves, &n, a, e);
    if (rc == 0) rc = wl_advise_cap_learn(curves, n, &prior, a, e);
    if (rc < 0) return wl_err_prefix(e, "--history");
    goal->prior = prior;
    if (!o->quiet) wl_eprint("tune: %zu curves of %s are the prior\n", n, o->history);
    return 0;
}

int wl_tune_cmd_goal(const struct wl_tune_cmd_options *o, struct wl_tune_goal *goal, struct wl_arena *a,
                     struct wl_err *e)
{
    *goal = (struct wl_tune_goal) {
        .objective = objective_of(o->objective), .eta = o->eta, .probability = o->probability, .most = o->most
    };
    if (o->most == 1) return wl_fail(e, WL_EUSAGE, "--max-values 1: expected at least 2 values to choose from");
    int rc = parse_slowdown(o->slowdown, &goal->slowdown, e);
    return rc ? rc : read_history(o, goal, a, e);
}

/* wattlaw tune: finds settings of a command or of an experiment by live trials. */
#include "cmd/cmd.h"
#include "cmd/wattlaw/analysis.h"
#include "cmd/wattlaw/scaling.h"
#include "cmd/wattlaw/tune/trials_view.h"
#include "cmd/wattlaw/tune/view.h"

#include <math.h>
#include <string.h>

enum { NOT_FOUND = 127, NOT_EXECUTABLE = 126, MOST_VALUES = 4 };

struct options {
    const char *store, *name, *setting, *objective, *slowdown, *history, *target;
    struct wl_reals values;
    struct wl_strs map, set;
    double eta, probability, grace_s;
    int64_t most, batch_step;
    struct wl_tune_pace pace;
    bool apply, relaunch, json, quiet, largest;
    struct wl_cooldown_opts cooldown;
    struct wl_cap_opts cap_opts;
    struct wl_power_opts power;
    struct wl_mark_regex_opts regex;
};

#define ROW(type_, field) .type = type_, .offset = offsetof(struct options, field)

static const struct wl_opt rows[] = {
    { .name = "setting",
      ROW(WL_CHOICE, setting),
      .def = "power_cap_w",
      .choices = "power_cap_w|module_cap_w|clock_mhz",
      .help = "setting to tune: power limit of each device or of its module, or clock to which each device is locked" },
    { .name = "values",
      ROW(WL_REALS, values),
      .min = WL_SETTING_CAP_MIN,
      .max = WL_SETTING_CAP_MAX,
      .unit = "W or MHz",
      .help =
          "values to choose from (default: at most 8 from the devices' minimum, or half of the largest clock, to their "
          "present limit, which is never raised)" },
    { .name = "objective",
      ROW(WL_CHOICE, objective),
      .def = "energy",
      .choices = "energy|edp|ed2p|zeus|time",
      .help = "quantity to minimize: energy, energy x time (edp), energy x time squared (ed2p), a weighted sum of "
              "energy and "
              "time (zeus, see --eta), or time" },
    { .name = "eta",
      ROW(WL_REAL, eta),
      .def = "0.5",
      .min = 0,
      .max = 1,
      .help = "weight of energy in the objective zeus: eta x energy + (1 - eta) x largest power x time" },
    { .name = "max-slowdown",
      ROW(WL_STR, slowdown),
      .unit = "PERCENT",
      .help = "allowed increase of the time per step, as 10% (default: any)" },
    { .name = "probability",
      ROW(WL_REAL, probability),
      .def = "0.9",
      .min = 0.5,
      .max = 0.999,
      .help = "probability with which --max-slowdown has to be kept" },
    { .name = "max-values",
      ROW(WL_INT, most),
      .def = "0",
      .min = 0,
      .max = 32,
      .help = "maximum number of values that are measured, the present one included; 0: 4 caps or clocks, 8 of other "
              "axes" },
    { .name = "target",
      ROW(WL_STR, target),
      .unit = "METRIC=VALUE",
      .help =
          "experiment file: cost of a trial is that of training until the metric reaches the value, where the trial "
          "ends; one that costs twice the best so far is stopped (default: cost per sample)" },
    { .name = "largest-batch",
      ROW(WL_FLAG, largest),
      .help =
          "experiment file: find the largest batch that fits in memory, from the first of [sweep] on, instead of the "
          "one with the least objective" },
    { .name = "batch-step",
      ROW(WL_INT, batch_step),
      .def = "1",
      .min = 1,
      .max = 1e9,
      .help = "number of which batches of --largest-batch are multiples" },
    { .name = "set",
      ROW(WL_LINES, set),
      .unit = "SECTION.KEY=VALUE",
      .help = "override a key of the experiment file (default: none)" },
    { .name = "history",
      ROW(WL_STR, history),
      .unit = "STORE|CSV",
      .help = "runs of other workloads under several caps, as prior knowledge of the curves (default: none)" },
    { .name = "map",
      ROW(WL_LINES, map),
      .unit = "CANONICAL=COLUMN",
      .help = "read a canonical column from a column of another name of the CSV file of --history (default: none)" },
    { .name = "window-steps",
      ROW(WL_INT, pace.min_steps),
      .def = "40",
      .min = 5,
      .max = 1e9,
      .help = "minimum number of steps of a window" },
    { .name = "window",
      ROW(WL_DURATION, pace.window_s),
      .def = "10s",
      .min = 0.1,
      .max = 86400,
      .unit = "s",
      .help = "minimum duration of the first window, whose number of steps all windows have" },
    { .name = "warm-up-steps",
      ROW(WL_INT, pace.warm_up_steps),
      .def = "10",
      .min = 0,
      .max = 1e9,
      .help = "number of first steps of a job that no window includes" },
    { .name = "settle",
      ROW(WL_DURATION, pace.settle_s),
      .def = "1s",
      .min = 0,
      .max = 3600,
      .unit = "s",
      .help = "time from setting a value to the begin of its window" },
    { .name = "apply",
      ROW(WL_FLAG, apply),
      .help = "keep the choice for the rest of the job; what was found is restored at its end in any case" },
    { .name = "relaunch",
      ROW(WL_FLAG, relaunch),
      .def = "yes",
      .help = "start the command again if a job ends before the search, or marks no steps" },
    { .name = "store",
      ROW(WL_STR, store),
      .def = WL_STORE_FILE,
      .unit = "PATH",
      .help = "store of the jobs and windows, from which a search resumes: a .db file or the folder of a campaign" },
    { .name = "name",
      ROW(WL_STR, name),
      .unit = "NAME",
      .help = "name of the search in the store (default: tune- and the command's name)" },
    { .name = "json",
      ROW(WL_FLAG, json),
      .help = "print the result as JSON on stdout, after the command; the command's own stdout goes to stderr" },
    { .name = "quiet", ROW(WL_FLAG, quiet), .help = "suppress what is known so far and the result on stderr" },
    WL_POWER_OPT_ROWS(struct options, power),
    WL_MARK_REGEX_OPT_ROWS(struct options, regex),
    WL_CAP_OPT_ROWS(struct options, cap_opts, "cap-"),
    WL_COOLDOWN_OPT_ROWS(struct options, cooldown),
    { .name = "grace",
      ROW(WL_DURATION, grace_s),
      .def = "5s",
      .min = 0,
      .max = 3600,
      .unit = "s",
      .help = "time between SIGTERM and SIGKILL for the command when wattlaw is killed" },
    WL_OPT_END,
};

/* ---- the goal ---- */

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
static int read_history(const struct options *o, struct wl_tune_goal *goal, struct wl_arena *a, struct wl_err *e)
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

static int read_goal(const struct options *o, struct wl_tune_goal *goal, struct wl_arena *a, struct wl_err *e)
{
    *goal = (struct wl_tune_goal) {
        .objective = objective_of(o->objective), .eta = o->eta, .probability = o->probability, .most = o->most
    };
    if (o->most == 1) return wl_fail(e, WL_EUSAGE, "--max-values 1: expected at least 2 values to choose from");
    int rc = parse_slowdown(o->slowdown, &goal->slowdown, e);
    return rc ? rc : read_history(o, goal, a, e);
}

/* ---- the search ---- */

/* The command's own status where it failed, else ours. */
static int status_of(const struct wl_tune *t, int rc)
{
    const struct wl_run_result *r = &t->job;
    if (rc == WL_EJOB && r->not_started) return r->not_started == WL_ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
    if (rc == WL_EJOB && r->exit.status) return r->exit.status;
    return rc < 0 ? wl_exit_status(rc) : WL_EXIT_OK;
}

static int print_results(const struct options *o, const struct wl_tune_view *view, const struct wl_tune *t, int rc,
                         struct wl_arena *a, struct wl_err *e)
{
    if (t->search) wl_tune_view_result(view, t, a);
    if (o->json && t->search) wl_json_print(wl_tune_view_json(view, t, a));
    if (rc == WL_EINTR && t->windows.n)
        wl_eprint("%zu windows are stored in %s; the same command resumes the search\n", t->windows.n,
                  wl_store_path(t->store));
    if (rc == WL_EJOB) wl_eprint("error: %s\n", e->msg);
    return rc < 0 && rc != WL_EJOB ? rc : status_of(t, rc);
}

static int search(const struct options *o, struct wl_tune_opts *how, struct wl_tune_view *view, struct wl_arena *a,
                  struct wl_err *e)
{
    struct wl_tune t = { 0 };
    int kept = -1, rc = o->json ? wl_out_redirect(&kept, e) : 0;
    if (rc < 0) return rc;
    wl_tune_view_plan(view, how->candidates, a);
    rc = wl_tune_command(how, &t, a, e);
    wl_progress_clear(&view->bar);
    if (o->json) wl_out_restore(kept);
    return print_results(o, view, &t, rc, a, e);
}

static const char *store_path(const struct options *o, struct wl_arena *a)
{
    return wl_is_dir(o->store) ? wl_path_join(a, o->store, WL_STORE_FILE) : o->store;
}

static int tune_command(const struct options *o, char **command, struct wl_arena *a, struct wl_err *e)
{
    struct wl_signals *signals;
    struct wl_tune_candidates candidates;
    const char *workload = wl_path_base(command[0]);
    struct wl_run_opts run = { .argv = command,
                               .workload = workload,
                               .pass_through = true,
                               .grace_s = o->grace_s,
                               .cooldown = o->cooldown,
                               .power = &o->power,
                               .regex = &o->regex,
                               .cap_opts = &o->cap_opts };
    struct wl_tune_opts how = { .candidates = &candidates,
                                .pace = o->pace,
                                .store = store_path(o, a),
                                .name = o->name ? o->name : wl_strf(a, "tune-%s", workload),
                                .run = &run,
                                .apply = o->apply,
                                .relaunch = o->relaunch,
                                .on_job = wl_tune_view_job,
                                .on_window = wl_tune_view_window,
                                .on_refused = wl_tune_view_refused,
                                .on_done = wl_tune_view_done,
                                .on_tick = wl_tune_view_tick };
    struct wl_tune_view view = { .goal = &how.goal, .objective = o->objective, .command = command, .quiet = o->quiet };
    how.ctx = &view;
    int rc = read_goal(o, &how.goal, a, e);
    if (how.goal.most == 0) how.goal.most = MOST_VALUES;
    how.pace.slowdown = how.goal.slowdown;
    if (rc == 0) rc = wl_sampler_cpu_check(&o->power, a, e);
    if (rc == 0) rc = wl_signals_open(&signals, true, a, e); /* before threads of setters are started */
    if (rc == 0)
        rc = wl_tune_candidates_find(kind_of(o->setting), &o->values, &o->cap_opts, &o->power, &candidates, a, e);
    if (rc < 0) return rc;
    run.signals = signals;
    return search(o, &how, &view, a, e);
}

/* ---- an experiment file ---- */

static bool is_among(const char *option, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (wl_str_eq(option, list[i])) return true;
    return !wl_str_starts(option, "--");
}

/* An option that says how a command is measured is a key of the file: it is refused, not ignored. */
static int check_options(const struct options *o, struct wl_arena *a, struct wl_err *e)
{
    static const char *const used[] = { "--objective", "--max-slowdown", "--probability",   "--max-values",
                                        "--history",   "--map",          "--set",           "--json",
                                        "--quiet",     "--target",       "--largest-batch", "--batch-step" };
    static const char *const largest[] = { "--largest-batch", "--batch-step", "--set",
                                           "--json",          "--quiet",      "--probability" };
    struct wl_strs given = { 0 };
    wl_opts_argv(rows, o, &given, a);
    for (size_t i = 0; i < given.n; i++) {
        if (!is_among(given.v[i], used, WL_COUNT(used)))
            return wl_fail(e, WL_EUSAGE, "%s is for a command after --; an experiment file has its own keys (--set)",
                           given.v[i]);
        if (o->largest && !is_among(given.v[i], largest, WL_COUNT(largest)))
            return wl_fail(e, WL_EUSAGE, "%s says nothing about the largest batch that fits", given.v[i]);
        if (!o->largest && wl_str_eq(given.v[i], "--batch-step"))
            return wl_fail(e, WL_EUSAGE, "--batch-step requires --largest-batch");
    }
    return 0;
}

static int tune_file(struct options *o, const char *path, struct wl_arena *a, struct wl_err *e)
{
    struct wl_tune_experiment x;
    struct wl_tune_experiment_opts how = {
        .path = path, .set = &o->set, .largest = o->largest, .batch_step = o->batch_step
    };
    struct wl_signals *signals;
    int rc = check_options(o, a, e);
    if (rc == 0) rc = read_goal(o, &how.goal, a, e);
    if (rc == 0 && how.goal.objective == WL_ADVISE_MIN_ZEUS)
        rc = wl_fail(e, WL_EUSAGE, "--objective zeus is for a command after --");
    if (rc == 0 && o->target) rc = wl_scaling_target_parse(o->target, &how.target.metric, &how.target.value, a, e);
    if (rc == 0) rc = wl_signals_open(&signals, false, a, e);
    if (rc < 0) return rc;
    struct wl_tune_trials_view view = {
        .objective = o->objective, .path = path, .target = o->target, .largest = o->largest, .quiet = o->quiet
    };
    how.signals = signals;
    how.on_trial = wl_tune_trials_view_trial;
    how.on_tick = wl_tune_trials_view_tick;
    how.ctx = &view;
    wl_progress_start(&view.bar, "tune");
    rc = wl_tune_experiment(&how, &x, a, e);
    wl_progress_clear(&view.bar);
    if (rc < 0) return rc;
    if (o->json)
        wl_json_print(wl_tune_trials_view_json(&view, &x, a));
    else
        wl_tune_trials_view_result(&view, &x, a);
    return WL_EXIT_OK;
}

static int run(void *options, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    struct options *o = options;
    if (!rest->command && rest->args.n == 1) return tune_file(o, rest->args.v[0], a, e);
    if (!rest->command || !rest->command[0])
        return wl_fail(e, WL_EUSAGE, "expected one experiment file, or -- and a command");
    if (rest->args.n) return wl_fail(e, WL_EUSAGE, "%s: unexpected before the command", rest->args.v[0]);
    if (o->set.n || o->target || o->largest)
        return wl_fail(e, WL_EUSAGE, "%s is for an experiment file",
                       o->set.n    ? "--set"
                       : o->target ? "--target"
                                   : "--largest-batch");
    return tune_command(o, rest->command, a, e);
}

const struct wl_cmd wl_cmd_tune = {
    .name = "tune",
    .usage = "[options] FILE.ini | [options] -- COMMAND...",
    .help = "find the power cap, clock, batch or threads of a job in few live trials",
    .more =
        "Where the command marks its steps (docs/reference/marks.md), up to four values are held for some windows of "
        "the\n"
        "running job; else the command is run once per value. Each job and each window is a run of the store. The "
        "same\n"
        "command resumes a search that was stopped.\n"
        "\n"
        "Exit status: 0 a choice was made, 1 none could be made, 2 wrong usage, 126 and 127 the command could not be\n"
        "started, 130 interrupted; else that of the command, if it failed.\n"
        "\n"
        "  sudo wattlaw tune --max-slowdown 10% --apply -- python3 train.py\n"
        "  sudo wattlaw tune --setting clock_mhz --objective edp --history results/wattlaw.db -- ./train.sh\n"
        "  wattlaw tune --objective time --target val_top1=0.75 batches.ini\n"
        "  wattlaw tune --largest-batch batches.ini --set launch.timeout=10m",
    .options = rows,
    .options_size = sizeof(struct options),
    .run = run,
};

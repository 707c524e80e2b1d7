/* wattlaw tune: finds settings of a command or of an experiment by live trials. */
#include "cmd/cmd.h"
#include "cmd/wattlaw/tune/options.h"
#include "cmd/wattlaw/tune/view.h"

#include <math.h>
#include <string.h>

enum { NOT_FOUND = 127, NOT_EXECUTABLE = 126, MOST_VALUES = 4 };

#define ROW(type_, field) .type = type_, .offset = offsetof(struct wl_tune_cmd_options, field)

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
    WL_POWER_OPT_ROWS(struct wl_tune_cmd_options, power),
    WL_MARK_REGEX_OPT_ROWS(struct wl_tune_cmd_options, regex),
    WL_CAP_OPT_ROWS(struct wl_tune_cmd_options, cap_opts, "cap-"),
    WL_COOLDOWN_OPT_ROWS(struct wl_tune_cmd_options, cooldown),
    { .name = "grace",
      ROW(WL_DURATION, grace_s),
      .def = "5s",
      .min = 0,
      .max = 3600,
      .unit = "s",
      .help = "time between SIGTERM and SIGKILL for the command when wattlaw is killed" },
    WL_OPT_END,
};

/* ---- the search ---- */

/* The command's own status where it failed, else ours. */
static int status_of(const struct wl_tune *t, int rc)
{
    const struct wl_run_result *r = &t->job;
    if (rc == WL_EJOB && r->not_started) return r->not_started == WL_ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
    if (rc == WL_EJOB && r->exit.status) return r->exit.status;
    return rc < 0 ? wl_exit_status(rc) : WL_EXIT_OK;
}

static int print_results(const struct wl_tune_cmd_options *o, const struct wl_tune_view *view, const struct wl_tune *t,
                         int rc, struct wl_arena *a, struct wl_err *e)
{
    if (t->search) wl_tune_view_result(view, t, a);
    if (o->json && t->search) wl_json_print(wl_tune_view_json(view, t, a));
    if (rc == WL_EINTR && t->windows.n)
        wl_eprint("%zu windows are stored in %s; the same command resumes the search\n", t->windows.n,
                  wl_store_path(t->store));
    if (rc == WL_EJOB) wl_eprint("error: %s\n", e->msg);
    return rc < 0 && rc != WL_EJOB ? rc : status_of(t, rc);
}

static int search(const struct wl_tune_cmd_options *o, struct wl_tune_opts *how, struct wl_tune_view *view,
                  struct wl_arena *a, struct wl_err *e)
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

static const char *store_path(const struct wl_tune_cmd_options *o, struct wl_arena *a)
{
    return wl_is_dir(o->store) ? wl_path_join(a, o->store, WL_STORE_FILE) : o->store;
}

/* The values. Nobody else may change the limits from now on: the one that is in effect is the reference. */
static int find_values(const struct wl_tune_cmd_options *o, const char *name, struct wl_tune_candidates *out,
                       struct wl_arena *a, struct wl_err *e)
{
    const enum wl_cap_kind kind = wl_setting_find(o->setting)->cap;
    bool kinds[WL_CAP_KINDS] = { false };
    kinds[kind] = true;
    int rc = wl_caps_reserve(kinds, wl_strf(a, "tune %s", name), &o->cap_opts, &o->power, a, e);
    return rc ? rc : wl_tune_candidates_find(kind, &o->values, &o->cap_opts, &o->power, out, a, e);
}

static int tune_command(const struct wl_tune_cmd_options *o, char **command, struct wl_arena *a, struct wl_err *e)
{
    struct wl_signals *signals;
    struct wl_tune_candidates candidates;
    const char *workload = wl_command_name(command, a);
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
    int rc = wl_tune_cmd_goal(o, &how.goal, a, e);
    if (how.goal.most == 0) how.goal.most = MOST_VALUES;
    how.pace.slowdown = how.goal.slowdown;
    if (rc == 0) rc = wl_sampler_cpu_check(&o->power, a, e);
    if (rc == 0) rc = wl_signals_open(&signals, true, a, e); /* before threads of setters are started */
    if (rc == 0) rc = find_values(o, how.name, &candidates, a, e);
    if (rc < 0) return rc;
    run.signals = signals;
    return search(o, &how, &view, a, e);
}

static int run(void *options, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_tune_cmd_options *o = options;
    const bool is_file = !rest->command && rest->args.n == 1;
    if (!is_file && (!rest->command || !rest->command[0]))
        return wl_fail(e, WL_EUSAGE, "expected one experiment file, or -- and a command");
    if (!is_file && rest->args.n) return wl_fail(e, WL_EUSAGE, "%s: unexpected before the command", rest->args.v[0]);
    const int rc = wl_tune_cmd_check(o, is_file, &rest->given, e);
    if (rc < 0) return rc;
    return is_file ? wl_tune_cmd_file(o, rest->args.v[0], a, e) : tune_command(o, rest->command, a, e);
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
    .options_size = sizeof(struct wl_tune_cmd_options),
    .run = run,
};

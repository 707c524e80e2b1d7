/* wattlaw sweep: runs a campaign, or says what it would run. */
#include "cmd/wattlaw/footprint.h"
#include "cmd/wattlaw/screen.h"
#include "cmd/wattlaw/stop_at.h"
#include "cmd/wattlaw/sweep/command.h"
#include "cmd/wattlaw/sweep/internal.h"

struct options {
    struct wl_strs axis, set, stop_at;
    const char *epoch_regex;
    bool dry_run, cap_dry_run, retry_failed, detach, json, keys, quiet, all;
};

static const struct wl_opt rows[] = {
    { .name = "axis",
      .type = WL_LINES,
      .offset = offsetof(struct options, axis),
      .unit = "KEY=VALUES",
      .help = "values of a setting to try COMMAND with, as workers=1,2,4; COMMAND has {workers} in its place (default: "
              "none)" },
    { .name = "epoch-regex",
      .type = WL_STR,
      .offset = offsetof(struct options, epoch_regex),
      .unit = "REGEX",
      .help =
          "regular expression of COMMAND's output lines that report an epoch, as 'epoch ([0-9]+)' (default: none)" },
    { .name = "set",
      .type = WL_LINES,
      .offset = offsetof(struct options, set),
      .unit = "SECTION.KEY=VALUE",
      .help = "override a key of the experiment, which --keys lists (default: none)" },
    { .name = "stop-at",
      .type = WL_STRS,
      .offset = offsetof(struct options, stop_at),
      .unit = "LIMIT",
      .help =
          "energy, cost or time at which the whole campaign is stopped, such as 2kWh, 50EUR (with price in [measure]) "
          "or 3h; "
          "a larger limit resumes the campaign (default: none)" },
    { .name = "dry-run",
      .type = WL_FLAG,
      .offset = offsetof(struct options, dry_run),
      .help = "print trials, runs, their order and commands, and check the experiment; run nothing; for launcher slurm "
              "write the scripts" },
    { .name = "cap-dry-run",
      .type = WL_FLAG,
      .offset = offsetof(struct options, cap_dry_run),
      .help = "print which caps each trial would set on which device of which node; set and run nothing" },
    { .name = "retry-failed",
      .type = WL_FLAG,
      .offset = offsetof(struct options, retry_failed),
      .help = "run failed runs again" },
    { .name = "detach",
      .type = WL_FLAG,
      .offset = offsetof(struct options, detach),
      .help = "launcher slurm or command: collect what has ended, submit what is missing, and do not wait" },
    { .name = "json", .type = WL_FLAG, .offset = offsetof(struct options, json), .help = "print the result as JSON" },
    WL_ALL_OPT_ROW(struct options),
    { .name = "keys",
      .type = WL_FLAG,
      .offset = offsetof(struct options, keys),
      .help = "list the keys of an experiment file" },
    { .name = "quiet", .type = WL_FLAG, .offset = offsetof(struct options, quiet), .help = "hide the progress bar" },
    WL_OPT_END,
};

static const struct wl_stop_at_price price_keys = { .price = "the key price of [measure] (--set measure.price=0.25)",
                                                    .currency = "--set measure.currency=" };

static int run_campaign(const struct options *o, const struct wl_experiment *x, struct wl_arena *a, struct wl_err *e)
{
    struct wl_sweep_view v = { .x = x, .json = o->json, .footprint = x->measure.footprint };
    struct wl_signals *signals;
    struct wl_run_limit *limits;
    int rc = wl_cmd_footprint_complete(&v.footprint, a, e);
    if (rc == 0) rc = wl_stop_at_parse(&o->stop_at, &v.footprint, &price_keys, &limits, a, e);
    if (rc == 0) rc = wl_signals_open(&signals, false, a, e);
    if (rc < 0) return rc;
    struct wl_sweep_opts how = { .retry_failed = o->retry_failed,
                                 .detach = o->detach,
                                 .signals = signals,
                                 .limits = limits,
                                 .n_limits = o->stop_at.n,
                                 .on_start = wl_sweep_view_start,
                                 .on_tick = o->quiet ? NULL : wl_sweep_view_tick,
                                 .on_run = wl_sweep_view_run,
                                 .on_control = wl_sweep_view_control,
                                 .ctx = &v };
    struct wl_sweep_result r;
    rc = wl_sweep_run(x, &how, &r, a, e);
    wl_progress_clear(&v.bar);
    return wl_sweep_view_end(&v, &r, rc, a, e);
}

/* From the file, or from --axis and COMMAND. */
static int read_experiment(const struct options *o, const struct wl_opts_args *rest, struct wl_experiment *x,
                           struct wl_arena *a, struct wl_err *e)
{
    if (rest->command && *rest->command) {
        if (rest->args.n)
            return wl_fail(e, WL_EUSAGE, "%s: expected an experiment file or -- COMMAND, not both", rest->args.v[0]);
        return wl_sweep_command_experiment(&o->axis, o->epoch_regex, rest->command, &o->set, x, a, e);
    }
    if (o->axis.n) return wl_fail(e, WL_EUSAGE, "--axis requires -- COMMAND; in a file, [sweep] has the axes");
    if (o->epoch_regex)
        return wl_fail(e, WL_EUSAGE, "--epoch-regex requires -- COMMAND; in a file, [measure] has epoch_regex");
    if (rest->args.n != 1)
        return wl_fail(e, WL_EUSAGE,
                       rest->args.n ? "expected one experiment file" : "experiment file is missing, or -- COMMAND");
    return wl_experiment_read(rest->args.v[0], &o->set, x, a, e);
}

static int run(void *options, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    const struct options *o = options;
    if (o->keys) {
        wl_experiment_print_keys(WL_STDOUT);
        return WL_EXIT_OK;
    }
    struct wl_experiment x;
    int rc = read_experiment(o, rest, &x, a, e);
    if (rc < 0) return rc;
    for (size_t i = 0; i < x.notes.n; i++) wl_eprint("note: %s\n", x.notes.v[i]);
    if (o->cap_dry_run) return wl_sweep_cap_dry_run(&x, a, e);
    return o->dry_run ? wl_sweep_dry_run(&x, o->json, o->all, a, e) : run_campaign(o, &x, a, e);
}

const struct wl_cmd wl_cmd_sweep = {
    .name = "sweep",
    .usage = "[options] FILE.ini | [options] -- COMMAND...",
    .help = "run a campaign: measure and store every setting of a grid, several times each",
    .more =
        "The same command resumes after Ctrl-C, a crash or a reboot: finished runs are never repeated.\n"
        "Exit status: 0 all runs are done, 1 some failed, 2 wrong usage, 124 a limit was reached, 130 interrupted.\n"
        "\n"
        "    wattlaw sweep --axis workers=1,2 --axis batch=16,32 -- python3 train.py --workers {workers} --batch "
        "{batch}\n"
        "    wattlaw sweep experiments/quickstart.ini --dry-run\n"
        "    wattlaw sweep experiments/quickstart.ini --set campaign.repeats=5",
    .options = rows,
    .options_size = sizeof(struct options),
    .run = run,
};

/* wattlaw sweep: runs a campaign, or says what it would run. */
#include "campaign/campaign.h"
#include "cmd/cmd.h"
#include "cmd/wattlaw/cap_plan.h"
#include "cmd/wattlaw/footprint.h"
#include "cmd/wattlaw/format.h"
#include "cmd/wattlaw/rules.h"
#include "cmd/wattlaw/screen.h"
#include "cmd/wattlaw/stop_at.h"
#include "cmd/wattlaw/store.h"
#include "cmd/wattlaw/sweep_command.h"
#include "cmd/wattlaw/totals.h"
#include "cmd/wattlaw/work.h"

#include <math.h>
#include <string.h>

enum { SKIPPED_SHOWN = 10, SKIPPED_ON_SCREEN = 5 };

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

/* ---- the plan ---- */

static void json_trials(const struct wl_grid *g, struct wl_json *to)
{
    struct wl_json *trials = wl_json_add_array(to, "trials");
    for (size_t i = 0; i < g->n_trials; i++) {
        const struct wl_trial *t = &g->trials[i];
        const struct wl_settings set = wl_trial_settings(t);
        struct wl_json *o = wl_json_add_object(trials, NULL);
        wl_json_add_str(o, "trial", t->label);
        wl_cmd_settings_json(&set, o);
        wl_json_add_str(o, "skipped", t->skip);
    }
}

/* The command of planned run i, quoted for sh. */
static int command_text(const struct wl_experiment *x, const struct wl_grid *g, size_t i, const char **text,
                        struct wl_arena *a, struct wl_err *e)
{
    struct wl_strs words;
    const struct wl_planned_run *r = &g->runs[i];
    int rc = wl_trial_command(x, &g->trials[r->trial], r->repeat, NULL, &words, a, e);
    if (rc < 0) return rc;
    char **argv = wl_new_array(a, char *, words.n + 1);
    memcpy(argv, words.v, words.n * sizeof *argv);
    *text = wl_shell_quote(a, argv);
    return 0;
}

static int plan_json(const struct wl_experiment *x, const struct wl_grid *g, struct wl_arena *a, struct wl_err *e)
{
    struct wl_json *root = wl_json_root_object(a);
    wl_json_add_str(root, "campaign", x->campaign.name);
    wl_json_add_str(root, "store", x->campaign.store);
    json_trials(g, root);
    struct wl_json *runs = wl_json_add_array(root, "runs");
    for (size_t i = 0; i < g->n_runs; i++) {
        const char *command;
        int rc = command_text(x, g, i, &command, a, e);
        if (rc < 0) return rc;
        struct wl_json *o = wl_json_add_object(runs, NULL);
        wl_json_add_str(o, "trial", g->trials[g->runs[i].trial].label);
        wl_json_add_int(o, "repeat", g->runs[i].repeat);
        wl_json_add_str(o, "command", command);
    }
    wl_json_print(root);
    return WL_EXIT_OK;
}

static void print_count(const struct wl_experiment *x, const struct wl_grid *g, enum wl_out to)
{
    size_t can = g->n_trials - g->n_skipped;
    wl_fprint(to, "campaign %s: %zu trial%s x %lld repeat%s = %zu run%s", x->campaign.name, can, can == 1 ? "" : "s",
              (long long)x->campaign.repeats, x->campaign.repeats == 1 ? "" : "s", g->n_runs,
              g->n_runs == 1 ? "" : "s");
    if (g->n_skipped) wl_fprint(to, "; %zu trial%s cannot be run here", g->n_skipped, g->n_skipped == 1 ? "" : "s");
    wl_fprint(to, "\n");
}

static void print_skipped(const struct wl_grid *g, size_t max_shown, enum wl_out to)
{
    size_t n = 0;
    for (size_t i = 0; i < g->n_trials; i++)
        if (g->trials[i].skip && n++ < max_shown)
            wl_fprint(to, "skipped  %s: %s\n", g->trials[i].label, g->trials[i].skip);
    if (n > max_shown) wl_fprint(to, "skipped  %zu more (--dry-run --all lists them)\n", n - max_shown);
}

static int plan_text(const struct wl_experiment *x, const struct wl_grid *g, bool all, struct wl_arena *a,
                     struct wl_err *e)
{
    struct wl_table t = wl_table_new(a);
    wl_table_column(&t, "run", true);
    wl_table_column(&t, "repeat", true);
    wl_table_column(&t, "trial", false);
    wl_table_column(&t, "command", false);
    for (size_t i = 0; i < g->n_runs; i++) {
        const char *command;
        int rc = command_text(x, g, i, &command, a, e);
        if (rc < 0) return rc;
        wl_table_cellf(&t, "%zu", i + 1);
        wl_table_cellf(&t, "%lld", (long long)g->runs[i].repeat);
        wl_table_cell(&t, g->trials[g->runs[i].trial].label);
        wl_table_cell(&t, command);
        wl_table_row(&t);
    }
    print_count(x, g, WL_STDOUT);
    print_skipped(g, wl_screen_is_short(all) ? SKIPPED_ON_SCREEN : g->n_trials, WL_STDOUT);
    const size_t cut = wl_screen_table_begin(&t, all, 2);
    if (cut) wl_screen_print_rest(wl_strf(a, "the last %zu of %zu runs", cut, g->n_runs));
    return WL_EXIT_OK;
}

/* Prints the plan, then returns the error for which the sweep would not start. */
static int dry_run(const struct options *o, const struct wl_experiment *x, struct wl_arena *a, struct wl_err *e)
{
    struct wl_grid g = { 0 };
    struct wl_footprint footprint = x->measure.footprint;
    struct wl_arena *held = wl_arena_new(a); /* sensors, and reservations of devices */
    const char *scripts;
    int rc = wl_sweep_check(x, &g, &scripts, held, e);
    if (rc == 0) rc = wl_cmd_footprint_complete(&footprint, a, e);
    if (g.n_trials) {
        struct wl_err why;
        int plan_rc = o->json ? plan_json(x, &g, a, &why) : plan_text(x, &g, o->all, a, &why);
        if (rc == 0 && plan_rc < 0) rc = wl_fail(e, plan_rc, "%s", why.msg);
    }
    if (rc == 0 && scripts && !o->json)
        wl_print("scripts in %s: each can be submitted, any number of times\n", scripts);
    wl_arena_free(held);
    return rc < 0 ? rc : WL_EXIT_OK;
}

/* Trials with the same caps on the same number of nodes print the same. */
static bool already_printed(const struct wl_grid *g, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        const struct wl_trial *a = &g->trials[k], *b = &g->trials[i];
        bool same = a->nodes == b->nodes && !a->skip;
        for (int kind = 0; kind < WL_CAP_KINDS; kind++)
            same &=
                a->cap.value[kind] == b->cap.value[kind] || (isnan(a->cap.value[kind]) && isnan(b->cap.value[kind]));
        if (same) return true;
    }
    return false;
}

static int cap_dry_run(const struct wl_experiment *x, struct wl_arena *a, struct wl_err *e)
{
    struct wl_grid g;
    struct wl_machine here = wl_machine_detect(x, a);
    int rc = wl_grid_make(x, &here, &g, a, e);
    for (size_t i = 0; i < g.n_trials && rc == 0; i++) {
        const struct wl_trial *t = &g.trials[i];
        if (t->skip || !wl_cap_is_requested(&t->cap) || already_printed(&g, i)) continue;
        wl_print("%s\n", t->label);
        if (wl_out_flush()) break; /* stdout is closed */
        rc = wl_experiment_is_multinode(x) ? wl_trial_cap_dry_run(x, t, a, e)
                                           : wl_cmd_cap_plan_print(&t->cap, &x->cap.opts, &x->measure.power, "", a, e);
    }
    if (rc == 0) print_skipped(&g, g.n_trials, WL_STDOUT);
    return rc;
}

/* ---- the campaign ---- */

struct view {
    const struct options *o;
    const struct wl_experiment *x;
    const struct wl_grid *grid;
    struct wl_footprint footprint; /* completed */
    struct wl_progress bar;
    size_t ended, to_run;
};

static void on_start(void *ctx, const struct wl_grid *g, size_t to_run)
{
    struct view *v = ctx;
    v->grid = g;
    v->to_run = to_run;
    print_count(v->x, g, WL_STDERR);
    print_skipped(g, SKIPPED_SHOWN, WL_STDERR);
    if (to_run && to_run < g->n_runs) wl_eprint("%zu of %zu runs are still to be made\n", to_run, g->n_runs);
    wl_progress_start(&v->bar, "sweep");
}

static void on_tick(void *ctx, double done, double total, double left_s, const char *note)
{
    struct view *v = ctx;
    wl_progress_update(&v->bar, done, total, left_s, note);
}

/* Carbon and cost of the run, if the experiment gives an intensity or a price. */
static void print_footprint(const struct view *v, const struct wl_run_result *r, struct wl_arena *a)
{
    const char *why;
    const struct wl_amount energy = wl_totals_energy(r, NAN);
    if (isnan(energy.value)) return;
    struct wl_footprint f = wl_cmd_footprint_of_run(&v->footprint, r->store, r->run, &why, a);
    const char *brief = wl_cmd_footprint_brief(&f, &energy, a);
    if (brief) wl_eprint(", %s", brief);
}

static void print_steps(const struct wl_run_result *r, struct wl_arena *a)
{
    const struct wl_span_row *steps = wl_work_span(r->derived.spans, r->derived.n_spans, WL_SPAN_STEPS);
    if (!steps || !(steps->steps > 0)) return;
    wl_eprint(", %s steps", wl_number_text(steps->steps, a));
    if (steps->tokens > 0) wl_eprint(", %s tokens", wl_number_text(steps->tokens, a));
}

static void print_rules(const struct view *v, const struct wl_run_result *r, struct wl_arena *a)
{
    struct wl_rule_checks checks;
    struct wl_store *s;
    struct wl_err e;
    if (!v->x->measure.rules) return;
    int rc = wl_store_open(&s, r->store, WL_STORE_READ, a, &e);
    if (rc == 0) {
        rc = wl_rules_mlperf(s, r->run, &checks, a, &e);
        wl_store_close(s);
    }
    wl_eprint("      %s\n", rc < 0 ? e.msg : wl_rules_brief(&checks, a));
}

static void on_run(void *ctx, const struct wl_grid *g, size_t planned, int64_t run, const struct wl_run_result *r)
{
    struct view *v = ctx;
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_planned_run *p = &g->runs[planned];
    wl_progress_clear(&v->bar);
    v->ended += r->status != WL_RUN_INTERRUPTED; /* in a job: it gets another attempt */
    wl_eprint("%zu/%zu  run %lld  %s, repeat %lld: ", v->ended, v->to_run, (long long)run, g->trials[p->trial].label,
              (long long)p->repeat);
    if (r->status == WL_RUN_DONE) {
        wl_eprint("%s", wl_human_time(a, (double)(r->end_ns - r->start_ns) / WL_NS_PER_S));
        const struct wl_amount energy = wl_totals_energy(r, NAN);
        if (!isnan(energy.value)) wl_eprint(", %s", wl_amount_text(&energy, a));
        print_footprint(v, r, a);
        if (r->derived.n_epochs)
            wl_eprint(", %s", wl_format_count(r->derived.n_epochs, "epoch", a));
        else
            print_steps(r, a);
        wl_eprint("\n");
        print_rules(v, r, a);
    } else {
        wl_fprint_in(WL_STDERR, WL_BAD, "%s", r->error);
        wl_eprint("\n");
    }
    wl_arena_free(a);
}

static void result_json(const struct wl_experiment *x, const struct view *v, const struct wl_sweep_result *r,
                        struct wl_arena *a)
{
    struct wl_json *root = wl_json_root_object(a);
    wl_json_add_str(root, "campaign", x->campaign.name);
    wl_json_add_str(root, "store", r->store);
    wl_json_add_int(root, "runs", (int64_t)r->planned);
    wl_json_add_int(root, "done", (int64_t)r->done);
    wl_json_add_int(root, "done_before", (int64_t)r->done_before);
    if (wl_experiment_is_batch(x)) {
        wl_json_add_int(root, "in_queue", (int64_t)r->in_queue);
        wl_json_add_int(root, "not_submitted", (int64_t)r->not_submitted);
    }
    if (r->n_limits) wl_stop_at_states_json(r->limits, r->n_limits, NAN, root);
    if (v->grid) json_trials(v->grid, root);
    struct wl_json *failed = wl_json_add_array(root, "failed");
    for (size_t i = 0; i < r->n_failed; i++) {
        struct wl_json *o = wl_json_add_object(failed, NULL);
        wl_json_add_int(o, "run", r->failed[i].run);
        wl_json_add_str(o, "trial", r->failed[i].trial);
        wl_json_add_int(o, "repeat", r->failed[i].repeat);
        wl_json_add_str(o, "error", r->failed[i].error);
        wl_json_add_str(o, "log", r->failed[i].log);
    }
    wl_json_print(root);
}

static void result_text(const struct wl_experiment *x, const struct wl_sweep_result *r)
{
    wl_print("%zu of %zu runs of campaign %s are done: %s\n", r->done, r->planned, x->campaign.name, r->store);
    for (size_t i = 0; i < r->n_failed; i++)
        wl_print("failed  run %lld  %s, repeat %lld: %s (%s)\n", (long long)r->failed[i].run, r->failed[i].trial,
                 (long long)r->failed[i].repeat, r->failed[i].error, r->failed[i].log);
    if (r->n_failed) wl_print("use --retry-failed to run these again\n");
    if (r->in_queue + r->not_submitted)
        wl_print("%zu job%s in the queue, %zu run%s not submitted: the same command collects and goes on\n",
                 r->in_queue, r->in_queue == 1 ? "" : "s", r->not_submitted, r->not_submitted == 1 ? "" : "s");
    if (r->done) wl_print("next: wattlaw recommend %s; wattlaw report %s\n", r->store, r->store);
}

static const struct wl_run_limit_state *limit_reached(const struct wl_sweep_result *r)
{
    for (size_t i = 0; i < r->n_limits; i++)
        if (r->limits[i].reached) return &r->limits[i];
    return NULL;
}

/* What the campaign has used of its limits, and what all of its runs are expected to. */
static void print_limits(const struct wl_sweep_result *r, struct wl_arena *a)
{
    for (size_t i = 0; i < r->n_limits; i++) {
        const struct wl_run_limit_state *s = &r->limits[i];
        wl_eprint("limit of %s: %s used", s->limit.text, wl_run_limit_used(s, s->used, a));
        if (r->done < r->planned && !isnan(s->forecast))
            wl_eprint(", all %zu runs take about %s", r->planned, wl_run_limit_forecast(s, a));
        wl_eprint("\n");
    }
}

/* The end of a sweep at a limit: not an error. */
static int stopped_at_limit(const struct view *v, const struct wl_sweep_result *r, const struct wl_err *e,
                            struct wl_arena *a)
{
    wl_eprint("%s\n", e->msg);
    print_limits(r, a);
    wl_eprint("%zu of %zu runs are done and stored in %s; the same command with a larger --stop-at goes on\n", r->done,
              r->planned, r->store);
    if (v->o->json) result_json(v->x, v, r, a);
    return WL_EXIT_LIMIT;
}

/* The message after a sweep that ended early. */
static int ended_early(const struct view *v, const struct wl_sweep_result *r, int rc, struct wl_err *e)
{
    if (!v->grid || (r->done == 0 && rc != WL_EINTR)) return rc; /* nothing was run: the error says why */
    wl_eprint("%zu of %zu runs are done and stored in %s; the same command resumes with the rest\n", r->done,
              r->planned, r->store);
    return rc < 0 && e->code == rc ? rc : WL_EXIT_FAILED;
}

static int run_campaign(const struct options *o, const struct wl_experiment *x, struct wl_arena *a, struct wl_err *e)
{
    struct view v = { .o = o, .x = x, .footprint = x->measure.footprint };
    struct wl_signals *signals;
    struct wl_run_limit *limits;
    int rc = wl_cmd_footprint_complete(&v.footprint, a, e);
    if (rc == 0) rc = wl_stop_at_parse(&o->stop_at, &v.footprint, &limits, a, e);
    if (rc == 0) rc = wl_signals_open(&signals, false, a, e);
    if (rc < 0) return rc;
    struct wl_sweep_opts how = { .retry_failed = o->retry_failed,
                                 .detach = o->detach,
                                 .signals = signals,
                                 .limits = limits,
                                 .n_limits = o->stop_at.n,
                                 .on_start = on_start,
                                 .on_tick = o->quiet ? NULL : on_tick,
                                 .on_run = on_run,
                                 .ctx = &v };
    struct wl_sweep_result r;
    rc = wl_sweep_run(x, &how, &r, a, e);
    wl_progress_clear(&v.bar);
    if (rc == WL_EINTR && limit_reached(&r)) return stopped_at_limit(&v, &r, e, a);
    if (rc < 0) return ended_early(&v, &r, rc, e);
    print_limits(&r, a);
    if (o->json)
        result_json(x, &v, &r, a);
    else if (r.planned)
        result_text(x, &r);
    if (r.planned == 0) return wl_sweep_is_empty(x, e);
    return r.n_failed ? WL_EXIT_FAILED : WL_EXIT_OK;
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
    if (o->cap_dry_run) return cap_dry_run(&x, a, e);
    return o->dry_run ? dry_run(o, &x, a, e) : run_campaign(o, &x, a, e);
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

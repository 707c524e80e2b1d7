/* wattlaw measure: runs any command under the sampler. */
#include "cmd/cmd.h"
#include "cmd/wattlaw/attribution.h"
#include "cmd/wattlaw/cap_plan.h"
#include "cmd/wattlaw/footprint.h"
#include "cmd/wattlaw/measure/attach.h"
#include "cmd/wattlaw/measure/summary.h"
#include "cmd/wattlaw/rules.h"
#include "cmd/wattlaw/stop_at.h"
#include "cmd/wattlaw/totals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NOT_FOUND = 127, NOT_EXECUTABLE = 126 };

struct options {
    const char *store, *name, *rules, *json_file, *attribute;
    bool json, quiet, cap_dry_run;
    double grace_s, merge_wait_s, node_wait_s, idle_s;
    struct wl_cooldown_opts cooldown;
    const char *node_of, *local_dir;
    struct wl_cap_request cap;
    struct wl_cap_opts cap_opts;
    struct wl_power_opts power;
    struct wl_mark_regex_opts regex;
    struct wl_footprint footprint;
    struct wl_strs stop_at;
    const char *training;
    struct wl_measure_attach attach;
    struct wl_run_limits *limits; /* from stop_at; NULL: none */
};

static const struct wl_opt rows[] = {
    { .name = "store",
      .type = WL_STR,
      .offset = offsetof(struct options, store),
      .def = WL_STORE_FILE,
      .unit = "PATH",
      .help = "store to add the run to: a .db file or the folder of a campaign" },
    { .name = "name",
      .type = WL_STR,
      .offset = offsetof(struct options, name),
      .unit = "NAME",
      .help = "name of the workload in tables (default: from the start mark, else the command's name)" },
    WL_MEASURE_ATTACH_OPT_ROWS(struct options, attach),
    WL_POWER_OPT_ROWS(struct options, power),
    WL_MARK_REGEX_OPT_ROWS(struct options, regex),
#define SETTING_CAP(member, option, unit_, kind, grid, help_, ...) \
    { .name = option,                                              \
      .type = WL_REAL,                                             \
      .offset = offsetof(struct options, cap.value[kind]),         \
      .min = WL_SETTING_CAP_MIN,                                   \
      .max = WL_SETTING_CAP_MAX,                                   \
      .unit = unit_,                                               \
      .help = help_ " while the command runs (default: none)" },
#include "settings/settings.def"
    WL_CAP_OPT_ROWS(struct options, cap_opts, "cap-"),
    { .name = "cap-dry-run",
      .type = WL_FLAG,
      .offset = offsetof(struct options, cap_dry_run),
      .help = "print which caps would be set on which device; set and run nothing" },
    WL_ATTRIBUTE_OPT_ROW(struct options, attribute),
    WL_STOP_AT_OPT_ROW(struct options, stop_at),
    { .name = "training",
      .type = WL_STR,
      .offset = offsetof(struct options, training),
      .unit = "NAME",
      .help = "name of a training whose jobs and restarts wattlaw show --training NAME adds up (default: none)" },
    WL_FOOTPRINT_OPT_ROWS(struct options, footprint),
    WL_RULES_OPT_ROW(struct options, "check the measurement against the power rules of a benchmark (default: none)"),
    { .name = "json",
      .type = WL_FLAG,
      .offset = offsetof(struct options, json),
      .help = "print the summary as JSON on stdout, after the command; the command's own stdout goes to stderr" },
    { .name = "json-file",
      .type = WL_STR,
      .offset = offsetof(struct options, json_file),
      .unit = "FILE",
      .help = "file to write the summary to, as JSON (default: none)" },
    { .name = "quiet",
      .type = WL_FLAG,
      .offset = offsetof(struct options, quiet),
      .help = "suppress the summary on stderr" },
    { .name = "idle",
      .type = WL_DURATION,
      .offset = offsetof(struct options, idle_s),
      .def = "0",
      .min = 0,
      .max = 25,
      .unit = "s",
      .help = "duration of the idle measurement before and after the command; 0: none" },
    WL_COOLDOWN_OPT_ROWS(struct options, cooldown),
    { .name = "merge-wait",
      .type = WL_DURATION,
      .offset = offsetof(struct options, merge_wait_s),
      .def = "30s",
      .min = 0,
      .max = 86400,
      .unit = "s",
      .help = "multi-node: maximum wait of rank 0's node for the stores of the other nodes" },
    WL_NODE_WAIT_ROW(struct options, node_wait_s),
    { .name = "node-of",
      .type = WL_STR,
      .offset = offsetof(struct options, node_of),
      .unit = "FOLDER",
      .help = "run folder of a campaign, to measure one node's part of a run; filled in by {measure} of an experiment "
              "(default: none)" },
    { .name = "local-dir",
      .type = WL_STR,
      .offset = offsetof(struct options, local_dir),
      .unit = "FOLDER",
      .help =
          "folder on the node's disk that holds the part of --node-of until the run ends (default: TMPDIR, "
          "/tmp or /dev/shm)" },
    { .name = "grace",
      .type = WL_DURATION,
      .offset = offsetof(struct options, grace_s),
      .def = "5s",
      .min = 0,
      .max = 3600,
      .unit = "s",
      .help = "time between SIGTERM and SIGKILL for the command when wattlaw is killed or a limit of --stop-at is "
              "reached" },
    WL_OPT_END,
};

/* ---- the run ---- */

/* Plans a run of the campaign "measure"; its trial has the name given by --name, if any. */
static int plan_run(struct wl_store *s, const char *name, const struct wl_cap_request *cap, int64_t *run,
                    struct wl_err *e)
{
    struct wl_settings set = wl_settings_none;
    set.workload = name;
    wl_settings_set_caps(&set, cap);
    int rc = wl_store_begin(s, e);
    if (rc < 0) return rc;
    rc = wl_run_plan(s, "measure", &set, run, e);
    if (rc == 0) rc = wl_store_commit(s, e);
    if (rc < 0) wl_store_rollback(s);
    return rc;
}

/* The command's own exit status, as a shell reports it, unless it was stopped at a limit. */
static int status_of(const struct options *o, const struct wl_run_result *r)
{
    if (o->limits && wl_stop_at_reached(o->limits)) return WL_EXIT_LIMIT;
    if (r->not_started) return r->not_started == WL_ENOENT ? NOT_FOUND : NOT_EXECUTABLE;
    return r->exit.status;
}

static const char *store_path(const struct options *o, struct wl_arena *a)
{
    return wl_is_dir(o->store) ? wl_path_join(a, o->store, WL_STORE_FILE) : o->store;
}

/* The folder shared by the nodes of the job; NULL: there is only this node. */
static const char *nodes_folder(const struct options *o, const struct wl_local_ranks *ranks, struct wl_arena *a)
{
    return wl_shard_folder(ranks, store_path(o, a), o->node_of, a);
}

/* Where the run is stored. */
struct home {
    struct wl_store *store;
    const char *path;           /* of the store when the run has ended */
    struct wl_batch_node *node; /* NULL: the store is there from the beginning */
};

/* In a multi-node job, each node has its own store. */
static int open_store(const struct options *o, const struct wl_local_ranks *ranks, struct home *to, struct wl_arena *a,
                      struct wl_err *e)
{
    const char *folder = nodes_folder(o, ranks, a);
    to->path = folder ? wl_shard_path(folder, ranks, a) : store_path(o, a);
    int rc = o->node_of ? wl_mkdirs(folder, e) : 0;
    if (rc == 0 && o->node_of) rc = wl_batch_node_open(&to->node, o->local_dir, to->path, a, e);
    if (rc == 0)
        rc = wl_store_open(&to->store, to->node ? wl_batch_node_store(to->node) : to->path, WL_STORE_CREATE, a, e);
    return rc < 0 ? wl_err_prefix(e, "cannot store the run (choose another file with --store)") : 0;
}

/* Creates the run's folder next to the store. Its path is absolute, as the command may change its working folder. */
static int place(const char *store, int64_t run, struct wl_run_opts *how, struct wl_arena *a, struct wl_err *e)
{
    char *folder = realpath(wl_path_dir(a, store), NULL);
    if (!folder) return wl_fail_errno(e, "%s", store);
    const char *name = wl_path_base(store), *base = "runs"; /* nodes share the folder of their shards */
    if (how->multinode) base = wl_strndup(a, name, strlen(name) - strlen(".db"));
    how->stored_dir = wl_strf(a, "%s/%lld", base, (long long)run);
    int rc = wl_run_folder_create(folder, &how->stored_dir, &how->run_dir, a, e);
    free(folder);
    return rc;
}

/* The leader of a node's ranks prints, for the devices of all of them. */
static int cap_dry_run(const struct options *o, struct wl_arena *a, struct wl_err *e)
{
    struct wl_local_ranks *ranks;
    struct wl_power_opts power = o->power;
    if (!wl_cap_is_requested(&o->cap)) return wl_fail(e, WL_EUSAGE, "--cap-dry-run: no cap is given");
    int rc = wl_local_ranks_join(&ranks, a, e);
    if (rc < 0) return rc;
    if (ranks && !wl_local_ranks_is_leader(ranks)) return WL_EXIT_OK;
    if (ranks) wl_local_ranks_wait_all(ranks);
    if (ranks) power.visible = wl_local_ranks_visible_gpus(ranks, a);
    const char *node = nodes_folder(o, ranks, a) ? wl_strf(a, "%s: ", wl_host_name(a)) : "";
    return wl_cmd_cap_plan_print(&o->cap, &o->cap_opts, &power, node, a, e);
}

static int reserve_devices(const struct options *o, const char *workload, struct wl_arena *a, struct wl_err *e)
{
    bool kinds[WL_CAP_KINDS];
    for (int k = 0; k < WL_CAP_KINDS; k++) kinds[k] = !isnan(o->cap.value[k]);
    return wl_caps_reserve(kinds, wl_strf(a, "measure %s", workload), &o->cap_opts, &o->power, a, e);
}

/* Opens the store, plans the run and creates its folder: done by the leader of local ranks, or a single process. A node
 * of several joins before it can fail, so that the others learn why. */
static int prepare(const struct options *o, struct wl_run_opts *how, struct home *to, int64_t *run, struct wl_arena *a,
                   struct wl_err *e)
{
    const char *folder = nodes_folder(o, how->local_ranks, a);
    int rc = folder ? 0 : reserve_devices(o, how->workload, a, e);
    if (rc == 0) rc = open_store(o, how->local_ranks, to, a, e);
    if (rc == 0) rc = plan_run(to->store, o->name, &o->cap, run, e);
    if (rc == 0 && folder) rc = wl_multinode_join(&how->multinode, folder, how->local_ranks, *run, a, e);
    if (rc == 0 && folder) rc = reserve_devices(o, how->workload, a, e);
    return rc ? rc : place(to->path, *run, how, a, e);
}

/* Removes the plan of a run that was refused, as it would never be run. */
static void discard_plan(struct wl_store *s, int64_t run)
{
    int rc = run ? wl_store_drop_run(s, run, NULL) : 0;
    (void)rc; /* the reason of the refusal is reported instead */
}

/* Of a process that runs already wattlaw neither sees the output nor may stop it. */
static int check_attached(const struct options *o, struct wl_err *e)
{
    if (o->attach.pid && (o->limits || wl_mark_regex_is_set(&o->regex)))
        return wl_fail(e, WL_EUSAGE, "--attach: %s",
                       o->limits ? "--stop-at would have to stop a process that wattlaw did not start"
                                 : "expressions and --log need the output of a command that wattlaw runs");
    return 0;
}

/* A wattlaw below the launcher sees a part of the job's energy, and stops a part of its processes. */
static int check_limits(const struct options *o, const struct wl_local_ranks *ranks, struct wl_err *e)
{
    if (!o->limits || !ranks) return 0;
    return wl_fail(
        e, WL_EUSAGE,
        "--stop-at stops a whole job: put wattlaw before its launcher, as in wattlaw measure --stop-at %s -- "
        "mpirun ...",
        o->stop_at.v[0]);
}

/* The part of a node goes to where the parts of the others are. */
static int ship(const struct home *to, struct wl_run_result *r, int rc, struct wl_err *e)
{
    struct wl_err why;
    if (!to->node || !to->store) return rc;
    wl_store_close(to->store);
    const int shipped = wl_batch_node_ship(to->node, &why);
    if (shipped == 0) r->store = to->path;
    return rc == 0 && shipped < 0 ? wl_fail(e, shipped, "%s", why.msg) : rc;
}

/* The other ranks learn why the leader does not start. */
static int run_measured(const struct options *o, struct wl_run_opts *how, struct wl_run_result *r, struct wl_arena *a,
                        struct wl_err *e)
{
    struct home to = { 0 };
    int64_t run = 0;
    int rc = wl_local_ranks_join(&how->local_ranks, a, e);
    if (rc < 0) return rc;
    rc = check_limits(o, how->local_ranks, e);
    if (rc == 0 && how->local_ranks && !wl_local_ranks_is_leader(how->local_ranks))
        rc = wl_local_ranks_wait_leader(how->local_ranks, &how->run_dir, e);
    if (rc == 0 && (!how->local_ranks || wl_local_ranks_is_leader(how->local_ranks)))
        rc = prepare(o, how, &to, &run, a, e);
    if (rc == 0) rc = wl_run_measure(to.store, run, how, r, a, e);
    if (rc < 0) discard_plan(to.store, run);
    rc = ship(&to, r, rc, e);
    if (rc < 0 && run && how->run_dir) wl_run_folder_discard(how->run_dir);
    if (rc < 0 && to.store) wl_store_discard(to.store, how->run_dir ? wl_path_dir(a, how->run_dir) : NULL);
    if (rc < 0 && how->local_ranks) wl_local_ranks_refuse(how->local_ranks, e->msg);
    if (rc < 0 && how->multinode && r->end_ns == 0) wl_multinode_refuse(how->multinode, e->msg);
    return rc;
}

/* True for one node's part of a multi-node run, whose stores are merged when all have ended. */
static bool is_part(const struct options *o, const struct wl_local_ranks *ranks, struct wl_arena *a)
{
    return nodes_folder(o, ranks, a) != NULL;
}

/* Checks the stored run against --rules; NULL: no rules, or the run could not be read (an error was printed). */
static const struct wl_rule_checks *check_rules(const struct options *o, const char *store, int64_t run,
                                                struct wl_arena *a)
{
    struct wl_rule_checks *checks = wl_new(a, struct wl_rule_checks);
    struct wl_store *s;
    struct wl_err e;
    if (!o->rules) return NULL;
    int rc = wl_store_open(&s, store, WL_STORE_READ, a, &e);
    if (rc == 0) rc = wl_rules_mlperf(s, run, checks, a, &e);
    if (rc == 0 && !o->quiet && !o->json) wl_rules_print(checks, WL_STDERR, a);
    if (rc < 0) wl_eprint("error: --rules: %s\n", e.msg);
    return rc < 0 ? NULL : checks;
}

/* On the node of rank 0, the leader merges the stores of all nodes into one run. */
static void merge_nodes(const struct options *o, const struct wl_local_ranks *ranks, struct wl_arena *a)
{
    const char *store = store_path(o, a);
    struct wl_err e;
    int64_t run;
    size_t nodes;
    if (!wl_local_ranks_is_leader(ranks) || !wl_local_ranks_has_rank0(ranks)) return;
    if (wl_shard_collect(ranks, store, o->merge_wait_s, &run, &nodes, a, &e) < 0) {
        wl_eprint("error: %s\n", e.msg);
        return;
    }
    if (!o->quiet && !o->json) wl_eprint("  merged       run %lld in %s: %zu nodes\n", (long long)run, store, nodes);
    check_rules(o, store, run, a);
}

/* In a multi-node run, only the node of rank 0 prints its part. */
static void print_json(const struct options *o, const struct wl_run_result *r, const struct wl_footprint *f,
                       const struct wl_rule_checks *rules, struct wl_arena *a)
{
    struct wl_err e;
    if (!o->json && !o->json_file) return;
    struct wl_json *root = wl_measure_json(r, r->run, r->store, o->attribute, f, rules, a);
    const struct wl_amount energy = wl_totals_energy(r, NAN);
    if (o->limits) wl_stop_at_json(o->limits, &energy, root);
    if (o->json) wl_json_print(root);
    if (o->json_file && wl_json_write(root, o->json_file, a, &e) < 0) wl_eprint("error: %s\n", e.msg);
}

/* Prints the summary of a stored run. The rules require all nodes, so they are checked on the merged run. ranks NULL:
 * the command is the only rank of its job. */
static void print_results(const struct options *o, const struct wl_local_ranks *ranks, const struct wl_run_result *r,
                          struct wl_arena *a)
{
    bool part = is_part(o, ranks, a);
    if (!r->is_follower) {
        const char *why;
        struct wl_footprint footprint = wl_cmd_footprint_of_run(&o->footprint, r->store, r->run, &why, a);
        if (why) wl_eprint("note: %s\n", why);
        if (!r->not_started && !o->quiet && !o->json)
            wl_measure_print(r, r->run, r->store, o->attribute, &footprint, o->limits, a);
        const struct wl_rule_checks *rules = part ? NULL : check_rules(o, r->store, r->run, a);
        if (!part || !ranks || wl_local_ranks_has_rank0(ranks)) print_json(o, r, &footprint, rules, a);
    }
    if (part && !o->node_of) merge_nodes(o, ranks, a); /* sweep merges the runs of a campaign */
}

/* `measure --json FILE -- COMMAND` would run FILE. */
static int check_command(char **command, struct wl_err *e)
{
    if (!command || !command[0]) return wl_fail(e, WL_EUSAGE, "command is missing after --");
    for (char **word = command; *word && wl_str_eq(command[-1], "--json"); word++)
        if (wl_str_eq(*word, "--"))
            return wl_fail(e, WL_EUSAGE,
                           "--json does not take a value: use --json-file %s to write a file; if %s is the command, "
                           "put -- before it",
                           command[0], command[0]);
    return 0;
}

/* Runs the command and prints the results. Returns the command's status. */
static int measure(const struct options *o, struct wl_run_opts *how, int kept, struct wl_arena *a, struct wl_err *e)
{
    struct wl_run_result r = { 0 };
    int rc = run_measured(o, how, &r, a, e);
    if (o->json) wl_out_restore(kept);
    if (rc < 0 && r.end_ns == 0) return rc;
    if (rc < 0) /* the command has ended, only storing failed: its status is returned */
        wl_eprint("error: %s: the run was not stored\n", e->msg);
    else if (r.not_started)
        wl_eprint("error: %s\n", r.error);
    if (rc == 0) print_results(o, how->local_ranks, &r, a);
    return status_of(o, &r);
}

static int open_limits(struct options *o, struct wl_run_opts *how, struct wl_arena *a, struct wl_err *e)
{
    struct wl_run_limit *limits;
    struct wl_text t = WL_TEXT(a);
    int rc = wl_stop_at_parse(&o->stop_at, &o->footprint, &wl_stop_at_price_options, &limits, a, e);
    if (rc < 0 || !o->stop_at.n) return rc;
    for (size_t i = 0; i < o->stop_at.n; i++) wl_text_addf(&t, "%s%s", i ? ", " : "", o->stop_at.v[i]);
    o->limits = wl_run_limits_new(limits, o->stop_at.n, a);
    how->watch = wl_run_limits_watch(o->limits);
    how->stop_at = t.s;
    return 0;
}

static int run(void *options, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    struct options *o = options;
    char **command = rest->command;
    int rc = wl_measure_attach_open(&o->attach, &command, a, e);
    if (rc < 0) return rc;
    if (o->training && !*o->training) return wl_fail(e, WL_EUSAGE, "--training: the name is empty");
    if (o->cap_dry_run) return cap_dry_run(o, a, e);
    struct wl_signals *signals;
    struct wl_run_opts how = { .argv = command,
                               .attach = (pid_t)o->attach.pid,
                               .control = (int)o->attach.control,
                               .workload = command ? wl_command_name(command, a) : NULL,
                               .pass_through = true,
                               .grace_s = o->grace_s,
                               .cooldown = o->cooldown,
                               .idle_s = o->idle_s,
                               .power = &o->power,
                               .regex = &o->regex,
                               .cap = &o->cap,
                               .cap_opts = &o->cap_opts,
                               .training = o->training,
                               .node_wait_s = o->node_wait_s };
    int kept = -1;
    rc = o->attach.pid ? 0 : check_command(command, e);
    if (rc == 0) rc = wl_cmd_footprint_complete(&o->footprint, a, e);
    if (rc == 0) rc = open_limits(o, &how, a, e);
    if (rc == 0) rc = check_attached(o, e);
    if (rc == 0) rc = wl_sampler_cpu_check(&o->power, a, e);
    if (rc == 0) rc = wl_signals_open(&signals, true, a, e);
    if (rc == 0 && o->json) rc = wl_out_redirect(&kept, e);
    if (rc < 0) return rc;
    how.signals = signals;
    return measure(o, &how, kept, a, e);
}

const struct wl_cmd wl_cmd_measure = {
    .name = "measure",
    .usage = "[options] -- COMMAND... | --attach PID",
    .help = "run a command and measure its time, energy, utilisation and epochs",
    .more =
        "The exit status is the command's own (128 + n: ended by signal n; 127: command not found), or 124 if it was\n"
        "stopped at a limit of --stop-at: SIGTERM, and SIGKILL after --grace. Input, output and signals are passed "
        "through; the summary is printed on stderr. With --json the command's stdout goes to "
        "stderr,\n"
        "and stdout holds the summary alone.\n"
        "\n"
        "  wattlaw measure -- python3 train.py --epochs 3\n"
        "  wattlaw measure --json -- ./train.sh | jq '.energies[] | select(.chosen)'\n"
        "  wattlaw measure --stop-at 2kWh,3h -- ./train.sh\n"
        "  wattlaw measure --epoch-regex '^Epoch ([0-9]+) done' -- ./train.sh",
    .options = rows,
    .options_size = sizeof(struct options),
    .command_follows = true,
    .run = run,
};

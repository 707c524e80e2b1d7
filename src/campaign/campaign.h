/* Campaigns: an experiment file becomes trials, trials become runs, runs become rows of a store.
 *
 * An experiment file is INI with the sections [campaign], [sweep], [data], [measure], [cap] and [launch]; its keys are
 * the option rows of wl_experiment_sections(). The grid of [sweep] gives trials (one configuration each); a trial is
 * run [campaign] repeats times. Units: seconds, W, MHz, Hz; batches and samples are counts.
 */
#ifndef WL_CAMPAIGN_CAMPAIGN_H
#define WL_CAMPAIGN_CAMPAIGN_H

#include "base/base.h"
#include "cap/cap.h"
#include "carbon/carbon.h"
#include "mark/mark.h"
#include "power/power.h"
#include "store/store.h"

/* ---- the experiment file ------------------------------------------------------------------------------------ */

struct wl_campaign_keys {
    const char *name; /* letters, digits, . _ - */
    int64_t repeats;
    const char *order; /* random | sequential */
    int64_t seed;
    const char *store;   /* folder, or file whose name ends in .db; never NULL after reading */
    const char *scaling; /* strong | weak */
};

/* A list for each known axis; an empty one is an axis that the experiment does not name. */
struct wl_sweep_keys {
    struct wl_strs workload;
    struct wl_ints nodes, workers, local_batch, global_batch, accumulation, epochs, threads;
    struct wl_reals cap[WL_CAP_KINDS]; /* power_cap_w, module_cap_w, clock_mhz, mem_clock_mhz */
};

/* An axis of the user's own: any other key of [sweep] whose {key} stands in the command. */
struct wl_user_axis {
    const char *key;
    struct wl_strs values;
};

struct wl_data_keys {
    const char *path;    /* NULL: the workload needs no data */
    const char *prepare; /* command that makes the data in {data}; NULL: none */
    int64_t samples;     /* an epoch's samples (weak scaling: for each worker); 0: the workload decides */
};

/* Row for a struct that holds a double as member `at`. */
#define WL_NODE_WAIT_ROW(holder, at)                                                                                \
    {                                                                                                               \
        .name = "node-wait", .type = WL_DURATION, .offset = offsetof(holder, at), .def = "60s", .max = 86400,       \
        .unit = "s", .help = "on several nodes with caps: how long a job waits until the caps of all stand; 0: not" \
    }

/* A run begins when no GPU of the job is warmer. */
struct wl_cooldown_opts {
    double below_c; /* NAN: it begins at once */
    double wait_s;  /* the longest wait: then it begins all the same */
};

/* Rows for a struct that holds a struct wl_cooldown_opts as member `at`. */
/* clang-format off */
#define WL_COOLDOWN_OPT_ROWS(holder, at)                                                                               \
    { .name = "cooldown-c", .type = WL_REAL, .offset = offsetof(holder, at.below_c), .min = 0, .max = 150,             \
      .unit = "C", .help = "begin when no GPU of the job is warmer" },                                                 \
    { .name = "cooldown-wait", .type = WL_DURATION, .offset = offsetof(holder, at.wait_s), .def = "10m", .max = 86400, \
      .unit = "s", .help = "the longest wait for that; then the run begins all the same and says so" }
/* clang-format on */

struct wl_measure_keys {
    struct wl_power_opts power;       /* sensors, rate_hz and what they need */
    struct wl_mark_regex_opts regex;  /* none: the workload writes marks */
    struct wl_cooldown_opts cooldown; /* before each run */
    double idle_s;                    /* rest before and behind each run that is measured; 0: none */
    double node_wait_s;               /* on several nodes: for the caps of all */
    struct wl_footprint footprint;    /* as it stands in the file, not completed; of carbon_csv the absolute path */
    const char *rules;                /* that each run is held against: mlperf; NULL: none */
};

struct wl_cap_keys {
    struct wl_cap_opts opts; /* how the axes of its kinds are set */
};

struct wl_launch_keys {
    const char *launcher;
    const char *command; /* template; NULL only before reading ends */
    const char *args;    /* template of words put behind the command */
    const char *env;     /* template of NAME=value words */
    const char *cwd;     /* template; NULL: the folder in which wattlaw runs */
    double timeout_s;    /* 0: none */
    double grace_s;      /* between SIGTERM and SIGKILL */
    bool oversubscribe;
};

struct wl_experiment {
    const char *path; /* as given by the user */
    struct wl_campaign_keys campaign;
    struct wl_sweep_keys sweep;
    struct wl_user_axis *user; /* n_user of them, in the order of the file */
    size_t n_user;
    struct wl_data_keys data;
    struct wl_measure_keys measure;
    struct wl_cap_keys cap;
    struct wl_launch_keys launch;
    const char *expanded; /* the whole experiment as INI text, defaults and --set included */
    struct wl_strs notes; /* what is no error but should be known before the first run */
    const char *fixed;    /* the part of it that makes a run what it is: it must not change while a store fills */
};

struct wl_experiment_section {
    const char *name;
    const struct wl_opt *rows; /* over the section's struct */
    size_t offset;             /* of that struct in struct wl_experiment */
    const char *help;          /* one line */
};

/* The sections; ends with a NULL name. */
const struct wl_experiment_section *wl_experiment_sections(void);

/* Prints every section and key with type, default, range and unit. */
void wl_experiment_print_keys(enum wl_out to);

/* Reads an experiment; `sets` are "section.key=value" texts that win over the file. WL_EINVAL with file:line (or
 * --set), the value and what was expected; unknown sections, keys and placeholders get "did you mean". */
int wl_experiment_read(const char *path, const struct wl_strs *sets, struct wl_experiment *out, struct wl_arena *a,
                       struct wl_err *e) WL_MUST_CHECK;

/* The same from text. */
int wl_experiment_parse(const char *path, const char *text, const struct wl_strs *sets, struct wl_experiment *out,
                        struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* ---- the grid ----------------------------------------------------------------------------------------------- */

/* What can be limited here, of all devices together. */
struct wl_cap_limit {
    const char *why_not; /* why it cannot be set; NULL: it can */
    struct wl_cap_range range;
};

/* What decides whether a trial can be run here. */
struct wl_machine {
    int cores; /* that this process may use (affinity) */
    struct wl_cap_limit cap[WL_CAP_KINDS];
};

/* This machine; of caps it asks only for what the experiment has an axis for, as its section [cap] says. */
struct wl_machine wl_machine_detect(const struct wl_experiment *x, struct wl_arena *a);

struct wl_trial {
    const char *workload;                                                             /* NULL: not given */
    int64_t nodes, workers, local_batch, global_batch, accumulation, epochs, threads; /* 0: not given */
    int64_t samples; /* an epoch, all workers; 0: not given */
    struct wl_cap_request cap;
    const char **user; /* value of each user axis */
    const char *label; /* the values of the axes that vary, for people: "workers=2 local_batch=16" */
    const char *skip;  /* why it cannot be run; NULL: it can */
};

struct wl_planned_run {
    size_t trial;   /* index */
    int64_t repeat; /* from 1 */
};

struct wl_grid {
    struct wl_trial *trials;
    size_t n_trials, n_skipped;
    struct wl_planned_run *runs; /* of the trials that can be run, in the order in which they are to run */
    size_t n_runs;
};

/* The product of all axes in the order of the keys, with what is missing derived (global batch = workers x local
 * batch x accumulation), and the order of runs: repeat after repeat, within each the order of the file or one drawn
 * from the seed. The same experiment gives the same plan everywhere. WL_EINVAL: more than 100000 trials. */
int wl_grid_make(const struct wl_experiment *x, const struct wl_machine *here, struct wl_grid *out, struct wl_arena *a,
                 struct wl_err *e) WL_MUST_CHECK;

/* Do the ranks of its command measure their nodes themselves ({measure})? */
bool wl_experiment_is_multinode(const struct wl_experiment *x);

/* The command of a run as argv, NULL-terminated; run_dir may be NULL (shown as RUN_DIR in a plan). */
int wl_trial_command(const struct wl_experiment *x, const struct wl_trial *t, int64_t repeat, const char *run_dir,
                     struct wl_strs *argv, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Starts the trial's command so that each of its nodes tells on stdout what its caps would set, and does nothing.
 * WL_EJOB: it failed; what the nodes said is on stderr. */
int wl_trial_cap_dry_run(const struct wl_experiment *x, const struct wl_trial *t, struct wl_arena *a,
                         struct wl_err *e) WL_MUST_CHECK;

/* ---- signals ------------------------------------------------------------------------------------------------ */

/* Blocks SIGINT, SIGTERM and SIGHUP (all: SIGQUIT, SIGUSR1 and SIGUSR2 too) and gives them out one by one, until the
 * arena is freed. Signals that were ignored when the program was started stay so. Call it before threads are started.
 */
struct wl_signals;
int wl_signals_open(struct wl_signals **out, bool all, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;
int wl_signals_fd(const struct wl_signals *s); /* readable when there is one */

/* The next signal, 0: none. from_terminal: the terminal sent it to the whole process group. */
int wl_signals_next(const struct wl_signals *s, bool *from_terminal);

/* ---- ranks of one node ------------------------------------------------------------------------------------------ */

/* `mpirun -n 8 wattlaw measure -- cmd` starts a wattlaw for each rank. Those of one node and one job are a team: one of
 * them, the leader, measures the node and stores the run; the others look after their commands. When the leader dies,
 * another one goes on. docs/adr/062 */
struct wl_local_ranks;

/* *out NULL: this process is no rank of a job of several. Released with the arena. */
int wl_local_ranks_join(struct wl_local_ranks **out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;
bool wl_local_ranks_is_leader(const struct wl_local_ranks *t);

/* The leader, before its run: waits for the others, some seconds at most. false: not all have come. */
bool wl_local_ranks_wait_all(struct wl_local_ranks *t);

/* Its GPUs and theirs, as CUDA_VISIBLE_DEVICES has them; NULL: none of them has that variable. */
const char *wl_local_ranks_visible_gpus(const struct wl_local_ranks *t, struct wl_arena *a);

/* The leader cannot run: the others end too. Behind the begin of its run nothing happens. */
void wl_local_ranks_refuse(struct wl_local_ranks *t, const char *why);

/* Not the leader: waits for its run; *dir is the run's folder then. When the leader dies before,
 * wl_local_ranks_is_leader is true behind this. WL_EJOB: it refused. */
int wl_local_ranks_wait_leader(struct wl_local_ranks *t, const char **dir, struct wl_err *e) WL_MUST_CHECK;

/* ---- the folder of a run ---------------------------------------------------------------------------------------- */

/* Makes a folder for a run's files, and the empty file `marks` in it: *name ("runs/7") below `base`, or with -2, -3 ...
 * after it where that is taken: what is there may be another store's, or another program's. *name: the one it is; *dir:
 * its path. */
int wl_run_folder_create(const char *base, const char **name, const char **dir, struct wl_arena *a,
                         struct wl_err *e) WL_MUST_CHECK;

/* The run did not begin: removes the folder if nothing has been written. */
void wl_run_folder_discard(const char *dir);

/* ---- one measured run --------------------------------------------------------------------------------------- */

struct wl_run_opts {
    char *const *argv;
    const char *workload;      /* what it is called where neither its trial nor its start mark says; NULL: nothing */
    const struct wl_strs *env; /* NAME=value, added to ours and to WATTLAW_MARKS and WATTLAW_RUN_DIR; NULL: none */
    const char *cwd;           /* NULL: ours */
    const char *dir;           /* folder of the run (wl_run_folder_create): its marks, its log */
    const char *stored_dir;    /* the same as it is stored: relative to the store's folder */
    bool pass_through;         /* `measure`: input, output and signals are those of the command; else they go to the
                                * log, and a signal stops the job */
    double timeout_s;          /* 0: none */
    double grace_s;            /* between SIGTERM and SIGKILL */
    struct wl_cooldown_opts cooldown; /* before the sampler and the command start; below_c NAN: at once */
    double idle_s;                    /* time to measure at rest before and behind the command; 0: none */
    const struct wl_power_opts *power;
    const struct wl_mark_regex_opts *regex;
    const struct wl_cap_request *cap;          /* set before the job starts, put back behind its end; NULL: none */
    const struct wl_cap_opts *cap_opts;        /* how; NULL only without `cap` */
    const struct wl_signals *signals;          /* NULL: none are watched */
    bool on_nodes;                             /* the command's ranks measure themselves, on several nodes */
    struct wl_multinode *fleet;                /* this is one node of several; NULL: it is all there is */
    double node_wait_s;                        /* how long the job waits for the caps of other nodes; 0: not */
    struct wl_local_ranks *team;               /* this process is one of several ranks; NULL: it is alone */
    void (*tick)(void *ctx, double elapsed_s); /* called ten times a second while the job runs; NULL: not */
    void *ctx;
};

/* What came of it. Texts and arrays live in the arena of the call. */
struct wl_run_result {
    enum wl_run_status status; /* DONE, FAILED, INTERRUPTED */
    int not_started;           /* WL_ENOENT, WL_EPERM ...: the command could not be started; 0: it was */
    const char *error;         /* why it is not DONE; NULL otherwise */
    struct wl_process_result exit;
    int64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
    struct wl_derived derived;
    const struct wl_sensors *sensors; /* device and channel i of these are device_ids[i] and channel_ids[i] */
    const int64_t *device_ids, *channel_ids;
    const char *scope_label; /* of the chosen energies, see wl_energy_sources; NULL: none */
    struct wl_sampler_stats sampling;
    const struct wl_cap_setting *caps; /* [n_caps] as asked, found, enforced and read at the end */
    const char *caps_left;             /* why caps could not be put back; NULL: they were */
    const char **achieved;             /* [n_caps] what the device did under it, for people; NULL: not measured */
    size_t n_caps;
    struct wl_strs notes; /* what else a reader of its numbers should know: GPUs shared with others ... */
    struct wl_cooldown cooldown;
    struct wl_slurm_energy slurm;
    const char *flag;     /* why the run's numbers must not be used; NULL: they may */
    double own_cpu_s;     /* of wattlaw itself, sampler included */
    double sampler_cpu;   /* that it was bound to, NAN: none */
    int64_t broken_marks; /* lines that were no marks */
    struct wl_strs gaps;  /* what could not be read for a while, and why: a line a device */
    bool followed;        /* a rank that another wattlaw measured: only status, error and exit are set */
    int64_t run;          /* in the store */
    const char *store;    /* its path */
};

/* Runs a planned run to its end: sampler, guard, command, marks and samples into the store at least once a second, and
 * at the end what follows from them. The job and all its processes are gone when this returns, and when this process
 * dies. A negative code is a failure of ours (store, sensors), not of the job: a run that had begun stays marked as
 * running and is taken for interrupted when the store is opened next. With pass_through a store that cannot be written
 * any more does not end the command: that error is returned behind the command's end, with out->exit filled in. A rank
 * that does not lead its team has no store: `s` NULL, `run` 0, its folder from wl_local_ranks_wait_leader. */
int wl_run_measure(struct wl_store *s, int64_t run, const struct wl_run_opts *how, struct wl_run_result *out,
                   struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* ---- several nodes ------------------------------------------------------------------------------------------------
 */

/* The folder in which the nodes of a job meet and store their parts: of a campaign's run below `node_of`, its folder;
 * else beside the store. NULL: the job is on this node alone. `team` NULL: a rank alone. */
const char *wl_shard_folder(const struct wl_local_ranks *team, const char *store, const char *node_of,
                            struct wl_arena *a);

/* This node's store in it; the files of its run lie in a folder of that name without ".db", on a shared disk too. */
const char *wl_shard_path(const char *folder, const struct wl_local_ranks *team, struct wl_arena *a);

/* One node of the run number `run` of its shard. Joining tells the others that it has come. */
struct wl_multinode;
int wl_multinode_join(struct wl_multinode **out, const char *folder, const struct wl_local_ranks *team, int64_t run,
                      struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* This node cannot take part: every node learns why, and none starts. */
void wl_multinode_refuse(struct wl_multinode *f, const char *why);

/* Is rank 0 on this node? Its leader merges. */
bool wl_local_ranks_has_rank0(const struct wl_local_ranks *t);

/* Waits until the shards of all ranks are there and closed, and merges them into the store. WL_ENOENT: not within that
 * time; the message has the command that does it later. */
int wl_shard_collect(const struct wl_local_ranks *t, const char *store, double wait_s, int64_t *run, size_t *nodes,
                     struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* How a job ended whose run has begun in the store. */
struct wl_shard_merge_job {
    enum wl_run_status status;
    const char *error, *log_tail;
    struct wl_slurm_energy slurm;
    /* behind the merge, with what the nodes say: */
    const char *flag;
    struct wl_derived derived;
};

/* The newest runs of these stores, one for each node, become one run: readings and marks on the clock of the node with
 * rank 0, from the begin of the last node to the end of the first one. In one transaction. `job` NULL: *run is a new
 * run; else *run, which is running, is closed. WL_EINVAL: a shard that is not closed, two of one node, runs that do not
 * overlap. */
int wl_shard_merge(struct wl_store *to, const struct wl_strs *paths, struct wl_shard_merge_job *job, int64_t *run,
                   struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* ---- a whole campaign --------------------------------------------------------------------------------------- */

struct wl_sweep_opts {
    bool retry_failed; /* failed runs get another attempt */
    const struct wl_signals *signals;
    /* Told as it goes, all may be NULL: what is about to be done; every 100 ms; a run has ended. */
    void (*on_start)(void *ctx, const struct wl_grid *g, size_t to_run);
    void (*on_tick)(void *ctx, double done, double total, double left_s, const char *note);
    void (*on_run)(void *ctx, const struct wl_grid *g, size_t planned, int64_t run, const struct wl_run_result *r);
    void *ctx;
};

struct wl_failed_run {
    int64_t run, repeat;
    const char *trial; /* label */
    const char *error, *log;
};

struct wl_sweep_result {
    const char *store; /* path of the file */
    int64_t campaign;
    size_t planned;               /* runs of the whole campaign, skipped trials left out */
    size_t done;                  /* of these, finished now */
    size_t done_before;           /* of these, before this call */
    struct wl_failed_run *failed; /* whose newest attempt failed, in this call or before */
    size_t n_failed;
};

/* Runs what is missing of a campaign. Finished runs are never run again; runs that were interrupted (also by the death
 * of a wattlaw) are. WL_EINTR: a signal stopped it; the same call carries on. WL_EINVAL: the store holds the campaign
 * with another command, data or way of measuring; a command or data that are not there. WL_EPERM: another process runs
 * this campaign. Other codes: the store failed. out is filled in as far as it went. */
int wl_sweep_run(const struct wl_experiment *x, const struct wl_sweep_opts *how, struct wl_sweep_result *out,
                 struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Everything that wl_sweep_run looks at before its first run, with its codes, and nothing is changed: launcher,
 * sensors, store, devices to be capped, command, data. WL_EINVAL also: no trial can be run here. The grid is filled in
 * where it could be made, whatever else is wrong (n_runs 0 and no trials: it could not). */
int wl_sweep_check(const struct wl_experiment *x, struct wl_grid *grid, struct wl_arena *a,
                   struct wl_err *e) WL_MUST_CHECK;

/* None of the trials can be run on this machine. */
int wl_sweep_is_empty(const struct wl_experiment *x, struct wl_err *e) WL_MUST_CHECK;

/* The caps of a trial as its settings. */
void wl_settings_set_caps(struct wl_settings *set, const struct wl_cap_request *caps);

/* ---- jobs ------------------------------------------------------------------------------------------------------- */

/* The cgroup below which each job gets one of its own, so that nothing of it outlives wattlaw; NULL: there is none that
 * we may use, and why. */
const char *wl_cgroup_parent(const char **why, struct wl_arena *a);

/* ---- what follows from a run -------------------------------------------------------------------------------- */

/* The derived rows of a run from its facts in the store, between two instants of its host's clock; idle_s: rest
 * before and behind that was measured (NAN: none). `label` may be
 * NULL, see wl_run_result. */
int wl_derive(struct wl_store *s, int64_t run, int64_t start_ns, int64_t end_ns, double period_s, double idle_s,
              struct wl_derived *out, const char **label, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The name of this machine in tables: its GPUs, else its CPU model. `sensors` may be NULL. */
const char *wl_hardware_name(const struct wl_sensors *sensors, struct wl_arena *a);

#endif

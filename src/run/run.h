/* One measured run: sampler, job, marks and caps become facts in a store, and the rows derived from them. */
#ifndef WL_RUN_RUN_H
#define WL_RUN_RUN_H

#include "base/base.h"
#include "cap/cap.h"
#include "job/job.h"
#include "mark/mark.h"
#include "power/power.h"
#include "rank/rank.h"
#include "run/limit.h"
#include "store/store.h"

/* ---- options ------------------------------------------------------------------------------------------------ */

/* Row for a struct that holds a double as member `at`. */
/* clang-format off */
#define WL_NODE_WAIT_ROW(holder, at)                                                                                   \
    { .name = "node-wait", .type = WL_DURATION, .offset = offsetof(holder, at), .def = "60s", .max = 86400,            \
      .unit = "s", .help = "multi-node with caps: maximum wait until all nodes have set their caps; 0: no wait" }
/* clang-format on */

/* A run begins when no GPU of the job is warmer. */
struct wl_cooldown_opts {
    double below_c; /* NAN: it begins at once */
    double wait_s;  /* maximum; then the run begins anyway */
};

/* Rows for a struct that holds a struct wl_cooldown_opts as member `at`. */
/* clang-format off */
#define WL_COOLDOWN_OPT_ROWS(holder, at)                                                                               \
    { .name = "cooldown-c", .type = WL_REAL, .offset = offsetof(holder, at.below_c), .min = 0, .max = 150,             \
      .unit = "C", .help = "temperature above which a GPU of the job delays the start of a run (default: off)" },                                      \
    { .name = "cooldown-wait", .type = WL_DURATION, .offset = offsetof(holder, at.wait_s), .def = "10m", .max = 86400, \
      .unit = "s", .help = "maximum wait for --cooldown-c; then the run begins anyway, with a warning" }
/* clang-format on */

/* The caps of a trial as its settings. */
void wl_settings_set_caps(struct wl_settings *set, const struct wl_cap_request *caps);

/* ---- the folder of a run ------------------------------------------------------------------------------------ */

/* Makes a folder for a run's files, with an empty file `marks`: *name ("runs/7") below `base`, or with -2, -3 ...
 * appended where that exists: what exists may belong to another store or program. *name: the name used; *dir: its
 * path. */
int wl_run_folder_create(const char *base, const char **name, const char **dir, struct wl_arena *a,
                         struct wl_err *e) WL_MUST_CHECK;

/* Makes an output file, NAME or NAME-2 ... where that exists. Returns its descriptor, to append to. */
int wl_run_folder_create_file(const char *dir, const char *name, const char **path, struct wl_arena *a,
                              struct wl_err *e) WL_MUST_CHECK;

/* The run did not begin: removes the folder if nothing has been written. */
void wl_run_folder_discard(const char *dir);

/* ---- planning a run that is not of a grid ------------------------------------------------------------------- */

/* Plans another run with these settings in the named campaign, made when missing. Inside of a transaction. */
int wl_run_plan(struct wl_store *s, const char *campaign, const struct wl_settings *set, int64_t *run,
                struct wl_err *e) WL_MUST_CHECK;

/* ---- one measured run --------------------------------------------------------------------------------------- */

/* Follows a run from inside while it is measured, and may change its caps: see "a run that is under way". Called by the
 * thread of wl_run_measure. */
struct wl_active_run;
struct wl_run_watch {
    int (*on_begin)(void *ctx, struct wl_active_run *run, struct wl_err *e); /* (optional) before the command starts:
                                                                              * an error refuses the run */
    void (*on_mark)(void *ctx, const struct wl_mark *m);  /* each mark, at most .1 s after it was written */
    void (*poll)(void *ctx, struct wl_active_run *run);   /* ten times a second while the command runs */
    void (*on_end)(void *ctx, struct wl_active_run *run); /* the command has ended, its marks and readings are stored */
    void *ctx;
};

struct wl_run_opts {
    char *const *argv;
    pid_t attach;              /* a process that runs already is measured, whose command line argv is; 0: argv is run */
    int control;               /* of struct wl_job_attach; with `attach` */
    const char *workload;      /* its name where neither its trial nor its start mark gives one; NULL: none */
    const struct wl_strs *env; /* NAME=value, added to ours and to WATTLAW_MARKS and WATTLAW_RUN_DIR; NULL: none */
    const char *cwd;           /* NULL: ours */
    const char *run_dir;       /* folder of the run (wl_run_folder_create): its marks, its log */
    const char *stored_dir;    /* the same as it is stored: relative to the store's folder */
    bool pass_through;         /* `measure`: input, output and signals are those of the command; else they go to the
                                * log, and a signal stops the job */
    double timeout_s;          /* 0: none */
    const char *training, *stop_at;   /* as in struct wl_run_row; NULL: none */
    double grace_s;                   /* between SIGTERM and SIGKILL */
    struct wl_cooldown_opts cooldown; /* before the sampler and the command start; below_c NAN: at once */
    double idle_s;                    /* time to measure the idle machine before and after the command; 0: none */
    const struct wl_power_opts *power;
    const struct wl_mark_regex_opts *regex;
    const struct wl_cap_request *cap;          /* set before the job starts, restored after it; NULL: none */
    const struct wl_cap_opts *cap_opts;        /* how they are set; NULL only without `cap` */
    const struct wl_signals *signals;          /* NULL: none are watched */
    bool is_multinode;                         /* the command's ranks measure themselves, on several nodes */
    struct wl_multinode *multinode;            /* this is one node of several; NULL: it is the only one */
    double node_wait_s;                        /* how long the job waits for the caps of other nodes; 0: not */
    struct wl_local_ranks *local_ranks;        /* this process is one of several ranks; NULL: it is alone */
    const char *slurm_config;                  /* what `scontrol show config` printed; NULL: it is asked for */
    const struct wl_run_watch *watch;          /* NULL: none */
    void (*tick)(void *ctx, double elapsed_s); /* called ten times a second while the job runs; NULL: not */
    void *ctx;
    /* Why the run is to be stopped, as somebody else asks; NULL: it is not. Asked once before the command starts, and
     * once a second while it runs. A run that is stopped so counts as failed with this error. NULL: nobody is asked */
    const char *(*stop_asked)(void *ctx);
    void *stop_ctx;
};

/* The outcome. Texts and arrays live in the arena of the call. */
struct wl_run_result {
    enum wl_run_status status; /* DONE, FAILED, INTERRUPTED */
    int not_started;           /* WL_ENOENT, WL_EPERM ...: the command could not be started; 0: it was */
    const char *error;         /* why it is not DONE; NULL otherwise */
    const char *log_tail;      /* last lines of its log, where it is not DONE; NULL: none */
    struct wl_process_result exit;
    int stop_signal;          /* the first signal that asked us to stop; 0: none */
    int64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
    struct wl_derived derived;
    const struct wl_sensors *sensors; /* device and channel i of these are device_ids[i] and channel_ids[i] */
    const int64_t *device_ids, *channel_ids;
    const char *scope_label; /* of the chosen energies, see wl_energy_sources; NULL: none */
    struct wl_sampler_stats sampling;
    const struct wl_cap_setting *caps; /* [n_caps] as requested, found, enforced and read at the end */
    const char *caps_left;             /* why caps could not be restored; NULL: they were */
    const char **achieved;             /* [n_caps] what the device did under it, for people; NULL: not measured */
    size_t n_caps;
    struct wl_strs notes;     /* what else a reader of its numbers should know: GPUs shared with others ... */
    struct wl_strs unmatched; /* expressions that no output line of a finished command matched; among the notes too */
    struct wl_cooldown cooldown;
    struct wl_slurm_energy slurm;
    const char *flag;     /* why the run's numbers must not be used; NULL: they may */
    double own_cpu_s;     /* of wattlaw itself, sampler included */
    double sampler_cpu;   /* that it was bound to, NAN: none */
    double other_run;     /* 1: another wattlaw measured here meanwhile, 0: none did; NAN: not known */
    int64_t broken_marks; /* lines that were not marks */
    struct wl_strs gaps;  /* what could not be read for a while, and why: one line per device */
    bool is_follower;     /* a rank that another wattlaw measured: only status, error and exit are set */
    int64_t run;          /* in the store */
    const char *store;    /* its path */
};

/* Runs a planned run to its end: sampler, guard, command, marks and samples into the store at least once a second, and
 * at the end the rows derived from them. The job and all its processes have ended when this returns, and when this
 * process dies. A negative code is a failure of ours (store, sensors), not of the job: a run that had begun stays
 * marked as running and counts as interrupted when the store is opened next. With pass_through a store that can no
 * longer be written does not end the command: that error is returned after the command's end, with out->exit filled in.
 * A rank that is not the leader has no store: `s` NULL, `run` 0, its folder from wl_local_ranks_wait_leader. */
int wl_run_measure(struct wl_store *s, int64_t run, const struct wl_run_opts *opts, struct wl_run_result *out,
                   struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Is this the error of a run whose command was warned of a time limit (SIGUSR1 or SIGUSR2) and ended? It is interrupted
 * whatever the exit status: a checkpoint is not the end of a training. Not with pass_through. */
bool wl_run_was_warned(const char *error);

/* The same for a command whose ranks measure themselves ({measure}): their nodes set caps, sample and store; here the
 * command is supervised, and the nodes' shards become the run. */
int wl_run_multinode(struct wl_store *s, int64_t run, const struct wl_run_opts *opts, struct wl_run_result *out,
                     struct wl_arena *a, struct wl_err *e);

/* ---- a run that is under way: for its watch ------------------------------------------------------------------ */

/* Restores what the run has capped, then sets other caps in the same way (journal, guard, read back). NULL: none. On
 * failure nothing is capped, and the codes are those of wl_caps_set and wl_caps_release. */
int wl_run_change_caps(struct wl_active_run *run, const struct wl_cap_request *to, struct wl_err *e) WL_MUST_CHECK;

/* The caps as they are read now, [*n] in `a`; *flag: why a value is not what was set, NULL: all are. */
const struct wl_cap_setting *wl_run_caps_now(struct wl_active_run *run, size_t *n, const char **flag,
                                             struct wl_arena *a);

/* Ends the command and all its processes. The run counts as `as` whatever its exit status: DONE, it has done its work;
 * FAILED or INTERRUPTED with the error `why`. The first call counts. */
void wl_run_stop(struct wl_active_run *run, enum wl_run_status as, const char *why);

/* The end of what the command has written to its log; NULL: it has none, or it cannot be read. */
const char *wl_run_log_tail(const struct wl_active_run *run, struct wl_arena *a);

/* A part of the run that becomes a run of its own, with one epoch: its marks, readings and caps are copied, so that it
 * can be derived, fitted and compared like any other. */
struct wl_run_part {
    const char *campaign;
    const struct wl_settings *set; /* of its trial */
    int64_t begin_ns, end_ns;      /* CLOCK_MONOTONIC */
    double updates, samples;       /* work of all workers in it; NAN: not known */
    const struct wl_cap_setting *caps;
    size_t n_caps;
    const char *flag; /* why its numbers must not be used; NULL: they may */
    const char *note; /* for the run's log */
};

/* How long after its end a part can be stored: its readings must reach beyond it. */
int64_t wl_run_part_margin_ns(const struct wl_active_run *run);

/* Stores a part that ended at least that long ago, in one transaction. The whole run is flagged from then on: its caps
 * changed. *out: the part's run and derived rows; other members are not set. */
int wl_run_store_part(struct wl_active_run *run, const struct wl_run_part *part, struct wl_run_result *out,
                      struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* ---- shards of several nodes -------------------------------------------------------------------------------- */

/* The folder in which the nodes of a job meet and store their shards: of a campaign's run below `node_of`, its folder;
 * else next to the store. NULL: the job is on this node alone. `ranks` NULL: a rank alone. */
const char *wl_shard_folder(const struct wl_local_ranks *ranks, const char *store, const char *node_of,
                            struct wl_arena *a);

/* This node's store in it; the files of its run are in a folder of that name without ".db", on a shared disk too. */
const char *wl_shard_path(const char *folder, const struct wl_local_ranks *ranks, struct wl_arena *a);

/* Waits until the shards of all ranks are there and closed, and merges them into the store. WL_ENOENT: not within that
 * time; the message has the command that merges them later. */
int wl_shard_collect(const struct wl_local_ranks *ranks, const char *store, double wait_s, int64_t *run, size_t *nodes,
                     struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* How a job ended whose run has begun in the store. */
struct wl_shard_merge_job {
    enum wl_run_status status;
    const char *error, *log_tail;
    struct wl_slurm_energy slurm;
    /* set by the merge, from what the nodes stored: */
    const char *flag;
    struct wl_derived derived;
};

/* The newest runs of these stores, one per node, become one run: readings and marks on the clock of the node with
 * rank 0, from the start of the last node to the end of the first one. In one transaction. `job` NULL: *run is a new
 * run; else *run, which is running, is closed. WL_EINVAL: a shard that is not closed, two of one node, runs that do not
 * overlap. */
int wl_shard_merge(struct wl_store *to, const struct wl_strs *paths, struct wl_shard_merge_job *job, int64_t *run,
                   struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* A shard with one complete run, of a job that measured itself. */
struct wl_shard_take {
    struct wl_store *from;
    const struct wl_run_row *row; /* its run, which is closed */
    enum wl_run_status status;    /* that it is stored with: the batch system may know more than the job did */
    const char *error;            /* NULL: none */
};

/* The run of the shard becomes the planned run `run`, which is begun and closed; inside of a transaction. Results as of
 * wl_run_measure, as far as a store has them. */
int wl_shard_take_run(struct wl_store *to, int64_t run, const struct wl_shard_take *take, struct wl_run_result *out,
                      struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The shard of a run that was closed without it, which has no readings: those of the shard, its marks and its log are
 * added; inside of a transaction. How the run ended stays what it was. */
int wl_shard_take_late(struct wl_store *to, int64_t run, const struct wl_shard_take *take, struct wl_arena *a,
                       struct wl_err *e) WL_MUST_CHECK;

/* ---- derived rows ------------------------------------------------------------------------------------------- */

/* Who has readings of a channel that are already in the store, and gives them faster than it, as wl_store_readings. */
struct wl_readings_source {
    int (*read)(void *ctx, int64_t channel, struct wl_readings *out, struct wl_arena *a, struct wl_err *e);
    void *ctx;
};

struct wl_derive_opts {
    int64_t start_ns, end_ns; /* of the run, on its host's monotonic clock */
    double period_s;          /* of sampling, as requested */
    double idle_s;            /* time that the idle machine was measured before and after; NAN: none */
    double own_cpu_s;         /* CPU time of wattlaw itself; NAN: not known */
    double other_run;         /* 1: another wattlaw measured there meanwhile, 0: none did; NAN: not known */
    const struct wl_readings_source *readings; /* NULL: the store */
};

/* The derived rows of a run from its facts in the store. `label` may be NULL, see scope_label of wl_run_result. */
int wl_derive(struct wl_store *s, int64_t run, const struct wl_derive_opts *opts, struct wl_derived *out,
              const char **label, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Has the run ended, with known start, end and sampling period? */
bool wl_run_can_be_derived(const struct wl_run_row *r);

/* Computes its derived rows anew from its facts, and replaces them. */
int wl_run_rebuild(struct wl_store *s, const struct wl_run_row *r, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The name of this machine in tables: its GPUs, else its CPU model. `sensors` may be NULL. */
const char *wl_hardware_name(const struct wl_sensors *sensors, struct wl_arena *a);

#endif

/* Campaigns: an experiment file becomes trials, trials become runs, runs become rows of a store.
 *
 * An experiment file is INI with the sections [campaign], [sweep], [data], [measure], [cap] and [launch]; its keys are
 * the option rows of wl_experiment_sections(). The grid of [sweep] gives trials (one configuration each); a trial is
 * run [campaign] repeats times. Units: seconds, W, MHz, Hz; batches and samples are counts.
 */
#ifndef WL_CAMPAIGN_CAMPAIGN_H
#define WL_CAMPAIGN_CAMPAIGN_H

#include "base/base.h"
#include "campaign/batch_keys.h"
#include "campaign/neighbours.h"
#include "campaign/queue_rate.h"
#include "cap/cap.h"
#include "carbon/carbon.h"
#include "job/job.h"
#include "mark/mark.h"
#include "power/power.h"
#include "run/run.h"
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
#define SETTING_TEXT(member, ...)  struct wl_strs member;
#define SETTING_COUNT(member, ...) struct wl_ints member;
#include "settings/settings.def"
    struct wl_reals cap[WL_CAP_KINDS];
};

/* An axis of the user's: any other key of [sweep] whose {key} occurs in the command. */
struct wl_user_axis {
    const char *key;
    struct wl_strs values;
};

struct wl_data_keys {
    const char *path;    /* NULL: the workload needs no data */
    const char *prepare; /* command that makes the data in {data}; NULL: none */
    int64_t samples;     /* per epoch (weak scaling: and per worker); 0: the workload decides */
};

struct wl_measure_keys {
    struct wl_power_opts power;       /* sensors, rate_hz and what they need */
    struct wl_mark_regex_opts regex;  /* none: the workload writes marks */
    struct wl_cooldown_opts cooldown; /* before each run */
    double idle_s;                    /* time to measure the idle machine before and after each run; 0: none */
    double node_wait_s;               /* on several nodes: how long to wait for the caps of all */
    struct wl_footprint footprint;    /* as in the file, not completed; carbon_csv as an absolute path */
    const char *rules;                /* that each run is checked against: mlperf; NULL: none */
};

struct wl_cap_keys {
    struct wl_cap_opts opts; /* how the axes of its kinds are set */
};

struct wl_launch_keys {
    const char *launcher;
    const char *command; /* template; NULL only before reading ends */
    const char *args;    /* template of words appended to the command */
    const char *env;     /* template of NAME=value words */
    const char *cwd;     /* template; NULL: the folder in which wattlaw runs */
    double timeout_s;    /* 0: none */
    double grace_s;      /* between SIGTERM and SIGKILL */
    bool oversubscribe;
    int64_t stop_after_failures; /* that are alike, when no run has succeeded; 0: never */
    struct wl_batch_keys batch;
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
    struct wl_strs notes; /* warnings that should be read before the first run */
    const char *fixed; /* the part of it that determines what a run does: it must not change once the store has runs */
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

/* Reads an experiment; `sets` are "section.key=value" texts that override the file. WL_EINVAL with file:line (or
 * --set), the value and what was expected; unknown sections, keys and placeholders get "did you mean". */
int wl_experiment_read(const char *path, const struct wl_strs *sets, struct wl_experiment *out, struct wl_arena *a,
                       struct wl_err *e) WL_MUST_CHECK;

/* The same from text. */
int wl_experiment_parse(const char *path, const char *text, const struct wl_strs *sets, struct wl_experiment *out,
                        struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* ---- the grid ----------------------------------------------------------------------------------------------- */

/* The range that all devices here accept. */
struct wl_cap_limit {
    const char *why_not; /* why it cannot be set; NULL: it can */
    struct wl_cap_range range;
};

/* Decides whether a trial can be run here. */
struct wl_machine {
    int cores; /* that this process may use (affinity); 0: the runs are jobs on other machines */
    struct wl_cap_limit cap[WL_CAP_KINDS];
};

/* This machine; only the caps that the experiment has an axis for are probed, as its section [cap] says. */
struct wl_machine wl_machine_detect(const struct wl_experiment *x, struct wl_arena *a);

struct wl_trial {
#define SETTING_TEXT(member, ...)  const char *member; /* NULL: not given */
#define SETTING_COUNT(member, ...) int64_t member;     /* 0: not given */
#include "settings/settings.def"
    int64_t samples; /* per epoch, of all workers; 0: not given */
    struct wl_cap_request cap;
    const char **user; /* value of each user axis */
    const char *label; /* the values of the axes that vary, for people: "workers=2 local_batch=16" */
    const char *skip;  /* why it cannot be run; NULL: it can */
};

/* Its values, given or derived, without those of the user's axes. */
struct wl_settings wl_trial_settings(const struct wl_trial *t);

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

/* The product of all axes in the order of the keys, with missing values derived (global batch = workers x local batch x
 * accumulation), and the order of runs: repeat after repeat, within each in the order of the file or one drawn from the
 * seed. The same experiment gives the same plan everywhere. WL_EINVAL: more than 100000 trials. */
int wl_grid_make(const struct wl_experiment *x, const struct wl_machine *here, struct wl_grid *out, struct wl_arena *a,
                 struct wl_err *e) WL_MUST_CHECK;

/* Do the ranks of its command measure their nodes themselves ({measure})? */
bool wl_experiment_is_multinode(const struct wl_experiment *x);

/* Are its runs jobs of a batch system? */
bool wl_experiment_is_batch(const struct wl_experiment *x);

/* The command of a run as argv, NULL-terminated; run_dir may be NULL (shown as RUN_DIR in a plan). */
int wl_trial_command(const struct wl_experiment *x, const struct wl_trial *t, int64_t repeat, const char *run_dir,
                     struct wl_strs *argv, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Starts the trial's command so that each of its nodes only prints to stdout what its caps would set. WL_EJOB: it
 * failed; the messages of the nodes are on stderr. */
int wl_trial_cap_dry_run(const struct wl_experiment *x, const struct wl_trial *t, struct wl_arena *a,
                         struct wl_err *e) WL_MUST_CHECK;

/* ---- a whole campaign --------------------------------------------------------------------------------------- */

/* The run of a job. */
struct wl_sweep_only {
    const char *trial; /* the hash of its settings */
    int64_t repeat;
    const char *folder;       /* in which its folder is made: that of the campaign, not of the job's own store */
    const char *slurm_config; /* as of struct wl_run_opts */
};

struct wl_sweep_opts {
    bool retry_failed; /* failed runs get another attempt */
    bool detach; /* a batch system: what has ended is collected and what is missing submitted, and nothing waited for */
    const struct wl_sweep_only *only; /* NULL: all runs */
    const struct wl_signals *signals;
    const struct wl_run_watch *watch; /* of each run that this machine measures, not of several nodes; NULL: none */
    /* Limits of the whole campaign, earlier calls included, [n_limits]; they exclude `watch`. A run on several nodes is
     * not stopped by them, but none is begun beyond them. */
    const struct wl_run_limit *limits;
    size_t n_limits;
    /* (optional) Called before the first run; every 100 ms; when a run has ended. */
    void (*on_start)(void *ctx, const struct wl_grid *g, size_t to_run);
    void (*on_tick)(void *ctx, double done, double total, double left_s, const char *note);
    void (*on_run)(void *ctx, const struct wl_grid *g, size_t planned, int64_t run, const struct wl_run_result *r);
    /* (optional) Somebody paused or resumed it (text), cancelled or retried runs (NULL); to_run: those that have ended
     * in this call, and that are left. */
    void (*on_control)(void *ctx, const char *text, size_t to_run);
    void *ctx;
};

struct wl_failed_run {
    int64_t run, repeat;
    const char *trial; /* label */
    const char *error;
    const char *log;       /* of the command, or what its job printed; NULL: there is none, as its job never began */
    const char *last_line; /* of the log, what it said before it failed; NULL: nothing */
    const char *cause;     /* what failures that are alike have in common; NULL: it says something of its setting */
};

struct wl_sweep_result {
    const char *store; /* path of the file */
    int64_t campaign;
    size_t planned;                 /* runs of the whole campaign, without skipped trials */
    size_t done;                    /* of these, finished now */
    size_t done_before;             /* of these, before this call */
    size_t in_queue, not_submitted; /* of a batch system: runs with a job, and without one yet */
    struct wl_failed_run *failed;   /* whose newest attempt failed, in this call or before */
    size_t n_failed;
    const struct wl_run_limit_state *limits; /* [n_limits] of the campaign: used, reached, forecast of all runs */
    size_t n_limits;
};

/* Runs what is missing of a campaign. Finished runs are never repeated; runs that were interrupted (also by the death
 * of a wattlaw) are. WL_EINTR: a signal or a limit (out->limits) stopped it; the same call resumes it. WL_EINVAL: the
 * store has the campaign with another command, other data or another way of measuring; the command or data do not
 * exist. WL_EPERM: another process runs this campaign. WL_EJOB: nothing works, [launch] stop_after_failures. Other
 * codes: the store failed. out is filled in as far as it got. */
int wl_sweep_run(const struct wl_experiment *x, const struct wl_sweep_opts *opts, struct wl_sweep_result *out,
                 struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Checks everything that wl_sweep_run checks before its first run, with its codes, and changes nothing: launcher,
 * sensors, store, devices to be capped, command, data. Of a batch system the scripts of all runs are written, and
 * *scripts is their folder (NULL: none). WL_EINVAL also: no trial can be run here. The grid is filled in
 * if it could be made, whatever else is wrong (n_runs 0 and no trials: it could not). */
int wl_sweep_check(const struct wl_experiment *x, struct wl_grid *grid, const char **scripts, struct wl_arena *a,
                   struct wl_err *e) WL_MUST_CHECK;

/* ---- jobs of a batch system: docs/adr/158 ------------------------------------------------------------------- */

struct wl_batch_job_opts {
    const char *folder, *experiment; /* of the campaign; the file of its text */
    const char *trial;               /* the hash of its settings */
    int64_t repeat;
    const struct wl_signals *signals;
};

struct wl_batch_job_result {
    const char *finished; /* the shard that the run has already; NULL: none, and the job was run */
    const char *shard;    /* path of its shard; NULL: none */
    enum wl_run_status status;
    const char *error; /* of the run; NULL: it is done */
};

/* Inside of a job: measures its run in a store on the node's disk, and leaves that as a shard in the campaign's folder.
 * Codes of wl_sweep_run where nothing was run. */
int wl_batch_job_run(const struct wl_batch_job_opts *o, struct wl_batch_job_result *out, struct wl_arena *a,
                     struct wl_err *e) WL_MUST_CHECK;

/* On a node: leaves the shards of jobs of this user whose wattlaw was killed. Returns how many. */
int wl_batch_job_salvage(const struct wl_batch_job_opts *o, struct wl_arena *a);

/* A node's part of a run on several nodes is measured in a store on the node's own disk (local_dir NULL: TMPDIR, /tmp
 * or /dev/shm), which becomes `shard` when it is complete. What others that were killed have left there is shipped
 * first. */
struct wl_batch_node;
int wl_batch_node_open(struct wl_batch_node **out, const char *local_dir, const char *shard, struct wl_arena *a,
                       struct wl_err *e) WL_MUST_CHECK;
const char *wl_batch_node_store(const struct wl_batch_node *n);

/* After the store was closed. WL_ENOENT: it has no run that has begun, and was removed. */
int wl_batch_node_ship(struct wl_batch_node *n, struct wl_err *e) WL_MUST_CHECK;

/* Cancels the jobs of these runs (none: all) of a campaign in the queue; *n: how many. WL_ENOENT: a run has no job in
 * it. The campaign's `sweep` may be following meanwhile. */
int wl_batch_cancel(const struct wl_experiment *x, struct wl_store *s, int64_t campaign, const struct wl_ints *runs,
                    size_t *n, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Path of what a submission's script has printed; NULL: nothing yet. */
const char *wl_batch_output_path(const char *folder, const struct wl_submission_row *row, struct wl_arena *a);

/* Fails with the message that none of the trials can be run on this machine. */
int wl_sweep_is_empty(const struct wl_experiment *x, struct wl_err *e) WL_MUST_CHECK;

#endif

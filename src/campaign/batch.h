/* Runs as jobs of a batch system: what a launcher of one has to do, and the parts of a campaign that goes through it.
 * docs/adr/158
 *
 * Files in the folder of a campaign:
 *     jobs/experiment-HASH.ini        an expanded experiment, named after its text
 *     jobs/NAME.sh                    the script of a run; NAME is LABEL.TRIAL.rREPEAT
 *     jobs/NAME.TOKEN.JOB.out         what the script of a submission printed
 *     jobs/array.rREPEAT.TOKEN.sh     a job array, each of whose tasks is the script of a run; in place of TOKEN a
 * number where --dry-run wrote it jobs/array.rREPEAT.TOKEN.ARRAY_TASK.out shards/TRIAL.rREPEAT.JOB.STATUS.CRC.db TRIAL
 * is the hash of the trial's settings, 16 hexadecimal digits; TOKEN is drawn for each submission.
 */
#ifndef WL_CAMPAIGN_BATCH_H
#define WL_CAMPAIGN_BATCH_H

#include "campaign/sweep.h"

#define WL_BATCH_JOBS_FOLDER   "jobs"
#define WL_BATCH_SHARDS_FOLDER "shards"
#define WL_BATCH_CONFIG_FILE   "slurm-config" /* in jobs/ */

/* ---- a batch system ----------------------------------------------------------------------------------------- */

enum wl_batch_state {
    WL_BATCH_UNKNOWN, /* the batch system does not list it */
    WL_BATCH_WAITING,
    WL_BATCH_RUNNING,
    WL_BATCH_DONE, /* exit status 0 */
    WL_BATCH_FAILED,
    WL_BATCH_TIMEOUT,
    WL_BATCH_LOST, /* preempted, node failed: not the job's doing */
    WL_BATCH_CANCELLED,
};
extern const char *const wl_batch_state_names[];           /* by enum; "unknown", "waiting" ... */
enum wl_batch_state wl_batch_state_find(const char *name); /* WL_BATCH_UNKNOWN for any other text */

/* A job to submit. Paths are absolute. */
struct wl_batch_request {
    const struct wl_experiment *x;
    const struct wl_trial *trial;
    const char *name; /* of the job; its last part is the token */
    const char *script, *output;
    int64_t nodes;
    double time_limit_s;       /* 0: the site's */
    const char *why_limit;     /* what the limit comes from; NULL: it is the site's */
    const char *exclude_nodes; /* comma-separated; NULL: none */
    const char *tasks;         /* of a job array, in Slurm's words: "0-9%4"; NULL: one job */
};

/* What a site allows; 0 and NULL: no limit, or not known. */
struct wl_batch_site {
    int64_t array_max; /* tasks of one job array */
    const char *partition;
    double time_limit_s, default_limit_s; /* of a job in this partition */
    const char *config;                   /* what it said, which jobs read too */
};

struct wl_batch_job {
    const char *id;    /* NULL: not known; set where the name is found */
    const char *token; /* the end of its name; of a task of an array with _ and its number */
    enum wl_batch_state state;
    const char *why;   /* in the batch system's words; NULL: nothing to say */
    const char *nodes; /* NULL: none, or not known */
    bool array_listed; /* the batch system lists the array that it is a task of, or other tasks of that */
};

struct wl_batch {
    /* (optional) Of a batch system that is here, whom asking costs nothing. WL_EPERM: a job of so many nodes has to
     * wait for the end of others; it is submitted later. */
    int (*room)(const struct wl_experiment *x, int64_t nodes, struct wl_arena *a, struct wl_err *e);
    /* Lines that the script begins with: "#SBATCH ..."; NULL: none. */
    const char *(*directives)(const struct wl_batch_request *r, struct wl_arena *a);
    /* (optional) What the site allows for jobs of this experiment. WL_EUNAVAIL: no answer. */
    int (*site)(const struct wl_experiment *x, struct wl_batch_site *out, struct wl_arena *a, struct wl_err *e);
    /* Of a job array *job is the id of the array. WL_EUNAVAIL: no answer, and the job may have been accepted. WL_EPERM:
     * not now, a limit of the queue is reached. Others: refused. */
    int (*submit)(const struct wl_batch_request *r, const char **job, struct wl_arena *a, struct wl_err *e);
    /* Sets state, why and nodes of n jobs. WL_EUNAVAIL: no answer. */
    int (*states)(const struct wl_experiment *x, struct wl_batch_job *v, size_t n, struct wl_arena *a,
                  struct wl_err *e);
    int (*cancel)(const struct wl_experiment *x, const struct wl_strs *jobs, struct wl_arena *a, struct wl_err *e);
    /* The id of the job that this process is in; NULL: none. */
    const char *(*environment)(const struct wl_experiment *x, struct wl_arena *a);
    /* (optional) In a job: where it is, at the begin of its run, and what has changed at its end. What is not known
     * stays missing; false: nothing is. folder: of the campaign. */
    bool (*placement)(const struct wl_experiment *x, const char *folder, bool at_end, struct wl_placement_row *row,
                      struct wl_arena *a);
    /* (optional) In a job: what Slurm is configured as; NULL: not known. */
    const char *(*slurm_config)(const char *folder, struct wl_arena *a);
};
extern const struct wl_batch wl_batch_slurm, wl_batch_command, wl_batch_allocation;

/* ---- batch_slurm_site.c: what a site's Slurm allows ----------------------------------------------------------- */

/* In a job: what `scontrol show config` printed, asked once in a campaign, whose sweeps ask anew; NULL: no answer. */
const char *wl_batch_slurm_config(const char *folder, struct wl_arena *a);

int wl_batch_slurm_site(const struct wl_experiment *x, struct wl_batch_site *out, struct wl_arena *a, struct wl_err *e);

/* Seconds of a time of Slurm: "30", "1:30", "2:00:00", "1-12:00:00", minutes where it is one number; 0: "infinite",
 * "n/a" or another text. */
double wl_batch_slurm_time_s(const char *text);

/* Reads the answers of `scontrol show config` and of `sinfo -h -o %P|%l|%L`. `partition` NULL: the default one. */
void wl_batch_slurm_read_config(const char *config, struct wl_batch_site *out, struct wl_arena *a);
void wl_batch_slurm_read_partitions(char *lines, const char *partition, struct wl_batch_site *out, struct wl_arena *a);

/* batch_program.c: runs a program of the batch system and collects what it prints. WL_EUNAVAIL: no answer in time, or
 * one that says that the controller cannot be reached; WL_EINVAL: it failed, with its own words. */
int wl_batch_program(char *const *argv, char **text, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The same for one that submits. WL_EPERM: the batch system takes no more jobs for now (sbatch itself would try for
 * two minutes, and is killed between two of its attempts). */
int wl_batch_program_submit(char *const *argv, char **text, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* One argument of a program holds 128 KiB (Linux, MAX_ARG_STRLEN): the first of the ids after `from` that goes into
 * another call. At least one id goes into each. */
size_t wl_batch_ids_end(const struct wl_strs *ids, size_t from);

/* batch_answer.c: what a program printed, in a job; NULL, and a warning that begins with `without`: no answer. */
char *wl_batch_answer(char *const *argv, const char *without, struct wl_arena *a);

/* The same, asked once in a campaign and kept in the file `name` of its folder jobs; and what replaces it. */
const char *wl_batch_answer_once(const char *folder, const char *name, char *const *argv, const char *without,
                                 struct wl_arena *a);
void wl_batch_answer_keep(const char *folder, const char *name, const char *text, struct wl_arena *a);

/* After WL_EUNAVAIL: may the batch system have heard the question, so that only its answer is missing? */
bool wl_batch_may_be_sent(const struct wl_err *e);

/* ---- batch_hosts.c, batch_placement.c: where a job is ---------------------------------------------------- */

/* Is the node in a list as Slurm writes them, "n[1-4,07],login"? */
bool wl_batch_hosts_have(const char *list, const char *name);

/* As wl_batch.placement. */
bool wl_batch_slurm_placement(const struct wl_experiment *x, const char *folder, bool at_end,
                              struct wl_placement_row *row, struct wl_arena *a);

/* The lowest switches of the nodes, "s1,s2", by what `scontrol show topology` printed; NULL: not all of them are there.
 */
const char *wl_batch_switches(const char *topology, const struct wl_strs *nodes, struct wl_arena *a);

/* Adds what squeue printed as %i|%V|%S, in seconds since 1970, of the nodes of a job. */
void wl_batch_placement_read(const char *listing, const char *job, struct wl_placement_row *row, struct wl_arena *a);

/* ---- batch_names.c: names of files and jobs ----------------------------------------------------------------- */

/* The hash of the trial's settings. */
const char *wl_batch_trial_hash(const struct wl_settings *set, struct wl_arena *a);

/* "workers-4_local_batch-16.1a2b3c4d5e6f7a8b.r2"; hash NULL: without it */
const char *wl_batch_run_name(const struct wl_trial *t, const char *hash, int64_t repeat, struct wl_arena *a);

/* An id with other characters than letters, digits, - and _ replaced, for names of files. */
const char *wl_batch_file_id(const char *job, struct wl_arena *a);

/* The name of a shard, taken apart. */
struct wl_batch_shard_name {
    const char *trial, *job;
    int64_t repeat;
    enum wl_run_status status;
    uint32_t crc;
};
const char *wl_batch_shard_name(const struct wl_batch_shard_name *n, struct wl_arena *a);
bool wl_batch_shard_parse(const char *name, struct wl_batch_shard_name *out, struct wl_arena *a);

/* WL_EPERM: jobs/ or shards/ of the campaign's folder is a symbolic link of another user, who could read and write what
 * only this user may. */
int wl_batch_folders_check(const char *campaign, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The output file of a submission: NULL while there is none. *job: the id in its name, unchanged if it has none. */
const char *wl_batch_output_find(const char *folder, const struct wl_submission_row *row, const char **job,
                                 struct wl_arena *a);

/* ---- batch_shard.c ------------------------------------------------------------------------------------------ */

/* Closes the store of a job, as one file, and its newest run if its wattlaw died. WL_ENOENT: that run has not begun.
 * placed NULL: where the run was is not known. */
int wl_batch_shard_seal(const char *store, const struct wl_placement_row *placed, struct wl_run_row *out,
                        struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Copies it into the shards of the campaign's folder; name->crc is set. The shard is there whole or not at all. */
int wl_batch_shard_copy(const char *store, const char *campaign, struct wl_batch_shard_name *name, const char **path,
                        struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Copies a store that is closed to the path, whole or not at all. */
int wl_batch_shard_copy_to(const char *store, const char *path, struct wl_err *e) WL_MUST_CHECK;

/* Why the file does not have the checksum of its name; NULL: it has. */
const char *wl_batch_shard_damage(const char *path, const struct wl_batch_shard_name *name, struct wl_arena *a);

/* ---- batch_local.c: stores on a node's own disk ------------------------------------------------------------- */

/* The folder of this user's stores in `given`; NULL: in the first of TMPDIR, /tmp and /dev/shm that has room. */
int wl_batch_local_base(const char *given, const char **base, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

struct wl_batch_local {
    const char *dir, *store; /* a folder of its own; the path of the store in it */
    int lock;                /* held while its wattlaw, or a guard of it, lives; -1: not held here */
};
#define WL_BATCH_LOCAL_PART "node" /* first line of the target of a node's part of a run; the second is its shard */

/* Makes the folder, under another name if `path` is taken, and locks it until the arena ends. `target`: lines that say
 * where the store belongs, for who salvages it. */
int wl_batch_local_make(struct wl_batch_local *l, const char *path, const char *target, struct wl_arena *a,
                        struct wl_err *e) WL_MUST_CHECK;

/* One that is there. false: it has no target. */
bool wl_batch_local_read(struct wl_batch_local *l, const char *dir, struct wl_strs *target, struct wl_arena *a);
bool wl_batch_local_lock(struct wl_batch_local *l, double wait_s, struct wl_arena *a);
void wl_batch_local_release(struct wl_batch_local *l);
void wl_batch_local_remove(struct wl_batch_local *l, struct wl_arena *a);

/* batch_job.c: ships what wattlaws that were killed have left in the base; returns how many. `of`: a run whose wattlaw
 * has just been killed, and whose guards are waited for; NULL: none. */
int wl_batch_salvage(const char *base, const struct wl_batch_job_opts *of, struct wl_arena *a);

/* ---- batch_script.c ----------------------------------------------------------------------------------------- */

/* What the scripts of a campaign have in common; from wl_batch_scripts_open, which writes the experiment's text. */
struct wl_batch_scripts {
    const struct wl_experiment *x;
    const struct wl_batch *batch;
    const char *folder;     /* of the campaign, absolute */
    const char *experiment; /* path of its text */
};
int wl_batch_scripts_open(const struct wl_sweep *sweep, struct wl_batch_scripts *s, struct wl_err *e) WL_MUST_CHECK;

/* Writes the script of the request, whose name, script and output it sets; a text to a path. */
int wl_batch_script_write(const struct wl_batch_scripts *s, const char *hash, int64_t repeat, const char *token,
                          struct wl_batch_request *r, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;
int wl_batch_script_store(const char *path, const char *text, struct wl_err *e) WL_MUST_CHECK;

/* 12 hexadecimal digits. */
const char *wl_batch_token(struct wl_arena *a);

/* ---- batch_array.c: equal jobs as the tasks of one array ------------------------------------------------------ */

/* The key array: *most is the most tasks of an array, 0: no arrays. false: another text. */
bool wl_batch_array_parse(const char *text, int64_t *most);

/* A job to submit, in the order of the plan. */
struct wl_batch_item {
    int64_t repeat;
    const char *needs; /* what it asks the batch system for, its time limit apart */
    double time_limit_s;
};

/* Puts each of n jobs into a group of at most `most`: group[i], numbered in the order of their first jobs. Returns how
 * many. A group is of one repeat and of equal needs, and its longest time limit is less than twice its shortest: what a
 * group has in common may decide its place in the queue, so that groups of several repeats would undo their order. */
size_t wl_batch_array_split(const struct wl_batch_item *v, size_t n, size_t most, size_t *group, struct wl_arena *a);

/* The needs of a job. */
const char *wl_batch_needs(const struct wl_batch *batch, const struct wl_batch_request *r, struct wl_arena *a);

/* Writes the script of an array of n jobs, whose own scripts are written, and sets name, script, output, tasks and the
 * limit of *out; the rest of it is that of the jobs. */
int wl_batch_array_write(const struct wl_batch_scripts *s, const struct wl_batch_request *v, size_t n, int64_t repeat,
                         const char *token, struct wl_batch_request *out, struct wl_arena *a,
                         struct wl_err *e) WL_MUST_CHECK;

/* "3" in the token "5c1f0e8a9b3d_3" or the id "4711_3" of a task; NULL: not a task's. */
const char *wl_batch_task(const char *token_or_id);

/* ---- batch_queue.c: the campaign's jobs as the store has them ----------------------------------------------- */

/* A planned run that was handed to the batch system, and is not closed. */
struct wl_batch_open {
    struct wl_submission_row row;
    const struct wl_run_row *run;
    struct wl_batch_job job;
    bool ended; /* no state of it will follow */
};

struct wl_batch_queue {
    struct wl_sweep *s;
    const struct wl_batch_site *site; /* NULL: not known */
    struct wl_run_rows runs;          /* of the campaign */
    struct wl_trial_rows trials;
    struct wl_submission_rows submissions;
    struct wl_batch_open *open;
    size_t n_open;
    int64_t n_nodes; /* of all open ones */
};
int wl_batch_queue_read(struct wl_batch_queue *q, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Asks the batch system for all of them, and stores what is new. *changed: something was. */
int wl_batch_queue_update(struct wl_batch_queue *q, bool *changed, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* ---- batch_nodes.c -------------------------------------------------------------------------------------------- */

/* The names in a list of nodes as Slurm writes them: "n[1-4,07],login". */
struct wl_strs wl_batch_nodes_expand(const char *list, struct wl_arena *a);

/* Nodes that have failed twice, comma-separated: each is the only one that two jobs ended by NODE_FAIL or BOOT_FAIL
 * have in common. Of several nodes the batch system does not say which one failed. NULL: none. */
const char *wl_batch_failed_nodes(const struct wl_submission_rows *rows, struct wl_arena *a);

/* ---- batch_limit.c: time limits of jobs ----------------------------------------------------------------------- */

/* A finished run; batch NAN: it has none. */
struct wl_batch_took {
    double workers, batch, time_s;
};

/* The duration that a power law in workers and batch gives for these; NAN: they lie outside of what was measured, or
 * that is less than two settings more than axes that vary. */
double wl_batch_law_s(const struct wl_batch_took *v, size_t n, double workers, double batch, struct wl_arena *a);

/* The finished runs of the queue. */
struct wl_batch_limits;
struct wl_batch_limits *wl_batch_limits_new(const struct wl_batch_queue *q, struct wl_arena *a);

/* The limit of the next job of a trial, and what it comes from; 0 and NULL: the site's default. */
struct wl_batch_limit {
    double s;
    const char *why;
};
struct wl_batch_limit wl_batch_limit_of(const struct wl_batch_limits *l, int64_t trial);

/* The limit that a job had; NAN: not known. `site` may be NULL. */
double wl_batch_asked_limit_s(const struct wl_batch_site *site, const struct wl_submission_row *row);

/* ---- batch_submit.c ------------------------------------------------------------------------------------------- */

/* Submits the runs of the plan that have no job. */
struct wl_batch_submitter {
    struct wl_sweep *s;
    struct wl_batch_scripts scripts;
    struct wl_batch_site site;
    size_t waiting, running, missing; /* runs in the queue; without a job */
    size_t room;                      /* jobs that the site takes; SIZE_MAX: no limit was met */
    int64_t full_ns;                  /* when it was met */
    bool full;                        /* that it took no more jobs was said */
    bool asked;                       /* `site` is known */
};

/* Asks for `site`, once. A time_limit above that of the partition is said. */
int wl_batch_ask_site(struct wl_batch_submitter *b, struct wl_err *e) WL_MUST_CHECK;

/* As many as may be in the queue, in the order of the plan. WL_EINTR: the user asked to stop. */
int wl_batch_submit_missing(struct wl_batch_submitter *b, const struct wl_batch_queue *q, bool *changed,
                            struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Is the run planned, and without a job? */
bool wl_batch_is_missing(const struct wl_batch_queue *q, int64_t run);

/* Does the user ask to stop? Then what is said. */
bool wl_batch_stop_requested(const struct wl_batch_submitter *b);
int wl_batch_stopped(const struct wl_batch_submitter *b, struct wl_err *e);

/* Ends following with this code: why, and how many jobs stay in the queue. */
int wl_batch_leave_queue(const struct wl_batch_submitter *b, int code, const char *why, struct wl_err *e);

/* ---- batch_collect.c ---------------------------------------------------------------------------------------- */

struct wl_batch_collector {
    struct wl_strs left; /* names of shards that were named and left */
    struct wl_arena *a;
};

/* Takes the shards that are there. *taken: how many. */
int wl_batch_collect(struct wl_batch_collector *c, struct wl_batch_queue *q, size_t *taken, struct wl_arena *a,
                     struct wl_err *e) WL_MUST_CHECK;

/* Closes runs whose job has ended and left no shard for a while. *closed: how many. */
int wl_batch_settle(struct wl_batch_queue *q, size_t *closed, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* ---- batch_dry_run.c ------------------------------------------------------------------------------------------ */

/* Writes the scripts of all runs of the grid, and of the arrays that they form. */
int wl_batch_write_scripts(struct wl_sweep *s, struct wl_err *e) WL_MUST_CHECK;

/* ---- batch_follow.c ----------------------------------------------------------------------------------------- */

/* The whole of a campaign whose launcher is a batch system: codes of wl_sweep_run. */
int wl_batch_run(struct wl_sweep *s, struct wl_err *e) WL_MUST_CHECK;

#endif

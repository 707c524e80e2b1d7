/* Runs as jobs of a batch system: what a launcher of one has to do, and the parts of a campaign that goes through it.
 * docs/adr/158
 *
 * Files in the folder of a campaign:
 *     jobs/experiment-HASH.ini        an expanded experiment, named after its text
 *     jobs/NAME.sh                    the script of a run; NAME is LABEL.TRIAL.rREPEAT
 *     jobs/NAME.TOKEN.JOB.out         what the script of a submission printed
 *     shards/TRIAL.rREPEAT.JOB.STATUS.CRC.db
 * TRIAL is the hash of the trial's settings, 16 hexadecimal digits; TOKEN is drawn for each submission.
 */
#ifndef WL_CAMPAIGN_BATCH_H
#define WL_CAMPAIGN_BATCH_H

#include "campaign/sweep.h"

#define WL_BATCH_JOBS_FOLDER   "jobs"
#define WL_BATCH_SHARDS_FOLDER "shards"

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
    const char *exclude_nodes; /* comma-separated; NULL: none */
};

struct wl_batch_job {
    const char *id;    /* NULL: not known; set where the name is found */
    const char *token; /* the end of its name */
    enum wl_batch_state state;
    const char *why;   /* in the batch system's words; NULL: nothing to say */
    const char *nodes; /* NULL: none, or not known */
};

struct wl_batch {
    /* (optional) Of a batch system that is here, whom asking costs nothing. WL_EPERM: a job of so many nodes has to wait
     * for the end of others; it is submitted later. */
    int (*room)(const struct wl_experiment *x, int64_t nodes, struct wl_arena *a, struct wl_err *e);
    /* Lines that the script begins with: "#SBATCH ..."; NULL: none. */
    const char *(*directives)(const struct wl_batch_request *r, struct wl_arena *a);
    /* WL_EUNAVAIL: no answer, and the job may have been accepted. WL_EPERM: not now, a limit of the queue is reached.
     * Others: refused. */
    int (*submit)(const struct wl_batch_request *r, const char **job, struct wl_arena *a, struct wl_err *e);
    /* Sets state, why and nodes of n jobs. WL_EUNAVAIL: no answer. */
    int (*states)(const struct wl_experiment *x, struct wl_batch_job *v, size_t n, struct wl_arena *a,
                  struct wl_err *e);
    int (*cancel)(const struct wl_experiment *x, const struct wl_strs *jobs, struct wl_arena *a, struct wl_err *e);
    /* The id of the job that this process is in; NULL: none. */
    const char *(*environment)(const struct wl_experiment *x);
};
extern const struct wl_batch wl_batch_slurm, wl_batch_command, wl_batch_allocation;

/* batch_program.c: runs a program of the batch system and collects what it prints. WL_EUNAVAIL: no answer in time, or
 * one that says that the controller cannot be reached; WL_EINVAL: it failed, with its own words. */
int wl_batch_program(char *const *argv, char **text, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* After WL_EUNAVAIL: may the batch system have heard the question, so that only its answer is missing? */
bool wl_batch_may_be_sent(const struct wl_err *e);

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

/* Why the file does not have the checksum of its name; NULL: it has. */
const char *wl_batch_shard_damage(const char *path, const struct wl_batch_shard_name *name, struct wl_arena *a);

/* The output file of a submission: NULL while there is none. *job: the id in its name, unchanged if it has none. */
const char *wl_batch_output_find(const char *folder, const struct wl_submission_row *row, const char **job,
                                 struct wl_arena *a);

/* ---- batch_script.c ----------------------------------------------------------------------------------------- */

/* Writes the experiment's text, and the script of the request, whose name, script and output it sets. */
struct wl_batch_scripts {
    const struct wl_experiment *x;
    const struct wl_batch *batch;
    const char *folder;     /* of the campaign, absolute */
    const char *experiment; /* path of its text; from wl_batch_scripts_open on */
};
int wl_batch_scripts_open(struct wl_batch_scripts *s, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;
int wl_batch_script_write(const struct wl_batch_scripts *s, const char *hash, int64_t repeat, const char *token,
                          struct wl_batch_request *r, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* 12 hexadecimal digits. */
const char *wl_batch_token(struct wl_arena *a);

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
    struct wl_run_rows runs; /* of the campaign */
    struct wl_trial_rows trials;
    struct wl_submission_rows submissions;
    struct wl_batch_open *open;
    size_t n_open;
    int64_t n_nodes; /* of all open ones */
};
int wl_batch_queue_read(struct wl_batch_queue *q, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Asks the batch system for all of them, and stores what is new. *changed: something was. */
int wl_batch_queue_update(struct wl_batch_queue *q, bool *changed, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

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

/* ---- batch_follow.c ----------------------------------------------------------------------------------------- */

/* The whole of a campaign whose launcher is a batch system: codes of wl_sweep_run. */
int wl_batch_run(struct wl_sweep *s, struct wl_err *e) WL_MUST_CHECK;

/* Writes the scripts of all runs that are to be made. */
int wl_batch_write_scripts(struct wl_sweep *s, struct wl_err *e) WL_MUST_CHECK;

#endif

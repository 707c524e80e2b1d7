/* Keys of [launch] for runs that are jobs of a batch system. */
#ifndef WL_CAMPAIGN_BATCH_KEYS_H
#define WL_CAMPAIGN_BATCH_KEYS_H

#include "base/base.h"

struct wl_batch_keys {
    /* the job that Slurm is asked for; NULL and 0: not said */
    const char *partition, *account, *qos, *constraint, *gres;
    int64_t gpus_per_node, workers_per_node;
    bool exclusive;
    double time_limit_s;
    double time_margin;         /* of a predicted limit over the predicted duration; 0: no limit is predicted */
    double signal_before_s;     /* the command is warned so long before its limit; 0: it is not */
    const char *array;          /* yes, no or the most tasks of one array */
    const char *sbatch_options; /* words */
    /* its script */
    const char *setup;     /* a line of shell before wattlaw */
    const char *container; /* words before wattlaw */
    const char *wattlaw;   /* its path in the job; NULL: that of this program */
    const char *pack;      /* fill | alone: runs in an allocation */
    const char *local_dir; /* folder on the node's disk; NULL: TMPDIR, /tmp, /dev/shm */
    /* the queue */
    int64_t max_in_queue, max_nodes; /* max_nodes 0: no limit */
    int64_t retries;
    double poll_s; /* shortest time between two questions */
    /* a site's own launcher: lines of shell */
    const char *submit_command, *states_command, *cancel_command;
    const char *job_variable; /* environment variable of a job that holds its id */
};

/* Rows for a struct that holds a struct wl_batch_keys as member `at`. */
/* clang-format off */
#define WL_BATCH_OPT_ROWS(holder, at)                                                                                  \
    { .name = "partition", .type = WL_STR, .offset = offsetof(holder, at.partition), .unit = "NAME",                   \
      .help = "slurm: partition of the jobs (default: the site's)" },                                                  \
    { .name = "account", .type = WL_STR, .offset = offsetof(holder, at.account), .unit = "NAME",                       \
      .help = "slurm: account that the jobs are charged to (default: the user's)" },                                   \
    { .name = "qos", .type = WL_STR, .offset = offsetof(holder, at.qos), .unit = "NAME",                               \
      .help = "slurm: quality of service of the jobs (default: the site's)" },                                         \
    { .name = "constraint", .type = WL_STR, .offset = offsetof(holder, at.constraint), .unit = "FEATURES",             \
      .help = "slurm: features that the nodes must have (default: none)" },                                            \
    { .name = "gres", .type = WL_STR, .offset = offsetof(holder, at.gres), .unit = "LIST",                             \
      .help = "slurm: generic resources per node, as gpu:a100:4 (default: none)" },                                    \
    { .name = "gpus-per-node", .type = WL_INT, .offset = offsetof(holder, at.gpus_per_node), .min = 0, .max = 1024,    \
      .help = "GPUs of each node of a job; 0: none asked for (default 0)" },                                           \
    { .name = "workers-per-node", .type = WL_INT, .offset = offsetof(holder, at.workers_per_node), .min = 0,           \
      .max = 1e5, .help = "workers that fit on a node, from which the nodes of a trial follow; 0: one node, or "       \
                          "[sweep] nodes (default 0)" },                                                               \
    { .name = "exclusive", .type = WL_FLAG, .offset = offsetof(holder, at.exclusive), .def = "no",                     \
      .help = "slurm: share the nodes of a job with no other job" },                                                   \
    { .name = "time-limit", .type = WL_DURATION, .offset = offsetof(holder, at.time_limit_s), .def = "0", .min = 0,    \
      .max = 1e8, .unit = "s", .help = "time limit of a job whose duration no finished run predicts, doubled for a run whose job reaches the limit; 0: the site's" }, \
    { .name = "time-margin", .type = WL_REAL, .offset = offsetof(holder, at.time_margin), .def = "2", .min = 0,        \
      .max = 100, .help = "factor from the duration that finished runs predict to the time limit of a job; 0: always time_limit" }, \
    { .name = "signal-before", .type = WL_DURATION, .offset = offsetof(holder, at.signal_before_s), .def = "0",        \
      .min = 0, .max = 65535, .unit = "s", .help = "slurm: send the command SIGUSR1 so long before its job's time limit; 0: never" }, \
    { .name = "array", .type = WL_STR, .offset = offsetof(holder, at.array), .def = "no", .unit = "yes|no|N",          \
      .help = "slurm: submit equal jobs of a repeat as one job array, of at most N tasks" },                           \
    { .name = "sbatch-options", .type = WL_STR, .offset = offsetof(holder, at.sbatch_options), .unit = "OPTIONS",      \
      .help = "slurm: further options of sbatch, as --mem=0 --hint=nomultithread (default: none)" },                   \
    { .name = "setup", .type = WL_STR, .offset = offsetof(holder, at.setup), .unit = "SHELL",                          \
      .help = "line of shell that a job runs before wattlaw, as module load cuda (default: none)" },                   \
    { .name = "container", .type = WL_STR, .offset = offsetof(holder, at.container), .unit = "COMMAND",                \
      .help = "words put before wattlaw in a job, as apptainer exec --nv train.sif (default: none)" },                 \
    { .name = "wattlaw", .type = WL_STR, .offset = offsetof(holder, at.wattlaw), .unit = "PATH",                       \
      .help = "path of wattlaw in a job (default: that of the submitting wattlaw)" },                             \
    { .name = "local-dir", .type = WL_STR, .offset = offsetof(holder, at.local_dir), .unit = "FOLDER",                 \
      .help = "folder on the disk of a node in which a job measures (default: TMPDIR, /tmp or /dev/shm)" },            \
    { .name = "pack", .type = WL_CHOICE, .offset = offsetof(holder, at.pack), .def = "alone",                          \
      .choices = "fill|alone",                                                                                         \
      .help = "allocation: runs side by side on nodes of their own while nodes are free, or one run at a time" },      \
    { .name = "max-in-queue", .type = WL_INT, .offset = offsetof(holder, at.max_in_queue), .def = "100", .min = 1,     \
      .max = 1e5, .help = "maximum number of jobs of the campaign in the queue, running ones and array tasks included" },              \
    { .name = "max-nodes", .type = WL_INT, .offset = offsetof(holder, at.max_nodes), .def = "0", .min = 0,             \
      .max = 1e6, .help = "maximum number of nodes of all jobs in the queue; 0: no limit" },                           \
    { .name = "retries", .type = WL_INT, .offset = offsetof(holder, at.retries), .def = "5", .min = 0, .max = 100,     \
      .help = "maximum number of further attempts of a run after a preemption, a failed node or a time limit" },              \
    { .name = "poll", .type = WL_DURATION, .offset = offsetof(holder, at.poll_s), .def = "2s", .min = 0.1, .max = 60,  \
      .unit = "s", .help = "shortest time between two queries of the batch system, which grows to 60 s while nothing changes" }, \
    { .name = "submit-command", .type = WL_STR, .offset = offsetof(holder, at.submit_command), .unit = "SHELL",        \
      .help = "launcher command: submits {script} and prints the job's id (default: none)" },                          \
    { .name = "states-command", .type = WL_STR, .offset = offsetof(holder, at.states_command), .unit = "SHELL",        \
      .help = "launcher command: prints a line 'ID STATE [NAME]' for each known job of {jobs} (default: none)" }, \
    { .name = "cancel-command", .type = WL_STR, .offset = offsetof(holder, at.cancel_command), .unit = "SHELL",        \
      .help = "launcher command: cancels {jobs} (default: none)" },                                                    \
    { .name = "job-variable", .type = WL_STR, .offset = offsetof(holder, at.job_variable), .unit = "NAME",             \
      .help = "launcher command: environment variable of a job that holds its id, as PBS_JOBID (default: none)" }
/* clang-format on */

#endif

/* wattlaw-train, inside: one training of one workload, as this rank sees it. */
#ifndef WL_TRAIN_TRAIN_H
#define WL_TRAIN_TRAIN_H

#include "nn/checkpoint/checkpoint.h"
#include "train/workload.h"

/* ---- train_options.c -------------------------------------------------------------------------------------------- */

/* The options of every workload, over struct wl_train_opts. */
extern const struct wl_opt wl_train_option_rows[];

/* The defaults of the size that was chosen. */
const struct wl_train_defaults *wl_train_defaults(const struct wl_train_task *j);

/* Completes the options: the workload's defaults where nothing was said, then its own (wl_workload.begin). Checks what
 * the rows cannot. */
int wl_train_options_complete(struct wl_train_task *j, struct wl_err *e) WL_MUST_CHECK;

/* ---- the training ------------------------------------------------------------------------------------------------ */

/* Where a training stands; a checkpoint keeps it. */
struct wl_train_position {
    int64_t epoch;           /* from 1; the one in progress, or the next */
    int64_t epoch_updates;   /* done in it */
    int64_t updates;         /* done in all */
    struct wl_counts counts; /* of all ranks, in this epoch so far */
};

/* What the metrics of an epoch are of: the training pass, and evaluations behind it. */
enum wl_train_phase { WL_PHASE_TRAIN, WL_PHASE_VAL, WL_PHASE_EVAL_TRAIN, WL_PHASES };
extern const char *const wl_train_phase_names[WL_PHASES]; /* in front of a metric's name: "eval_train" */

/* One epoch's results, the same on every rank. Missing: NAN. */
struct wl_train_epoch {
    int64_t epoch, samples, updates;
    double time_s;             /* of the training pass, on this rank's clock */
    double input_wait_s;       /* time that a rank waited for data, mean over ranks */
    double *metric[WL_PHASES]; /* the job's n_metrics of each */
    double lr;                 /* of its last update */
    bool whole;                /* false: resumed in its middle, so time and samples are of a part */
};

struct wl_trainer {
    struct wl_train_task *job;
    const struct wl_train_opts *opts; /* of the job */
    struct wl_arena *arena;
    struct wl_comm *comm;
    struct wl_loader *train, *val; /* val NULL: no validation */
    struct wl_loader *eval_train;  /* the training set as validation takes its own; NULL: not evaluated */
    void *inputs[WL_DATASET_MAX_BUFFERS];
    struct wl_plan *plan;
    struct wl_lr_schedule schedule;
    double lr;             /* of the last update */
    int64_t global_batch;  /* workers x local batch x accumulation */
    int64_t epoch_updates; /* of a whole epoch */
    struct wl_train_position at;
    struct wl_train_epoch *epochs; /* finished in this process */
    size_t n_epochs;
    bool agreed; /* the error that ends the job is known to all ranks */
};

/* train_model.c: the whole of `wattlaw-train NAME`: opens the ranks, trains, reports. The job has its workload,
 * options, rows and arena. Returns as wl_cmd.run does, in every rank; ranks but 0 return an exit status, so that one of
 * them speaks. */
int wl_cmd_train_run(struct wl_train_task *j, const struct wl_opts_args *rest, struct wl_err *e) WL_MUST_CHECK;

/* train_setup.c: data, network and plan on every rank. t->comm, job, opts, arena and global_batch are set. Collective.
 */
int wl_train_setup(struct wl_trainer *t, struct wl_err *e) WL_MUST_CHECK;

/* train_setup.c: the plan that the options ask for, of one rank. */
struct wl_plan_opts wl_train_plan_opts(const struct wl_train_opts *o);

/* train_choices.c: that plan, of this rank among those of comm (NULL: of one process), with the choices of earlier
 * runs; those that it adds are remembered. `dry`: without memory. Collective. */
int wl_train_plan(struct wl_plan **plan, const struct wl_graph *g, const struct wl_train_opts *o, bool dry,
                  struct wl_comm *comm, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* train_choices.c: the plan's choices in the head of a checkpoint; a warning where the plan that goes on has others. */
void wl_train_autotune_describe(const struct wl_plan *plan, struct wl_json *head, struct wl_arena *a);
void wl_train_autotune_compare(const struct wl_plan *plan, const struct wl_json *head, struct wl_arena *a);

/* train_setup.c: can this machine compute as the options say? Known to all ranks alike, so it is looked at before they
 * start on the plan together. */
int wl_train_check_backend(const struct wl_train_opts *o, struct wl_err *e) WL_MUST_CHECK;

/* train_explain.c: prints the plan of one rank, as text or as JSON, without data and without its memory. Returns as
 * wl_cmd.run does. */
int wl_cmd_train_explain(struct wl_train_task *j, struct wl_err *e) WL_MUST_CHECK;

/* train_loop.c: trains to the last epoch. WL_EINTR: a signal asked to stop, and a checkpoint was written if there is
 * a place for it. Collective. */
int wl_train_loop(struct wl_trainer *t, struct wl_err *e) WL_MUST_CHECK;

/* train_validate.c: the metrics of a training pass, which has no sums of the workload's own; NAN: missing. */
void wl_train_metrics_of_counts(const struct wl_train_task *j, const struct wl_counts *counts, double *metrics);

/* train_validate.c: forward over a whole set; its metrics, on all ranks. Collective. */
int wl_train_evaluate(struct wl_trainer *t, struct wl_loader *feed, double *metrics, struct wl_err *e) WL_MUST_CHECK;

/* train_resume.c: writes a checkpoint of the present state; takes the state of the newest one of the folder. */
int wl_train_checkpoint_save(struct wl_trainer *t, struct wl_err *e) WL_MUST_CHECK;
int wl_train_checkpoint_resume(struct wl_trainer *t, struct wl_err *e) WL_MUST_CHECK;

/* train_report.c: what the training is going to do, with every value that a recipe or a default has set, in the log;
 * the results of an epoch in the log; all results on stdout, as a table or as JSON. Rank 0. */
void wl_cmd_train_log_settings(const struct wl_trainer *t);
void wl_cmd_train_log_epoch(const struct wl_trainer *t, const struct wl_train_epoch *r);
void wl_cmd_train_report(const struct wl_trainer *t, bool interrupted);

/* train_signal.c: SIGINT and SIGTERM ask to stop; the second one ends the process as usual. So does SIGHUP, however
 * often. */
void wl_cmd_train_signals_catch(void);
bool wl_cmd_train_stop_requested(void);

#endif

/* Data-parallel training of one workload, as one rank sees it. It prints nothing: callers learn of its progress through
 * struct wl_train_events. */
#ifndef WL_TRAIN_TRAIN_H
#define WL_TRAIN_TRAIN_H

#include "nn/checkpoint/checkpoint.h"
#include "train/options.h"
#include "train/plan.h"
#include "train/workload.h"

/* The training position, which checkpoints keep. */
struct wl_train_position {
    int64_t epoch;           /* from 1; the one in progress, or the next */
    int64_t epoch_updates;   /* done in this epoch */
    int64_t updates;         /* done in all epochs */
    struct wl_counts counts; /* of all ranks, in this epoch so far */
};

/* What the metrics of an epoch are of: the training pass, and the evaluations after it. */
enum wl_train_phase { WL_PHASE_TRAIN, WL_PHASE_VAL, WL_PHASE_EVAL_TRAIN, WL_PHASES };
extern const char *const wl_train_phase_names[WL_PHASES]; /* prefix of a metric's name: "eval_train" */

/* One epoch's results, the same on every rank. Missing: NAN. */
struct wl_train_epoch {
    int64_t epoch, samples, updates;
    int64_t skipped;           /* of the updates, by loss scaling */
    double time_s;             /* of the training pass, on this rank's clock */
    double input_wait_s;       /* time that a rank waited for data, mean over ranks */
    double *metric[WL_PHASES]; /* [n_metrics] of the task, for each phase */
    double lr;                 /* of the last update */
    bool complete;             /* false: resumed within the epoch, so time and samples cover a part of it */
};

struct wl_trainer;

/* What the caller wants to know; each callback is optional. All are called from the training's own thread, `stop` on
 * every rank, the others on rank 0 only. */
struct wl_train_events {
    /* While convolutions are measured: once before (done = total = 0), then after each. */
    void (*tuning)(void *data, size_t done, size_t total);
    /* The plan is made. Also called if planning failed. */
    void (*planned)(void *data);
    /* Data, plan and position are ready; the first epoch follows. */
    void (*ready)(void *data, const struct wl_trainer *t);
    /* A training pass begins; after each update; it ended, also by an error or a stop. */
    void (*pass_begin)(void *data, const struct wl_trainer *t);
    void (*update)(void *data, const struct wl_trainer *t);
    void (*pass_end)(void *data, const struct wl_trainer *t);
    /* An epoch and its evaluations are complete. */
    void (*epoch_end)(void *data, const struct wl_trainer *t, const struct wl_train_epoch *r);
    /* Asked after each update: true stops all ranks, with a checkpoint if there is a folder for it. */
    bool (*stop)(void *data);
};

/* What wl_loader_next gave for the next run. */
struct wl_train_batch {
    bool there;
    int got;
    int64_t n;
    struct wl_err error;
};

/* The caller sets the first group, wl_train_run the rest. */
struct wl_trainer {
    struct wl_train_task *task;
    struct wl_arena *arena;
    struct wl_comm *comm;
    const struct wl_train_events *events; /* NULL: none */
    void *events_data;
    const char *autotune_cache; /* as in struct wl_train_plan_opts */

    const struct wl_train_opts *opts;        /* of the task */
    struct wl_backend_device device;         /* the GPU of this rank; empty texts: it computes on processors */
    struct wl_err no_device;                 /* why there is none; code 0: there is */
    struct wl_loader *train_feed, *val_feed; /* val_feed NULL: no validation */
    struct wl_loader *eval_train_feed;    /* the training set, read as validation reads its own; NULL: not evaluated */
    void *inputs[WL_DATASET_MAX_BUFFERS]; /* of the plan: the slot to be filled */
    struct wl_train_batch batch;
    struct wl_plan *plan; /* NULL: set-up failed before there was one */
    struct wl_lr_schedule schedule;
    int64_t global_batch;  /* workers x local batch x accumulation */
    int64_t epoch_updates; /* of a complete epoch */
    struct wl_train_position position;
    struct wl_train_epoch *epochs; /* finished in this process */
    size_t n_epochs;
    bool error_is_collective; /* all ranks know the error that ended the training */
};

/* Trains to the last epoch: marks, data, plan, checkpoint to resume from, epochs, the workload's export. The task's
 * options are complete. WL_EINTR: stopped by events->stop, after writing a checkpoint if there is a folder for it.
 * Collective. */
int wl_train_run(struct wl_trainer *t, struct wl_err *e) WL_MUST_CHECK;

/* Instead: sets up data and plan, measures the device's peaks and times `rounds` steps of one local batch, always the
 * first of the data (time_steps.c). Trains nothing: no marks, no checkpoints. The communicator has one rank. */
int wl_train_time_steps(struct wl_trainer *t, size_t rounds, struct wl_by_op **out, struct wl_err *e) WL_MUST_CHECK;

#endif

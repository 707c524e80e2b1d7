/* wattlaw-train, inside: one training of one model, as this rank sees it. */
#ifndef WL_CMD_TRAIN_H
#define WL_CMD_TRAIN_H

#include "data/data.h"
#include "models/models.h"
#include "nn/checkpoint/checkpoint.h"

/* ---- train_options.c -------------------------------------------------------------------------------------------- */

/* What the user said. Numbers that are 0 and reals that are NAN take the model's default (wl_train_fill),
 * the learning rate later, when the global batch is known. */
struct wl_train_opts {
    const char *data, *size, *backend;
    int64_t epochs, local_batch, accumulation, image_size, classes, train_samples, val_samples, seed;
    const char *recipe;
    bool validate, eval_train, augment, skip_bad, check_crc;
    /* optimiser and schedule */
    double lr, momentum, weight_decay;
    bool nesterov, lr_scale;
    const char *lr_schedule;
    double warmup_epochs, lr_factor, lr_step_epochs, lr_min;
    int64_t lr_patience;
    /* machine */
    int64_t workers, threads, loader_threads;
    const char *comm, *conv, *precision;
    bool pin, allow_slow_bf16;
    /* checkpoints and output */
    const char *checkpoint_dir;
    double checkpoint_every; /* epochs; 0: only when interrupted and at the end */
    int64_t checkpoint_keep;
    bool resume, explain, json, quiet;
};
extern const struct wl_opt wl_train_rows[];

/* train_recipes.c: the published recipes, as values of these options. */
extern const struct wl_opt_preset wl_train_recipes[];

/* Puts the model's defaults where nothing was said, and checks what the rows cannot. */
int wl_train_fill(struct wl_train_opts *o, const struct wl_model *m, struct wl_err *e) WL_MUST_CHECK;

/* ---- the training ------------------------------------------------------------------------------------------------ */

/* Where a training stands; a checkpoint keeps it. */
struct wl_train_at {
    int64_t epoch;           /* from 1; the one in progress, or the next */
    int64_t epoch_updates;   /* done in it */
    int64_t updates;         /* done in all */
    struct wl_counts counts; /* of all ranks, in this epoch so far */
};

/* One epoch's results, the same on every rank. Missing: NAN. */
struct wl_train_epoch {
    int64_t epoch, samples, updates;
    double time_s;       /* of the training pass, on this rank's clock */
    double input_wait_s; /* time that a rank waited for data, mean over ranks */
    double train_loss, train_top1, train_top5, val_loss, val_top1, val_top5;
    double eval_train_loss, eval_train_top1, eval_train_top5; /* over the training set, as validation is done */
    double lr;                                                /* of its last update */
    bool whole; /* false: resumed in its middle, so time and samples are of a part */
};

struct wl_train {
    const struct wl_model *model;
    const struct wl_train_opts *opts;
    struct wl_arena *arena;
    struct wl_comm *comm;
    struct wl_loader *train, *val; /* val NULL: no validation */
    struct wl_loader *eval_train;  /* the training set in order, without crops and flips; NULL: not evaluated */
    struct wl_model_net net;
    struct wl_plan *plan;
    struct wl_schedule schedule;
    double lr;            /* of the last update */
    int64_t global_batch; /* workers x local batch x accumulation */
    int64_t classes;
    int64_t epoch_updates; /* of a whole epoch */
    struct wl_train_at at;
    struct wl_train_epoch *epochs; /* finished in this process */
    size_t n_epochs;
    bool agreed; /* the error that ends the job is known to all ranks */
};

/* train_model.c: the whole of `wattlaw-train MODEL`: opens the ranks, trains, reports. Returns as wl_cmd.run does, in
 * every rank; ranks but 0 return an exit status, so that one of them speaks. */
int wl_train_model(const struct wl_model *m, struct wl_train_opts *o, const struct wl_rest *rest, struct wl_arena *a,
                   struct wl_err *e) WL_MUST_CHECK;

/* train_setup.c: data, network and plan on every rank. t->comm, model, opts, arena and
 * global_batch are set. Collective. */
int wl_train_setup(struct wl_train *t, struct wl_err *e) WL_MUST_CHECK;

/* train_setup.c: the plan that the options ask for, of one rank. */
struct wl_plan_opts wl_train_plan_opts(const struct wl_train_opts *o);

/* train_choices.c: that plan, of this rank among those of comm (NULL: of one process), with the choices of earlier
 * runs; those that it adds are remembered. `dry`: without memory. Collective. */
int wl_train_plan(struct wl_plan **plan, const struct wl_graph *g, const struct wl_train_opts *o, bool dry,
                  struct wl_comm *comm, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* train_choices.c: the plan's choices in the head of a checkpoint; a warning where the plan that goes on has others. */
void wl_train_describe_choices(const struct wl_plan *plan, struct wl_json *head, struct wl_arena *a);
void wl_train_compare_choices(const struct wl_plan *plan, const struct wl_json *head, struct wl_arena *a);

/* train_setup.c: can this machine compute as the options say? Known to all ranks alike, so it is looked at before they
 * start on the plan together. */
int wl_train_check_backend(const struct wl_train_opts *o, struct wl_err *e) WL_MUST_CHECK;

/* train_explain.c: prints the plan of one rank, as text or as JSON, without data and without its memory. Returns as
 * wl_cmd.run does. */
int wl_train_explain(const struct wl_model *m, const struct wl_train_opts *o, struct wl_arena *a,
                     struct wl_err *e) WL_MUST_CHECK;

/* train_loop.c: trains to the last epoch. WL_EINTR: a signal asked to stop, and a checkpoint was written if there is
 * a place for it. Collective. */
int wl_train_run(struct wl_train *t, struct wl_err *e) WL_MUST_CHECK;

/* train_validate.c: forward over a whole set. Collective; all ranks get the totals. */
int wl_train_validate(struct wl_train *t, struct wl_loader *set, struct wl_counts *counts,
                      struct wl_err *e) WL_MUST_CHECK;

/* train_resume.c: writes a checkpoint of the present state; takes the state of the newest one of the folder. */
int wl_train_save(struct wl_train *t, struct wl_err *e) WL_MUST_CHECK;
int wl_train_resume(struct wl_train *t, struct wl_err *e) WL_MUST_CHECK;

/* train_report.c: what the training is going to do, with every value that a recipe or a default has set, in the log; the
 * results on stdout, as a table or as JSON. Rank 0. */
void wl_train_announce(const struct wl_train *t);
void wl_train_report(const struct wl_train *t, bool interrupted);

/* train_signal.c: SIGINT and SIGTERM ask to stop; the second one ends the process as usual. */
void wl_train_catch_signals(void);
bool wl_train_asked_to_stop(void);

#endif

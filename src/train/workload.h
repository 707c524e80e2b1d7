/* A workload: what `wattlaw-train NAME` trains. It is a row of a const table (workloads.c), which says what data the
 * network is fed with, how its graph is built and what is reported; order, ranks, optimiser, schedule, checkpoints and
 * output are the training's. */
#ifndef WL_TRAIN_WORKLOAD_H
#define WL_TRAIN_WORKLOAD_H

#include "base/base.h"
#include "data/data.h"
#include "nn/nn.h"

/* ---- options ----------------------------------------------------------------------------------------------------- */

/* What every workload is asked (train_options.c). A workload's own options follow in a struct that starts with this
 * one. Numbers that are 0, reals that are NAN and texts that are NULL take the workload's default. */
struct wl_train_opts {
    const char *size, *backend, *recipe; /* recipe: NULL where the workload has none */
    int64_t epochs, local_batch, accumulation, seed;
    bool validate, eval_train;
    /* optimiser and schedule */
    const char *optimizer;
    double lr, momentum, beta1, beta2, eps, weight_decay;
    bool nesterov, decay_weights_only, lr_scale;
    const char *lr_schedule;
    double warmup_epochs, lr_factor, lr_step_epochs, lr_min;
    int64_t warmup_updates, lr_patience;
    /* machine */
    int64_t workers, threads, loader_threads;
    const char *comm, *conv, *precision, *recompute;
    double memory_gb; /* NAN: any */
    bool pin, allow_slow_bf16;
    /* checkpoints and output */
    const char *checkpoint_dir;
    double checkpoint_every; /* epochs; 0: only when interrupted and at the end */
    int64_t checkpoint_keep;
    bool resume, explain, json, quiet;
};

/* What a workload of one size takes where the user says nothing. */
struct wl_train_defaults {
    int64_t local_batch;
    double lr;
    bool lr_scale; /* lr is that of a global batch of 256, of others in proportion */
    const char *optimizer, *lr_schedule;
    double momentum, weight_decay;
};

/* ---- metrics ----------------------------------------------------------------------------------------------------- */

/* What is added up over the batches of a pass and over the ranks: first what the engine counts, then a workload's own
 * sums, which come from the outputs of evaluations; in a training pass these are NAN. */
enum {
    WL_SUM_LOSS,    /* loss over what it counts: samples, tokens */
    WL_SUM_COUNTED, /* how many those are */
    WL_SUM_TOP1,
    WL_SUM_TOP5,
    WL_SUM_CUSTOM,
    WL_MAX_SUMS = 1024
};

struct wl_train_metric {
    const char *name;  /* in marks and JSON behind the pass: train_NAME, val_NAME, eval_train_NAME */
    const char *unit;  /* "nat", "1", "meV"; NULL: the data do not say */
    bool larger;       /* is better; false: smaller is */
    const char *words; /* for people: "top-1"; NULL: it is not shown to them */
    const char *sign;  /* what stands behind the number there, "%"; NULL: nothing */
    double shown_as;   /* what it is multiplied by there; 0: it is not */
    double (*value)(const struct wl_train_metric *m, const double *sum); /* over a pass; NAN: there is none */
    int at, n;                                                           /* for `value`: which sum, or the first of n */
    /* what the report says, where it is more than the name */
    const char *label;       /* "top-1 accuracy" */
    const char *baseline_of; /* the name of the metric that this one is the baseline of */
    bool main;               /* runs are judged by it, over the validation set */
};

/* sum[m->at] / sum[WL_SUM_COUNTED] */
double wl_train_metric_mean(const struct wl_train_metric *m, const double *sum);

/* ---- one training of a workload, as this rank sees it ------------------------------------------------------------ */

/* Something that the training is about, known from the options (`begin`) or from the data (`open`). */
struct wl_train_attr {
    const char *name; /* "image_size" */
    int64_t value;
    const char *text; /* in place of the value; NULL: none */
    int64_t before;   /* what checkpoints mean that do not say it: they are older than it is; negative: nothing */
};

enum { WL_MAX_TRAIN_ATTRS = 8 };

/* What the functions of a workload fill in for the training. */
struct wl_train_task {
    const struct wl_workload *workload;
    struct wl_train_opts *opts; /* the first member of the workload's own */
    const struct wl_opt *rows;  /* of all of them */
    struct wl_arena *arena;
    bool silent; /* another rank gives warnings */
    void *own;   /* the workload's */

    /* Numbers among the facts are of the marks' start, as far as `begin` knows them, and of checkpoints, which only a
     * training with the same ones takes up. All are in the JSON. */
    struct wl_train_attr facts[WL_MAX_TRAIN_ATTRS];
    int n_facts;

    /* begin */
    const char *shape;   /* of what a sample is, for people: "images of 224 pixels" */
    const char *data;    /* where the samples lie, for people; NULL: no data were named, which training needs */
    const char *items;   /* what throughput counts beside samples: "tokens"; NULL: nothing */
    double sample_items; /* so many in each sample */

    /* open; metrics may also be set by begin. The first metric is the loss, and the schedule looks at it */
    const struct wl_dataset *train, *val; /* val: NULL with opts->validate off */
    const char *found; /* what the data are, for people: "4 classes, 192 training images in folders" */
    bool skip_bad;     /* bad samples are left out and counted */
    const struct wl_train_metric *metrics;
    size_t n_metrics;
    int custom_sums; /* behind WL_SUM_CUSTOM */

    /* build */
    struct wl_tensor *inputs[WL_DATASET_MAX_BUFFERS]; /* in the order of the sets' buffers */
};

void wl_train_task_attr(struct wl_train_task *j, const char *name, int64_t value);
void wl_train_task_attr_since(struct wl_train_task *j, const char *name, int64_t value, int64_t before);
void wl_train_task_attr_text(struct wl_train_task *j, const char *name, const char *text);

/* ---- the table --------------------------------------------------------------------------------------------------- */

struct wl_workload {
    const char *name, *help;
    const char *noun;          /* what a sample is: "image" */
    const struct wl_opt *rows; /* its own options, over a struct that starts with struct wl_train_opts */
    size_t options_size;
    const char *example; /* of a command line, for --help: the data and the training, a line each */
    struct wl_train_defaults full, tiny;

    /* Completes and checks the options, says what is known from them. The shared ones are complete. */
    int (*begin)(struct wl_train_task *j, struct wl_err *e);

    /* Opens the data. */
    int (*open)(struct wl_train_task *j, struct wl_err *e);

    /* Instead of it, where the plan is only to be explained: what the data would have said. */
    void (*assume)(struct wl_train_task *j);

    /* Adds the network for opts->local_batch samples to an empty graph. */
    int (*build)(struct wl_train_task *j, struct wl_graph *g, struct wl_err *e);

    /* (optional) Replaces first values of parameters, on every rank alike; a checkpoint that is taken up replaces them
     * in turn. */
    int (*init)(const struct wl_train_task *j, struct wl_plan *plan, struct wl_err *e);

    /* (optional) On rank 0 behind the last epoch: what a training leaves beside its checkpoints. */
    int (*finish)(const struct wl_train_task *j, struct wl_plan *plan, struct wl_err *e);

    /* (optional) Behind each evaluation of a batch of n samples: adds to the own sums from inputs and outputs of the
     * plan. */
    void (*observe)(const struct wl_train_task *j, struct wl_plan *plan, int64_t n, double *custom_sums);
};

extern const struct wl_workload *const wl_workloads[]; /* NULL-terminated, in the order of --help */
extern const struct wl_workload wl_workload_resnet50, wl_workload_vgg16, wl_workload_inception3, wl_workload_schnet,
    wl_workload_dimenet, wl_workload_bert, wl_workload_fourcastnet;

#endif

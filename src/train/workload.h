/* A workload: what `wattlaw-train NAME` trains. Each is a row of a const table (workload.c): its data, its graph and
 * its metrics. Order of samples, ranks, optimizer, schedule, checkpoints and marks are the same for all. */
#ifndef WL_TRAIN_WORKLOAD_H
#define WL_TRAIN_WORKLOAD_H

#include "base/base.h"
#include "data/data.h"
#include "nn/nn.h"
#include "train/options.h"

/* ---- metrics ----------------------------------------------------------------------------------------------------- */

/* Sums over the batches of a pass and over the ranks: first those of the engine, then a workload's own, which come from
 * the outputs of evaluations and are NAN in a training pass. */
enum {
    WL_SUM_LOSS,    /* sum of the loss over what it counts: samples, tokens */
    WL_SUM_COUNTED, /* number of these */
    WL_SUM_TOP1,
    WL_SUM_TOP5,
    WL_SUM_CUSTOM,
    WL_MAX_SUMS = 1024
};

struct wl_train_metric {
    const char *name;         /* in marks and JSON after the phase: train_NAME, val_NAME, eval_train_NAME */
    const char *unit;         /* "nat", "1", "meV"; NULL: unknown from the data */
    bool larger_is_better;    /* false: smaller is */
    const char *display_name; /* in tables and log lines: "top-1"; NULL: not shown there */
    const char *display_unit; /* there, after the value: "%"; NULL: none */
    double display_scale;     /* there, factor of the value; 0: 1 */
    double (*value)(const struct wl_train_metric *m, const double *sum); /* over a pass; NAN: missing */
    int index, count;                                                    /* for `value`: first sum, and how many */
    /* for reports, where they say more than the name */
    const char *label;       /* "top-1 accuracy" */
    const char *baseline_of; /* name of the metric that this one is the baseline of */
    bool primary;            /* runs are judged by it, over the validation set */
};

/* sum[m->index] / sum[WL_SUM_COUNTED] */
double wl_train_metric_mean(const struct wl_train_metric *m, const double *sum);

/* ---- one training of a workload, as this rank sees it ------------------------------------------------------------ */

/* Name and value that identify a training, known from the options (`configure`) or from the data (`open`). Those with a
 * number go to the start mark, as far as `configure` sets them, and to checkpoints, which only a training with the same
 * values resumes. All go to the JSON. */
struct wl_train_attr {
    const char *name; /* "image_size" */
    int64_t value;
    const char *text;      /* in place of the value; NULL: none */
    int64_t default_value; /* of checkpoints that lack it, as they are older than the attribute; negative: none */
};

enum { WL_MAX_TRAIN_ATTRS = 8 };

/* Filled in by the workload's functions. */
struct wl_train_task {
    const struct wl_workload *workload;
    struct wl_train_opts *opts; /* the first member of the workload's own */
    const struct wl_opt *rows;  /* wl_train_options of the workload */
    struct wl_arena *arena;
    bool quiet_rank; /* another rank logs warnings */
    void *state;     /* of the workload */

    struct wl_train_attr attrs[WL_MAX_TRAIN_ATTRS];
    int n_attrs;

    /* configure */
    const char *sample_text;     /* describes a sample: "images of 224 pixels" */
    const char *data;            /* path of the data; NULL: not given, and training needs it */
    const char *throughput_unit; /* counted besides samples: "tokens"; NULL: nothing */
    double units_per_sample;

    /* open; `configure` may set metrics too. The first metric is the loss, which the schedule follows */
    const struct wl_dataset *train, *val; /* val: NULL with opts->validate off */
    const char *data_text;                /* describes the data: "4 classes, 192 training images in folders" */
    bool skip_bad;                        /* bad samples are skipped and counted */
    const struct wl_train_metric *metrics;
    size_t n_metrics;
    int custom_sums; /* number of sums from WL_SUM_CUSTOM on */

    /* build */
    struct wl_tensor *inputs[WL_DATASET_MAX_BUFFERS]; /* in the order of the data sets' buffers */
};

void wl_train_task_attr(struct wl_train_task *j, const char *name, int64_t value);
void wl_train_task_attr_since(struct wl_train_task *j, const char *name, int64_t value, int64_t default_value);
void wl_train_task_attr_text(struct wl_train_task *j, const char *name, const char *text);

/* ---- the table --------------------------------------------------------------------------------------------------- */

struct wl_workload {
    const char *name, *help;
    const char *noun;          /* of a sample: "image" */
    const struct wl_opt *rows; /* its own options, over a struct that starts with struct wl_train_opts */
    size_t options_size;
    const char *example; /* command lines for --help: making the data, then training, one per line */
    struct wl_train_defaults full, tiny;

    /* Completes and checks the options and sets what follows from them. The shared options are complete. */
    int (*configure)(struct wl_train_task *j, struct wl_err *e);

    /* Opens the data. */
    int (*open)(struct wl_train_task *j, struct wl_err *e);

    /* Called instead of `open` for --explain: assumes values that the data would give. */
    void (*assume_data)(struct wl_train_task *j);

    /* (optional: there is nothing to do) After `open`, makes `build` serve another opts->local_batch. Batches are not
     * resized: the task can only be planned from then on. */
    int (*resize)(struct wl_train_task *j, struct wl_err *e);

    /* Adds the network for opts->local_batch samples to an empty graph. */
    int (*build)(struct wl_train_task *j, struct wl_graph *g, struct wl_err *e);

    /* (optional) Replaces initial parameters, the same on every rank; a checkpoint to resume from replaces them again.
     */
    int (*init_weights)(const struct wl_train_task *j, struct wl_plan *plan, struct wl_err *e);

    /* (optional) On rank 0 after the last epoch: writes what is wanted besides checkpoints. */
    int (*export)(const struct wl_train_task *j, struct wl_plan *plan, struct wl_err *e);

    /* (optional) After the evaluation of each batch of n samples: adds to the custom sums from inputs and outputs of
     * the plan. */
    void (*add_metrics)(const struct wl_train_task *j, struct wl_plan *plan, int64_t n, double *custom_sums);
};

extern const struct wl_workload *const wl_workloads[]; /* NULL-terminated, in the order of --help */
extern const struct wl_workload wl_workload_resnet50, wl_workload_vgg16, wl_workload_inception3, wl_workload_schnet,
    wl_workload_dimenet, wl_workload_bert, wl_workload_fourcastnet;

#endif

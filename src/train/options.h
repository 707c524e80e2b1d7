/* The options that all workloads of wattlaw-train share. */
#ifndef WL_TRAIN_OPTIONS_H
#define WL_TRAIN_OPTIONS_H

#include "base/base.h"
#include "settings/settings.h"

struct wl_train_task;
struct wl_workload;

enum { WL_TRAIN_MAX_EPOCHS = 1000000 };

/* A workload's own options follow in a struct that starts with this one. Numbers that are 0, reals that are NAN and
 * texts that are NULL take the workload's default. */
struct wl_train_opts {
    const char *size, *backend, *recipe; /* recipe: NULL if the workload has none */
    int64_t epochs, local_batch, accumulation, seed;
    bool validate, eval_train;
    /* optimizer and schedule */
    const char *optimizer;
    double lr, momentum, beta1, beta2, eps, weight_decay;
    bool nesterov, decay_weights_only, lr_scale;
    const char *lr_schedule;
    double warmup_epochs, lr_factor, lr_step_epochs, lr_min;
    int64_t warmup_updates, lr_patience;
    /* machine */
    int64_t workers, threads, loader_threads;
    const char *comm, *conv;
#define SETTING_CHOICE(name, ...) const char *name; /* precision, recompute ... */
#include "settings/settings.def"
    double memory_gb; /* NAN: no limit */
    bool pin, allow_slow_bf16;
    /* checkpoints and output */
    const char *checkpoint_dir;
    double checkpoint_every; /* epochs; 0: only when interrupted and at the end */
    int64_t checkpoint_keep;
    bool resume, explain, json, quiet;
    const char *by_op; /* of explain: "no", "class", "all" */
};

/* A workload's defaults for one --size. */
struct wl_train_defaults {
    int64_t local_batch;
    double lr;
    bool lr_scale; /* lr is for a global batch of 256 and scales linearly with the batch */
    const char *optimizer, *lr_schedule;
    double momentum, weight_decay;
};

/* The rows of a workload: its own, then the shared ones. --backend and --comm list what this build has, and why the
 * rest is not available. */
const struct wl_opt *wl_train_options(const struct wl_workload *w, struct wl_arena *a);

/* The defaults of the size that was chosen. */
const struct wl_train_defaults *wl_train_defaults(const struct wl_train_task *j);

/* Completes the options: the workload's defaults for those not given, then its own (wl_workload.configure). Checks what
 * the rows cannot. */
int wl_train_options_complete(struct wl_train_task *j, struct wl_err *e) WL_MUST_CHECK;

#endif

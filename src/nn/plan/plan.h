/* Plans: making, running, states, and what a plan says of itself. */
#ifndef WL_NN_PLAN_PLAN_H
#define WL_NN_PLAN_PLAN_H

#include "nn/choices/choices.h"
#include "nn/choices/conv_algorithm.h"
#include "nn/comm/comm.h"
#include "nn/graph/build.h"
#include "nn/graph/counts.h"
#include "nn/optim/loss_scale.h"
#include "nn/optim/optim.h"
#include "nn/program/peaks.h"
#include "nn/recompute/plan_segment.h"

struct wl_plan_opts {
    const char *backend; /* a name of wl_backend_row: "cpu", "ref", "boxed"; NULL: the best that was built */
    int64_t batch;       /* samples of a micro-batch; 0: the first dimension of the first input */
    int threads;         /* 0: as OpenMP says (OMP_NUM_THREADS or all cores) */
    uint64_t seed;       /* of the parameters */
    /* WL_F32, or WL_BF16 or WL_F16: values, their gradients and the copies of weights that convolutions and matrix
     * products read are of that type; parameters, their gradients, optimizer, statistics and losses stay f32, so states
     * are the same. WL_F16: with loss scaling. */
    enum wl_dtype precision;
    bool tf32;      /* with WL_F32: products and convolutions round their operands to TF32 (11 bits) and sum in f32 */
    bool slow_bf16; /* bf16 also where the processor only imitates it */
    enum wl_conv_algorithm conv;
    enum wl_fuse fuse;          /* on a GPU */
    struct wl_choices *choices; /* for WL_CONV_AUTO; must outlive the plan. What is measured is added */
    int micro_batches;          /* largest M of a step; 0 counts as 1. M > 1 needs room for one gradient more */
    size_t bucket_bytes;        /* gradients are reduced in pieces of about this; 0: as the device has them */
    struct wl_optim optim;
    /* Recomputes values in the backward pass instead of keeping them until then (docs/adr/105): the gradients have
     * the same bits. recompute: as far as saves memory; memory_bytes: as far as it takes for a plan (total_bytes) of at
     * most so many bytes, 0: any. Neither goes with eval_only or keep_values. */
    bool recompute;
    size_t memory_bytes;
    size_t *room;     /* (optional) on WL_ENOMEM: the bytes that the device has for a plan; 0: not known */
    bool eval_only;   /* no backward pass, no gradients */
    bool dry;         /* for wl_plan_info and wl_plan_step only: allocates nothing, cannot run */
    bool keep_values; /* every value and gradient keeps a place of its own, for wl_plan_value: much memory */
};

/* Lowers the graph for this rank of comm (NULL: a single process). Parameters are initialised from (seed, name,
 * element), so they are the same for every back-end, layout and number of ranks. The plan lives as long as the arena;
 * graph and comm must too. It may be used by one thread at a time.
 * With other ranks the call is collective and ends with the same outcome on all of them.
 * WL_EINVAL: the graph's own error, a back-end that is not known, or ranks whose parameters would not start or lie
 * alike (other seeds, processors of another kind); WL_EUNAVAIL: one that is not built, with the
 * reason; WL_ENOMEM: names the bytes; WL_ELIB: the library's text and the operation. */
struct wl_plan;
int wl_plan_new(struct wl_plan **p, const struct wl_graph *g, const struct wl_plan_opts *opts, struct wl_comm *comm,
                struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The buffer of an input, plain layout: f32 [N,C,H,W] or i32 [N]. Filled by the caller before a run, which does not
 * change it. */
void *wl_plan_input(struct wl_plan *p, const struct wl_tensor *input);
size_t wl_plan_input_bytes(const struct wl_plan *p, const struct wl_tensor *input);

/* Forward and backward of one micro-batch. `first` overwrites the gradients, else they are added up; with `last` each
 * bucket of gradients is summed over the ranks as soon as it is final, while the rest of the backward pass runs. */
int wl_plan_train(struct wl_plan *p, bool first, bool last, struct wl_counts *counts, struct wl_err *e) WL_MUST_CHECK;

/* The same in two halves, between which the caller fills the next inputs, where the device computes beside the host
 * (wl_plan_overlaps; else a run is over when it has been started, and there is one slot for inputs):
 *
 *     wl_plan_start_train(p, ...);
 *     wl_plan_next_inputs(p, &e);  fill wl_plan_input(...), which is another slot now;  wl_plan_upload(p, true, &e);
 *     wl_plan_finish(p, &e);
 *
 * Counts are there, and errors of the run are known, after wl_plan_finish, before which no other run may start.
 * wl_plan_upload checks what was filled and sends it; without it the next run does. What it has sent must stay as it is
 * until that run. wl_plan_next_inputs waits for the slot's last upload. */
bool wl_plan_overlaps(const struct wl_plan *p);
int wl_plan_start_train(struct wl_plan *p, bool first, bool last, struct wl_counts *counts,
                        struct wl_err *e) WL_MUST_CHECK;
int wl_plan_start_eval(struct wl_plan *p, struct wl_counts *counts, struct wl_err *e) WL_MUST_CHECK;
int wl_plan_finish(struct wl_plan *p, struct wl_err *e) WL_MUST_CHECK;
int wl_plan_next_inputs(struct wl_plan *p, struct wl_err *e) WL_MUST_CHECK;
int wl_plan_upload(struct wl_plan *p, bool training, struct wl_err *e) WL_MUST_CHECK;

/* What the run that was started last read there; valid until that slot is filled again. */
const void *wl_plan_run_input(const struct wl_plan *p, const struct wl_tensor *input);

/* One optimizer step on the mean gradient over ranks and micro-batches since `first`; moves the running statistics.
 * In f16, where the gradients' sums over all ranks are not finite, it is skipped on all of them: parameters, the
 * optimizer's memory and statistics keep their bits, and the loss scale is halved. WL_EJOB: it cannot be. */
int wl_plan_update(struct wl_plan *p, double lr, struct wl_err *e) WL_MUST_CHECK;

/* Forward only, with the running statistics. Leaves gradients, parameters and statistics alone. */
int wl_plan_eval(struct wl_plan *p, struct wl_counts *counts, struct wl_err *e) WL_MUST_CHECK;

/* What the last wl_plan_eval left in a tensor of wl_output: f32, plain layout, whatever the plan's layouts and
 * precision are. It stays until the next one; training does not touch it. */
const float *wl_plan_output(const struct wl_plan *p, const struct wl_tensor *output);

/* Loss scaling (f16). A checkpoint keeps its state, which a plan of any precision takes: Adam's bias correction does
 * not count updates that were skipped. `reject_gradients` makes the next update a skipped one, for a caller who sees
 * that the loss is not finite; on all ranks or on none. */
bool wl_plan_scales_loss(const struct wl_plan *p);
struct wl_loss_scale wl_plan_loss_scale(const struct wl_plan *p);
void wl_plan_set_loss_scale(struct wl_plan *p, const struct wl_loss_scale *s);
void wl_plan_reject_gradients(struct wl_plan *p);

/* Optimizer steps of the training so far: 0 in a new plan, one more with each wl_plan_update. A training that goes on
 * from a checkpoint sets it, so that dropout draws the masks that it would have drawn. */
void wl_plan_set_updates(struct wl_plan *p, int64_t updates);

/* Replaces the running statistics by their mean over the ranks (before evaluation and checkpoints). All ranks call
 * it; without other ranks it does nothing. */
int wl_plan_average_statistics(struct wl_plan *p, struct wl_err *e) WL_MUST_CHECK;

/* ---- state: what a checkpoint keeps ---------------------------------------------------------------------- */

/* In the graph's order: each parameter, each optimizer buffer ("NAME.momentum"; of adam
 * "NAME.exp_avg" and "NAME.exp_avg_sq"), each running statistic. Read and
 * written as plain f32, whatever the plan's layout is; reading back what was written gives the same bits. */
enum wl_state_kind { WL_STATE_PARAM, WL_STATE_OPTIM, WL_STATE_STATISTIC };
struct wl_state {
    const char *name;
    enum wl_state_kind kind;
    struct wl_dims dims;
    size_t count; /* elements */
};
size_t wl_plan_state_count(const struct wl_plan *p);
struct wl_state wl_plan_state(const struct wl_plan *p, size_t i);
int wl_plan_state_read(struct wl_plan *p, size_t i, float *to, struct wl_err *e) WL_MUST_CHECK;
int wl_plan_state_write(struct wl_plan *p, size_t i, const float *from, struct wl_err *e) WL_MUST_CHECK;

/* The gradient of state i (a parameter) after wl_plan_train: the sum over micro-batches, and over ranks
 * after the last one. Without the loss scale. */
int wl_plan_gradient_read(struct wl_plan *p, size_t i, float *to, struct wl_err *e) WL_MUST_CHECK;

/* With keep_values: the value of a tensor in the last run, and the loss's gradient by it. WL_ENOENT: there is none. */
int wl_plan_value(struct wl_plan *p, const struct wl_tensor *t, float *to, struct wl_err *e) WL_MUST_CHECK;
int wl_plan_value_gradient(struct wl_plan *p, const struct wl_tensor *t, float *to, struct wl_err *e) WL_MUST_CHECK;

/* ---- report ---------------------------------------------------------------------------------------------- */

struct wl_plan_info {
    const char *backend, *library; /* "cpu", "oneDNN 2.6.3" */
    enum wl_dtype precision;
    const char *precision_name; /* "tf32" too */
    int threads;
    int64_t batch;      /* samples of a micro-batch */
    int64_t parameters; /* elements, without padding of layouts */
    size_t param_bytes, gradient_bytes, optim_bytes, statistic_bytes, input_bytes, output_bytes;
    size_t copy_bytes;     /* of parameters in 16 bits, where the back-end keeps them */
    size_t value_bytes;    /* the arena of values, their gradients and scratch, shared by live range */
    size_t live_bytes;     /* the maximum alive at one step: no placement could take less */
    size_t unshared_bytes; /* what it would take without sharing */
    size_t in_place_bytes; /* what results written over an operand would have taken on top */
    int in_place;          /* steps that write so */
    size_t total_bytes;
    size_t keeping_bytes; /* what total_bytes would be if no value were recomputed */
    int operations, steps, reorders, buckets;
    int segments; /* of the forward pass whose values are recomputed */
    /* of a sample: 2 x multiply-adds of convolutions and matrix products; NAN where wl_mean_rows was not called */
    double forward_flops, train_flops;
    double recompute_flops; /* of a sample: those of forward operations that run again, beside train_flops */
    struct wl_device_peaks peaks;
    double update_bytes;   /* that an optimizer step moves */
    double update_bound_s; /* its bound, as wl_plan_step.bound_s */
};
struct wl_plan_info wl_plan_info(const struct wl_plan *p);

/* Bytes of the plan's memory that the system holds in huge pages by now: memory that was never touched is in none. */
size_t wl_plan_huge_bytes(const struct wl_plan *p);

/* Wall-clock seconds since the plan was made, and the processor's for updates. reduce_s is part of train_s. */
struct wl_plan_times {
    double train_s, reduce_s, update_s, eval_s, update_cpu_s;
};
struct wl_plan_times wl_plan_times(const struct wl_plan *p);

/* Of those, what forward and backward passes took this rank by itself: without sums over ranks, and the wait for other
 * ranks in them. NAN where a device sums among its other work, so that the host sees no wait. */
double wl_plan_compute_s(const struct wl_plan *p);

/* What a plan does, step by step in the order in which it runs them. Texts and lists are made in the arena `a`. */
struct wl_plan_buffer {
    enum wl_dtype dtype;
    struct wl_dims dims;
    const char *layout; /* "plain", or oneDNN's name: "aBcd16b" is [N,C,H,W] in blocks of 16 channels */
    const char *memory; /* "input", "output", "parameter", "gradient", "statistic", "value" */
    size_t bytes;       /* with the layout's padding */
    bool written;
    bool scratch; /* memory for this step alone: a workspace, parts of sums */
};
struct wl_plan_step {
    const char *operation, *name; /* "conv2d", "layer1.0.conv1" */
    const char *pass;             /* "forward", "backward data", "reorder" */
    const char *implementation;   /* the library's word for its kernel: "jit:avx512_core"; "plain C" */
    bool training, evaluation;    /* runs in these */
    bool recompute;               /* the forward step of this name once more, for the backward pass */
    double flops;                 /* a sample: 2 x multiply-adds of convolutions and matrix products, direct */
    double computed_flops;        /* a sample: those that its algorithm makes, which its bound counts */
    const char *algorithm;        /* "direct", "F(4x4,3x3)"; NULL: it has no products */
    const char *numbers;          /* that it multiplies: "f32", "16 bits"; NULL: as algorithm */
    const char *numerics;         /* what the kernel computes, and how exactly; NULL: the operation as it is written */
    const struct wl_choice *choice; /* the algorithm was chosen by measurement; NULL: there was no choice */
    double moved_bytes;             /* of a micro-batch: what it reads and what it writes, without its scratch memory */
    double bound_s;      /* no run is shorter: the larger of moved_bytes and computed_flops by the device's peaks; NAN:
                            unknown */
    bool bound_by_flops; /* and not by memory */
    const struct wl_plan_buffer *buffers;
    size_t n_buffers; /* in the order read, written */
};
size_t wl_plan_step_count(const struct wl_plan *p);

/* Measures the device's peaks where nothing estimates them (processors; half a second), for the bounds of info and
 * steps. A dry plan can do it too. */
int wl_plan_measure_peaks(struct wl_plan *p, struct wl_err *e) WL_MUST_CHECK;

struct wl_plan_step wl_plan_step(const struct wl_plan *p, size_t i, struct wl_arena *a);

struct wl_plan_segment wl_plan_segment(const struct wl_plan *p, size_t i);

/* Bucket i of info.buckets: its bytes, and the step after which its gradients are final and are reduced. */
struct wl_plan_bucket {
    size_t bytes, step;
};
struct wl_plan_bucket wl_plan_bucket(const struct wl_plan *p, size_t i);

#endif

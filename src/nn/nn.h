/* The training engine: a static graph of tensors and operations, and a plan that runs it.
 *
 * A model builds a graph once, for one local batch size. A plan lowers it to one back-end: it chooses layouts,
 * gives every tensor a place in one arena by its lifetime and compiles one primitive per operation. Then
 *
 *     for each micro-batch m of M:    fill wl_plan_input(...);  wl_plan_train(plan, m == 0, m == M - 1, &counts, e);
 *     wl_plan_update(plan, lr, e);
 *
 * is one optimiser step over a global batch of ranks x local batch x M samples. Nothing is allocated in a step.
 *
 * Layouts in this interface are plain: row-major, images as [N,C,H,W], convolution weights as [K,C,R,S].
 */
#ifndef WL_NN_NN_H
#define WL_NN_NN_H

#include "base/base.h"
#include "nn/choices/choices.h"
#include "nn/comm/comm.h"
#include "nn/graph/build.h"

/* ---- optimiser and schedule ------------------------------------------------------------------------------ */

/* The optimisers, as PyTorch writes them. t counts the optimiser steps of the training from 1.
 *   sgd    d = g + weight_decay * w;  v = momentum * v + d;  w -= lr * (nesterov ? d + momentum * v : v)
 *   adam   d = g + weight_decay * w;  m = beta1 * m + (1 - beta1) * d;  v = beta2 * v + (1 - beta2) * d^2;
 *          w -= lr * m/(1 - beta1^t) / (sqrt(v/(1 - beta2^t)) + eps)
 *   adamw  as adam with d = g, and w *= 1 - lr * weight_decay before the step
 * v and m start at 0. Kingma and Ba 2015, arXiv:1412.6980; Loshchilov and Hutter 2019, arXiv:1711.05101. */
struct wl_optim {
    const char *kind; /* NULL counts as "sgd" */
    double momentum, weight_decay;
    bool nesterov;
    double beta1, beta2; /* adam, adamw; 0 counts as 0.9 and 0.999 */
    double eps;          /* ... ; 0 counts as 1e-8 */
    /* Spare what a normalisation scales and adds, and biases, as BERT's recipe; default: all decay, as torchvision's.
     */
    bool decay_weights_only;
};

/* Learning rate over training. The peak is lr, or lr * global_batch/256 with `scale` (linear scaling rule, Goyal et
 * al. 2017, arXiv:1706.02677). Warm-up goes linearly from lr (from 0 without `scale`) to the peak. */
struct wl_lr_schedule_opts {
    const char *kind; /* constant | step | cosine | linear | plateau; NULL counts as constant */
    double lr;
    bool scale;
    int64_t global_batch;
    double warmup_epochs; /* 0: none */
    double epochs;        /* cosine and linear: falls to min_lr at this epoch */
    double step_epochs;   /* step: multiplied by factor every so many epochs */
    double factor;        /* step and plateau; 0 counts as 0.1 */
    int patience;         /* plateau: epochs without improvement that are forgiven (PyTorch's ReduceLROnPlateau) */
    double threshold;     /* plateau: relative improvement that counts; 0 counts as 1e-4 */
    double min_lr;
};
struct wl_lr_schedule {
    struct wl_lr_schedule_opts opts;
    enum wl_lr_schedule_kind { WL_LR_CONSTANT, WL_LR_STEP, WL_LR_COSINE, WL_LR_LINEAR, WL_LR_PLATEAU } kind;
    /* The state of plateau; a checkpoint keeps these three. */
    double cut;  /* product of the factors so far */
    double best; /* lowest loss seen; infinite before the first */
    int bad;     /* epochs since */
};

/* Checks the options: WL_EINVAL names the field. */
int wl_lr_schedule_init(struct wl_lr_schedule *s, const struct wl_lr_schedule_opts *opts,
                        struct wl_err *e) WL_MUST_CHECK;
double wl_lr_schedule_at(const struct wl_lr_schedule *s, double epoch); /* epochs done, with fraction; >= 0 */
void wl_lr_schedule_epoch_end(struct wl_lr_schedule *s, double loss);   /* plateau looks at it; NAN is no improvement */

/* ---- plan ------------------------------------------------------------------------------------------------ */

/* How convolutions are computed. Winograd's algorithm F(4x4,3x3) multiplies 4 times less where kernels are 3x3 with
 * stride 1 (Lavin and Gray 2016, arXiv:1509.09308); it rounds otherwise, about 1e-6 relative in f32. */
enum wl_conv_algorithm {
    WL_CONV_DIRECT,
    WL_CONV_WINOGRAD, /* wherever the library has it */
    WL_CONV_AUTO      /* the faster one by pass and shape: what `choices` says, measured now where it says nothing */
};
const char *wl_conv_algorithm_name(enum wl_conv_algorithm a);  /* "direct", "winograd", "auto" */
enum wl_conv_algorithm wl_conv_algorithm_of(const char *name); /* another name: WL_CONV_AUTO */

struct wl_plan_opts {
    const char *backend; /* "cpu" (oneDNN) or "ref" (plain C, slow); NULL: the best that was built */
    int64_t batch;       /* samples of a micro-batch; 0: the first dimension of the first input */
    int threads;         /* 0: as OpenMP says (OMP_NUM_THREADS or all cores) */
    uint64_t seed;       /* of the parameters */
    /* WL_F32, or WL_BF16: values, their gradients and the copies of weights that convolutions and matrix products read
     * are bf16; parameters, their gradients, optimiser, statistics and losses stay f32, so states are the same. */
    enum wl_dtype precision;
    bool slow_bf16; /* bf16 also where the processor only imitates it */
    enum wl_conv_algorithm conv;
    struct wl_choices *choices; /* for WL_CONV_AUTO; must outlive the plan. What is measured is added */
    int micro_batches;          /* largest M of a step; 0 counts as 1. M > 1 needs room for one gradient more */
    size_t bucket_bytes;        /* gradients are reduced in pieces of about this; 0 counts as 4 MiB */
    struct wl_optim optim;
    /* Computes values again in the backward pass instead of keeping them until then (docs/adr/105): the gradients have
     * the same bits. recompute: as far as saves memory; memory_bytes: as far as it takes for a plan (total_bytes) of at
     * most so many bytes, 0: any. Neither goes with eval_only or keep_values. */
    bool recompute;
    size_t memory_bytes;
    bool eval_only;   /* no backward pass, no gradients */
    bool dry;         /* for wl_plan_info and wl_plan_step only: takes no memory, cannot run */
    bool keep_values; /* every value and gradient keeps a place of its own, for wl_plan_value: much memory */
};

/* What a run counted. Runs add to it; the caller zeroes it. */
struct wl_counts {
    double loss_sum; /* of all losses, over the samples: mean loss = loss_sum/samples */
    int64_t samples; /* without padding */
    int64_t top1;    /* samples whose label has the largest logit */
    int64_t top5;    /* ... is among the five largest */
};

/* Can a back-end (NULL: the best that was built) compute so on this machine? 0, or WL_EUNAVAIL with the reason. */
int wl_backend_precision(const char *backend, enum wl_dtype precision, bool slow_bf16, struct wl_err *e) WL_MUST_CHECK;

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
 * bucket of gradients is summed over the ranks as soon as it is final, behind the rest of the backward pass. */
int wl_plan_train(struct wl_plan *p, bool first, bool last, struct wl_counts *counts, struct wl_err *e) WL_MUST_CHECK;

/* One optimiser step on the mean gradient over ranks and micro-batches since `first`; moves the running statistics. */
int wl_plan_update(struct wl_plan *p, double lr, struct wl_err *e) WL_MUST_CHECK;

/* Forward only, with the running statistics. Leaves gradients, parameters and statistics alone. */
int wl_plan_eval(struct wl_plan *p, struct wl_counts *counts, struct wl_err *e) WL_MUST_CHECK;

/* What the last wl_plan_eval left in a tensor of wl_output: f32, plain layout, whatever the plan's layouts and
 * precision are. It stays until the next one; training does not touch it. */
const float *wl_plan_output(const struct wl_plan *p, const struct wl_tensor *output);

/* Optimiser steps of the training so far: 0 in a new plan, one more with each wl_plan_update. A training that goes on
 * from a checkpoint sets it, so that dropout goes on with the masks that it would have drawn. */
void wl_plan_set_updates(struct wl_plan *p, int64_t updates);

/* Replaces the running statistics by their mean over the ranks (before evaluation and checkpoints). All ranks call
 * it; without other ranks it does nothing. */
int wl_plan_average_statistics(struct wl_plan *p, struct wl_err *e) WL_MUST_CHECK;

/* ---- state: what a checkpoint keeps ---------------------------------------------------------------------- */

/* In the graph's order: each parameter, each optimiser buffer ("NAME.momentum"; of adam
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

/* The gradient of state i (a parameter) as it stands after wl_plan_train: the sum over micro-batches, and over ranks
 * after the last one. */
int wl_plan_gradient_read(struct wl_plan *p, size_t i, float *to, struct wl_err *e) WL_MUST_CHECK;

/* With keep_values: the value of a tensor in the last run, and the loss's gradient by it. WL_ENOENT: there is none. */
int wl_plan_value(struct wl_plan *p, const struct wl_tensor *t, float *to, struct wl_err *e) WL_MUST_CHECK;
int wl_plan_value_gradient(struct wl_plan *p, const struct wl_tensor *t, float *to, struct wl_err *e) WL_MUST_CHECK;

/* ---- report ---------------------------------------------------------------------------------------------- */

struct wl_plan_info {
    const char *backend, *library; /* "cpu", "oneDNN 2.6.3" */
    enum wl_dtype precision;
    int threads;
    int64_t batch;      /* samples of a micro-batch */
    int64_t parameters; /* elements, without padding of layouts */
    size_t param_bytes, gradient_bytes, optim_bytes, statistic_bytes, input_bytes, output_bytes;
    size_t value_bytes;    /* the arena of values, their gradients and scratch, shared by lifetime */
    size_t live_bytes;     /* the most that is alive at one step: no placement could take less */
    size_t unshared_bytes; /* what it would take without sharing */
    size_t in_place_bytes; /* what results that stand over what their step read would have taken besides */
    int in_place;          /* steps that write so */
    size_t total_bytes;
    size_t keeping_bytes; /* what total_bytes would be if no value were computed again */
    int operations, steps, reorders, buckets;
    int segments; /* of the forward pass whose values are computed again */
    /* of a sample: 2 x multiply-adds of convolutions and matrix products; NAN where wl_mean_rows was not told */
    double forward_flops, train_flops;
    double recompute_flops; /* of a sample: those of forward operations that run again, beside train_flops */
};
struct wl_plan_info wl_plan_info(const struct wl_plan *p);

/* Bytes of the plan's memory that the system holds in huge pages by now: memory that was never touched is in none. */
size_t wl_plan_huge_bytes(const struct wl_plan *p);

/* Wall-clock seconds since the plan was made. reduce_s is part of train_s. */
struct wl_plan_times {
    double train_s, reduce_s, update_s, eval_s;
};
struct wl_plan_times wl_plan_times(const struct wl_plan *p);

/* What a plan does, step by step in the order in which it runs them. Texts and lists are made in the arena `a`. */
struct wl_plan_buffer {
    enum wl_dtype dtype;
    struct wl_dims dims;
    const char *layout; /* "plain", or oneDNN's name: "aBcd16b" is [N,C,H,W] in blocks of 16 channels */
    const char *memory; /* "input", "output", "parameter", "gradient", "statistic", "value" */
    size_t bytes;       /* with the layout's padding */
    bool written;
};
struct wl_plan_step {
    const char *operation, *name;   /* "conv2d", "layer1.0.conv1" */
    const char *pass;               /* "forward", "backward data", "reorder" */
    const char *implementation;     /* the library's word for its kernel: "jit:avx512_core"; "plain C" */
    bool training, evaluation;      /* runs in these */
    bool again;                     /* the forward step of this name once more, for the backward pass */
    double flops;                   /* a sample: 2 x multiply-adds of convolutions and matrix products */
    const struct wl_choice *choice; /* the algorithm was chosen by measurement; NULL: there was no choice */
    const struct wl_plan_buffer *buffers;
    size_t n_buffers; /* in the order read, written */
};
size_t wl_plan_step_count(const struct wl_plan *p);
struct wl_plan_step wl_plan_step(const struct wl_plan *p, size_t i, struct wl_arena *a);

/* Segment i of info.segments: the first and the last of its operations that run again in training, and the bytes of
 * the values that they make again. */
struct wl_plan_segment {
    const char *first, *last;
    size_t steps, bytes;
    double flops; /* a sample */
};
struct wl_plan_segment wl_plan_segment(const struct wl_plan *p, size_t i);

/* Bucket i of info.buckets: its bytes, and the step behind which its gradients are final and are reduced. */
struct wl_plan_bucket {
    size_t bytes, step;
};
struct wl_plan_bucket wl_plan_bucket(const struct wl_plan *p, size_t i);

/* The back-ends: row i, NULL behind the last. `unavailable` NULL: usable. */
struct wl_backend_row {
    const char *name, *unavailable;
    const char *help; /* one line */
    bool test_only;   /* chosen by name alone */
};
const struct wl_backend_row *wl_backend_row(size_t i);

#endif

/* A program: the buffers and steps that a graph is lowered to.
 *
 * Lowering walks the nodes forward, then backward; each back-end's rules emit steps and name the buffers they read
 * and write. A buffer is live from the first step that uses it to the last. When all steps exist, the planner
 * gives the buffers addresses (memory.c, plan.c) and each step binds to them. Running is a loop over the steps.
 *
 * The gradient of a tensor always has the layout of its value.
 */
#ifndef WL_NN_PROGRAM_PROGRAM_H
#define WL_NN_PROGRAM_PROGRAM_H

#include "nn/choices/choices.h"
#include "nn/choices/conv_algorithm.h"
#include "nn/graph/counts.h"
#include "nn/graph/graph.h"
#include "nn/graph/shapes.h"
#include "nn/program/arithmetic.h"
#include "nn/program/device.h"

/* What a buffer holds decides where it lives and how long. */
enum wl_class {
    WL_MEM_INPUT,         /* filled by the caller: always live */
    WL_MEM_OUTPUT,        /* read by the caller after an evaluation: always live, plain f32 */
    WL_MEM_PARAM,         /* master weights, f32 */
    WL_MEM_GRADIENT,      /* of parameters: side by side in the order in which they become final */
    WL_MEM_STATISTIC,     /* running statistics, side by side */
    WL_MEM_STATISTIC_SUM, /* a step's sums of the micro-batches' statistics */
    WL_MEM_COPY,          /* of parameters, in another type: always live, written by the device between steps */
    WL_MEM_VALUE,         /* activations, their gradients, scratch: share one arena by live range */
    WL_MEM_CLASSES
};

struct wl_buf {
    enum wl_class class;
    enum wl_dtype dtype;
    struct wl_dims dims;
    const void *layout; /* the back-end's; NULL: plain */
    size_t bytes;
    int id;          /* index in the program */
    int first, last; /* steps; first < 0: not used yet */
    /* Of an f32 buffer that holds numbers of 16 bits: their type, to which each step that writes it is followed by a
     * rounding; else WL_F32. */
    enum wl_dtype holds;
    int references; /* of a gradient: tensors that still need it */
    size_t offset;  /* in its class */
    void *at;
};

struct wl_run {
    bool training;            /* false: evaluation */
    bool first;               /* of the micro-batches: overwrite gradients and sums of statistics */
    int64_t update;           /* optimizer steps of the training before this one */
    int64_t first_sample;     /* index of the first sample among those of this optimizer step, of all ranks */
    float loss_scale;         /* by which losses multiply their gradients; 1 but in f16 */
    struct wl_counts *counts; /* in the device's memory */
};

struct wl_use {
    struct wl_buf *buf;
    struct wl_buf *partial; /* written instead of a parameter's gradient that has a value already, then added to it */
    bool accumulates;       /* there is always one: an earlier step has written it */
    bool write;
    size_t moved_bytes; /* to or from the device's memory: fewer where a part is used, more where it is read twice */
};

enum { WL_TRAIN = 1, WL_EVAL = 2 };
enum { WL_MAX_USES = 24 };

struct wl_step {
    const struct wl_node *node;
    const char *pass;               /* "forward", "backward data", "reorder" */
    const char *implementation;     /* the library's name of the kernel; NULL: ours */
    const struct wl_choice *choice; /* what chose the kernel; NULL: nothing to choose */
    unsigned when;                  /* WL_TRAIN, WL_EVAL or both */
    double flops_share;             /* of the pass's flops; less than 1: one step of several that take a part each */
    const char *numerics; /* the algorithm, its arithmetic and its error; NULL: the operation as it is written */
    struct wl_arithmetic arithmetic; /* how it multiplies; a kernel that is not direct fills it in */
    bool recompute;                  /* a forward step that runs once more for the backward pass (recompute/) */
    int n_uses;
    struct wl_use uses[WL_MAX_USES];
    void *context;                                    /* the back-end's */
    int (*bind)(struct wl_step *s, struct wl_err *e); /* (optional) the buffers have addresses now */
    /* (optional: `context` is not changed by `bind`) What a step that does the same with other buffers has as
     * `context`. */
    void *(*clone_context)(const struct wl_step *s, struct wl_arena *a);
    wl_step_run_fn *run; /* called by the device alone */
};

/* A statistic of a batch norm: the running value, and the sum over this optimizer step's micro-batches. */
struct wl_statistic {
    const struct wl_tensor *tensor;
    struct wl_buf *running, *sum;
};

/* A node whose inputs are checked before a run; one of several that would check the same. */
struct wl_input_check {
    const struct wl_node *node;
    unsigned when; /* passes that read them */
};

/* What the forward rule of a node leaves for its backward rule. */
struct wl_saved {
    struct wl_buf *buf[3]; /* of convolutions and matrix products: 0 the input, 1 the weights as they read them */
    const void *context;   /* the back-end's */
    bool relu_passed;      /* of a relu's result: what arrives as its gradient is that of the relu's input already */
};

struct wl_backend;

/* The program and the state of its lowering. Arrays by tensor id are NULL where there is nothing (yet). */
struct wl_program {
    struct wl_arena *arena;
    const struct wl_graph *graph;
    const struct wl_backend *backend;
    void *device;            /* the back-end's, for the calls of its device table */
    int node_rank;           /* of the ranks of this machine: which of its devices */
    size_t align;            /* of buffers, in bytes */
    uint64_t seed;           /* of what is random in a step */
    int64_t batch;           /* samples of a micro-batch */
    enum wl_dtype precision; /* of values and their gradients */
    bool tf32;               /* of f32 values: convolutions and matrix products round what they multiply to TF32 */
    enum wl_conv_algorithm conv;
    enum wl_fuse fuse;
    const struct wl_choices *choices; /* for WL_CONV_AUTO */
    bool train, keep_values, accumulate;
    unsigned passes; /* WL_TRAIN, WL_EVAL or both: in which of them the steps that are emitted now may run */
    struct wl_buf **value, **gradient; /* of each tensor; of a parameter: in PARAM and GRADIENT */
    struct wl_buf **addend; /* of each tensor: what its producer's rule has to add to `gradient` as it reads it; NULL:
                               nothing */
    struct wl_buf **input;  /* of each input: what the caller fills; its value is that or a copy of 16 bits */
    struct wl_buf **output; /* of each output: its copy for the caller */
    struct wl_saved *saved; /* of each tensor that a node makes */
    struct wl_buf **bufs;
    struct wl_step **steps;
    struct wl_statistic *statistics;
    struct wl_input_check *input_checks;
    size_t n_input_checks, cap_input_checks;
    size_t n_bufs, cap_bufs, n_steps, cap_steps, n_statistics, cap_statistics;
    size_t n_forward; /* so many of the steps are of the forward pass */
    int reorders;
};

/* ---- lowering (lower.c) ---- */

/* The whole graph, forward and (p->train) backward. */
int wl_lower(struct wl_program *p, struct wl_err *e) WL_MUST_CHECK;

struct wl_buf *wl_buf_new(struct wl_program *p, enum wl_class class, enum wl_dtype type, const struct wl_dims *dims,
                          const void *layout, size_t bytes);
struct wl_buf *wl_buf_plain(struct wl_program *p, enum wl_class class, enum wl_dtype type, const struct wl_dims *dims);
struct wl_buf *wl_buf_value(struct wl_program *p, const struct wl_dims *dims); /* class VALUE, p's precision */
struct wl_buf *wl_buf_result(struct wl_program *p, const struct wl_node *n);   /* the same, or f32 if it stays f32 */
struct wl_buf *wl_buf_like(struct wl_program *p, const struct wl_buf *b);      /* class VALUE */

/* A step in program order, then its uses: index 0, 1, ... in the order of these calls. They run
 * in the passes that both `when` and p->passes name. */
struct wl_step *wl_step_emit(struct wl_program *p, const struct wl_node *n, const char *pass, unsigned when,
                             wl_step_run_fn *run);
void wl_step_reads(struct wl_program *p, struct wl_step *s, struct wl_buf *b);
/* Of a parameter's gradient the first step that writes it in a backward pass does so in place; what later ones write,
 * and those of later micro-batches, is added after them. */
void wl_step_writes(struct wl_program *p, struct wl_step *s, struct wl_buf *b);
/* The same, returning the index of the use; WL_NO_USE where b is NULL. */
enum { WL_NO_USE = -1 };
int wl_step_reads_any(struct wl_program *p, struct wl_step *s, struct wl_buf *b);
int wl_step_writes_any(struct wl_program *p, struct wl_step *s, struct wl_buf *b);
/* The step itself adds to the gradient of a parameter that a step before it has written. */
void wl_step_accumulates(struct wl_program *p, struct wl_step *s, struct wl_buf *b);

/* Does a use write its part in this run? And where a step finds use i. */
static inline bool wl_use_accumulates(const struct wl_use *u, const struct wl_run *r)
{
    return u->partial && (u->accumulates || !r->first);
}
static inline void *wl_use_at(const struct wl_step *s, const struct wl_run *r, int i)
{
    const struct wl_use *u = &s->uses[i];
    return wl_use_accumulates(u, r) ? u->partial->at : u->buf->at;
}
static inline void *wl_any_use_at(const struct wl_step *s, const struct wl_run *r, int i)
{
    return i == WL_NO_USE ? NULL : wl_use_at(s, r, i);
}

/* The parameter's buffer, with its gradient's beside it when training. The first forward rule that calls it chooses the
 * layout; a later one gets the buffer as it is, and reads a copy where it wants another layout. What the first wants
 * plain every other one wants plain. */
struct wl_buf *wl_buf_param(struct wl_program *p, const struct wl_tensor *t, const void *layout, size_t bytes);

/* The rules of the program's back-end for this node. */
const struct wl_op_rules *wl_rules_of(const struct wl_program *p, const struct wl_node *n);

/* The value of a tensor, and its gradient, in plain layout and the tensor's own type (f32, i32), through a reorder
 * where needed. */
int wl_lower_plain_value(struct wl_program *p, const struct wl_node *n, const struct wl_tensor *t, struct wl_buf **out,
                         struct wl_err *e) WL_MUST_CHECK;
int wl_lower_plain_gradient(struct wl_program *p, const struct wl_node *n, const struct wl_tensor *t,
                            struct wl_buf **out, struct wl_err *e) WL_MUST_CHECK;

/* May node n write its result over the value of x? Only when nobody reads that later. */
bool wl_may_overwrite(const struct wl_program *p, const struct wl_tensor *x);

/* Gradients of values. `add` takes a contribution: the first becomes the tensor's gradient, others are summed, or the
 * last of them is kept as p->addend for a producer whose rule says that it adds it (wl_op_rules.adds_gradients). One
 * buffer may be handed to several tensors. `add_plain` brings it into the tensor's layout first. `done` says that
 * the node that made t has read t's gradient; `last_holder` that this node may overwrite it instead. */
int wl_gradient_add(struct wl_program *p, const struct wl_node *n, const struct wl_tensor *t, struct wl_buf *b,
                    struct wl_err *e) WL_MUST_CHECK;
int wl_gradient_add_plain(struct wl_program *p, const struct wl_node *n, const struct wl_tensor *t, struct wl_buf *b,
                          struct wl_err *e) WL_MUST_CHECK;
void wl_gradient_done(struct wl_program *p, const struct wl_tensor *t);
bool wl_gradient_last_holder(const struct wl_program *p, const struct wl_tensor *t);

/* Batch norm: buffers of the running statistics, and a step after the norm that adds the micro-batch's mean and
 * variance (biased, over n elements a channel) to their sums. */
void wl_lower_statistics(struct wl_program *p, const struct wl_node *n);
void wl_lower_statistic_sums(struct wl_program *p, const struct wl_node *n, struct wl_buf *mean, struct wl_buf *var);

#endif

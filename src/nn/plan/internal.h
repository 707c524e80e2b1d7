/* A plan from inside: the program, its memory, and what a training loop keeps between steps. */
#ifndef WL_NN_PLAN_INTERNAL_H
#define WL_NN_PLAN_INTERNAL_H

#include "nn/plan/plan.h"
#include "nn/program/backend.h"
#include "nn/program/memory.h"
#include "nn/recompute/recompute.h"

/* A parameter's place. Parameters, gradients and each optimizer slot use the same offsets, in the order in which the
 * gradients become final, so that a bucket and the optimizer see long runs of memory. */
struct wl_plan_param {
    const struct wl_tensor *tensor;
    struct wl_buf *value, *gradient; /* gradient NULL: a plan without training */
    int ready;                       /* the step after which the gradient is final */
};

/* Gradients [from, from + n) of the gradient memory, in floats, final after step `ready`. */
struct wl_bucket {
    size_t from, n;
    int ready;
};

/* A run of the plan, which the device has enqueued. */
struct wl_plan_job {
    struct wl_plan *plan;
    struct wl_run run;
    unsigned pass;
    bool completes;                   /* the gradients of an optimizer step */
    bool reduces;                     /* them over the ranks */
    struct wl_counts *counts, nobody; /* nobody: the counts that a caller does not want */
    int64_t start_ns;
};

struct wl_plan {
    struct wl_arena *arena;
    struct wl_program program;
    struct wl_optim optim;
    const struct wl_optim_ops *optim_ops;
    struct wl_comm *comm; /* NULL: a single process */
    uint64_t seed;
    int threads, micro_batches;
    int micro_batches_done; /* since `first` */
    int64_t updates;        /* optimizer steps of the training so far */
    struct wl_loss_scale loss_scale;
    float gradient_scale; /* that of the gradients in memory */
    bool overflow;        /* they are not finite, or the caller rejects them */
    bool dry;             /* has no memory */
    size_t *room;         /* (optional) of struct wl_plan_opts */

    struct wl_plan_param *params; /* by offset */
    size_t n_params;
    struct wl_bucket *buckets;
    size_t n_buckets;
    struct wl_optim_span *spans; /* runs of parameters that decay alike; an update sets their scale and step */
    size_t n_spans;

    /* Addresses in the device's memory, for its callbacks alone. */
    const struct wl_device_ops *ops; /* of program.backend, with program.device */
    void *memory;                    /* all classes but gradients and what the host stages: memory_bytes */
    size_t memory_bytes;
    float *param, *gradient, *slot[2]; /* param_floats each */
    size_t param_floats;
    float *statistic, *statistic_sum; /* statistic_floats each */
    size_t statistic_floats;
    struct wl_device_io io;
    char *input_slots;     /* of the host: one where the device uses inputs in place, else two */
    const char *run_slot;  /* which the last run reads */
    const void **input_at; /* by tensor id: what the caller fills; NULL for other tensors */
    unsigned uploaded;     /* the slot, checked for this pass; 0: it is not */
    struct wl_plan_job job;
    bool in_progress; /* the job, until wl_plan_finish */
    /* Of the host, where there are other ranks: statistics to be averaged; gradients to be reduced, where the
     * device's memory is not the host's and the communicator cannot sum there. */
    float *statistic_staging, *gradient_staging;
    struct wl_comm_device sums; /* where it can; else sums.sums is NULL */

    struct wl_state *states; /* in the graph's order */
    struct wl_buf *state_bufs;
    size_t n_states;

    struct wl_recompute_result recomputed;
    struct wl_plan_info info;
    struct wl_plan_times times;
    struct wl_step_time *step_time; /* (optional) what each step of the program took; runs add to it */
};

/* Memory of the device, or of the host for it, which the plan's arena releases. */
int wl_plan_memory(struct wl_plan *p, size_t bytes, const char *what, void **at, struct wl_err *e) WL_MUST_CHECK;
int wl_plan_host_memory(struct wl_plan *p, size_t bytes, const char *what, void **at, struct wl_err *e) WL_MUST_CHECK;

/* Places every buffer in its class and counts the bytes, anew when the program has changed; then gives it its address
 * and binds the steps (addresses.c). */
void wl_plan_assign_memory(struct wl_plan *p, size_t bucket_bytes);

/* Fills in what the info says of the device's peaks, where it has estimates, and of the update (explain.c). */
void wl_plan_estimate_peaks(struct wl_plan *p);
int wl_plan_bind(struct wl_plan *p, struct wl_err *e) WL_MUST_CHECK;
void wl_plan_use_slot(struct wl_plan *p, int slot);

/* The list of states, and their first values (state.c). */
int wl_plan_init_states(struct wl_plan *p, struct wl_err *e) WL_MUST_CHECK;

/* ---- other ranks (ranks.c) ---- */

/* What ranks exchange, or nothing where there are none. */
int wl_plan_init_ranks(struct wl_plan *p, struct wl_err *e) WL_MUST_CHECK;

/* Do all ranks start with the same bits at the same places? */
int wl_plan_check_same_start(struct wl_plan *p, struct wl_err *e) WL_MUST_CHECK;

/* Enqueued after step i: hands over the buckets that are final by then, from *bucket on, and does this rank's part of
 * what all ranks have handed over. Of a device whose memory is not the host's sums, or copies, are enqueued here. */
int wl_plan_reduce(struct wl_plan *p, int i, size_t *bucket, struct wl_err *e) WL_MUST_CHECK;

/* Enqueued after the last step: the device goes on when it has the sums that it makes itself. */
int wl_plan_join_sums(struct wl_plan *p, struct wl_err *e) WL_MUST_CHECK;

/* Hands over the copies as they arrive, while the device computes the rest; returns when the device has all sums, or
 * has them enqueued. */
int wl_plan_finish_reducing(struct wl_plan *p, struct wl_err *e) WL_MUST_CHECK;

/* From before a run that makes the device sum until after its end: WL_EJOB where another rank was lost. */
int wl_plan_watch_ranks(struct wl_plan *p, bool on, struct wl_err *e) WL_MUST_CHECK;

#endif

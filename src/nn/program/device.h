/* The seam between a plan and the device that it computes on (docs/adr/110).
 *
 * A plan's memory is the device's: the plan computes addresses in it and never reads or writes there. All that touches
 * it is a callback of this table, which every back-end has; nn/host holds the one of back-ends whose memory is the
 * host's. Beside it there is host memory that the caller fills and reads: inputs, outputs, counts.
 *
 * A run is begin, run, end. Between them the callbacks marked (enqueued) may return before their work is done, and do
 * it in the order of the calls; all others return when it is done.
 */
#ifndef WL_NN_PROGRAM_DEVICE_H
#define WL_NN_PROGRAM_DEVICE_H

#include "base/base.h"
#include "nn/graph/tensor.h"
#include "nn/program/peaks.h"
#include "nn/program/step_time.h"

struct wl_buf;
struct wl_counts;
struct wl_optim;
struct wl_optim_ops;
struct wl_optim_span;
struct wl_run;
struct wl_statistic;
struct wl_step;

/* A part of the plan that the host fills or reads, and where steps find it. */
struct wl_staging {
    void *host, *at; /* of the device; the same address where host_addressable */
    size_t bytes;
};

/* Where it is not host_addressable the host has two slots for inputs, of which it fills one while a run reads the
 * other's copy, and the device has `landing`, where copies arrive, beside what steps read: captured runs have fixed
 * addresses (docs/adr/133). */
struct wl_device_io {
    struct wl_staging input, output; /* input.host: the slot to be filled now */
    int slot;                        /* 0 or 1: which it is */
    void *landing;                   /* input.bytes of the device's memory; NULL where host_addressable */
    struct wl_counts *counts;        /* one, in the device's memory: losses add to it */
};

/* Runs of one variant enqueue the same calls with the same arguments, so a device may record the calls of one and
 * replay them: what changes from run to run is set by begin. */
enum wl_variant {
    WL_RUN_EVAL,
    WL_RUN_TRAIN,      /* a micro-batch between the others */
    WL_RUN_FIRST,      /* overwrites gradients */
    WL_RUN_LAST,       /* completes gradients */
    WL_RUN_FIRST_LAST, /* the only one of its optimizer step */
    WL_RUN_VARIANTS
};

typedef int wl_enqueue_fn(void *of, struct wl_err *e);
/* Enqueues the sum over ranks of n floats of the device's memory, in place. */
typedef int wl_device_sum_fn(void *of, float *at, size_t n, struct wl_err *e);
typedef int wl_step_run_fn(const struct wl_step *s, const struct wl_run *r, struct wl_err *e);

/* `device` is what the back-end's open made. All callbacks that are not optional are set. */
struct wl_device_ops {
    size_t align;          /* of every buffer in the plan's memory, a power of two */
    bool host_addressable; /* its memory is the host's: steps use inputs in place, ranks reduce gradients in place */
    size_t bucket_bytes;   /* of gradients that ranks sum at a time, unless the plan's options say otherwise */

    /* ---- memory ---- */

    /* Zeroed memory of the device; of the host for inputs, outputs and counts. `what` is named in the message. */
    int (*memory)(void *device, size_t bytes, const char *what, void **at, struct wl_err *e);
    int (*host_memory)(void *device, size_t bytes, const char *what, void **at, struct wl_err *e);
    void (*release)(void *device, void *at, size_t bytes); /* both kinds */
    size_t (*available)(void *device);                     /* (optional) what `memory` could give now; 0: not known */
    size_t (*huge_bytes)(void *device, const void *at, size_t bytes); /* in huge pages now; 0 where there are none */

    /* Copies from and to plain host memory: states, gradients. */
    int (*put)(void *device, void *to, const void *from, size_t bytes, struct wl_err *e);
    int (*get)(void *device, void *to, const void *from, size_t bytes, struct wl_err *e);

    /* ---- a run ---- */

    /* (both: not where host_addressable; upload: enqueued) Copies the slot to `landing` for the next begin, while a run
     * may be in progress. wait_upload returns when the last copy of a slot is done, so that it may be filled. */
    int (*upload)(void *device, const struct wl_device_io *io, struct wl_err *e);
    int (*wait_upload)(void *device, int slot, struct wl_err *e);
    /* Takes copies of what the steps of this run read: the inputs that were uploaded, `r`, and the counts so far. */
    int (*begin)(void *device, const struct wl_run *r, const struct wl_device_io *io, const struct wl_counts *counts,
                 struct wl_err *e);
    /* Calls all(of), which enqueues the run, or replays what an earlier call of the variant enqueued. */
    int (*run)(void *device, enum wl_variant v, wl_enqueue_fn *all, void *of, struct wl_err *e);
    /* Waits for the run. Gives its counts, the outputs of an evaluation, and the first error that a step found in the
     * values. Called after every begin that succeeded, also where `run` failed. */
    int (*end)(void *device, const struct wl_device_io *io, struct wl_counts *counts, struct wl_err *e);

    /* (enqueued) One step, on the device's copy of what begin took; to += part, n floats; n floats
     * to the nearest number of a type of 16 bits. */
    int (*step)(void *device, const struct wl_step *s, struct wl_err *e);
    int (*add)(void *device, float *to, const float *part, size_t n, struct wl_err *e);
    int (*round)(void *device, float *v, size_t n, enum wl_dtype type, struct wl_err *e);
    /* (enqueued) A copy to memory of the host that wl_comm_ops sums: gradients that are final. `event` numbers the
     * copies of a run from 0. */
    int (*get_async)(void *device, void *to, const void *from, size_t bytes, size_t event, struct wl_err *e);
    /* Returns when that copy is done, while later steps may still run. Called between `run` and end. */
    int (*wait)(void *device, size_t event, struct wl_err *e);

    /* ---- (optional, all three: sums go through get_async) sums over ranks in the device's memory ---- */

    /* (optional, with those) Makes the device that of the calling thread. */
    int (*enter)(void *device, struct wl_err *e);
    /* The stream that a communicator enqueues sums on (struct wl_comm_device), the device's context being current. */
    void *(*sum_stream)(void *device);
    /* (enqueued) Calls sum(of, at, n) so that the sum on that stream comes after all that was enqueued so far. What is
     * enqueued later does not wait for it. A replay does not call it again. */
    int (*sum)(void *device, wl_device_sum_fn *sum, void *of, float *at, size_t n, struct wl_err *e);
    /* (enqueued) What is enqueued from here on, and the end of the run, come after the sums. */
    int (*join_sums)(void *device, struct wl_err *e);
    /* (optional) No recording of sums is left that could be replayed; runs that were begun go on. No run is begun after
     * it. A communicator may wait for that before it ends. */
    void (*forget_sums)(void *device);

    /* (enqueued, after `run`) Sets the run's counts->overflow where one of n floats is not finite. */
    int (*check_finite)(void *device, const float *v, size_t n, const struct wl_device_io *io, struct wl_err *e);

    /* (enqueued) Adds the time since the last lap of this run to *time, by the end of the run; NULL: only a lap. */
    void (*lap)(void *device, struct wl_step_time *time);
    /* The step after a batch norm that adds the micro-batch's mean and unbiased variance to their sums (uses 0, 1 and
     * 2, 3); its context is the device. */
    wl_step_run_fn *sum_moments;

    /* ---- between runs ---- */

    /* One step of the optimizer on n spans of parameters, whose pointers are the device's. */
    int (*update)(void *device, const struct wl_optim_ops *kind, const struct wl_optim *o,
                  const struct wl_optim_span *s, size_t n, double lr, struct wl_err *e);
    /* Moves n running statistics towards the mean of their sums over the micro-batches. */
    int (*update_statistics)(void *device, const struct wl_statistic *s, size_t n, int micro_batches, struct wl_err *e);

    /* ---- facts ---- */

    int (*threads)(void *device); /* of the host that compute */
    /* What measured choices hold for, `library` being the back-end's: processor, library, threads. */
    const char *(*machine)(void *device, const char *library, struct wl_arena *a);
    struct wl_device_peaks (*peaks)(void *device); /* (optional: not known without a measurement) estimated */
    /* (optional: `peaks` is all there is) Measures them now, with the device's threads. */
    int (*measure_peaks)(void *device, struct wl_device_peaks *out, struct wl_arena *a, struct wl_err *e);
};

#endif

/* The device of back-end gpu: what its own files share and rules need not know. */
#ifndef WL_NN_GPU_INTERNAL_H
#define WL_NN_GPU_INTERNAL_H

#include "nn/gpu/gpu.h"
#include "nn/gpu/kernels/update.h"
#include "nn/optim/optim.h"

/* What kernels read and write of a run; one in the device's memory, and its page-locked twin. */
struct wl_gpu_block {
    struct wl_gpu_run run;
    struct wl_gpu_counts counts;
};

/* A variant's steps as a graph, captured at its second run. */
struct wl_gpu_variant {
    int runs;
    CUgraphExec graph; /* NULL: not captured */
};

/* A copy to the host within a run: `at` is `to`, or `own`, page-locked memory from where `wait` copies on. */
struct wl_gpu_fetch {
    CUevent done;
    void *to, *at, *own;
    size_t bytes, room; /* room: of `own` */
};

/* The time up to an event goes to *seconds; NULL: only where the next one starts. */
struct wl_gpu_lap {
    CUevent at;
    double *seconds;
};

/* A parameter's copy in 16 bits, in the same layout. */
struct wl_gpu_weights_copy {
    const struct wl_buf *master;
    struct wl_buf *buf;
};

struct wl_gpu_allocation {
    void *at;
    size_t bytes;
    bool host;
};

struct wl_gpu_state {
    struct wl_program *program;
    int threads;
    struct wl_gpu_block *block; /* page-locked */
    CUdeviceptr block_at;
    CUevent uploaded[2]; /* by slot of the host's inputs */
    CUevent taken;       /* compute has the inputs that had landed */
    CUevent forked, joined;
    bool running, training, first, capturing;
    bool forked_off; /* work on gpu->reductions that has not joined gpu->compute */
    struct wl_gpu_variant variants[WL_RUN_VARIANTS];
    struct wl_gpu_fetch *fetches;
    size_t n_fetches, cap_fetches;
    struct wl_gpu_lap *laps;
    size_t n_laps, made_laps, cap_laps; /* in this run; with events */
    struct wl_gpu_allocation *allocations;
    size_t n_allocations, cap_allocations;
    struct wl_gpu_weights_copy *copies; /* one a parameter at most, of one type */
    size_t n_copies, cap_copies;
    bool copies_sorted, copies_current; /* by their masters' addresses; false after states were written */
    struct wl_gpu_kernel add, round_bf16, round_f16, check_finite, moments, sgd, adam, statistics, copy;
};

/* Makes the device's context that of the calling thread. */
int wl_gpu_enter(const struct wl_gpu *g, struct wl_err *e) WL_MUST_CHECK;

/* ---- kernels.c ---- */

int wl_gpu_load_kernels(struct wl_gpu *g, struct wl_err *e) WL_MUST_CHECK;

/* ---- memory.c: callbacks of struct wl_device_ops ---- */

int wl_gpu_memory(void *device, size_t bytes, const char *what, void **at, struct wl_err *e);
int wl_gpu_host_memory(void *device, size_t bytes, const char *what, void **at, struct wl_err *e);
size_t wl_gpu_available(void *device);
void wl_gpu_release(void *device, void *at, size_t bytes);
int wl_gpu_put(void *device, void *to, const void *from, size_t bytes, struct wl_err *e);
int wl_gpu_get(void *device, void *to, const void *from, size_t bytes, struct wl_err *e);

/* Is this address within page-locked memory of ours? */
bool wl_gpu_page_locked(const struct wl_gpu *g, const void *at, size_t bytes);

/* ---- weights.c ---- */

/* Of `most` numbers from span->w on, sets how many the span takes, so that they have one copy or none, and that copy.
 */
void wl_gpu_cut_span(struct wl_gpu_state *s, size_t most, struct wl_gpu_span *span);

bool wl_gpu_copies_in_f16(const struct wl_gpu_state *s);

/* (enqueued) Makes all copies. */
int wl_gpu_copy_parameters(struct wl_gpu *g, struct wl_err *e);

/* ---- update.c: callbacks ---- */

int wl_gpu_find_update_kernels(struct wl_gpu *g, struct wl_err *e) WL_MUST_CHECK;
int wl_gpu_add(void *device, float *to, const float *part, size_t n, struct wl_err *e);
int wl_gpu_round(void *device, float *v, size_t n, enum wl_dtype type, struct wl_err *e);
int wl_gpu_check_finite(void *device, const float *v, size_t n, const struct wl_device_io *io, struct wl_err *e);
int wl_gpu_sum_moments(const struct wl_step *s, const struct wl_run *r, struct wl_err *e);
int wl_gpu_update(void *device, const struct wl_optim_ops *kind, const struct wl_optim *o,
                  const struct wl_optim_span *s, size_t n, double lr, struct wl_err *e);
int wl_gpu_update_statistics(void *device, const struct wl_statistic *s, size_t n, int micro_batches, struct wl_err *e);

/* ---- peaks.c ---- */

struct wl_device_peaks wl_gpu_peaks(void *device);

/* ---- device.c ---- */

extern const struct wl_device_ops wl_gpu_device;

/* Streams, events and the block; the context is there. */
int wl_gpu_open_state(struct wl_gpu *g, struct wl_err *e) WL_MUST_CHECK;

#endif

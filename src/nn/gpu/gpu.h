/* The back-end gpu from inside: what its device, rules and library bindings share (docs/adr/121).
 *
 * gpu.c       the row of wl_backends, open, what is missing     kernels.c  the module of own kernels, launches
 * device.c    struct wl_device_ops: copies, runs                 memory.c   device and page-locked memory
 * peaks.c     what a GPU reaches at most
 * layout.c    NHWC and KRSC, copies between layouts and types    update.c   optimizers, running statistics
 * weights.c   copies of parameters in 16 bits
 * ops/        a rule per operation                               kernels/   their kernels (.cu) and arguments (.h)
 * blas/ dnn/ fft/  cublasLt, cuDNN and cuFFT, opened at run time
 *
 * Everything that a step does is enqueued on gpu->compute. A step's `run` may be recorded into a graph and replayed:
 * what changes from run to run is read by kernels from gpu->run (run_block.h), never passed by value. `r->update` and
 * `r->first_sample` are -1 in a step; `r->first` and `r->training` are those of the variant. */
#ifndef WL_NN_GPU_GPU_H
#define WL_NN_GPU_GPU_H

#include "cuda/cuda.h"
#include "nn/gpu/kernels/run_block.h"
#include "nn/program/backend.h"

struct wl_gpu {
    struct wl_arena *arena; /* the program's */
    struct wl_cuda cuda;
    CUdevice device;
    CUcontext context;
    CUmodule *modules; /* of kernels.fatbin: one for each file of kernels/ */
    size_t n_modules;
    CUstream compute, copies, reductions;
    char name[96], uuid[48], bus[24];
    int multiprocessors, capability; /* 90: 9.0 */
    size_t memory_bytes;
    /* In the device's memory. */
    const struct wl_gpu_run *run;
    struct wl_gpu_counts *counts;
    struct wl_gpu_blas *blas; /* opened by the first rule that asks (blas/blas.h, dnn/dnn.h, fft/fft.h) */
    struct wl_gpu_dnn *dnn;
    struct wl_gpu_fft *fft;
    struct wl_gpu_open_product **open_products; /* a list that products are put on, to be measured; NULL: none is */
    /* ... of the device's own: captured graphs, page-locked memory, events: device.c */
    struct wl_gpu_state *state;
};

/* The device of a program of this back-end. */
static inline struct wl_gpu *wl_gpu_of(const struct wl_program *p) { return p->device; }

/* ---- kernels (kernels.c) ---- */

struct wl_gpu_kernel {
    const struct wl_gpu *gpu;
    CUfunction function;
    const char *name;
};

/* A kernel by its name; of NAME, for values of type t, the one called NAME_f32, NAME_bf16 or NAME_f16. At lowering.
 * WL_ELIB: the module lacks it. */
int wl_gpu_kernel(struct wl_gpu *g, const char *name, struct wl_gpu_kernel *out, struct wl_err *e) WL_MUST_CHECK;
int wl_gpu_kernel_of(struct wl_gpu *g, const char *name, enum wl_dtype t, struct wl_gpu_kernel *out,
                     struct wl_err *e) WL_MUST_CHECK;

struct wl_gpu_grid {
    unsigned x, y, z;      /* blocks; 0 counts as 1 */
    unsigned threads;      /* of a block: x; y and z are 1 */
    unsigned shared_bytes; /* dynamic; above 48 KiB the kernel's limit is raised */
};

/* Blocks of `threads` for n elements of `each` a thread, at most enough to fill the GPU several times: kernels loop. */
struct wl_gpu_grid wl_gpu_grid_for(const struct wl_gpu *g, int64_t n, unsigned threads, unsigned each);

/* (enqueued) args: the kernel's struct, `bytes` = its sizeof, which the module's kernel must have too. */
int wl_gpu_launch(const struct wl_gpu_kernel *k, const struct wl_gpu_grid *grid, const void *args, size_t bytes,
                  struct wl_err *e) WL_MUST_CHECK;
#define WL_GPU_LAUNCH(k, grid, args, e) wl_gpu_launch((k), (grid), (args), sizeof *(args), (e))

/* ---- layouts (layout.c) ---- */

/* Images [N,C,H,W] in memory as [N,H,W,channels], channels >= C a multiple of 8 in 16 bits (C otherwise), the padding
 * being zeros; weights [K,C,R,S] as [K,R,S,channels]. Tags of struct wl_buf; NULL: plain. */
struct wl_gpu_layout {
    const char *name; /* "nhwc" */
    bool pads;        /* channels to a multiple of 8 */
};
extern const struct wl_gpu_layout wl_gpu_nhwc, wl_gpu_krsc;

int64_t wl_gpu_padded_channels(const struct wl_buf *b);

/* The value of input i of node n in NHWC, through a copy where it is plain; and its gradient's. */
int wl_gpu_nhwc_input(struct wl_program *p, const struct wl_node *n, int i, struct wl_buf **out,
                      struct wl_err *e) WL_MUST_CHECK;
/* A buffer of class VALUE for the result of node n in NHWC, in the program's precision. */
struct wl_buf *wl_gpu_nhwc_result(struct wl_program *p, const struct wl_node *n);

/* A parameter in type t and layout: the f32 master, or its copy in 16 bits, which the update writes too (weights.c). */
int wl_gpu_weights(struct wl_program *p, const struct wl_node *n, const struct wl_tensor *t, enum wl_dtype type,
                   const struct wl_gpu_layout *layout, struct wl_buf **out, struct wl_err *e) WL_MUST_CHECK;

/* Copies of parameters are those of programs lowered from now on: the one before never runs as a whole. */
void wl_gpu_forget_weights(struct wl_gpu *g);

/* The rules: wl_gpu_op_NAME, in ops/NAME.c. */
#define WL_GPU_RULES(op, name, ...) extern const struct wl_op_rules wl_gpu_op_##name;
WL_OPS(WL_GPU_RULES)
#undef WL_GPU_RULES

/* (wl_backend.choose) Measures which plans passes of convolutions get, then which algorithms products get, then which
 * fused steps there are, as far as the table does not know, on memory of its own (ops/conv2d_autotune.c,
 * ops/product_autotune.c, ops/fusion_autotune.c). */
int wl_gpu_autotune(struct wl_program *p, struct wl_choices *choices, struct wl_err *e) WL_MUST_CHECK;

#endif

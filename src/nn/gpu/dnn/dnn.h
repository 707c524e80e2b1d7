/* cuDNN, opened at run time and called through its backend API alone: operation graphs, engines, plans.
 *
 * library.c     opening, versions, errors       descriptor.c  descriptors of the backend API
 * graph.c       the operation graph of a pass   plan.c        engines and plans of a graph
 * kept.c        plans in files                  choice.c      which plan a pass gets, by measurement or heuristics
 *
 * A pass runs one plan. Plans are deterministic: engines that cuDNN marks otherwise are left out. */
#ifndef WL_NN_GPU_DNN_DNN_H
#define WL_NN_GPU_DNN_DNN_H

#include "nn/gpu/dnn/api.h"
#include "nn/gpu/gpu.h"
#include "cuda/library.h"

/* Functions by their names in the library, without "cudnn". */
struct wl_gpu_dnn {
    struct wl_library library;
    size_t (*GetVersion)(void);
    const char *(*GetErrorString)(cudnnStatus_t);
    void (*GetLastErrorString)(char *text, size_t room);
    cudnnStatus_t (*Create)(cudnnHandle_t *);
    cudnnStatus_t (*Destroy)(cudnnHandle_t);
    cudnnStatus_t (*SetStream)(cudnnHandle_t, CUstream);
    cudnnStatus_t (*BackendCreateDescriptor)(int type, cudnnBackendDescriptor_t *);
    cudnnStatus_t (*BackendDestroyDescriptor)(cudnnBackendDescriptor_t);
    cudnnStatus_t (*BackendSetAttribute)(cudnnBackendDescriptor_t, int name, int type, int64_t n, const void *);
    cudnnStatus_t (*BackendGetAttribute)(cudnnBackendDescriptor_t, int name, int type, int64_t room, int64_t *n,
                                         void *);
    cudnnStatus_t (*BackendFinalize)(cudnnBackendDescriptor_t);
    cudnnStatus_t (*BackendExecute)(cudnnHandle_t, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack);

    int version;                     /* 92801: 9.28.1 */
    cudnnHandle_t handle;            /* NULL: plans are made for `device` and not run */
    cudnnBackendDescriptor_t device; /* a described GPU; NULL: the handle's */
};

/* Opens cuDNN for the GPU's stream `compute` once, into gpu->dnn. WL_EUNAVAIL: not installed; WL_ELIB: its version does
 * not serve. Both say which is needed and what to install. */
int wl_gpu_dnn_open(struct wl_gpu *g, struct wl_err *e) WL_MUST_CHECK;

/* Opens cuDNN to make plans for a GPU that need not be here: `json` as cuDNN writes one (CUDNN_BACKEND_DEVICEPROP).
 * Needs 9.8. */
int wl_gpu_dnn_describe(struct wl_gpu_dnn **out, const char *json, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* "9.28.1" */
const char *wl_gpu_dnn_version_text(const struct wl_gpu_dnn *d, struct wl_arena *a);

/* ---- passes ---- */

enum wl_gpu_conv_pass { WL_GPU_CONV_FORWARD, WL_GPU_CONV_DATA, WL_GPU_CONV_WEIGHTS };

/* A pass of a convolution: images in NHWC, weights in KRSC, of the channels that they have in memory. Sums are f32. */
struct wl_gpu_conv {
    enum wl_gpu_conv_pass pass;
    struct wl_window window;
    enum wl_dtype type; /* of x, w, y and of the gradients by x and y */
    enum wl_dtype dw;   /* of the weights' gradient: f32 or `type` */
    bool bias, relu;    /* forward: y = max(0, conv + b), b f32 [K] */
    bool sums;          /* forward: also the sums over y and y^2 by channel, f32 [K] */
};
const char *wl_gpu_conv_pass_name(enum wl_gpu_conv_pass pass); /* "forward", "backward data", "backward weights" */

/* What the tensors of a pass are called in its graph. */
enum wl_gpu_dnn_tensor {
    WL_GPU_DNN_X = 1, /* or its gradient; likewise below */
    WL_GPU_DNN_W,
    WL_GPU_DNN_Y,
    WL_GPU_DNN_BIAS,
    WL_GPU_DNN_SUM,
    WL_GPU_DNN_SQUARES,
    WL_GPU_DNN_VIRTUAL, /* this and those after it are not in memory */
};

/* ---- plans ---- */

struct wl_gpu_dnn_plan {
    const struct wl_gpu_dnn *dnn;
    cudnnBackendDescriptor_t plan;
    int64_t workspace_bytes;
    const char *engine; /* "eng47_k2=4_k13=1": the engine and its settings, from which the plan can be made again */
    bool fallback;      /* not among those that the heuristics recommend */
};

/* Which engines may serve. */
struct wl_gpu_dnn_limits {
    int64_t workspace_bytes; /* at most */
    bool winograd;           /* Winograd's algorithm in 16 bits and f32: rounds otherwise */
    bool tf32;               /* f32 products of values rounded to 11 bits */
};

/* The first `most` plans that cuDNN's heuristics recommend and `limits` allow, then (at least one, if there is one) of
 * the fallback's; 0 is not an error. They live as long as `a`. */
int wl_gpu_dnn_plans(const struct wl_gpu_dnn *d, const struct wl_gpu_conv *c, const struct wl_gpu_dnn_limits *limits,
                     size_t most, struct wl_gpu_dnn_plan *out, size_t *n, struct wl_arena *a,
                     struct wl_err *e) WL_MUST_CHECK;

/* The plan of an engine and its settings, as wl_gpu_dnn_plan.engine names them; and one that was kept as JSON. */
int wl_gpu_dnn_plan_of(const struct wl_gpu_dnn *d, const struct wl_gpu_conv *c, const char *engine,
                       struct wl_gpu_dnn_plan *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;
int wl_gpu_dnn_plan_restore(const struct wl_gpu_dnn *d, const char *json, const char *engine,
                            struct wl_gpu_dnn_plan *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;
int wl_gpu_dnn_plan_json(const struct wl_gpu_dnn_plan *p, char **json, struct wl_arena *a,
                         struct wl_err *e) WL_MUST_CHECK;

/* Tensors at their addresses, which a plan is run on. */
struct wl_gpu_dnn_arg {
    enum wl_gpu_dnn_tensor tensor;
    void *at;
};
int wl_gpu_dnn_pack(const struct wl_gpu_dnn *d, const struct wl_gpu_dnn_arg *args, size_t n, void *workspace,
                    cudnnBackendDescriptor_t *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;
/* (enqueued) Allocates nothing. */
int wl_gpu_dnn_run(const struct wl_gpu_dnn_plan *p, cudnnBackendDescriptor_t pack, struct wl_err *e) WL_MUST_CHECK;

/* ---- kept plans (kept.c) ---- */

/* Plans that were compiled once are kept in files of a folder, one each, named after what the plan is for. `key` is the
 * first line of the file: machine, version of cuDNN, question, engine. A file that is not there, is not ours, or that
 * cuDNN does not take any more: *json is NULL. */
char *wl_gpu_dnn_kept(const char *folder, const char *key, struct wl_arena *a);
int wl_gpu_dnn_keep(const char *folder, const char *key, const char *json, struct wl_err *e) WL_MUST_CHECK;

#endif

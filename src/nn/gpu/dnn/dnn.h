/* cuDNN, opened at run time and called through its backend API alone: operation graphs, engines, plans.
 *
 * library.c     opening, versions, errors       descriptor.c  descriptors of the backend API
 * graph.c       the operation graph of a pass   plan.c        engines and plans of a graph
 * kept.c        plans in files                  choice.c      which plan a pass gets, by measurement or heuristics
 * step.c        the step that runs a plan
 *
 * A pass runs one plan. Plans are deterministic: engines that cuDNN marks otherwise are left out. */
#ifndef WL_NN_GPU_DNN_DNN_H
#define WL_NN_GPU_DNN_DNN_H

#include "cuda/library.h"
#include "nn/gpu/dnn/api.h"
#include "nn/gpu/gpu.h"

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

    int version;                      /* 92801: 9.28.1 */
    cudnnHandle_t handle;             /* NULL: plans are made for `device` and not run */
    cudnnBackendDescriptor_t device;  /* a described GPU; NULL: the handle's */
    bool measures;                    /* plans are made to be compared: none is kept */
    bool unkept;                      /* a plan could not be written to its file: said once */
    struct wl_gpu_conv_plan *planned; /* of a program: what its passes got so far */
};

/* Opens cuDNN for the GPU's stream `compute` once, into gpu->dnn. WL_EUNAVAIL: not installed; WL_ELIB: its version does
 * not serve. Both say which is needed and what to install. */
int wl_gpu_dnn_open(struct wl_gpu *g, struct wl_err *e) WL_MUST_CHECK;

/* Opens cuDNN to make plans for a GPU that need not be here: `json` as cuDNN writes one (CUDNN_BACKEND_DEVICEPROP).
 * Needs 9.8. */
int wl_gpu_dnn_describe(struct wl_gpu_dnn **out, const char *json, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* What cuDNN says of the handle's GPU, as wl_gpu_dnn_describe takes it: plans for it can be made without it. Needs 9.8.
 */
int wl_gpu_dnn_description(const struct wl_gpu_dnn *d, char **json, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

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
    bool gelu;          /* forward, with a bias: y = gelu(u), u = conv + b, which is written too; by erf */
    bool tf32;          /* f32 values are rounded to TF32 (11 bits) where they are multiplied */
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
    WL_GPU_DNN_U,
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
    bool no_fallback;        /* recommended ones alone */
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

/* ---- which plan a pass gets (choice.c) ---- */

struct wl_gpu_conv_plan {
    struct wl_gpu_conv conv; /* of the weights' gradient with the type that it gets */
    struct wl_gpu_dnn_plan plan;
    const struct wl_choice *choice; /* the measurement that chose it; NULL: heuristics */
    const char *question;
    struct wl_gpu_conv_plan *next;
};

/* The plan of a pass: what the table of choices says, else the first of the heuristics. The weights' gradient of 16-bit
 * values is f32 where an engine for that is recommended, else of the values' type. NULL in *out: no engine serves. */
int wl_gpu_conv_plan(struct wl_program *p, const struct wl_gpu_conv *c, const struct wl_gpu_conv_plan **out,
                     struct wl_err *e) WL_MUST_CHECK;

/* The plan of a pass with sums or gelu, whose work other steps can do as well: where p->fuse says so, or, with
 * WL_FUSE_MEASURED, where the table of choices names an engine. NULL in *out: other steps do it; without
 * cuDNN they always do. */
int wl_gpu_conv_fused_plan(struct wl_program *p, const struct wl_gpu_conv *c, const struct wl_gpu_conv_plan **out,
                           struct wl_err *e) WL_MUST_CHECK;
extern const char wl_gpu_conv_separate[]; /* the table's answer that says so: "separate" */

/* Keeps a plan that the table of choices names now, in a file beside it if it has one. */
void wl_gpu_conv_keep(const struct wl_program *p, const struct wl_gpu_conv_plan *c);

/* What the table of choices is asked about a pass. */
const char *wl_gpu_conv_question(const struct wl_gpu_dnn *d, const struct wl_gpu_conv *c, struct wl_arena *a);
struct wl_gpu_dnn_limits wl_gpu_conv_limits(const struct wl_program *p);

/* ---- steps (step.c) ---- */

struct wl_gpu_dnn_operand {
    enum wl_gpu_dnn_tensor tensor; /* 0 ends a list */
    struct wl_buf *buf;            /* NULL: the plan has none */
    bool write;
};

/* Emits the step of a plan, with a workspace where it wants one. */
void wl_gpu_dnn_emit(struct wl_program *p, const struct wl_node *n, const char *pass, unsigned when,
                     const struct wl_gpu_conv_plan *plan, const struct wl_gpu_dnn_operand *operands);

/* ---- kept plans (kept.c) ---- */

/* Plans in files of a folder, one each, so that engines which cuDNN compiles are compiled once. `key` is what the plan
 * is for: machine, version of cuDNN, question, answer. Where the file is not there or is not ours, *json is NULL. */
struct wl_gpu_kept_plan {
    const char *engine, *json;
};
struct wl_gpu_kept_plan wl_gpu_dnn_kept(const char *folder, const char *key, struct wl_arena *a);
int wl_gpu_dnn_keep(const char *folder, const char *key, const struct wl_gpu_kept_plan *k,
                    struct wl_err *e) WL_MUST_CHECK;

#endif

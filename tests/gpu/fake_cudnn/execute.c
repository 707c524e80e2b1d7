/* Running a plan: tensors are checked when it is enqueued, and the graph is interpreted when the stream gets there.
 * Sums are taken in double. What an operation reads of the one before it is f32, even where it is also stored in fewer
 * bits: NVIDIA does not say which of the two it is, so what we compute must be right with the one that nn/ref does not
 * have. */
#include "fake.h"

#include "base/half.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORKSPACE_ALIGNMENT = 256 };

/* An execution: the graph and where its tensors are. Lives as long as the library, since a captured one runs again. */
struct execution {
    struct plan plan;
    void *at[MOST_TENSORS];    /* of virtual ones: memory while it runs */
    float *wide[MOST_TENSORS]; /* while it runs, of those that are written: before rounding */
    void *workspace;
    struct execution *next;
};

static struct execution *executions;

__attribute__((destructor)) static void free_executions(void)
{
    while (executions) {
        struct execution *e = executions;
        executions = e->next;
        free(e);
    }
}

/* ---- numbers ---- */

static double load(const struct tensor *t, const void *at, int64_t i)
{
    switch (t->type) {
    case CUDNN_DATA_FLOAT: return (double)((const float *)at)[i];
    case CUDNN_DATA_HALF: return (double)wl_f16_to_f32(((const uint16_t *)at)[i]);
    default: return (double)wl_bf16_to_f32(((const uint16_t *)at)[i]);
    }
}

static void store(const struct tensor *t, void *at, int64_t i, double v)
{
    const float f = (float)v;
    if (t->type == CUDNN_DATA_FLOAT)
        ((float *)at)[i] = f;
    else
        ((uint16_t *)at)[i] = t->type == CUDNN_DATA_HALF ? wl_f32_to_f16(f) : wl_f32_to_bf16(f);
}

static int64_t at_nhwc(const struct tensor *t, int64_t n, int64_t c, int64_t h, int64_t w)
{
    return n * t->strides[0] + c + h * t->strides[2] + w * t->strides[3];
}

/* Element i of a tensor by its index. */
static double read(const struct execution *e, int tensor, int64_t i)
{
    return e->wide[tensor] ? (double)e->wide[tensor][i] : load(&e->plan.graph.tensors[tensor], e->at[tensor], i);
}

static void write(const struct execution *e, int tensor, int64_t i, double v)
{
    store(&e->plan.graph.tensors[tensor], e->at[tensor], i, v);
    e->wide[tensor][i] = (float)v;
}

/* ---- operations ---- */

/* One convolution: what is summed into the element that is written. */
struct convolution {
    const struct operation *o;
    const struct tensor *x, *w, *y;
    void *at_x, *at_w, *at_y;
    bool tf32;
};

static double factor(const struct convolution *c, const struct tensor *t, const void *at, int64_t i)
{
    const double v = load(t, at, i);
    return c->tf32 && t->type == CUDNN_DATA_FLOAT ? (double)wl_f32_to_tf32((float)v) : v;
}

static struct convolution convolution_of(const struct execution *e, const struct operation *o)
{
    const struct tensor *t = e->plan.graph.tensors;
    return (
        struct convolution) { o, &t[o->x], &t[o->w], &t[o->y], e->at[o->x], e->at[o->w], e->at[o->y], e->plan.tf32 };
}

/* The line of x that line p of y reads with line r of the kernel; -1: padding. */
static int64_t line_of(int64_t p, int64_t r, int64_t stride, int64_t pad, int64_t lines)
{
    const int64_t h = p * stride + r - pad;
    return h >= 0 && h < lines ? h : -1;
}

static double forward_at(const struct convolution *c, int64_t n, int64_t k, int64_t p, int64_t q)
{
    double sum = 0;
    for (int64_t r = 0; r < c->w->dims[2]; r++)
        for (int64_t s = 0; s < c->w->dims[3]; s++) {
            const int64_t h = line_of(p, r, c->o->stride[0], c->o->pad[0], c->x->dims[2]);
            const int64_t w = line_of(q, s, c->o->stride[1], c->o->pad[1], c->x->dims[3]);
            if (h < 0 || w < 0) continue;
            for (int64_t i = 0; i < c->x->dims[1]; i++)
                sum += factor(c, c->x, c->at_x, at_nhwc(c->x, n, i, h, w)) *
                       factor(c, c->w, c->at_w, at_nhwc(c->w, k, i, r, s));
        }
    return sum;
}

/* The line of y that reads line h of x with line r of the kernel; -1: there is none. */
static int64_t reader_of(int64_t h, int64_t r, int64_t stride, int64_t pad, int64_t lines)
{
    const int64_t at = h + pad - r;
    return at >= 0 && at % stride == 0 && at / stride < lines ? at / stride : -1;
}

static double data_at(const struct convolution *c, int64_t n, int64_t i, int64_t h, int64_t w)
{
    double sum = 0;
    for (int64_t r = 0; r < c->w->dims[2]; r++)
        for (int64_t s = 0; s < c->w->dims[3]; s++) {
            const int64_t p = reader_of(h, r, c->o->stride[0], c->o->pad[0], c->y->dims[2]);
            const int64_t q = reader_of(w, s, c->o->stride[1], c->o->pad[1], c->y->dims[3]);
            if (p < 0 || q < 0) continue;
            for (int64_t k = 0; k < c->y->dims[1]; k++)
                sum += factor(c, c->y, c->at_y, at_nhwc(c->y, n, k, p, q)) *
                       factor(c, c->w, c->at_w, at_nhwc(c->w, k, i, r, s));
        }
    return sum;
}

static double weights_at(const struct convolution *c, int64_t k, int64_t i, int64_t r, int64_t s)
{
    double sum = 0;
    for (int64_t n = 0; n < c->y->dims[0]; n++)
        for (int64_t p = 0; p < c->y->dims[2]; p++)
            for (int64_t q = 0; q < c->y->dims[3]; q++) {
                const int64_t h = line_of(p, r, c->o->stride[0], c->o->pad[0], c->x->dims[2]);
                const int64_t w = line_of(q, s, c->o->stride[1], c->o->pad[1], c->x->dims[3]);
                if (h < 0 || w < 0) continue;
                sum += factor(c, c->y, c->at_y, at_nhwc(c->y, n, k, p, q)) *
                       factor(c, c->x, c->at_x, at_nhwc(c->x, n, i, h, w));
            }
    return sum;
}

typedef double element_fn(const struct convolution *c, int64_t a, int64_t b, int64_t h, int64_t w);

static void convolve(const struct execution *e, const struct convolution *c, int tensor, element_fn *element)
{
    const struct tensor *to = &e->plan.graph.tensors[tensor];
    for (int64_t a = 0; a < to->dims[0]; a++)
        for (int64_t h = 0; h < to->dims[2]; h++)
            for (int64_t w = 0; w < to->dims[3]; w++)
                for (int64_t b = 0; b < to->dims[1]; b++)
                    write(e, tensor, at_nhwc(to, a, b, h, w), element(c, a, b, h, w));
}

static int64_t count_of(const struct tensor *t) { return fake_tensor_bytes(t) / (int64_t)fake_type_bytes(t->type); }

static double pointwise_at(const struct execution *e, const struct operation *o, int64_t i)
{
    const double v = read(e, o->x, i);
    switch (o->mode) {
    case CUDNN_POINTWISE_ADD: return v + read(e, o->extra, i % e->plan.graph.tensors[o->x].dims[1]);
    case CUDNN_POINTWISE_GELU_FWD: return v * 0.5 * (1 + erf(v * sqrt(0.5)));
    default: return v < 0 ? 0 : v;
    }
}

static void pointwise(const struct execution *e, const struct operation *o)
{
    for (int64_t i = 0; i < count_of(&e->plan.graph.tensors[o->x]); i++) write(e, o->y, i, pointwise_at(e, o, i));
}

static void sums(const struct execution *e, const struct operation *o)
{
    const struct tensor *t = e->plan.graph.tensors, *x = &t[o->x];
    for (int64_t c = 0; c < x->dims[1]; c++) {
        double sum = 0, squares = 0;
        for (int64_t i = c; i < count_of(x); i += x->dims[1]) {
            const double v = read(e, o->x, i);
            sum += v;
            squares += v * v;
        }
        write(e, o->y, c, sum);
        write(e, o->extra, c, squares);
    }
}

static void interpret(const struct execution *e, const struct operation *o)
{
    const struct convolution c = o->w >= 0 ? convolution_of(e, o) : (struct convolution) { 0 };
    switch (o->kind) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR: convolve(e, &c, o->y, forward_at); break;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR: convolve(e, &c, o->x, data_at); break;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR: convolve(e, &c, o->w, weights_at); break;
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR: pointwise(e, o); break;
    default: sums(e, o);
    }
}

/* The tensor that an operation writes; sums write another. */
static int written(const struct operation *o)
{
    switch (o->kind) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR: return o->x;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR: return o->w;
    default: return o->y;
    }
}

static void make_wide(struct execution *e, int tensor)
{
    e->wide[tensor] = malloc((size_t)count_of(&e->plan.graph.tensors[tensor]) * sizeof(float));
}

static void make_all_wide(struct execution *e)
{
    const struct graph *g = &e->plan.graph;
    for (int i = 0; i < g->n_operations; i++) {
        make_wide(e, written(&g->operations[i]));
        if (g->operations[i].kind == CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR) make_wide(e, g->operations[i].extra);
    }
}

/* The workspace is overwritten, with NANs, before and after. */
static void run(void *execution)
{
    struct execution *e = execution;
    const struct graph *g = &e->plan.graph;
    if (e->plan.workspace) memset(e->workspace, 0xff, (size_t)e->plan.workspace);
    for (int i = 0; i < g->n_tensors; i++)
        if (g->tensors[i].is_virtual) e->at[i] = malloc((size_t)fake_tensor_bytes(&g->tensors[i]));
    make_all_wide(e);
    for (int i = 0; i < g->n_operations; i++) interpret(e, &g->operations[i]);
    for (int i = 0; i < g->n_tensors; i++) {
        if (g->tensors[i].is_virtual) free(e->at[i]);
        free(e->wide[i]);
        e->wide[i] = NULL;
    }
}

/* ---- enqueueing ---- */

static bool overlap(const char *a, int64_t a_bytes, const char *b, int64_t b_bytes)
{
    return a < b + b_bytes && b < a + a_bytes;
}

static int place_of(const struct attribute *ids, int64_t id)
{
    for (int64_t i = 0; i < ids->n; i++)
        if (((const int64_t *)ids->v)[i] == id) return (int)i;
    return -1;
}

static cudnnStatus_t find_tensors(struct execution *e, const struct descriptor *pack)
{
    const struct attribute *ids = fake_attribute(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    const struct attribute *at = fake_attribute(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    int64_t used = 0;
    if (ids->n != at->n) return fake_fail(CUDNN_STATUS_BAD_PARAM, "a pack has other numbers of ids and of pointers");
    for (int i = 0; i < e->plan.graph.n_tensors; i++) {
        const struct tensor *t = &e->plan.graph.tensors[i];
        if (t->is_virtual) continue;
        const int place = place_of(ids, t->id);
        if (place < 0) return fake_fail(CUDNN_STATUS_BAD_PARAM, "a pack lacks tensor %d", (int)t->id);
        e->at[i] = ((void **)at->v)[place];
        if (!e->at[i] || (uintptr_t)e->at[i] % (uintptr_t)t->alignment)
            return fake_fail(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER, "tensor %d is at %p", (int)t->id, e->at[i]);
        used++;
    }
    if (used == ids->n) return 0;
    return fake_fail(CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES, "a pack has %d tensors, its plan %d", (int)ids->n,
                     (int)used);
}

static cudnnStatus_t check_workspace(struct execution *e, const struct descriptor *pack)
{
    const struct graph *g = &e->plan.graph;
    e->workspace = *(void **)fake_attribute(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE)->v;
    if (!e->plan.workspace) return 0;
    if (!e->workspace || (uintptr_t)e->workspace % WORKSPACE_ALIGNMENT)
        return fake_fail(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER, "the workspace is at %p", e->workspace);
    for (int i = 0; i < g->n_tensors; i++)
        if (!g->tensors[i].is_virtual &&
            overlap(e->workspace, e->plan.workspace, e->at[i], fake_tensor_bytes(&g->tensors[i])))
            return fake_fail(CUDNN_STATUS_BAD_PARAM, "tensor %d is in the workspace", (int)g->tensors[i].id);
    return 0;
}

/* What is written overlaps nothing that is read. */
static cudnnStatus_t check_overlaps(const struct execution *e)
{
    const struct graph *g = &e->plan.graph;
    for (int i = 0; i < g->n_tensors; i++)
        for (int k = 0; k < i; k++) {
            const struct tensor *a = &g->tensors[i], *b = &g->tensors[k];
            if (!a->is_virtual && !b->is_virtual &&
                overlap(e->at[i], fake_tensor_bytes(a), e->at[k], fake_tensor_bytes(b)))
                return fake_fail(CUDNN_STATUS_BAD_PARAM, "tensors %d and %d overlap", (int)a->id, (int)b->id);
        }
    return 0;
}

typedef int enqueue_fn(CUstream, void (*)(void *), void *);

/* Of the fake libcuda, which is loaded. */
static enqueue_fn *enqueue_function(void)
{
    const char *path = getenv("CUDA_DRIVER_LIBRARY");
    void *cuda = dlopen(path ? path : "libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    void *found = cuda ? dlsym(cuda, "wl_fake_enqueue") : NULL;
    enqueue_fn *f;
    memcpy(&f, &found, sizeof f);
    if (cuda) dlclose(cuda);
    return f;
}

cudnnStatus_t fake_execute(CUstream stream, const struct plan *p, const struct descriptor *pack)
{
    enqueue_fn *enqueue = enqueue_function();
    struct execution *e = calloc(1, sizeof *e);
    e->plan = *p;
    e->next = executions;
    executions = e;
    cudnnStatus_t status = find_tensors(e, pack);
    if (!status) status = check_workspace(e, pack);
    if (!status) status = check_overlaps(e);
    if (status) return status;
    if (!enqueue) return fake_fail(CUDNN_STATUS_EXECUTION_FAILED, "the fake libcuda is not loaded");
    const int rc = enqueue(stream, run, e);
    return rc ? fake_fail(CUDNN_STATUS_EXECUTION_FAILED, "the driver refused: %d", rc) : 0;
}

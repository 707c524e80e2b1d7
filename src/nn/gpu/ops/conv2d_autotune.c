/* Which of the engines that cuDNN recommends is the fastest for a pass: measured on the GPU, for the table of choices.
 */
#include "nn/gpu/ops/conv2d.h"

enum { CANDIDATES = 6, REPEATS = 3, TENSORS = 4 };

/* Another engine than the first recommended one must gain at least this: smaller differences are noise. */
static const double worth_it = 0.97;

/* ---- memory for a pass ---- */

struct trial {
    struct wl_program *p;
    struct wl_gpu *gpu;
    struct wl_arena *arena;
    struct wl_gpu_conv conv;
    struct wl_gpu_dnn_plan plans[CANDIDATES];
    size_t n;
    char *memory; /* the tensors, one after the other, then the workspace */
    size_t bytes;
    CUevent from, to;
};

static size_t rounded(int64_t n, enum wl_dtype type)
{
    const size_t align = 256;
    return ((size_t)n * wl_dtype_bytes(type) + align - 1) / align * align;
}

static size_t tensor_bytes(const struct wl_gpu_conv *c, enum wl_gpu_dnn_tensor tensor)
{
    const struct wl_window *v = &c->window;
    switch (tensor) {
    case WL_GPU_DNN_X: return rounded(v->n * v->c * v->h * v->w, c->type);
    case WL_GPU_DNN_W: return rounded(v->k * v->c * v->r * v->s, c->pass == WL_GPU_CONV_WEIGHTS ? c->dw : c->type);
    case WL_GPU_DNN_Y: return rounded(v->n * v->k * v->p * v->q, c->type);
    default: return rounded(v->k, WL_F32);
    }
}

static size_t workspace_bytes(const struct trial *t)
{
    int64_t most = 0;
    for (size_t i = 0; i < t->n; i++)
        if (t->plans[i].workspace_bytes > most) most = t->plans[i].workspace_bytes;
    return (size_t)most;
}

static size_t tensors_of(const struct wl_gpu_conv *c) { return c->bias ? TENSORS : TENSORS - 1; }

/* The tensors' addresses; gives that of the workspace. */
static char *place(const struct trial *t, struct wl_gpu_dnn_arg *args)
{
    static const enum wl_gpu_dnn_tensor tensors[TENSORS] = { WL_GPU_DNN_X, WL_GPU_DNN_W, WL_GPU_DNN_Y,
                                                             WL_GPU_DNN_BIAS };
    char *at = t->memory;
    for (size_t i = 0; i < tensors_of(&t->conv); i++) {
        args[i] = (struct wl_gpu_dnn_arg) { tensors[i], at };
        at += tensor_bytes(&t->conv, tensors[i]);
    }
    return at;
}

static int open_memory(struct trial *t, struct wl_err *e)
{
    struct wl_gpu_dnn_arg args[TENSORS];
    void *at;
    t->bytes = (size_t)(place(t, args) - t->memory) + workspace_bytes(t);
    int rc = t->p->backend->device->memory(t->p->device, t->bytes, "measuring a convolution", &at, e);
    if (!rc) t->memory = at;
    return rc;
}

/* ---- time ---- */

static int timed_run(struct trial *t, const struct wl_gpu_dnn_plan *plan, cudnnBackendDescriptor_t pack,
                     double *seconds, struct wl_err *e)
{
    const struct wl_cuda *cuda = &t->gpu->cuda;
    float ms = 0;
    WL_CUDA_CALL(cuda, EventRecord, t->from, t->gpu->compute);
    int rc = wl_gpu_dnn_run(plan, pack, e);
    if (rc) return rc;
    WL_CUDA_CALL(cuda, EventRecord, t->to, t->gpu->compute);
    WL_CUDA_CALL(cuda, EventSynchronize, t->to);
    WL_CUDA_CALL(cuda, EventElapsedTime, &ms, t->from, t->to);
    *seconds = (double)ms / 1e3;
    return 0;
}

/* Seconds of the fastest of a few runs after the first, which loads the engine's code. Times are above 0 in the table.
 */
static int time_plan(struct trial *t, const struct wl_gpu_dnn_plan *plan, double *fastest, struct wl_err *e)
{
    struct wl_gpu_dnn_arg args[TENSORS];
    cudnnBackendDescriptor_t pack;
    double seconds = 0;
    void *workspace = place(t, args);
    int rc = wl_gpu_dnn_pack(t->gpu->dnn, args, tensors_of(&t->conv), workspace, &pack, t->arena, e);
    if (!rc) rc = timed_run(t, plan, pack, &seconds, e);
    *fastest = 1e9;
    for (int i = 0; i < REPEATS && !rc; i++) {
        rc = timed_run(t, plan, pack, &seconds, e);
        if (seconds < *fastest) *fastest = seconds;
    }
    if (*fastest < 1e-9) *fastest = 1e-9;
    return rc;
}

/* ---- one question ---- */

struct found {
    size_t best, second;
    double seconds[CANDIDATES];
};

static void rank(struct found *f, size_t n)
{
    f->best = 0;
    for (size_t i = 1; i < n; i++)
        if (f->seconds[i] < worth_it * f->seconds[0] && (!f->best || f->seconds[i] < f->seconds[f->best])) f->best = i;
    f->second = f->best ? 0 : 1;
    for (size_t i = 0; i < n; i++)
        if (i != f->best && f->seconds[i] < f->seconds[f->second]) f->second = i;
}

static int compare(struct trial *t, struct found *f, struct wl_err *e)
{
    int rc = 0;
    for (size_t i = 0; i < t->n && !rc; i++) rc = time_plan(t, &t->plans[i], &f->seconds[i], e);
    if (!rc) rank(f, t->n);
    return rc;
}

static void add(const struct trial *t, const struct found *f, struct wl_choices *choices)
{
    const double samples = (double)t->conv.window.n;
    wl_choices_add(choices, &(struct wl_choice) {
                                .machine = choices->machine,
                                .question = wl_gpu_conv_question(t->gpu->dnn, &t->conv, t->arena),
                                .answer = t->plans[f->best].engine,
                                .runner_up = t->plans[f->second].engine,
                                .answer_s = f->seconds[f->best] / samples,
                                .runner_up_s = f->seconds[f->second] / samples,
                            });
}

static int measure(struct trial *t, struct wl_choices *choices, struct wl_err *e)
{
    struct found f = { 0 };
    int rc = open_memory(t, e);
    if (rc) return rc;
    rc = compare(t, &f, e);
    t->p->backend->device->release(t->p->device, t->memory, t->bytes);
    if (!rc) add(t, &f, choices);
    return rc;
}

/* Where there is one engine, or no memory to compare two, nothing is asked. */
static int answer(struct trial *t, struct wl_choices *choices, struct wl_err *e)
{
    const struct wl_gpu_dnn_limits limits = wl_gpu_conv_limits(t->p);
    int rc = wl_gpu_dnn_plans(t->gpu->dnn, &t->conv, &limits, CANDIDATES, t->plans, &t->n, t->arena, e);
    if (rc || t->n < 2) return rc;
    rc = measure(t, choices, e);
    return rc == WL_ENOMEM ? 0 : rc;
}

/* ---- all of them ---- */

struct open_passes {
    struct wl_gpu_conv *v;
    size_t n, cap;
};

static bool is_listed(const struct open_passes *list, const struct wl_gpu_dnn *d, const char *question,
                      struct wl_arena *a)
{
    for (size_t i = 0; i < list->n; i++)
        if (wl_str_eq(wl_gpu_conv_question(d, &list->v[i], a), question)) return true;
    return false;
}

/* A pass as it will be computed, if it is not known yet. */
static int list_pass(struct open_passes *list, struct wl_program *p, const struct wl_gpu_conv *c, struct wl_arena *a,
                     struct wl_err *e)
{
    const struct wl_gpu_dnn *d = wl_gpu_of(p)->dnn;
    const struct wl_gpu_conv_plan *plan;
    int rc = wl_gpu_conv_plan(p, c, &plan, e);
    if (rc || !plan || plan->choice) return rc;
    if (is_listed(list, d, plan->question, a)) return 0;
    WL_GROW(a, list->v, list->n, list->cap);
    list->v[list->n++] = plan->conv;
    return 0;
}

static int list_node(struct open_passes *list, struct wl_program *p, const struct wl_node *n, struct wl_arena *a,
                     struct wl_err *e)
{
    int rc = 0;
    for (int pass = WL_GPU_CONV_FORWARD; pass <= (p->train ? WL_GPU_CONV_WEIGHTS : WL_GPU_CONV_FORWARD) && !rc;
         pass++) {
        const struct wl_gpu_conv c = wl_gpu_conv_of(p, n, (enum wl_gpu_conv_pass)pass);
        if (pass != WL_GPU_CONV_DATA || n->in[0]->gradient) rc = list_pass(list, p, &c, a, e);
    }
    return rc;
}

static void progress(const struct wl_choices *c, size_t done, size_t total)
{
    if (c->progress) c->progress(c->context, done, total);
}

static int answer_all(struct wl_program *p, const struct open_passes *list, struct wl_choices *choices, struct trial *t,
                      struct wl_err *e)
{
    int rc = 0;
    for (size_t i = 0; i < list->n && !rc; i++) {
        t->conv = list->v[i];
        t->memory = NULL;
        t->arena = wl_arena_new(p->arena);
        rc = answer(t, choices, e);
        wl_arena_free(t->arena);
        progress(choices, i + 1, list->n);
    }
    return rc;
}

static int measure_all(struct wl_program *p, const struct open_passes *list, struct wl_choices *choices,
                       struct wl_err *e)
{
    struct trial t = { .p = p, .gpu = wl_gpu_of(p) };
    const struct wl_cuda *cuda = &t.gpu->cuda;
    WL_CUDA_CALL(cuda, EventCreate, &t.from, CU_EVENT_DEFAULT);
    WL_CUDA_CALL(cuda, EventCreate, &t.to, CU_EVENT_DEFAULT);
    int rc = answer_all(p, list, choices, &t, e);
    cuda->EventDestroy(t.from);
    cuda->EventDestroy(t.to);
    return rc;
}

static int tune(struct wl_program *p, struct wl_choices *choices, struct wl_arena *a, struct wl_err *e)
{
    struct open_passes list = { 0 };
    int rc = 0;
    for (size_t i = 0; i < p->graph->n_nodes && !rc; i++)
        if (p->graph->nodes[i]->op == WL_OP_CONV) rc = list_node(&list, p, p->graph->nodes[i], a, e);
    return rc || !list.n ? rc : measure_all(p, &list, choices, e);
}

static bool has_convolutions(const struct wl_graph *g)
{
    for (size_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i]->op == WL_OP_CONV) return true;
    return false;
}

int wl_gpu_conv_autotune(struct wl_program *p, struct wl_choices *choices, struct wl_err *e)
{
    if (!has_convolutions(p->graph)) return 0;
    int rc = wl_gpu_dnn_open(wl_gpu_of(p), e);
    if (rc) return rc;
    struct wl_gpu_dnn *d = wl_gpu_of(p)->dnn;
    struct wl_arena *once = wl_arena_new(p->arena);
    d->measures = true;
    rc = tune(p, choices, once, e);
    d->measures = false;
    d->planned = NULL; /* what lowering asks has answers now */
    wl_arena_free(once);
    return rc;
}

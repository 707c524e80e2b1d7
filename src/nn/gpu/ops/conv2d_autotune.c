/* Which of the engines that cuDNN recommends is the fastest for a pass: measured on the GPU, for the table of choices.
 */
#include "nn/gpu/ops/conv2d.h"
#include "nn/gpu/ops/timer.h"

enum { CANDIDATES = 6, TENSORS = 4 };

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
    struct wl_gpu_timer timer;
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

struct plan_run {
    const struct wl_gpu_dnn_plan *plan;
    cudnnBackendDescriptor_t pack;
};

static int run_plan(void *of, struct wl_err *e)
{
    const struct plan_run *r = of;
    return wl_gpu_dnn_run(r->plan, r->pack, e);
}

static int time_plan(struct trial *t, const struct wl_gpu_dnn_plan *plan, double *fastest, struct wl_err *e)
{
    struct wl_gpu_dnn_arg args[TENSORS];
    struct plan_run r = { .plan = plan };
    void *workspace = place(t, args);
    int rc = wl_gpu_dnn_pack(t->gpu->dnn, args, tensors_of(&t->conv), workspace, &r.pack, t->arena, e);
    return rc ? rc : wl_gpu_timer_fastest(&t->timer, run_plan, &r, fastest, e);
}

/* ---- one question ---- */

struct found {
    struct wl_gpu_fastest rank;
    double seconds[CANDIDATES];
};

static int compare(struct trial *t, struct found *f, struct wl_err *e)
{
    int rc = 0;
    for (size_t i = 0; i < t->n && !rc; i++) rc = time_plan(t, &t->plans[i], &f->seconds[i], e);
    if (!rc) f->rank = wl_gpu_rank(f->seconds, t->n);
    return rc;
}

static void add(const struct trial *t, const struct found *f, struct wl_choices *choices)
{
    const double samples = (double)t->conv.window.n;
    wl_choices_add(choices, &(struct wl_choice) {
                                .machine = choices->machine,
                                .question = wl_gpu_conv_question(t->gpu->dnn, &t->conv, t->arena),
                                .answer = t->plans[f->rank.best].engine,
                                .runner_up = t->plans[f->rank.second].engine,
                                .answer_s = f->seconds[f->rank.best] / samples,
                                .runner_up_s = f->seconds[f->rank.second] / samples,
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
    int rc = wl_gpu_timer_open(&t.timer, t.gpu, e);
    if (!rc) rc = answer_all(p, list, choices, &t, e);
    wl_gpu_timer_close(&t.timer);
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

/* Is a fused step faster than those that it replaces? Both are lowered for one node of each shape, in a program of its
 * own, and run on memory of its own. The engine is the first that cuDNN recommends: it compiles each for seconds. */
#include "nn/gpu/ops/fusion.h"

#include "nn/gpu/layout.h"
#include "nn/gpu/ops/conv2d.h"
#include "nn/gpu/ops/product_autotune.h"
#include "nn/gpu/ops/timer.h"

/* A pass, and the nodes whose steps it changes. */
struct fusion {
    struct wl_gpu_conv conv;
    const struct wl_node *nodes[2];
    int n_nodes;
    const char *question;
};

static bool is_fusion(const struct wl_program *p, const struct wl_node *n, struct fusion *f)
{
    *f = (struct fusion) { .nodes = { n }, .n_nodes = 1 };
    if (n->op == WL_OP_PROJECT) return wl_gpu_project_with_gelu(p, n, &f->conv);
    if (n->op != WL_OP_CONV || !wl_gpu_conv_with_sums(p, n, &f->conv)) return false;
    f->nodes[f->n_nodes++] = wl_only_reader(p->graph, n->out);
    return true;
}

/* ---- one of the two ways ---- */

struct way {
    struct wl_program program;
    void *memory;
    size_t bytes;
};

static struct wl_program empty_program(const struct wl_program *p, enum wl_fuse fuse, struct wl_arena *a)
{
    const size_t n = p->graph->n_tensors;
    return (struct wl_program) { .arena = a,
                                 .graph = p->graph,
                                 .backend = p->backend,
                                 .device = p->device,
                                 .align = p->align,
                                 .precision = p->precision,
                                 .tf32 = p->tf32,
                                 .conv = p->conv,
                                 .choices = p->choices,
                                 .fuse = fuse,
                                 .train = true,
                                 .passes = WL_TRAIN,
                                 .value = wl_new_array(a, struct wl_buf *, n),
                                 .gradient = wl_new_array(a, struct wl_buf *, n),
                                 .input = wl_new_array(a, struct wl_buf *, n),
                                 .output = wl_new_array(a, struct wl_buf *, n),
                                 .saved = wl_new_array(a, struct wl_saved, n) };
}

static int lower(struct way *w, const struct fusion *f, struct wl_err *e)
{
    struct wl_program *q = &w->program;
    const struct wl_node *first = f->nodes[0];
    const struct wl_tensor *x = first->in[0];
    int rc = 0;
    q->value[x->id] = first->op == WL_OP_CONV ? wl_gpu_nhwc_value(q, &x->dims) : wl_buf_value(q, &x->dims);
    for (int i = 0; i < f->n_nodes && !rc; i++) rc = wl_rules_of(q, f->nodes[i])->forward(q, f->nodes[i], e);
    return rc;
}

static int place(struct way *w, struct wl_err *e)
{
    const struct wl_program *q = &w->program;
    for (size_t i = 0; i < q->n_bufs; i++) {
        q->bufs[i]->offset = w->bytes;
        w->bytes += (q->bufs[i]->bytes + q->align - 1) / q->align * q->align;
    }
    int rc = q->backend->device->memory(q->device, w->bytes, "measuring a fused step", &w->memory, e);
    for (size_t i = 0; i < q->n_bufs && !rc; i++) q->bufs[i]->at = (char *)w->memory + q->bufs[i]->offset;
    for (size_t i = 0; i < q->n_steps && !rc; i++)
        if (q->steps[i]->bind) rc = q->steps[i]->bind(q->steps[i], e);
    return rc;
}

/* The sums of statistics are the same in both ways. */
static bool is_of_pass(const struct wl_step *s) { return !wl_str_eq(s->pass, "moments"); }

static int run_way(void *of, struct wl_err *e)
{
    const struct wl_program *q = &((struct way *)of)->program;
    const struct wl_run r = { .training = true, .first = true };
    int rc = 0;
    for (size_t i = 0; i < q->n_steps && !rc; i++)
        if (is_of_pass(q->steps[i])) rc = q->steps[i]->run(q->steps[i], &r, e);
    return rc;
}

static int time_way(struct way *w, const struct fusion *f, const struct wl_gpu_timer *t, double *seconds,
                    struct wl_err *e)
{
    const struct wl_program *q = &w->program;
    int rc = lower(w, f, e);
    if (!rc) rc = place(w, e);
    if (!rc) rc = wl_gpu_timer_fastest(t, run_way, w, seconds, e);
    if (w->memory) q->backend->device->release(q->device, w->memory, w->bytes);
    return rc;
}

/* ---- one question ---- */

enum { SEPARATE, FUSED, WAYS };

/* The plan of a fused step is kept, as lowering looks for it: it is compiled once. */
static void add(const struct wl_program *p, const struct wl_gpu_conv_plan *plan, const double seconds[WAYS],
                struct wl_choices *choices)
{
    const int best = seconds[FUSED] < wl_gpu_worth_it * seconds[SEPARATE] ? FUSED : SEPARATE;
    const char *const answers[WAYS] = { wl_gpu_conv_separate, plan->plan.engine };
    const double samples = (double)p->batch;
    struct wl_gpu_conv_plan kept = *plan;
    wl_choices_add(choices, &(struct wl_choice) {
                                .machine = choices->machine,
                                .question = plan->question,
                                .answer = answers[best],
                                .runner_up = answers[!best],
                                .answer_s = seconds[best] / samples,
                                .runner_up_s = seconds[!best] / samples,
                            });
    kept.choice = wl_choices_find(choices, plan->question);
    if (best == FUSED) wl_gpu_conv_keep(p, &kept);
}

static int compare(struct wl_program *p, const struct fusion *f, const struct wl_gpu_timer *t,
                   struct wl_choices *choices, struct wl_arena *a, struct wl_err *e)
{
    struct way ways[WAYS] = { { .program = empty_program(p, WL_FUSE_NEVER, a) },
                              { .program = empty_program(p, WL_FUSE_ALWAYS, a) } };
    const struct wl_gpu_conv_plan *plan;
    double seconds[WAYS] = { 0 };
    int rc = wl_gpu_conv_fused_plan(&ways[FUSED].program, &f->conv, &plan, e);
    if (rc || !plan) return rc;
    for (int i = 0; i < WAYS && !rc; i++) rc = time_way(&ways[i], f, t, &seconds[i], e);
    if (!rc) add(p, plan, seconds, choices);
    return rc;
}

/* Where there is no engine, or no memory to compare both ways, nothing is asked. */
static int answer(struct wl_program *p, const struct fusion *f, const struct wl_gpu_timer *t,
                  struct wl_choices *choices, struct wl_err *e)
{
    struct wl_gpu_dnn *d = wl_gpu_of(p)->dnn;
    struct wl_arena *once = wl_arena_new(p->arena);
    d->measures = true;
    int rc = compare(p, f, t, choices, once, e);
    d->measures = false;
    d->planned = NULL; /* plans of these programs */
    wl_gpu_forget_weights(wl_gpu_of(p));
    wl_arena_free(once);
    return rc == WL_ENOMEM ? 0 : rc;
}

/* ---- all of them ---- */

struct fusions {
    struct fusion *v;
    size_t n, cap;
};

static bool is_open(const struct fusions *list, const struct fusion *f, const struct wl_choices *choices)
{
    for (size_t i = 0; i < list->n; i++)
        if (wl_str_eq(list->v[i].question, f->question)) return false;
    return !wl_choices_find(choices, f->question);
}

static void find(const struct wl_program *p, const struct wl_choices *choices, struct fusions *list, struct wl_arena *a)
{
    for (size_t i = 0; i < p->graph->n_nodes; i++) {
        struct fusion f;
        if (!is_fusion(p, p->graph->nodes[i], &f)) continue;
        f.question = wl_gpu_conv_question(wl_gpu_of(p)->dnn, &f.conv, a);
        if (!is_open(list, &f, choices)) continue;
        WL_GROW(a, list->v, list->n, list->cap);
        list->v[list->n++] = f;
    }
}

static int answer_all(struct wl_program *p, const struct fusions *list, struct wl_choices *choices, struct wl_err *e)
{
    struct wl_gpu_timer t = { 0 };
    int rc = wl_gpu_timer_open(&t, wl_gpu_of(p), e);
    for (size_t i = 0; i < list->n && !rc; i++) {
        rc = answer(p, &list->v[i], &t, choices, e);
        if (choices->progress) choices->progress(choices->context, i + 1, list->n);
    }
    wl_gpu_timer_close(&t);
    return rc;
}

static bool has_fusions(const struct wl_program *p)
{
    struct fusion f;
    for (size_t i = 0; i < p->graph->n_nodes; i++)
        if (is_fusion(p, p->graph->nodes[i], &f)) return true;
    return false;
}

/* Without cuDNN there are no fused steps; convolutions have said so before. */
static int tune_fusions(struct wl_program *p, struct wl_choices *choices, struct wl_err *e)
{
    if (p->fuse != WL_FUSE_MEASURED || !has_fusions(p) || wl_gpu_dnn_open(wl_gpu_of(p), NULL)) return 0;
    struct wl_arena *once = wl_arena_new(p->arena);
    struct fusions list = { 0 };
    find(p, choices, &list, once);
    int rc = list.n ? answer_all(p, &list, choices, e) : 0;
    wl_arena_free(once);
    return rc;
}

/* Fused steps come last: those that they replace are timed with the answers that they got. */
int wl_gpu_autotune(struct wl_program *p, struct wl_choices *choices, struct wl_err *e)
{
    int rc = wl_gpu_conv_autotune(p, choices, e);
    if (!rc) rc = wl_gpu_product_autotune(p, choices, e);
    return rc ? rc : tune_fusions(p, choices, e);
}

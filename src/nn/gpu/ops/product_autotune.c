/* Which of the algorithms that cublasLt's heuristic gives is the fastest for a product: measured on the GPU, for the
 * table of choices. The products of a network are found by lowering it once for nothing but that. */
#include "nn/gpu/ops/product_autotune.h"

#include "nn/gpu/blas/blas.h"
#include "nn/gpu/dnn/dnn.h"
#include "nn/gpu/ops/timer.h"

enum { OPERANDS = 5 }; /* a, b, bias, c, the largest workspace: one after the other */

struct trial {
    struct wl_program *p;
    const struct wl_gpu_open_product *product;
    struct wl_gpu_product_trial ways;
    struct wl_gpu_product_at at;
    size_t way; /* that runs */
    struct wl_gpu_timer timer;
};

/* ---- memory ---- */

static size_t workspace_bytes(const struct wl_gpu_product_trial *t)
{
    size_t most = 0;
    for (size_t i = 0; i < t->n; i++)
        if (t->way[i].workspace_bytes > most) most = t->way[i].workspace_bytes;
    return most;
}

static size_t rounded(size_t n)
{
    const size_t align = 256;
    return (n + align - 1) / align * align;
}

/* The operands' addresses, the first being `at`; gives the bytes of all. */
static size_t place(struct trial *t, char *at)
{
    const struct wl_gpu_product *of = &t->product->of;
    void **const to[OPERANDS] = { &t->at.a, &t->at.b, &t->at.bias, &t->at.c, &t->at.workspace };
    const size_t bytes[OPERANDS] = { wl_gpu_matrix_bytes(&of->a, of->batch), wl_gpu_matrix_bytes(&of->b, of->batch),
                                     of->bias ? of->bias->bytes : 0, wl_gpu_matrix_bytes(&of->c, of->batch),
                                     workspace_bytes(&t->ways) };
    size_t sum = 0;
    for (int i = 0; i < OPERANDS; i++) {
        if (at) *to[i] = at + sum;
        sum += rounded(bytes[i]);
    }
    return sum;
}

/* ---- one question ---- */

static int run(void *of, struct wl_err *e)
{
    const struct trial *t = of;
    return wl_gpu_product_trial_run(&t->ways, t->way, &t->at, e);
}

static void add(const struct trial *t, const double *seconds, struct wl_choices *choices)
{
    const struct wl_gpu_fastest f = wl_gpu_rank(seconds, t->ways.n);
    const double samples = (double)t->p->batch;
    wl_choices_add(choices, &(struct wl_choice) {
                                .machine = choices->machine,
                                .question = t->product->question,
                                .answer = t->ways.way[f.best].name,
                                .runner_up = t->ways.way[f.second].name,
                                .answer_s = seconds[f.best] / samples,
                                .runner_up_s = seconds[f.second] / samples,
                            });
}

/* Where there is no memory to compare two, nothing is asked. */
static int measure(struct trial *t, struct wl_choices *choices, struct wl_err *e)
{
    const struct wl_device_ops *ops = t->p->backend->device;
    const size_t bytes = place(t, NULL);
    double seconds[WL_GPU_PRODUCT_WAYS];
    void *at;
    int rc = ops->memory(t->p->device, bytes, "measuring a product", &at, e);
    if (rc) return rc == WL_ENOMEM ? 0 : rc;
    place(t, at);
    for (t->way = 0; t->way < t->ways.n && !rc; t->way++)
        rc = wl_gpu_timer_fastest(&t->timer, run, t, &seconds[t->way], e);
    ops->release(t->p->device, at, bytes);
    if (!rc) add(t, seconds, choices);
    return rc;
}

static int answer(struct trial *t, struct wl_choices *choices, struct wl_err *e)
{
    struct wl_arena *once = wl_arena_new(t->p->arena);
    int rc = wl_gpu_product_trial_open(wl_gpu_of(t->p), &t->product->of, &t->ways, once, e);
    if (!rc) rc = measure(t, choices, e);
    wl_arena_free(once);
    return rc;
}

/* ---- all of them ---- */

static size_t count(const struct wl_gpu_open_product *list)
{
    size_t n = 0;
    for (; list; list = list->next) n++;
    return n;
}

static int answer_all(struct wl_program *p, const struct wl_gpu_open_product *list, struct wl_choices *choices,
                      struct wl_err *e)
{
    const size_t n = count(list);
    struct trial t = { .p = p };
    int rc = wl_gpu_timer_open(&t.timer, wl_gpu_of(p), e);
    for (size_t done = 0; list && !rc; list = list->next) {
        t.product = list;
        rc = answer(&t, choices, e);
        if (choices->progress) choices->progress(choices->context, ++done, n);
    }
    wl_gpu_timer_close(&t.timer);
    return rc;
}

static bool has_products(const struct wl_graph *g)
{
    static const enum wl_op ops[] = { WL_OP_LINEAR, WL_OP_PROJECT, WL_OP_DECODER, WL_OP_COMPLEX_LINEAR };
    for (size_t i = 0; i < g->n_nodes; i++)
        for (size_t k = 0; k < WL_COUNT(ops); k++)
            if (g->nodes[i]->op == ops[k]) return true;
    return false;
}

/* cuDNN's plans of that lowering stay for the next, unless there are new answers: those they name have moved. */
int wl_gpu_product_autotune(struct wl_program *p, struct wl_choices *choices, struct wl_err *e)
{
    struct wl_gpu *g = wl_gpu_of(p);
    struct wl_gpu_open_product *list = NULL;
    struct wl_program only_to_list = *p;
    if (!has_products(p->graph)) return 0;
    g->open_products = &list;
    int rc = wl_lower(&only_to_list, e);
    g->open_products = NULL;
    wl_gpu_forget_weights(g);
    if (rc || !list) return rc;
    rc = answer_all(p, list, choices, e);
    if (g->dnn) g->dnn->planned = NULL;
    return rc;
}

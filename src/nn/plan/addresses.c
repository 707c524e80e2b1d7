/* Addresses. Classes stand one behind the other in one mapping; gradients may come from the communicator instead,
 * which then reduces them where they are. */
#include "nn/plan/plan.h"

#include <stdlib.h>

/* ---- parameters in the order of their gradients ---- */

static int by_ready_then_id(const void *x, const void *y)
{
    const struct wl_plan_param *a = x, *b = y;
    if (a->ready != b->ready) return a->ready < b->ready ? -1 : 1;
    return a->tensor->id - b->tensor->id;
}

static void order_params(struct wl_plan *p)
{
    const struct wl_graph *g = p->program.graph;
    p->params = wl_new_array(p->arena, struct wl_plan_param, g->n_tensors);
    p->n_params = 0;
    for (size_t i = 0; i < g->n_tensors; i++) {
        const struct wl_tensor *t = g->tensors[i];
        if (t->role != WL_ROLE_PARAM) continue;
        struct wl_buf *gradient = p->program.gradient[i];
        /* A parameter that no loss reaches keeps its zeros: ready from the start. */
        p->params[p->n_params++] = (struct wl_plan_param) {
            .tensor = t, .value = p->program.value[i], .gradient = gradient, .ready = gradient ? gradient->last : -1
        };
    }
    if (p->n_params) qsort(p->params, p->n_params, sizeof *p->params, by_ready_then_id);
    size_t at = 0;
    for (size_t i = 0; i < p->n_params; i++) {
        struct wl_plan_param *q = &p->params[i];
        q->value->offset = at;
        if (q->gradient) q->gradient->offset = at;
        at += wl_memory_padded(q->value);
    }
    p->param_floats = at / sizeof(float);
}

/* Cuts the gradient memory every `bytes`, across parameters' borders: one layer's gradient may be hundreds of MiB (the
 * first matrix of VGG16: 411 MB), and what is reduced at once should stay in the cache. A bucket is final with its last
 * parameter. */
static void make_buckets(struct wl_plan *p, size_t bytes)
{
    size_t piece = (bytes + WL_ALIGN - 1) / WL_ALIGN * WL_ALIGN / sizeof(float),
           last = 0; /* the parameter that holds the bucket's last element */
    p->n_buckets = (p->param_floats + piece - 1) / piece;
    p->buckets = wl_new_array(p->arena, struct wl_bucket, p->n_buckets);
    for (size_t i = 0; i < p->n_buckets; i++) {
        size_t from = i * piece, end = from + piece < p->param_floats ? from + piece : p->param_floats;
        while (last + 1 < p->n_params && p->params[last + 1].value->offset / sizeof(float) < end) last++;
        p->buckets[i] = (struct wl_bucket) { .from = from, .n = end - from, .ready = p->params[last].ready };
    }
}

/* ---- classes ---- */

static size_t place_in_order(struct wl_plan *p, enum wl_class class)
{
    size_t at = 0;
    for (size_t i = 0; i < p->program.n_bufs; i++) {
        struct wl_buf *b = p->program.bufs[i];
        if (b->class != class) continue;
        b->offset = at;
        at += wl_memory_padded(b);
    }
    return at;
}

static float *alloc_gradients(struct wl_plan *p, size_t bytes, struct wl_err *e)
{
    if (p->comm && p->comm->ops->alloc_shared) return p->comm->ops->alloc_shared(p->comm, bytes, e);
    return wl_memory_map(p->arena, bytes, "gradients", e);
}

static void set_addresses(struct wl_plan *p, char *const base[WL_MEM_CLASSES])
{
    for (size_t i = 0; i < p->program.n_bufs; i++) {
        struct wl_buf *b = p->program.bufs[i];
        b->at = base[b->class] + b->offset;
    }
}

void wl_plan_assign_memory(struct wl_plan *p, size_t bucket_bytes)
{
    struct wl_plan_info *f = &p->info;
    order_params(p);
    f->param_bytes = p->param_floats * sizeof(float);
    if (p->program.train) {
        make_buckets(p, bucket_bytes);
        f->optim_bytes = (size_t)p->optim_ops->slots * f->param_bytes;
        f->gradient_bytes = f->param_bytes;
    }
    f->input_bytes = place_in_order(p, WL_MEM_INPUT);
    f->output_bytes = place_in_order(p, WL_MEM_OUTPUT);
    size_t statistics = place_in_order(p, WL_MEM_STATISTIC), moments = place_in_order(p, WL_MEM_STATISTIC_SUM);
    p->statistic_floats = statistics / sizeof(float);
    f->statistic_bytes = statistics + moments;
    const struct wl_memory_bytes values = wl_memory_assign_values(&p->program);
    f->value_bytes = values.total;
    f->live_bytes = values.live;
    f->unshared_bytes = values.unshared;
    f->total_bytes = f->param_bytes + f->gradient_bytes + f->optim_bytes + f->input_bytes + f->output_bytes +
                     f->statistic_bytes + f->value_bytes;
}

static int bind_steps(struct wl_plan *p, struct wl_err *e)
{
    for (size_t i = 0; i < p->program.n_steps; i++) {
        struct wl_step *s = p->program.steps[i];
        int rc = s->bind ? s->bind(s, e) : 0;
        if (rc) return wl_err_prefix(e, "%s (%s)", s->node->name, s->what);
    }
    return 0;
}

int wl_plan_bind(struct wl_plan *p, struct wl_err *e)
{
    const struct wl_plan_info *f = &p->info;
    char *at = p->memory = wl_memory_map(p->arena, f->total_bytes - f->gradient_bytes, "the plan", e);
    if (!at)
        return wl_fail(e, WL_ENOMEM,
                       "no memory: the plan needs %s, %s of them for activations, which shrink with the local batch",
                       wl_human_bytes(p->arena, (double)f->total_bytes),
                       wl_human_bytes(p->arena, (double)f->value_bytes));
    if (f->gradient_bytes && !(p->gradient = alloc_gradients(p, f->gradient_bytes, e))) return e ? e->code : WL_ENOMEM;
    size_t statistics = p->statistic_floats * sizeof(float);
    char *base[WL_MEM_CLASSES] = { [WL_MEM_GRADIENT] = (char *)p->gradient };
    base[WL_MEM_VALUE] = at; /* first: it starts on a huge page */
    base[WL_MEM_PARAM] = base[WL_MEM_VALUE] + f->value_bytes;
    base[WL_MEM_STATISTIC] = base[WL_MEM_PARAM] + f->param_bytes + f->optim_bytes;
    base[WL_MEM_STATISTIC_SUM] = base[WL_MEM_STATISTIC] + statistics;
    base[WL_MEM_INPUT] = base[WL_MEM_STATISTIC] + f->statistic_bytes;
    base[WL_MEM_OUTPUT] = base[WL_MEM_INPUT] + f->input_bytes;
    p->param = (float *)base[WL_MEM_PARAM];
    for (size_t i = 0; i * f->param_bytes < f->optim_bytes; i++) p->slot[i] = p->param + (i + 1) * p->param_floats;
    p->statistic = (float *)base[WL_MEM_STATISTIC];
    p->moment = (float *)base[WL_MEM_STATISTIC_SUM];
    set_addresses(p, base);
    return bind_steps(p, e);
}

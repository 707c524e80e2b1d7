/* Addresses in the device's memory. Classes follow each other in one piece of it; gradients are another one, which may
 * be the communicator's. Inputs and outputs are of the host, and where the device cannot use them there, in the first
 * piece too. */
#include "nn/plan/internal.h"

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
        at += wl_memory_padded(&p->program, q->value);
    }
    p->param_floats = at / sizeof(float);
}

/* Cuts the gradient memory every `bytes`, across parameters' borders: one layer's gradient may be hundreds of MiB (the
 * first matrix of VGG16: 411 MB), and what is reduced at once should stay in the cache. A bucket is final with its last
 * parameter. */
static void make_buckets(struct wl_plan *p, size_t bytes)
{
    const size_t align = p->program.align;
    size_t piece = (bytes + align - 1) / align * align / sizeof(float),
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
        at += wl_memory_padded(&p->program, b);
    }
    return at;
}

static void set_addresses(struct wl_plan *p, char *const base[WL_MEM_CLASSES])
{
    for (size_t i = 0; i < p->program.n_bufs; i++) {
        struct wl_buf *b = p->program.bufs[i];
        b->at = base[b->class] + b->offset;
    }
}

/* Of inputs: on the host, and in the device's memory. */
static size_t slots(const struct wl_plan *p) { return p->ops->host_addressable ? 1 : 2; }

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
    f->input_bytes = place_in_order(p, WL_MEM_INPUT) * slots(p);
    f->output_bytes = place_in_order(p, WL_MEM_OUTPUT);
    size_t statistics = place_in_order(p, WL_MEM_STATISTIC), sums = place_in_order(p, WL_MEM_STATISTIC_SUM);
    p->statistic_floats = statistics / sizeof(float);
    f->statistic_bytes = statistics + sums;
    f->copy_bytes = place_in_order(p, WL_MEM_COPY);
    const struct wl_memory_bytes values = wl_memory_assign_values(&p->program);
    f->value_bytes = values.total;
    f->live_bytes = values.live;
    f->unshared_bytes = values.unshared;
    f->total_bytes = f->param_bytes + f->gradient_bytes + f->optim_bytes + f->input_bytes + f->output_bytes +
                     f->statistic_bytes + f->copy_bytes + f->value_bytes;
}

static int bind_steps(struct wl_plan *p, struct wl_err *e)
{
    for (size_t i = 0; i < p->program.n_steps; i++) {
        struct wl_step *s = p->program.steps[i];
        int rc = s->bind ? s->bind(s, e) : 0;
        if (rc) return wl_err_prefix(e, "%s (%s)", s->node->name, s->pass);
    }
    return 0;
}

/* ---- memory ---- */

struct piece {
    struct wl_plan *plan;
    void *at;
    size_t bytes;
};

static void release(void *what)
{
    struct piece *m = what;
    m->plan->ops->release(m->plan->program.device, m->at, m->bytes);
}

static void release_with_plan(struct wl_plan *p, void *at, size_t bytes)
{
    struct piece *m = wl_new(p->arena, struct piece);
    *m = (struct piece) { p, at, bytes };
    wl_defer(p->arena, release, m);
}

int wl_plan_memory(struct wl_plan *p, size_t bytes, const char *what, void **at, struct wl_err *e)
{
    int rc = p->ops->memory(p->program.device, bytes, what, at, e);
    if (!rc) release_with_plan(p, *at, bytes);
    return rc;
}

int wl_plan_host_memory(struct wl_plan *p, size_t bytes, const char *what, void **at, struct wl_err *e)
{
    int rc = p->ops->host_memory(p->program.device, bytes, what, at, e);
    if (!rc) release_with_plan(p, *at, bytes);
    return rc;
}

/* Where the device's memory is the host's, the communicator's: it then reduces gradients where they are. */
static int take_gradients(struct wl_plan *p, struct wl_err *e)
{
    const size_t bytes = p->info.gradient_bytes;
    if (!bytes) return 0;
    if (!p->ops->host_addressable || !p->comm || !p->comm->ops->alloc_shared)
        return wl_plan_memory(p, bytes, "gradients", (void **)&p->gradient, e);
    p->gradient = p->comm->ops->alloc_shared(p->comm, bytes, e);
    return p->gradient ? 0 : e ? e->code : WL_ENOMEM;
}

/* With what the plan has taken so far. */
static void note_room(const struct wl_plan *p)
{
    if (!p->room || !p->ops->available) return;
    *p->room = p->ops->available(p->program.device);
    if (*p->room && p->memory) *p->room += p->memory_bytes;
}

static int take_memory(struct wl_plan *p, struct wl_err *e)
{
    const struct wl_plan_info *f = &p->info;
    const size_t staged = f->input_bytes + f->output_bytes;
    p->memory_bytes = f->total_bytes - f->gradient_bytes + sizeof(struct wl_counts);
    if (p->ops->host_addressable) p->memory_bytes -= staged;
    int rc = wl_plan_memory(p, p->memory_bytes, "the plan", &p->memory, e);
    if (!rc) rc = wl_plan_host_memory(p, staged, "inputs", (void **)&p->input_slots, e);
    if (!rc) rc = take_gradients(p, e);
    if (rc != WL_ENOMEM || !e) return rc;
    note_room(p);
    const char *why = wl_strdup(p->arena, e->msg);
    return wl_fail(
        e, WL_ENOMEM,
        "no memory: the plan needs %s, %s of them for activations, which shrink with the local batch, and with "
        "--memory by recomputation (%s)",
        wl_human_bytes(p->arena, (double)f->total_bytes), wl_human_bytes(p->arena, (double)f->value_bytes), why);
}

/* Cuts the memory by class: values first, which then start on a huge page; the counts last. */
static void cut_memory(struct wl_plan *p, char *base[WL_MEM_CLASSES])
{
    const struct wl_plan_info *f = &p->info;
    struct wl_device_io *io = &p->io;
    char *at = p->memory;
    base[WL_MEM_GRADIENT] = (char *)p->gradient;
    base[WL_MEM_VALUE] = at;
    base[WL_MEM_PARAM] = at += f->value_bytes;
    base[WL_MEM_STATISTIC] = at += f->param_bytes + f->optim_bytes;
    base[WL_MEM_STATISTIC_SUM] = at + p->statistic_floats * sizeof(float);
    base[WL_MEM_COPY] = at += f->statistic_bytes;
    at += f->copy_bytes;
    io->input = (struct wl_staging) { .at = p->input_slots, .bytes = f->input_bytes / slots(p) };
    io->output = (struct wl_staging) { .host = p->input_slots + f->input_bytes, .bytes = f->output_bytes };
    io->output.at = io->output.host;
    if (!p->ops->host_addressable) {
        io->input.at = at;
        io->landing = at + io->input.bytes;
        io->output.at = at += f->input_bytes;
        at += f->output_bytes;
    }
    base[WL_MEM_INPUT] = io->input.at;
    base[WL_MEM_OUTPUT] = io->output.at;
    io->counts = (struct wl_counts *)(void *)at;
}

static float decay_of(const struct wl_plan *p, const struct wl_tensor *t)
{
    return p->optim.decay_weights_only && !t->is_weight ? 0 : (float)p->optim.weight_decay;
}

static struct wl_optim_span span(const struct wl_plan *p, size_t from, size_t to, float decay)
{
    struct wl_optim_span s = { .w = p->param + from, .g = p->gradient + from, .n = to - from, .decay = decay };
    for (int k = 0; k < p->optim_ops->slots; k++) s.slot[k] = p->slot[k] + from;
    return s;
}

/* With the padding of their last parameter, which stays 0. */
static void make_spans(struct wl_plan *p)
{
    p->spans = wl_new_array(p->arena, struct wl_optim_span, p->n_params);
    for (size_t i = 0, end; i < p->n_params; i = end) {
        const float decay = decay_of(p, p->params[i].tensor);
        for (end = i + 1; end < p->n_params && decay_of(p, p->params[end].tensor) == decay;) end++;
        const size_t from = p->params[i].value->offset / sizeof(float);
        const size_t to = end < p->n_params ? p->params[end].value->offset / sizeof(float) : p->param_floats;
        p->spans[p->n_spans++] = span(p, from, to, decay);
    }
}

void wl_plan_use_slot(struct wl_plan *p, int slot)
{
    const struct wl_graph *g = p->program.graph;
    p->io.slot = slot;
    p->io.input.host = p->input_slots + (size_t)slot * p->io.input.bytes;
    p->uploaded = 0;
    for (size_t i = 0; i < g->n_tensors; i++)
        if (p->program.input[i]) p->input_at[i] = (char *)p->io.input.host + p->program.input[i]->offset;
}

int wl_plan_bind(struct wl_plan *p, struct wl_err *e)
{
    char *base[WL_MEM_CLASSES];
    int rc = take_memory(p, e);
    if (rc) return rc;
    cut_memory(p, base);
    p->param = (float *)base[WL_MEM_PARAM];
    for (size_t i = 0; i * p->info.param_bytes < p->info.optim_bytes; i++)
        p->slot[i] = p->param + (i + 1) * p->param_floats;
    p->statistic = (float *)base[WL_MEM_STATISTIC];
    p->statistic_sum = (float *)base[WL_MEM_STATISTIC_SUM];
    set_addresses(p, base);
    if (p->program.train) make_spans(p);
    p->input_at = wl_new_array(p->arena, const void *, p->program.graph->n_tensors);
    wl_plan_use_slot(p, 0);
    p->run_slot = p->input_slots;
    return bind_steps(p, e);
}

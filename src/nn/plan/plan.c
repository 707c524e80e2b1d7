#include "nn/plan/plan.h"

#include "nn/plan/internal.h"

#include <math.h>

static int check_opts(const struct wl_plan_opts *o, struct wl_err *e)
{
    if (o->threads < 0) return wl_fail(e, WL_EINVAL, "threads is %d, expected at least 0", o->threads);
    if (o->micro_batches < 0)
        return wl_fail(e, WL_EINVAL, "micro-batches is %d, expected at least 0", o->micro_batches);
    if (o->conv == WL_CONV_AUTO && !o->choices)
        return wl_fail(e, WL_EINVAL, "convolutions are chosen by measurement, but there is no table of choices");
    return 0;
}

static int check_recompute(const struct wl_plan_opts *o, struct wl_err *e)
{
    if (!o->recompute && !o->memory_bytes) return 0;
    if (o->eval_only)
        return wl_fail(e, WL_EINVAL, "recomputation needs a backward pass, which this plan does not have");
    if (o->keep_values) return wl_fail(e, WL_EINVAL, "keep_values and recomputation exclude each other");
    return 0;
}

static int check_loss(const struct wl_graph *g, struct wl_err *e)
{
    for (size_t i = 0; i < g->n_nodes; i++)
        if (wl_op_is_loss(g->nodes[i]->op)) return 0;
    return wl_fail(e, WL_EINVAL, "the graph has no loss: it can only be evaluated");
}

/* Rank 0 answers what is open, for all. */
static int choose(struct wl_plan *p, struct wl_choices *choices, struct wl_err *e)
{
    const struct wl_backend *b = p->program.backend;
    if (p->program.conv != WL_CONV_AUTO || !b->choose) return 0;
    int rc = 0;
    if (!p->comm || p->comm->rank == 0) {
        choices->machine = p->ops->machine(p->program.device, b->library(p->arena), choices->arena);
        rc = b->choose(&p->program, choices, e);
    }
    if (p->comm) rc = wl_comm_agree(p->comm, rc, e);
    if (p->comm && !rc) rc = wl_choices_broadcast(choices, p->comm, e);
    return rc;
}

static int64_t batch_of(const struct wl_graph *g)
{
    for (size_t i = 0; i < g->n_tensors; i++)
        if (g->tensors[i]->role == WL_ROLE_INPUT) return g->tensors[i]->dims.d[0];
    return 1;
}

static bool reads(const struct wl_step *s, const struct wl_buf *b)
{
    for (int i = 0; i < s->n_uses; i++)
        if (s->uses[i].buf == b && !s->uses[i].write) return true;
    return false;
}

static void count_in_place_writes(struct wl_plan *p)
{
    for (size_t i = 0; i < p->program.n_steps; i++) {
        const struct wl_step *s = p->program.steps[i];
        for (int k = 0; k < s->n_uses; k++) {
            const struct wl_buf *b = s->uses[k].buf;
            if (!s->uses[k].write || b->class != WL_MEM_VALUE || !reads(s, b)) continue;
            p->info.in_place++;
            p->info.in_place_bytes += b->bytes;
        }
    }
}

static void fill_info(struct wl_plan *p)
{
    const struct wl_graph *g = p->program.graph;
    struct wl_plan_info *f = &p->info;
    f->backend = p->program.backend->row.name;
    f->library = p->program.backend->library(p->arena);
    f->precision = p->program.precision;
    f->precision_name = p->program.tf32 ? "tf32" : wl_dtype_name(f->precision);
    f->threads = p->threads;
    f->operations = (int)g->n_nodes;
    f->steps = (int)p->program.n_steps;
    f->reorders = p->program.reorders;
    f->buckets = (int)p->n_buckets;
    count_in_place_writes(p);
    wl_plan_estimate_peaks(p);
    for (size_t i = 0; i < g->n_tensors; i++)
        if (g->tensors[i]->role == WL_ROLE_PARAM) f->parameters += wl_dims_count(&g->tensors[i]->dims);
    f->segments = (int)p->recomputed.n;
    for (size_t i = 0; i < p->recomputed.n; i++)
        f->recompute_flops += p->recomputed.segments[i].flops / (double)f->batch;
    for (size_t i = 0; i < g->n_nodes; i++) {
        const double forward = wl_node_flops(g, g->nodes[i]), backward = wl_node_backward_flops(g, g->nodes[i]);
        f->forward_flops += forward / (double)f->batch;
        f->train_flops += (forward + backward) / (double)f->batch;
    }
}

/* Lays the memory out; where it may not take that much, of a program that recomputes values. */
static int place(struct wl_plan *p, const struct wl_plan_opts *o, struct wl_err *e)
{
    const size_t bucket_bytes = o->bucket_bytes ? o->bucket_bytes : p->ops->bucket_bytes;
    struct wl_plan_info *f = &p->info;
    wl_plan_assign_memory(p, bucket_bytes);
    f->keeping_bytes = f->total_bytes;
    if (o->recompute || (o->memory_bytes && f->total_bytes > o->memory_bytes)) {
        const size_t others = f->total_bytes - f->value_bytes;
        const size_t limit = o->memory_bytes > others ? o->memory_bytes - others : 0;
        wl_recompute(&p->program, o->recompute ? 0 : limit, &p->recomputed);
        wl_plan_assign_memory(p, bucket_bytes);
    }
    if (!o->memory_bytes || f->total_bytes <= o->memory_bytes) return 0;
    return wl_fail(e, WL_ENOMEM,
                   "the plan may take %s at most: it takes %s, or %s with recomputation in the backward pass; a "
                   "smaller local batch "
                   "takes less",
                   wl_human_bytes(p->arena, (double)o->memory_bytes),
                   wl_human_bytes(p->arena, (double)f->keeping_bytes),
                   wl_human_bytes(p->arena, (double)f->total_bytes));
}

/* Memory and first values. */
static int start(struct wl_plan *p, struct wl_err *e)
{
    int rc = wl_plan_bind(p, e);
    if (!rc) rc = wl_plan_init_states(p, e);
    if (!rc && p->comm) rc = wl_plan_init_ranks(p, e);
    if (!rc && p->comm) rc = wl_plan_check_same_start(p, e);
    return rc;
}

static int check_tf32(const struct wl_plan_opts *o, struct wl_err *e)
{
    if (o->precision == WL_F32) return wl_backend_tf32(o->backend, e);
    return wl_fail(e, WL_EINVAL, "tf32 with values in %s, expected f32", wl_dtype_name(o->precision));
}

int wl_plan_new(struct wl_plan **out, const struct wl_graph *g, const struct wl_plan_opts *opts, struct wl_comm *comm,
                struct wl_arena *a, struct wl_err *e)
{
    const struct wl_backend *backend = NULL;
    int rc = wl_graph_check(g, e);
    if (!rc) rc = check_opts(opts, e);
    if (!rc) rc = check_recompute(opts, e);
    if (!rc && !opts->eval_only) rc = check_loss(g, e);
    if (!rc) rc = wl_backend_find(opts->backend, &backend, e);
    if (!rc) rc = wl_backend_precision(opts->backend, opts->precision, opts->slow_bf16, e);
    if (!rc && opts->tf32) rc = check_tf32(opts, e);
    if (rc) return rc;
    struct wl_plan *p = wl_new(a, struct wl_plan);
    p->arena = a;
    p->comm = comm && comm->size > 1 ? comm : NULL;
    p->optim = opts->optim;
    p->loss_scale = WL_LOSS_SCALE_START;
    p->gradient_scale = 1;
    p->seed = opts->seed;
    p->ops = backend->device;
    p->micro_batches = opts->micro_batches ? opts->micro_batches : 1;
    p->info.batch = opts->batch ? opts->batch : batch_of(g);
    rc = wl_optim_init(&p->optim, &p->optim_ops, e);
    if (rc) return rc;
    p->program = (struct wl_program) {
        .arena = a,
        .graph = g,
        .backend = backend,
        .align = backend->device->align,
        .seed = opts->seed,
        .batch = p->info.batch,
        .precision = opts->precision,
        .tf32 = opts->tf32,
        .conv = opts->conv,
        .fuse = opts->fuse,
        .choices = opts->choices,
        .train = !opts->eval_only,
        .keep_values = opts->keep_values,
        .accumulate = p->micro_batches > 1,
        .node_rank = comm ? comm->node_rank : 0,
    };
    rc = backend->open(&p->program, opts->threads, e);
    if (rc) return rc;
    p->threads = p->ops->threads(p->program.device);
    rc = choose(p, opts->choices, e);
    if (!rc) rc = wl_lower(&p->program, e);
    if (rc) return rc;
    rc = place(p, opts, e);
    p->dry = opts->dry;
    p->room = opts->room;
    if (!rc && !p->dry) rc = start(p, e);
    if (rc) return rc;
    fill_info(p);
    *out = p;
    return 0;
}

static void *staged(const struct wl_staging *s, const struct wl_buf *b)
{
    return s->host ? (char *)s->host + b->offset : NULL;
}

void *wl_plan_input(struct wl_plan *p, const struct wl_tensor *input)
{
    WL_CHECK(input->role == WL_ROLE_INPUT);
    return staged(&p->io.input, p->program.input[input->id]);
}

const void *wl_plan_run_input(const struct wl_plan *p, const struct wl_tensor *input)
{
    WL_CHECK(input->role == WL_ROLE_INPUT);
    return p->run_slot + p->program.input[input->id]->offset;
}

size_t wl_plan_input_bytes(const struct wl_plan *p, const struct wl_tensor *input)
{
    WL_CHECK(input->role == WL_ROLE_INPUT);
    return p->program.input[input->id]->bytes;
}

const float *wl_plan_output(const struct wl_plan *p, const struct wl_tensor *output)
{
    WL_CHECK(output->output);
    return staged(&p->io.output, p->program.output[output->id]);
}

struct wl_plan_info wl_plan_info(const struct wl_plan *p) { return p->info; }

size_t wl_plan_huge_bytes(const struct wl_plan *p)
{
    const struct wl_plan_info *f = &p->info;
    void *device = p->program.device;
    if (!p->memory) return 0;
    size_t n = p->ops->huge_bytes(device, p->memory, p->memory_bytes);
    if (p->gradient) n += p->ops->huge_bytes(device, p->gradient, f->gradient_bytes);
    return n + p->ops->huge_bytes(device, p->input_slots, f->input_bytes + f->output_bytes);
}

struct wl_plan_times wl_plan_times(const struct wl_plan *p) { return p->times; }

double wl_plan_compute_s(const struct wl_plan *p) { return p->sums.sums ? NAN : p->times.train_s - p->times.reduce_s; }

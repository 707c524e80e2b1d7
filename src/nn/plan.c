#include "nn/plan.h"

#include "nn/threads.h"

#include <string.h>

static int pick_backend(const char *name, const struct wl_backend **out, struct wl_err *e)
{
    const char *names[8];
    size_t n = 0;
    for (const struct wl_backend *const *b = wl_backends; *b; b++) {
        if (n < WL_COUNT(names)) names[n++] = (*b)->row.name;
        if (name ? !wl_streq(name, (*b)->row.name) : (*b)->row.unavailable != NULL) continue;
        if ((*b)->row.unavailable)
            return wl_fail(e, WL_EUNAVAIL, "back-end %s: %s", (*b)->row.name, (*b)->row.unavailable);
        *out = *b;
        return 0;
    }
    const char *near = wl_closest(name ? name : "", names, n);
    return wl_fail(e, WL_EINVAL, "back-end '%s' is not known%s%s%s", name ? name : "", near ? "; did you mean '" : "",
                   near ? near : "", near ? "'?" : "");
}

static int check_opts(const struct wl_plan_opts *o, struct wl_err *e)
{
    if (o->threads < 0) return wl_fail(e, WL_EINVAL, "threads is %d, expected at least 0", o->threads);
    if (o->micro_batches < 0)
        return wl_fail(e, WL_EINVAL, "micro-batches is %d, expected at least 0", o->micro_batches);
    if (!(o->optim.momentum >= 0 && o->optim.momentum < 1))
        return wl_fail(e, WL_EINVAL, "momentum is %g, expected 0 <= momentum < 1", o->optim.momentum);
    if (!(o->optim.weight_decay >= 0))
        return wl_fail(e, WL_EINVAL, "weight decay is %g, expected at least 0", o->optim.weight_decay);
    return 0;
}

static int64_t batch_of(const struct wl_graph *g)
{
    for (size_t i = 0; i < g->n_tensors; i++)
        if (g->tensors[i]->role == WL_ROLE_INPUT) return g->tensors[i]->dims.d[0];
    return 1;
}

static void fill_info(struct wl_plan *p)
{
    const struct wl_graph *g = p->program.graph;
    struct wl_plan_info *f = &p->info;
    f->backend = p->program.backend->row.name;
    f->library = p->program.backend->library(p->arena);
    f->threads = p->threads;
    f->batch = batch_of(g);
    f->operations = (int)g->n_nodes;
    f->steps = (int)p->program.n_steps;
    f->reorders = p->program.reorders;
    f->buckets = (int)p->n_buckets;
    for (size_t i = 0; i < g->n_nodes; i++) {
        double flops = wl_node_flops(g->nodes[i]) / (double)f->batch;
        f->forward_flops += flops;
        f->train_flops += flops * (g->nodes[i]->in[0]->gradient ? 3 : 2);
    }
}

/* Gradients are summed and buckets reduced as raw memory, so all ranks must have the same layouts. Parameters that
 * start with the same bits at the same places prove that, and that the seeds agree. */
static int check_same_start(struct wl_plan *p, struct wl_err *e)
{
    uint64_t mine = 0, first;
    for (size_t i = 0; i < p->param_floats; i++) {
        uint32_t bits;
        memcpy(&bits, &p->param[i], sizeof bits);
        mine = (mine ^ bits) * 0x100000001b3u; /* FNV-1a, over words */
    }
    first = mine;
    int rc = p->comm->ops->broadcast(p->comm, &first, sizeof first, 0, e);
    if (rc) return rc;
    if (first != mine)
        rc = wl_fail(e, WL_EINVAL,
                     "the parameters differ from those of rank 0 at the start: the ranks have another seed, another "
                     "oneDNN, or processors with other instruction sets");
    return wl_comm_agree(p->comm, rc, e);
}

int wl_plan_new(struct wl_plan **out, const struct wl_graph *g, const struct wl_plan_opts *opts, struct wl_comm *comm,
                struct wl_arena *a, struct wl_err *e)
{
    const struct wl_backend *backend = NULL;
    int rc = wl_graph_check(g, e);
    if (!rc) rc = check_opts(opts, e);
    if (!rc) rc = pick_backend(opts->backend, &backend, e);
    if (rc) return rc;
    struct wl_plan *p = wl_new(a, struct wl_plan);
    p->arena = a;
    p->comm = comm && comm->size > 1 ? comm : NULL;
    p->optim = opts->optim;
    p->seed = opts->seed;
    p->threads = opts->threads ? opts->threads : omp_get_max_threads();
    p->micro_batches = opts->micro_batches ? opts->micro_batches : 1;
    if (!(p->optim_ops = wl_optim_find(opts->optim.kind, e))) return WL_EINVAL;
    p->program = (struct wl_program) {
        .arena = a,
        .graph = g,
        .backend = backend,
        .train = !opts->eval_only,
        .keep_values = opts->keep_values,
        .accumulate = p->micro_batches > 1,
    };
    omp_set_num_threads(p->threads); /* kernels are compiled for the number they will run with */
    if (backend->open) rc = backend->open(&p->program, e);
    if (!rc) rc = wl_lower(&p->program, e);
    if (!rc) rc = wl_plan_place(p, opts->bucket_bytes ? opts->bucket_bytes : 4u << 20, e);
    if (!rc) rc = wl_plan_init_states(p, e);
    if (!rc && p->comm) rc = check_same_start(p, e);
    if (rc) return rc;
    fill_info(p);
    *out = p;
    return 0;
}

void *wl_plan_input(struct wl_plan *p, const struct wl_tensor *input)
{
    WL_CHECK(input->role == WL_ROLE_INPUT);
    return p->program.value[input->id]->at;
}

/* ---- running ---- */

static double seconds_since(int64_t t_ns) { return (double)(wl_now_ns() - t_ns) / (double)WL_NS_PER_S; }

/* to += what */
static void add_floats(float *restrict to, const float *restrict what, size_t n)
{
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < n; i++) to[i] += what[i];
}

static int run_step(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    int rc = s->run(s, r, e);
    if (rc) return wl_prefix(e, "%s (%s)", s->node->name, s->what);
    for (int i = 0; i < s->n_uses && !r->first; i++)
        if (s->uses[i].part) add_floats(s->uses[i].buf->at, s->uses[i].part->at, s->uses[i].buf->bytes / sizeof(float));
    return 0;
}

static int reduce(struct wl_plan *p, const struct wl_bucket *b, struct wl_err *e)
{
    int64_t start_ns = wl_now_ns();
    int rc = p->comm->ops->all_reduce_sum(p->comm, p->gradient + b->from, b->n, e);
    p->times.reduce_s += seconds_since(start_ns);
    return rc;
}

static int run_training(struct wl_plan *p, const struct wl_run *r, bool last, struct wl_err *e)
{
    size_t bucket = 0, buckets = last && p->comm ? p->n_buckets : 0;
    for (size_t i = 0; i < p->program.n_steps; i++) {
        const struct wl_step *s = p->program.steps[i];
        int rc = s->when & WL_TRAIN ? run_step(s, r, e) : 0;
        for (; !rc && bucket < buckets && p->buckets[bucket].ready <= (int)i; bucket++)
            rc = reduce(p, &p->buckets[bucket], e);
        if (rc) return rc;
    }
    return 0;
}

int wl_plan_train(struct wl_plan *p, bool first, bool last, struct wl_counts *counts, struct wl_err *e)
{
    if (!p->program.train) return wl_fail(e, WL_EINVAL, "the plan was made for evaluation only");
    if (first) p->micros = 0;
    if (p->micros == 0 && !first)
        return wl_fail(e, WL_EINVAL, "the first micro-batch of a step was not marked as such");
    if (p->micros == p->micro_batches)
        return wl_fail(e, WL_EINVAL, "the plan was made for %d micro-batches a step", p->micro_batches);
    p->micros++;
    omp_set_num_threads(p->threads);
    int64_t start_ns = wl_now_ns();
    int rc = run_training(p, &(struct wl_run) { .first = first, .counts = counts }, last, e);
    p->times.train_s += seconds_since(start_ns);
    return rc;
}

int wl_plan_eval(struct wl_plan *p, struct wl_counts *counts, struct wl_err *e)
{
    omp_set_num_threads(p->threads);
    int64_t start_ns = wl_now_ns();
    const struct wl_run r = { .first = true, .counts = counts };
    for (size_t i = 0; i < p->program.n_steps; i++) {
        const struct wl_step *s = p->program.steps[i];
        int rc = s->when & WL_EVAL ? run_step(s, &r, e) : 0;
        if (rc) return rc;
    }
    p->times.eval_s += seconds_since(start_ns);
    return 0;
}

/* ---- between steps ---- */

static float decay_of(const struct wl_plan *p, const struct wl_tensor *t)
{
    return p->optim.decay_weights_only && !t->is_weight ? 0 : (float)p->optim.weight_decay;
}

/* One call of the optimiser for each run of parameters that decay alike. */
static void update_params(struct wl_plan *p, double lr)
{
    int ranks = p->comm ? p->comm->size : 1;
    for (size_t i = 0, end; i < p->n_params; i = end) {
        float decay = decay_of(p, p->params[i].tensor);
        for (end = i + 1; end < p->n_params && decay_of(p, p->params[end].tensor) == decay;) end++;
        size_t from = p->params[i].value->offset / sizeof(float);
        size_t to = end < p->n_params ? p->params[end].value->offset / sizeof(float) : p->param_floats;
        struct wl_optim_span span = {
            .w = p->param + from,
            .g = p->gradient + from,
            .n = to - from,
            .scale = 1 / (float)(ranks * p->micros),
            .decay = decay,
        };
        for (int k = 0; k < p->optim_ops->slots; k++) span.slot[k] = p->slot[k] + from;
        p->optim_ops->step(&p->optim, &span, lr);
    }
}

static void update_statistics(struct wl_plan *p)
{
    for (size_t i = 0; i < p->program.n_statistics; i++) {
        const struct wl_statistic *s = &p->program.statistics[i];
        float *running = s->running->at, share = (float)s->tensor->momentum;
        const float *sum = s->moment->at;
        int64_t n = wl_dims_count(&s->tensor->dims);
        for (int64_t c = 0; c < n; c++) running[c] += share * (sum[c] / (float)p->micros - running[c]);
    }
}

int wl_plan_update(struct wl_plan *p, double lr, struct wl_err *e)
{
    if (p->micros == 0) return wl_fail(e, WL_EINVAL, "an optimiser step without a micro-batch before it");
    omp_set_num_threads(p->threads);
    int64_t start_ns = wl_now_ns();
    update_params(p, lr);
    update_statistics(p);
    p->micros = 0;
    p->times.update_s += seconds_since(start_ns);
    return 0;
}

int wl_plan_average_statistics(struct wl_plan *p, struct wl_err *e)
{
    if (!p->comm || !p->statistic_floats) return 0;
    int rc = p->comm->ops->all_reduce_sum(p->comm, p->statistic, p->statistic_floats, e);
    for (size_t i = 0; !rc && i < p->statistic_floats; i++) p->statistic[i] /= (float)p->comm->size;
    return rc;
}

struct wl_plan_info wl_plan_info(const struct wl_plan *p) { return p->info; }

struct wl_plan_times wl_plan_times(const struct wl_plan *p) { return p->times; }

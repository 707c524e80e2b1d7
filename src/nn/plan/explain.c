/* What a plan does, for people: its steps with their kernels, buffers and layouts. */
#include "nn/plan/internal.h"

static const char *memory_name(enum wl_class class)
{
    static const char *const names[WL_MEM_CLASSES] = {
        [WL_MEM_INPUT] = "input",   [WL_MEM_PARAM] = "parameter",     [WL_MEM_GRADIENT] = "gradient",
        [WL_MEM_OUTPUT] = "output", [WL_MEM_STATISTIC] = "statistic", [WL_MEM_STATISTIC_SUM] = "statistic",
        [WL_MEM_VALUE] = "value",
    };
    return names[class];
}

static struct wl_plan_buffer buffer(const struct wl_plan *p, const struct wl_use *u, struct wl_arena *a)
{
    const struct wl_buf *b = u->buf;
    return (struct wl_plan_buffer) {
        .dtype = b->dtype,
        .dims = b->dims,
        .layout = b->layout ? p->program.backend->layout_name(b->layout, a) : "plain",
        .memory = memory_name(b->class),
        .bytes = b->bytes,
        .written = u->write,
    };
}

/* A backward pass is one step, or one by data and one by weights, which take as many each as forward; copies and sums
 * of gradients take none. */
static double pass_flops(const struct wl_graph *g, const struct wl_step *s)
{
    if (wl_str_starts(s->pass, "backward data") || wl_str_starts(s->pass, "backward weights"))
        return wl_node_flops(g, s->node);
    if (wl_str_starts(s->pass, "backward")) return wl_node_backward_flops(g, s->node);
    return wl_str_starts(s->pass, "forward") ? wl_node_flops(g, s->node) : 0;
}

size_t wl_plan_step_count(const struct wl_plan *p) { return p->program.n_steps; }

struct wl_plan_step wl_plan_step(const struct wl_plan *p, size_t i, struct wl_arena *a)
{
    WL_CHECK(i < p->program.n_steps);
    const struct wl_step *s = p->program.steps[i];
    struct wl_plan_buffer *buffers = wl_new_array(a, struct wl_plan_buffer, (size_t)s->n_uses);
    for (int k = 0; k < s->n_uses; k++) buffers[k] = buffer(p, &s->uses[k], a);
    return (struct wl_plan_step) {
        .operation = wl_op_name(s->node->op),
        .name = s->node->name,
        .pass = s->pass,
        .implementation = s->implementation ? s->implementation : "plain C",
        .training = s->when & WL_TRAIN,
        .evaluation = s->when & WL_EVAL,
        .recompute = s->recompute,
        .choice = s->choice,
        .flops = s->flops_share * pass_flops(p->program.graph, s) / (double)p->info.batch,
        .buffers = buffers,
        .n_buffers = (size_t)s->n_uses,
    };
}

struct wl_plan_segment wl_plan_segment(const struct wl_plan *p, size_t i)
{
    WL_CHECK(i < p->recomputed.n);
    struct wl_plan_segment s = p->recomputed.segments[i];
    s.flops /= (double)p->info.batch;
    return s;
}

struct wl_plan_bucket wl_plan_bucket(const struct wl_plan *p, size_t i)
{
    WL_CHECK(i < p->n_buckets);
    const struct wl_bucket *b = &p->buckets[i];
    return (struct wl_plan_bucket) { .bytes = b->n * sizeof(float), .step = b->ready < 0 ? 0 : (size_t)b->ready };
}

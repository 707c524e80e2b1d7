/* What a plan does, for people: its steps with their kernels, buffers and layouts. */
#include "nn/plan/internal.h"

#include <math.h>

static const char *memory_name(enum wl_class class)
{
    static const char *const names[WL_MEM_CLASSES] = {
        [WL_MEM_INPUT] = "input",   [WL_MEM_PARAM] = "parameter",     [WL_MEM_GRADIENT] = "gradient",
        [WL_MEM_OUTPUT] = "output", [WL_MEM_STATISTIC] = "statistic", [WL_MEM_STATISTIC_SUM] = "statistic",
        [WL_MEM_COPY] = "copy",     [WL_MEM_VALUE] = "value",
    };
    return names[class];
}

/* Memory for this step alone. */
static bool is_scratch(const struct wl_buf *b) { return b->class == WL_MEM_VALUE && b->first == b->last; }

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
        .scratch = is_scratch(b),
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

/* ---- the roofline ---- */

static double moved_bytes(const struct wl_step *s)
{
    double sum = 0;
    for (int i = 0; i < s->n_uses; i++)
        if (!is_scratch(s->uses[i].buf)) sum += (double)s->uses[i].moved_bytes;
    return sum;
}

/* Products are as fast as the narrowest numbers that they read. */
static double flop_per_s(const struct wl_plan *p, const struct wl_step *s)
{
    for (int i = 0; i < s->n_uses; i++)
        if (!s->uses[i].write && wl_dtype_bytes(s->uses[i].buf->dtype) == 2) return p->info.peaks.flop_per_s_16bit;
    return s->tf32 ? p->info.peaks.flop_per_s_tf32 / s->tf32 : p->info.peaks.flop_per_s_f32;
}

static void add_bound(const struct wl_plan *p, const struct wl_step *s, struct wl_plan_step *to)
{
    if (!p->info.peaks.device) {
        to->bound_s = NAN;
        return;
    }
    const double memory_s = to->moved_bytes / p->info.peaks.bytes_per_s;
    const double flops_s =
        to->flops > 0 ? to->flops * to->multiplications * (double)p->info.batch / flop_per_s(p, s) : 0;
    to->bound_by_flops = flops_s > memory_s;
    to->bound_s = isnan(memory_s + flops_s) ? NAN : fmax(memory_s, flops_s);
}

/* Parameters and what the optimizer keeps are read and written, gradients are read, copies are written. */
void wl_plan_bound_update(struct wl_plan *p)
{
    struct wl_plan_info *f = &p->info;
    f->peaks = p->ops->peaks ? p->ops->peaks(p->program.device) : (struct wl_device_peaks) { 0 };
    f->update_bytes = 2 * (double)(f->param_bytes + f->optim_bytes) + (double)(f->gradient_bytes + f->copy_bytes);
    f->update_bound_s = f->peaks.device ? f->update_bytes / f->peaks.bytes_per_s : NAN;
}

/* ---- steps ---- */

static const char *own_kernel(const struct wl_plan *p)
{
    const char *name = p->program.backend->own_kernel;
    return name ? name : "plain C";
}

size_t wl_plan_step_count(const struct wl_plan *p) { return p->program.n_steps; }

struct wl_plan_step wl_plan_step(const struct wl_plan *p, size_t i, struct wl_arena *a)
{
    WL_CHECK(i < p->program.n_steps);
    const struct wl_step *s = p->program.steps[i];
    struct wl_plan_buffer *buffers = wl_new_array(a, struct wl_plan_buffer, (size_t)s->n_uses);
    for (int k = 0; k < s->n_uses; k++) buffers[k] = buffer(p, &s->uses[k], a);
    struct wl_plan_step step = {
        .operation = wl_op_name(s->node->op),
        .name = s->node->name,
        .pass = s->pass,
        .implementation = s->implementation ? s->implementation : own_kernel(p),
        .training = s->when & WL_TRAIN,
        .evaluation = s->when & WL_EVAL,
        .recompute = s->recompute,
        .choice = s->choice,
        .flops = s->flops_share * pass_flops(p->program.graph, s) / (double)p->info.batch,
        .multiplications = s->multiplications,
        .numerics = s->numerics,
        .moved_bytes = moved_bytes(s),
        .buffers = buffers,
        .n_buffers = (size_t)s->n_uses,
    };
    add_bound(p, s, &step);
    return step;
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

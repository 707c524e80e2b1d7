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

/* ---- the roofline ---- */

static double moved_bytes(const struct wl_step *s, bool write)
{
    double sum = 0;
    for (int i = 0; i < s->n_uses; i++)
        if (s->uses[i].write == write && !is_scratch(s->uses[i].buf)) sum += (double)s->uses[i].moved_bytes;
    return sum;
}

static void add_bound(const struct wl_plan *p, const struct wl_step *s, struct wl_plan_step *to)
{
    const struct wl_device_peaks *peaks = &p->info.peaks;
    const double read = moved_bytes(s, false), written = moved_bytes(s, true);
    const struct wl_arithmetic arithmetic = wl_step_arithmetic(s);
    to->moved_bytes = read + written;
    to->computed_flops = to->flops * arithmetic.work;
    to->bound_s = NAN;
    if (to->flops > 0) {
        to->algorithm = arithmetic.algorithm;
        to->numbers = wl_numbers_name(arithmetic.numbers);
    }
    if (!peaks->device) return;
    const double memory_s = to->moved_bytes / wl_peaks_bytes_per_s(peaks, read, written);
    const double flops_s = to->computed_flops > 0 ? to->computed_flops * (double)p->info.batch /
                                                        wl_peaks_flop_per_s(peaks, arithmetic.numbers)
                                                  : 0;
    to->bound_by_flops = flops_s > memory_s;
    to->bound_s = isnan(memory_s + flops_s) ? NAN : fmax(memory_s, flops_s);
}

/* Parameters and what the optimizer keeps are read and written, gradients are read, copies are written. */
static void bound_update(struct wl_plan *p)
{
    struct wl_plan_info *f = &p->info;
    const double written = (double)(f->param_bytes + f->optim_bytes + f->copy_bytes);
    const double read = (double)(f->param_bytes + f->optim_bytes + f->gradient_bytes);
    f->update_bytes = read + written;
    f->update_bound_s = f->peaks.device ? f->update_bytes / wl_peaks_bytes_per_s(&f->peaks, read, written) : NAN;
}

void wl_plan_estimate_peaks(struct wl_plan *p)
{
    p->info.peaks = p->ops->peaks ? p->ops->peaks(p->program.device) : (struct wl_device_peaks) { 0 };
    bound_update(p);
}

int wl_plan_measure_peaks(struct wl_plan *p, struct wl_err *e)
{
    if (!p->ops->measure_peaks) return 0;
    int rc = p->ops->measure_peaks(p->program.device, &p->info.peaks, p->arena, e);
    if (!rc) bound_update(p);
    return rc;
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
        .flops = wl_step_flops(p->program.graph, s) / (double)p->info.batch,
        .numerics = s->numerics,
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

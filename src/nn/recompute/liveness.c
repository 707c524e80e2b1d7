#include "nn/recompute/internal.h"

#include <math.h>

/* What a processor multiplies while it reads or writes a byte of memory: about 240 GFLOP/s against 20 GB/s a core. */
static const double flop_per_byte = 12;

/* A share of the largest buffer. */
enum { SMALL = 256 };

/* A loss counts what it sees; statistics are summed up. */
static bool is_repeatable(const struct wl_step *s)
{
    if (wl_op_is_loss(s->node->op)) return false;
    for (int k = 0; k < s->n_uses; k++)
        if (s->uses[k].write && s->uses[k].buf->class != WL_MEM_VALUE) return false;
    return true;
}

static void note_forward(struct wl_buf_liveness *l, int i, bool write)
{
    l->forward_last = i;
    if (!write) return;
    if (l->born == WL_NEVER) l->born = i;
    l->forward_write = i;
}

static void note_backward(struct wl_buf_liveness *l, int i, bool write)
{
    if (l->back_first == WL_NEVER) l->back_first = i;
    l->back_last = i;
    if (write && l->born == WL_NEVER) l->born = i;
    if (write && l->back_write == WL_NEVER) l->back_write = i;
}

static void note_step(struct wl_liveness *s, int i)
{
    const struct wl_step *step = s->program->steps[i];
    for (int k = 0; k < step->n_uses; k++) {
        const struct wl_use *u = &step->uses[k];
        struct wl_buf_liveness *l = &s->bufs[u->buf->id];
        if (i < s->n_forward)
            note_forward(l, i, u->write);
        else
            note_backward(l, i, u->write);
        if (u->partial) note_backward(&s->bufs[u->partial->id], i, true);
        if (u->write) l->once |= !s->repeatable[i];
    }
}

/* Operations on rows whose mean numbers are not known count with their bytes alone. */
static void weigh(struct wl_liveness *s, int i)
{
    const struct wl_step *step = s->program->steps[i];
    size_t bytes = 0;
    for (int k = 0; k < step->n_uses; k++) bytes += step->uses[k].buf->bytes;
    if (wl_str_starts(step->pass, "forward")) s->flops[i] = wl_step_flops(s->program->graph, step);
    s->work[i] = (isnan(s->flops[i]) ? 0 : s->flops[i]) + flop_per_byte * (double)bytes;
}

static void add_up_gradients(struct wl_liveness *s)
{
    for (size_t b = 0; b < s->program->n_bufs; b++) {
        const struct wl_buf_liveness *l = &s->bufs[b];
        if (l->born < s->n_forward) continue;
        for (int i = l->born; i <= l->back_last; i++) {
            s->gradients[i] += l->bytes;
            if (i > l->born) s->handed[i] += l->bytes;
        }
    }
}

void wl_liveness_init(struct wl_liveness *s, const struct wl_program *p, struct wl_arena *a)
{
    const size_t n = p->n_steps;
    size_t largest = 0;
    *s = (struct wl_liveness) {
        .program = p,
        .n_forward = (int)p->n_forward,
        .n_steps = (int)n,
        .bufs = wl_new_array(a, struct wl_buf_liveness, p->n_bufs),
        .repeatable = wl_new_array(a, bool, n),
        .flops = wl_new_array(a, double, n),
        .work = wl_new_array(a, double, n),
        .gradients = wl_new_array(a, size_t, n),
        .handed = wl_new_array(a, size_t, n),
    };
    for (size_t b = 0; b < p->n_bufs; b++) {
        s->bufs[b] = (struct wl_buf_liveness) { p->bufs[b]->class == WL_MEM_VALUE ? wl_memory_padded(p, p->bufs[b]) : 0,
                                                WL_NEVER,
                                                WL_NEVER,
                                                WL_NEVER,
                                                WL_NEVER,
                                                WL_NEVER,
                                                WL_NEVER,
                                                false };
        if (s->bufs[b].bytes > largest) largest = s->bufs[b].bytes;
    }
    s->small = largest / SMALL;
    for (int i = 0; i < s->n_steps; i++) {
        if (!(p->steps[i]->when & WL_TRAIN)) continue;
        s->repeatable[i] = i < s->n_forward && is_repeatable(p->steps[i]);
        note_step(s, i);
        if (i < s->n_forward) weigh(s, i);
    }
    add_up_gradients(s);
}

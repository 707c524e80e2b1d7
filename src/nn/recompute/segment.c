/* Which steps of a segment must run again for its values to be there in the backward pass. */
#include "nn/recompute/internal.h"

static bool born_in(const struct wl_buf_liveness *l, int from, int to)
{
    return l->bytes && l->born >= from && l->born < to;
}

bool wl_recompute_segment_keeps(const struct wl_liveness *s, int to, const struct wl_buf_liveness *l)
{
    return l->once || l->forward_last >= to || l->bytes <= s->small;
}

/* Does the buffer, in front of backward step `before`, still hold what step i read of it? */
static bool intact(const struct wl_buf_liveness *l, int i, int before)
{
    return l->forward_write < i && (l->back_write == WL_NEVER || l->back_write >= before);
}

/* What the backward pass reads, unless it is kept; and where it begins to. */
static void want(const struct wl_liveness *s, struct wl_recompute_segment *g)
{
    g->before = s->n_steps;
    for (int i = g->from; i < g->to; i++) {
        const struct wl_step *step = s->program->steps[i];
        for (int k = 0; k < step->n_uses && s->repeatable[i]; k++) {
            const int id = step->uses[k].buf->id;
            const struct wl_buf_liveness *l = &s->bufs[id];
            if (!born_in(l, g->from, g->to) || l->back_first == WL_NEVER || wl_recompute_segment_keeps(s, g->to, l))
                continue;
            g->bufs[id] = true;
            if (l->back_first < g->before) g->before = l->back_first;
        }
    }
}

static bool writes_wanted(const struct wl_recompute_segment *g, const struct wl_step *step)
{
    for (int k = 0; k < step->n_uses; k++)
        if (step->uses[k].write && g->bufs[step->uses[k].buf->id]) return true;
    return false;
}

/* Step i runs again: what it reads must be there, or be made again too. */
static bool want_reads(const struct wl_liveness *s, struct wl_recompute_segment *g, int i)
{
    const struct wl_step *step = s->program->steps[i];
    for (int k = 0; k < step->n_uses; k++) {
        const int id = step->uses[k].buf->id;
        const struct wl_buf_liveness *l = &s->bufs[id];
        if (step->uses[k].write || !l->bytes || g->bufs[id]) continue;
        const bool own = born_in(l, g->from, g->to), there = intact(l, i, g->before);
        if (there && (!own || wl_recompute_segment_keeps(s, g->to, l))) continue;
        if (!own || l->once) return false;
        g->bufs[id] = true;
    }
    return true;
}

bool wl_recompute_segment_find(const struct wl_liveness *s, int from, int to, struct wl_recompute_segment *g,
                               struct wl_arena *a)
{
    *g = (struct wl_recompute_segment) { .from = from,
                                         .to = to,
                                         .steps = wl_new_array(a, bool, (size_t)s->n_forward),
                                         .bufs = wl_new_array(a, bool, s->program->n_bufs) };
    want(s, g);
    for (int i = to; i-- > from;) {
        if (!s->repeatable[i] || !writes_wanted(g, s->program->steps[i])) continue;
        g->steps[i] = true;
        g->n_steps++;
        g->work += s->work[i];
        if (!want_reads(s, g, i)) return false;
    }
    return true;
}

#include "nn/recompute/internal.h"

#include <string.h>

struct rewrite {
    const struct wl_liveness *liveness;
    struct wl_program to;
    struct wl_buf **copies; /* by the id of the buffer that the step wrote when it ran first; NULL: there is none */
    bool *replaced;         /* by the same: backward steps read the copy */
};

static void append(struct rewrite *w, struct wl_step *step)
{
    struct wl_program *p = &w->to;
    WL_GROW(p->arena, p->steps, p->n_steps, p->cap_steps);
    p->steps[p->n_steps++] = step;
}

static struct wl_buf *copy_of(struct rewrite *w, const struct wl_buf *b)
{
    struct wl_buf **copy = &w->copies[b->id];
    if (!*copy) *copy = wl_buf_like(&w->to, b);
    return *copy;
}

/* What it writes and nobody reads goes to a copy too: the buffer itself may hold another value by then. */
static struct wl_step *recomputed_step(struct rewrite *w, const struct wl_recompute_segment *g,
                                       const struct wl_step *step)
{
    struct wl_step *s = wl_new(w->to.arena, struct wl_step);
    *s = *step;
    s->when = WL_TRAIN;
    s->recompute = true;
    w->to.reorders += wl_str_eq(s->pass, "reorder");
    if (s->clone_context) s->context = s->clone_context(s, w->to.arena);
    for (int k = 0; k < s->n_uses; k++)
        if (s->uses[k].write || g->bufs[s->uses[k].buf->id]) s->uses[k].buf = copy_of(w, s->uses[k].buf);
    return s;
}

static void emit_recompute(struct rewrite *w, const struct wl_recompute_segment *g)
{
    const struct wl_liveness *s = w->liveness;
    for (int i = g->from; i < g->to; i++)
        if (g->steps[i]) append(w, recomputed_step(w, g, s->program->steps[i]));
    for (size_t b = 0; b < s->program->n_bufs; b++)
        if (g->bufs[b]) w->replaced[b] = !wl_recompute_segment_keeps(s, g->to, &s->bufs[b]);
}

/* The step itself where it uses nothing that was made again. */
static struct wl_step *redirected(struct rewrite *w, struct wl_step *step)
{
    struct wl_step *s = step;
    for (int k = 0; k < step->n_uses; k++) {
        const int id = step->uses[k].buf->id;
        if (!w->replaced[id]) continue;
        if (s == step) {
            s = wl_new(w->to.arena, struct wl_step);
            *s = *step;
        }
        s->uses[k].buf = w->copies[id];
    }
    return s;
}

static void extend_live_range(struct wl_buf *b, int i)
{
    if (b->first < 0) b->first = i;
    b->last = i;
}

static void find_live_ranges(struct wl_program *p)
{
    for (size_t b = 0; b < p->n_bufs; b++) p->bufs[b]->first = p->bufs[b]->last = -1;
    for (size_t i = 0; i < p->n_steps; i++)
        for (int k = 0; k < p->steps[i]->n_uses; k++) {
            extend_live_range(p->steps[i]->uses[k].buf, (int)i);
            if (p->steps[i]->uses[k].partial) extend_live_range(p->steps[i]->uses[k].partial, (int)i);
        }
}

struct wl_program wl_recompute_rewrite(const struct wl_liveness *s, const struct wl_recompute_segment *segments,
                                       size_t n, struct wl_arena *a)
{
    const struct wl_program *from = s->program;
    struct rewrite w = { .liveness = s,
                         .to = *from,
                         .copies = wl_new_array(a, struct wl_buf *, from->n_bufs),
                         .replaced = wl_new_array(a, bool, from->n_bufs) };
    struct wl_program *p = &w.to;
    p->arena = a;
    p->steps = NULL;
    p->n_steps = p->cap_steps = 0;
    p->bufs = wl_new_array(a, struct wl_buf *, p->cap_bufs);
    memcpy(p->bufs, from->bufs, from->n_bufs * sizeof(struct wl_buf *));
    for (int i = 0; i < s->n_steps; i++) {
        for (size_t k = 0; k < n; k++)
            if (i >= s->n_forward && segments[k].before == i) emit_recompute(&w, &segments[k]);
        append(&w, i < s->n_forward ? from->steps[i] : redirected(&w, from->steps[i]));
    }
    find_live_ranges(p);
    return w.to;
}

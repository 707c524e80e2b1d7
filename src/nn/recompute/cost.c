/* What keeping a segment's values costs, and what recomputing them does, in addition to what is kept of the steps
 * before it. Segments are taken as if each had the backward pass to itself: the sum over segments is a model, exact
 * where one tensor leads from each to the next. */
#include "nn/recompute/internal.h"

static int max(int x, int y) { return x > y ? x : y; }

/* Adds the bytes to the times [first, last]. */
static void add_interval(long *change, int first, int last, size_t bytes)
{
    change[first] += (long)bytes;
    change[last + 1] -= (long)bytes;
}

/* The largest sum of changes over times [0, n), where time t has `beside[t]` more. */
static size_t most(const long *change, const size_t *beside, int n)
{
    long now = 0, best = 0;
    for (int t = 0; t < n; t++) {
        now += change[t];
        const long all = now + (beside ? (long)beside[t] : 0);
        if (all > best) best = all;
    }
    return (size_t)best;
}

struct cost {
    const struct wl_liveness *s;
    const struct wl_recompute_segment *g;
    const int *born; /* ids of the buffers that the segment writes first, and how many */
    int n_born;
    struct wl_arena *a;
};

static bool is_read_back(const struct wl_buf_liveness *l) { return l->back_first != WL_NEVER; }

/* Is the buffer still in memory after the segment's forward pass? */
static bool stays(const struct cost *c, const struct wl_buf_liveness *l, bool again)
{
    if (l->forward_last >= c->g->to) return true;
    return is_read_back(l) && (!again || wl_recompute_segment_keeps(c->s, c->g->to, l));
}

static size_t kept(const struct cost *c, bool again)
{
    size_t bytes = 0;
    for (int i = 0; i < c->n_born; i++)
        if (stays(c, &c->s->bufs[c->born[i]], again)) bytes += c->s->bufs[c->born[i]].bytes;
    return bytes;
}

static size_t max_forward_bytes(const struct cost *c, bool again)
{
    const int from = c->g->from, n = c->g->to - from;
    long *change = wl_new_array(c->a, long, (size_t)n + 1);
    for (int i = 0; i < c->n_born; i++) {
        const struct wl_buf_liveness *l = &c->s->bufs[c->born[i]];
        add_interval(change, l->born - from, stays(c, l, again) ? n - 1 : l->forward_last - from, l->bytes);
    }
    return most(change, NULL, n);
}

/* The backward steps [first, end) that read the segment's values: where its own backward pass is. */
static size_t max_backward_bytes(const struct cost *c)
{
    int first = c->s->n_steps, end = 0;
    for (int i = 0; i < c->n_born; i++) {
        const struct wl_buf_liveness *l = &c->s->bufs[c->born[i]];
        if (!is_read_back(l)) continue;
        if (l->back_first < first) first = l->back_first;
        end = max(end, l->back_last + 1);
    }
    if (first >= end) return 0;
    long *change = wl_new_array(c->a, long, (size_t)(end - first) + 1);
    for (int i = 0; i < c->n_born; i++) {
        const struct wl_buf_liveness *l = &c->s->bufs[c->born[i]];
        if (is_read_back(l)) add_interval(change, 0, l->back_last - first, l->bytes);
    }
    return most(change, c->s->gradients + first, end - first);
}

/* Where among the steps that run again a buffer is used first and last, from 1; 0: nowhere. */
struct uses {
    int first, last;
};

static struct uses *recompute_uses(const struct cost *c)
{
    const struct wl_recompute_segment *g = c->g;
    struct uses *uses = wl_new_array(c->a, struct uses, c->s->program->n_bufs);
    for (int i = g->from, t = 0; i < g->to; i++) {
        const struct wl_step *step = c->s->program->steps[i];
        if (!g->steps[i]) continue;
        t++;
        for (int k = 0; k < step->n_uses; k++) {
            const int id = step->uses[k].buf->id;
            if (!step->uses[k].write && !g->bufs[id]) continue;
            if (!uses[id].first) uses[id].first = t;
            uses[id].last = t;
        }
    }
    return uses;
}

/* Times: the steps that run again, then backward steps from `before` on. */
static size_t max_recompute_bytes(const struct cost *c)
{
    const struct wl_recompute_segment *g = c->g;
    const struct uses *uses = recompute_uses(c);
    const int runs = (int)g->n_steps;
    int end = g->before + 1;
    for (int i = 0; i < c->n_born; i++) end = max(end, c->s->bufs[c->born[i]].back_last + 1);
    const int n = runs + end - g->before;
    long *change = wl_new_array(c->a, long, (size_t)n + 1);
    size_t *beside = wl_new_array(c->a, size_t, (size_t)n);
    for (int t = 0; t < n; t++) beside[t] = t < runs ? c->s->handed[g->before] : c->s->gradients[g->before + t - runs];
    for (int i = 0; i < c->n_born; i++) {
        const int id = c->born[i];
        const struct wl_buf_liveness *l = &c->s->bufs[id];
        const bool read = is_read_back(l), keeps = wl_recompute_segment_keeps(c->s, g->to, l);
        const int back = runs + l->back_last - g->before;
        if (keeps && read && l->back_last >= g->before) add_interval(change, 0, back, l->bytes);
        if (uses[id].first)
            add_interval(change, uses[id].first - 1, keeps || !read ? uses[id].last - 1 : back, l->bytes);
    }
    return most(change, beside, n);
}

static int *find_born(const struct wl_liveness *s, int from, int to, int *n, struct wl_arena *a)
{
    int *ids = wl_new_array(a, int, s->program->n_bufs);
    for (size_t b = 0; b < s->program->n_bufs; b++)
        if (s->bufs[b].bytes && s->bufs[b].born >= from && s->bufs[b].born < to) ids[(*n)++] = (int)b;
    return ids;
}

struct wl_recompute_segment_cost wl_recompute_segment_cost(const struct wl_liveness *s, int from, int to,
                                                           struct wl_arena *a)
{
    struct wl_recompute_segment g;
    struct wl_recompute_segment_cost cost = { .possible = wl_recompute_segment_find(s, from, to, &g, a) && g.n_steps };
    struct cost c = { .s = s, .g = &g, .a = a };
    c.born = find_born(s, from, to, &c.n_born, a);
    for (int again = 0; again <= cost.possible; again++) {
        const size_t forward = max_forward_bytes(&c, again),
                     backward = again ? max_recompute_bytes(&c) : max_backward_bytes(&c);
        cost.kept[again] = kept(&c, again);
        cost.peak[again] = forward > backward ? forward : backward;
    }
    cost.work = g.work;
    return cost;
}

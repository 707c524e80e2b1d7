/* Which segments there are and which of them are recomputed: by dynamic programming over the places where the forward
 * pass can be cut, with the model of cost.c. Each candidate is rewritten and its memory assigned, so that the decision
 * is by true bytes. */
#include "nn/recompute/internal.h"

#include <string.h>

/* ---- cuts -------------------------------------------------------------------------------------------------------- */

struct cuts {
    int *at; /* forward steps: a segment may begin here. The first is 0, the last the number of them */
    int n;
    struct wl_recompute_segment_cost *cost; /* n x n: between two cuts */
};

static struct wl_recompute_segment_cost *cost_between(const struct cuts *c, int i, int j)
{
    return &c->cost[i * c->n + j];
}

/* By forward step: the bytes that are read on its other side when the pass is cut before it; SIZE_MAX: it cannot
 * be cut, since that would split an operation or a value is overwritten after it. */
static size_t *crossings(const struct wl_liveness *s, struct wl_arena *a)
{
    size_t *cross = wl_new_array(a, size_t, (size_t)s->n_forward);
    for (int i = 1; i < s->n_forward; i++)
        if (s->program->steps[i]->node == s->program->steps[i - 1]->node) cross[i] = SIZE_MAX;
    for (size_t b = 0; b < s->program->n_bufs; b++) {
        const struct wl_buf_liveness *l = &s->bufs[b];
        if (!l->bytes || l->born == WL_NEVER || l->born >= s->n_forward) continue;
        for (int i = l->born + 1; i <= l->forward_last; i++)
            cross[i] = i <= l->forward_write || cross[i] == SIZE_MAX ? SIZE_MAX : cross[i] + l->bytes;
    }
    return cross;
}

/* Local minima of what is kept. */
static void find_cuts(const struct wl_liveness *s, struct cuts *c, struct wl_arena *a)
{
    const size_t *cross = crossings(s, a);
    int *possible = wl_new_array(a, int, (size_t)s->n_forward), n = 0;
    for (int i = 1; i < s->n_forward; i++)
        if (cross[i] < SIZE_MAX) possible[n++] = i;
    c->at = wl_new_array(a, int, (size_t)n + 2);
    c->at[c->n++] = 0;
    for (int i = 0; i < n; i++) {
        const size_t here = cross[possible[i]];
        if (i && cross[possible[i - 1]] < here) continue;
        if (i + 1 < n && cross[possible[i + 1]] < here) continue;
        c->at[c->n++] = possible[i];
    }
    c->at[c->n++] = s->n_forward;
}

static void find_costs(const struct wl_liveness *s, struct cuts *c, struct wl_arena *a)
{
    c->cost = wl_new_array(a, struct wl_recompute_segment_cost, (size_t)(c->n * c->n));
    for (int i = 0; i < c->n; i++)
        for (int j = i + 1; j < c->n; j++) {
            struct wl_arena *once = wl_arena_new(a);
            *cost_between(c, i, j) = wl_recompute_segment_cost(s, c->at[i], c->at[j], once);
            wl_arena_free(once);
        }
}

/* ---- the least work within a bound ------------------------------------------------------------------------------- */

/* Of the paths to a cut with about the same work the one that keeps the fewest bytes. */
enum { LEVELS = 64 };
struct path {
    bool known, recompute; /* the last segment is recomputed */
    size_t kept;
    double work;
    int from, level; /* the path to where the last segment begins */
};

struct choice {
    const struct wl_liveness *liveness;
    const struct cuts *cuts;
    struct path *paths; /* cuts x LEVELS */
    double all_work;    /* of all forward steps */
};

static struct path *path_to(const struct choice *c, int cut, int level) { return &c->paths[cut * LEVELS + level]; }

static void extend_path(struct choice *c, int from, int level, int to, bool recompute, size_t bound)
{
    const struct wl_recompute_segment_cost *cost = cost_between(c->cuts, from, to);
    const struct path *w = path_to(c, from, level);
    if (w->kept + cost->peak[recompute] > bound) return;
    struct path next = { .known = true,
                         .recompute = recompute,
                         .kept = w->kept + cost->kept[recompute],
                         .work = w->work + (recompute ? cost->work : 0),
                         .from = from,
                         .level = level };
    struct path *best = path_to(c, to, (int)(next.work / c->all_work * (LEVELS - 1)));
    if (!best->known || next.kept < best->kept || (next.kept == best->kept && next.work < best->work)) *best = next;
}

/* The segments that are recomputed, in the order of the forward pass; false: no path is within the bound. */
static bool choose(struct choice *c, size_t bound, struct wl_recompute_segment **segments, size_t *n,
                   struct wl_arena *a)
{
    const int cuts = c->cuts->n, last = cuts - 1;
    memset(c->paths, 0, (size_t)(cuts * LEVELS) * sizeof *c->paths);
    path_to(c, 0, 0)->known = true;
    for (int i = 0; i < last; i++)
        for (int level = 0; level < LEVELS; level++)
            for (int j = i + 1; j < cuts && path_to(c, i, level)->known; j++)
                for (int recompute = 0; recompute <= cost_between(c->cuts, i, j)->possible; recompute++)
                    extend_path(c, i, level, j, recompute, bound);
    int level = 0;
    while (level < LEVELS && !path_to(c, last, level)->known) level++;
    if (level == LEVELS) return false;
    *segments = wl_new_array(a, struct wl_recompute_segment, (size_t)cuts);
    *n = 0;
    for (int i = last; i > 0;) {
        const struct path *w = path_to(c, i, level);
        if (w->recompute)
            WL_CHECK(
                wl_recompute_segment_find(c->liveness, c->cuts->at[w->from], c->cuts->at[i], &(*segments)[(*n)++], a));
        i = w->from;
        level = w->level;
    }
    for (size_t i = 0; i < *n / 2; i++) {
        const struct wl_recompute_segment x = (*segments)[i];
        (*segments)[i] = (*segments)[*n - 1 - i];
        (*segments)[*n - 1 - i] = x;
    }
    return true;
}

/* ---- the search -------------------------------------------------------------------------------------------------- */

struct candidate {
    struct wl_recompute_segment *segments;
    size_t n, bytes; /* of values, as they are placed */
    double work;
};

/* The candidate within the bound; false: there is none. */
static bool evaluate_bound(struct choice *c, size_t bound, struct candidate *f, struct wl_arena *a)
{
    *f = (struct candidate) { 0 };
    if (!choose(c, bound, &f->segments, &f->n, a)) return false;
    struct wl_arena *once = wl_arena_new(a);
    const struct wl_program p = wl_recompute_rewrite(c->liveness, f->segments, f->n, once);
    f->bytes = wl_memory_assign_values(&p).total;
    for (size_t i = 0; i < f->n; i++) f->work += f->segments[i].work;
    wl_arena_free(once);
    return true;
}

/* To one part in 2^ROUNDS, by bisection. */
static size_t least_bound(struct choice *c, size_t high, struct wl_arena *a)
{
    enum { ROUNDS = 9 };
    size_t low = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct wl_arena *once = wl_arena_new(a);
        struct wl_recompute_segment *segments;
        size_t n, middle = low + (high - low) / 2;
        if (choose(c, middle, &segments, &n, once))
            high = middle;
        else
            low = middle;
        wl_arena_free(once);
    }
    return high;
}

/* Bounds from the least one upwards: the last that leads to hardly more bytes than the best, since it takes less work.
 */
static struct candidate search_least(struct choice *c, size_t least, struct wl_arena *a)
{
    enum { TRIES = 6, STEP = 32, SPARE = 32 }; /* a part of it more from one to the next, and of bytes */
    struct candidate tried[TRIES], best = { .bytes = SIZE_MAX };
    for (int i = 0; i < TRIES; i++) {
        WL_CHECK(evaluate_bound(c, least + least / STEP * (size_t)i, &tried[i], a));
        if (tried[i].bytes < best.bytes) best = tried[i];
    }
    const size_t enough = best.bytes + best.bytes / SPARE;
    for (int i = 0; i < TRIES; i++)
        if (tried[i].bytes <= enough && tried[i].work < best.work) best = tried[i];
    return best;
}

/* Lowers the bound by what its candidate takes beyond the limit. */
static struct candidate search_limit(struct choice *c, size_t least, size_t limit, struct wl_arena *a)
{
    enum { TRIES = 8 };
    struct candidate f;
    size_t bound = limit;
    for (int i = 0; i < TRIES && bound >= least && evaluate_bound(c, bound, &f, a); i++) {
        if (f.bytes <= limit) return f;
        bound -= f.bytes - limit < bound ? f.bytes - limit : bound;
    }
    return search_least(c, least, a);
}

static void describe(const struct wl_liveness *s, const struct wl_recompute_segment *g, struct wl_plan_segment *out)
{
    out->steps = g->n_steps;
    for (int i = g->from; i < g->to; i++) {
        if (!g->steps[i]) continue;
        if (!out->first) out->first = s->program->steps[i]->node->name;
        out->last = s->program->steps[i]->node->name;
        out->flops += s->flops[i];
    }
    for (size_t b = 0; b < s->program->n_bufs; b++)
        if (g->bufs[b]) out->bytes += s->bufs[b].bytes;
}

static void make(struct wl_program *p, const struct wl_liveness *s, const struct candidate *f,
                 struct wl_recompute_result *made)
{
    made->n = f->n;
    made->segments = wl_new_array(p->arena, struct wl_plan_segment, f->n);
    for (size_t i = 0; i < f->n; i++) describe(s, &f->segments[i], &made->segments[i]);
    *p = wl_recompute_rewrite(s, f->segments, f->n, p->arena);
}

void wl_recompute(struct wl_program *p, size_t limit, struct wl_recompute_result *made)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_liveness s;
    struct cuts cuts = { 0 };
    const size_t plain = wl_memory_assign_values(p).total;
    wl_liveness_init(&s, p, a);
    find_cuts(&s, &cuts, a);
    find_costs(&s, &cuts, a);
    struct choice c = { .liveness = &s,
                        .cuts = &cuts,
                        .paths = wl_new_array(a, struct path, (size_t)(cuts.n * LEVELS)) };
    for (int i = 0; i < s.n_forward; i++) c.all_work += s.work[i];
    const size_t least = least_bound(&c, plain, a);
    struct candidate f = limit ? search_limit(&c, least, limit, a) : search_least(&c, least, a);
    if (f.bytes >= plain) f.n = 0;
    make(p, &s, &f, made);
    wl_arena_free(a);
}

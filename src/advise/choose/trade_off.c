/* The trade-off between time and energy (or carbon, or cost): who belongs to it, and its knee. */
#include "advise/choose/internal.h"

#include <math.h>
#include <stdlib.h>

struct point {
    double t, e; /* logarithms */
    size_t i;
};

static int by_time(const void *x, const void *y)
{
    const struct point *p = x, *q = y;
    if (p->t != q->t) return p->t < q->t ? -1 : 1;
    return (p->e > q->e) - (p->e < q->e);
}

/* Marks the points than which none is lower in both. Sorts. */
static void mark_front(struct point *v, size_t n, bool *on)
{
    double least = INFINITY;
    qsort(v, n, sizeof *v, by_time);
    for (size_t k = 0, end; k < n; k = end) {
        double of_ties = least;
        for (end = k; end < n && v[end].t == v[k].t; end++) {
            on[v[end].i] = !(least < v[end].e);
            of_ties = fmin(of_ties, v[end].e);
        }
        least = of_ties;
    }
}

/* All draws of both quantities: [n][DRAWS] each. */
static double *all_draws(const struct wl_choose_context *c, enum wl_choose_quantity q, struct wl_arena *a)
{
    double *v = wl_new_array(a, double, c->in->n *WL_JOINT_DRAWS);
    for (size_t i = 0; i < c->in->n; i++)
        if (!c->in->settings[i].excluded) wl_choose_draws(c, q, i, v + i * WL_JOINT_DRAWS);
    return v;
}

static void count_members(const struct wl_choose_context *c, struct wl_choose_result *out, struct wl_arena *a)
{
    const size_t n = c->in->n;
    const double *t = all_draws(c, WL_CHOOSE_TIME, a), *e = all_draws(c, out->other, a);
    struct point *v = wl_new_array(a, struct point, n);
    bool *on = wl_new_array(a, bool, n);
    for (size_t d = 0; d < WL_JOINT_DRAWS; d++) {
        size_t m = 0;
        for (size_t i = 0; i < n; i++)
            if (!c->in->settings[i].excluded)
                v[m++] = (struct point) { t[i * WL_JOINT_DRAWS + d], e[i * WL_JOINT_DRAWS + d], i };
        mark_front(v, m, on);
        for (size_t k = 0; k < m; k++) out->rows[v[k].i].pareto += on[v[k].i] ? 1.0 / WL_JOINT_DRAWS : 0;
    }
}

/* The member nearest to the least of both: on logarithms scaled to [0, 1] over the front, least u + v, which is also
 * the member farthest from the chord between the ends. None if it is less than .05 from the chord. */
static void find_knee(struct wl_choose_result *out, const struct point *v, size_t n)
{
    static const double least_depth = 0.05;
    if (n < 3) return;
    const double t0 = v[0].t, t1 = v[n - 1].t, e0 = v[n - 1].e, e1 = v[0].e;
    double best = INFINITY;
    size_t at = 0;
    for (size_t k = 0; k < n; k++) {
        const double sum = (v[k].t - t0) / (t1 - t0) + (v[k].e - e0) / (e1 - e0);
        if (sum < best) best = sum, at = k;
    }
    out->depth = (1 - best) / sqrt(2);
    if (out->depth >= least_depth) out->knee = (int)v[at].i;
}

static void front_of_means(const struct wl_choose_context *c, struct wl_choose_result *out, struct wl_arena *a)
{
    struct point *v = wl_new_array(a, struct point, c->in->n);
    bool *on = wl_new_array(a, bool, c->in->n);
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < c->in->n; i++)
        if (!c->in->settings[i].excluded)
            v[n++] = (struct point) { out->rows[i].ln[WL_CHOOSE_TIME], out->rows[i].ln[out->other], i };
    mark_front(v, n, on);
    for (size_t k = 0; k < n; k++) {
        out->rows[v[k].i].front = on[v[k].i];
        if (on[v[k].i]) v[kept++] = v[k];
    }
    find_knee(out, v, kept);
}

static enum wl_choose_quantity second_quantity(const struct wl_choose_options *o)
{
    const enum wl_choose_quantity q = o->minimize;
    return q == WL_CHOOSE_CARBON || q == WL_CHOOSE_COST ? q : WL_CHOOSE_ENERGY;
}

void wl_choose_trade_off(const struct wl_choose_context *c, struct wl_choose_result *out, struct wl_arena *a)
{
    out->other = second_quantity(c->o);
    if (wl_choose_unknown(c->in, c->o, out->other)) {
        out->other = WL_CHOOSE_TIME;
        return;
    }
    struct wl_arena *scratch = wl_arena_new(a);
    count_members(c, out, scratch);
    front_of_means(c, out, scratch);
    wl_arena_free(scratch);
}

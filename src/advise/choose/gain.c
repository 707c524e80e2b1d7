/* What one more run would be worth: the knowledge gradient of a single measurement (Frazier, Powell and Dayanik 2009),
 * by quadrature over its outcome. */
#include "advise/choose/internal.h"

#include <math.h>
#include <stdlib.h>

enum { CONTENDERS = 100 };

/* Allowed settings in the order of their means; more than these cannot become the choice by one run. */
struct contenders {
    size_t *i;
    double *mean, *centred; /* [n]; [n][DRAWS] */
    size_t n;
};

struct ranked {
    double mean;
    size_t i;
};

static int by_mean(const void *x, const void *y)
{
    const struct ranked *p = x, *q = y;
    if (p->mean != q->mean) return p->mean < q->mean ? -1 : 1;
    return (p->i > q->i) - (p->i < q->i);
}

static struct contenders contenders_of(const struct wl_choose_context *c, const struct wl_choose_result *r,
                                       struct wl_arena *a)
{
    struct ranked *v = wl_new_array(a, struct ranked, c->in->n);
    size_t n = 0;
    for (size_t i = 0; i < c->in->n; i++)
        if (r->rows[i].allowed) v[n++] = (struct ranked) { r->rows[i].ln[c->o->minimize], i };
    qsort(v, n, sizeof *v, by_mean);
    if (n > CONTENDERS) n = CONTENDERS;
    struct contenders out = { wl_new_array(a, size_t, n), wl_new_array(a, double, n),
                              wl_new_array(a, double, n *WL_JOINT_DRAWS), n };
    for (size_t k = 0; k < n; k++) {
        double *draws = out.centred + k * WL_JOINT_DRAWS;
        out.i[k] = v[k].i;
        out.mean[k] = v[k].mean;
        wl_choose_draws(c, c->o->minimize, v[k].i, draws);
        const double mean = wl_mean(draws, WL_JOINT_DRAWS);
        for (size_t d = 0; d < WL_JOINT_DRAWS; d++) draws[d] -= mean;
    }
    return out;
}

static double covariance(const struct contenders *v, size_t k, size_t l)
{
    const double *x = v->centred + k * WL_JOINT_DRAWS, *y = v->centred + l * WL_JOINT_DRAWS;
    double sum = 0;
    for (size_t d = 0; d < WL_JOINT_DRAWS; d++) sum += x[d] * y[d];
    return sum / (WL_JOINT_DRAWS - 1);
}

static double gain_of(const struct contenders *v, size_t k, double run_variance, double *by)
{
    const double root = sqrt(covariance(v, k, k) + run_variance);
    double after = 0;
    for (size_t l = 0; l < v->n; l++) by[l] = covariance(v, k, l) / root;
    for (size_t q = 0; q < wl_hermite_9.n; q++) {
        double least = INFINITY;
        for (size_t l = 0; l < v->n; l++) least = fmin(least, v->mean[l] + by[l] * wl_hermite_9.node[q]);
        after += wl_hermite_9.weight[q] * least;
    }
    return v->mean[0] - after;
}

void wl_choose_value_runs(const struct wl_choose_context *c, struct wl_choose_result *out, struct wl_arena *a)
{
    struct wl_arena *scratch = wl_arena_new(a);
    const struct contenders v = contenders_of(c, out, scratch);
    double *by = wl_new_array(scratch, double, v.n), best = 0;
    for (size_t k = 0; k < v.n; k++) {
        const double gain = gain_of(&v, k, wl_choose_run_variance(c, c->o->minimize, v.i[k]), by);
        out->rows[v.i[k]].gain = gain;
        if (gain > best) best = gain, out->measure = (int)v.i[k];
    }
    wl_arena_free(scratch);
}

int wl_choose_next_run(const struct wl_choose_result *r)
{
    const bool worth = r->measure != WL_CHOOSE_NONE && r->rows[r->measure].gain >= WL_CHOOSE_LEAST_GAIN;
    return worth ? r->measure : WL_CHOOSE_NONE;
}

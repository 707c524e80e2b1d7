#include "campaign/neighbours.h"

#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>

struct span {
    int64_t from_ns, to_ns;
};

static bool has_times(const struct wl_run_row *r)
{
    return r->status >= WL_RUN_DONE && r->start.wall_ns >= 0 && r->stop.wall_ns > r->start.wall_ns;
}

/* Times come first: of thousands of runs few overlap. */
static bool is_beside(const struct wl_run_row *x, const struct wl_run_row *y)
{
    if (x->id == y->id || x->start.wall_ns >= y->stop.wall_ns || y->start.wall_ns >= x->stop.wall_ns) return false;
    const struct wl_slurm_job *a = &x->slurm_job, *b = &y->slurm_job;
    return has_times(x) && has_times(y) && a->id && wl_str_eq(a->id, b->id) && wl_str_eq(a->cluster, b->cluster);
}

static int by_begin(const void *x, const void *y)
{
    const struct span *a = x, *b = y;
    return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

static int64_t covered_ns(struct span *v, size_t n)
{
    int64_t sum_ns = 0, until_ns = INT64_MIN;
    if (n) qsort(v, n, sizeof *v, by_begin);
    for (size_t i = 0; i < n; i++) {
        const int64_t from_ns = v[i].from_ns > until_ns ? v[i].from_ns : until_ns;
        if (v[i].to_ns <= from_ns) continue;
        sum_ns += v[i].to_ns - from_ns;
        until_ns = v[i].to_ns;
    }
    return sum_ns;
}

struct wl_neighbours wl_neighbours_of(const struct wl_run_rows *all, const struct wl_run_row *run)
{
    struct wl_neighbours out = { 0 };
    struct wl_arena *a = wl_arena_new(NULL);
    struct span *v = wl_new_array(a, struct span, all->n);
    for (size_t i = 0; i < all->n; i++) {
        const struct wl_run_row *other = &all->v[i];
        if (!is_beside(run, other)) continue;
        v[out.runs].from_ns = other->start.wall_ns > run->start.wall_ns ? other->start.wall_ns : run->start.wall_ns;
        v[out.runs++].to_ns = other->stop.wall_ns < run->stop.wall_ns ? other->stop.wall_ns : run->stop.wall_ns;
    }
    if (out.runs) out.share = (double)covered_ns(v, out.runs) / (double)(run->stop.wall_ns - run->start.wall_ns);
    wl_arena_free(a);
    return out;
}

/* ---- their effect ---- */

struct point {
    int64_t trial;
    double share, log_s;
};

static int by_trial(const void *x, const void *y)
{
    const struct point *a = x, *b = y;
    return (a->trial > b->trial) - (a->trial < b->trial);
}

/* Sums of the deviations from the means of each trial. */
struct sums {
    double xx, xy, yy, df;
};

static struct sums within_trials(const struct point *v, size_t n)
{
    struct sums s = { .df = -1 };
    for (size_t i = 0, k; i < n; i = k) {
        double x = 0, y = 0;
        for (k = i; k < n && v[k].trial == v[i].trial; k++) x += v[k].share, y += v[k].log_s;
        x /= (double)(k - i), y /= (double)(k - i);
        for (size_t j = i; j < k; j++) {
            s.xx += (v[j].share - x) * (v[j].share - x);
            s.xy += (v[j].share - x) * (v[j].log_s - y);
            s.yy += (v[j].log_s - y) * (v[j].log_s - y);
        }
        s.df += (double)(k - i) - 1;
    }
    return s;
}

struct wl_neighbours_effect wl_neighbours_effect_of(const struct wl_run_rows *all, int64_t campaign, struct wl_arena *a)
{
    /* Less variation than one run in four between alone and beside others says nothing. */
    static const double LEAST_XX = 0.25;
    struct wl_neighbours_effect e = { .pct = NAN, .lo = NAN, .hi = NAN };
    struct point *v = wl_new_array(a, struct point, all->n);
    for (size_t i = 0; i < all->n; i++) {
        const struct wl_run_row *r = &all->v[i];
        if (r->campaign != campaign || r->status != WL_RUN_DONE || r->flag || !r->slurm_job.id || !has_times(r))
            continue;
        const struct wl_neighbours beside = wl_neighbours_of(all, r);
        e.beside += beside.runs > 0;
        v[e.runs++] = (struct point) { r->trial, beside.share, log(r->time_s) };
    }
    if (e.beside == 0) return e;
    qsort(v, e.runs, sizeof *v, by_trial);
    const struct sums s = within_trials(v, e.runs);
    if (s.xx < LEAST_XX || s.df < 2) return e;
    const double slope = s.xy / s.xx, rest = fmax(s.yy - slope * s.xy, 0);
    const double half = wl_t_quantile(0.975, s.df) * sqrt(rest / s.df / s.xx);
    e.pct = 100 * expm1(slope);
    e.lo = 100 * expm1(slope - half);
    e.hi = 100 * expm1(slope + half);
    return e;
}

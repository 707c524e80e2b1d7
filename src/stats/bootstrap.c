/* Bootstrap intervals: percentiles and BCa. Draw d takes its indices from stream d of the counter generator, so the
 * same key gives the same interval on every machine. */
#include "stats/bootstrap.h"

#include "stats/distributions.h"
#include "stats/moments.h"
#include "stats/sort.h"

#include <math.h>

static const double min_share = 0.95; /* of the draws must have a value */

/* Scratch of one bootstrap. */
struct run {
    const struct wl_bootstrap *b;
    size_t *index;
    double *one;     /* [k] */
    double *draws;   /* [k][draws] */
    double *without; /* [k][n] values with one case left out */
};

static void value_of(const struct run *r, size_t n) { r->b->statistic(r->index, n, r->one, r->b->data); }

static void draw_all(const struct run *r)
{
    const struct wl_bootstrap *b = r->b;
    for (size_t d = 0; d < b->draws; d++) {
        wl_random_indices(b->key, d, b->n, b->n, r->index);
        value_of(r, b->n);
        for (size_t j = 0; j < b->k; j++) r->draws[j * b->draws + d] = r->one[j];
    }
}

static void leave_one_out(const struct run *r)
{
    size_t n = r->b->n;
    for (size_t left = 0; left < n; left++) {
        for (size_t i = 0, m = 0; i < n; i++)
            if (i != left) r->index[m++] = i;
        value_of(r, n - 1);
        for (size_t j = 0; j < r->b->k; j++) r->without[j * n + left] = r->one[j];
    }
}

/* Quantile p of the sorted draws, with linear interpolation. */
static double percentile(const double *sorted, size_t n, double p)
{
    double at = fmin(fmax(p * ((double)n + 1) - 1, 0), (double)n - 1), part = at - floor(at);
    size_t low = (size_t)at;
    return low + 1 < n ? sorted[low] + part * (sorted[low + 1] - sorted[low]) : sorted[low];
}

/* The skewness of the values that leave one case out, over 6. */
static double acceleration(const double *without, size_t n)
{
    double mean = wl_mean(without, n), cubes = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        double d = mean - without[i];
        squares += d * d, cubes += d * d * d;
    }
    return squares > 0 ? cubes / (6 * pow(squares, 1.5)) : 0;
}

/* Efron 1987: the percentiles corrected for the bias z0 and the acceleration. */
static void correct(struct wl_bootstrap_interval *out, const double *sorted, size_t n, double acceleration,
                    double level)
{
    double below = 0, ends[2];
    for (size_t i = 0; i < n; i++) below += sorted[i] < out->value ? 1 : sorted[i] == out->value ? 0.5 : 0;
    double z0 = wl_normal_quantile(below / (double)n);
    if (!isfinite(z0) || !isfinite(acceleration)) return;
    for (int side = 0; side < 2; side++) {
        double z = z0 + wl_normal_quantile(side ? 0.5 + level / 2 : 0.5 - level / 2);
        ends[side] = percentile(sorted, n, wl_normal_cdf(z0 + z / (1 - acceleration * z)));
    }
    out->bca_lo = ends[0];
    out->bca_hi = ends[1];
}

/* Sorts the draws that have a value to the front. */
static size_t keep(double *v, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(v[i])) v[kept++] = v[i];
    wl_sort_ascending(v, kept);
    return kept;
}

static void interval(const struct run *r, size_t j, double level, struct wl_bootstrap_interval *out)
{
    const struct wl_bootstrap *b = r->b;
    double *v = r->draws + j * b->draws;
    size_t kept = keep(v, b->draws);
    out->draws = kept;
    if (!isfinite(out->value) || (double)kept < min_share * (double)b->draws) return;
    out->se = wl_sd(v, kept);
    out->lo = percentile(v, kept, 0.5 - level / 2);
    out->hi = percentile(v, kept, 0.5 + level / 2);
    correct(out, v, kept, acceleration(r->without + j * b->n, b->n), level);
}

int wl_bootstrap(const struct wl_bootstrap *b, double level, struct wl_bootstrap_interval *out, struct wl_arena *a,
                 struct wl_err *e)
{
    if (b->n < 2 || b->draws < 20)
        return wl_fail(e, WL_EINVAL, "a bootstrap needs at least two cases and 20 draws, got %zu and %zu", b->n,
                       b->draws);
    struct wl_arena *scratch = wl_arena_new(a);
    struct run r = { b, wl_new_array(scratch, size_t, b->n), wl_new_array(scratch, double, b->k),
                     wl_new_array(scratch, double, b->k * b->draws), wl_new_array(scratch, double, b->k * b->n) };
    for (size_t i = 0; i < b->n; i++) r.index[i] = i;
    value_of(&r, b->n);
    for (size_t j = 0; j < b->k; j++) out[j] = (struct wl_bootstrap_interval) { r.one[j], NAN, NAN, NAN, NAN, NAN, 0 };
    draw_all(&r);
    leave_one_out(&r);
    for (size_t j = 0; j < b->k; j++) interval(&r, j, level, &out[j]);
    wl_arena_free(scratch);
    return 0;
}

/* Lines that a few bad points do not move far. */
#include "stats/robust.h"

#include "stats/distributions.h"
#include "stats/moments.h"
#include "stats/ols.h"
#include "stats/sort.h"

#include <math.h>
#include <string.h>

/* Sum of k (k-1) (2k+5) over groups of k equal values. */
static double ties(const double *v, size_t n, struct wl_arena *a)
{
    double *sorted = wl_new_array(a, double, n), sum = 0;
    memcpy(sorted, v, n * sizeof *v);
    wl_sort_ascending(sorted, n);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && sorted[end] == sorted[i];) end++;
        double k = (double)(end - i);
        sum += k * (k - 1) * (2 * k + 5);
    }
    return sum;
}

struct wl_robust_line wl_theil_sen(const double *x, const double *y, size_t n, double level, struct wl_arena *a)
{
    struct wl_robust_line out = { NAN, NAN, NAN, NAN, NAN, NAN };
    double *slopes = wl_new_array(a, double, n *n / 2 + 1), *rest = wl_new_array(a, double, n);
    size_t m = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            if (x[i] != x[j]) slopes[m++] = (y[i] - y[j]) / (x[i] - x[j]);
    if (!m) return out;
    out.b1 = wl_median(slopes, m, a);
    for (size_t i = 0; i < n; i++) rest[i] = y[i] - out.b1 * x[i];
    out.b0 = wl_median(rest, n, a);
    wl_sort_ascending(slopes, m);
    double count = (double)n, pairs = (double)m;
    double sigma = sqrt((count * (count - 1) * (2 * count + 5) - ties(x, n, a) - ties(y, n, a)) / 18);
    double half = wl_normal_quantile(0.5 + level / 2) * sigma;
    double first = rint((pairs - half) / 2) - 1, last = rint((pairs + half) / 2);
    out.lo = slopes[(size_t)fmax(first, 0)];
    out.hi = slopes[(size_t)fmin(last, pairs - 1)];
    return out;
}

static const double huber_t = 1.345, mad_to_sd = 0.67448975019608171; /* normal quantile of 3/4 */

static double huber_scale(const double *residual, size_t n, double *scratch, struct wl_arena *a)
{
    for (size_t i = 0; i < n; i++) scratch[i] = fabs(residual[i]);
    return wl_median(scratch, n, a) / mad_to_sd;
}

/* Standard error of b1: K^2 (sum psi^2 / (n - 2)) / mean(psi')^2 (X'X)^-1, K = 1 + 2/n var(psi') / mean(psi')^2. */
static double huber_error(const struct wl_ols *line, const double *x, const double *residual, double scale)
{
    double n = (double)line->n, squares = 0, inside = 0, mean_x = 0, spread = 0;
    for (size_t i = 0; i < line->n; i++) {
        double u = fabs(residual[i]) / scale;
        squares += fmin(u, huber_t) * fmin(u, huber_t);
        inside += u <= huber_t;
        mean_x += x[i] / n;
    }
    for (size_t i = 0; i < line->n; i++) spread += (x[i] - mean_x) * (x[i] - mean_x);
    double mean = inside / n, k = 1 + 2 / n * (mean * (1 - mean)) / (mean * mean);
    return k * scale * sqrt(squares / (n - 2)) / mean / sqrt(spread);
}

int wl_huber(const double *x, const double *y, size_t n, double level, struct wl_robust_line *out, struct wl_arena *a,
             struct wl_err *e)
{
    struct wl_ols line;
    double *weights = wl_new_array(a, double, n), *scratch = wl_new_array(a, double, n), last = NAN;
    const struct wl_ols_data weighted = { n, 1, y, x, weights, .intercept = true };
    int rc = wl_ols_line(&line, y, x, n, a, e);
    if (rc) return rc;
    if (!(line.df > 0)) return wl_fail(e, WL_EINVAL, "Huber's line: no degrees of freedom");
    for (int round = 0; round < 1000; round++) {
        double scale = huber_scale(line.residual, n, scratch, a);
        if (!(scale > 0)) return wl_fail(e, WL_EINVAL, "Huber's line: half of the points lie on it, so its scale is 0");
        if (fabs(line.b[1] - last) <= 1e-13 * fabs(last)) {
            double se = huber_error(&line, x, line.residual, scale);
            double half = wl_t_quantile(0.5 + level / 2, line.df) * se;
            *out = (struct wl_robust_line) { line.b[0], line.b[1], se, line.b[1] - half, line.b[1] + half, scale };
            return 0;
        }
        last = line.b[1];
        for (size_t i = 0; i < n; i++) weights[i] = fmin(1, huber_t * scale / fabs(line.residual[i]));
        rc = wl_ols_fit(&line, &weighted, a, e);
        if (rc) return rc;
    }
    return wl_fail(e, WL_EINVAL, "Huber's line: no convergence in 1000 iterations");
}

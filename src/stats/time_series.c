/* Time series: effective sample size of a mean of dependent values, and the end of the warm-up. */
#include "stats/time_series.h"

#include "stats/moments.h"

#include <math.h>

enum { BATCHES = 20, MSER_BATCH = 5 };

/* Sum over i of (v[i] - mean) (v[i + lag] - mean). */
static double product_sum(const double *v, size_t n, double mean, size_t lag)
{
    double sum = 0;
    for (size_t i = 0; i + lag < n; i++) sum += (v[i] - mean) * (v[i + lag] - mean);
    return sum;
}

/* 1 + 2 (rho_1 + rho_2 + ...), by pairs of neighbouring lags for as long as they are positive: of a reversible chain
 * their sums are, so the first that is not is noise. */
static double integrated_time(const double *v, size_t n, double mean, double whole)
{
    double tau = -1;
    for (size_t lag = 0; lag + 1 < n; lag += 2) {
        double pair = (product_sum(v, n, mean, lag) + product_sum(v, n, mean, lag + 1)) / whole;
        if (!(pair > 0)) break;
        tau += 2 * pair;
    }
    return fmax(tau, 1 / (double)n); /* antithetic series come near 0 */
}

static double batch_error(const double *v, size_t n)
{
    double means[BATCHES];
    size_t each = n / BATCHES;
    if (each < 2) return NAN;
    for (size_t b = 0; b < BATCHES; b++) means[b] = wl_mean(v + n - (BATCHES - b) * each, each);
    return wl_sd(means, BATCHES) / sqrt(BATCHES);
}

struct wl_autocorrelation wl_autocorrelation(const double *v, size_t n)
{
    struct wl_autocorrelation out = { .lag1 = NAN, .tau = NAN, .ess = NAN, .se = NAN, .se_batches = NAN };
    double mean = wl_mean(v, n), sd = wl_sd(v, n), whole = product_sum(v, n, mean, 0);
    if (!(sd > 0)) return out;
    out.lag1 = product_sum(v, n, mean, 1) / whole;
    out.tau = integrated_time(v, n, mean, whole);
    out.ess = (double)n / out.tau;
    out.se = sd / sqrt(out.ess);
    out.se_batches = batch_error(v, n);
    return out;
}

size_t wl_mser5(const double *v, size_t n)
{
    size_t batches = n / MSER_BATCH, best = 0;
    double mean = 0, squares = 0, least = INFINITY;
    for (size_t d = batches; d-- > 0;) { /* from the end, so that each batch joins the tail once (Welford) */
        double z = wl_mean(v + d * MSER_BATCH, MSER_BATCH), count = (double)(batches - d), step = z - mean;
        mean += step / count;
        squares += step * (z - mean);
        double statistic = squares / (count * count);
        if (2 * d < batches && statistic <= least) least = statistic, best = d;
    }
    return best * MSER_BATCH;
}

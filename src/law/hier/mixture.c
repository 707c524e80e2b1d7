/* Mixtures of normal distributions. */
#include "law/hier/hier.h"

#include "stats/stats.h"

#include <math.h>
#include <pthread.h>

double wl_hier_cdf(const struct wl_hier_mixture *m, double y)
{
    double p = 0;
    for (size_t i = 0; i < m->n; i++) p += m->weight[i] * wl_normal_cdf((y - m->mean[i]) / m->sd[i]);
    return p;
}

/* ---- quantiles ---- */

/* The standard normal distribution and density at multiples of 1/16 up to 8, beyond which the distribution is 0 or 1
 * to 1e-15. */
enum { PER_UNIT = 16, END = 8, NODES = 2 * END * PER_UNIT + 1 };
static struct {
    double cdf, pdf;
} normal[NODES];
static pthread_once_t normal_once = PTHREAD_ONCE_INIT;

static void fill_normal(void)
{
    for (int i = 0; i < NODES; i++) {
        const double z = (double)i / PER_UNIT - END;
        normal[i].cdf = wl_normal_cdf(z);
        normal[i].pdf = exp(-0.5 * z * z) / sqrt(2 * M_PI);
    }
}

/* Adds one component at z: Taylor's series about the nearest node, whose terms are Hermite polynomials times its
 * density. With |h| <= 1/32 the distribution is exact to 1e-12, the density, which only steers Newton's steps, to 1e-6.
 */
static inline void add_normal(double z, double weight, double per_sd, double *cdf, double *pdf)
{
    if (!(fabs(z) < END)) {
        *cdf += z > 0 ? weight : 0;
        return;
    }
    const int node = (int)(z * PER_UNIT + (END * PER_UNIT + 0.5));
    const double x = (double)node / PER_UNIT - END, h = z - x, x2 = x * x;
    const double h2 = x, h3 = x2 - 1, h4 = x * (x2 - 3), h5 = (x2 - 6) * x2 + 3, h6 = x * ((x2 - 10) * x2 + 15);
    const double density = normal[node].pdf * weight;
    *cdf += normal[node].cdf * weight +
            density * h * (1 - h * (h2 / 2 - h * (h3 / 6 - h * (h4 / 24 - h * (h5 / 120 - h * h6 / 720)))));
    *pdf += density * per_sd * (1 - h * (h2 - h * (h3 / 2 - h * h4 / 6)));
}

struct excess {
    double value, slope; /* of the distribution over p, and its density */
};

static struct excess excess_at(const struct wl_hier_mixture *m, const double *per_sd, double y, double p)
{
    double cdf = 0, pdf = 0;
    for (size_t i = 0; i < m->n; i++) add_normal((y - m->mean[i]) * per_sd[i], m->weight[i], per_sd[i], &cdf, &pdf);
    return (struct excess) { cdf - p, pdf };
}

/* Newton's steps from where a normal distribution with the mean and the variance would have it, kept inside a bracket;
 * one that leaves it, or halves it too slowly, is a bisection. A step this small, in units of the smallest sd, has an
 * error of its square. */
static double quantile(const struct wl_hier_mixture *m, const double *per_sd, double p, double start)
{
    enum { NEWTON = 30, STEPS = 90 };
    static const double small_step = 1e-6;
    double lo = INFINITY, hi = -INFINITY, sd_min = INFINITY;
    for (size_t i = 0; i < m->n; i++) {
        lo = m->mean[i] - 9 * m->sd[i] < lo ? m->mean[i] - 9 * m->sd[i] : lo;
        hi = m->mean[i] + 9 * m->sd[i] > hi ? m->mean[i] + 9 * m->sd[i] : hi;
        sd_min = m->sd[i] < sd_min ? m->sd[i] : sd_min;
    }
    const double close = 1e-15 * (hi - lo), small = fmax(small_step * sd_min, close);
    double y = lo < start && start < hi ? start : (lo + hi) / 2;
    for (int i = 0; i < STEPS && hi - lo > close; i++) {
        const struct excess e = excess_at(m, per_sd, y, p);
        *(e.value < 0 ? &lo : &hi) = y;
        const double next = i < NEWTON ? y - e.value / e.slope : NAN;
        if (fabs(next - y) <= small) return next;
        y = lo < next && next < hi ? next : (lo + hi) / 2;
    }
    return y;
}

void wl_hier_quantiles(const struct wl_hier_mixture *m, const double *levels, size_t n, double *out)
{
    struct wl_arena *scratch = wl_arena_new(NULL);
    double *per_sd = wl_new_array(scratch, double, m->n);
    const double mean = wl_hier_mean(m), sd = sqrt(wl_hier_variance(m));
    pthread_once(&normal_once, fill_normal);
    for (size_t i = 0; i < m->n; i++) per_sd[i] = 1 / m->sd[i];
    for (size_t k = 0; k < n; k++) out[k] = quantile(m, per_sd, levels[k], mean + sd * wl_normal_quantile(levels[k]));
    wl_arena_free(scratch);
}

double wl_hier_quantile(const struct wl_hier_mixture *m, double p)
{
    double y;
    wl_hier_quantiles(m, &p, 1, &y);
    return y;
}

double wl_hier_mean(const struct wl_hier_mixture *m)
{
    double mean = 0;
    for (size_t i = 0; i < m->n; i++) mean += m->weight[i] * m->mean[i];
    return mean;
}

double wl_hier_variance(const struct wl_hier_mixture *m)
{
    double mean = wl_hier_mean(m), variance = 0;
    for (size_t i = 0; i < m->n; i++) {
        double off = m->mean[i] - mean;
        variance += m->weight[i] * (m->sd[i] * m->sd[i] + off * off);
    }
    return variance;
}

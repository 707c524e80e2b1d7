/* Is a sample from some normal distribution? */
#include "stats/diagnostics.h"
#include "stats/distributions.h"
#include "stats/moments.h"
#include "stats/sort.h"

#include <math.h>
#include <string.h>

static const struct wl_hypothesis_test no_test = { NAN, NAN, NAN, NAN };

static double *sorted_copy(const double *v, size_t n, struct wl_arena *a)
{
    double *out = wl_new_array(a, double, n);
    memcpy(out, v, n * sizeof *v);
    wl_sort_ascending(out, n);
    return out;
}

static double polynomial(const double *c, size_t terms, double x)
{
    double sum = 0;
    for (size_t i = terms; i-- > 0;) sum = sum * x + c[i];
    return sum;
}
#define POLYNOMIAL(x, ...) \
    polynomial((const double[]) { __VA_ARGS__ }, sizeof((double[]) { __VA_ARGS__ }) / sizeof(double), (x))

/* Royston's weights of the ordered sample, antisymmetric: w [n]. */
static void weights(double *w, size_t n)
{
    double squares = 0, count = (double)n, u = 1 / sqrt(count);
    for (size_t i = 0; i < n; i++) {
        w[i] = wl_normal_quantile(((double)i + 0.625) / (count + 0.25));
        squares += w[i] * w[i];
    }
    double last = w[n - 1], before = n > 3 ? w[n - 2] : 0;
    if (n == 3) {
        w[0] = -M_SQRT1_2, w[1] = 0, w[2] = M_SQRT1_2;
        return;
    }
    double top = last / sqrt(squares) + POLYNOMIAL(u, 0, 0.221157, -0.147981, -2.07119, 4.434685, -2.706056);
    double next = before / sqrt(squares) + POLYNOMIAL(u, 0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633);
    bool two = n > 5;
    double rest = two ? squares - 2 * last * last - 2 * before * before : squares - 2 * last * last;
    double share = two ? 1 - 2 * top * top - 2 * next * next : 1 - 2 * top * top;
    for (size_t i = 0; i < n; i++) w[i] *= sqrt(share / rest);
    w[n - 1] = top, w[0] = -top;
    if (two) w[n - 2] = next, w[1] = -next;
}

/* P(W is as small): a normal variate of ln(1 - W). */
static double shapiro_p(double w, size_t n)
{
    double count = (double)n, l = log(count), y = log1p(-w), mean, sd;
    if (n == 3) return fmax(6 / M_PI * (asin(sqrt(w)) - asin(sqrt(0.75))), 0);
    if (n <= 11) {
        double gamma = POLYNOMIAL(count, -2.273, 0.459);
        if (y >= gamma) return 0; /* outside the range of the approximation: far in the tail */
        y = -log(gamma - y);
        mean = POLYNOMIAL(count, 0.544, -0.39978, 0.025054, -6.714e-4);
        sd = exp(POLYNOMIAL(count, 1.3822, -0.77857, 0.062767, -0.0020322));
    } else {
        mean = POLYNOMIAL(l, -1.5861, -0.31082, -0.083751, 0.0038915);
        sd = exp(POLYNOMIAL(l, -0.4803, -0.082676, 0.0030302));
    }
    return wl_normal_sf((y - mean) / sd);
}

struct wl_hypothesis_test wl_shapiro_wilk(const double *v, size_t n, struct wl_arena *a)
{
    double sd = wl_sd(v, n);
    if (n < 3 || n > 5000 || !(sd > 0)) return no_test;
    double *x = sorted_copy(v, n, a), *w = wl_new_array(a, double, n), mean = wl_mean(v, n), slope = 0;
    weights(w, n);
    for (size_t i = 0; i < n; i++) slope += w[i] * (x[i] - mean) / sd;
    double statistic = fmin(slope * slope / (double)(n - 1), 1);
    return (struct wl_hypothesis_test) { statistic, NAN, NAN, shapiro_p(statistic, n) };
}

/* P(A is as large), D'Agostino and Stephens 1986, table 4.9. */
static double anderson_p(double s)
{
    if (s >= 13) return 0;
    if (s >= 0.6) return exp(POLYNOMIAL(s, 1.2937, -5.709, 0.0186));
    if (s >= 0.34) return exp(POLYNOMIAL(s, 0.9177, -4.279, -1.38));
    if (s >= 0.2) return 1 - exp(POLYNOMIAL(s, -8.318, 42.796, -59.938));
    return 1 - exp(POLYNOMIAL(s, -13.436, 101.14, -223.73));
}

struct wl_hypothesis_test wl_anderson_darling(const double *v, size_t n, struct wl_arena *a)
{
    double sd = wl_sd(v, n), mean = wl_mean(v, n), sum = 0, count = (double)n;
    if (n < 8 || !(sd > 0)) return no_test;
    double *x = sorted_copy(v, n, a);
    for (size_t i = 0; i < n; i++) {
        double lower = wl_normal_cdf((x[i] - mean) / sd), upper = wl_normal_sf((x[n - 1 - i] - mean) / sd);
        sum += (2 * (double)i + 1) * (log(lower) + log(upper));
    }
    double squared = -count - sum / count;
    return (struct wl_hypothesis_test) { squared, NAN, NAN,
                                         anderson_p(squared * (1 + 0.75 / count + 2.25 / (count * count))) };
}

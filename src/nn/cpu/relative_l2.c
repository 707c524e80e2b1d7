/* Relative L2 distance of fields, on all threads. Sums over a sample are those of a fixed number of parts, in order:
 * the same for any number of threads. Specification: wl_ref_relative_l2. */
#include "nn/cpu/cpu.h"
#include "nn/lowering/lowering.h"
#include "nn/threads.h"

#include <math.h>

enum { PARTS = 64 };

/* Sums of squares: of x - t, and of t. */
struct squares {
    double apart, target;
};

static struct squares part_of(const float *x, const float *t, int64_t from, int64_t to)
{
    double apart = 0, target = 0;
#pragma omp simd reduction(+ : apart, target)
    for (int64_t i = from; i < to; i++) {
        const double d = (double)x[i] - (double)t[i];
        apart += d * d;
        target += (double)t[i] * (double)t[i];
    }
    return (struct squares) { apart, target };
}

static struct squares squares_of(int64_t f, const float *x, const float *t)
{
    struct squares part[PARTS], sum = { 0 };
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < PARTS; i++) part[i] = part_of(x, t, f * i / PARTS, f * (i + 1) / PARTS);
    for (int i = 0; i < PARTS; i++) {
        sum.apart += part[i].apart;
        sum.target += part[i].target;
    }
    return sum;
}

static double forward(int64_t n, int64_t f, const float *x, const float *t, int64_t *samples)
{
    double sum = 0;
    *samples = 0;
    for (int64_t i = 0; i < n; i++, x += f, t += f) {
        if (isnan(t[0])) continue;
        const struct squares s = squares_of(f, x, t);
        sum += sqrt(s.apart) / sqrt(s.target);
        ++*samples;
    }
    return sum;
}

static void backward(int64_t n, int64_t f, double weight, const float *x, const float *t, float *dx)
{
    int64_t samples = 0;
    for (int64_t i = 0; i < n; i++) samples += !isnan(t[i * f]);
    for (int64_t i = 0; i < n; i++, x += f, t += f, dx += f) {
        const struct squares s = isnan(t[0]) ? (struct squares) { 0 } : squares_of(f, x, t);
        const double far = sqrt(s.apart);
        const double scale = far > 0 ? weight / (far * sqrt(s.target) * (double)samples) : 0;
#pragma omp parallel for simd schedule(static)
        for (int64_t j = 0; j < f; j++) dx[j] = far > 0 ? (float)(scale * ((double)x[j] - (double)t[j])) : 0;
    }
}

static const struct wl_distance_kernels kernels = { forward, backward };

const struct wl_op_rules wl_cpu_op_relative_l2 = { wl_lower_loss, wl_lower_loss_backward,
                                                   .lowering = &wl_loss_relative_l2, .kernels = &kernels };

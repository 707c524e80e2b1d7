#include "nn/simd/levels.h"

#include <math.h>

/* Reads w, g, m, v and writes w, m, v: 28 bytes per element, so it is bound by memory. */
void WL_SIMD_NAME(wl_adam)(const struct wl_adam *step, float *restrict w, const float *restrict g, float *restrict m,
                           float *restrict v, size_t n)
{
    const struct wl_adam o = *step;
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        float d = o.scale * g[i] + o.l2 * w[i];
        float mean = o.beta[0] * m[i] + o.rest[0] * d, square = o.beta[1] * v[i] + o.rest[1] * d * d;
        m[i] = mean;
        v[i] = square;
        w[i] = o.shrink * w[i] - o.rate * mean / (o.root * sqrtf(square) + o.eps);
    }
}

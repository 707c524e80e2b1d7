/* DimeNet's bases of distances and angles, as nn/ref: in double, then rounded. They are made once a run, of 4 bytes a
 * row and number written, and are read by every block of the network. Their flop, some hundreds in double a number of
 * spherical_basis at most, take as long as one of its matrix products where double is a 64th of the rate of float. */
#include "nn/gpu/kernels/bases.h"

#include "nn/gpu/kernels/device.h"
#include "nn/lowering/spherical_bessel.h"

/* As wl_bessel_envelope. */
WL_DEVICE double envelope(int p, double x)
{
    if (x >= 1) return 0;
    double sum = 0;
    for (int m = p - 1; m >= 0; m--) sum = sum * x + (m + 1) * (m + 2) / 2;
    return (1 - x) * (1 - x) * (1 - x) / x * sum;
}

/* t in half turns, which needs no table of pi for large arguments, as sin and cos do. */
constexpr double PER_PI = 0.31830988618379067154;

WL_KERNEL(bessel_basis, 256, struct wl_gpu_bessel)
{
    const int64_t n = (int64_t)*a.rows * a.radial;
    for (int64_t i = wl_thread(); i < n; i += wl_threads()) {
        const int row = (int)(i / a.radial);
        const double x = (double)a.distance[row] / a.cutoff;
        a.y[i] = (float)(envelope(a.power, x) * sinpi((double)a.freq[i - (int64_t)row * a.radial] * x * PER_PI));
    }
}

WL_KERNEL(bessel_backward, 256, struct wl_gpu_bessel_backward)
{
    __shared__ double shared[256];
    const int rows = *a.rows, n = (int)blockIdx.y;
    const double freq = (double)a.freq[n];
    double sum = 0;
    for (int r = (int)wl_thread(); r < rows; r += (int)wl_threads()) {
        const double x = (double)a.distance[r] / a.cutoff;
        sum += (double)a.dy[(int64_t)r * a.radial + n] * envelope(a.power, x) * x * cospi(freq * x * PER_PI);
    }
    shared[threadIdx.x] = sum;
    for (int half = 128; half; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    }
    if (!threadIdx.x) a.parts.at[(int64_t)blockIdx.x * a.parts.apart + n] = (float)shared[0];
}

/* cos(t) for any t would need a stack frame. */
WL_DEVICE double spherical_bessel(int order, double t)
{
    if (t < order + 1) return wl_bessel_series(order, t);
    return wl_bessel_recurrence(order, t, cospi(t * PER_PI), sinpi(t * PER_PI));
}

WL_KERNEL(spherical_basis, 256, struct wl_gpu_spherical)
{
    const int64_t n = (int64_t)*a.rows * a.functions;
    for (int64_t k = wl_thread(); k < n; k += wl_threads()) {
        const int row = (int)(k / a.functions), i = (int)(k - (int64_t)row * a.functions);
        const double x = (double)a.distance[row] / a.cutoff;
        a.y[k] = (float)(envelope(a.power, x) * a.norm[i] * spherical_bessel(i / a.radial, a.zero[i] * x));
    }
}

WL_KERNEL(angular_basis, 256, struct wl_gpu_angular)
{
    const int rows = *a.rows;
    for (int64_t r = wl_thread(); r < rows; r += wl_threads()) {
        const double c = (double)a.cosine[r];
        double before = 0, p = 1;
        for (int l = 0; l < a.orders; l++) {
            a.y[r * a.orders + l] = (float)(sqrt((2 * l + 1) * (PER_PI / 4)) * p);
            const double next = ((2 * l + 1) * c * p - l * before) / (l + 1);
            before = p;
            p = next;
        }
    }
}

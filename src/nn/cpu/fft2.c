#include "nn/cpu/cpu.h"
#include "nn/simd/simd.h"
#include "nn/threads.h"

#include <math.h>

/* Twiddles of each stage, radix 4 first: it takes the fewest operations. */
static struct wl_fft plan_fft(int64_t n, struct wl_arena *a)
{
    static const int radixes[] = { 4, 5, 3, 2 };
    struct wl_fft f = { .n = (int)n };
    int left = f.n;
    for (size_t i = 0; i < WL_COUNT(radixes); i++)
        while (left % radixes[i] == 0) {
            const int radix = radixes[i], q = left / radix;
            float *t = wl_new_array(a, float, (size_t)(2 * left));
            for (int j = 0; j < q; j++)
                for (int u = 0; u < radix; u++) {
                    const double angle = -2 * M_PI * j * u / left;
                    t[2 * (j * radix + u)] = (float)cos(angle);
                    t[2 * (j * radix + u) + 1] = (float)sin(angle);
                }
            f.radix[f.stages] = radix;
            f.twiddle[f.stages++] = t;
            left = q;
        }
    return f;
}

static const void *plan_fft2(const struct wl_node *n, struct wl_arena *a)
{
    const struct wl_fourier_size v = wl_fourier_size(n);
    struct wl_fft2 *f = wl_new(a, struct wl_fft2);
    *f = (struct wl_fft2) { .across = plan_fft(v.w, a), .down = plan_fft(v.h, a), .modes = v.modes };
    f->scale = (float)(1 / sqrt((double)(v.h * v.w)));
    return f;
}

/* Of one thread: the spectra of the rows, and two rows or columns, as vectors of complex numbers. */
static size_t scratch_of_thread(const struct wl_fourier_size *v)
{
    const size_t most = (size_t)(v->h > v->w ? v->h : v->w);
    return (2 * (size_t)(v->modes * v->h) + 2 * most) * WL_FFT_CHANNELS * sizeof(float);
}

static size_t fft_scratch(const struct wl_node *n)
{
    const struct wl_fourier_size v = wl_fourier_size(n);
    return scratch_of_thread(&v) * (size_t)omp_get_max_threads();
}

/* A task is up to WL_FFT_CHANNELS channels of one block of one field. */
struct task {
    int64_t x, s; /* the first point and mode */
    int channels;
};

static struct task task_of(const struct wl_fourier_size *v, int64_t i)
{
    const int64_t groups = (v->size + WL_FFT_CHANNELS - 1) / WL_FFT_CHANNELS, j = i % groups * WL_FFT_CHANNELS;
    const int64_t b = i / groups % v->blocks, n = i / groups / v->blocks, rest = v->size - j;
    return (struct task) {
        .x = (n * v->h * v->w * v->blocks + b) * v->size + j,
        .s = (n * v->h * v->modes * v->blocks + b) * 2 * v->size + j,
        .channels = rest < WL_FFT_CHANNELS ? (int)rest : WL_FFT_CHANNELS,
    };
}

static int64_t tasks(const struct wl_fourier_size *v)
{
    return v->n * v->blocks * ((v->size + WL_FFT_CHANNELS - 1) / WL_FFT_CHANNELS);
}

static void *own_scratch(void *scratch, const struct wl_fourier_size *v)
{
    return (char *)scratch + scratch_of_thread(v) * (size_t)omp_get_thread_num();
}

static void fft2(const struct wl_node *n, const void *prepared, void *scratch, const float *x, float *s)
{
    const struct wl_fourier_size v = wl_fourier_size(n);
    const struct wl_simd *simd = wl_simd();
    const int64_t step = v.blocks * v.size;
#pragma omp parallel for schedule(dynamic)
    for (int64_t i = 0; i < tasks(&v); i++) {
        const struct task t = task_of(&v, i);
        simd->fft2(prepared, n->op == WL_OP_INVERSE_FFT2, x + t.x, step, s + t.s, s + t.s + v.size, 2 * step,
                   t.channels, own_scratch(scratch, &v));
    }
}

static void inverse_fft2(const struct wl_node *n, const void *prepared, void *scratch, const float *s, float *x)
{
    const struct wl_fourier_size v = wl_fourier_size(n);
    const struct wl_simd *simd = wl_simd();
    const int64_t step = v.blocks * v.size;
#pragma omp parallel for schedule(dynamic)
    for (int64_t i = 0; i < tasks(&v); i++) {
        const struct task t = task_of(&v, i);
        simd->inverse_fft2(prepared, n->op == WL_OP_INVERSE_FFT2, s + t.s, s + t.s + v.size, 2 * step, x + t.x, step,
                           t.channels, own_scratch(scratch, &v));
    }
}

static const struct wl_linear_map forward = { plan_fft2, fft_scratch, fft2, inverse_fft2 };
static const struct wl_linear_map inverse = { plan_fft2, fft_scratch, inverse_fft2, fft2 };

const struct wl_op_rules wl_cpu_op_fft2 = { wl_lower_linear_map, wl_lower_linear_map_backward, .kernels = &forward };
const struct wl_op_rules wl_cpu_op_inverse_fft2 = { wl_lower_linear_map, wl_lower_linear_map_backward,
                                                    .kernels = &inverse };

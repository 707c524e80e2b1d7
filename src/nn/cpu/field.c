/* Patches, positions and Fourier transforms: memory sets their pace. */
#include "nn/cpu/cpu.h"
#include "nn/ref/ref.h"
#include "nn/simd/simd.h"
#include "nn/threads.h"

#include <math.h>
#include <string.h>

/* ---- patches ---- */

/* The points of line y of channel c that one square has: side floats in a row. Steps of row elements between channels,
 * lines and points of a square. */
struct order {
    int64_t channel, line, point;
};

static struct order order_of(const struct wl_node *n, const struct wl_patch_size *v)
{
    const int64_t s = v->side;
    return n->op == WL_OP_PATCHES ? (struct order) { s * s, s, 1 } : (struct order) { 1, s * v->c, v->c };
}

static void move_line(const struct order *o, int64_t side, float *image, float *row, bool to_image)
{
    for (int64_t q = 0; q < side; q++) {
        float *point = row + q * o->point;
        if (to_image)
            image[q] = *point;
        else
            *point = image[q];
    }
}

/* A task is a line of squares of one image. */
static void move(const struct wl_node *n, float *image, float *rows, bool to_image)
{
    const struct wl_patch_size v = wl_patch_size(n);
    const struct order o = order_of(n, &v);
    const int64_t down = v.h / v.side, across = v.w / v.side, size = v.c * v.side * v.side;
#pragma omp parallel for schedule(static)
    for (int64_t task = 0; task < v.n * down; task++)
        for (int64_t c = 0; c < v.c; c++)
            for (int64_t p = 0; p < v.side; p++) {
                float *line = image + ((task / down * v.c + c) * v.h + task % down * v.side + p) * v.w;
                float *row = rows + task * across * size + c * o.channel + p * o.line;
                for (int64_t x = 0; x < across; x++) move_line(&o, v.side, line + x * v.side, row + x * size, to_image);
            }
}

static void to_rows(const struct wl_node *n, const void *prepared, void *scratch, const float *image, float *rows)
{
    (void)prepared;
    (void)scratch;
    move(n, (float *)image, rows, false); /* read only */
}

static void to_image(const struct wl_node *n, const void *prepared, void *scratch, const float *rows, float *image)
{
    (void)prepared;
    (void)scratch;
    move(n, image, (float *)rows, true); /* read only */
}

/* ---- Fourier transforms ---- */

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
    const struct wl_simd *wide = wl_simd();
    const int64_t step = v.blocks * v.size;
#pragma omp parallel for schedule(dynamic)
    for (int64_t i = 0; i < tasks(&v); i++) {
        const struct task t = task_of(&v, i);
        wide->fft2(prepared, n->op == WL_OP_INVERSE_FFT2, x + t.x, step, s + t.s, s + t.s + v.size, 2 * step,
                   t.channels, own_scratch(scratch, &v));
    }
}

static void inverse_fft2(const struct wl_node *n, const void *prepared, void *scratch, const float *s, float *x)
{
    const struct wl_fourier_size v = wl_fourier_size(n);
    const struct wl_simd *wide = wl_simd();
    const int64_t step = v.blocks * v.size;
#pragma omp parallel for schedule(dynamic)
    for (int64_t i = 0; i < tasks(&v); i++) {
        const struct task t = task_of(&v, i);
        wide->inverse_fft2(prepared, n->op == WL_OP_INVERSE_FFT2, s + t.s, s + t.s + v.size, 2 * step, x + t.x, step,
                           t.channels, own_scratch(scratch, &v));
    }
}

static const struct wl_linear_map maps[WL_OP_COUNT] = {
    [WL_OP_PATCHES] = { .apply = to_rows, .adjoint = to_image },
    [WL_OP_FROM_PATCHES] = { .apply = to_image, .adjoint = to_rows },
    [WL_OP_FFT2] = { plan_fft2, fft_scratch, fft2, inverse_fft2 },
    [WL_OP_INVERSE_FFT2] = { plan_fft2, fft_scratch, inverse_fft2, fft2 },
};

int wl_cpu_linear_map_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    return wl_lower_linear_map(p, n, &maps[n->op], e);
}

int wl_cpu_linear_map_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    return wl_lower_linear_map_backward(p, n, &maps[n->op], e);
}

/* ---- position ---- */

static void add_position(int64_t n, int64_t size, const float *restrict x, const float *restrict p, float *restrict y)
{
    for (int64_t k = 0; k < n; k++)
#pragma omp parallel for simd schedule(static)
        for (int64_t i = 0; i < size; i++) y[k * size + i] = x[k * size + i] + p[i];
}

static void sum_positions(int64_t n, int64_t size, const float *restrict dy, float *restrict dp)
{
#pragma omp parallel for simd schedule(static)
    for (int64_t i = 0; i < size; i++) {
        float sum = dy[i];
        for (int64_t k = 1; k < n; k++) sum += dy[k * size + i];
        dp[i] = sum;
    }
}

static const struct wl_position_kernels position = { add_position, sum_positions };

int wl_cpu_position_forward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    return wl_lower_position(p, n, &position, e);
}

int wl_cpu_position_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e)
{
    return wl_lower_position_backward(p, n, &position, e);
}

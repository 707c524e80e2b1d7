/* Kernels of batch norm over values in vectors of channels. docs/adr/015 says why they are not oneDNN's.
 *
 * A value [N,C,H,W] is cut into blocks of at most 16 channels, the lanes of a vector; a block of an image is a row of
 * pixels. Sums run in double, or in f32 over a few pixels (of squares: around one of them) and in double beyond; rows
 * are added up in the order of the images. So results do not depend on the number of threads, and one pass over x gives
 * a variance as good as two do.
 *
 * With the statistics of a channel:  y = (x - mean) scale + beta [+ z], then max(0, .) with a relu;
 * backward, d = dy where y > 0:  dx = of_d d + of_x (x - mean) + shift.  Source: nn/ref/batch_norm.c.
 */
#ifndef WL_NN_CPU_BATCH_NORM_KERNELS_H
#define WL_NN_CPU_BATCH_NORM_KERNELS_H

#include "nn/cpu/dnnl_api.h"

enum { WL_BATCH_NORM_LANES = WL_MD_LANES };

/* A row: `pixels` runs of `lanes` channels, `stride` elements apart. */
struct wl_batch_norm_row {
    int64_t pixels, stride;
    int lanes;
};

/* Of each lane: two sums over a row, in the forward pass of x and x^2, in the backward pass of d and
 * d (x - mean). */
struct wl_batch_norm_sums {
    double v[2][WL_BATCH_NORM_LANES];
};

/* Entries of channels that only pad a block are 0. */
struct wl_batch_norm_affine {
    float mean[WL_BATCH_NORM_LANES], scale[WL_BATCH_NORM_LANES], beta[WL_BATCH_NORM_LANES];
};
struct wl_batch_norm_gradient {
    float of_d[WL_BATCH_NORM_LANES], of_x[WL_BATCH_NORM_LANES], shift[WL_BATCH_NORM_LANES];
};

/* How backward recovers which elements a relu passed. */
enum wl_batch_norm_relu {
    WL_BATCH_NORM_NO_RELU,     /* there was none */
    WL_BATCH_NORM_RELU_FROM_X, /* (x - mean) scale + beta > 0, as the forward pass computed it */
    WL_BATCH_NORM_RELU_FROM_Y  /* y > 0: something was added to it */
};

/* Pointers to a row's first element, of the kernels' type. */
struct wl_batch_norm_kernels {
    const char *name;
    void (*moments)(const struct wl_batch_norm_row *r, const void *x, struct wl_batch_norm_sums *sums);
    /* z NULL: nothing is added. y may be z. */
    void (*apply)(const struct wl_batch_norm_row *r, const struct wl_batch_norm_affine *l, bool relu, const void *x,
                  const void *z, void *y);
    /* Sums of d and d (x - mean). With WL_BATCH_NORM_RELU_FROM_Y writes d too, which may be dy; y, `more` and d are not
     * used otherwise. `more` (NULL: nothing) is added to dy, and the sum rounded to the type. */
    void (*reduce)(const struct wl_batch_norm_row *r, const struct wl_batch_norm_affine *l,
                   enum wl_batch_norm_relu relu, const void *x, const void *y, const void *dy, const void *more,
                   void *d, struct wl_batch_norm_sums *sums);
    /* With WL_BATCH_NORM_RELU_FROM_X of dy, else of d. dx may be d. */
    void (*spread)(const struct wl_batch_norm_row *r, const struct wl_batch_norm_affine *l,
                   const struct wl_batch_norm_gradient *s, enum wl_batch_norm_relu relu, const void *x, const void *d,
                   void *dx);
};

/* Plain C (batch_norm_plain.c), and AVX-512 (batch_norm_avx512.c): NULL where the processor does not have it. */
const struct wl_batch_norm_kernels *wl_batch_norm_plain(enum wl_dtype type);
const struct wl_batch_norm_kernels *wl_batch_norm_avx512(enum wl_dtype type);

/* ---- whole values (norm.c) ---- */

/* A call of either pass; channels' numbers are f32 [C]. */
struct wl_batch_norm_call {
    struct wl_md_rows rows;
    const struct wl_batch_norm_kernels *kernels;
    double eps;
    const void *x;
    const float *gamma, *beta;
    float *mean, *var; /* biased; written by the forward pass in training */
    void *scratch;     /* wl_batch_norm_scratch_bytes() bytes */

    bool relu; /* forward */
    const void *z;
    void *y;

    enum wl_batch_norm_relu backward; /* backward; y as the forward pass left it, for WL_BATCH_NORM_RELU_FROM_Y */
    const void *dy, *more;
    void *d, *dx; /* more (NULL: nothing is added to dy) and d: for WL_BATCH_NORM_RELU_FROM_Y */
    float *dgamma, *dbeta;
};

/* Bytes that `threads` threads exchange; 0: none. */
size_t wl_batch_norm_scratch_bytes(const struct wl_md_rows *rows, int threads);

void wl_batch_norm_train(const struct wl_batch_norm_call *c);
void wl_batch_norm_eval(const struct wl_batch_norm_call *c);
void wl_batch_norm_backward(const struct wl_batch_norm_call *c);

#endif

/* Loops over arrays of floats, built once for each set of instructions that a processor may have: the widest that
 * this one has runs. The sources in this folder are plain C that compilers turn into vectors; WL_WIDE_LEVEL names the
 * build, and WL_WIDE_NAME makes the symbols of the builds differ. The functions run on the calling thread.
 *
 * A sum is taken in lanes, so its last bits depend on the width; they do not on the number of threads, since callers
 * cut their work at places that do not move with it.
 */
#ifndef WL_NN_WIDE_WIDE_H
#define WL_NN_WIDE_WIDE_H

#include <stddef.h>
#include <stdint.h>

#define WL_WIDE_JOIN(name, level)  name##_##level
#define WL_WIDE_PASTE(name, level) WL_WIDE_JOIN(name, level)
#define WL_WIDE_NAME(name)         WL_WIDE_PASTE(name, WL_WIDE_LEVEL)

/* One step of Adam: with d = scale g + l2 w
 *     m = beta[0] m + rest[0] d;  v = beta[1] v + rest[1] d^2;  w = shrink w - rate m/(root sqrt(v) + eps).
 * rest = 1 - beta, rounded once: 1 - .999 of floats would be 5e-5 off. */
struct wl_adam {
    float scale, l2, beta[2], rest[2], shrink, rate, root, eps;
};

/* Matrices and blocks of the operations on rows (nn/ref/ref.h). A packed matrix [k,n] takes k * WL_WIDE_ROUND(n)
 * floats: panels of columns in the width of the build. */
#define WL_WIDE_ROUND(n) (((n) + 63) / 64 * 64)
enum { WL_WIDE_BLOCK = 96, WL_WIDE_LANES = 16, WL_WIDE_WINDOW = 16 };
struct wl_dense_args;
struct wl_dense_grad;
struct wl_filter_args;
struct wl_filter_grad;

/* w0 is [max(gaussians, WL_WIDE_WINDOW), f], rows beyond the last Gaussian 0; w2' packed, backward w2 packed. */
struct wl_filter_packed {
    const float *w0, *w2;
};
struct wl_filter_sums {
    float *dw0, *db0, *dw2, *db2; /* added to; dw0 as w0 above */
};

struct wl_wide {
    const char *name; /* "x86-64-v4" */

    /* Packs b [k,n], b(k,j) = at[k * row + j * col]. */
    void (*pack)(const float *at, int64_t row, int64_t col, int64_t k, int64_t n, float *to);

    /* wl_ref_dense on rows [from, to), with w' packed [f,k]; backward with w packed [k,f], a block of scratch
     * [WL_WIDE_BLOCK,k], and sums dw [k,f] and db [k] that are added to. */
    void (*dense)(const struct wl_dense_args *a, const float *packed, int64_t from, int64_t to);
    void (*dense_backward)(const struct wl_dense_grad *a, const float *packed, int64_t from, int64_t to, float *block,
                           float *dw, float *db);

    /* wl_ref_filter_conv for molecules [from, to); f is a multiple of WL_WIDE_LANES. Scratch `block`: 2, backward 4
     * times [WL_WIDE_BLOCK,f]. */
    void (*filter_conv)(const struct wl_filter_args *a, const struct wl_filter_packed *packed, int64_t from, int64_t to,
                        float *block);
    void (*filter_conv_backward)(const struct wl_filter_grad *a, const struct wl_filter_packed *packed, int64_t from,
                                 int64_t to, float *block, const struct wl_filter_sums *sums);
    void (*adam)(const struct wl_adam *how, float *w, const float *g, float *m, float *v, size_t n);
};

/* The widest build that runs here. */
const struct wl_wide *wl_wide(void);

#endif

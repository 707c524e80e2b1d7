/* Backward kernels of nn/ref against finite differences of the forward kernels, both built with double: the derivative
 * along a random direction, from central differences, to 1e-6. */
#ifndef WL_TESTS_OPS_FINITE_DIFF_H
#define WL_TESTS_OPS_FINITE_DIFF_H

#include "nn/ref/ref.h"

enum { FINITE_SEED = 7, FINITE_MAX = 8192 };

/* Arrays of one case: up to five inputs, the output, its cotangent, and the gradients by the inputs. */
struct problem {
    int n_in;
    int64_t n[5], n_out;
    double in[5][FINITE_MAX], gradient[5][FINITE_MAX], out[FINITE_MAX], cotangent[FINITE_MAX];
    void (*forward)(const struct problem *p, double *out);
    void (*backward)(struct problem *p); /* fills gradient from cotangent; `out` is there */
    struct wl_window window;
    struct wl_channels channels;
    struct wl_matrix matrix;
    struct wl_embedding_size lookup;
    struct wl_heads heads;
    struct wl_gather_size gather;
    struct wl_dropout drop;
    struct wl_fourier_size fourier;
    struct wl_complex_size complex;
    double shrink;
    bool flag;
    int32_t labels[FINITE_MAX];
};

/* Draws inputs and cotangent, and fails the test where a gradient is off. */
void finite_check(struct problem *p, const char *what);

/* Numbers away from 0, where relu has its corner. */
void finite_fill(double *to, int64_t n, uint64_t stream);

#endif

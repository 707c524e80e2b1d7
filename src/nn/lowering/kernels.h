/* What kernels of operations take: sizes and arrays, without plans or buffers. Shared by the back-ends. Arrays are
 * plain and row-major; gradients are overwritten unless stated otherwise.
 *
 * WL_REF_REAL is float in the engine; the gradient tests build nn/ref once more with double.
 */
#ifndef WL_NN_LOWERING_KERNELS_H
#define WL_NN_LOWERING_KERNELS_H

#include "nn/graph/shapes.h"

#ifndef WL_REF_REAL
#define WL_REF_REAL float
#endif
typedef WL_REF_REAL wl_real;

/* y = x w' + b.  x [n,f]  w [k,f]  b [k]  y [n,k] */
struct wl_matrix {
    int64_t n, f, k;
};

/* ---- dropout ---- */

/* Dropout of n samples of f elements, which are number `sample`, `sample` + 1, ... of optimizer step `update`. Element
 * j of sample s is dropped where a number of 16 bits is below `drop`: with group g = j/128, k = j%128/16 and lane l =
 * j%16, half k%2 (low, high) of word k/2 of Philox's block index = s * 2^32 + 16 g + l, stream = update, key = `key`.
 * In this order sixteen lanes of a vector unit draw 128 neighbours. The gradient by x is the same function of that by
 * y. */
struct wl_dropout {
    uint64_t key;
    uint32_t drop; /* of WL_DROP_STEPS */
    int64_t update, sample, n, f;
};
enum { WL_DROP_LANES = 16, WL_DROP_GROUP = 8 * WL_DROP_LANES };
uint64_t wl_dropout_key(uint64_t seed, const char *name); /* of an operation: word pair 0 of block 0 of its stream */

/* ---- losses between two tensors of one shape [n,f] ---- */

/* forward: the value that the loss defines (ref.h) and the rows that count; backward: dx times `weight`. */
struct wl_distance_kernels {
    double (*forward)(int64_t n, int64_t f, const wl_real *x, const wl_real *t, int64_t *rows);
    void (*backward)(int64_t n, int64_t f, double weight, const wl_real *x, const wl_real *t, wl_real *dx);
};

/* ---- images and fields ---- */

/* Input i of concat: part of y [N,C,area] from channel `at`; x_of are the sizes of that input. */
struct wl_concat_kernels {
    void (*get_channels)(struct wl_channels x_of, int64_t channels, int64_t at, const wl_real *y, wl_real *x);
};

/* A linear map of plain values without parameters: its backward pass is its adjoint. */
struct wl_linear_map {
    void (*apply)(const struct wl_node *n, const float *x, float *y);
    void (*adjoint)(const struct wl_node *n, const float *dy, float *dx);
};

/* y = x + p for each of n pieces of `size` numbers; dp = the sum of dy over them. */
struct wl_position_kernels {
    void (*forward)(int64_t n, int64_t size, const wl_real *x, const wl_real *p, wl_real *y);
    void (*backward)(int64_t n, int64_t size, const wl_real *dy, wl_real *dp);
};

/* ---- sequences ---- */

/* embed_tokens: n tokens of sequences of s, f features. */
struct wl_embedding_size {
    int64_t n, s, f;
};

/* gather: of each of n samples [s,f] p rows. */
struct wl_gather_size {
    int64_t n, s, p, f;
};

/* ---- operations on rows: kernels of a back-end ---- */

/* `scratch`, where there is one, gives the floats of scratch that a pass needs; NULL: none. */

struct wl_embed_kernels {
    void (*forward)(int64_t rows, int64_t f, const int32_t *index, const wl_real *w, wl_real *y);
    void (*backward)(int64_t rows, int64_t entries, int64_t f, const int32_t *index, const wl_real *dy, wl_real *dw);
};

struct wl_segment_sum_kernels {
    void (*forward)(int64_t segments, int64_t room, int64_t f, const int32_t *start, const wl_real *x, wl_real *y);
    void (*backward)(int64_t segments, int64_t f, const int32_t *start, const wl_real *dy, wl_real *dx);
};

/* y = residual + act(u), u = x w' + b on n rows.  x [n,f]  w [k,f]  b [k] or NULL  residual [n,k] or NULL  y [n,k]
 * u [n,k] or NULL: kept for the gradient where there is an activation. */
struct wl_dense_args {
    struct wl_matrix m;
    enum wl_activation activation;
    const wl_real *x, *w, *b, *residual;
    wl_real *y, *u, *scratch;
};

/* With du = dy act'(u): dx = du w, added to dx with `add`; dw = du' x, db = sums of du (or NULL). */
struct wl_dense_grad {
    struct wl_matrix m;
    enum wl_activation activation;
    const wl_real *x, *w, *u, *dy;
    wl_real *dx, *dw, *db, *scratch;
    bool add;
};
struct wl_dense_kernels {
    void (*forward)(const struct wl_dense_args *a);
    void (*backward)(const struct wl_dense_grad *a);
    size_t (*scratch)(struct wl_matrix m, bool backward);
};

/* Continuous-filter convolution of `molecules` molecules (wl_filter_conv).  x, y [atoms,f]  w0 [f,gaussians]  b0 [f]
 * w2 [f,f]  b2 [f]  saved_filters [pairs,f] or NULL: the filter of each pair, for the gradient. `exact`: without a
 * table (filter_table.h). */
struct wl_filter_args {
    int64_t molecules, f, gaussians;
    double cutoff;
    bool exact;
    const int32_t *atom_start, *pair_start, *pair;
    const wl_real *distance, *x, *w0, *b0, *w2, *b2;
    wl_real *y, *saved_filters, *scratch;
};

/* Of the same arguments, y not read: dx [atoms,f] and the gradients of the parameters by dy [atoms,f]. */
struct wl_filter_grad {
    struct wl_filter_args of;
    const wl_real *dy;
    wl_real *dx, *dw0, *db0, *dw2, *db2;
};
struct wl_filter_kernels {
    void (*forward)(const struct wl_filter_args *a);
    void (*backward)(const struct wl_filter_grad *a);
    size_t (*scratch)(const struct wl_filter_args *shape, bool backward);
};

/* ---- bases ---- */

/* j_order(t), t >= 0, to about 1e-15. */
double wl_spherical_bessel(int order, double t);

/* Zeros z of j_l [spherical,radial] and sqrt(2)/|j_{l+1}(z)|. */
struct wl_bessel_zeros {
    double *zero, *norm;
};
struct wl_bessel_zeros wl_bessel_zeros(const struct wl_basis *b, struct wl_arena *a);

/* u(x) of wl_bessel_basis. */
double wl_bessel_envelope(int p, double x);

struct wl_bessel_kernels {
    void (*forward)(const struct wl_basis *b, int64_t rows, const wl_real *distance, const wl_real *freq, wl_real *y);
    void (*backward)(const struct wl_basis *b, int64_t rows, const wl_real *distance, const wl_real *freq,
                     const wl_real *dy, wl_real *dfreq);
};

/* A basis that depends on the distance alone: `table` is made once, when the node is lowered. */
struct wl_spherical_kernels {
    const void *(*table)(const struct wl_basis *b, struct wl_arena *a);
    void (*forward)(const struct wl_basis *b, const void *table, int64_t rows, const wl_real *distance, wl_real *y);
};

/* A table that a back-end may use: at the bounds of cells of x the functions without their envelope, and their slopes
 * times a cell's width, [cells + 1,width] each. */
enum { WL_SPHERICAL_CELLS = 1024 };
struct wl_spherical_table {
    struct wl_basis basis;
    int64_t width; /* spherical * radial */
    const float *value, *slope;
};

struct wl_angular_kernels {
    void (*forward)(int64_t orders, int64_t rows, const wl_real *cosine, wl_real *y);
};

/* ---- edges and triplets ---- */

/* y = x * (basis w') on rows.  x, y [rows,f]  basis [rows,k]  w [f,k]. `add`: to d_basis as it is. */
struct wl_gate_args {
    int64_t rows, f, k;
    const wl_real *x, *basis, *w;
    wl_real *y, *scratch;
};
struct wl_gate_grad {
    struct wl_gate_args of;
    const wl_real *dy;
    wl_real *dx, *d_basis, *dw;
    bool add;
};
struct wl_gate_kernels {
    void (*forward)(const struct wl_gate_args *a);
    void (*backward)(const struct wl_gate_grad *g);
    size_t (*scratch)(int64_t f, int64_t k, bool backward);
};

/* wl_edge_concat.  x [atoms,f]  z [edges,g]  y [edges,2 f + g] */
struct wl_edge_concat_args {
    int64_t f, g;
    const int32_t *edge_start, *source, *reverse;
    const wl_real *x, *z;
    wl_real *y;
};
struct wl_edge_concat_grad {
    struct wl_edge_concat_args of;
    const wl_real *dy;
    wl_real *dx, *dz;
};
struct wl_edge_concat_kernels {
    void (*forward)(const struct wl_edge_concat_args *a, int64_t atoms);
    void (*backward)(const struct wl_edge_concat_grad *b, int64_t atoms);
};

/* wl_triplet_conv around `atoms` atoms.  x, residual, y [edges,f]  radial [edges,orders*radials]  angular
 * [triplets,orders]  v [bilinear,orders*radials]  w [f,bilinear,f] */
struct wl_triplet_args {
    int64_t atoms, f, bilinear, orders, radials;
    const int32_t *edge_start, *reverse, *triplet_start;
    const wl_real *x, *residual, *radial, *angular, *v, *w;
    wl_real *y, *scratch;
};
struct wl_triplet_grad {
    struct wl_triplet_args of;
    const wl_real *dy;
    wl_real *dx, *dv, *dw;
};
struct wl_triplet_kernels {
    void (*forward)(const struct wl_triplet_args *a);
    void (*backward)(const struct wl_triplet_grad *g);
    size_t (*scratch)(const struct wl_triplet_args *shape, bool backward);
};

#endif

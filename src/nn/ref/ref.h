/* Plain C of each operation: what the operation means, and the oracle of the tests. Written to be read, not to be
 * fast. Arrays are plain row-major; sums run in double.
 *
 * WL_REF_REAL is float in the engine; the gradient tests build these files again with double, where finite
 * differences are sharp.
 */
#ifndef WL_NN_REF_REF_H
#define WL_NN_REF_REF_H

#include "nn/graph/graph.h"

#ifndef WL_REF_REAL
#define WL_REF_REAL float
#endif
typedef WL_REF_REAL wl_real;

/* y = conv(x, w) + b (cross-correlation).  x [N,C,H,W]  w [K,C,R,S]  b [K] or NULL  y [N,K,P,Q] */
void wl_ref_conv(const struct wl_window *v, const wl_real *x, const wl_real *w, const wl_real *b, wl_real *y);
void wl_ref_conv_backward_data(const struct wl_window *v, const wl_real *dy, const wl_real *w, wl_real *dx);
void wl_ref_conv_backward_weights(const struct wl_window *v, const wl_real *x, const wl_real *dy, wl_real *dw);
/* db[k] = sum of dy over n, p, q.  dy [N,C,area]  db [C] */
void wl_ref_channel_sum(struct wl_channels ch, const wl_real *dy, wl_real *db);

/* mean and biased variance of x [N,C,area] by channel. */
void wl_ref_mean_var(struct wl_channels ch, const wl_real *x, wl_real *mean, wl_real *var);
/* y = gamma (x - mean)/sqrt(var + eps) + beta, then max(0, .) with relu. */
void wl_ref_batch_norm(struct wl_channels ch, double eps, bool relu, const wl_real *x, const wl_real *mean,
                       const wl_real *var, const wl_real *gamma, const wl_real *beta, wl_real *y);
/* Through mean and var too, which are those of x. y is read with relu only: dy counts where y > 0. */
void wl_ref_batch_norm_backward(struct wl_channels ch, double eps, bool relu, const wl_real *x, const wl_real *y,
                                const wl_real *dy, const wl_real *mean, const wl_real *var, const wl_real *gamma,
                                wl_real *dx, wl_real *dgamma, wl_real *dbeta);

/* y = max(0, x), dx = dy where y > 0 else 0; n elements. y may be x, dx may be dy. */
void wl_ref_relu(int64_t n, const wl_real *x, wl_real *y);
void wl_ref_relu_backward(int64_t n, const wl_real *y, const wl_real *dy, wl_real *dx);
void wl_ref_add(int64_t n, const wl_real *a, const wl_real *b, wl_real *y);

/* Concatenation by channel. Part of x [N,c,area] in y [N,C,area] is y[:, at : at + c]: put writes it, get reads it. */
void wl_ref_put_channels(struct wl_channels x_of, int64_t channels, int64_t at, const wl_real *x, wl_real *y);
void wl_ref_get_channels(struct wl_channels x_of, int64_t channels, int64_t at, const wl_real *y, wl_real *x);

/* Pooling.  x [N,C,H,W]  y [N,C,P,Q]. The maximum ignores padding; its gradient goes to the first largest element. */
void wl_ref_max_pool(const struct wl_window *v, const wl_real *x, wl_real *y);
void wl_ref_max_pool_backward(const struct wl_window *v, const wl_real *x, const wl_real *dy, wl_real *dx);
void wl_ref_avg_pool(const struct wl_window *v, bool exclude_pad, const wl_real *x, wl_real *y);
void wl_ref_avg_pool_backward(const struct wl_window *v, bool exclude_pad, const wl_real *dy, wl_real *dx);

/* Dropout of N samples of F elements, which stand at `sample`, `sample` + 1, ... in optimiser step `update`. Element j
 * of sample s is dropped where a number of 16 bits is below `drop`: with group g = j/128, k = j%128/16 and lane l =
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
bool wl_ref_dropped(const struct wl_dropout *d, int64_t sample, int64_t element);
void wl_ref_dropout(const struct wl_dropout *d, const wl_real *x, wl_real *y);

/* y = x w' + b.  x [N,F]  w [K,F]  b [K] or NULL, so db too  y [N,K] */
struct wl_matrix {
    int64_t n, f, k;
};
void wl_ref_linear(struct wl_matrix m, const wl_real *x, const wl_real *w, const wl_real *b, wl_real *y);
void wl_ref_linear_backward_data(struct wl_matrix m, const wl_real *dy, const wl_real *w, wl_real *dx);
void wl_ref_linear_backward_weights(struct wl_matrix m, const wl_real *x, const wl_real *dy, wl_real *dw, wl_real *db);

/* ---- rows ---- */

/* y[r] = w[index[r]] for r < rows; w [entries,F]. The gradient sums the rows of an entry. */
void wl_ref_embed(int64_t rows, int64_t f, const int32_t *index, const wl_real *w, wl_real *y);
void wl_ref_embed_backward(int64_t rows, int64_t entries, int64_t f, const int32_t *index, const wl_real *dy,
                           wl_real *dw);

/* y[s] = the sum of x[start[s] .. start[s + 1]); rows from `segments` to `room` are 0. dx[r] = dy of r's segment. */
void wl_ref_segment_sum(int64_t segments, int64_t room, int64_t f, const int32_t *start, const wl_real *x, wl_real *y);
void wl_ref_segment_sum_backward(int64_t segments, int64_t f, const int32_t *start, const wl_real *dy, wl_real *dx);

/* f(u) of an activation, and its derivative. */
double wl_ref_activate(enum wl_activation a, double u);
double wl_ref_slope(enum wl_activation a, double u);

/* y = residual + act(u), u = x w' + b on n rows.  x [n,f]  w [k,f]  b [k] or NULL  residual [n,k] or NULL  y [n,k]
 * u [n,k] or NULL: kept for the gradient where there is an activation. `scratch` is the back-end's. */
struct wl_dense_args {
    struct wl_matrix m;
    enum wl_activation activation;
    const wl_real *x, *w, *b, *residual;
    wl_real *y, *u, *scratch;
};
void wl_ref_dense(const struct wl_dense_args *a);

/* With du = dy act'(u): dx = du w, added to dx with `add`; dw = du' x, db = sums of du (or NULL). */
struct wl_dense_grad {
    struct wl_matrix m;
    enum wl_activation activation;
    const wl_real *x, *w, *u, *dy;
    wl_real *dx, *dw, *db, *scratch;
    bool add;
};
void wl_ref_dense_backward(const struct wl_dense_grad *a);

/* Continuous-filter convolution of `molecules` molecules (wl_filter_conv).  x, y [atoms,f]  w0 [f,gaussians]  b0 [f]
 * w2 [f,f]  b2 [f]  kept [pairs,f] or NULL: the filter of each pair, for the gradient. */
struct wl_filter_args {
    int64_t molecules, f, gaussians;
    double cutoff;
    const int32_t *atom_start, *pair_start, *pair;
    const wl_real *distance, *x, *w0, *b0, *w2, *b2;
    wl_real *y, *kept, *scratch;
};
void wl_ref_filter_conv(const struct wl_filter_args *a);

/* Of the same arguments, y not read: dx [atoms,f] and the gradients of the parameters by dy [atoms,f]. */
struct wl_filter_grad {
    struct wl_filter_args of;
    const wl_real *dy;
    wl_real *dx, *dw0, *db0, *dw2, *db2;
};
void wl_ref_filter_conv_backward(const struct wl_filter_grad *a);

/* j_order(t), t >= 0, to about 1e-15. */
double wl_ref_spherical_bessel(int order, double t);

/* Zeros z of j_l [spherical,radial] and sqrt(2)/|j_{l+1}(z)|. */
struct wl_bessel_zeros {
    double *zero, *norm;
};
struct wl_bessel_zeros wl_bessel_zeros(const struct wl_basis *b, struct wl_arena *a);

/* u(x) of wl_bessel_basis. */
double wl_ref_envelope(int p, double x);

/* The bases of rows [from, to); dfreq is of these rows alone. */
void wl_ref_bessel_basis(const struct wl_basis *b, int64_t from, int64_t to, const wl_real *distance,
                         const wl_real *freq, wl_real *y);
void wl_ref_bessel_basis_backward(const struct wl_basis *b, int64_t from, int64_t to, const wl_real *distance,
                                  const wl_real *freq, const wl_real *dy, double *dfreq);
void wl_ref_spherical_basis(const struct wl_basis *b, const struct wl_bessel_zeros *z, int64_t from, int64_t to,
                            const wl_real *distance, wl_real *y);
void wl_ref_angular_basis(int64_t orders, int64_t from, int64_t to, const wl_real *cosine, wl_real *y);

/* What a back-end may make of a spherical basis: at the bounds of cells of x the functions without their envelope, and
 * their slopes times a cell's width, [cells + 1,width] each. */
enum { WL_SPHERICAL_CELLS = 1024 };
struct wl_spherical_table {
    struct wl_basis basis;
    int64_t width; /* spherical * radial */
    const float *value, *slope;
};

/* y = x * (basis w') on rows.  x, y [rows,f]  basis [rows,k]  w [f,k]. `add`: to d_basis as it stands. */
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
void wl_ref_gate(const struct wl_gate_args *a);
void wl_ref_gate_backward(const struct wl_gate_grad *g);

/* wl_edge_concat for the edges that lead to atoms [from, to); backward writes those atoms' dx and these edges' dz. */
struct wl_concat_args {
    int64_t f, g;
    const int32_t *edge_start, *source, *reverse;
    const wl_real *x, *z;
    wl_real *y;
};
struct wl_concat_grad {
    struct wl_concat_args of;
    const wl_real *dy;
    wl_real *dx, *dz;
};
void wl_ref_edge_concat(const struct wl_concat_args *a, int64_t from, int64_t to);
void wl_ref_edge_concat_backward(const struct wl_concat_grad *b, int64_t from, int64_t to);

enum { WL_MAX_NEIGHBOURS = 96 }; /* of an atom, in wl_triplet_conv */

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
void wl_ref_triplet_conv(const struct wl_triplet_args *a);
void wl_ref_triplet_conv_backward(const struct wl_triplet_grad *g);

/* The kernels of operations on rows that a back-end brings; sizes are floats of scratch, 0 where the function is NULL.
 * The rules are shared. A basis that depends on the distance alone may have a table, made once. */
struct wl_rows_kernels {
    void (*dense)(const struct wl_dense_args *a);
    void (*dense_backward)(const struct wl_dense_grad *a);
    size_t (*dense_scratch)(struct wl_matrix m, bool backward);
    void (*filter_conv)(const struct wl_filter_args *a);
    void (*filter_conv_backward)(const struct wl_filter_grad *a);
    size_t (*filter_scratch)(int64_t f, int64_t gaussians, bool backward);
    void (*bessel_basis)(const struct wl_basis *b, int64_t rows, const wl_real *distance, const wl_real *freq,
                         wl_real *y);
    void (*bessel_basis_backward)(const struct wl_basis *b, int64_t rows, const wl_real *distance, const wl_real *freq,
                                  const wl_real *dy, wl_real *dfreq);
    const void *(*spherical_table)(const struct wl_basis *b, struct wl_arena *a);
    void (*spherical_basis)(const struct wl_basis *b, const void *table, int64_t rows, const wl_real *distance,
                            wl_real *y);
    void (*angular_basis)(int64_t orders, int64_t rows, const wl_real *cosine, wl_real *y);
    void (*gate)(const struct wl_gate_args *a);
    void (*gate_backward)(const struct wl_gate_grad *g);
    size_t (*gate_scratch)(int64_t f, int64_t k, bool backward);
    void (*edge_concat)(const struct wl_concat_args *a, int64_t atoms);
    void (*edge_concat_backward)(const struct wl_concat_grad *b, int64_t atoms);
    void (*triplet_conv)(const struct wl_triplet_args *a);
    void (*triplet_conv_backward)(const struct wl_triplet_grad *g);
    size_t (*triplet_scratch)(const struct wl_triplet_args *shape, bool backward);
};
extern const struct wl_rows_kernels wl_ref_rows; /* those of this folder (rows_table.c) */

/* ---- sequences ---- */

/* y = u/2 (1 + erf(u/sqrt 2)) of n elements u. */
void wl_ref_gelu(int64_t n, const wl_real *u, wl_real *y);
void wl_ref_gelu_backward(int64_t n, const wl_real *u, const wl_real *dy, wl_real *du);

/* y[i] = word[tokens[i]] + position[i mod s] + segment[0] for n tokens of sequences of s.  word [.,F]  y [n,F] */
struct wl_lookup {
    int64_t n, s, f;
};
void wl_ref_embed_tokens(struct wl_lookup l, const int32_t *tokens, const wl_real *word, const wl_real *position,
                         const wl_real *segment, wl_real *y);
/* Adds to the rows of the three gradients. */
void wl_ref_embed_tokens_backward(struct wl_lookup l, const int32_t *tokens, const wl_real *dy, wl_real *dword,
                                  wl_real *dposition, wl_real *dsegment);

/* y = gamma (z - mean)/sqrt(var + eps) + beta by row of z [n,f]. */
void wl_ref_layer_norm(struct wl_vectors r, double eps, const wl_real *z, const wl_real *gamma, const wl_real *beta,
                       wl_real *y);
void wl_ref_layer_norm_backward(struct wl_vectors r, double eps, const wl_real *z, const wl_real *dy,
                                const wl_real *gamma, wl_real *dz, wl_real *dgamma, wl_real *dbeta);

/* Attention (nn.h).  x [N,S,3D]  y [N,S,D]; scratch [2,S,S]. d.n = N, d.f = heads S S. */
void wl_ref_attention(struct wl_heads h, const struct wl_dropout *d, const wl_real *x, const int32_t *lengths,
                      wl_real *y, wl_real *scratch);
void wl_ref_attention_backward(struct wl_heads h, const struct wl_dropout *d, const wl_real *x, const int32_t *lengths,
                               const wl_real *dy, wl_real *dx, wl_real *scratch);

/* y[n,i] = x[n,positions[n,i]].  x [N,S,F]  positions [N,P]  y [N,P,F]; dx is written whole. */
struct wl_gather {
    int64_t n, s, p, f;
};
void wl_ref_gather(struct wl_gather g, const int32_t *positions, const wl_real *x, wl_real *y);
void wl_ref_gather_backward(struct wl_gather g, const int32_t *positions, const wl_real *dy, wl_real *dx);

/* Mean of -log softmax(x [N,K])[label] over the rows with label >= 0. Returns it and adds to *counts (NULL: not
 * wanted) samples, top1 and top5; 0 where every row is padding. Classes are ranked by logit, equal ones by index. */
double wl_ref_cross_entropy(int64_t n, int64_t k, const wl_real *x, const int32_t *labels, struct wl_counts *counts);
/* dx = weight (softmax(x) - onehot(label))/rows, 0 in padding rows. */
void wl_ref_cross_entropy_backward(int64_t n, int64_t k, double weight, const wl_real *x, const int32_t *labels,
                                   wl_real *dx);

/* Mean of (x - t)^2 over the elements of n rows [n,k]; dx = 2 weight (x - t)/elements. A row whose t begins with NAN is
 * padding: it does not count and its dx is 0. Returns the mean, 0 where every row is padding, and the rows that count.
 */
double wl_ref_mean_square(int64_t n, int64_t k, const wl_real *x, const wl_real *t, int64_t *rows);
void wl_ref_mean_square_backward(int64_t n, int64_t k, double weight, const wl_real *x, const wl_real *t, wl_real *dx);

/* Sum over the n samples of |x - t|/|t|, norms over f elements; *samples: those whose target does not begin with NAN.
 * dx = weight (x - t)/(|x - t| |t| samples), 0 in padding and where x = t. */
double wl_ref_relative_l2(int64_t n, int64_t f, const wl_real *x, const wl_real *t, int64_t *samples);
void wl_ref_relative_l2_backward(int64_t n, int64_t f, double weight, const wl_real *x, const wl_real *t, wl_real *dx);

/* Squares of images as rows, in the order [s,s,C] (channels_last) or [C,s,s], and back: each is the other's adjoint. */
void wl_ref_to_patches(const struct wl_patch_size *v, bool channels_last, const wl_real *image, wl_real *rows);
void wl_ref_from_patches(const struct wl_patch_size *v, bool channels_last, const wl_real *rows, wl_real *image);

/* y = x + p for each of n pieces of `size` numbers; dp = the sum of dy over them. */
void wl_ref_position(int64_t n, int64_t size, const wl_real *x, const wl_real *p, wl_real *y);
void wl_ref_position_backward(int64_t n, int64_t size, const wl_real *dy, wl_real *dp);

/* fft2 and inverse_fft2. Columns that are not their own mirror image count twice with `doubled`: the inverse sets it;
 * fft2 with it is the adjoint of the inverse, and the inverse without it that of fft2. */
void wl_ref_fft2(const struct wl_fourier_size *v, bool doubled, const wl_real *x, wl_real *s);
void wl_ref_inverse_fft2(const struct wl_fourier_size *v, bool doubled, const wl_real *s, wl_real *x);

/* complex_linear; shrink 0 is relu.  x [rows,blocks,2,in]  w [2,blocks,in,out]  b [2,blocks,out]  y [rows,blocks,2,out]
 */
void wl_ref_complex_linear(const struct wl_complex_size *v, double shrink, const wl_real *x, const wl_real *w,
                           const wl_real *bias, wl_real *y);
void wl_ref_complex_linear_backward_data(const struct wl_complex_size *v, const wl_real *y, const wl_real *dy,
                                         const wl_real *w, wl_real *dx);
void wl_ref_complex_linear_backward_weights(const struct wl_complex_size *v, const wl_real *x, const wl_real *y,
                                            const wl_real *dy, wl_real *dw, wl_real *db);

/* The losses' rules work on plain buffers, so other back-ends list them too. */
struct wl_program;
struct wl_buf;
int wl_lower_loss(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_lower_loss_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);

/* WL_EINVAL where a label of a cross entropy is beyond its classes. */
int wl_lower_check_labels(const struct wl_node *n, const int32_t *labels, struct wl_err *e);

/* Adds what a loss has seen to *counts: `loss` is the sum over seen->samples. Only the loss that counts them adds
 * its samples. */
void wl_lower_count_loss(const struct wl_node *n, double loss, const struct wl_counts *seen, struct wl_counts *counts);

/* A linear map of plain values without parameters: its backward pass is its adjoint. */
struct wl_linear_map {
    const void *(*prepare)(const struct wl_node *n, struct wl_arena *a); /* (optional) what both need */
    size_t (*scratch)(const struct wl_node *n);                          /* (optional) bytes of memory that both need */
    void (*apply)(const struct wl_node *n, const void *prepared, void *scratch, const float *x, float *y);
    void (*adjoint)(const struct wl_node *n, const void *prepared, void *scratch, const float *dy, float *dx);
};
int wl_lower_linear_map(struct wl_program *p, const struct wl_node *n, const struct wl_linear_map *map,
                        struct wl_err *e);
int wl_lower_linear_map_backward(struct wl_program *p, const struct wl_node *n, const struct wl_linear_map *map,
                                 struct wl_err *e);

/* The rules of position, with a back-end's kernels. */
struct wl_position_kernels {
    void (*forward)(int64_t n, int64_t size, const float *x, const float *p, float *y);
    void (*backward)(int64_t n, int64_t size, const float *dy, float *dp);
};
int wl_lower_position(struct wl_program *p, const struct wl_node *n, const struct wl_position_kernels *k,
                      struct wl_err *e);
int wl_lower_position_backward(struct wl_program *p, const struct wl_node *n, const struct wl_position_kernels *k,
                               struct wl_err *e);

/* The backward step of concat for input i, on plain buffers: dx = part of dy. */
void wl_lower_channel_split(struct wl_program *p, const struct wl_node *n, int i, struct wl_buf *dy, struct wl_buf *dx);

/* The rules of operations on rows, on plain buffers too, with the kernels of the program's back-end. */
int wl_lower_rows(struct wl_program *p, const struct wl_node *n, struct wl_err *e);
int wl_lower_rows_backward(struct wl_program *p, const struct wl_node *n, struct wl_err *e);

/* How node n drops out elements [samples,features] with probability `drop`, and that in one run: nothing in evaluation.
 */
struct wl_run;
struct wl_dropout wl_dropout_of(const struct wl_program *p, const struct wl_node *n, double drop, int64_t samples,
                                int64_t features);
struct wl_dropout wl_dropout_in_run(const struct wl_dropout *how, const struct wl_run *r);

/* WL_EINVAL where one of n indices is not in [0, limit): "token 30600 of sample 2 is beyond the 30522 of the table". */
int wl_lower_check_index(const char *what, const char *of, const int32_t *index, int64_t n, int64_t samples,
                         int64_t limit, struct wl_err *e);

#endif

/* Plain C of each operation: what the operation means, and the oracle of the tests. Written to be read, not to be
 * fast. Arrays are plain row-major; sums run in double.
 *
 * WL_REF_REAL is float in the engine; the gradient tests build these files again with double, where finite
 * differences are sharp.
 */
#ifndef WL_NN_REF_REF_H
#define WL_NN_REF_REF_H

#include "nn/graph/counts.h"
#include "nn/lowering/kernels.h"

/* y = x scale[c] + shift[c].  x, y [N,C,area] */
void wl_ref_pixels(const struct wl_pixel_map *m, const uint8_t *x, wl_real *y);

/* y = conv(x, w) + b (cross-correlation).  x [N,C,H,W]  w [K,C,R,S]  b [K] or NULL  y [N,K,P,Q] */
void wl_ref_conv(const struct wl_window *v, const wl_real *x, const wl_real *w, const wl_real *b, wl_real *y);
void wl_ref_conv_backward_data(const struct wl_window *v, const wl_real *dy, const wl_real *w, wl_real *dx);
void wl_ref_conv_backward_weights(const struct wl_window *v, const wl_real *x, const wl_real *dy, wl_real *dw);
/* db[k] = sum of dy over n, p, q.  dy [N,C,area]  db [C] */
void wl_ref_channel_sum(struct wl_channels ch, const wl_real *dy, wl_real *db);

/* mean and biased variance of x [N,C,area] by channel. */
void wl_ref_mean_var(struct wl_channels ch, const wl_real *x, wl_real *mean, wl_real *var);
/* y = gamma (x - mean)/sqrt(var + eps) + beta, then max(0, .) with relu.  x, y [N,C,area]; the others [C] */
struct wl_ref_batch_norm {
    struct wl_channels channels;
    double eps;
    bool relu;
    const wl_real *x, *mean, *var, *gamma, *beta;
    wl_real *y;
};
void wl_ref_batch_norm(const struct wl_ref_batch_norm *b);
/* Through mean and var too, which are those of x. y is read with relu only: dy counts where y > 0; beta is not read.
 * dy, dx [N,C,area]  dgamma, dbeta [C] */
struct wl_ref_batch_norm_grad {
    struct wl_ref_batch_norm of;
    const wl_real *dy;
    wl_real *dx, *dgamma, *dbeta;
};
void wl_ref_batch_norm_backward(const struct wl_ref_batch_norm_grad *g);

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

/* Dropout (kernels.h). */
bool wl_ref_dropped(const struct wl_dropout *d, int64_t sample, int64_t element);
void wl_ref_dropout(const struct wl_dropout *d, const wl_real *x, wl_real *y);

/* y = x w' + b.  x [N,F]  w [K,F]  b [K] or NULL, so db too  y [N,K] */
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

void wl_ref_dense(const struct wl_dense_args *a);

void wl_ref_dense_backward(const struct wl_dense_grad *a);

void wl_ref_filter_conv(const struct wl_filter_args *a);

void wl_ref_filter_conv_backward(const struct wl_filter_grad *a);
size_t wl_ref_filter_scratch(const struct wl_filter_args *shape, bool backward);

/* The bases of rows [from, to); dfreq is of these rows alone. */
void wl_ref_bessel_basis(const struct wl_basis *b, int64_t from, int64_t to, const wl_real *distance,
                         const wl_real *freq, wl_real *y);
void wl_ref_bessel_basis_backward(const struct wl_basis *b, int64_t from, int64_t to, const wl_real *distance,
                                  const wl_real *freq, const wl_real *dy, double *dfreq);
void wl_ref_spherical_basis(const struct wl_basis *b, const struct wl_bessel_zeros *z, int64_t from, int64_t to,
                            const wl_real *distance, wl_real *y);
void wl_ref_angular_basis(int64_t orders, int64_t from, int64_t to, const wl_real *cosine, wl_real *y);

void wl_ref_gate(const struct wl_gate_args *a);
void wl_ref_gate_backward(const struct wl_gate_grad *g);

/* For the edges that lead to atoms [from, to); backward writes those atoms' dx and these edges' dz. */
void wl_ref_edge_concat(const struct wl_edge_concat_args *a, int64_t from, int64_t to);
void wl_ref_edge_concat_backward(const struct wl_edge_concat_grad *b, int64_t from, int64_t to);

void wl_ref_triplet_conv(const struct wl_triplet_args *a);
void wl_ref_triplet_conv_backward(const struct wl_triplet_grad *g);

/* ---- sequences ---- */

/* y = u/2 (1 + erf(u/sqrt 2)) of n elements u. */
void wl_ref_gelu(int64_t n, const wl_real *u, wl_real *y);
void wl_ref_gelu_backward(int64_t n, const wl_real *u, const wl_real *dy, wl_real *du);

/* y[i] = word[tokens[i]] + position[i mod s] + segment[0] for n tokens of sequences of s.  word [.,F]  y [n,F] */
void wl_ref_embed_tokens(struct wl_embedding_size l, const int32_t *tokens, const wl_real *word,
                         const wl_real *position, const wl_real *segment, wl_real *y);
/* Adds to the rows of the three gradients. */
void wl_ref_embed_tokens_backward(struct wl_embedding_size l, const int32_t *tokens, const wl_real *dy, wl_real *dword,
                                  wl_real *dposition, wl_real *dsegment);

/* y = gamma (z - mean)/sqrt(var + eps) + beta by row of z [n,f]. */
void wl_ref_layer_norm(struct wl_vectors r, double eps, const wl_real *z, const wl_real *gamma, const wl_real *beta,
                       wl_real *y);
struct wl_ref_layer_norm_grad {
    struct wl_vectors rows;
    double eps;
    const wl_real *z, *dy, *gamma; /* [n,f], [n,f], [f] */
    wl_real *dz, *dgamma, *dbeta;  /* [n,f], [f], [f] */
};
void wl_ref_layer_norm_backward(const struct wl_ref_layer_norm_grad *g);

/* Attention (nn.h).  x [N,S,3D]  y [N,S,D]; scratch [2,S,S]. d.n = N, d.f = heads S S. */
void wl_ref_attention(struct wl_heads h, const struct wl_dropout *d, const wl_real *x, const int32_t *lengths,
                      wl_real *y, wl_real *scratch);
void wl_ref_attention_backward(struct wl_heads h, const struct wl_dropout *d, const wl_real *x, const int32_t *lengths,
                               const wl_real *dy, wl_real *dx, wl_real *scratch);

/* y[n,i] = x[n,positions[n,i]].  x [N,S,F]  positions [N,P]  y [N,P,F]; dx is written whole. */
void wl_ref_gather(struct wl_gather_size g, const int32_t *positions, const wl_real *x, wl_real *y);
void wl_ref_gather_backward(struct wl_gather_size g, const int32_t *positions, const wl_real *dy, wl_real *dx);

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

#endif

/* The operations of a graph. Each function adds one, called `name` in the scopes that are open, and returns its result;
 * build.h says how shapes are checked and parameters named. The shape follows every tensor. Letters: N samples
 * of a micro-batch, C channels, H and W lines and columns, S positions of a sequence, D and F features, R rows. */
#ifndef WL_NN_GRAPH_OPS_H
#define WL_NN_GRAPH_OPS_H

#include "base/base.h"

struct wl_graph;
struct wl_tensor;

/* ---- images ---- */

/* y [N,C,H,W] = (x/255 - mean)/deviation by channel, of bytes x [N,C,H,W], u8: f32(f32(x scale) + shift) with scale =
 * 1/(255 deviation) and shift = -mean/deviation, so that all back-ends give the same bits. */
enum { WL_MAX_PIXEL_CHANNELS = 4 };
struct wl_pixels {
    float mean[WL_MAX_PIXEL_CHANNELS], deviation[WL_MAX_PIXEL_CHANNELS];
};
struct wl_tensor *wl_pixels(struct wl_graph *g, const char *name, struct wl_tensor *x, struct wl_pixels pixels);

/* y [N,K,P,Q] = conv(x [N,C,H,W], w [K,C,R,S]) + b [K], cross-correlation; P = (H + 2*pad - R)/stride + 1.
 * w starts as He's normal with fan-out K*R*S, b as U(+-1/sqrt(C*R*S)). */
struct wl_conv {
    int64_t channels;  /* K */
    int64_t kernel[2]; /* R, S */
    int64_t stride[2]; /* vertical, horizontal; 0 counts as 1 */
    int64_t pad[2];    /* zeros on each side */
    bool bias;
};
struct wl_tensor *wl_conv2d(struct wl_graph *g, const char *name, struct wl_tensor *x, struct wl_conv conv);

/* y = gamma * (x - mean)/sqrt(var + eps) + beta by channel of x [N,C,H,W], then max(0, .) where relu is set.
 * Training takes mean and (biased) variance of the micro-batch; evaluation the running statistics. Those move once an
 * optimizer step, running += momentum * (mean over the step's micro-batches - running), the variance unbiased:
 * so N ranks, averaged, equal one rank that accumulates N micro-batches. */
struct wl_batch_norm_opts {
    bool relu;
    bool zero_gamma; /* gamma starts at 0 instead of 1: the residual branch starts as identity */
    double eps;      /* 0 counts as 1e-5 */
    double momentum; /* 0 counts as 0.1 */
};
struct wl_tensor *wl_batch_norm(struct wl_graph *g, const char *name, struct wl_tensor *x,
                                struct wl_batch_norm_opts norm);

struct wl_tensor *wl_relu(struct wl_graph *g, const char *name, struct wl_tensor *x);
struct wl_tensor *wl_add(struct wl_graph *g, const char *name, struct wl_tensor *a, struct wl_tensor *b);
struct wl_tensor *wl_add_relu(struct wl_graph *g, const char *name, struct wl_tensor *a, struct wl_tensor *b);

/* y [N,C0+C1+...,H,W]: the channels of n >= 1 images x[i] [N,Ci,H,W], in order. At most WL_MAX_INPUTS. */
enum { WL_MAX_INPUTS = 10 };
struct wl_tensor *wl_concat(struct wl_graph *g, const char *name, struct wl_tensor *const *x, int n);

/* Windows over H and W of x [N,C,H,W]. The maximum ignores padding; the mean counts it as zeros unless
 * exclude_pad. kernel 0,0 is the whole image (global pooling). */
struct wl_pool {
    int64_t kernel[2], stride[2], pad[2];
    bool exclude_pad;
};
struct wl_tensor *wl_max_pool(struct wl_graph *g, const char *name, struct wl_tensor *x, struct wl_pool pool);
struct wl_tensor *wl_avg_pool(struct wl_graph *g, const char *name, struct wl_tensor *x, struct wl_pool pool);

/* y = x/(1 - p) where an element is kept, else 0; each is dropped with probability p, 0 <= p < 1, which is rounded to a
 * multiple of 2^-16. In evaluation y = x. Whether an element is kept is a function of the plan's seed, the operation's
 * name, the optimizer step (wl_plan_set_updates), the index of the sample among those of the step on all ranks, and the
 * index of the element in its sample (kernels.h defines the function). So N ranks drop what one rank drops that
 * accumulates the same N micro-batches, with any back-end and number of threads; the backward pass redraws the mask
 * instead of keeping it. Hinton et al. 2012, arXiv:1207.0580, scaled in training. */
struct wl_tensor *wl_dropout(struct wl_graph *g, const char *name, struct wl_tensor *x, double p);

/* y [N,K] = x [N,...] w' + b, x flattened after N to F features, w [K,F], b [K]; both start as U(+-1/sqrt(F)). */
struct wl_tensor *wl_linear(struct wl_graph *g, const char *name, struct wl_tensor *x, int64_t features);

/* ---- rows: batches of molecules and other things of varying size ---- */

/* A batch of molecules has few or many atoms, so its tensors have room for the largest one, and one i32 input
 * [WL_ROW_KINDS] is the number of rows of each kind. Operations on rows compute those alone: rows beyond them
 * are neither read nor written nor counted. Sums over rows run in one order for any number of threads. */
enum wl_row_kind { WL_MOLECULES, WL_ATOMS, WL_EDGES, WL_TRIPLETS, WL_ROW_KINDS };

/* How many rows of each kind a batch has on average: the basis of a plan's flop counts. Without it those of
 * operations on rows that multiply are NAN. */
void wl_mean_rows(struct wl_graph *g, const double rows[WL_ROW_KINDS]);

struct wl_rows {
    struct wl_tensor *counts;
    enum wl_row_kind kind;
};

/* y [R,F] = w[index], i32 index [R] below `entries`, w [entries,F] "NAME.weight", which starts as N(0,1). */
struct wl_tensor *wl_embed(struct wl_graph *g, const char *name, struct wl_rows rows, struct wl_tensor *index,
                           int64_t entries, int64_t features);

/* y [R,K] = residual + f(x w' + b), x [R,F], w [K,F], b [K], f the shifted softplus log(1 + e^u) - log 2, swish
 * u/(1 + e^-u), or nothing. w starts as U(+-sqrt(6/(F + K))) (Glorot and Bengio 2010), b as 0. */
enum wl_activation { WL_ACT_NONE, WL_ACT_SOFTPLUS, WL_ACT_SWISH };
struct wl_dense {
    int64_t features; /* K */
    bool no_bias;
    enum wl_activation activation;
    struct wl_tensor *residual; /* (optional) [R,K] */
};
struct wl_tensor *wl_dense(struct wl_graph *g, const char *name, struct wl_rows rows, struct wl_tensor *x,
                           struct wl_dense dense);

/* y [R,F]: row r is the sum of rows [start[r], start[r + 1]) of x; i32 start [R + 1]. Rows beyond the count are 0. */
struct wl_tensor *wl_segment_sum(struct wl_graph *g, const char *name, struct wl_rows rows, struct wl_tensor *x,
                                 struct wl_tensor *start);

/* The pairs of atoms that interact, each once. Those of a molecule are contiguous, and molecules in order. */
struct wl_pairs {
    struct wl_tensor *counts;     /* WL_EDGES counts the pairs */
    struct wl_tensor *atom_start; /* i32 [molecules + 1]: the first atom of each molecule, and where the last ends */
    struct wl_tensor *pair_start; /* i32 [molecules + 1]: of pairs */
    struct wl_tensor *pair;       /* i32 [P,2]: two atoms of one molecule */
    struct wl_tensor *distance;   /* f32 [P], 0 <= d <= cutoff */
};

/* Continuous-filter convolution (Schuett et al. 2017, arXiv:1706.08566): y [A,F], row i the sum over its pairs (i,j) of
 * x[j] * W(d), with the filter W(d) = (w2 f(w1 e(d) + b1) + b2) cos^2(pi d/(2 cutoff)), f the shifted softplus and e(d)
 * the Gaussians exp(-(d - m)^2/(2 s^2)) around `gaussians` centres m from 0 to the cutoff, s apart. Parameters:
 * "NAME.0.weight" [F,gaussians], "NAME.0.bias", "NAME.2.weight" [F,F], "NAME.2.bias"; they start as wl_dense's.
 *
 * What is in front of cos^2 may be interpolated from a table over the distance (docs/adr/155): y and all gradients are
 * within 1e-6 of those without it. */
struct wl_filter {
    int64_t gaussians;
    double cutoff;
    bool exact; /* without a table */
};
struct wl_tensor *wl_filter_conv(struct wl_graph *g, const char *name, struct wl_pairs pairs, struct wl_tensor *x,
                                 struct wl_filter filter);

/* ---- fields on a grid: images whose points are rows [N*H*W,F], image after image, line after line ---- */

/* y [N*(H/s)*(W/s), C*s*s] = the squares of s x s points of x [N,C,H,W], each a row in the order [C,s,s]; and back:
 * y [N,C,H,W] of x [N*(H/s)*(W/s), s*s*C], whose rows are in the order [s,s,C]. s divides H and W. */
struct wl_patch {
    int64_t side;
    int64_t channels, height, width; /* of the images that from_patches makes */
};
struct wl_tensor *wl_patches(struct wl_graph *g, const char *name, struct wl_tensor *x, int64_t side);
struct wl_tensor *wl_from_patches(struct wl_graph *g, const char *name, struct wl_tensor *x, struct wl_patch patch);

/* y = x + p for x [N*points,F]: the same parameter p [points,F], called `name`, for each of N. It starts as N(0, .02)
 * and does not decay with decay_weights_only. */
struct wl_tensor *wl_position(struct wl_graph *g, const char *name, struct wl_tensor *x, int64_t points);

/* The orthonormal Fourier transform of each of the F channels of x [N*height*width,F], of whose result the columns
 * k < modes <= width/2 + 1 are kept:
 *     s[u,k] = (height width)^-1/2 sum over r,c of x[r,c] exp(-2 pi i (u r/height + k c/width)).
 * s [N*height*modes, 2F]: a row is a mode (u,k), in it for each of the blocks the real parts of its F/blocks channels,
 * then the imaginary ones. It is f32 in any precision. inverse_fft2 gives the field of such a spectrum, taking the
 * other columns as 0 or as those that follow from the field being real. height and width are products of 2, 3 and 5. */
struct wl_fourier {
    int64_t height, width, modes, blocks;
};
struct wl_tensor *wl_fft2(struct wl_graph *g, const char *name, struct wl_tensor *x, struct wl_fourier f);
struct wl_tensor *wl_inverse_fft2(struct wl_graph *g, const char *name, struct wl_tensor *s, struct wl_fourier f);

/* A block-diagonal layer of complex numbers over a spectrum s [M,2F] in blocks as above: y [M,2K], in each block
 * f(s w + b), f the larger of 0 and each part (relu) or each part moved towards 0 by shrink > 0 (soft-shrink). w
 * [2,blocks,F/blocks,K/blocks] are real and imaginary parts, b [2,blocks,K/blocks] too; both start as N(0, .02).
 * In the scope "filter" operation "1" has the parameters "filter.w1" and "filter.b1", as in the authors' code (Guibas
 * et al. 2021, arXiv:2111.13587). y is f32 in any precision. */
struct wl_complex {
    int64_t features, blocks; /* K */
    bool relu;
    double shrink;
};
struct wl_tensor *wl_complex_linear(struct wl_graph *g, const char *name, struct wl_tensor *s, struct wl_complex c);

/* ---- sequences of tokens ---- */

/* y [N,S,D] = tokens' row of the first table [vocabulary,D] + position's row of the second [positions,D] + row 0 of the
 * third [segments,D], for tokens i32 [N,S] in [0, vocabulary) and positions 0 to S - 1. The parameters are called
 * NAME.word_embeddings.weight, .position_embeddings.weight and .token_type_embeddings.weight, as in BERT. */
struct wl_token_tables {
    int64_t vocabulary, positions, segments, features; /* D */
    double deviation;                                  /* the tables start as N(0, deviation) */
};
struct wl_tensor *wl_embed_tokens(struct wl_graph *g, const char *name, struct wl_tensor *tokens,
                                  struct wl_token_tables opts);

/* y = gamma * (z - mean)/sqrt(var + eps) + beta by row of z = x + dropout(branch), x and branch [...,D]; branch NULL:
 * z = x. gamma starts at 1, beta at 0. Ba et al. 2016, arXiv:1607.06450. */
struct wl_layer_norm {
    double eps;  /* 0 counts as 1e-5 */
    double drop; /* of the branch, as wl_dropout of this name */
};
struct wl_tensor *wl_layer_norm(struct wl_graph *g, const char *name, struct wl_tensor *x, struct wl_tensor *branch,
                                struct wl_layer_norm opts);

/* y [...,K] = x [...,F] w' + b by row, w [K,F], b [K] (no_bias: 0); followed with `gelu` by u/2 (1 + erf(u/sqrt 2)) of
 * each element u. w starts as N(0, deviation), b at 0. With `parts` w consists of that many matrices [K/parts,F] with
 * names of their own, NAME.PART.weight and NAME.PART.bias: one product of x with all of them. */
enum { WL_MAX_PARTS = 3 };
struct wl_project {
    int64_t features; /* K */
    bool gelu, no_bias;
    double deviation;
    const char *parts[WL_MAX_PARTS]; /* [0] NULL: one matrix, called NAME */
};
struct wl_tensor *wl_project(struct wl_graph *g, const char *name, struct wl_tensor *x, struct wl_project opts);

/* y [N,S,D]: for each sample and head softmax(q k'/sqrt(D/heads)) v, then dropout of the probabilities; x [N,S,3D]
 * holds q, then k, then v, each as heads of D/heads features. Positions of a sample from lengths i32 [N] on
 * are not attended to; 0: none is, and y = 0. Vaswani et al. 2017, arXiv:1706.03762. */
struct wl_attention {
    int64_t heads;
    double drop; /* as wl_dropout of this name; an element's place in its sample is that of [heads,S,S] */
};
struct wl_tensor *wl_attention(struct wl_graph *g, const char *name, struct wl_tensor *x, struct wl_tensor *lengths,
                               struct wl_attention opts);

/* y [N*P,D]: of each sample of x [N,S,D] the rows at positions i32 [N,P] in [0,S). */
struct wl_tensor *wl_gather(struct wl_graph *g, const char *name, struct wl_tensor *x, struct wl_tensor *positions);

/* y [R,V] = x [R,D] w' + b with the first table w [V,D] of the wl_embed_tokens that made `embedded`; b [V] starts at 0.
 */
struct wl_tensor *wl_decoder(struct wl_graph *g, const char *name, struct wl_tensor *x, struct wl_tensor *embedded);

/* ---- edges between atoms, and triplets ---- */

enum { WL_MAX_NEIGHBOURS = 96 }; /* of an atom, in wl_triplet_conv */

/* The graph of DimeNet: edges j->i between atoms that are near, both ways, target by target; of each atom those that
 * lead to it are in the order of their sources. A triplet is a pair of edges k->j->i, k not i. Those around j are
 * contiguous: for each edge that leads to j from an i in order (the way back of j->i) the edges k->j in order. */
struct wl_edges {
    struct wl_tensor *counts;
    struct wl_tensor *edge_start;    /* i32 [A + 1]: the first edge that leads to each atom */
    struct wl_tensor *source;        /* i32 [E] */
    struct wl_tensor *reverse;       /* i32 [E]: the edge the other way */
    struct wl_tensor *triplet_start; /* i32 [A + 1]: the first triplet around each atom */
};

/* Bases of DimeNet (Gasteiger et al. 2020, arXiv:2003.03123), with x = d/cutoff and the envelope u(x) = 1/x - (p + 1)(p
 * + 2)/2 x^(p-1) + p(p + 2) x^p - p(p + 1)/2 x^(p+1), 0 from the cutoff on: wl_bessel_basis [E,radial]: u(x) sin(f_n
 * x), "NAME.freq" [radial] starts as n pi; wl_spherical_basis [E,spherical*radial], order by order: u(x)
 * sqrt(2)/|j_{l+1}(z)| j_l(z x), z the n-th zero of j_l; wl_angular_basis [T,spherical]: sqrt((2l + 1)/(4 pi))
 * P_l(cosine). */
struct wl_basis {
    int64_t radial, spherical;
    int power; /* p, at least 1 */
    double cutoff;
};
struct wl_tensor *wl_bessel_basis(struct wl_graph *g, const char *name, struct wl_rows edges,
                                  struct wl_tensor *distance, struct wl_basis basis);
struct wl_tensor *wl_spherical_basis(struct wl_graph *g, const char *name, struct wl_rows edges,
                                     struct wl_tensor *distance, struct wl_basis basis);
struct wl_tensor *wl_angular_basis(struct wl_graph *g, const char *name, struct wl_rows triplets,
                                   struct wl_tensor *cosine, struct wl_basis basis);

/* y [R,F] = x * (basis w'), x [R,F], basis [R,K], w [F,K] "NAME.weight", which starts as wl_dense's. */
struct wl_tensor *wl_gate(struct wl_graph *g, const char *name, struct wl_rows rows, struct wl_tensor *x,
                          struct wl_tensor *basis);

/* y [E,2 F + G]: of each edge j->i the rows x[i] and x[j] of atoms [A,F], then its own row z [E,G]. */
struct wl_tensor *wl_edge_concat(struct wl_graph *g, const char *name, struct wl_edges edges, struct wl_tensor *x,
                                 struct wl_tensor *z);

/* DimeNet's bilinear layer: y [E,F], edge j->i = residual + the sum over its triplets of sum_{b,f} s_b W[:,b,f]
 * x[k->j]_f, where s = v (radial[k->j] * angular[triplet]), order by order. "NAME.lin_sbf.weight" v
 * [bilinear,spherical*radial] starts as wl_dense's, "NAME.W" [F,bilinear,F] as N(0, 2/F). */
struct wl_triplet_conv {
    int64_t bilinear;
    struct wl_tensor *radial, *angular; /* [E,spherical*radial] and [T,spherical], neither with a gradient */
    struct wl_tensor *residual;         /* [E,F] */
};
struct wl_tensor *wl_triplet_conv(struct wl_graph *g, const char *name, struct wl_edges edges, struct wl_tensor *x,
                                  struct wl_triplet_conv conv);

/* ---- initialisation, and losses ---- */

/* Initialisation of a parameter: all `scale`, element i (i + 1) `scale`, normal with deviation `scale`, uniform in
 * +-`scale`. The two calls replace the rule of the operation that made y for its weight or bias. */
enum wl_init_rule { WL_INIT_CONSTANT, WL_INIT_MULTIPLES, WL_INIT_NORMAL, WL_INIT_UNIFORM };
struct wl_init {
    enum wl_init_rule rule;
    double scale;
};
void wl_init_weight(struct wl_graph *g, struct wl_tensor *y, struct wl_init init);
void wl_init_bias(struct wl_graph *g, struct wl_tensor *y, struct wl_init init);

/* Losses: scalars, means over the samples of a micro-batch. What is trained is the sum of weight * loss; the first that
 * is not auxiliary counts the samples, top1 and top5 of a run. A graph without a loss can only be evaluated. */
struct wl_loss {
    double weight; /* 0 counts as 1 */
    /* A part of the loss in training only: operations that only such losses need are not evaluated. */
    bool auxiliary;
};

/* -log softmax(logits [N,K])[label] with i32 labels [N]. A label < 0 marks padding: the sample counts nowhere. */
struct wl_tensor *wl_cross_entropy(struct wl_graph *g, const char *name, struct wl_tensor *logits,
                                   struct wl_tensor *labels, struct wl_loss loss);

/* Mean over all elements of (x - target)^2. A row whose target begins with NAN is padding: it counts nowhere. */
struct wl_tensor *wl_mean_square(struct wl_graph *g, const char *name, struct wl_tensor *x, struct wl_tensor *target,
                                 struct wl_loss loss);

/* Mean over the samples of |x - target|/|target|, norms over all elements of a sample. A sample whose target begins
 * with NAN is padding. WL_EINVAL when run: a target that is 0 everywhere. */
struct wl_tensor *wl_relative_l2(struct wl_graph *g, const char *name, struct wl_tensor *x, struct wl_tensor *target,
                                 struct wl_loss loss);

/* ---- the table of operations ---- */

/* What a node keeps of how its operation was called. */
union wl_op_opts {
    struct wl_pixels pixels;
    struct wl_conv conv;
    struct wl_batch_norm_opts norm;
    struct wl_pool pool;
    struct wl_loss loss;
    struct wl_dense dense;
    struct wl_filter filter;
    struct wl_patch patch;
    struct wl_fourier fourier;
    struct wl_complex complex;
    struct wl_basis basis;
    double drop; /* dropout: the probability */
    struct wl_token_tables tables;
    struct wl_layer_norm layer_norm;
    struct wl_project project;
    struct wl_attention attention;
};

/* ROW(OP, name, flop of the forward pass, check of inputs, other fields of struct wl_op_info ...). op_table.h declares
 * the functions; those of one operation are beside its constructor. */
#define WL_OPS(ROW)                                                                                                  \
    ROW(PIXELS, pixels, wl_flops_none, wl_check_none, .no_backward = true)                                           \
    ROW(CONV, conv2d, wl_flops_matrix, wl_check_none)                                                                \
    ROW(BATCH_NORM, batch_norm, wl_flops_none, wl_check_none)                                                        \
    ROW(RELU, relu, wl_flops_none, wl_check_none, .saves_output = true)                                              \
    ROW(ADD, add, wl_flops_none, wl_check_none, .saves_output = true, .makes_f32 = has_no_relu, .reads_f32 = always) \
    ROW(CONCAT, concat, wl_flops_none, wl_check_none)                                                                \
    ROW(MAX_POOL, max_pool, wl_flops_none, wl_check_none)                                                            \
    ROW(AVG_POOL, avg_pool, wl_flops_none, wl_check_none)                                                            \
    ROW(DROPOUT, dropout, wl_flops_none, wl_check_none)                                                              \
    ROW(LINEAR, linear, wl_flops_matrix, wl_check_none)                                                              \
    ROW(EMBED, embed, wl_flops_none, wl_check_embed)                                                                 \
    ROW(DENSE, dense, wl_flops_rows_matrix, wl_check_rows)                                                           \
    ROW(SEGMENT_SUM, segment_sum, wl_flops_none, wl_check_segments)                                                  \
    ROW(FILTER_CONV, filter_conv, wl_flops_filter_conv, wl_check_pairs,                                              \
        .backward_flops = wl_backward_flops_filter_conv)                                                             \
    ROW(EMBED_TOKENS, embed_tokens, wl_flops_none, wl_check_tokens)                                                  \
    ROW(LAYER_NORM, layer_norm, wl_flops_none, wl_check_none, .reads_f32 = has_no_branch)                            \
    ROW(PROJECT, project, wl_flops_matrix, wl_check_none)                                                            \
    ROW(ATTENTION, attention, wl_flops_attention, wl_check_none, .saves_output = true)                               \
    ROW(GATHER, gather, wl_flops_none, wl_check_positions)                                                           \
    ROW(DECODER, decoder, wl_flops_decoder, wl_check_none)                                                           \
    ROW(PATCHES, patches, wl_flops_none, wl_check_none)                                                              \
    ROW(FROM_PATCHES, from_patches, wl_flops_none, wl_check_none)                                                    \
    ROW(POSITION, position, wl_flops_none, wl_check_none, .makes_f32 = always)                                       \
    ROW(FFT2, fft2, wl_flops_none, wl_check_none)                                                                    \
    ROW(INVERSE_FFT2, inverse_fft2, wl_flops_none, wl_check_none)                                                    \
    ROW(COMPLEX_LINEAR, complex_linear, wl_flops_complex_linear, wl_check_none, .saves_output = true)                \
    ROW(BESSEL_BASIS, bessel_basis, wl_flops_none, wl_check_rows)                                                    \
    ROW(SPHERICAL_BASIS, spherical_basis, wl_flops_none, wl_check_rows, .no_backward = true)                         \
    ROW(ANGULAR_BASIS, angular_basis, wl_flops_none, wl_check_rows, .no_backward = true)                             \
    ROW(GATE, gate, wl_flops_rows_matrix, wl_check_rows)                                                             \
    ROW(EDGE_CONCAT, edge_concat, wl_flops_none, wl_check_edge_concat)                                               \
    ROW(TRIPLET_CONV, triplet_conv, wl_flops_triplet_conv, wl_check_triplet_conv)                                    \
    ROW(CROSS_ENTROPY, cross_entropy, wl_flops_none, wl_check_labels, .is_loss = true)                               \
    ROW(MEAN_SQUARE, mean_square, wl_flops_none, wl_check_none, .is_loss = true)                                     \
    ROW(RELATIVE_L2, relative_l2, wl_flops_none, wl_check_none, .is_loss = true)

enum wl_op {
#define WL_OP_VALUE(op, ...) WL_OP_##op,
    WL_OPS(WL_OP_VALUE)
#undef WL_OP_VALUE
        WL_OP_COUNT
};

#endif

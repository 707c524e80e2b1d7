/* Loops over rows of numbers, built once for each instruction set that a processor may have: the widest that this
 * one has is used. The sources in this folder are plain C that compilers turn into vectors; WL_SIMD_LEVEL names the
 * build, and WL_SIMD_NAME makes the symbols of the builds differ. The functions run on the calling thread.
 *
 * A sum is taken in lanes, so its last bits depend on the width; they do not on the number of threads, since callers
 * cut their work at places that do not depend on it.
 */
#ifndef WL_NN_SIMD_SIMD_H
#define WL_NN_SIMD_SIMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WL_SIMD_JOIN(name, level)  name##_##level
#define WL_SIMD_PASTE(name, level) WL_SIMD_JOIN(name, level)
#define WL_SIMD_NAME(name)         WL_SIMD_PASTE(name, WL_SIMD_LEVEL)

/* One step of Adam: with d = scale g + l2 w
 *     m = beta[0] m + rest[0] d;  v = beta[1] v + rest[1] d^2;  w = shrink w - rate m/(root sqrt(v) + eps).
 * rest = 1 - beta, rounded once: 1 - .999 of floats would be 5e-5 off. */
struct wl_adam {
    float scale, l2, beta[2], rest[2], shrink, rate, root, eps;
};

/* Matrices and blocks of the operations on rows (nn/lowering/kernels.h). A packed matrix [k,n] takes k *
 * WL_SIMD_ROUND(n) floats: panels of columns in the width of the build. */
#define WL_SIMD_ROUND(n) (((n) + 63) / 64 * 64)
enum { WL_SIMD_BLOCK = 96, WL_SIMD_LANES = 16, WL_SIMD_WINDOW = 16, WL_SIMD_EIGHT = 8 };
struct wl_dense_args;
struct wl_dense_grad;
struct wl_filter_args;
struct wl_filter_grad;
struct wl_filter_table;
struct wl_filter_roughness;
struct wl_gate_args;
struct wl_gate_grad;
struct wl_triplet_args;
struct wl_triplet_grad;
struct wl_spherical_table;

/* vt is v' [orders*radials,8]; w the matrix [f,8,f] packed as [8 f,f], backward as [f,8 f]. */
struct wl_triplet_packed {
    const float *vt, *w;
};

/* w0 is [max(gaussians, WL_SIMD_WINDOW), f], rows beyond the last Gaussian 0; w2' packed, for backward w2 packed too.
 */
struct wl_filter_packed {
    const float *w0, *w2, *w2_backward;
};
struct wl_filter_sums {
    float *dw0, *db0, *dw2, *db2; /* added to; dw0 as w0 above */
};
/* [nodes,f] of a table: filters before the cutoff, hidden features, slopes of their softplus. */
struct wl_filter_rows {
    float *filters, *hidden, *slopes;
};

/* Dropout of the elements of a sample, as nn/ref has it: element j is dropped where its number, of 16 bits, is below
 * `drop`; others are multiplied by `scale`. */
struct wl_dropout_mask {
    uint64_t key, update;
    uint32_t drop; /* 0: nothing is dropped, and no number drawn */
    float scale;
};
/* Numbers are drawn in whole groups: so many more of them than elements have to have room. */
enum { WL_DROPOUT_MASK_SLACK = 2 * 128 };

/* Rows of f numbers for layer norm: z = x + branch, where the branch is dropped out and may be absent. A sample has
 * `s` rows; `first` is the number of the first sample. All members are shared by all rows but `row` and `numbers`,
 * which belong to the thread.
 */
struct wl_layer_norm_rows {
    int64_t f, s, first;
    float eps;
    struct wl_dropout_mask mask;
    const float *gamma, *beta; /* [f] */
    float *inverse;            /* [rows] 1/sqrt(var + eps) */
    void *hat;                 /* [rows,f] (z - mean) inverse */
    bool x_f32;                /* x is f32, whatever the loops' type; then there is no branch */
    float *row;                /* [f] scratch of the thread */
    uint16_t *numbers;         /* [f + WL_DROPOUT_MASK_SLACK] */
};

/* Rows of attention's scores of one head: queries [from, from + n) and all `s` keys, of which `length` count. */
struct wl_softmax_rows {
    int64_t sample, head, s, length, from, n;
    float scale; /* of the scores: 1/sqrt(features) */
    struct wl_dropout_mask mask;
    uint16_t *numbers; /* [s + WL_DROPOUT_MASK_SLACK] scratch */
};

/* Loops over values in one type: f32, or bf16 (16 bits). Computation is in f32. */
struct wl_simd_loops {
    /* y and hat of rows [from, to) of x and branch (NULL: none); hat NULL: not wanted, nor is inverse. */
    void (*layer_norm)(const struct wl_layer_norm_rows *o, int64_t from, int64_t to, const void *x, const void *branch,
                       void *y);
    /* dz (which may be dy) and dbranch (NULL: not wanted) of rows [from, to); *dgamma and *dbeta [f] are written. */
    void (*layer_norm_backward)(const struct wl_layer_norm_rows *o, int64_t from, int64_t to, const void *dy, void *dz,
                                void *dbranch, float *dgamma, float *dbeta);
    /* y = u Phi(u); slope = its derivative, which may overwrite u (NULL: not wanted). */
    void (*gelu)(int64_t n, const void *u, void *y, void *slope);
    void (*multiply)(int64_t n, const void *a, const void *b, void *y);
    void (*add)(int64_t n, const void *a, const void *b, void *y);
    /* p [n,s] = dropout(softmax(scale scores)), and the logarithm of each row's sum of exponents for the backward
     * pass (NULL: not wanted). Scores are clobbered; in f32 p may overwrite them. */
    void (*softmax)(const struct wl_softmax_rows *o, float *scores, void *p, float *log_sum);
    /* From the scores and the gradient by p, both [n,s] and clobbered: p once more, and ds, the gradient by q k'. In
     * f32 each may overwrite its source. */
    void (*softmax_backward)(const struct wl_softmax_rows *o, float *scores, float *dp, const float *log_sum, void *p,
                             void *ds);
    /* y [f] = a[0] + b[0] + c[0] of three rows in f32; and to [f] += row. */
    void (*sum3)(int64_t f, const float *a, const float *b, const float *c, void *y);
    void (*add_row)(int64_t f, const void *row, float *to);
    void (*narrow)(int64_t f, const float *row, void *to);
    /* Of a row of k logits: -log softmax(x)[label], with the logarithm of the sum of their exponents; and how many
     * rank before the label, equal ones by index. */
    float (*entropy)(int64_t k, const void *x, int64_t label, float *log_sum);
    int64_t (*rank)(int64_t k, const void *x, int64_t label);
    /* dx = scale (exp(x - log_sum) - onehot(label)); dx may be x. */
    void (*entropy_backward)(int64_t k, const void *x, float log_sum, int64_t label, float scale, void *dx);
    /* y = dropout(x) of elements [from, from + n) of a sample; numbers [n + WL_DROPOUT_MASK_SLACK] is scratch. */
    void (*dropout)(const struct wl_dropout_mask *m, int64_t sample, int64_t from, int64_t n, const void *x, void *y,
                    uint16_t *numbers);
};

/* Fourier transform of n numbers, n a product of 2, 3 and 5, in stages: stage i takes n by radix[i] further apart, and
 * multiplies result u of its butterfly j by twiddle[i][2 (j radix[i] + u)], ... + 1. */
enum { WL_FFT_STAGES = 32 };
struct wl_fft {
    int n, stages, radix[WL_FFT_STAGES];
    const float *twiddle[WL_FFT_STAGES];
};

/* Transforms of real numbers on h x w points, of which the columns k < modes <= w/2 + 1 are kept:
 *     s[u,k] = scale sum over r,c of x[r,c] exp(-2 pi i (u r/h + k c/w)), and
 *     x[r,c] = scale sum over u,k of t(k) Re(s[u,k] exp(+2 pi i (u r/h + k c/w)))
 * with t = 2 but 1 where k = 0 or 2k = w, since columns that have a mirror image count twice. Without `doubled`
 * (with it, in the first) t = 1 (t multiplies the sum): so each is the other's adjoint, and its inverse.
 * x is of f32 or bf16. Up to WL_FFT_CHANNELS channels at a time: x[point] at x + point * x_step, s[u,k] at re and im +
 * (u modes + k) s_step. `scratch`: 2 modes h + 2 max(h, w) points of WL_FFT_CHANNELS floats, on a multiple of 64. */
enum { WL_FFT_CHANNELS = 32 };
struct wl_fft2 {
    struct wl_fft across, down; /* of w and h numbers */
    int64_t modes;
    float scale;
};

/* One block of a layer of complex numbers: rows hold the real parts of `in` (`out`) numbers, then the imaginary ones.
 * y = f(x w + b), f the larger of 0 and each part (relu), or each part moved towards 0 by `shrink`, where 0 does
 * nothing. `packed` is w as complex_pack makes it, transposed for the backward pass: 3 k WL_SIMD_COMPLEX_ROUND(n)
 * floats of a matrix [k,n]. Calls that take rows need `scratch` of the calling thread, of as many floats. */
#define WL_SIMD_COMPLEX_ROUND(n)         (((n) + 47) / 48 * 48)
#define WL_SIMD_COMPLEX_SCRATCH(in, out) (3 * WL_SIMD_BLOCK * ((in) + WL_SIMD_COMPLEX_ROUND(out)))
struct wl_complex_layer {
    int64_t in, out;
    const float *packed, *bias; /* bias [2 out] */
    bool relu;
    float shrink;
};

struct wl_simd {
    const char *name; /* "x86-64-v4" */

    /* Multiplies and adds in registers alone, as fast as a core can; returns the flop of so many rounds. */
    double (*multiply_add)(int64_t rounds, float factor);

    /* Packs b [k,n], b(k,j) = at[k * row + j * col]. */
    void (*pack)(const float *at, int64_t row, int64_t col, int64_t k, int64_t n, float *to);

    /* wl_ref_dense on rows [from, to), with w' packed [f,k]; backward with w packed [k,f], a block of scratch
     * [WL_SIMD_BLOCK,k], and sums dw [k,f] and db [k] that are added to. */
    void (*dense)(const struct wl_dense_args *a, const float *packed, int64_t from, int64_t to);
    void (*dense_backward)(const struct wl_dense_grad *a, const float *packed, int64_t from, int64_t to, float *block,
                           float *dw, float *db);

    /* wl_ref_filter_conv for molecules [from, to); f is a multiple of WL_SIMD_LANES. Scratch `block`: 2, backward 4
     * times [WL_SIMD_BLOCK,f]. */
    void (*filter_conv)(const struct wl_filter_args *a, const struct wl_filter_packed *packed, int64_t from, int64_t to,
                        float *block);
    void (*filter_conv_backward)(const struct wl_filter_grad *a, const struct wl_filter_packed *packed, int64_t from,
                                 int64_t to, float *block, const struct wl_filter_sums *sums);

    /* The same by a table. Its rows for nodes [from, to); how rough rows [nodes,f] are there; molecules [from, to); of
     * these features [first, last) of dx and of d_table [nodes,f]; what its rows [from, to) add to the gradients of the
     * parameters, with a block of scratch [WL_SIMD_BLOCK,f]. */
    void (*filter_nodes)(const struct wl_filter_args *a, const struct wl_filter_packed *packed,
                         const struct wl_filter_table *t, int64_t from, int64_t to, const struct wl_filter_rows *rows);
    struct wl_filter_roughness (*filter_roughness)(const float *rows, int64_t nodes, int64_t f, int64_t from,
                                                   int64_t to);
    void (*filter_table_conv)(const struct wl_filter_args *a, const struct wl_filter_table *t, const float *table,
                              int64_t from, int64_t to);
    void (*filter_table_backward)(const struct wl_filter_grad *g, const struct wl_filter_table *t, const float *table,
                                  int64_t from, int64_t to, int64_t first, int64_t last, float *d_table);
    void (*filter_nodes_backward)(const struct wl_filter_args *a, const struct wl_filter_packed *packed,
                                  const struct wl_filter_table *t, int64_t from, int64_t to,
                                  const struct wl_filter_rows *rows, const float *d_table, float *block,
                                  const struct wl_filter_sums *sums);
    /* wl_ref_gate on rows [from, to) with wt [8,f], w' with rows of 0; k at most 8, f a multiple of WL_SIMD_LANES. Sums
     * dwt are added to. */
    void (*gate)(const struct wl_gate_args *a, const float *wt, int64_t from, int64_t to);
    void (*gate_backward)(const struct wl_gate_grad *g, const float *wt, int64_t from, int64_t to, float *dwt);

    /* wl_ref_spherical_basis on rows [from, to), by cubics of a table. */
    void (*spherical)(const struct wl_spherical_table *t, int64_t from, int64_t to, const float *distance, float *y);

    /* wl_ref_triplet_conv around atoms [from, to); bilinear is 8 and f a multiple of 64. Scratch `block`: WL_SIMD_BLOCK
     * times 2 orders * 8 + WL_SIMD_BLOCK * 8 + 17 f. Sums dvt and dw [f,8 f] are added to. */
    void (*triplet_conv)(const struct wl_triplet_args *a, const struct wl_triplet_packed *packed, int64_t from,
                         int64_t to, float *block);
    void (*triplet_conv_backward)(const struct wl_triplet_grad *g, const struct wl_triplet_packed *packed, int64_t from,
                                  int64_t to, float *block, float *dvt, float *dw);
    void (*adam)(const struct wl_adam *step, float *w, const float *g, float *m, float *v, size_t n);
    const struct wl_simd_loops *of[2]; /* by enum wl_dtype: f32, bf16 */
    void (*fft2)(const struct wl_fft2 *f, bool doubled, const void *x, bool bf16, int64_t x_step, float *re, float *im,
                 int64_t s_step, int channels, void *scratch);
    void (*inverse_fft2)(const struct wl_fft2 *f, bool doubled, const float *re, const float *im, int64_t s_step,
                         void *x, bool bf16, int64_t x_step, int channels, void *scratch);
    /* w of a block, in the three matrices that its products read; `scratch` needs in out. */
    void (*complex_pack)(const float *re, const float *im, int64_t in, int64_t out, bool transposed, float *scratch,
                         float *packed);
    void (*complex_rows)(const struct wl_complex_layer *l, int64_t rows, const float *x, int64_t x_step, float *y,
                         int64_t y_step, float *scratch);
    /* g = dy f'; dx = g w' (NULL: not wanted); g may be dy. */
    void (*complex_rows_back)(const struct wl_complex_layer *l, int64_t rows, const float *y, const float *dy, float *g,
                              int64_t y_step, float *dx, int64_t x_step, float *scratch);
    /* Over these rows: three products of x' and g [in, out], then the sum of g [2 out]; and w's gradient of the sum of
     * such sums. */
    void (*complex_weights)(const struct wl_complex_layer *l, int64_t rows, const float *x, int64_t x_step,
                            const float *g, int64_t y_step, float *sums, float *scratch);
    void (*complex_fold)(const struct wl_complex_layer *l, const float *sums, float *re, float *im);
};

/* The widest build that runs here. */
const struct wl_simd *wl_simd(void);

#endif

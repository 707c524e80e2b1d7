/* The graph as the planner and the back-ends see it. Built by graph.c (tensors, names) and ops.c (operations). */
#ifndef WL_NN_GRAPH_GRAPH_H
#define WL_NN_GRAPH_GRAPH_H

#include "nn/graph/op_table.h"
#include "nn/nn.h"

enum wl_tensor_role { WL_ROLE_INPUT, WL_ROLE_PARAM, WL_ROLE_STATISTIC, WL_ROLE_VALUE };

struct wl_tensor {
    const char *name;
    enum wl_dtype dtype;
    struct wl_dims dims;
    enum wl_tensor_role role;
    int id;                         /* index in the graph */
    bool output;                    /* the caller reads it behind an evaluation */
    bool gradient;                  /* the loss's gradient by it is needed */
    bool f32;                       /* its value is f32 in any precision */
    const struct wl_node *producer; /* of a value; NULL: input, parameter, statistic */
    int readers;                    /* operations that read it */
    struct wl_init init;            /* parameters and statistics */
    bool is_weight;                 /* parameter that decays also with decay_weights_only */
    double momentum;                /* statistics: share of the new value */
    /* A parameter that is made of equal pieces along its first dimension, each of which is a state of its own with this
     * name: n_parts of them; 0: it is one. */
    const char *const *parts;
    int n_parts;
};

enum { WL_MAX_PARAMS = 4 };

/* One operation. What is absent is NULL. */
struct wl_node {
    enum wl_op op;
    const char *name;
    struct wl_tensor *in[WL_MAX_INPUTS]; /* x; second term, labels, target, lengths, or positions */
    struct wl_tensor *out;
    /* Weight, bias; gamma, beta; two layers'; tables of tokens. Operations inside wl_scope_reuse share them. */
    struct wl_tensor *par[WL_MAX_PARAMS];
    struct wl_tensor *tied;     /* a parameter of another operation that this one reads too */
    struct wl_tensor *stat[2];  /* running mean, running variance */
    bool relu;                  /* max(0, .) of the result */
    bool counts;                /* of losses: its samples are those of the run */
    struct wl_tensor *residual; /* of operations on rows: an input that is added to the result */
    enum wl_row_kind rows;      /* of operations on rows: which count says how many there are */
    union {
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
    } u;
};

struct wl_graph_scope {
    const char *names;  /* of its operations they begin so: "layer1.0.", or "" */
    const char *params; /* of wl_scope_reuse: the names whose parameters they read; NULL: they make theirs */
    const struct wl_graph_scope *outer; /* NULL: the graph itself */
};

struct wl_graph {
    struct wl_arena *arena;
    struct wl_tensor **tensors;
    struct wl_node **nodes;
    size_t n_tensors, cap_tensors, n_nodes, cap_nodes;
    const struct wl_graph_scope *scope;
    struct wl_err err;              /* the first error; code 0: none */
    double mean_rows[WL_ROW_KINDS]; /* of a batch; NAN: not known */
};

/* ---- building (graph.c), used by ops.c ---- */

/* Keeps the first error. */
void wl_graph_fail(struct wl_graph *g, const char *fmt, ...) WL_PRINTF(2, 3);

struct wl_tensor *wl_tensor_new(struct wl_graph *g, const char *name, enum wl_dtype type, enum wl_tensor_role role,
                                const struct wl_dims *dims);

/* A node with its full name and an output of these dims, dtype f32. */
struct wl_node *wl_node_new(struct wl_graph *g, enum wl_op op, const char *name, struct wl_tensor *a,
                            struct wl_tensor *b);
struct wl_tensor *wl_node_out(struct wl_graph *g, struct wl_node *n, const struct wl_dims *dims);

/* One more input of a node. */
void wl_node_read(struct wl_node *n, struct wl_tensor *t);

/* A parameter of the node, called `name` in its scope; wl_node_param: "NODE.suffix". `is_weight`: it decays also with
 * decay_weights_only. Inside wl_scope_reuse the one that was made before. */
struct wl_tensor *wl_param(struct wl_graph *g, const struct wl_node *n, const char *name, struct wl_dims dims,
                           struct wl_init init, bool is_weight);
struct wl_tensor *wl_node_param(struct wl_graph *g, const struct wl_node *n, const char *suffix, struct wl_dims dims,
                                struct wl_init init, bool is_weight);

/* Does the node get an f32 value there (every operation reads those; what is i32 it checks itself)? False with the
 * graph's error. */
bool wl_check_f32(struct wl_graph *g, const struct wl_node *n, const struct wl_tensor *t);

/* The same for an i32 tensor of these dims. */
bool wl_check_i32(struct wl_graph *g, const struct wl_node *n, const struct wl_tensor *t, struct wl_dims dims);

/* The same for a probability of dropout. */
bool wl_check_drop(struct wl_graph *g, const struct wl_node *n, double p);

/* The result of an operation that failed: the shape of its input, so that building can go on to the end. */
struct wl_tensor *wl_node_failed(struct wl_graph *g, struct wl_node *n);

/* The operation that alone reads t; NULL: there is none, or more than one. */
const struct wl_node *wl_only_reader(const struct wl_graph *g, const struct wl_tensor *t);

/* ---- shapes (ops.c) ---- */

/* A window operation: x [N,C,H,W], y [N,K,P,Q], window R x S (for pools K = C). */
struct wl_window {
    int64_t n, c, h, w, k, p, q, r, s;
    int64_t stride[2], pad[2];
};
struct wl_window wl_conv_window(const struct wl_node *n);
struct wl_window wl_pool_window(const struct wl_node *n);

enum { WL_DROP_STEPS = 1 << 16 }; /* a probability of dropout counts in so many steps */

/* Layer norm and project see x [...,F] as [rows,F]. */
struct wl_vectors {
    int64_t n, f;
};
struct wl_vectors wl_vectors_of(const struct wl_tensor *x);

/* Attention: `n` samples of `s` positions, `heads` heads of `f` features. */
struct wl_heads {
    int64_t n, s, heads, f;
};
struct wl_heads wl_heads_of(const struct wl_node *n);

/* Batch norm sees x as [N,C,area]. */
struct wl_channels {
    int64_t n, c, area;
};
struct wl_channels wl_channels_of(const struct wl_tensor *x);

/* Of concat: the channel of the result where input i begins. */
int64_t wl_concat_offset(const struct wl_node *n, int i);

/* The sizes of fft2 and inverse_fft2: n fields of h x w points and blocks x size channels; and of complex_linear: rows
 * of blocks x (in, out) complex numbers. */
struct wl_fourier_size {
    int64_t n, h, w, modes, blocks, size;
};
struct wl_fourier_size wl_fourier_size(const struct wl_node *n);
struct wl_complex_size {
    int64_t rows, blocks, in, out;
};
struct wl_complex_size wl_complex_size(const struct wl_node *n);

/* The sizes of patches and from_patches: images [N,C,H,W] in patches of `side`. */
struct wl_patch_size {
    int64_t n, c, h, w, side;
};
struct wl_patch_size wl_patch_size(const struct wl_node *n);

#endif

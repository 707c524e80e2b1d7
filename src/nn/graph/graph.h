/* The graph as the planner and the back-ends see it. Built by graph.c (tensors, names) and ops.c (operations). */
#ifndef WL_NN_GRAPH_GRAPH_H
#define WL_NN_GRAPH_GRAPH_H

#include "nn/graph/build.h"
#include "nn/graph/op_table.h"

enum wl_tensor_role { WL_ROLE_INPUT, WL_ROLE_PARAM, WL_ROLE_STATISTIC, WL_ROLE_VALUE };

struct wl_tensor {
    const char *name;
    enum wl_dtype dtype;
    struct wl_dims dims;
    enum wl_tensor_role role;
    int id;                         /* index in the graph */
    bool output;                    /* the caller reads it after an evaluation */
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
    enum wl_row_kind rows;      /* of operations on rows: which count gives their number */
    union wl_op_opts u;
};

struct wl_graph_scope {
    const char *names;  /* the prefix of its operations: "layer1.0.", or "" */
    const char *params; /* of wl_scope_reuse: the prefix of the parameters that are shared; NULL: new parameters */
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

/* The operation that alone reads t; NULL: there is none, or more than one. */
const struct wl_node *wl_only_reader(const struct wl_graph *g, const struct wl_tensor *t);

#endif

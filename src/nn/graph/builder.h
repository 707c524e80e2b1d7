/* How the files of this folder build nodes. */
#ifndef WL_NN_GRAPH_BUILDER_H
#define WL_NN_GRAPH_BUILDER_H

#include "nn/graph/graph.h"

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

/* Does the node get an f32 value there (all operations read those; an operation checks its i32 inputs itself)? False
 * with the graph's error. */
bool wl_check_f32(struct wl_graph *g, const struct wl_node *n, const struct wl_tensor *t);

/* The same for an i32 tensor of these dims. */
bool wl_check_i32(struct wl_graph *g, const struct wl_node *n, const struct wl_tensor *t, struct wl_dims dims);

/* The same for a probability of dropout. */
bool wl_check_drop(struct wl_graph *g, const struct wl_node *n, double p);

/* The result of an operation that failed: the shape of its input, so that building can continue to the end. */
struct wl_tensor *wl_node_failed(struct wl_graph *g, struct wl_node *n);

#endif

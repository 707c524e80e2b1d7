/* Building a graph: scopes, inputs, outputs; ops.h has the operations. */
#ifndef WL_NN_GRAPH_BUILD_H
#define WL_NN_GRAPH_BUILD_H

#include "nn/graph/ops.h"
#include "nn/graph/tensor.h"

/* The functions of ops.h add operations and check all shapes at once. The first error stays in the graph,
 * later calls do nothing, and none returns NULL, so a model is written without a check per line; wl_graph_check asks at
 * the end.
 *
 * Names: an operation `name` inside the scopes that are open is called "layer1.0.conv1"; its parameters are called
 * "layer1.0.conv1.weight", as torchvision calls them. Two operations of one name are an error. */
struct wl_graph;
struct wl_graph *wl_graph_new(struct wl_arena *a);
void wl_scope_push(struct wl_graph *g, const char *fmt, ...) WL_PRINTF(2, 3);
void wl_scope_pop(struct wl_graph *g);

/* Parameter sharing: a part of the network once more, with the same parameters: in this scope, which wl_scope_pop
 * closes, an operation called "again.fc1" reads those of the operation "fc1" before, of the same kind and with
 * parameters of the same shapes. A parameter stays one state with one gradient, the sum over the operations that read
 * it. Everything else is each operation's own: its name and its dropout masks. batch_norm cannot be shared: it has
 * statistics. */
void wl_scope_reuse(struct wl_graph *g, const char *fmt, ...) WL_PRINTF(2, 3);

/* 0, or WL_EINVAL with the message of the first operation that did not fit: "layer1.0.add: add of [..] and [..]". */
int wl_graph_check(const struct wl_graph *g, struct wl_err *e) WL_MUST_CHECK;

/* A tensor that the caller fills before each run. f32, i32 or u8. */
struct wl_tensor *wl_input(struct wl_graph *g, const char *name, enum wl_dtype type, struct wl_dims dims);

/* Also computes the gradient of the loss by this input (off by default: images need none). */
void wl_want_gradient(struct wl_graph *g, struct wl_tensor *input);

/* Rows that stay f32 in any precision: a stream that many layers add to, whose roundings would add up. They are results
 * of add or position; add and layer_norm without a branch read them. Gradients by them follow the precision. */
void wl_keep_f32(struct wl_graph *g, struct wl_tensor *t);

/* The result of an operation that the caller reads after each evaluation (wl_plan_output). */
void wl_output(struct wl_graph *g, struct wl_tensor *t);

#endif

/* A cuDNN without a GPU: it interprets operation graphs in plain loops, on the streams of the fake libcuda. Where the
 * real one is forgiving it refuses: attributes of another type, set twice or not at all, strides that are not NHWC,
 * channels of 16-bit numbers that are not multiples of 8 where kernels read them, addresses and workspaces that are not
 * aligned or overlap, tensors that are missing or given twice. A plan overwrites all of its workspace. What its engines
 * are: engine.c. */
#ifndef WL_TESTS_GPU_FAKE_CUDNN_FAKE_H
#define WL_TESTS_GPU_FAKE_CUDNN_FAKE_H

#include "cuda/api.h"
#include "nn/gpu/dnn/api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_API __attribute__((visibility("default")))

/* ---- descriptors (descriptor.c) ---- */

struct attribute {
    int name, type;
    int64_t n;
    void *v; /* NULL: not set */
};

enum { MOST_ATTRIBUTES = 12 };
struct descriptor {
    int kind; /* CUDNN_BACKEND_..._DESCRIPTOR */
    bool finalized;
    struct attribute v[MOST_ATTRIBUTES]; /* of the kind's row of names */
    int n;
    void *resolved; /* of graphs and plans: what was made of it */
};

/* The error's text, for GetLastErrorString; returns the status. */
cudnnStatus_t fake_fail(cudnnStatus_t status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

const struct attribute *fake_attribute(const struct descriptor *d, int name);
int64_t fake_int(const struct descriptor *d, int name);
int fake_enum(const struct descriptor *d, int name);
struct descriptor *fake_child(const struct descriptor *d, int name, int64_t i);

/* ---- graphs (graph.c) ---- */

enum { MOST_TENSORS = 12, MOST_OPERATIONS = 6 };

struct tensor {
    int64_t id, dims[4], strides[4], alignment;
    int type;
    bool is_virtual;
};

/* Tensors by their index in the graph; -1: none. */
struct operation {
    int kind; /* of its descriptor */
    int mode; /* pointwise */
    int x, w, y, extra;
    int64_t stride[2], pad[2];
};

struct graph {
    struct tensor tensors[MOST_TENSORS];
    struct operation operations[MOST_OPERATIONS];
    int n_tensors, n_operations;
};

/* Checks a graph's operations and the shapes of their tensors. */
cudnnStatus_t fake_graph(const struct descriptor *d, struct graph *g);
size_t fake_type_bytes(int type);
int64_t fake_tensor_bytes(const struct tensor *t);

/* ---- engines and plans (engine.c) ---- */

struct plan {
    struct graph graph;
    int64_t engine, tile; /* tile: -1: it has none */
    int64_t workspace;
    bool tf32; /* f32 numbers are multiplied as tensor cores read them */
};

cudnnStatus_t fake_finalize_engine(struct descriptor *d);
cudnnStatus_t fake_finalize_config(struct descriptor *d);
cudnnStatus_t fake_finalize_plan(struct descriptor *d);
cudnnStatus_t fake_finalize_heuristics(struct descriptor *d);
/* Attributes that are computed, not set. `known` false: it is none of them. */
cudnnStatus_t fake_get_computed(struct descriptor *d, int name, int64_t room, int64_t *n, void *v, bool *known);

/* ---- execution (execute.c) ---- */

cudnnStatus_t fake_execute(CUstream stream, const struct plan *p, const struct descriptor *pack);

#endif

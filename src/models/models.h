/* The reference networks. Each builds a graph for one local batch and nothing else. */
#ifndef WL_MODELS_MODELS_H
#define WL_MODELS_MODELS_H

#include "nn/nn.h"

/* What a model is built for. */
struct wl_model_opts {
    const char
        *size;     /* "full", or "tiny": the same code with fewer blocks and channels, for tests and small machines */
    int64_t batch; /* N, samples of a micro-batch */
    int64_t image_size; /* S, pixels a side */
    int64_t classes;
};

/* The ends of the graph. */
struct wl_model_net {
    struct wl_tensor *images; /* f32 [N,3,S,S] */
    struct wl_tensor *labels; /* i32 [N]; < 0: padding */
    struct wl_tensor *logits; /* f32 [N,classes] */
    struct wl_tensor *loss;   /* f32, mean over the samples */
};

/* What is used where the user says nothing. */
struct wl_model_defaults {
    int64_t image_size, local_batch;
    double lr_256; /* learning rate of a global batch of 256; of others in proportion */
    double momentum, weight_decay;
};

struct wl_model {
    const char *name;
    const char *help; /* one line */
    struct wl_model_defaults full, tiny;

    /* Adds the network to an empty graph. WL_EINVAL: the graph's own error, an image too small for the network. */
    int (*build)(struct wl_graph *g, const struct wl_model_opts *opts, struct wl_model_net *net, struct wl_err *e);
};

extern const struct wl_model *const wl_models[]; /* NULL-terminated */

/* A model by name, or NULL. */
const struct wl_model *wl_model_find(const char *name);

/* The defaults of a size. */
const struct wl_model_defaults *wl_model_defaults(const struct wl_model *m, const char *size);

#endif

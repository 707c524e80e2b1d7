/* Image classification networks. */
#ifndef WL_MODELS_IMAGE_MODELS_H
#define WL_MODELS_IMAGE_MODELS_H

#include "nn/nn.h"

struct wl_image_model_opts {
    const char *size;   /* "full" or "tiny", with fewer blocks and channels, for tests and small machines */
    int64_t batch;      /* N, samples of a micro-batch */
    int64_t image_size; /* S, pixels per side */
    int64_t classes;
    /* The images are bytes, as the data set has them, normalised with ImageNet's mean and deviation; else f32 that the
     * caller has normalised. */
    bool bytes;
};

/* Inputs and outputs of the graph. */
struct wl_image_model_io {
    struct wl_tensor *images; /* [N,3,S,S], u8 with `bytes`, else f32 */
    struct wl_tensor *labels; /* i32 [N]; < 0: padding */
    struct wl_tensor *logits; /* f32 [N,classes] */
    struct wl_tensor *loss;   /* f32, mean over the samples */
};

struct wl_image_model {
    const char *name;
    int64_t image_size, tiny_image_size; /* default of each size, pixels per side */

    /* Adds the network to an empty graph. WL_EINVAL: the graph's own error, an image too small for the network. */
    int (*build)(struct wl_graph *g, const struct wl_image_model_opts *opts, struct wl_image_model_io *io,
                 struct wl_err *e);
};

extern const struct wl_image_model wl_resnet50, wl_vgg16, wl_inception3;

extern const struct wl_image_model *const wl_image_models[]; /* NULL-terminated */

/* Adds the inputs, of which the network reads the result: the images as f32. */
struct wl_tensor *wl_image_model_inputs(struct wl_graph *g, const struct wl_image_model_opts *opts,
                                        struct wl_image_model_io *io);

/* A model by name, or NULL. */
const struct wl_image_model *wl_image_model_find(const char *name);

#endif

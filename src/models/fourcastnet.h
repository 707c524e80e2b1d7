/* Global weather forecasts. */
#ifndef WL_MODELS_FOURCASTNET_H
#define WL_MODELS_FOURCASTNET_H

#include "nn/nn.h"

/* FourCastNet (Pathak et al. 2022, arXiv:2202.11214). */
struct wl_fourcastnet_opts {
    const char *size;
    int64_t batch, channels, height, width; /* N, C; H and W are multiples of the patch */
    int64_t steps; /* forecast steps, each from the previous one with the same parameters; 0: 1 (pre-training) */
};

enum { WL_FOURCASTNET_MAX_STEPS = 2 }; /* as in fine-tuning */
struct wl_fourcastnet_io {
    int64_t steps;
    struct wl_tensor *fields; /* f32 [N,C,H,W], normalised */
    /* For each step the target, in which a sample that begins with NAN is padding, and the forecast [N,C,H,W] from
     * `fields` or from the previous prediction. */
    struct wl_tensor *target[WL_FOURCASTNET_MAX_STEPS], *prediction[WL_FOURCASTNET_MAX_STEPS];
};

/* Points per side of a patch. */
int64_t wl_fourcastnet_patch(const char *size);

/* Adds the network to an empty graph, with the relative L2 of each step as a loss of weight 1. WL_EINVAL: a grid that
 * patches do not divide, or whose number of patches in a direction has a prime factor other than 2, 3 and 5. */
int wl_fourcastnet_build(struct wl_graph *g, const struct wl_fourcastnet_opts *opts, struct wl_fourcastnet_io *io,
                         struct wl_err *e) WL_MUST_CHECK;

#endif

#include "models/image_models.h"

const struct wl_image_model *const wl_image_models[] = { &wl_resnet50, &wl_vgg16, &wl_inception3, NULL };

const struct wl_image_model *wl_image_model_find(const char *name)
{
    for (const struct wl_image_model *const *m = wl_image_models; *m; m++)
        if (wl_str_eq((*m)->name, name)) return *m;
    return NULL;
}

/* torchvision's, which its weights are trained with. */
static const struct wl_pixels imagenet = { .mean = { 0.485f, 0.456f, 0.406f },
                                           .deviation = { 0.229f, 0.224f, 0.225f } };

struct wl_tensor *wl_image_model_inputs(struct wl_graph *g, const struct wl_image_model_opts *opts,
                                        struct wl_image_model_io *io)
{
    const int64_t n = opts->batch, size = opts->image_size;
    io->images = wl_input(g, "images", opts->bytes ? WL_U8 : WL_F32, WL_DIMS(n, 3, size, size));
    io->labels = wl_input(g, "labels", WL_I32, WL_DIMS(n));
    return opts->bytes ? wl_pixels(g, "pixels", io->images, imagenet) : io->images;
}

#include "models/image_models.h"

const struct wl_image_model *const wl_image_models[] = { &wl_resnet50, &wl_vgg16, &wl_inception3, NULL };

const struct wl_image_model *wl_image_model_find(const char *name)
{
    for (const struct wl_image_model *const *m = wl_image_models; *m; m++)
        if (wl_str_eq((*m)->name, name)) return *m;
    return NULL;
}

#include "models/models.h"

#include "models/internal.h"

const struct wl_model *const wl_models[] = { &wl_model_resnet50, &wl_model_vgg16, &wl_model_inception3, NULL };

const struct wl_model *wl_model_find(const char *name)
{
    for (const struct wl_model *const *m = wl_models; *m; m++)
        if (wl_streq((*m)->name, name)) return *m;
    return NULL;
}

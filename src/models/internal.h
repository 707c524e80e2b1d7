#ifndef WL_MODELS_INTERNAL_H
#define WL_MODELS_INTERNAL_H

#include "models/models.h"

extern const struct wl_image_model wl_resnet50, wl_vgg16, wl_inception3;

#endif

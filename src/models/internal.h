#ifndef WL_MODELS_INTERNAL_H
#define WL_MODELS_INTERNAL_H

#include "models/models.h"

extern const struct wl_model wl_model_resnet50, wl_model_vgg16, wl_model_inception3;

#endif

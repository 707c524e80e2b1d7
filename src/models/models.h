/* The reference networks. Each builds a graph for one local batch and nothing else. */
#ifndef WL_MODELS_MODELS_H
#define WL_MODELS_MODELS_H

#include "models/bert.h"
#include "models/fourcastnet.h"
#include "models/image_models.h"
#include "models/molecule_models.h"

#endif

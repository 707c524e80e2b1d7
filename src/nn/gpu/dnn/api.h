/* The part of cuDNN's binary interface that we use, so that none of its headers is needed to build. Names are cuDNN's
 * own. */
#ifndef WL_NN_GPU_DNN_API_H
#define WL_NN_GPU_DNN_API_H

#include "nn/gpu/dnn/constants.h"

enum {
#define WL_DNN_CONSTANT(name, value) name = value,
    WL_DNN_CONSTANTS(WL_DNN_CONSTANT)
#undef WL_DNN_CONSTANT
};

/* Enumerations of theirs are ints in memory. */
typedef int cudnnStatus_t;
typedef struct cudnnContext *cudnnHandle_t;
typedef void *cudnnBackendDescriptor_t;

#endif

/* Compiled by compare_headers: our constants of cuDNN have the values of NVIDIA's header, and its functions have the
 * parameters with which we call them. */
#include <cudnn_graph.h>

#include "nn/gpu/dnn/constants.h"

#define SAME(name, value) _Static_assert((int)name == (value), #name);
WL_DNN_CONSTANTS(SAME)

/* Enumerations are ints to us. */
_Static_assert(sizeof(cudnnBackendAttributeName_t) == sizeof(int) && sizeof(cudnnStatus_t) == sizeof(int), "an int");

#define TAKES(function, result, ...) \
    _Static_assert(__builtin_types_compatible_p(__typeof__(function), result(__VA_ARGS__)), #function)
TAKES(cudnnGetVersion, size_t, void);
TAKES(cudnnGetErrorString, const char *, cudnnStatus_t);
TAKES(cudnnGetLastErrorString, void, char *, size_t);
TAKES(cudnnCreate, cudnnStatus_t, cudnnHandle_t *);
TAKES(cudnnDestroy, cudnnStatus_t, cudnnHandle_t);
TAKES(cudnnSetStream, cudnnStatus_t, cudnnHandle_t, cudaStream_t);
TAKES(cudnnBackendCreateDescriptor, cudnnStatus_t, cudnnBackendDescriptorType_t, void **);
TAKES(cudnnBackendDestroyDescriptor, cudnnStatus_t, void *);
TAKES(cudnnBackendFinalize, cudnnStatus_t, void *);
TAKES(cudnnBackendExecute, cudnnStatus_t, cudnnHandle_t, void *, void *);
TAKES(cudnnBackendSetAttribute, cudnnStatus_t, void *, cudnnBackendAttributeName_t, cudnnBackendAttributeType_t,
      int64_t, const void *);
TAKES(cudnnBackendGetAttribute, cudnnStatus_t, void *, cudnnBackendAttributeName_t, cudnnBackendAttributeType_t,
      int64_t, int64_t *, void *);

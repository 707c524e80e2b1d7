/* Our declarations of NCCL's interface against its own header: values and sizes, then the types of the functions. This
 * file compiles where they agree. */
#define ncclComm_t             own_ncclComm_t
#define NCCL_UNIQUE_ID_BYTES   OWN_UNIQUE_ID_BYTES
#define ncclUniqueId           own_ncclUniqueId
#define ncclResult_t           own_ncclResult_t
#define ncclSuccess            own_ncclSuccess
#define ncclUnhandledCudaError own_ncclUnhandledCudaError
#define ncclSystemError        own_ncclSystemError
#define ncclInvalidArgument    own_ncclInvalidArgument
#define ncclInvalidUsage       own_ncclInvalidUsage
#define ncclRemoteError        own_ncclRemoteError
#define ncclInProgress         own_ncclInProgress
#define ncclDataType_t         own_ncclDataType_t
#define ncclFloat32            own_ncclFloat32
#define ncclRedOp_t            own_ncclRedOp_t
#define ncclSum                own_ncclSum
#include "nn/comm/nccl_types.h"
#undef ncclComm_t
#undef NCCL_UNIQUE_ID_BYTES
#undef ncclUniqueId
#undef ncclResult_t
#undef ncclSuccess
#undef ncclUnhandledCudaError
#undef ncclSystemError
#undef ncclInvalidArgument
#undef ncclInvalidUsage
#undef ncclRemoteError
#undef ncclInProgress
#undef ncclDataType_t
#undef ncclFloat32
#undef ncclRedOp_t
#undef ncclSum

#include <nccl.h>

#include "nn/comm/nccl_api.h"

#define SAME(name) _Static_assert((int)own_##name == (int)name, #name)
SAME(ncclSuccess);
SAME(ncclUnhandledCudaError);
SAME(ncclSystemError);
SAME(ncclInvalidArgument);
SAME(ncclInvalidUsage);
SAME(ncclRemoteError);
SAME(ncclInProgress);
SAME(ncclFloat32);
SAME(ncclSum);
#define SAME_SIZE(name) _Static_assert(sizeof(own_##name) == sizeof(name), #name)
SAME_SIZE(ncclComm_t);
SAME_SIZE(ncclUniqueId);
SAME_SIZE(ncclResult_t);
SAME_SIZE(ncclDataType_t);
SAME_SIZE(ncclRedOp_t);

#define SAME_TYPE(name)                                                                                                \
    _Static_assert(__builtin_types_compatible_p(__typeof__(((struct wl_nccl_api *)0)->name), __typeof__(&nccl##name)), \
                   #name)
SAME_TYPE(GetVersion);
SAME_TYPE(GetUniqueId);
SAME_TYPE(CommInitRank);
SAME_TYPE(CommDestroy);
SAME_TYPE(CommAbort);
SAME_TYPE(CommGetAsyncError);
SAME_TYPE(AllReduce);
SAME_TYPE(GetErrorString);
SAME_TYPE(GetLastError);

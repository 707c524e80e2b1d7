/* NCCL, opened at run time: the functions that we use. */
#ifndef WL_NN_COMM_NCCL_API_H
#define WL_NN_COMM_NCCL_API_H

#include "base/library.h"

#ifndef NCCL_MAJOR /* else its own header is there: the test that compares them */
#include "nn/comm/nccl_types.h"
#endif

struct CUstream_st;

/* Functions by their names in the library, without "nccl". */
struct wl_nccl_api {
    struct wl_library library;
    int version; /* major * 10000 + minor * 100 + patch */
    ncclResult_t (*GetVersion)(int *version);
    ncclResult_t (*GetUniqueId)(ncclUniqueId *id);
    ncclResult_t (*CommInitRank)(ncclComm_t *comm, int size, ncclUniqueId id, int rank);
    ncclResult_t (*CommDestroy)(ncclComm_t comm);
    ncclResult_t (*CommAbort)(ncclComm_t comm);
    ncclResult_t (*CommGetAsyncError)(ncclComm_t comm, ncclResult_t *found);
    ncclResult_t (*AllReduce)(const void *from, void *to, size_t n, ncclDataType_t type, ncclRedOp_t operation,
                              ncclComm_t comm, struct CUstream_st *stream);
    const char *(*GetErrorString)(ncclResult_t result);
    const char *(*GetLastError)(ncclComm_t comm); /* NULL before 2.13 */
};

/* Opens libnccl.so.2, as cuda/library.h finds it. Closed with the arena. WL_EUNAVAIL: there is none, and what to
 * install; WL_ELIB: a function is missing, or it is of a version that does not serve. */
int wl_nccl_open(struct wl_nccl_api *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* WL_ELIB with the text of a failed call; comm may be NULL. */
int wl_nccl_fail(const struct wl_nccl_api *api, ncclComm_t comm, const char *call, ncclResult_t rc, struct wl_err *e);

#endif

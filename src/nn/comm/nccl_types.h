/* The types of NCCL's binary interface that we use, so that no header of it is needed to build. Names are NCCL's own.
 * Source: nccl.h 2.16 to 2.32; tests/gpu/nccl/nccl_headers.c compares them with the one that is installed. */
#ifndef WL_NN_COMM_NCCL_TYPES_H
#define WL_NN_COMM_NCCL_TYPES_H

typedef struct ncclComm *ncclComm_t;

enum { NCCL_UNIQUE_ID_BYTES = 128 };
typedef struct {
    char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

typedef enum {
    ncclSuccess = 0,
    ncclUnhandledCudaError = 1,
    ncclSystemError = 2,
    ncclInvalidArgument = 4,
    ncclInvalidUsage = 5,
    ncclRemoteError = 6,
    ncclInProgress = 7,
} ncclResult_t;

typedef enum { ncclFloat32 = 7 } ncclDataType_t;
typedef enum { ncclSum = 0 } ncclRedOp_t;

#endif

/* What headers of NVIDIA's libraries need of CUDA's, which need not be installed to compare with them. */
#ifndef WL_TESTS_CUDA_SHIM_H
#define WL_TESTS_CUDA_SHIM_H

#include <stddef.h>

typedef struct CUstream_st *cudaStream_t;
typedef struct CUgraph_st *cudaGraph_t;

#endif

/* The libraries of NVIDIA that training opens: their files, versions and packages. */
#ifndef WL_CUDA_LIBRARIES_H
#define WL_CUDA_LIBRARIES_H

#include "cuda/library.h"

enum wl_gpu_library_kind { WL_GPU_CUBLASLT, WL_GPU_CUDNN, WL_GPU_CUFFT, WL_GPU_NCCL, WL_GPU_LIBRARIES };

/* For a driver of that major version of CUDA (0: not known), with the symbols that the caller needs. */
struct wl_gpu_library wl_gpu_library_of(enum wl_gpu_library_kind k, int cuda, const struct wl_symbol *symbols,
                                        size_t n);

/* The version as struct wl_gpu_file has it, of what the library's GetVersion says. */
int wl_gpu_library_version(enum wl_gpu_library_kind k, size_t says);

/* Opens a library for its version alone, and closes it. Codes as wl_gpu_library_open and wl_gpu_library_check. */
int wl_gpu_library_find(enum wl_gpu_library_kind k, int cuda, struct wl_gpu_library_facts *out, struct wl_arena *a,
                        struct wl_err *e) WL_MUST_CHECK;

#endif

/* The file of own kernels: where it is, and which GPUs it has kernels for. */
#ifndef WL_CUDA_KERNELS_FILE_H
#define WL_CUDA_KERNELS_FILE_H

#include "base/base.h"

/* $WATTLAW_KERNELS, else kernels.fatbin beside the binary or in libdir. WL_EUNAVAIL says where it was looked for. */
int wl_gpu_kernels_find(const char **out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Bytes of the image at the beginning of n: a fatbin, or whatever else up to the end. WL_EUNAVAIL: the fatbin has more.
 */
int wl_gpu_image_bytes(const uint8_t *at, size_t n, size_t *out, struct wl_err *e) WL_MUST_CHECK;

/* What the fatbins of the file are for, each once: "sm_90" machine code, "compute_90" PTX. */
int wl_gpu_kernels_targets(const char *path, struct wl_strs *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif

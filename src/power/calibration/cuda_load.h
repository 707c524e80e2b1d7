/* A load on one NVIDIA GPU through the CUDA driver: short kernels of multiply-adds on all multiprocessors, back to back
 * for as long as requested. */
#ifndef WL_POWER_CALIBRATION_CUDA_LOAD_H
#define WL_POWER_CALIBRATION_CUDA_LOAD_H

#include "base/base.h"

struct wl_cuda_load;

/* The kernel in PTX, for any GPU from sm_50 on: the driver compiles it. */
extern const char wl_cuda_kernel[];

/* Opens libcuda (`library` as in wl_cuda_open) and the primary context of the GPU at that PCI address, compiles the
 * kernel and measures its run time, which loads the GPU for half a second. wl_cuda_load_run must be called from the
 * same thread. Released with the arena. WL_EUNAVAIL: no driver or no such GPU; WL_ELIB: with CUDA's reason. */
int wl_cuda_load_open(struct wl_cuda_load **out, const char *library, const char *bus_id, struct wl_arena *a,
                      struct wl_err *e) WL_MUST_CHECK;

/* Keeps the GPU busy until about `until_ns`, in kernels of half a millisecond; returns when that began and ended. */
int wl_cuda_load_run(struct wl_cuda_load *l, int64_t until_ns, int64_t *began_ns, int64_t *ended_ns,
                     struct wl_err *e) WL_MUST_CHECK;

bool wl_cuda_load_simulated(const struct wl_cuda_load *l);

#endif

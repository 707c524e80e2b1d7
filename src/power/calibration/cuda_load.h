/* A load on one NVIDIA GPU through the CUDA driver, opened at run time: short kernels of multiply-adds on all
 * multiprocessors, one behind the other for as long as it is asked. */
#ifndef WL_POWER_CALIBRATION_CUDA_LOAD_H
#define WL_POWER_CALIBRATION_CUDA_LOAD_H

#include "power/internal.h"

struct wl_cuda_load;

/* The kernel as text, for any GPU from sm_50 on: the driver compiles it. */
extern const char wl_cuda_kernel[];

/* Opens libcuda (`named`, else $CUDA_DRIVER_LIBRARY, else libcuda.so.1) and the primary context of the GPU at that PCI
 * address, compiles the kernel and finds out how long it takes, which puts a load on the GPU for half a second. The
 * thread that calls this also calls wl_cuda_load_run. Released with the arena. WL_EUNAVAIL: no driver or no such GPU;
 * WL_ELIB: with CUDA's reason. */
int wl_cuda_load_open(struct wl_cuda_load **out, const char *named, const char *bus_id, struct wl_arena *a,
                      struct wl_err *e) WL_MUST_CHECK;

/* Keeps the GPU busy until about `until_ns`, in kernels of half a millisecond, and tells when that began and ended. */
int wl_cuda_load_run(struct wl_cuda_load *l, int64_t until_ns, int64_t *began_ns, int64_t *ended_ns,
                     struct wl_err *e) WL_MUST_CHECK;

bool wl_cuda_load_simulated(const struct wl_cuda_load *l);

#endif

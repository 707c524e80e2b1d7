/* Fourier transforms of real planes by cuFFT, not normalised. */
#ifndef WL_NN_GPU_FFT_FFT_H
#define WL_NN_GPU_FFT_FFT_H

#include "nn/gpu/gpu.h"
#include "cuda/library.h"

/* Which cuFFT there is, without a GPU; `cuda` and the codes as wl_gpu_library_open. */
int wl_gpu_fft_find(int cuda, struct wl_gpu_library_facts *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* `batch` planes of h x w, side by side; their coefficients are h x (w/2 + 1) complex numbers. The plan has no memory
 * of its own: each run is given workspace_bytes. Released with the program. */
struct wl_gpu_fft_plan;
struct wl_gpu_fft_size {
    int64_t h, w, batch;
    bool inverse; /* from coefficients to planes, else from planes to coefficients */
};
int wl_gpu_fft_plan(struct wl_gpu *g, const struct wl_gpu_fft_size *size, const struct wl_gpu_fft_plan **out,
                    size_t *workspace_bytes, struct wl_err *e) WL_MUST_CHECK;

/* (enqueued) The inverse transform overwrites its coefficients; they must be those of real planes. */
int wl_gpu_fft_run(const struct wl_gpu_fft_plan *plan, void *from, void *to, void *workspace,
                   struct wl_err *e) WL_MUST_CHECK;

#endif

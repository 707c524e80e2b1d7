/* Devices whose memory is the host's: back-ends ref and cpu, and the memory that they take. */
#ifndef WL_NN_HOST_HOST_H
#define WL_NN_HOST_HOST_H

#include "nn/optim/optim.h"
#include "nn/program/memory.h"

/* The first member of the device of each back-end that lists wl_host_device. */
struct wl_host {
    int threads;
    int64_t lap_ns, lap_cpu_ns; /* when the last lap ended, by the wall and by the processor time of the process */
    struct wl_run run;          /* as begin took it */
};

extern const struct wl_device_ops wl_host_device;

/* Threads as the plan asks for them (0: as OpenMP says); from now on kernels are compiled for so many. */
void wl_host_init(struct wl_host *h, int threads);

/* Opens a device that is a struct wl_host alone. */
int wl_host_open(struct wl_program *p, int threads, struct wl_err *e) WL_MUST_CHECK;

/* ---- pages.c ---- */

/* Zeroed pages, huge where the system grants them; `what` is named in the message. */
int wl_host_map(size_t bytes, const char *what, void **at, struct wl_err *e) WL_MUST_CHECK;
void wl_host_unmap(void *at, size_t bytes);

/* The same, released with the arena; NULL on failure. */
void *wl_host_pages(struct wl_arena *a, size_t bytes, const char *what, struct wl_err *e);

/* Bytes among the n at `at` that are in huge pages now, as /proc/self/smaps says; 0 where it says nothing. */
size_t wl_host_huge_bytes(const void *at, size_t n);

/* ---- peaks.c ---- */

/* As wl_device_ops.measure_peaks: half a second. */
int wl_host_measure_peaks(void *device, struct wl_device_peaks *out, struct wl_arena *a,
                          struct wl_err *e) WL_MUST_CHECK;

/* ---- optim.c ---- */

void wl_host_update(const struct wl_optim_ops *kind, const struct wl_optim *o, const struct wl_optim_span *s,
                    double lr);

#endif

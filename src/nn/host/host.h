/* Devices whose memory is the host's: back-ends ref and cpu, and the memory that they take. */
#ifndef WL_NN_HOST_HOST_H
#define WL_NN_HOST_HOST_H

#include "nn/optim/optim.h"
#include "nn/program/memory.h"

/* Copies of a parameter in another type and order, which kernels read instead of it (docs/adr/157). The back-end owns
 * them, buffers of class WL_MEM_COPY, and alone knows their order; the device knows when they are out of date: `update`
 * writes those of each tile while its new values are in the cache, and `begin` writes all where states were put. So no
 * step of a program writes them. */
enum { WL_HOST_TILE = 64 };
struct wl_host_copies {
    const struct wl_buf *master; /* plain, f32 [rows,columns] */
    int64_t rows, columns;       /* multiples of WL_HOST_TILE */
    /* Writes what they hold of rows [i, i + WL_HOST_TILE) and columns [j, j + n), on the calling thread. */
    void (*write)(const struct wl_host_copies *c, int64_t i, int64_t j, int64_t n);
};

/* The first member of the device of each back-end that lists wl_host_device. */
struct wl_host {
    int threads;
    int64_t lap_ns, lap_cpu_ns; /* when the last lap ended, by the wall and by the processor time of the process */
    struct wl_run run;          /* as begin took it */
    struct wl_host_copies **copies;
    size_t n_copies, cap_copies;
    bool copies_current;
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

/* ---- copies.c ---- */

/* Before the program's memory has addresses. */
void wl_host_add_copies(struct wl_host *h, struct wl_host_copies *c, struct wl_arena *a);

/* Where the buffers have addresses: those of the first parameter that ends after w; NULL: there are none. */
const struct wl_host_copies *wl_host_copies_after(struct wl_host *h, const float *w);

/* Writes all. */
void wl_host_write_copies(struct wl_host *h);

/* Columns of a tile: a tile of them, with what an optimizer reads beside it, fits the second-level cache. */
int64_t wl_host_tile_columns(const struct wl_host_copies *c);

/* ---- optim.c ---- */

/* One step of an optimizer, with the copies of what it changes. */
void wl_host_update(struct wl_host *h, const struct wl_optim_ops *kind, const struct wl_optim *o,
                    const struct wl_optim_span *s, double lr);

#endif

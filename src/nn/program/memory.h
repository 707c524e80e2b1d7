/* Offsets of buffers in the plan's memory. */
#ifndef WL_NN_PROGRAM_MEMORY_H
#define WL_NN_PROGRAM_MEMORY_H

#include "nn/program/program.h"

/* A piece that lives from step first to step last, both included. */
struct wl_live_range {
    size_t bytes;
    int first, last;
    size_t offset; /* result */
};
enum { WL_ALIGN = 64 }; /* of the host's memory: a cache line, and a vector of AVX-512 */

/* Gives each piece an offset, a multiple of `align`, so that no two that live at one time overlap; returns the arena's
 * size. Greedy by size, best fit: Pisarchyk and Lee, "Efficient memory management for deep neural net inference",
 * arXiv:2001.03288. */
size_t wl_memory_assign(struct wl_live_range *v, size_t n, size_t align, struct wl_arena *a);

/* What a buffer takes in an arena. */
size_t wl_memory_padded(const struct wl_program *p, const struct wl_buf *b);

/* Gives the buffers of class VALUE their offsets. */
struct wl_memory_bytes {
    size_t total;    /* of the arena */
    size_t live;     /* the maximum alive at one step */
    size_t unshared; /* the sum */
};
struct wl_memory_bytes wl_memory_assign_values(const struct wl_program *p);

#endif

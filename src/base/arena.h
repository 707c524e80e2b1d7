/* Arenas: memory and other resources that die together.
 *
 * One arena per command, per plan, per request. Children die with their parent. What is not memory (a file
 * descriptor, a statement, a library handle) is released by wl_defer, newest first.
 *
 * Bookkeeping memory never comes back NULL: when the system has none left, the process says so and ends by
 * abort(), as after a failed WL_CHECK; stored facts are append-only transactions and caps are held by a guard
 * process, so nothing is lost by that (docs/adr/002). Buffers whose size follows the input (tensors, images,
 * whole files) use wl_try_alloc and give a proper error instead.
 * An arena belongs to one thread at a time.
 */
#ifndef WL_BASE_ARENA_H
#define WL_BASE_ARENA_H

#include "base/err.h"

struct wl_arena;

/* A new arena; one with a parent is freed with the parent at the latest. Freed earlier, it leaves nothing in the
 * parent.
 */
struct wl_arena *wl_arena_new(struct wl_arena *parent);

/* Runs the deferred releases, newest first (children included), and frees everything. NULL is allowed. */
void wl_arena_free(struct wl_arena *a);

/* Leaks an arena that abandoned threads (thread.h) may still use, until the process ends. */
void wl_arena_leak(struct wl_arena *a);

/* n bytes, zeroed, aligned to 16 (n = 0 gives a unique pointer). Never NULL. */
void *wl_alloc(struct wl_arena *a, size_t n);

/* As wl_alloc, aligned to `align` (a power of two up to 4096); without memory NULL and a WL_ENOMEM message naming
 * `what`. */
void *wl_try_alloc(struct wl_arena *a, size_t n, size_t align, const char *what, struct wl_err *e);

/* count elements of a type, zeroed; overflow of the product counts as no memory. */
#define wl_new(arena, type)              ((type *)wl_alloc((arena), sizeof(type)))
#define wl_new_array(arena, type, count) ((type *)wl_alloc_array((arena), (count), sizeof(type)))
void *wl_alloc_array(struct wl_arena *a, size_t count, size_t size);

/* Grows an array of n elements to a capacity of at least `want`, by doubling. Elements are copied; old blocks stay in
 * the arena (in all at most the size of the array). Use: WL_GROW(a, list, n, cap). */
void *wl_grow(struct wl_arena *a, void *old, size_t n, size_t *cap, size_t want, size_t size);
#define WL_GROW(arena, ptr, n, cap) \
    ((ptr) = (n) < (cap) ? (ptr) : wl_grow((arena), (ptr), (n), &(cap), (n) + 1, sizeof *(ptr)))

/* Calls release(what) when the arena is freed, newest first. */
void wl_defer(struct wl_arena *a, void (*release)(void *), void *what);

/* Copies. wl_strf formats. All live as long as the arena. */
char *wl_strdup(struct wl_arena *a, const char *s);
char *wl_strndup(struct wl_arena *a, const char *s, size_t n);
char *wl_strf(struct wl_arena *a, const char *fmt, ...) WL_PRINTF(2, 3);
char *wl_strfv(struct wl_arena *a, const char *fmt, va_list ap) WL_PRINTF(2, 0) __attribute__((nonnull));

#endif

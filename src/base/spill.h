/* Memory that the kernel may move to disk: a mapping of a file without a name, for what grows with the input. */
#ifndef WL_BASE_SPILL_H
#define WL_BASE_SPILL_H

#include "base/arena.h"
#include "base/err.h"

#include <stddef.h>

/* `bytes` of zeros, to read and write until the arena dies, in a file on the disk of `near` (a file's path). All of its
 * space is reserved, so that a full disk is found here and not by a later access. NULL: there is no room, or nothing
 * can be written there. */
void *wl_spill_alloc(const char *near, size_t bytes, struct wl_arena *a);

/* Takes the pages of a wl_spill_alloc, and of nothing else, out of the memory of the process. Their content stays; the
 * next access brings them back. */
void wl_spill_rest(const void *at, size_t bytes);

/* Opens a file without a name on the disk of `near`, empty, for reading and writing, until the arena dies: its
 * descriptor. */
int wl_spill_file(const char *near, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif

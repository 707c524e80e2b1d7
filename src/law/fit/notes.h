/* Notes of a fit: what the data do not support. */
#ifndef WL_LAW_FIT_NOTES_H
#define WL_LAW_FIT_NOTES_H

#include "law/fit/fit.h"

/* Limits of the law and outlying runs, added to g->notes. */
void wl_law_note_limits(struct wl_law_group *g, struct wl_arena *a);

/* Runs that a note names; the others are counted. */
enum { WL_LAW_NAMED_RUNS = 10 };

/* "1 run", "3 runs". `what` is a noun that takes an s, or "one|many". */
const char *wl_law_count_text(struct wl_arena *a, size_t n, const char *what);

#endif

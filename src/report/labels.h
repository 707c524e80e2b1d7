/* Notes and names that figures, tables and documents share. */
#ifndef WL_REPORT_LABELS_H
#define WL_REPORT_LABELS_H

#include "base/base.h"

/* "estimated values" and the like; NULL where all are measured. */
const char *wl_provenance_note(bool estimated, bool simulated);

/* "epoch time"; of an amount of work "time of 10^9 tokens". */
char *wl_span_quantity(const char *span, bool amount, const char *quantity, struct wl_arena *a);

/* `text`; where `taken` has it already, with a number from 2 on between `before` and `after`. Adds it to `taken`. */
const char *wl_unique_name(struct wl_strs *taken, const char *text, const char *before, const char *after,
                           struct wl_arena *a);

#endif

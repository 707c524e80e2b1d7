/* Readings reduced for a picture: smallest, largest and mean value of equal intervals of time, so that no peak is lost.
 * Pure. */
#ifndef WL_SERVE_ENVELOPE_H
#define WL_SERVE_ENVELOPE_H

#include "store/read.h"

struct wl_envelope {
    size_t n;
    double *t_s;              /* [n] since `origin_ns`: the middle of the interval's readings */
    double *min, *max, *mean; /* [n] NAN: a reading failed, or nothing was read for a while */
    size_t readings, failed;
    bool reduced; /* else every reading is there, with three equal values */
};

/* The readings of a counter as rates, at the ends of the intervals between them; NAN where it was reset or a reading
 * failed. In place; the first one is dropped. */
void wl_envelope_rates(struct wl_readings *r);

/* The readings from begin_ns to end_ns (inclusive), in at most `points` intervals: where some lie next to each other
 * that are empty, one of them has an entry of NAN. */
struct wl_envelope wl_envelope_of(const struct wl_readings *r, int64_t begin_ns, int64_t end_ns, size_t points,
                                  int64_t origin_ns, struct wl_arena *a);

#endif

#ifndef WL_LAW_UNITS_INTERNAL_H
#define WL_LAW_UNITS_INTERNAL_H

#include "law/units/units.h"

/* Rows of a quantity while they are gathered. */
struct wl_units_rows {
    double *y;
    size_t *block, *first, *member;
    size_t n, y_cap, block_cap, first_cap, members, member_cap;
    struct wl_numbering blocks;
};

/* The rows of each quantity, and the units that they are of. */
struct wl_units_collection {
    struct wl_numbering units; /* by name or UUID */
    struct wl_units_rows rows[WL_UNITS_QUANTITIES];
    bool estimated[WL_UNITS_QUANTITIES], of_epochs[WL_UNITS_QUANTITIES];
    bool simulated;
    size_t runs;   /* whose units are known */
    size_t unused; /* readings of GPUs that were not used, which are left out */
};

int wl_units_collect(const struct wl_units_input *in, enum wl_units_kind kind, struct wl_units_collection *out,
                     struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif

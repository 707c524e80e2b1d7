/* Runs that were under way side by side on other nodes of one allocation, and whether that shows in their times. */
#ifndef WL_CAMPAIGN_NEIGHBOURS_H
#define WL_CAMPAIGN_NEIGHBOURS_H

#include "store/store.h"

struct wl_neighbours {
    size_t runs;  /* others that overlapped with it */
    double share; /* of its time in which at least one was under way, 0 to 1 */
};

/* Of one of the runs, by its Slurm job and the wall-clock times of its nodes. */
struct wl_neighbours wl_neighbours_of(const struct wl_run_rows *all, const struct wl_run_row *run);

/* By how much neighbours all the time lengthen a run: log time = trial + effect x share, least squares over the runs
 * that are done and not flagged, of trials whose runs differ in their share. */
struct wl_neighbours_effect {
    size_t runs, beside; /* in the campaign's allocations; of these with neighbours */
    double pct, lo, hi;  /* the 95 % interval; NAN: not known */
};
struct wl_neighbours_effect wl_neighbours_effect_of(const struct wl_run_rows *all, int64_t campaign,
                                                    struct wl_arena *a);

#endif

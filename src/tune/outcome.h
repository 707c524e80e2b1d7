/* Time and power of a window, or of a whole run, from its derived rows. */
#ifndef WL_TUNE_OUTCOME_H
#define WL_TUNE_OUTCOME_H

#include "store/store.h"
#include "tune/evidence.h"

struct wl_tune_rows {
    const struct wl_epoch_row *epochs;
    size_t n_epochs;
    const struct wl_energy_row *energies;
    size_t n_energies;
    double time_s; /* of the whole run */
};

/* Of a window: its only epoch, per update. WL_EINVAL: it has no epoch, or no energy (why). Sets t_s, per, p_w and sd_p.
 */
int wl_tune_outcome_of_window(const struct wl_tune_rows *rows, size_t n_devices, struct wl_tune_window *out,
                              struct wl_err *e) WL_MUST_CHECK;

/* Of a whole run: per epoch, without the first where there are others; without epochs all of it. Without an energy t_s
 * is set nevertheless. */
int wl_tune_outcome_of_run(const struct wl_tune_rows *rows, size_t n_devices, struct wl_tune_window *out,
                           struct wl_err *e) WL_MUST_CHECK;

/* From the beginning to the end of this epoch (INT64_MAX: of the last one); 0: the whole run. p_w is of all devices. */
int wl_tune_outcome_until(const struct wl_tune_rows *rows, int64_t epoch, struct wl_tune_window *out,
                          struct wl_err *e) WL_MUST_CHECK;

#endif

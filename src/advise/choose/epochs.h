/* Epochs to a target over the global batch: e(B) = e0 (1 + B / Bcrit) (McCandlish et al. 2018, arXiv:1812.06162),
 * summed over a grid of Bcrit and of the scatter of runs; or a table of the user's. */
#ifndef WL_ADVISE_CHOOSE_EPOCHS_H
#define WL_ADVISE_CHOOSE_EPOCHS_H

#include "advise/choose/campaign.h"

/* A run that reached the target. */
struct wl_choose_reached {
    double batch, epochs;
};

/* mean[n]: ln of the epochs at each of n batches. draws [n][WL_JOINT_DRAWS]: less the mean. With one batch Bcrit is its
 * prior (see epochs.c). */
void wl_choose_epochs(const struct wl_choose_reached *runs, size_t n_runs, const double *batch, size_t n, double *mean,
                      double *draws, struct wl_arena *a);

/* ln of the table's epochs; NAN outside of its batches. */
double wl_choose_epochs_of_table(const struct wl_choose_epochs_table *t, double batch);

#endif

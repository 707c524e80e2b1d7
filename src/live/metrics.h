/* A node as metrics. docs/reference/live.md lists them. */
#ifndef WL_LIVE_METRICS_H
#define WL_LIVE_METRICS_H

#include "live/view.h"

/* Appends the families of a view, between wl_metrics_open and wl_metrics_close: devices, power limits, and the sampler
 * itself. What cannot be read now has no sample. */
void wl_live_metrics(struct wl_metrics *m, const struct wl_live_view *v);

/* The family of a quantity, and what a reading in the quantity's own unit is multiplied by; NULL: it is not one of
 * metrics. The same for live readings and for those of a stored run. */
const struct wl_metrics_family *wl_live_metrics_family(enum wl_quantity q, double *factor);

#endif

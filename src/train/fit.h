/* What fits where the device lacks memory for a plan. */
#ifndef WL_TRAIN_FIT_H
#define WL_TRAIN_FIT_H

#include "train/workload.h"

/* Appends to the message which --memory and which --local-batch make a plan of at most `room` bytes, found by dry plans
 * of this process alone within some seconds. */
void wl_train_add_what_fits(struct wl_train_task *j, size_t room, struct wl_err *e);

#endif

/* The stages of wl_train_run. */
#ifndef WL_TRAIN_INTERNAL_H
#define WL_TRAIN_INTERNAL_H

#include "train/train.h"

/* setup.c: data, network and plan on every rank. Collective. */
int wl_train_setup(struct wl_trainer *t, struct wl_err *e) WL_MUST_CHECK;

/* batch.c. `take` is wl_loader_next to the plan's inputs; where wl_train_batch_prepare has filled them before, while a
 * run was in progress (nothing where the device does not compute beside the host), it gives what that found. `drop`
 * forgets it: another epoch starts. */
int wl_train_batch_take(struct wl_trainer *t, struct wl_loader *feed, int64_t *n, struct wl_err *e) WL_MUST_CHECK;
void wl_train_batch_prepare(struct wl_trainer *t, struct wl_loader *feed, bool training);
void wl_train_batch_drop(struct wl_trainer *t);
void wl_train_find_inputs(struct wl_trainer *t);

/* loop.c: the epochs from the present position on. WL_EINTR: stopped. Collective. */
int wl_train_loop(struct wl_trainer *t, struct wl_err *e) WL_MUST_CHECK;

/* evaluate.c: the metrics of a training pass, for which custom sums are missing; NAN: missing. */
void wl_train_metrics_of_counts(const struct wl_train_task *j, const struct wl_counts *counts, double *metrics);

/* evaluate.c: forward pass over a whole data set; its metrics, on all ranks. Collective. */
int wl_train_evaluate(struct wl_trainer *t, struct wl_loader *feed, double *metrics, struct wl_err *e) WL_MUST_CHECK;

/* checkpoint.c: writes a checkpoint of the present state; restores the newest one of the folder. Collective. */
int wl_train_checkpoint_save(struct wl_trainer *t, struct wl_err *e) WL_MUST_CHECK;
int wl_train_checkpoint_resume(struct wl_trainer *t, struct wl_err *e) WL_MUST_CHECK;

#endif

/* What a training reports. Rank 0. */
#ifndef WL_CMD_TRAIN_REPORT_H
#define WL_CMD_TRAIN_REPORT_H

#include "train/train.h"

/* Logs the length of the training, and every value that a recipe or a default has set. */
void wl_cmd_train_log_settings(const struct wl_trainer *t);

/* Logs the results of an epoch. */
void wl_cmd_train_log_epoch(const struct wl_trainer *t, const struct wl_train_epoch *r);

/* Prints all results on stdout, as a table or as JSON. */
void wl_cmd_train_report(const struct wl_trainer *t, bool interrupted);

#endif

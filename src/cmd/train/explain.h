#ifndef WL_CMD_TRAIN_EXPLAIN_H
#define WL_CMD_TRAIN_EXPLAIN_H

#include "train/train.h"

/* Prints the plan of one rank, as text or as JSON, without data and without allocating its memory. Returns as
 * wl_cmd.run does. */
int wl_cmd_train_explain(struct wl_train_task *j, struct wl_err *e) WL_MUST_CHECK;

#endif

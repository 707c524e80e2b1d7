#ifndef WL_CMD_TRAIN_BY_OP_H
#define WL_CMD_TRAIN_BY_OP_H

#include "train/train.h"

/* Times a few steps of one worker and prints where their time goes, as a table or as JSON. Returns as wl_cmd.run does.
 */
int wl_cmd_train_by_op(struct wl_train_task *j, struct wl_err *e) WL_MUST_CHECK;

#endif

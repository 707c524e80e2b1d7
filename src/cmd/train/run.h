/* `wattlaw-train NAME`. */
#ifndef WL_CMD_TRAIN_RUN_H
#define WL_CMD_TRAIN_RUN_H

#include "train/train.h"

/* Opens the ranks, trains, reports. The task has its workload, options, rows and arena. Returns as wl_cmd.run does, in
 * every rank; all ranks but 0 return an exit status, so that only one of them prints an error. */
int wl_cmd_train_run(struct wl_train_task *j, const struct wl_opts_args *rest, struct wl_err *e) WL_MUST_CHECK;

#endif

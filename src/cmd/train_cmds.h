/* The subcommands of wattlaw-train. */
#ifndef WL_CMD_TRAIN_CMDS_H
#define WL_CMD_TRAIN_CMDS_H

#include "cmd/cmd.h"

extern const struct wl_cmd *const wl_train_commands[]; /* NULL-terminated, in the order of --help */

extern const struct wl_cmd wl_cmd_train_data;

#endif

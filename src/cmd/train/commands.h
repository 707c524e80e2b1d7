/* The subcommands of wattlaw-train. */
#ifndef WL_CMD_TRAIN_COMMANDS_H
#define WL_CMD_TRAIN_COMMANDS_H

#include "cmd/cmd.h"

/* NULL-terminated, in the order of --help: one for each workload, and `data`. */
const struct wl_cmd *const *wl_cmd_train_commands(struct wl_arena *a);

extern const struct wl_cmd wl_cmd_train_data; /* data.c */

/* The commands of `wattlaw-train data`; their table is in data.c. */
extern const struct wl_cmd wl_cmd_data_era5, wl_cmd_data_imagenet, wl_cmd_data_qm9, wl_cmd_data_wikitext;

#endif

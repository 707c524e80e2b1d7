/* `wattlaw-train data NAME`: one command for each data set. */
#include "cmd/train/commands.h"

static const struct wl_cmd *const sets[] = { &wl_cmd_data_imagenet, &wl_cmd_data_qm9, &wl_cmd_data_wikitext,
                                             &wl_cmd_data_era5, NULL };

static const struct wl_cmd_program program = {
    .name = "wattlaw-train data",
    .usage = "NAME [options]",
    .noun = "data set",
    .about = "Prepares data sets for training, or writes small synthetic ones in the formats of the real ones.",
    .commands = sets,
};

const struct wl_cmd wl_cmd_train_data = {
    .name = "data",
    .help = "prepares data sets for training, or writes small synthetic ones",
    .program = &program,
};

/* `wattlaw-train data NAME`: writes or packs data sets, each a command of its own. */
#include "cmd/train/commands.h"

static const struct wl_cmd *const sets[] = { &wl_cmd_data_imagenet, &wl_cmd_data_qm9, &wl_cmd_data_wikitext,
                                             &wl_cmd_data_era5, NULL };

static const struct wl_cmd_program program = {
    .name = "wattlaw-train data",
    .usage = "NAME [options]",
    .noun = "data set",
    .about =
        "Makes data sets ready for training, or writes small ones that can be learned in the formats of the real ones.",
    .commands = sets,
};

const struct wl_cmd wl_cmd_train_data = {
    .name = "data",
    .help = "makes data sets ready for training, or writes small ones that can be learned",
    .program = &program,
};

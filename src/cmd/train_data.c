/* `wattlaw-train data NAME`: writes or packs data sets, each a command of its own. */
#include "cmd/train_cmds.h"

static const struct wl_cmd *const sets[] = { &wl_cmd_data_imagenet, NULL };

static const struct wl_program program = {
    .name = "wattlaw-train data",
    .usage = "NAME [options]",
    .noun = "data set",
    .about = "Writes small data that can be learned, in the formats of the real data sets.",
    .commands = sets,
};

const struct wl_cmd wl_cmd_train_data = {
    .name = "data",
    .help = "writes small data that can be learned, in the format of a real data set",
    .program = &program,
};

/* wattlaw-train: the reference workloads, data-parallel. */
#include "cmd/train_cmds.h"

int main(int argc, char **argv)
{
    static const struct wl_program program = {
        .name = "wattlaw-train",
        .usage = "MODEL --data DIR [options]",
        .noun = "model",
        .about = "Trains a reference network, alone or as one of many workers, and marks its epochs for wattlaw.",
        .commands = wl_train_commands,
    };
    return wl_program_main(&program, argc, argv);
}

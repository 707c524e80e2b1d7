/* wattlaw: the harness. */
#include "cmd/cmd.h"

int main(int argc, char **argv)
{
    static const struct wl_cmd_program program = {
        .name = "wattlaw",
        .usage = "COMMAND [options]",
        .noun = "command",
        .about = "How a data-parallel training job scales, what it costs in joules, and which settings to use.",
        .commands = wl_commands,
    };
    return wl_cmd_program_main(&program, argc, argv);
}

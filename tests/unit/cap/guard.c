/* A wattlaw whose only command is `restore`: the guard of caps, as the tests of caps start it. */
#include "cmd/cmd.h"

extern const struct wl_cmd wl_cmd_restore;

int main(int argc, char **argv)
{
    static const struct wl_cmd *const commands[] = { &wl_cmd_restore, NULL };
    static const struct wl_cmd_program program = {
        .name = "wattlaw",
        .usage = "COMMAND [options]",
        .noun = "command",
        .about = "The guard of caps.",
        .commands = commands,
    };
    return wl_cmd_program_main(&program, argc, argv);
}

#include "cmd/cmd.h"

const struct wl_cmd *const wl_commands[] = {
    NULL,
};

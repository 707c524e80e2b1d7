#include "cmd/cmd.h"

extern const struct wl_cmd wl_cmd_fit;
extern const struct wl_cmd wl_cmd_report;

const struct wl_cmd *const wl_commands[] = {
    &wl_cmd_fit,
    &wl_cmd_report,
    NULL,
};

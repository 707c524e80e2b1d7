/* wattlaw serve-caps: the cap service, which wattlaw setup --system installs as a unit of systemd. */
#include "cap/cap.h"
#include "cmd/cmd.h"

struct options {
    struct wl_cap_serve_opts serve;
    struct wl_cap_opts cap;
    struct wl_power_opts power;
};

static const struct wl_opt rows[] = {
    { .name = "config",
      .type = WL_STR,
      .offset = offsetof(struct options, serve.config),
      .def = "/etc/wattlaw/caps.conf",
      .unit = "FILE",
      .help = "rules of the service, in a file that only root can write to or replace" },
    { .name = "socket",
      .type = WL_STR,
      .offset = offsetof(struct options, serve.socket),
      .unit = "PATH",
      .help = "socket to create and listen on (default: the socket that systemd passes)" },
    { .name = "idle-exit",
      .type = WL_DURATION,
      .offset = offsetof(struct options, serve.idle_s),
      .def = "0s",
      .min = 0,
      .max = 86400,
      .unit = "s",
      .help = "end after this time without a client; 0: run until SIGTERM" },
    { .name = "state-dir",
      .type = WL_STR,
      .offset = offsetof(struct options, cap.state_dir),
      .unit = "FOLDER",
      .help = "folder for cap journals (default: $WATTLAW_STATE_DIR, else /run/wattlaw)" },
    { .name = "wait",
      .type = WL_DURATION,
      .offset = offsetof(struct options, cap.wait_s),
      .def = "10s",
      .min = 0.01,
      .max = 3600,
      .unit = "s",
      .help = "timeout of a driver call; for the lock of the journals, three times as long" },
    { .name = "nvml-library",
      .type = WL_STR,
      .offset = offsetof(struct options, power.nvml_library),
      .def = "libnvidia-ml.so.1",
      .unit = "FILE",
      .help = "path of libnvidia-ml.so.1, or a name that the loader finds" },
    { .name = "sensor-root",
      .type = WL_STR,
      .offset = offsetof(struct options, power.root),
      .def = "",
      .unit = "FOLDER",
      .help = "folder that replaces / in the path /sys (default: /)" },
    WL_OPT_END,
};

static int run(void *options, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    const struct options *o = options;
    (void)a;
    if (rest->args.n > 0) return wl_fail(e, WL_EUSAGE, "unexpected argument '%s'", rest->args.v[0]);
    return wl_cap_serve(&o->serve, &o->cap, &o->power, e);
}

const struct wl_cmd wl_cmd_serve_caps = {
    .name = "serve-caps",
    .usage = "[options]",
    .help = "set power caps and clock locks for the members of a group, as a service of root",
    .more =
        "For the unit wattlaw-caps.service, which wattlaw setup --system installs. Clients are wattlaws of users who "
        "may\n"
        "not set caps themselves: measure, sweep and tune use the service where it runs (--cap-setter auto or "
        "service).\n"
        "A cap is restored when its client's connection or process ends, or when the client is silent for its lease.\n"
        "The caps of a killed service are restored when it starts again.\n"
        "\n"
        "  wattlaw serve-caps --socket /run/wattlaw-caps.socket        without systemd, as root",
    .options = rows,
    .options_size = sizeof(struct options),
    .run = run,
};

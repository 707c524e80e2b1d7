/* What stands in the table when oneDNN was not there at build time. */
#include "nn/program/program.h"

const struct wl_backend wl_backend_cpu = {
    .row = { .name = "cpu",
             .help = "oneDNN and kernels of our own",
             .unavailable = "built without oneDNN (Debian package libdnnl-dev)" },
};

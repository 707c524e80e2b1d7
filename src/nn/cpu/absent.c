/* The entry of the table when oneDNN was missing at build time. */
#include "nn/program/backend.h"

const struct wl_backend wl_backend_cpu = {
    .row = { .name = "cpu",
             .help = "oneDNN and kernels of this project",
             .unavailable = "built without oneDNN (Debian package libdnnl-dev)" },
};

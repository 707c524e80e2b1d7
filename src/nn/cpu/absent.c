/* What stands in the table when oneDNN was not there at build time. */
#include "nn/program/program.h"

const struct wl_backend wl_backend_cpu = { .row = { "cpu", "built without oneDNN (Debian package libdnnl-dev)" } };

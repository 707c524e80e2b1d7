/* Measures nothing: what the harness itself costs, and runs that want no samples. */
#include "power/internal.h"

static int null_open(struct wl_sensor *s, const struct wl_power_opts *o, struct wl_err *e)
{
    (void)o, (void)e;
    s->source = "nothing";
    return 0;
}

static void null_read(struct wl_sensor *s, struct wl_due due, struct wl_reading *out) { (void)s, (void)due, (void)out; }

const struct wl_sensor_ops wl_sensor_null = {
    .name = "null",
    .help = "nothing, to see what the harness itself costs",
    .open = null_open,
    .read = null_read,
};

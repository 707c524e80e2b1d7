/* Measures nothing: for the cost of the harness itself, and for runs without samples. */
#include "power/sensor.h"

static int null_open(struct wl_sensor *s, const struct wl_power_opts *o, struct wl_err *e)
{
    (void)o, (void)e;
    s->source = "nothing";
    return 0;
}

static void null_read(struct wl_sensor *s, struct wl_due due, struct wl_reading *out) { (void)s, (void)due, (void)out; }

const struct wl_sensor_ops wl_sensor_null = {
    .name = "null",
    .help = "nothing: for measuring the cost of wattlaw itself",
    .open = null_open,
    .read = null_read,
};

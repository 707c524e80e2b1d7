#include "power/sensor_response.h"

#include "power/power.h"

#include <math.h>
#include <string.h>

/* GPUs whose sensor sees only part of the time: it updates every 100 ms and averages over 25 ms. Source: Yang, Adamek,
 * Armour, SC24 (arXiv:2312.02741): "on the A100 and H100 GPUs only 25% of the runtime is sampled". */
static const struct part_time {
    const char *product;
    double update_s, window_s;
} part_time[] = { { "A100", 0.100, 0.025 }, { "H100", 0.100, 0.025 } };

static const struct part_time *part_time_of(const char *name)
{
    for (size_t i = 0; i < WL_COUNT(part_time); i++)
        if (strstr(name, part_time[i].product)) return &part_time[i];
    return NULL;
}

/* A reading is between 0 and one update old, and shows the middle of a window that ended a lag before. */
static struct wl_sensor_response calibrated(const struct wl_calibration *c, double max_w)
{
    double update_s = c->update_s.value, window_s = c->window_s.value;
    return (struct wl_sensor_response) { update_s, window_s, c->lag_s.value + (update_s + window_s) / 2, max_w };
}

/* Source: nvml.h, NVML_FI_DEV_POWER_AVERAGE: "GPU power averaged over 1 sec interval". */
static const double DRIVER_MEAN_S = 1;

struct wl_sensor_response wl_sensor_response_of(const struct wl_device *d, const struct wl_channel *c)
{
    struct wl_sensor_response g = { .update_s = c->update_s, .window_s = NAN, .delay_s = NAN, .max_w = c->max_w };
    if (c->calibration) return calibrated(c->calibration, c->max_w);
    if (c->quantity == WL_POWER_AVERAGE && c->variant == WL_VARIANT_AVERAGE) {
        g.window_s = DRIVER_MEAN_S;
        if (isnan(g.update_s) && part_time_of(d->name)) g.update_s = part_time_of(d->name)->update_s;
        g.delay_s = (g.update_s + g.window_s) / 2;
    }
    const struct part_time *known = c->variant == WL_VARIANT_INSTANT ? part_time_of(d->name) : NULL;
    if (c->quantity != WL_POWER) return g;
    if (c->variant == WL_VARIANT_MEAN) return (struct wl_sensor_response) { c->update_s, HUGE_VAL, 0, c->max_w };
    if (known) {
        g.window_s = known->window_s;
        if (isnan(g.update_s)) g.update_s = known->update_s;
    }
    double window_s = isnan(g.window_s) ? 0 : g.window_s;
    if (c->variant == WL_VARIANT_INSTANT) g.delay_s = (g.update_s + window_s) / 2;
    return g;
}

char *wl_sensor_response_text(const struct wl_sensor_response *g, const char *calibrated, struct wl_arena *a)
{
    enum { DAY = 10 }; /* "2026-01-31" */
    if (!isfinite(g->window_s) || !isfinite(g->update_s)) return NULL;
    const char *basis = calibrated ? wl_strf(a, "calibrated %.*s", DAY, calibrated) : "assumed";
    const char *window = wl_human(a, g->window_s, "s");
    if (g->window_s > g->update_s) return wl_strf(a, "shows the mean of %s (%s)", window, basis);
    return wl_strf(a, "shows %s of each %s (%s)", window, wl_human(a, g->update_s, "s"), basis);
}

/* Attaches stored calibrations to the channels of GPUs. */
#include "power/calibration/file.h"
#include "power/nvml/sensor.h"
#include "power/sensor.h"

static const struct wl_calibration *of_another_driver(const struct wl_calibrations *all, const char *uuid)
{
    for (size_t i = 0; i < all->n; i++)
        if (wl_str_eq(all->v[i].uuid, uuid)) return &all->v[i];
    return NULL;
}

static const char *in_words(const struct wl_calibration *c, struct wl_arena *a)
{
    return wl_strf(a, "update period %s, averaging window %s (%.0f %% of the time) that ended %s before, measured %s",
                   wl_human_time(a, c->update_s.value), wl_human_time(a, c->window_s.value),
                   100 * wl_calibration_duty_cycle(c), wl_human_time(a, c->lag_s.value), c->date);
}

static void attach_channel(struct wl_sensor *s, struct wl_channel *channel, const struct wl_calibrations *all,
                           const struct wl_nvml *lib)
{
    if (channel->scope != WL_SCOPE_GPU || (channel->quantity != WL_POWER && channel->quantity != WL_POWER_AVERAGE))
        return;
    const char *uuid = s->devices[channel->device].uuid, *name = wl_quantity_name(channel->quantity);
    const struct wl_calibration *c = wl_calibration_find(all, uuid, lib->driver, channel->quantity, channel->variant);
    const struct wl_calibration *other = c ? NULL : of_another_driver(all, uuid);
    if (c && c->simulated == lib->simulated) {
        channel->calibration = c;
        wl_sensor_add_fact(s, channel->device, wl_strf(s->arena, "calibrated %s", name), in_words(c, s->arena));
    } else if (other && channel->quantity == WL_POWER) {
        wl_sensor_add_fact(s, channel->device, "calibration",
                           wl_strf(s->arena, "of driver %s, not used with %s: wattlaw doctor --calibrate",
                                   other->driver, lib->driver));
    }
}

void wl_nvml_calibrations_attach(struct wl_sensor *s, const struct wl_power_opts *o)
{
    const struct wl_nvml_sensor *n = s->state;
    struct wl_calibrations *all = wl_new(s->arena, struct wl_calibrations);
    struct wl_err e;
    if (wl_calibrations_read(wl_calibration_path(o, s->arena), all, s->arena, &e) < 0) {
        s->reason = wl_strf(s->arena, "calibrations are not used: %s", e.msg);
        return;
    }
    for (size_t i = 0; i < s->n_channels; i++) attach_channel(s, &s->channels[i], all, &n->lib);
}

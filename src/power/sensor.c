#include "power/sensor.h"

#include <math.h>

int wl_sensor_add_device(struct wl_sensor *s, const struct wl_device *d)
{
    WL_GROW(s->arena, s->devices, s->n_devices, s->cap_devices);
    s->devices[s->n_devices] = *d;
    s->devices[s->n_devices].sensor = s->ops->name;
    return (int)s->n_devices++;
}

int wl_sensor_add_channel(struct wl_sensor *s, int device, enum wl_quantity q, enum wl_scope scope,
                          enum wl_power_variant variant)
{
    WL_GROW(s->arena, s->channels, s->n_channels, s->cap_channels);
    s->channels[s->n_channels] = (struct wl_channel) {
        .device = device, .quantity = q, .scope = scope, .variant = variant, .update_s = NAN, .max_w = NAN
    };
    return (int)s->n_channels++;
}

void wl_sensor_add_fact(struct wl_sensor *s, int device, const char *key, const char *value)
{
    struct wl_device *d = &s->devices[device];
    struct wl_device_fact *facts = wl_new_array(s->arena, struct wl_device_fact, d->n_facts + 1);
    for (size_t i = 0; i < d->n_facts; i++) facts[i] = d->facts[i];
    facts[d->n_facts++] = (struct wl_device_fact) { .key = key, .value = value };
    d->facts = facts;
}

bool wl_is_repeat(struct wl_repeat_filter *r, const struct wl_reading *reading, double update_s)
{
    int64_t update_ns = isfinite(update_s) ? (int64_t)(update_s * WL_NS_PER_S) : 0;
    if (update_ns > WL_REPEAT_NS) update_ns = WL_REPEAT_NS;
    if (!isfinite(reading->value)) return false;
    if (r->kept_ns != 0 && reading->value == r->value && reading->t_ns - r->kept_ns < update_ns) return true;
    *r = (struct wl_repeat_filter) { .value = reading->value, .kept_ns = reading->t_ns };
    return false;
}

void wl_reading_set(struct wl_reading *r, double value, int64_t t0_ns)
{
    int64_t now_ns = wl_now_ns();
    *r = (struct wl_reading) { .value = value, .t_ns = t0_ns + (now_ns - t0_ns) / 2, .took_ns = now_ns - t0_ns };
}

void wl_reading_mean(struct wl_reading *r, double value, int64_t from_ns, int64_t to_ns)
{
    *r = (struct wl_reading) { .value = value, .t_ns = from_ns + (to_ns - from_ns) / 2 };
}

void wl_reading_fail(struct wl_reading *r, const char *why)
{
    *r = (struct wl_reading) { .value = NAN, .t_ns = wl_now_ns(), .why = why };
}

void wl_sensor_read(struct wl_sensor *s, struct wl_due due)
{
    for (size_t i = 0; i < s->n_channels; i++) s->readings[i] = (struct wl_reading) { .value = NAN };
    s->ops->read(s, due, s->readings);
}

bool wl_budget_due(const struct wl_budget *b, bool all) { return all || wl_now_ns() >= b->due_ns; }

void wl_budget_spent(struct wl_budget *b, int64_t cpu0_ns)
{
    b->due_ns = wl_now_ns() + (wl_clock_thread_cpu_ns() - cpu0_ns) * b->share;
}

/* The update period of a GPU's power and energy readings: when polled often, the time between changes of the value (as
 * Zeus and WattAMeter do). It is cached if a run will notice when it no longer holds: docs/adr/106. */
#include "power/change_detector.h"
#include "power/nvml/sensor.h"
#include "power/nvml/update_cache.h"
#include "power/sampler/sampler.h"

#include <math.h>

enum { ENOUGH = 4, ALWAYS_CHANGES = 20 };

/* Long enough for two steps of a sensor with ten updates per second; shorter for a counter without steps. */
static const int64_t timeout_ns = WL_NS_PER_S / 4, short_timeout_ns = WL_NS_PER_S / 40;

/* Between two polls: the periods looked for are 10 ms and more. */
static const int64_t pause_ns = WL_NS_PER_S / 1000;

/* A period is cached if its relative error is at most this. */
static const double max_error = 0.05;

struct poll {
    struct wl_change_detector power, energy;
};

static bool is_done(const struct poll *p, int64_t waited_ns)
{
    bool power = p->power.n >= ENOUGH || isnan(p->power.value),
         energy = p->energy.n >= ENOUGH || isnan(p->energy.value);
    return (power && energy) || (p->energy.n >= ALWAYS_CHANGES && waited_ns > short_timeout_ns);
}

/* NAN if the changes span more than the timeout: this process was stopped in between. */
static double period_s(const struct wl_change_detector *m)
{
    return m->last_ns - m->first_ns > 2 * timeout_ns ? NAN : wl_change_detector_period_s(m);
}

static bool is_sure(const struct wl_change_detector *m)
{
    return wl_change_detector_error_s(m) <= max_error * period_s(m);
}

static void set_update(struct wl_sensor *s, const struct wl_nvml_device *u, double power_s, double energy_s)
{
    for (size_t i = 0; i < s->n_channels; i++) {
        struct wl_channel *c = &s->channels[i];
        if (c->device != u->device) continue;
        if (c->quantity == WL_POWER || c->quantity == WL_POWER_AVERAGE)
            c->update_s = power_s; /* one sensor shows both */
        if (c->quantity == WL_ENERGY) c->update_s = energy_s;
    }
}

static struct poll *poll_all(struct wl_sensor *s)
{
    const struct wl_nvml_sensor *n = s->state;
    struct poll *polls = wl_new_array(s->arena, struct poll, n->n);
    for (size_t k = 0; k < n->n; k++) polls[k] = (struct poll) { wl_change_detector_none, wl_change_detector_none };
    int64_t start = wl_now_ns();
    for (bool done = false; !done;) {
        done = true;
        for (size_t k = 0; k < n->n; k++) {
            double watts, joules;
            wl_nvml_fields_power_energy(&n->lib, n->gpus[k].handle, &watts, &joules);
            int64_t now = wl_now_ns();
            wl_change_detector_add(&polls[k].power, watts, now);
            wl_change_detector_add(&polls[k].energy, joules, now);
            done = done && is_done(&polls[k], now - start);
        }
        done = done || wl_now_ns() - start > timeout_ns;
        if (!done) (void)!wl_sleep_until(wl_now_ns() + pause_ns);
    }
    return polls;
}

/* ---- Remembering ---- */

static struct wl_update_period entry_of(const struct wl_sensor *s, int device)
{
    const struct wl_nvml_sensor *n = s->state;
    const struct wl_device *d = &s->devices[device];
    return (struct wl_update_period) { .uuid = d->uuid,
                                       .name = d->name,
                                       .driver = n->lib.driver,
                                       .date = wl_clock_iso(s->arena, wl_wall_ns()),
                                       .power_s = NAN,
                                       .energy_s = NAN,
                                       .simulated = n->lib.simulated };
}

/* For all GPUs or none: polling one takes as long as polling all. */
static bool load_cached(struct wl_sensor *s)
{
    const struct wl_nvml_sensor *n = s->state;
    struct wl_update_cache all;
    struct wl_err e;
    if (wl_update_cache_read(n->updates, &all, s->arena, &e) < 0) {
        s->reason = wl_strf(s->arena, "update periods are measured again: %s", e.msg);
        return false;
    }
    const struct wl_update_period **found = wl_new_array(s->arena, const struct wl_update_period *, n->n);
    for (size_t k = 0; k < n->n; k++) {
        struct wl_update_period of = entry_of(s, n->gpus[k].device);
        if (!(found[k] = wl_update_cache_find(&all, &of))) return false;
    }
    for (size_t k = 0; k < n->n; k++) {
        const struct wl_update_period *u = found[k];
        set_update(s, &n->gpus[k], u->power_s, u->energy_s);
        wl_sensor_add_fact(s, n->gpus[k].device, "update periods",
                           wl_strf(s->arena, "power %s and energy %s, remembered from %s",
                                   wl_human(s->arena, u->power_s, "s"), wl_human(s->arena, u->energy_s, "s"), u->date));
    }
    return true;
}

static void save(struct wl_sensor *s, const struct wl_update_cache *fresh)
{
    const struct wl_nvml_sensor *n = s->state;
    struct wl_err e;
    if (fresh->n > 0 && wl_update_cache_merge(n->updates, fresh, s->arena, &e) < 0 && !s->reason)
        s->reason = wl_strf(s->arena, "update periods are not remembered: %s", e.msg);
}

/* Only counters with steps that bursts look for: a burst shows if the period is wrong. */
static void save_verifiable(struct wl_sensor *s, const struct poll *polls)
{
    const struct wl_nvml_sensor *n = s->state;
    struct wl_update_cache fresh = { 0 };
    for (size_t k = 0; k < n->n; k++) {
        const struct poll *p = &polls[k];
        struct wl_update_period u = entry_of(s, n->gpus[k].device);
        u.power_s = period_s(&p->power);
        u.energy_s = period_s(&p->energy);
        if (!is_sure(&p->power) || !is_sure(&p->energy) || !wl_sampler_detects_edges(u.energy_s)) continue;
        WL_GROW(s->arena, fresh.v, fresh.n, fresh.cap);
        fresh.v[fresh.n++] = u;
    }
    save(s, &fresh);
}

void wl_nvml_update_period_find(struct wl_sensor *s)
{
    struct wl_nvml_sensor *n = s->state;
    if (!n->lib.DeviceGetFieldValues) return;
    n->updates = wl_update_cache_path(s->arena);
    if (load_cached(s)) return;
    const struct poll *polls = poll_all(s);
    for (size_t k = 0; k < n->n; k++) set_update(s, &n->gpus[k], period_s(&polls[k].power), period_s(&polls[k].energy));
    save_verifiable(s, polls);
}

void wl_nvml_update_period_forget(struct wl_sensor *s, int device)
{
    const struct wl_nvml_sensor *n = s->state;
    if (n->gpus[device].update_period_changed) return;
    n->gpus[device].update_period_changed = true;
    struct wl_update_period u = entry_of(s, device);
    save(s, &(struct wl_update_cache) { .v = &u, .n = 1 });
}

void wl_nvml_update_period_notes(const struct wl_sensor *s, const struct wl_nvml_device *u, struct wl_strs *out,
                                 struct wl_arena *a)
{
    if (!u->update_period_changed) return;
    wl_strs_add(a, out,
                wl_strf(a, "%s: power or energy was not updated as often as remembered: the next run measures it again",
                        s->devices[u->device].uuid));
}

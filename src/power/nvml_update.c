/* How often a GPU's power and energy readings move. Polled often, the times between changes of the value
 * are the sensor's update period (Zeus and WattAMeter find it so). */
#include "power/nvml_gpu.h"

#include <math.h>

enum { ENOUGH = 4, MOVES_ALWAYS = 20 };

/* Long enough for two steps of a sensor that moves ten times a second; shorter where the counter has no steps at all.
 */
static const int64_t patience_ns = WL_NS_PER_S / 4, short_patience_ns = WL_NS_PER_S / 40;

/* Between two polls: the periods looked for are 10 ms and more. */
static const int64_t pause_ns = WL_NS_PER_S / 1000;

/* The changes of one value. */
struct moves {
    double value;
    int64_t first_ns, last_ns;
    int n;
};

static void follow(struct moves *m, double value, int64_t now)
{
    if (!isfinite(value)) return;
    if (isfinite(m->value) && value != m->value) {
        if (m->n++ == 0) m->first_ns = now;
        m->last_ns = now;
    }
    m->value = value;
}

/* Longer than we look, it is no period: this process was stopped in between. */
static double period_s(const struct moves *m)
{
    int64_t all_ns = m->last_ns - m->first_ns;
    return m->n < 2 || all_ns > 2 * patience_ns ? NAN : (double)all_ns / WL_NS_PER_S / (m->n - 1);
}

struct poll {
    struct moves power, energy;
};

static bool is_done(const struct poll *p, int64_t waited_ns)
{
    bool power = p->power.n >= ENOUGH || isnan(p->power.value),
         energy = p->energy.n >= ENOUGH || isnan(p->energy.value);
    return (power && energy) || (p->energy.n >= MOVES_ALWAYS && waited_ns > short_patience_ns);
}

static void set_update(struct wl_sensor *s, const struct wl_nvml_unit *u, enum wl_quantity q, double update_s)
{
    for (size_t i = 0; i < s->n_channels; i++) {
        struct wl_channel *c = &s->channels[i];
        if (c->device == u->device && c->quantity == q) c->update_s = update_s;
    }
}

void wl_nvml_update_find(struct wl_sensor *s)
{
    const struct wl_nvml_sensor *n = s->state;
    if (!n->lib.DeviceGetFieldValues) return;
    struct poll *polls = wl_new_array(s->arena, struct poll, n->n);
    for (size_t k = 0; k < n->n; k++) polls[k].power.value = polls[k].energy.value = NAN;
    int64_t start = wl_now_ns();
    for (bool done = false; !done;) {
        done = true;
        for (size_t k = 0; k < n->n; k++) {
            double watts, joules;
            wl_nvml_fields_peek(&n->lib, n->units[k].handle, &watts, &joules);
            int64_t now = wl_now_ns();
            follow(&polls[k].power, watts, now);
            follow(&polls[k].energy, joules, now);
            done = done && is_done(&polls[k], now - start);
        }
        done = done || wl_now_ns() - start > patience_ns;
        if (!done) (void)!wl_sleep_until(wl_now_ns() + pause_ns);
    }
    for (size_t k = 0; k < n->n; k++) {
        set_update(s, &n->units[k], WL_POWER, period_s(&polls[k].power));
        set_update(s, &n->units[k], WL_POWER_AVERAGE, period_s(&polls[k].power)); /* one sensor shows both */
        set_update(s, &n->units[k], WL_ENERGY, period_s(&polls[k].energy));
    }
}

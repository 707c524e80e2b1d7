#include "run/meter.h"

#include <math.h>

struct source {
    int device, channel;
    bool named;
    struct wl_running_total total;
};

struct wl_run_meter {
    const struct wl_sensors *sensors;
    struct source *v;
    size_t n;
    bool any_named;
    int64_t start_ns; /* 0: not begun */
    struct {
        int64_t t_ns;
        double energy_j;
    } last, before; /* the last two updates */
};

struct wl_run_meter *wl_run_meter_new(const struct wl_sensors *sensors, struct wl_arena *a)
{
    struct wl_run_meter *m = wl_new(a, struct wl_run_meter);
    struct wl_energy_source *sources = wl_new_array(a, struct wl_energy_source, sensors->n_channels);
    const char *label;
    m->sensors = sensors;
    m->n = wl_energy_sources(sensors->channels, sensors->n_channels, sources, &label);
    m->v = wl_new_array(a, struct source, m->n);
    for (size_t i = 0; i < m->n; i++) {
        const bool counter = sources[i].counter >= 0;
        const int channel = counter ? sources[i].counter : sources[i].power;
        m->v[i] = (struct source) { .device = sensors->channels[channel].device,
                                    .channel = channel,
                                    .total = wl_running_total_of(counter, 0) };
    }
    return m;
}

bool wl_run_meter_has_energy(const struct wl_run_meter *m) { return m->n > 0; }

static bool counts(const struct wl_run_meter *m, const struct source *s) { return !m->any_named || s->named; }

enum wl_provenance wl_run_meter_provenance(const struct wl_run_meter *m)
{
    enum wl_provenance from = WL_MEASURED;
    for (size_t i = 0; i < m->n; i++) {
        const struct wl_channel *c = &m->sensors->channels[m->v[i].channel];
        if (counts(m, &m->v[i])) from |= wl_provenance_of(c->estimated, c->simulated);
    }
    return from;
}

void wl_run_meter_begin(struct wl_run_meter *m, int64_t start_ns)
{
    m->start_ns = start_ns;
    m->last.t_ns = m->before.t_ns = start_ns;
}

void wl_run_meter_mark(struct wl_run_meter *m, const struct wl_mark *mark)
{
    const char *gpu = mark->word == WL_MARK_START ? wl_mark_str(mark, "gpu") : NULL;
    for (size_t i = 0; gpu && i < m->n; i++)
        if (wl_str_eq(m->sensors->devices[m->v[i].device].uuid, gpu)) m->v[i].named = m->any_named = true;
}

void wl_run_meter_add(struct wl_run_meter *m, const struct wl_sample *sample)
{
    const int64_t since_ns = m->start_ns ? m->start_ns : INT64_MAX;
    for (size_t i = 0; i < m->n; i++)
        if (m->v[i].channel == (int)sample->channel)
            wl_running_total_add(&m->v[i].total, sample->value, sample->t_ns, since_ns);
}

void wl_run_meter_update(struct wl_run_meter *m)
{
    double sum = 0;
    int64_t t_ns = 0;
    for (size_t i = 0; i < m->n; i++) {
        if (!counts(m, &m->v[i])) continue;
        sum += m->v[i].total.energy_j;
        if (m->v[i].total.t_ns > t_ns) t_ns = m->v[i].total.t_ns;
    }
    if (!m->start_ns || t_ns <= m->last.t_ns) return;
    m->before = m->last;
    m->last.t_ns = t_ns;
    m->last.energy_j = sum;
}

double wl_run_meter_at(const struct wl_run_meter *m, int64_t t_ns)
{
    const double span_ns = (double)(m->last.t_ns - m->before.t_ns);
    if (!(span_ns > 0)) return 0;
    const double power = (m->last.energy_j - m->before.energy_j) / span_ns;
    return fmax(0, m->last.energy_j + power * (double)(t_ns - m->last.t_ns));
}

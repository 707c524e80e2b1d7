#include "run/meter.h"

#include <math.h>

struct source {
    int device, channel;
    bool counter, named;
    double energy_j;
    double value; /* the last good reading, J or W; NAN: none yet */
    int64_t t_ns; /* its time */
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
        m->v[i] = (struct source) { sensors->channels[channel].device, channel, counter, .value = NAN };
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

/* What the device drew between its last reading and this one, without the part before the start. */
static double drawn_j(const struct wl_run_meter *m, const struct source *s, const struct wl_sample *now)
{
    if (isnan(s->value) || !m->start_ns || now->t_ns <= m->start_ns) return 0;
    if (s->counter) return now->value > s->value ? now->value - s->value : 0; /* it restarts with its driver */
    const int64_t from_ns = s->t_ns > m->start_ns ? s->t_ns : m->start_ns;
    return (s->value + now->value) / 2 * (double)(now->t_ns - from_ns) / WL_NS_PER_S;
}

void wl_run_meter_add(struct wl_run_meter *m, const struct wl_sample *sample)
{
    if (isnan(sample->value)) return;
    for (size_t i = 0; i < m->n; i++) {
        struct source *s = &m->v[i];
        if (s->channel != (int)sample->channel) continue;
        s->energy_j += drawn_j(m, s, sample);
        s->value = sample->value;
        s->t_ns = sample->t_ns;
    }
}

void wl_run_meter_update(struct wl_run_meter *m)
{
    double sum = 0;
    int64_t t_ns = 0;
    for (size_t i = 0; i < m->n; i++) {
        if (!counts(m, &m->v[i])) continue;
        sum += m->v[i].energy_j;
        if (m->v[i].t_ns > t_ns) t_ns = m->v[i].t_ns;
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

/* Energy from a driver's running mean of power. docs/metrics.md has the formulas, docs/adr/055 the reasons. */
#include "energy/internal.h"

#include <math.h>

/* A mean over window_s read at t gives the energy from t - window_s to t. So means a window apart give the energy from
 * one end of [t0, t1] to less than a window before the other end. The remainder is a share of the mean over the window
 * that contains it: the share that the instant readings show. What they miss cancels in the share if it is spread
 * evenly over the window. */
struct means {
    const struct wl_time_series *mean, *instant;
    const struct wl_sensor_response *g, *g_instant;
    int64_t window_ns, age_ns; /* age: from the end of a window to its reading's time */
    int64_t max_gap_ns;
};

/* Interpolated between the readings around t, or the nearest reading; NAN: none. */
static double value_at(const struct wl_time_series *s, int64_t t)
{
    ptrdiff_t i = (ptrdiff_t)wl_time_series_lower_bound(s, t), a = wl_time_series_prev(s, i - 1),
              b = wl_time_series_next(s, i);
    if (a < 0 || b < 0) return a >= 0 ? s->value[a] : b >= 0 ? s->value[b] : NAN;
    double share = (double)(t - s->t_ns[a]) / (double)(s->t_ns[b] - s->t_ns[a]);
    return s->value[a] + share * (s->value[b] - s->value[a]);
}

/* Energy of the window that ends at t. */
static double window_j(const struct means *m, int64_t t) { return m->g->window_s * value_at(m->mean, t + m->age_ns); }

static double seen_j(const struct means *m, int64_t from, int64_t to)
{
    return to > from ? wl_energy_of_power(m->instant, from, to, m->max_gap_ns, m->g_instant).covered_j : 0;
}

static double sd_between(const struct wl_time_series *s, int64_t from, int64_t to)
{
    double mean = 0, m2 = 0;
    size_t n = 0;
    for (size_t i = wl_time_series_lower_bound(s, from); i < s->n && s->t_ns[i] <= to; i++) {
        if (!isfinite(s->value[i])) continue;
        double away = s->value[i] - mean;
        mean += away / (double)++n;
        m2 += away * (s->value[i] - mean);
    }
    return n > 1 ? sqrt(m2 / (double)(n - 1)) : 0;
}

/* The remainder from..to inside the window that ends at `end`, and half of its interval: the readings of the window,
 * as many as the sensor has shown, are taken for a random sample. */
struct remainder {
    double j, half_j;
};

static struct remainder remainder_of(const struct means *m, int64_t from, int64_t to, int64_t end)
{
    int64_t begin = end - m->window_ns;
    double all_j = window_j(m, end), share = seen_j(m, from, to) / seen_j(m, begin, end);
    double of_time = (double)(to - from) / (double)m->window_ns;
    double spacing_s = fmax(m->g->update_s, (double)m->max_gap_ns / 3 / WL_NS_PER_S);
    double sd_j = m->g->window_s * sd_between(m->instant, begin, end) / sqrt(fmax(1, m->g->window_s / spacing_s));
    if (!isfinite(share)) share = of_time;
    return (struct remainder) { share * all_j, 1.96 * sd_j * sqrt(of_time * (1 - of_time)) };
}

/* Half of the interval of an end: the uncertainty of a reading's age times the change of power in the window next to
 * it, as the readings show it or as they miss the mean. Waves shorter than an update, as high as the power ever
 * changed, may end up to a quarter of an update from where they are taken to end. */
static double edge_j(const struct means *m, int64_t begin, int64_t end)
{
    struct wl_range r = wl_time_series_range(m->instant, begin, end);
    struct wl_range all = wl_time_series_range(m->instant, INT64_MIN / 2, INT64_MAX / 2);
    double missed_w = fabs(window_j(m, end) - seen_j(m, begin, end)) / m->g->window_s;
    double moved_w = fmax(fmax(r.hi - r.lo, 2 * missed_w), (all.hi - all.lo) / 2);
    return moved_w > 0 ? m->g->update_s / 2 * moved_w : 0;
}

struct wl_energy wl_energy_of_mean(const struct wl_time_series *mean, const struct wl_time_series *instant,
                                   int64_t t0_ns, int64_t t1_ns, int64_t max_gap_ns, const struct wl_sensor_response *g,
                                   const struct wl_sensor_response *g_instant)
{
    if (!isfinite(g->window_s) || !isfinite(g->update_s) || !isfinite(g->delay_s))
        return wl_energy_none("how long the mean is taken over is not known");
    double age_s = g->delay_s - g->window_s / 2;
    struct means m = {
        mean, instant, g, g_instant, (int64_t)(g->window_s * WL_NS_PER_S), (int64_t)(age_s * WL_NS_PER_S), max_gap_ns
    };
    if (t1_ns - t0_ns < m.window_ns)
        return wl_energy_none("the window is shorter than the time that the mean is taken over");
    struct wl_sensor_response sharp = { g->update_s, g->update_s, age_s, g->max_w };
    struct wl_energy e = wl_energy_of_power(mean, t0_ns, t1_ns, max_gap_ns, &sharp);
    if (isnan(e.energy_j)) return e;
    if (e.coverage < 1) return wl_energy_none("readings of the driver's mean are missing in the window");

    int64_t n = (t1_ns - t0_ns) / m.window_ns, remainder_ns = t1_ns - t0_ns - n * m.window_ns;
    struct remainder first = remainder_of(&m, t0_ns, t0_ns + remainder_ns, t0_ns + m.window_ns);
    struct remainder last = remainder_of(&m, t1_ns - remainder_ns, t1_ns, t1_ns);
    double from_start_j = last.j, from_end_j = first.j;
    for (int64_t k = 0; k < n; k++) {
        from_start_j += window_j(&m, t0_ns + (k + 1) * m.window_ns);
        from_end_j += window_j(&m, t1_ns - k * m.window_ns);
    }
    double remainders_j = hypot(first.half_j, last.half_j) / 2, apart_j = fabs(from_start_j - from_end_j) / 2;
    double first_j = edge_j(&m, t0_ns, t0_ns + m.window_ns), last_j = edge_j(&m, t1_ns - m.window_ns, t1_ns);
    double half_j = sqrt(remainders_j * remainders_j + apart_j * apart_j + first_j * first_j + last_j * last_j);
    e.energy_j = e.covered_j = (from_start_j + from_end_j) / 2;
    e.mean_w = e.energy_j / ((double)(t1_ns - t0_ns) / WL_NS_PER_S);
    e.lo_j = fmax(0, e.energy_j - half_j);
    e.hi_j = e.energy_j + half_j;
    return e;
}

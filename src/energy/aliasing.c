/* Aliasing: the energy that a sensor misses which sees only part of the time, if the load is in step with its updates.
 * docs/metrics.md has the formulas, docs/adr/055 the reasons. */
#include "energy/internal.h"

#include <math.h>

/* Fewest and most readings in the test, and the longest period tested, in updates. Fewer readings may be alike by
 * chance. */
enum { MIN_UPDATES = 24, MAX_UPDATES = 600, MAX_PERIOD = 64 };

struct updates {
    double w[MAX_UPDATES];
    size_t n;
    double lo, hi; /* of them, W */
};

/* Collects one reading per update, except near the edges, where the load may begin or end. A repeated value is the same
 * update until the next one is due. */
static void collect_updates(struct updates *u, const struct wl_time_series *s, int64_t t0, int64_t t1, double update_s)
{
    int64_t update_ns = (int64_t)(update_s * WL_NS_PER_S), kept = 0;
    *u = (struct updates) { .lo = HUGE_VAL, .hi = -HUGE_VAL };
    for (size_t i = wl_time_series_lower_bound(s, t0 + 2 * update_ns); i < s->n && u->n < MAX_UPDATES; i++) {
        if (s->t_ns[i] > t1 - 2 * update_ns) break;
        if (isnan(s->value[i]) || (u->n > 0 && s->value[i] == u->w[u->n - 1] && s->t_ns[i] - kept < update_ns))
            continue;
        kept = s->t_ns[i];
        u->w[u->n++] = s->value[i];
        u->lo = fmin(u->lo, s->value[i]);
        u->hi = fmax(u->hi, s->value[i]);
    }
}

static double variance(const struct updates *u)
{
    double mean = 0, m2 = 0;
    for (size_t i = 0; i < u->n; i++) {
        double away = u->w[i] - mean;
        mean += away / (double)(i + 1);
        m2 += away * (u->w[i] - mean);
    }
    return m2 / (double)(u->n - 1);
}

/* 1: readings `lag` updates apart are equal; 0: they differ as much as any two. */
static double autocorrelation(const struct updates *u, size_t lag, double variance_w2)
{
    double sum = 0;
    for (size_t i = 0; i + lag < u->n; i++) sum += (u->w[i + lag] - u->w[i]) * (u->w[i + lag] - u->w[i]);
    return 1 - sum / 2 / (double)(u->n - lag) / variance_w2;
}

/* The period of the readings, in updates, if it persists through the window: the load is in step with the sensor, which
 * sees the same moments of it each time. 1: no period is visible, as when the sensor sees one moment per period of the
 * load, or the load is not periodic. 0: the phase drifts, so that the sensor sees all moments of the load. */
static size_t find_period(const struct updates *u)
{
    static const double ALIKE = 0.9, APART = 0.5, STAYS = 0.7, CHANCE = 0.5;
    size_t max_period = u->n / 3 < MAX_PERIOD ? u->n / 3 : MAX_PERIOD;
    double v = variance(u), like[MAX_PERIOD + 1] = { 0 }, best = 0;
    if (!(v > 0)) return 1;
    for (size_t k = 1; k <= max_period; k++) best = fmax(best, like[k] = autocorrelation(u, k, v));
    if (best < CHANCE) return 1;
    bool been_apart = false;
    for (size_t k = 1; k <= max_period; k++) {
        been_apart = been_apart || like[k] < APART * best;
        if (!been_apart || like[k] < ALIKE * best) continue;
        size_t far = u->n / 2 / k * k;
        return autocorrelation(u, far, v) > STAYS * best ? k : 0;
    }
    return 0;
}

/* The lowest good reading of the whole series. */
static double lowest_w(const struct wl_time_series *s)
{
    double lo = HUGE_VAL;
    for (size_t i = 0; i < s->n; i++)
        if (isfinite(s->value[i])) lo = fmin(lo, s->value[i]);
    return lo;
}

struct wl_energy_margin wl_aliasing_margin(const struct wl_time_series *s, int64_t t0, int64_t t1,
                                           const struct wl_sensor_response *g)
{
    struct updates u;
    if (!(g->window_s < g->update_s)) return (struct wl_energy_margin) { 0, 0 };
    collect_updates(&u, s, t0, t1, g->update_s);
    size_t pattern = u.n < MIN_UPDATES ? 1 : find_period(&u);
    if (pattern == 0) return (struct wl_energy_margin) { 0, 0 };
    struct wl_range around = wl_time_series_range(s, t0, t1);
    double lo = u.n ? u.lo : around.lo, hi = u.n ? u.hi : around.hi;
    double max_w = g->max_w > hi ? g->max_w : hi;
    double unseen_s = (1 - g->window_s / g->update_s) * (double)(t1 - t0) / WL_NS_PER_S / (double)pattern;
    return (struct wl_energy_margin) { unseen_s * fmax(0, hi - lowest_w(s)), unseen_s * fmax(0, max_w - lo) };
}

/* Look-ups in a series of readings. */
#include "energy/internal.h"

#include <math.h>

const struct wl_sensor_response wl_sensor_response_unknown = { NAN, NAN, NAN, NAN };

size_t wl_time_series_lower_bound(const struct wl_time_series *s, int64_t t)
{
    size_t lo = 0, hi = s->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (s->t_ns[mid] < t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

ptrdiff_t wl_time_series_prev(const struct wl_time_series *s, ptrdiff_t i)
{
    while (i >= 0 && !isfinite(s->value[i])) i--;
    return i;
}

ptrdiff_t wl_time_series_next(const struct wl_time_series *s, ptrdiff_t i)
{
    while (i < (ptrdiff_t)s->n && !isfinite(s->value[i])) i++;
    return i < (ptrdiff_t)s->n ? i : -1;
}

struct wl_energy wl_energy_none(const char *why)
{
    return (
        struct wl_energy) { .energy_j = NAN, .lo_j = NAN, .hi_j = NAN, .mean_w = NAN, .covered_j = NAN, .why = why };
}

enum { SPACINGS = 33 };

/* The caller's gap, or three times the usual spacing if the series is read less often than requested (a slow sensor, a
 * costly file). The usual spacing is the median of a sample of spacings; a short series has none. A failed reading
 * counts as a reading. */
int64_t wl_time_series_max_gap_ns(const struct wl_time_series *s, int64_t max_gap)
{
    if (s->n < SPACINGS / 4) return max_gap;
    int64_t sorted[SPACINGS];
    size_t n = 0, all = s->n - 1;
    for (size_t k = 0; k < SPACINGS && k < all; k++) {
        size_t i = all <= SPACINGS ? k : k * (all - 1) / (SPACINGS - 1);
        int64_t spacing = s->t_ns[i + 1] - s->t_ns[i];
        size_t at = n++;
        for (; at > 0 && sorted[at - 1] > spacing; at--) sorted[at] = sorted[at - 1];
        sorted[at] = spacing;
    }
    int64_t own = 3 * sorted[n / 2];
    return own > max_gap ? own : max_gap;
}

struct wl_range wl_time_series_range(const struct wl_time_series *s, int64_t from, int64_t to)
{
    struct wl_range r = { HUGE_VAL, -HUGE_VAL };
    size_t i = wl_time_series_lower_bound(s, from), end = wl_time_series_lower_bound(s, to + 1);
    ptrdiff_t before = wl_time_series_prev(s, (ptrdiff_t)i - 1), after = wl_time_series_next(s, (ptrdiff_t)end);
    for (size_t k = before >= 0 ? (size_t)before : i; k < s->n && k <= (after >= 0 ? (size_t)after : end); k++) {
        if (!isfinite(s->value[k])) continue;
        r.lo = fmin(r.lo, s->value[k]);
        r.hi = fmax(r.hi, s->value[k]);
    }
    return r;
}

struct wl_range wl_time_series_plausible_w(const struct wl_time_series *s, const struct wl_sensor_response *g)
{
    struct wl_range r = wl_time_series_range(s, INT64_MIN / 2, INT64_MAX / 2);
    double more = 0.1 * (r.hi - r.lo) + 0.02 * r.hi, limit_w = isfinite(g->max_w) ? fmax(g->max_w, r.hi) : HUGE_VAL;
    return (struct wl_range) { fmax(0, r.lo - more), fmin(limit_w, r.hi + more) };
}

bool wl_energy_mostly_holes(int64_t holes_ns, int64_t window_ns) { return holes_ns > window_ns / 2; }

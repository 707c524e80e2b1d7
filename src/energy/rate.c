/* Rates of counters. */
#include "energy/internal.h"

#include <math.h>

/* The good reading nearest to t, at or before it (last_until) or at or after it (first_from); -1: none. */
static ptrdiff_t last_until(const struct wl_time_series *s, int64_t t)
{
    return wl_time_series_prev(s, (ptrdiff_t)wl_time_series_lower_bound(s, t + 1) - 1);
}

static ptrdiff_t first_from(const struct wl_time_series *s, int64_t t)
{
    return wl_time_series_next(s, (ptrdiff_t)wl_time_series_lower_bound(s, t));
}

/* The counter at an edge of the window: interpolated or, with readings on one side only, the nearest one, to which *t
 * moves. NAN: not known. */
static double at_edge(const struct wl_time_series *s, int64_t *t, int64_t max_gap)
{
    ptrdiff_t a = last_until(s, *t), b = first_from(s, *t);
    if (a < 0 && b < 0) return NAN;
    if (a < 0 || b < 0) {
        ptrdiff_t only = a < 0 ? b : a;
        *t = s->t_ns[only];
        return s->value[only];
    }
    int64_t span = s->t_ns[b] - s->t_ns[a];
    if (span > max_gap) return NAN;
    if (span == 0) return s->value[a];
    return s->value[a] + (s->value[b] - s->value[a]) * (double)(*t - s->t_ns[a]) / (double)span;
}

/* Does it decrease anywhere from the reading before t0 to the one after t1? */
static bool falls(const struct wl_time_series *s, int64_t t0, int64_t t1)
{
    ptrdiff_t from = last_until(s, t0), to = first_from(s, t1);
    size_t end = to < 0 ? s->n : (size_t)to + 1;
    double before = NAN;
    for (size_t i = from < 0 ? 0 : (size_t)from; i < end; i++) {
        if (!isfinite(s->value[i])) continue;
        if (s->value[i] < before) return true;
        before = s->value[i];
    }
    return false;
}

double wl_window_rate(const struct wl_time_series *s, int64_t t0_ns, int64_t t1_ns, int64_t max_gap_ns)
{
    if (falls(s, t0_ns, t1_ns)) return NAN;
    double at_start = at_edge(s, &t0_ns, max_gap_ns), at_end = at_edge(s, &t1_ns, max_gap_ns);
    return t1_ns > t0_ns ? (at_end - at_start) * WL_NS_PER_S / (double)(t1_ns - t0_ns) : NAN;
}

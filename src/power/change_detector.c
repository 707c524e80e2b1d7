/* How often a value moves, from readings that come many times as often. */
#include "power/change_detector.h"

#include <math.h>

const struct wl_change_detector wl_change_detector_none = { .value = NAN };

void wl_change_detector_add(struct wl_change_detector *m, double value, int64_t t_ns)
{
    int64_t spacing_ns = isfinite(m->value) ? t_ns - m->read_ns : 0;
    bool moved = isfinite(m->value) && isfinite(value) && value != m->value;
    if (moved && m->n++ == 0) m->first_ns = t_ns;
    if (moved) m->last_ns = t_ns;
    if (m->n > 0 && spacing_ns > m->longest_ns) m->longest_ns = spacing_ns;
    m->value = value;
    m->read_ns = t_ns;
}

double wl_change_detector_period_s(const struct wl_change_detector *m)
{
    return m->n < 2 ? NAN : (double)(m->last_ns - m->first_ns) / WL_NS_PER_S / (m->n - 1);
}

double wl_change_detector_error_s(const struct wl_change_detector *m)
{
    double longest_s = (double)m->longest_ns / WL_NS_PER_S;
    return m->n < 2 ? NAN : longest_s > wl_change_detector_period_s(m) / 2 ? HUGE_VAL : longest_s / (m->n - 1);
}

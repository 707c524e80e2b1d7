#include "energy/running_total.h"

#include <math.h>

struct wl_running_total wl_running_total_of(bool counter, int64_t max_gap_ns)
{
    return (struct wl_running_total) { .counter = counter, .max_gap_ns = max_gap_ns, .value = NAN };
}

/* What the device drew between its last reading and this one, without the part before since_ns. */
static double drawn_j(const struct wl_running_total *t, double value, int64_t t_ns, int64_t since_ns)
{
    if (isnan(t->value) || t_ns <= since_ns) return 0;
    if (t->counter) return value > t->value ? value - t->value : 0;
    if (t->max_gap_ns > 0 && t_ns - t->t_ns > t->max_gap_ns) return 0;
    const int64_t from_ns = t->t_ns > since_ns ? t->t_ns : since_ns;
    return (t->value + value) / 2 * (double)(t_ns - from_ns) / WL_NS_PER_S;
}

void wl_running_total_add(struct wl_running_total *t, double value, int64_t t_ns, int64_t since_ns)
{
    if (isnan(value)) return;
    t->energy_j += drawn_j(t, value, t_ns, since_ns);
    t->value = value;
    t->t_ns = t_ns;
}

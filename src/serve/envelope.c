#include "serve/envelope.h"

#include <math.h>

void wl_envelope_rates(struct wl_readings *r)
{
    for (size_t i = 1; i < r->n; i++) {
        const double passed_s = (double)(r->t_ns[i] - r->t_ns[i - 1]) / WL_NS_PER_S;
        const double grown = r->value[i] - r->value[i - 1];
        r->t_ns[i - 1] = r->t_ns[i];
        r->value[i - 1] = passed_s > 0 && grown >= 0 ? grown / passed_s : NAN;
    }
    r->n -= r->n > 0;
}

static double seconds(int64_t t_ns, int64_t origin_ns) { return (double)(t_ns - origin_ns) / WL_NS_PER_S; }

static void add(struct wl_envelope *to, double t_s, double min, double max, double mean)
{
    to->t_s[to->n] = t_s;
    to->min[to->n] = min;
    to->max[to->n] = max;
    to->mean[to->n++] = mean;
}

/* The readings [i, end) of one interval. */
static void add_interval(struct wl_envelope *to, const struct wl_readings *r, size_t i, size_t end, int64_t origin_ns)
{
    double min = INFINITY, max = -INFINITY, sum = 0, n = 0;
    const double t_s = (seconds(r->t_ns[i], origin_ns) + seconds(r->t_ns[end - 1], origin_ns)) / 2;
    for (; i < end; i++) {
        const double v = r->value[i];
        if (!isfinite(v)) continue;
        min = fmin(min, v);
        max = fmax(max, v);
        sum += v;
        n++;
    }
    if (n > 0)
        add(to, t_s, min, max, sum / n);
    else
        add(to, t_s, NAN, NAN, NAN);
}

struct wl_envelope wl_envelope_of(const struct wl_readings *r, int64_t begin_ns, int64_t end_ns, size_t points,
                                  int64_t origin_ns, struct wl_arena *a)
{
    struct wl_envelope out = { 0 };
    size_t first = 0, end = r->n;
    while (first < end && r->t_ns[first] < begin_ns) first++;
    while (end > first && r->t_ns[end - 1] > end_ns) end--;
    const size_t n = end - first, cap = n < 2 * points + 1 ? n : 2 * points + 1;
    out.readings = n;
    for (size_t i = first; i < end; i++) out.failed += !isfinite(r->value[i]);
    out.reduced = n > points;
    double **const columns[] = { &out.t_s, &out.min, &out.max, &out.mean };
    for (size_t i = 0; i < WL_COUNT(columns); i++) *columns[i] = wl_new_array(a, double, cap);
    if (!out.reduced) {
        for (size_t i = first; i < end; i++) {
            const double v = isfinite(r->value[i]) ? r->value[i] : NAN;
            add(&out, seconds(r->t_ns[i], origin_ns), v, v, v);
        }
        return out;
    }
    const double width_ns = ((double)(end_ns - begin_ns) + 1) / (double)points;
    int64_t last = -1;
    for (size_t i = first, k; i < end; i = k) {
        const int64_t bin = (int64_t)((double)(r->t_ns[i] - begin_ns) / width_ns);
        for (k = i + 1; k < end && (int64_t)((double)(r->t_ns[k] - begin_ns) / width_ns) == bin;) k++;
        if (last >= 0 && bin > last + 1)
            add(&out, seconds(begin_ns + (int64_t)(width_ns * ((double)last + 1.5)), origin_ns), NAN, NAN, NAN);
        add_interval(&out, r, i, k, origin_ns);
        last = bin;
    }
    return out;
}

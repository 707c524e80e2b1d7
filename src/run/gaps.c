/* What was not measured of a run, for people: a line a device and reason, in the run's log and in its summary. */
#include "run/internal.h"

#include <math.h>

/* The channels of a device that failed for one reason. */
struct hole {
    int device;
    const char *why;
    size_t channels;
    uint64_t readings;
    int64_t longest_ns;
};

static struct hole *hole_of(struct hole *v, size_t *n, int device, const char *why)
{
    for (size_t i = 0; i < *n; i++)
        if (v[i].device == device && wl_str_eq(v[i].why, why)) return &v[i];
    v[*n] = (struct hole) { .device = device, .why = why };
    return &v[(*n)++];
}

static size_t find_holes(const struct wl_sensors *sensors, const struct wl_sampler *sampler, struct hole *out)
{
    size_t n = 0;
    for (size_t c = 0; c < sensors->n_channels; c++) {
        struct wl_channel_stats s;
        wl_sampler_channel_stats(sampler, c, &s);
        if (s.errors == 0) continue;
        struct hole *h = hole_of(out, &n, sensors->channels[c].device, s.last_why);
        h->channels++;
        h->readings += s.errors;
        if (s.gap_ns > h->longest_ns) h->longest_ns = s.gap_ns;
    }
    return n;
}

struct wl_strs wl_gaps_list(const struct wl_sensors *sensors, const struct wl_sampler *sampler, struct wl_arena *a)
{
    struct wl_strs lines = { 0 };
    struct hole *holes = wl_new_array(a, struct hole, sensors->n_channels);
    size_t n = find_holes(sensors, sampler, holes);
    for (size_t i = 0; i < n; i++) {
        const struct wl_device *d = &sensors->devices[holes[i].device];
        wl_strs_add(a, &lines,
                    wl_strf(a, "%s (%s): %s without a reading of %zu quantit%s, %llu failed: %s", d->name, d->uuid,
                            wl_human_time(a, (double)holes[i].longest_ns / WL_NS_PER_S), holes[i].channels,
                            holes[i].channels == 1 ? "y" : "ies", (unsigned long long)holes[i].readings, holes[i].why));
    }
    return lines;
}

/* The wall clock is no part of any measurement, but stamps of other programs and nodes are compared with it. */
const char *wl_gaps_clock_step(const struct wl_anchor *start, const struct wl_anchor *end, struct wl_arena *a)
{
    static const double JUMP_S = 0.5;
    double apart_s = (double)((end->wall_ns - start->wall_ns) - (end->mono_ns - start->mono_ns)) / WL_NS_PER_S;
    if (fabs(apart_s) < JUMP_S) return NULL;
    return wl_strf(
        a, "the wall clock was set by %+.3f s during the run; times and energies are of the clock that nobody sets",
        apart_s);
}

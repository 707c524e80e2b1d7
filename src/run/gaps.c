/* What was not measured of a run, for people: one line per device and reason, in the run's log and in its summary. */
#include "run/internal.h"

#include <math.h>

/* The channels of a device that failed for one reason. */
struct gap {
    int device;
    const char *why;
    size_t channels;
    uint64_t readings;
    int64_t longest_ns;
};

static struct gap *gap_of(struct gap *v, size_t *n, int device, const char *why)
{
    for (size_t i = 0; i < *n; i++)
        if (v[i].device == device && wl_str_eq(v[i].why, why)) return &v[i];
    v[*n] = (struct gap) { .device = device, .why = why };
    return &v[(*n)++];
}

static size_t find_gaps(const struct wl_sensors *sensors, const struct wl_sampler *sampler, struct gap *out)
{
    size_t n = 0;
    for (size_t c = 0; c < sensors->n_channels; c++) {
        struct wl_channel_stats s;
        wl_sampler_channel_stats(sampler, c, &s);
        if (s.errors == 0) continue;
        struct gap *g = gap_of(out, &n, sensors->channels[c].device, s.last_why);
        g->channels++;
        g->readings += s.errors;
        if (s.gap_ns > g->longest_ns) g->longest_ns = s.gap_ns;
    }
    return n;
}

struct wl_strs wl_gaps_list(const struct wl_sensors *sensors, const struct wl_sampler *sampler, struct wl_arena *a)
{
    struct wl_strs lines = { 0 };
    struct gap *gaps = wl_new_array(a, struct gap, sensors->n_channels);
    size_t n = find_gaps(sensors, sampler, gaps);
    for (size_t i = 0; i < n; i++) {
        const struct wl_device *d = &sensors->devices[gaps[i].device];
        wl_strs_add(a, &lines,
                    wl_strf(a, "%s (%s): %s without a reading of %zu quantit%s, %llu reading%s failed: %s", d->name,
                            d->uuid, wl_human_time(a, (double)gaps[i].longest_ns / WL_NS_PER_S), gaps[i].channels,
                            gaps[i].channels == 1 ? "y" : "ies", (unsigned long long)gaps[i].readings,
                            gaps[i].readings == 1 ? "" : "s", gaps[i].why));
    }
    return lines;
}

/* No measurement uses the wall clock, but the time stamps of other programs and nodes are compared with it. */
const char *wl_gaps_clock_step(const struct wl_anchor *start, const struct wl_anchor *end, struct wl_arena *a)
{
    static const double STEP_MIN_S = 0.5;
    double step_s = (double)((end->wall_ns - start->wall_ns) - (end->mono_ns - start->mono_ns)) / WL_NS_PER_S;
    if (fabs(step_s) < STEP_MIN_S) return NULL;
    return wl_strf(
        a,
        "the wall clock was set by %+.3f s during the run; times and energies use the monotonic clock, which was not",
        step_s);
}

/* Variation of the utilisation of a run: the channels of one quantity, in common time bins. */
#include "run/derive.h"
#include "stats/stats.h"

#include <math.h>

/* Bins of a sampling period, or longer where a long run would have more than BINS_MAX of them, or all devices together
 * more than VALUES_MAX. Several readings of one device in a bin count by their mean. None if the span is empty. */
struct bins {
    int64_t begin_ns, width_ns;
    size_t n;
};

static struct bins bins_of(int64_t t0_ns, int64_t t1_ns, double period_s, size_t devices)
{
    enum { BINS_MAX = 20000, VALUES_MAX = 16000000 };
    struct bins at = { .begin_ns = t0_ns, .width_ns = (int64_t)(period_s * WL_NS_PER_S) };
    if (t1_ns <= t0_ns) return at;
    int64_t shared = VALUES_MAX / (int64_t)devices + 1, n_max = shared < BINS_MAX ? shared : BINS_MAX;
    int64_t least = (t1_ns - t0_ns) / n_max + 1;
    if (at.width_ns < least) at.width_ns = least;
    at.n = (size_t)((t1_ns - t0_ns) / at.width_ns);
    return at;
}

static void bin_readings(const struct wl_time_series *s, const struct bins *at, double *mean, size_t *count)
{
    for (size_t i = 0; i < at->n; i++) mean[i] = NAN, count[i] = 0;
    for (size_t i = 0; i < s->n; i++) {
        int64_t k = s->t_ns[i] < at->begin_ns ? -1 : (s->t_ns[i] - at->begin_ns) / at->width_ns;
        if (k < 0 || k >= (int64_t)at->n || isnan(s->value[i])) continue;
        mean[k] = count[k] ? mean[k] + (s->value[i] - mean[k]) / (double)(count[k] + 1) : s->value[i];
        count[k]++;
    }
}

static bool same_quantity(const struct wl_channel_row *a, const struct wl_channel_row *b)
{
    return wl_str_eq(a->quantity, b->quantity) && wl_str_eq(a->scope, b->scope);
}

static struct wl_variation_row variation_of(const struct wl_derivation *d, size_t first, size_t devices,
                                            const struct bins *at, struct wl_arena *a)
{
    const struct wl_channel_rows *channels = &d->channels;
    const struct wl_channel_row *c = &channels->v[first];
    double *v = wl_new_array(a, double, devices * at->n);
    size_t *count = wl_new_array(a, size_t, at->n), device = 0;
    bool simulated = false;
    for (size_t i = first; i < channels->n; i++) {
        if (!same_quantity(c, &channels->v[i])) continue;
        bin_readings(&d->series[i], at, v + device++ * at->n, count);
        wl_derive_rest(d, i);
        simulated = simulated || channels->v[i].simulated;
    }
    struct wl_variation r =
        wl_variation_estimate(v, devices, at->n, 0.95, (uint64_t)c->run ^ wl_hash_fnv1a(c->quantity), a);
    return (struct wl_variation_row) {
        .quantity = c->quantity,
        .devices = (int64_t)r.devices,
        .instants = (int64_t)r.instants,
        .mean = r.mean.value,
        .mean_lo = r.mean.lo,
        .mean_hi = r.mean.hi,
        .cv_time = r.cv_time.value,
        .cv_time_lo = r.cv_time.lo,
        .cv_time_hi = r.cv_time.hi,
        .cv_devices = r.cv_devices.value,
        .cv_devices_lo = r.cv_devices.lo,
        .cv_devices_hi = r.cv_devices.hi,
        .cv_pooled = r.cv_pooled.value,
        .cv_pooled_lo = r.cv_pooled.lo,
        .cv_pooled_hi = r.cv_pooled.hi,
        .simulated = simulated,
    };
}

static size_t count_devices(const struct wl_channel_rows *channels, size_t first)
{
    size_t n = 0;
    for (size_t i = first; i < channels->n; i++) n += same_quantity(&channels->v[first], &channels->v[i]);
    return n;
}

/* Is it the first channel of its quantity, in any scope, and in %? */
static bool is_first_of_quantity(const struct wl_channel_rows *channels, size_t i)
{
    if (!wl_str_eq(channels->v[i].unit, "%")) return false;
    for (size_t k = 0; k < i; k++) {
        if (wl_str_eq(channels->v[k].quantity, channels->v[i].quantity)) return false;
    }
    return true;
}

size_t wl_derive_variation(const struct wl_derivation *d, int64_t t0_ns, int64_t t1_ns, double period_s,
                           struct wl_variation_row **out)
{
    const struct wl_channel_rows *channels = &d->channels;
    size_t n = 0;
    *out = wl_new_array(d->a, struct wl_variation_row, channels->n);
    for (size_t i = 0; i < channels->n; i++) {
        if (!is_first_of_quantity(channels, i)) continue;
        size_t devices = count_devices(channels, i);
        struct bins at = bins_of(t0_ns, t1_ns, period_s, devices);
        struct wl_arena *scratch = wl_arena_new(d->a);
        struct wl_variation_row row = variation_of(d, i, devices, &at, scratch);
        if (!isnan(row.mean)) (*out)[n++] = row;
        wl_arena_free(scratch);
    }
    return n;
}

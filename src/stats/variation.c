/* How a quantity varies over time and over devices. Readings are reduced to sums of batches of consecutive instants;
 * the bootstrap draws whole batches, so that readings close in time stay together. */
#include "stats/variation.h"

#include "stats/bootstrap.h"

#include <math.h>

enum { MIN_BATCHES = 4, DRAWS = 400 };

/* Sums of one batch: of each device over its instants, and of the spread between devices at each instant. */
struct batches {
    size_t n, devices;
    double *count, *sum, *square; /* [n][devices]; of value - centre, so that squares keep their digits */
    double *spreads, *spread;     /* [n] instants with two devices or more; sum of sd over devices at them */
    double centre;
};

/* Standard deviation over the devices at one instant; NAN where fewer than two have a reading. */
static double spread_at(const double *v, size_t devices, size_t instants, size_t t)
{
    double n = 0, mean = 0, m2 = 0; /* Welford 1962 */
    for (size_t d = 0; d < devices; d++) {
        double x = v[d * instants + t];
        if (isnan(x)) continue;
        double delta = x - mean;
        mean += delta / ++n;
        m2 += delta * (x - mean);
    }
    return n > 1 ? sqrt(m2 / (n - 1)) : NAN;
}

static void add_instant(struct batches *b, size_t batch, const double *v, size_t instants, size_t t)
{
    for (size_t d = 0; d < b->devices; d++) {
        double x = v[d * instants + t];
        if (isnan(x)) continue;
        size_t at = batch * b->devices + d;
        b->count[at]++;
        b->sum[at] += x - b->centre;
        b->square[at] += (x - b->centre) * (x - b->centre);
    }
    double spread = spread_at(v, b->devices, instants, t);
    if (isnan(spread)) return;
    b->spreads[batch]++;
    b->spread[batch] += spread;
}

/* As many batches as instants in each, about: both grow without bound with the series (Flegal & Jones 2010). */
static struct batches cut(const double *v, size_t devices, size_t instants, struct wl_arena *a)
{
    struct batches b = { .n = (size_t)sqrt((double)instants), .devices = devices };
    if (b.n == 0) b.n = 1;
    b.count = wl_new_array(a, double, b.n *devices);
    b.sum = wl_new_array(a, double, b.n *devices);
    b.square = wl_new_array(a, double, b.n *devices);
    b.spreads = wl_new_array(a, double, b.n);
    b.spread = wl_new_array(a, double, b.n);
    double total = 0, n = 0;
    for (size_t i = 0; i < devices * instants; i++) {
        if (isnan(v[i])) continue;
        total += v[i];
        n++;
    }
    b.centre = n > 0 ? total / n : 0;
    for (size_t t = 0; t < instants; t++) add_instant(&b, t * b.n / instants, v, instants, t);
    return b;
}

/* The four numbers over a choice of batches. */
enum { MEAN, CV_TIME, CV_DEVICES, CV_POOLED, NUMBERS };

static void measure(const struct batches *b, const size_t *choice, size_t chosen, double out[NUMBERS])
{
    double n = 0, sum = 0, square = 0, within = 0, devices = 0, spread = 0, spreads = 0;
    for (size_t d = 0; d < b->devices; d++) {
        double dn = 0, ds = 0, dq = 0;
        for (size_t i = 0; i < chosen; i++) {
            size_t at = choice[i] * b->devices + d;
            dn += b->count[at];
            ds += b->sum[at];
            dq += b->square[at];
        }
        n += dn;
        sum += ds;
        square += dq;
        if (dn < 2) continue;
        within += sqrt(fmax((dq - ds * ds / dn) / (dn - 1), 0)) / fabs(b->centre + ds / dn);
        devices++;
    }
    for (size_t i = 0; i < chosen; i++) {
        spread += b->spread[choice[i]];
        spreads += b->spreads[choice[i]];
    }
    double mean = n > 0 ? b->centre + sum / n : NAN;
    out[MEAN] = mean;
    out[CV_TIME] = devices > 0 ? within / devices : NAN;
    out[CV_DEVICES] = spreads > 0 ? spread / spreads / fabs(mean) : NAN;
    out[CV_POOLED] = n > 1 ? sqrt(fmax((square - sum * sum / n) / (n - 1), 0)) / fabs(mean) : NAN;
    for (int k = 0; k < NUMBERS; k++) {
        if (!isfinite(out[k])) out[k] = NAN; /* a mean of 0 has no coefficient of variation */
    }
}

static void statistic(const size_t *choice, size_t n, double *out, void *data)
{
    const struct batches *b = data;
    measure(b, choice, n, out);
}

struct wl_variation wl_variation_estimate(const double *v, size_t devices, size_t instants, double level, uint64_t seed,
                                          struct wl_arena *a)
{
    struct wl_variation r = { .devices = devices, .instants = instants };
    struct wl_estimate *out[NUMBERS] = { &r.mean, &r.cv_time, &r.cv_devices, &r.cv_pooled };
    struct wl_arena *scratch = wl_arena_new(a);
    struct batches b = cut(v, devices, instants, scratch);
    size_t *all = wl_new_array(scratch, size_t, b.n);
    double one[NUMBERS];
    for (size_t i = 0; i < b.n; i++) all[i] = i;
    measure(&b, all, b.n, one);
    struct wl_bootstrap_interval draws[NUMBERS];
    struct wl_bootstrap how = { b.n, NUMBERS, DRAWS, seed, statistic, &b };
    bool known = b.n >= MIN_BATCHES && wl_bootstrap(&how, level, draws, scratch, NULL) == 0;
    for (int k = 0; k < NUMBERS; k++) {
        *out[k] = (struct wl_estimate) { one[k], NAN, NAN };
        if (known) out[k]->lo = draws[k].lo, out[k]->hi = draws[k].hi;
    }
    wl_arena_free(scratch);
    return r;
}

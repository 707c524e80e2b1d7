#include "energy/attribution.h"

#include <math.h>

/* Instructions of one program cost up to about twice those of another per CPU second (vectors against waiting for
 * memory), and two threads on one core about two thirds of two cores. The energy of memory follows its traffic, which
 * CPU time shows less well; kernels on a GPU differ as programs on CPUs do. */
const struct wl_attribution_model wl_attribution_cpu = { .spread = 2, .interference = 0.4 },
                                  wl_attribution_dram = { .spread = 4, .interference = 0.4 },
                                  wl_attribution_gpu = { .spread = 2, .interference = 0.4 };

static const struct wl_attribution unknown = { NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NULL };

/* Sums over the slices at one idle power. */
struct sums {
    double above_j, lo_j, hi_j;
};

/* The share of use, if a unit of the job's costs `ratio` times that of others. */
static double share_at(double share, double ratio) { return ratio * share / (ratio * share + 1 - share); }

static double share_of(const struct wl_attribution_slice *s)
{
    return s->all_use > 0 ? fmin(fmax(s->job_use / s->all_use, 0), 1) : NAN;
}

static bool is_known(const struct wl_attribution_slice *s) { return s->time_s > 0 && !isnan(s->energy_j); }

/* What is known is scaled to the run: by energy and time of the run for one joule and second of the known slices. */
struct scale {
    double energy, time;
};

static struct scale scale_of(const struct wl_attribution_case *c)
{
    double energy_j = 0, time_s = 0;
    for (size_t i = 0; i < c->n; i++) {
        if (!is_known(&c->slices[i])) continue;
        energy_j += c->slices[i].energy_j;
        time_s += c->slices[i].time_s;
    }
    return (struct scale) { c->energy_j / energy_j, c->time_s / time_s };
}

static double use_share(const struct wl_attribution_case *c)
{
    double job = 0, all = 0;
    for (size_t i = 0; i < c->n; i++) {
        job += is_known(&c->slices[i]) ? c->slices[i].job_use : 0;
        all += is_known(&c->slices[i]) ? c->slices[i].all_use : 0;
    }
    return all > 0 ? fmin(fmax(job / all, 0), 1) : NAN;
}

/* A slice in which nobody used the device has the run's share, and may be anybody's. */
static struct sums sums_at(const struct wl_attribution_case *c, double idle_w, double run_share)
{
    struct sums r = { 0 };
    const struct scale scale = scale_of(c);
    const double spread = c->model.spread;
    for (size_t i = 0; i < c->n; i++) {
        const struct wl_attribution_slice *s = &c->slices[i];
        if (!is_known(s)) continue;
        const double above_j = scale.energy * s->energy_j - idle_w * scale.time * s->time_s, share = share_of(s),
                     shift = c->model.interference * (1 - share);
        r.above_j += above_j * (isnan(share) ? run_share : share);
        r.lo_j += isnan(share) ? 0 : above_j * share_at(share, 1 / spread) * fmax(0, 1 - shift);
        r.hi_j += isnan(share) ? fmax(above_j, 0) : above_j * share_at(share, spread) * (1 + shift);
    }
    return r;
}

static double least_w(const struct wl_attribution_case *c)
{
    double least = NAN;
    for (size_t i = 0; i < c->n; i++)
        if (is_known(&c->slices[i])) least = fmin(least, c->slices[i].energy_j / c->slices[i].time_s);
    const struct scale scale = scale_of(c);
    return least * scale.energy / scale.time;
}

/* Both bounds of the idle power bound the whole: between them it changes evenly. The error of the device's energy is
 * common to all parts. */
static void set_bounds(struct wl_attribution *r, const struct wl_attribution_case *c, double hi_w)
{
    const double ends[] = { c->idle_lo_w, hi_w }, lo = c->lo_j / c->energy_j, hi = c->hi_j / c->energy_j;
    for (size_t i = 0; i < WL_COUNT(ends); i++) {
        const struct sums s = sums_at(c, ends[i], r->use_share);
        const double idle_j = c->reserved * ends[i] * c->time_s;
        r->above_lo_j = fmin(r->above_lo_j, fmax(0, s.lo_j * lo));
        r->above_hi_j = fmax(r->above_hi_j, fmax(0, s.hi_j * hi));
        r->energy_lo_j = fmin(r->energy_lo_j, fmax(0, (s.lo_j + idle_j) * lo));
        r->energy_hi_j = fmax(r->energy_hi_j, fmin((fmax(0, s.hi_j) + idle_j) * hi, c->hi_j));
    }
}

struct wl_attribution wl_attribute(const struct wl_attribution_case *c)
{
    struct wl_attribution r = unknown;
    const double idle_w = (c->idle_lo_w + c->idle_hi_w) / 2;
    r.use_share = use_share(c);
    if (isnan(c->energy_j))
        r.why = "the energy of the device is not known";
    else if (isnan(r.use_share))
        r.why = "nothing used the device";
    else if (!isfinite(scale_of(c).energy))
        r.why = "no part of the energy has a time";
    if (r.why) return r;
    set_bounds(&r, c, c->idle_known ? c->idle_hi_w : fmin(c->idle_hi_w, least_w(c)));
    if (!c->idle_known) return r;
    r.above_j = fmax(0, sums_at(c, idle_w, r.use_share).above_j);
    r.idle_j = c->reserved * idle_w * c->time_s;
    r.energy_j = r.above_j + r.idle_j;
    return r;
}

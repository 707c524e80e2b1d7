#include "advise/cap/curve.h"

#include <math.h>

enum { BUSY_POWERS = 12 };
static const double busy_power_lo = 0.15, busy_power_hi = 1.15; /* geometric */
static const double busy_shares[] = { 0.02, 0.15, 0.3, 0.5, 0.7, 0.85, 1 };
static const double rest_ratios[] = { 0.2, 0.5, 0.8 }; /* po / pc */
static const double static_powers[] = { 0.05, 0.2 };
static const double exponents[] = { 1.7, 2.5, 3.5 };
static const double min_clocks[] = { 0.35, 0.6, 0.8 };
static const double largest_static = 0.75; /* of pc */
static const double least_dynamic = 1e-3;  /* v: a cap at or below the static power */

static double busy_power(size_t i)
{
    return busy_power_lo * pow(busy_power_hi / busy_power_lo, (double)i / (BUSY_POWERS - 1));
}

/* The combinations of the other five parameters with one pc, appended at `out`; their number. */
static size_t grid_of(double pc, struct wl_advise_cap_particle *out)
{
    size_t n = 0;
    for (size_t s = 0; s < WL_COUNT(static_powers) && static_powers[s] < largest_static * pc; s++)
        for (size_t k = 0; k < WL_COUNT(exponents); k++)
            for (size_t m = 0; m < WL_COUNT(min_clocks); m++)
                for (size_t a = 0; a < WL_COUNT(busy_shares); a++)
                    for (size_t o = 0; o < WL_COUNT(rest_ratios); o++)
                        out[n++] = (struct wl_advise_cap_particle) {
                            pc, busy_shares[a], rest_ratios[o] * pc, static_powers[s], exponents[k], min_clocks[m]
                        };
    return n;
}

void wl_advise_cap_grid(struct wl_advise_cap_particle out[WL_ADVISE_CAP_PARTICLES])
{
    size_t n = 0;
    for (size_t i = 0; i < BUSY_POWERS; i++) n += grid_of(busy_power(i), out + n);
    WL_CHECK(n == WL_ADVISE_CAP_PARTICLES);
}

/* v, the share of the dynamic power that remains under a power c. */
static double dynamic_share(const struct wl_advise_cap_particle *z, double c)
{
    const double v = (c - z->static_power) / (z->busy_power - z->static_power);
    return fmin(fmax(v, least_dynamic), 1);
}

static struct wl_advise_cap_speed under_cap(const struct wl_advise_cap_particle *z, double c)
{
    const double v = dynamic_share(z, c), f = pow(v, 1 / z->exponent), fm = z->min_clock;
    return (struct wl_advise_cap_speed) { f < fm ? fm * v / pow(fm, z->exponent) : f, v };
}

static struct wl_advise_cap_speed at_clock(const struct wl_advise_cap_particle *z, double ratio)
{
    const double f = fmin(ratio, pow(dynamic_share(z, 1), 1 / z->exponent));
    return (struct wl_advise_cap_speed) { f, pow(f, z->exponent) };
}

struct wl_advise_cap_speed wl_advise_cap_speed_at(const struct wl_advise_cap_particle *z, enum wl_advise_cap_kind kind,
                                                  double ratio)
{
    return kind == WL_ADVISE_CLOCK ? at_clock(z, ratio) : under_cap(z, ratio);
}

/* Power of the rest. */
static double rest_power(const struct wl_advise_cap_particle *z, enum wl_advise_cap_kind kind, double ratio, double v)
{
    if (kind == WL_ADVISE_POWER_CAP) return fmin(z->rest_power, ratio);
    const double s = fmin(z->static_power, z->rest_power);
    return fmin(s + (z->rest_power - s) * v, 1);
}

struct wl_advise_cap_point wl_advise_cap_point_at(const struct wl_advise_cap_particle *z, enum wl_advise_cap_kind kind,
                                                  double ratio, struct wl_advise_cap_speed at)
{
    const double busy = z->busy_share / at.speed, rest = 1 - z->busy_share, t = busy + rest;
    const double busy_p = z->static_power + (z->busy_power - z->static_power) * at.dynamic;
    const double p = (busy * busy_p + rest * rest_power(z, kind, ratio, at.dynamic)) / t;
    return (struct wl_advise_cap_point) { log(t), log(p) };
}

#include "planner/device.h"

#include "stats/stats.h"

#include <math.h>

static double lowest_phi(const struct wl_planner_device *d)
{
    return d->lowest_mhz > 0 && d->clock_mhz > 0 ? fmin(d->lowest_mhz / d->clock_mhz, 1) : 0;
}

/* The clock at which the workload draws cap_w. */
static double phi_under(const struct wl_planner_device *d, double cap_w)
{
    const double dynamic_w = d->load * (d->max_w - d->idle_w), room_w = cap_w - d->idle_w;
    if (isnan(dynamic_w)) return NAN;
    return room_w >= dynamic_w ? 1 : room_w > 0 ? pow(room_w / dynamic_w, 1 / d->exponent) : 0;
}

struct wl_planner_operation wl_planner_operate(const struct wl_planner_device *d, double cap_w, double clock_mhz)
{
    struct wl_planner_operation o = { .phi = 1, .enforceable = true };
    const double lowest = lowest_phi(d);
    if (!isnan(clock_mhz)) o.phi = isnan(d->clock_mhz) ? NAN : fmin(clock_mhz / d->clock_mhz, 1);
    if (clock_mhz > d->highest_mhz) o.enforceable = false;
    if (!isnan(cap_w)) {
        const double under = phi_under(d, cap_w);
        o.phi = isnan(under) ? NAN : fmin(o.phi, under);
        if (cap_w < d->min_cap_w || cap_w > d->max_w) o.enforceable = false;
    }
    if (o.phi < lowest || o.phi <= 0) o.enforceable = false, o.phi = lowest > 0 ? lowest : NAN;
    o.active_w = d->idle_w + d->load * (d->max_w - d->idle_w) * pow(o.phi, d->exponent);
    return o;
}

double wl_planner_slowdown(double memory_share, double phi) { return memory_share + (1 - memory_share) / phi; }

double wl_planner_straggle(double cv, double workers)
{
    return workers > 1 ? 1 + cv * wl_normal_quantile((workers - .375) / (workers + .25)) : 1;
}

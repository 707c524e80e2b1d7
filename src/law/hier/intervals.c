/* Intervals that hold each other: of the curve, of a configuration, of a run. */
#include "law/hier/hier.h"

#include <math.h>

static struct wl_hier_interval interval_of(const struct wl_hier_mixture *m, double confidence)
{
    const double levels[] = { 0.5, (1 - confidence) / 2, (1 + confidence) / 2 };
    struct wl_hier_interval v = { NAN, NAN, NAN };
    double y[WL_COUNT(levels)];
    wl_hier_quantiles(m, levels, WL_COUNT(levels), y);
    v.median = y[0];
    v.lo = y[1];
    v.hi = y[2];
    return v;
}

struct wl_hier_intervals wl_hier_intervals(const struct wl_hier_predictions *p, size_t at, enum wl_hier_what from,
                                           double confidence, struct wl_arena *scratch)
{
    static const struct wl_hier_interval unknown = { NAN, NAN, NAN };
    struct wl_hier_intervals v = { { unknown, unknown, unknown } };
    for (int what = (int)from; what <= WL_HIER_RUN; what++) {
        const struct wl_hier_mixture m = wl_hier_prediction(p, at, what, WL_HIER_ALL, scratch);
        v.of[what] = interval_of(&m, confidence);
        if (what == (int)from) continue;
        v.of[what].lo = fmin(v.of[what].lo, v.of[what - 1].lo);
        v.of[what].hi = fmax(v.of[what].hi, v.of[what - 1].hi);
    }
    return v;
}

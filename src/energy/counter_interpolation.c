#include "energy/counter_interpolation.h"

#include <math.h>

static bool is_knot(const struct wl_counter *c, ptrdiff_t i)
{
    if (!c->slow) return true;
    ptrdiff_t before = wl_time_series_prev(c->s, i - 1);
    return before >= 0 && c->s->value[before] != c->s->value[i];
}

static ptrdiff_t knot_prev(const struct wl_counter *c, ptrdiff_t i)
{
    for (i = wl_time_series_prev(c->s, i); i >= 0 && !is_knot(c, i); i = wl_time_series_prev(c->s, i - 1)) continue;
    return i;
}

static ptrdiff_t knot_next(const struct wl_counter *c, ptrdiff_t i)
{
    if (i < 0) return -1;
    for (i = wl_time_series_next(c->s, i); i >= 0 && !is_knot(c, i); i = wl_time_series_next(c->s, i + 1)) continue;
    return i;
}

/* The maximum time from when knot i was reached to its reading. */
static int64_t max_latency_ns(const struct wl_counter *c, ptrdiff_t i)
{
    ptrdiff_t before = wl_time_series_prev(c->s, i - 1);
    int64_t spacing = before >= 0 ? c->s->t_ns[i] - c->s->t_ns[before] : 0;
    int64_t longest =
        c->slow ? spacing : c->bridged_ns; /* a counter that changes at each reading does so after a hole, too */
    if (longest > c->update_ns) longest = c->update_ns;
    return spacing < longest ? spacing : longest;
}

/* When knot i was reached: the middle of the possible times; for a counter that never repeats, the reading's time. */
static int64_t middle_ns(const struct wl_counter *c, ptrdiff_t i)
{
    return c->s->t_ns[i] - (c->slow ? max_latency_ns(c, i) / 2 : 0);
}

static bool is_sharp(const struct wl_counter *c, ptrdiff_t i)
{
    return i >= 0 && max_latency_ns(c, i) <= c->update_ns / 4;
}

/* A knot that was read late is a whole number of updates away from a nearby one that was not. */
static int64_t knot_ns(const struct wl_counter *c, ptrdiff_t i)
{
    enum { NEAR = 3 };
    int64_t middle = middle_ns(c, i), earliest = c->s->t_ns[i] - max_latency_ns(c, i);
    if (!c->slow || c->update_ns == INT64_MAX || is_sharp(c, i)) return middle;
    ptrdiff_t before = i, after = i, sharp = -1;
    for (int k = 0; k < NEAR && sharp < 0; k++) {
        before = before < 0 ? -1 : knot_prev(c, before - 1);
        after = after < 0 ? -1 : knot_next(c, after + 1);
        sharp = is_sharp(c, before) ? before : is_sharp(c, after) ? after : -1;
    }
    if (sharp < 0) return middle;
    double updates = round((double)(middle - middle_ns(c, sharp)) / (double)c->update_ns);
    int64_t at = middle_ns(c, sharp) + (int64_t)(updates * (double)c->update_ns);
    return at < earliest ? earliest : at > c->s->t_ns[i] ? c->s->t_ns[i] : at;
}

/* Mean power between two knots, W. NAN: the counter was reset between them. That happens only outside the window: a
 * window with a reset has no energy. */
static double slope_w(const struct wl_counter *c, ptrdiff_t a, ptrdiff_t b)
{
    double dt_s = (double)(knot_ns(c, b) - knot_ns(c, a)) / WL_NS_PER_S, joules = c->s->value[b] - c->s->value[a];
    if (joules < 0) return NAN;
    return dt_s > 0 ? joules / dt_s : 0;
}

/* Power up to knot a: since the previous knot or, if there is none, the mean of the power readings until then. NAN: not
 * known. */
static double slope_before_w(const struct wl_counter *c, ptrdiff_t a)
{
    ptrdiff_t before = knot_prev(c, a - 1);
    int64_t t = c->s->t_ns[a];
    if (before >= 0) return slope_w(c, before, a);
    return c->drawn ? wl_window_mean(c->drawn, t - WL_COUNTER_AROUND_NS, t, WL_COUNTER_AROUND_NS) : NAN;
}

/* The counter at time t between knots a and b. If a single change from the power before a to the power after b explains
 * the step, it follows that; else the straight line. */
static double between(const struct wl_counter *c, ptrdiff_t a, ptrdiff_t b, int64_t t)
{
    ptrdiff_t after = knot_next(c, b + 1);
    double slope = slope_w(c, a, b), since_s = (double)(t - knot_ns(c, a)) / WL_NS_PER_S;
    double left_s = (double)(knot_ns(c, b) - t) / WL_NS_PER_S, step_s = since_s + left_s;
    double straight = c->s->value[a] + slope * since_s;
    double first = slope_before_w(c, a), then = after < 0 ? NAN : slope_w(c, b, after);
    if (isnan(first) || isnan(then)) return straight;
    if (fabs(first - then) < 0.1 * fmax(first, then)) return straight;
    double change_s =
        (slope - then) / (first - then) * step_s; /* energy is conserved: `first` until then, `then` from there */
    if (!(change_s >= 0 && change_s <= step_s)) return straight;
    return since_s <= change_s ? c->s->value[a] + first * since_s : c->s->value[b] - then * left_s;
}

/* Beyond the outermost knot: extrapolated with the neighbouring slope. As far as a slow counter was read, by at most
 * one step, since a whole further step would have been seen; for other counters the distance of two readings sets no
 * such limit. Never below an earlier reading. NAN with fewer than two knots, or with a reset between them. */
static double beyond(const struct wl_counter *c, ptrdiff_t a, ptrdiff_t b, ptrdiff_t from, int64_t t)
{
    if (a < 0 || b < 0) return NAN;
    ptrdiff_t i = (ptrdiff_t)wl_time_series_lower_bound(c->s, t + 1);
    ptrdiff_t before = wl_time_series_prev(c->s, i - 1), beside = from == b ? before : wl_time_series_next(c->s, i);
    int64_t knot = knot_ns(c, from), read_until = beside >= 0 ? c->s->t_ns[beside] : knot;
    if (from == b ? read_until < knot : read_until > knot) read_until = knot;
    double reach = c->s->value[b] - c->s->value[a], slope = slope_w(c, a, b);
    double read = slope * (double)(read_until - knot) / WL_NS_PER_S;
    double unread = slope * (double)(t - read_until) / WL_NS_PER_S;
    double value = c->s->value[from] + (c->slow ? fmax(-reach, fmin(reach, read)) : read) + unread;
    return before >= 0 && value < c->s->value[before] ? c->s->value[before] : value;
}

/* Bounds of the counter at t from the power's range: since knot a, and until knot b, the device drew at least power.lo
 * and at most power.hi. Never outside the values of the two knots. */
static void bound(const struct wl_counter *c, ptrdiff_t a, ptrdiff_t b, int64_t t, struct wl_counter_value *out)
{
    const double *value = c->s->value;
    out->lo = -HUGE_VAL;
    out->hi = HUGE_VAL;
    if (a >= 0) {
        double since_s = (double)(t - c->s->t_ns[a]) / WL_NS_PER_S, late_s = (double)max_latency_ns(c, a) / WL_NS_PER_S;
        out->lo = value[a] + fmax(0, c->power.lo * since_s);
        out->hi = value[a] + c->power.hi * (since_s + late_s);
    }
    if (b >= 0) {
        double left_s = (double)(c->s->t_ns[b] - t) / WL_NS_PER_S, late_s = (double)max_latency_ns(c, b) / WL_NS_PER_S;
        out->lo = fmax(out->lo, value[b] - c->power.hi * left_s);
        double sure_s = left_s - late_s; /* below 0: the knot may have been reached before t */
        out->hi = fmin(out->hi, value[b] - sure_s * (sure_s > 0 ? c->power.lo : c->power.hi));
    }
    out->lo = fmin(out->lo, out->value);
    out->hi = fmax(out->hi, out->value);
}

struct wl_counter_value wl_counter_at(const struct wl_counter *c, int64_t t)
{
    ptrdiff_t next = (ptrdiff_t)wl_time_series_lower_bound(c->s, t + 1);
    ptrdiff_t a = knot_prev(c, next - 1), b = knot_next(c, next);
    if (b >= 0 && knot_ns(c, b) <= t) { /* reached before t, read after it */
        a = b;
        b = knot_next(c, b + 1);
    }
    struct wl_counter_value out;
    if (a >= 0 && b >= 0)
        out.value = between(c, a, b, t);
    else if (a < 0)
        out.value = beyond(c, b, knot_next(c, b < 0 ? b : b + 1), b, t);
    else
        out.value = beyond(c, knot_prev(c, a - 1), a, a, t);
    bound(c, a, b, t, &out);
    return out;
}

struct wl_range wl_counter_slope_range(const struct wl_counter *c, int64_t t0, int64_t t1)
{
    struct wl_range r = { HUGE_VAL, 0 };
    ptrdiff_t a = knot_next(c, (ptrdiff_t)wl_time_series_lower_bound(c->s, t0 - WL_COUNTER_AROUND_NS));
    for (ptrdiff_t b; a >= 0 && (b = knot_next(c, a + 1)) >= 0 && c->s->t_ns[a] <= t1 + WL_COUNTER_AROUND_NS; a = b) {
        double w = slope_w(c, a, b);
        r.lo = fmin(r.lo, fmax(0, w));
        r.hi = fmax(r.hi, w);
    }
    if (r.lo > r.hi) r.lo = 0;
    return r;
}

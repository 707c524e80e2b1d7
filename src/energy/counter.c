/* Energy as the difference of a counter. docs/metrics.md has the formulas, docs/adr/042 the reasons. */
#include "energy/internal.h"

#include <math.h>

/* How far around a window the counter's update period and the power are looked at. */
static const int64_t AROUND_NS = WL_NS_PER_S;

/* An observed update period that differs from the known one by more than this share replaces it. */
static const double PERIOD_TOLERANCE = 0.2;

/* A counter as seen through its readings, interpolated between knots. The knots of a counter that repeats its value are
 * the readings at which it changed; else all readings. A knot's value was reached at most max_latency_ns before the
 * reading. */
struct counter {
    const struct wl_time_series *s, *drawn; /* drawn: power of the same device, NULL: none */
    bool slow;                              /* repeats its value */
    int64_t update_ns;                      /* its update period; INT64_MAX: not known */
    int64_t bridged_ns;                     /* the longest stretch between readings that is not a hole */
    struct wl_range power;                  /* range of the device's power around the window, W */
};

static bool is_knot(const struct counter *c, ptrdiff_t i)
{
    if (!c->slow) return true;
    ptrdiff_t before = wl_time_series_prev(c->s, i - 1);
    return before >= 0 && c->s->value[before] != c->s->value[i];
}

static ptrdiff_t knot_prev(const struct counter *c, ptrdiff_t i)
{
    for (i = wl_time_series_prev(c->s, i); i >= 0 && !is_knot(c, i); i = wl_time_series_prev(c->s, i - 1)) continue;
    return i;
}

static ptrdiff_t knot_next(const struct counter *c, ptrdiff_t i)
{
    if (i < 0) return -1;
    for (i = wl_time_series_next(c->s, i); i >= 0 && !is_knot(c, i); i = wl_time_series_next(c->s, i + 1)) continue;
    return i;
}

/* The maximum time from when knot i was reached to its reading. */
static int64_t max_latency_ns(const struct counter *c, ptrdiff_t i)
{
    ptrdiff_t before = wl_time_series_prev(c->s, i - 1);
    int64_t spacing = before >= 0 ? c->s->t_ns[i] - c->s->t_ns[before] : 0;
    int64_t longest =
        c->slow ? spacing : c->bridged_ns; /* a counter that changes at each reading does so after a hole, too */
    if (longest > c->update_ns) longest = c->update_ns;
    return spacing < longest ? spacing : longest;
}

/* When knot i was reached: the middle of the possible times; for a counter that never repeats, the reading's time. */
static int64_t middle_ns(const struct counter *c, ptrdiff_t i)
{
    return c->s->t_ns[i] - (c->slow ? max_latency_ns(c, i) / 2 : 0);
}

static bool is_sharp(const struct counter *c, ptrdiff_t i)
{
    return i >= 0 && max_latency_ns(c, i) <= c->update_ns / 4;
}

/* A knot that was read late is a whole number of updates away from a nearby one that was not. */
static int64_t knot_ns(const struct counter *c, ptrdiff_t i)
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
static double slope_w(const struct counter *c, ptrdiff_t a, ptrdiff_t b)
{
    double dt_s = (double)(knot_ns(c, b) - knot_ns(c, a)) / WL_NS_PER_S, joules = c->s->value[b] - c->s->value[a];
    if (joules < 0) return NAN;
    return dt_s > 0 ? joules / dt_s : 0;
}

/* Power up to knot a: since the previous knot or, if there is none, the mean of the power readings until then. NAN: not
 * known. */
static double slope_before_w(const struct counter *c, ptrdiff_t a)
{
    ptrdiff_t before = knot_prev(c, a - 1);
    int64_t t = c->s->t_ns[a];
    if (before >= 0) return slope_w(c, before, a);
    return c->drawn ? wl_window_mean(c->drawn, t - AROUND_NS, t, AROUND_NS) : NAN;
}

/* The counter at time t between knots a and b. If a single change from the power before a to the power after b explains
 * the step, it follows that; else the straight line. */
static double between(const struct counter *c, ptrdiff_t a, ptrdiff_t b, int64_t t)
{
    ptrdiff_t after = knot_next(c, b + 1);
    double pace = slope_w(c, a, b), since_s = (double)(t - knot_ns(c, a)) / WL_NS_PER_S;
    double left_s = (double)(knot_ns(c, b) - t) / WL_NS_PER_S, step_s = since_s + left_s;
    double straight = c->s->value[a] + pace * since_s;
    double first = slope_before_w(c, a), then = after < 0 ? NAN : slope_w(c, b, after);
    if (isnan(first) || isnan(then)) return straight;
    if (fabs(first - then) < 0.1 * fmax(first, then)) return straight;
    double change_s =
        (pace - then) / (first - then) * step_s; /* energy is conserved: `first` until then, `then` from there */
    if (!(change_s >= 0 && change_s <= step_s)) return straight;
    return since_s <= change_s ? c->s->value[a] + first * since_s : c->s->value[b] - then * left_s;
}

/* Beyond the outermost knot: extrapolated with the neighbouring slope. As far as a slow counter was read, by at most
 * one step, since a whole further step would have been seen; for other counters the distance of two readings sets no
 * such limit. Never below an earlier reading. NAN with fewer than two knots, or with a reset between them. */
static double beyond(const struct counter *c, ptrdiff_t a, ptrdiff_t b, ptrdiff_t from, int64_t t)
{
    if (a < 0 || b < 0) return NAN;
    ptrdiff_t i = (ptrdiff_t)wl_time_series_lower_bound(c->s, t + 1);
    ptrdiff_t before = wl_time_series_prev(c->s, i - 1), beside = from == b ? before : wl_time_series_next(c->s, i);
    int64_t knot = knot_ns(c, from), read_until = beside >= 0 ? c->s->t_ns[beside] : knot;
    if (from == b ? read_until < knot : read_until > knot) read_until = knot;
    double reach = c->s->value[b] - c->s->value[a], pace = slope_w(c, a, b);
    double read = pace * (double)(read_until - knot) / WL_NS_PER_S;
    double unread = pace * (double)(t - read_until) / WL_NS_PER_S;
    double value = c->s->value[from] + (c->slow ? fmax(-reach, fmin(reach, read)) : read) + unread;
    return before >= 0 && value < c->s->value[before] ? c->s->value[before] : value;
}

struct bounded {
    double value, lo, hi;
};

/* Bounds of the counter at t from the power's range: since knot a, and until knot b, the device drew at least power.lo
 * and at most power.hi. Never outside the values of the two knots. */
static void bound(const struct counter *c, ptrdiff_t a, ptrdiff_t b, int64_t t, struct bounded *out)
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

/* The counter at t, with bounds. */
static struct bounded counter_at(const struct counter *c, int64_t t)
{
    ptrdiff_t next = (ptrdiff_t)wl_time_series_lower_bound(c->s, t + 1);
    ptrdiff_t a = knot_prev(c, next - 1), b = knot_next(c, next);
    if (b >= 0 && knot_ns(c, b) <= t) { /* reached before t, read after it */
        a = b;
        b = knot_next(c, b + 1);
    }
    struct bounded out;
    if (a >= 0 && b >= 0)
        out.value = between(c, a, b, t);
    else if (a < 0)
        out.value = beyond(c, b, knot_next(c, b < 0 ? b : b + 1), b, t);
    else
        out.value = beyond(c, knot_prev(c, a - 1), a, a, t);
    bound(c, a, b, t, &out);
    return out;
}

/* Where an edge t of the window lies among the readings. KNOWN: between two readings at most max_gap apart, or at most
 * max_gap from the outermost one. IN_HOLE: between two that are further apart. OPEN_END: readings on one side only. */
enum edge_position { KNOWN, IN_HOLE, OPEN_END };

static enum edge_position position_of(const struct wl_time_series *s, int64_t t, int64_t max_gap)
{
    ptrdiff_t next = (ptrdiff_t)wl_time_series_lower_bound(s, t + 1);
    ptrdiff_t a = wl_time_series_prev(s, next - 1), b = wl_time_series_next(s, next);
    if (a >= 0 && b >= 0) return s->t_ns[b] - s->t_ns[a] <= max_gap || s->t_ns[a] == t ? KNOWN : IN_HOLE;
    if (a >= 0) return t - s->t_ns[a] <= max_gap ? KNOWN : OPEN_END;
    return b >= 0 && s->t_ns[b] - t <= max_gap ? KNOWN : OPEN_END;
}

/* Does the counter rise or fall anywhere from the reading before t0 to the reading after t1? */
static void inspect(const struct wl_time_series *s, int64_t t0, int64_t t1, bool *moves, bool *falls)
{
    *moves = *falls = false;
    ptrdiff_t start = wl_time_series_prev(s, (ptrdiff_t)wl_time_series_lower_bound(s, t0) - 1);
    ptrdiff_t i = wl_time_series_next(s, start < 0 ? 0 : start);
    while (i >= 0 && s->t_ns[i] <= t1) {
        ptrdiff_t next = wl_time_series_next(s, i + 1);
        if (next < 0) return;
        *moves |= s->value[next] > s->value[i];
        *falls |= s->value[next] < s->value[i];
        i = next;
    }
}

/* Finds whether the counter repeats its value, and its update period: the mean time between changes, or a shorter one
 * between two changes that are each known to within a quarter of it. */
static void estimate_update_period(struct counter *c, int64_t t0, int64_t t1, double known_update_s)
{
    const struct wl_time_series *s = c->s;
    int64_t first = 0, last = 0, sharp = INT64_MAX, last_spacing = 0;
    size_t moves = 0;
    c->update_ns = INT64_MAX;
    ptrdiff_t i = wl_time_series_next(s, (ptrdiff_t)wl_time_series_lower_bound(s, t0 - AROUND_NS));
    while (i >= 0 && s->t_ns[i] <= t1 + AROUND_NS) {
        ptrdiff_t next = wl_time_series_next(s, i + 1);
        if (next < 0) break;
        int64_t spacing = s->t_ns[next] - s->t_ns[i], t = s->t_ns[next];
        if (s->value[next] != s->value[i]) {
            int64_t gap = t - last;
            if (moves && gap < sharp && spacing <= gap / 4 && last_spacing <= gap / 4) sharp = gap;
            if (moves++ == 0) first = t;
            last = t;
            last_spacing = spacing;
        } else {
            c->slow = true;
        }
        i = next;
    }
    if (c->slow && moves > 1) c->update_ns = (last - first) / (int64_t)(moves - 1);
    if (sharp < c->update_ns) c->update_ns = sharp;
    bool seen_other = sharp < INT64_MAX && fabs((double)sharp / WL_NS_PER_S / known_update_s - 1) > PERIOD_TOLERANCE;
    if (isfinite(known_update_s) && !seen_other) c->update_ns = (int64_t)(known_update_s * WL_NS_PER_S);
}

/* The range of the slopes around the window. */
static struct wl_range slope_range(const struct counter *c, int64_t t0, int64_t t1)
{
    struct wl_range r = { HUGE_VAL, 0 };
    ptrdiff_t a = knot_next(c, (ptrdiff_t)wl_time_series_lower_bound(c->s, t0 - AROUND_NS));
    for (ptrdiff_t b; a >= 0 && (b = knot_next(c, a + 1)) >= 0 && c->s->t_ns[a] <= t1 + AROUND_NS; a = b) {
        double w = slope_w(c, a, b);
        r.lo = fmin(r.lo, fmax(0, w));
        r.hi = fmax(r.hi, w);
    }
    if (r.lo > r.hi) r.lo = 0;
    return r;
}

/* Readings are means and miss extremes: the true range of the power is assumed to be wider by half of theirs. */
static void widen(struct wl_range *power)
{
    double more = 0.5 * (power->hi - power->lo) + 0.02 * power->hi;
    power->lo = fmax(0, power->lo - more);
    power->hi += more;
}

static size_t good_between(const struct wl_time_series *s, int64_t t0, int64_t t1)
{
    size_t n = 0;
    for (size_t i = wl_time_series_lower_bound(s, t0); i < s->n && s->t_ns[i] <= t1; i++)
        n += isfinite(s->value[i]) ? 1 : 0;
    return n;
}

/* Time of the window outside all readings. */
static int64_t outside_ns(const struct wl_time_series *s, int64_t t0, int64_t t1)
{
    ptrdiff_t first = wl_time_series_next(s, 0), last = wl_time_series_prev(s, (ptrdiff_t)s->n - 1);
    int64_t before = s->t_ns[first] > t0 ? s->t_ns[first] - t0 : 0;
    int64_t after = s->t_ns[last] < t1 ? t1 - s->t_ns[last] : 0;
    return before + after;
}

/* A window: its edges, their positions, and the part of it between the counter's readings. */
struct window {
    int64_t t0, t1;
    enum edge_position at_start, at_end;
    int64_t from, to; /* that part; from >= to: empty */
};

static bool has_holes(const struct window *w) { return w->at_start != KNOWN || w->at_end != KNOWN; }

static struct window window_of(const struct wl_time_series *s, int64_t t0, int64_t t1, int64_t max_gap)
{
    struct window w = { t0, t1, position_of(s, t0, max_gap), position_of(s, t1, max_gap), t0, t1 };
    ptrdiff_t first = wl_time_series_next(s, (ptrdiff_t)wl_time_series_lower_bound(s, t0));
    ptrdiff_t last = wl_time_series_prev(s, (ptrdiff_t)wl_time_series_lower_bound(s, t1 + 1) - 1);
    if (w.at_start != KNOWN) w.from = first < 0 ? t1 : s->t_ns[first];
    if (w.at_end != KNOWN) w.to = last < 0 ? t0 : s->t_ns[last];
    return w;
}

/* The range of the power at the edges: with a hole, whatever is plausible for the run; else the range around the
 * window, widened. */
static void find_power_range(struct counter *c, const struct window *w, const struct wl_sensor_response *g)
{
    bool holes = has_holes(w);
    int64_t from = holes ? c->s->t_ns[0] : w->t0, to = holes ? c->s->t_ns[c->s->n - 1] : w->t1;
    c->power = (struct wl_range) { 1, 0 };
    if (c->drawn) c->power = wl_time_series_range(c->drawn, from - AROUND_NS, to + AROUND_NS);
    bool drawn = c->power.lo <= c->power.hi;
    if (!drawn) c->power = slope_range(c, from, to);
    if (holes && drawn)
        c->power = wl_time_series_plausible_w(c->drawn, g);
    else
        widen(&c->power);
}

/* Beyond the readings, away_s seconds from where the counter was `from`: extrapolated with the mean power. */
static struct bounded at_open_end(const struct counter *c, const struct bounded *from, double away_s, double mean_w)
{
    double lo = fmin(c->power.lo * away_s, c->power.hi * away_s), hi = fmax(c->power.lo * away_s, c->power.hi * away_s);
    double value = from->value + mean_w * away_s;
    return (struct bounded) { value, fmin(from->lo + lo, value), fmax(from->hi + hi, value) };
}

/* The energy of the whole window. With holes its interval is cut to what the power's range gives for the window. */
static void set_energy(struct wl_energy *e, const struct counter *c, const struct window *w, struct bounded from,
                       struct bounded to)
{
    double before_s = (double)(w->t0 - w->from) / WL_NS_PER_S, after_s = (double)(w->t1 - w->to) / WL_NS_PER_S;
    double all_s = (double)(w->t1 - w->t0) / WL_NS_PER_S;
    if (w->at_start == IN_HOLE) from = counter_at(c, w->t0);
    if (w->at_start == OPEN_END) from = at_open_end(c, &from, before_s, e->mean_w);
    if (w->at_end == IN_HOLE) to = counter_at(c, w->t1);
    if (w->at_end == OPEN_END) to = at_open_end(c, &to, after_s, e->mean_w);
    e->energy_j = to.value - from.value;
    e->lo_j = fmax(0, to.lo - from.hi);
    e->hi_j = to.hi - from.lo;
    if (!has_holes(w)) return;
    e->lo_j = fmin(e->energy_j, fmax(e->lo_j, c->power.lo * all_s));
    e->hi_j = fmax(e->energy_j, fmin(e->hi_j, c->power.hi * all_s));
}

/* For the part between readings. */
static void set_covered(struct wl_energy *e, const struct window *w, double joules)
{
    if (w->to <= w->from) return;
    e->covered_j = joules;
    e->mean_w = joules / ((double)(w->to - w->from) / WL_NS_PER_S);
    e->coverage = (double)(w->to - w->from) / (double)(w->t1 - w->t0);
}

/* The energy of a hole between two readings is measured; only its share inside the window is uncertain. So energy is
 * missing if that uncertainty exceeds the energy itself, or if most of the window is beyond the last reading. */
static const char *why_missing(const struct wl_energy *e, const struct window *w)
{
    int64_t open_ns = (w->at_start == OPEN_END ? w->from - w->t0 : 0) + (w->at_end == OPEN_END ? w->t1 - w->to : 0);
    if (wl_energy_mostly_holes(open_ns, w->t1 - w->t0))
        return "readings of the counter are missing for more than half of the window";
    if (!(e->energy_j >= 0) || e->covered_j < 0) return "the window is too short for the counter's steps";
    if (has_holes(w) && e->hi_j - e->lo_j > e->energy_j)
        return "the counter was not read near the window's edges: the uncertainty exceeds the energy itself";
    return NULL;
}

struct wl_energy wl_energy_of_counter(const struct wl_time_series *s, const struct wl_time_series *power, int64_t t0_ns,
                                      int64_t t1_ns, int64_t max_gap_ns, const struct wl_sensor_response *g)
{
    if (t1_ns <= t0_ns) return wl_energy_none("the window is empty");
    bool moves, falls;
    inspect(s, t0_ns, t1_ns, &moves, &falls);
    if (falls) return wl_energy_none("the counter was reset");
    int64_t bridged_ns = wl_time_series_max_gap_ns(s, max_gap_ns);
    struct window w = window_of(s, t0_ns, t1_ns, bridged_ns);
    bool between =
        w.at_start == IN_HOLE && w.at_end == IN_HOLE; /* between two readings, both possibly outside the window */
    if (w.to <= w.from && !between) return wl_energy_none("no reading of the counter in the window or near it");
    if (!moves) return wl_energy_none("the counter did not move in the window");

    struct counter c = { .s = s, .drawn = power, .bridged_ns = bridged_ns };
    estimate_update_period(&c, t0_ns, t1_ns, g->update_s);
    find_power_range(&c, &w, g);
    struct bounded from = counter_at(&c, w.from), to = counter_at(&c, w.to);
    struct wl_energy e = wl_energy_none(NULL);
    set_covered(&e, &w, to.value - from.value);
    set_energy(&e, &c, &w, from, to);
    e.held_s = (double)outside_ns(s, w.from, w.to) / WL_NS_PER_S;
    e.readings = good_between(s, t0_ns, t1_ns);
    e.why = why_missing(&e, &w);
    if (e.why) e.energy_j = e.lo_j = e.hi_j = NAN;
    if (e.covered_j < 0) e.covered_j = e.mean_w = NAN;
    if (e.coverage == 0) e.mean_w = e.energy_j / ((double)(t1_ns - t0_ns) / WL_NS_PER_S);
    return e;
}

struct wl_energy wl_energy_combined(const struct wl_time_series *s, const struct wl_time_series *power, int64_t t0_ns,
                                    int64_t t1_ns, int64_t max_gap_ns, const struct wl_sensor_response *g,
                                    const struct wl_sensor_response *g_power)
{
    struct window w = window_of(s, t0_ns, t1_ns, wl_time_series_max_gap_ns(s, max_gap_ns));
    if (w.to <= w.from) return wl_energy_none("no reading of the counter in the window or near it");
    struct wl_energy sum = wl_energy_of_counter(s, power, w.from, w.to, max_gap_ns, g);
    const int64_t ends[2][2] = { { t0_ns, w.from }, { w.to, t1_ns } };
    double covered_s = (double)(w.to - w.from) / WL_NS_PER_S;
    for (size_t i = 0; i < WL_COUNT(ends); i++) {
        if (ends[i][1] <= ends[i][0]) continue;
        struct wl_energy part = wl_energy_of_power(power, ends[i][0], ends[i][1], max_gap_ns, g_power);
        double part_s = (double)(ends[i][1] - ends[i][0]) / WL_NS_PER_S;
        if (isnan(part.energy_j)) return part;
        sum.energy_j += part.energy_j;
        sum.covered_j += part.covered_j;
        sum.lo_j += part.lo_j;
        sum.hi_j += part.hi_j;
        sum.held_s += part.held_s;
        covered_s += part.coverage * part_s;
    }
    sum.coverage = covered_s / ((double)(t1_ns - t0_ns) / WL_NS_PER_S);
    sum.mean_w = sum.covered_j / covered_s;
    return sum;
}

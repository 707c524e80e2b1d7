/* Energy as the difference of a counter. docs/metrics.md has the formulas, docs/adr/042 the reasons. */
#include "energy/counter_interpolation.h"

#include <math.h>

/* An observed update period that differs from the known one by more than this share replaces it. */
static const double PERIOD_TOLERANCE = 0.2;

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
static void estimate_update_period(struct wl_counter *c, int64_t t0, int64_t t1, double known_update_s)
{
    const struct wl_time_series *s = c->s;
    int64_t first = 0, last = 0, sharp = INT64_MAX, last_spacing = 0;
    size_t moves = 0;
    c->update_ns = INT64_MAX;
    ptrdiff_t i = wl_time_series_next(s, (ptrdiff_t)wl_time_series_lower_bound(s, t0 - WL_COUNTER_AROUND_NS));
    while (i >= 0 && s->t_ns[i] <= t1 + WL_COUNTER_AROUND_NS) {
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
static void find_power_range(struct wl_counter *c, const struct window *w, const struct wl_sensor_response *g)
{
    bool holes = has_holes(w);
    int64_t from = holes ? c->s->t_ns[0] : w->t0, to = holes ? c->s->t_ns[c->s->n - 1] : w->t1;
    c->power = (struct wl_range) { 1, 0 };
    if (c->drawn) c->power = wl_time_series_range(c->drawn, from - WL_COUNTER_AROUND_NS, to + WL_COUNTER_AROUND_NS);
    bool drawn = c->power.lo <= c->power.hi;
    if (!drawn) c->power = wl_counter_slope_range(c, from, to);
    if (holes && drawn)
        c->power = wl_time_series_plausible_w(c->drawn, g);
    else
        widen(&c->power);
}

/* Beyond the readings, away_s seconds from where the counter was `from`: extrapolated with the mean power. */
static struct wl_counter_value at_open_end(const struct wl_counter *c, const struct wl_counter_value *from,
                                           double away_s, double mean_w)
{
    double lo = fmin(c->power.lo * away_s, c->power.hi * away_s), hi = fmax(c->power.lo * away_s, c->power.hi * away_s);
    double value = from->value + mean_w * away_s;
    return (struct wl_counter_value) { value, fmin(from->lo + lo, value), fmax(from->hi + hi, value) };
}

/* The energy of the whole window. With holes its interval is cut to what the power's range gives for the window. */
static void set_energy(struct wl_energy *e, const struct wl_counter *c, const struct window *w,
                       struct wl_counter_value from, struct wl_counter_value to)
{
    double before_s = (double)(w->t0 - w->from) / WL_NS_PER_S, after_s = (double)(w->t1 - w->to) / WL_NS_PER_S;
    double all_s = (double)(w->t1 - w->t0) / WL_NS_PER_S;
    if (w->at_start == IN_HOLE) from = wl_counter_at(c, w->t0);
    if (w->at_start == OPEN_END) from = at_open_end(c, &from, before_s, e->mean_w);
    if (w->at_end == IN_HOLE) to = wl_counter_at(c, w->t1);
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

    struct wl_counter c = { .s = s, .drawn = power, .bridged_ns = bridged_ns };
    estimate_update_period(&c, t0_ns, t1_ns, g->update_s);
    find_power_range(&c, &w, g);
    struct wl_counter_value from = wl_counter_at(&c, w.from), to = wl_counter_at(&c, w.to);
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

/* Energy as the integral of power. docs/metrics.md has the interval's formulas, docs/adr/042 the reasons. */
#include "energy/internal.h"

#include <math.h>
#include <stdlib.h>

/* Sums over a window. Times are exact, so that full coverage compares equal to 1. */
struct integral {
    double value_s; /* integral of the value, unit x s */
    int64_t covered_ns, held_ns;
    double holes_value_s; /* the same over holes, on the line between the readings around each */
    int64_t holes_ns;
    /* for the interval */
    size_t readings, updates; /* good readings inside the window; those at which the value changed */
    double steps2;            /* sum of the squared changes */
    double mean, m2;          /* of the readings (Welford 1962) */
    double gaps_s2;           /* sum of the squared bridged gaps, s^2 */
};

/* The integral of the line from (ta, va) to (tb, vb), cut to [t0, t1]; *span_ns: its length after the cut. */
static double line_s(int64_t ta, double va, int64_t tb, double vb, int64_t t0, int64_t t1, int64_t *span_ns)
{
    int64_t lo = ta > t0 ? ta : t0, hi = tb < t1 ? tb : t1;
    *span_ns = hi > lo ? hi - lo : 0;
    if (hi <= lo) return 0;
    double slope = (vb - va) / (double)(tb - ta);
    double at_lo = va + slope * (double)(lo - ta), at_hi = va + slope * (double)(hi - ta);
    return 0.5 * (at_lo + at_hi) * ((double)(hi - lo) / WL_NS_PER_S);
}

static void add_line(struct integral *sum, int64_t ta, double va, int64_t tb, double vb, int64_t t0, int64_t t1)
{
    int64_t span_ns;
    sum->value_s += line_s(ta, va, tb, vb, t0, t1, &span_ns);
    sum->covered_ns += span_ns;
}

static void add_hole(struct integral *sum, int64_t ta, double va, int64_t tb, double vb, int64_t t0, int64_t t1)
{
    int64_t span_ns;
    sum->holes_value_s += line_s(ta, va, tb, vb, t0, t1, &span_ns);
    sum->holes_ns += span_ns;
}

/* Beyond the first or last reading (t, v): held for `hold`; the rest of the window is a hole. */
static void add_end(struct integral *sum, int64_t t, double v, int64_t hold, bool first, int64_t t0, int64_t t1)
{
    int64_t before = sum->covered_ns, far = first ? t - hold : t + hold;
    add_line(sum, first ? far : t, v, first ? t : far, v, t0, t1);
    sum->held_ns += sum->covered_ns - before;
    if (first ? t0 < far : far < t1) add_hole(sum, first ? t0 : far, v, first ? far : t1, v, t0, t1);
}

static void count_reading(struct integral *sum, double v)
{
    double away = v - sum->mean;
    sum->mean += away / (double)++sum->readings;
    sum->m2 += away * (v - sum->mean);
}

static void count_step(struct integral *sum, double step, int64_t dt, int64_t usual)
{
    if (step != 0) sum->updates++;
    sum->steps2 += step * step;
    double dt_s = (double)dt / WL_NS_PER_S;
    if (dt > usual + usual / 2) sum->gaps_s2 += dt_s * dt_s;
}

static struct integral integrate(const struct wl_time_series *s, int64_t t0, int64_t t1, int64_t max_gap, int64_t hold)
{
    struct integral sum = { 0 };
    int64_t usual = max_gap / 3; /* spacing of readings */
    ptrdiff_t left = wl_time_series_prev(s, (ptrdiff_t)wl_time_series_lower_bound(s, t0) - 1);
    ptrdiff_t i = left >= 0 ? left : wl_time_series_next(s, 0);
    if (i < 0) return sum;
    if (left < 0) add_end(&sum, s->t_ns[i], s->value[i], hold, true, t0, t1);
    while (i >= 0 && s->t_ns[i] <= t1) {
        if (s->t_ns[i] >= t0) count_reading(&sum, s->value[i]);
        ptrdiff_t next = wl_time_series_next(s, i + 1);
        if (next < 0) {
            add_end(&sum, s->t_ns[i], s->value[i], hold, false, t0, t1);
        } else if (s->t_ns[next] - s->t_ns[i] <= max_gap) {
            add_line(&sum, s->t_ns[i], s->value[i], s->t_ns[next], s->value[next], t0, t1);
            count_step(&sum, s->value[next] - s->value[i], s->t_ns[next] - s->t_ns[i], usual);
        } else {
            add_hole(&sum, s->t_ns[i], s->value[i], s->t_ns[next], s->value[next], t0, t1);
        }
        i = next;
    }
    return sum;
}

/* ---- The interval ---- */

/* 97.5 % point of Student's t with n degrees of freedom, to 1 % from n = 3 (Cornish-Fisher expansion, Abramowitz and
 * Stegun 26.7.5, shortened). */
static double t_975(double n) { return 1.96 + 2.37 / n + 2.82 / (n * n) + 2.56 / (n * n * n); }

/* Uncertainty of an edge, J: that of its time in the readings, times the power's range there. With a known delay it is
 * half an update and half the averaging window; else all of both. */
static double edge_j(const struct wl_time_series *s, int64_t t, double update_s, const struct wl_sensor_response *g)
{
    double window_s = isfinite(g->window_s) ? g->window_s : 0;
    double off_s = isfinite(g->delay_s) ? (update_s + window_s) / 2 : update_s + window_s;
    int64_t around = (int64_t)(2 * (update_s + window_s) * WL_NS_PER_S);
    struct wl_range r = wl_time_series_range(s, t - around, t + around);
    return r.hi > r.lo ? off_s * (r.hi - r.lo) : 0;
}

static int by_size(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Variance of the noise of a reading, W^2, from the median change between updates: most updates change by noise alone,
 * and for normal noise the median is .954 of its standard deviation. A few hundred changes, evenly picked, suffice. */
static double noise_w2(const struct wl_time_series *s, int64_t t0, int64_t t1, size_t updates)
{
    enum { MAX_CHANGES = 512 };
    static const double MEDIAN_CHANGE = 0.954;
    double changes[MAX_CHANGES];
    size_t n = 0, seen = 0, stride = updates / MAX_CHANGES + 1;
    ptrdiff_t i = wl_time_series_next(s, (ptrdiff_t)wl_time_series_lower_bound(s, t0));
    for (ptrdiff_t next; i >= 0 && (next = wl_time_series_next(s, i + 1)) >= 0 && s->t_ns[next] <= t1; i = next) {
        double change = fabs(s->value[next] - s->value[i]);
        if (change > 0 && seen++ % stride == 0 && n < MAX_CHANGES) changes[n++] = change;
    }
    if (n == 0) return 0;
    qsort(changes, n, sizeof *changes, by_size);
    double sd = changes[n / 2] / MEDIAN_CHANGE;
    return sd * sd;
}

/* How much uneven weights inflate the variance of a mean. With r readings per update some updates have one more reading
 * than others, which gives 1 + (variance of a weight) / r^2. */
static double weight_inflation(double readings, double updates)
{
    double r = fmax(1, readings / updates), part = r - floor(r);
    return 1 + part * (1 - part) / (r * r);
}

/* Half of the 95 % interval, J. A reading is the mean of a part of the time between updates; the variance of the unseen
 * rest is taken from the changes between updates (von Neumann), so that slow drift, which readings follow, does not
 * count. Noise counts in full, whatever the averaging window. Gaps, held ends and edges are added. */
static double interval_half_width_j(const struct integral *sum, const struct wl_time_series *s, int64_t t0, int64_t t1,
                                    const struct wl_sensor_response *g)
{
    double length_s = (double)(t1 - t0) / WL_NS_PER_S, n = (double)sum->updates;
    double update_s = n > 0 ? length_s / n : length_s;
    if (isfinite(g->update_s) && (n == 0 || g->update_s > update_s)) update_s = fmin(g->update_s, length_s);
    double unseen = isnan(g->window_s) ? 1 : fmax(0, 1 - g->window_s / update_s);
    double reading_w2 = n > 0 ? sum->steps2 / 2 / n : 0, noise = fmin(reading_w2, noise_w2(s, t0, t1, sum->updates));
    double variance = (noise + unseen * (reading_w2 - noise)) / n * weight_inflation((double)sum->readings, n);
    double sampling_j = n > 0 ? t_975(fmax(1, n - 1)) * length_s * sqrt(variance) : 0;
    double sd = sum->readings > 1 ? sqrt(sum->m2 / (double)(sum->readings - 1)) : 0;
    double gaps_j = 1.96 * sd * sqrt(sum->gaps_s2);
    struct wl_range r = wl_time_series_range(s, t0, t1);
    double held_j = r.hi > r.lo ? (double)sum->held_ns / WL_NS_PER_S * (r.hi - r.lo) : 0;
    double first_j = edge_j(s, t0, update_s, g), last_j = edge_j(s, t1, update_s, g);
    return sqrt(sampling_j * sampling_j + gaps_j * gaps_j + held_j * held_j + first_j * first_j + last_j * last_j);
}

/* Uncertainty of the holes below and above the line through them: any plausible power, in all holes at once, since the
 * load itself may be what stops the readings. */
static struct wl_energy_margin unseen_in_holes(const struct integral *sum, const struct wl_time_series *s,
                                               const struct wl_sensor_response *g)
{
    if (sum->holes_ns == 0) return (struct wl_energy_margin) { 0, 0 };
    struct wl_range power = wl_time_series_plausible_w(s, g);
    double holes_s = (double)sum->holes_ns / WL_NS_PER_S;
    return (struct wl_energy_margin) { sum->holes_value_s - power.lo * holes_s,
                                       power.hi * holes_s - sum->holes_value_s };
}

static void set_energy(struct wl_energy *e, const struct integral *sum, const struct wl_time_series *s, int64_t t0,
                       int64_t t1, const struct wl_sensor_response *g)
{
    double half_j = interval_half_width_j(sum, s, t0, t1, g);
    struct wl_energy_margin aliasing = wl_aliasing_margin(s, t0, t1, g), in_holes = unseen_in_holes(sum, s, g);
    e->energy_j = sum->value_s + sum->holes_value_s;
    e->lo_j = fmax(0, e->energy_j - hypot(hypot(half_j, aliasing.below_j), in_holes.below_j));
    e->hi_j = e->energy_j + hypot(hypot(half_j, aliasing.above_j), in_holes.above_j);
}

struct wl_energy wl_energy_of_power(const struct wl_time_series *s, int64_t t0_ns, int64_t t1_ns, int64_t max_gap_ns,
                                    const struct wl_sensor_response *g)
{
    if (t1_ns <= t0_ns) return wl_energy_none("the window is empty");
    int64_t gap = wl_time_series_max_gap_ns(s, max_gap_ns);
    int64_t delay =
        isfinite(g->delay_s) ? (int64_t)(g->delay_s * WL_NS_PER_S) : 0; /* the readings from t0 + delay on show t0 */
    int64_t t0 = t0_ns + delay, t1 = t1_ns + delay;
    struct integral sum = integrate(s, t0, t1, gap, gap + delay);
    if (sum.covered_ns == 0) return wl_energy_none("no reading of power in the window or near it");
    struct wl_energy e = {
        .energy_j = NAN,
        .lo_j = NAN,
        .hi_j = NAN,
        .mean_w = sum.value_s / ((double)sum.covered_ns / WL_NS_PER_S),
        .coverage = (double)sum.covered_ns / (double)(t1 - t0),
        .covered_j = sum.value_s,
        .held_s = (double)sum.held_ns / WL_NS_PER_S,
        .readings = sum.readings,
    };
    if (wl_energy_mostly_holes(sum.holes_ns, t1 - t0))
        e.why = "readings of power are missing for more than half of the window";
    else
        set_energy(&e, &sum, s, t0, t1, g);
    return e;
}

double wl_window_mean(const struct wl_time_series *s, int64_t t0_ns, int64_t t1_ns, int64_t max_gap_ns)
{
    return wl_energy_of_power(s, t0_ns, t1_ns, max_gap_ns, &wl_sensor_response_unknown).mean_w;
}

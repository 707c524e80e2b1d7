#include "power/power.h"

#include <math.h>

/* The first reading at or after t; s->n where there is none. */
static size_t lower_bound(const struct wl_series *s, int64_t t)
{
    size_t lo = 0, hi = s->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (s->t_ns[mid] < t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The nearest good reading at or before / at or after index i; -1 where there is none. */
static ptrdiff_t good_back(const struct wl_series *s, ptrdiff_t i)
{
    while (i >= 0 && !isfinite(s->value[i])) i--;
    return i;
}

static ptrdiff_t good_on(const struct wl_series *s, ptrdiff_t i)
{
    while (i < (ptrdiff_t)s->n && !isfinite(s->value[i])) i++;
    return i < (ptrdiff_t)s->n ? i : -1;
}

static struct wl_energy nothing(const char *why)
{
    return (struct wl_energy) {
        .energy_j = NAN, .mean_w = NAN, .coverage = 0, .covered_j = NAN, .held_s = 0, .readings = 0, .why = why
    };
}

enum { SPACINGS = 33 };

/* The longest stretch between good readings that is bridged: the caller's, or three times the series' own usual spacing
 * where it is read less often than asked (a slow sensor, a costly file). The usual spacing is the median of some
 * spacings all over the series; with only a few readings there is none. A failed reading keeps the spacing. */
static int64_t bridged_ns(const struct wl_series *s, int64_t max_gap)
{
    if (s->n < SPACINGS / 4) return max_gap;
    int64_t sorted[SPACINGS];
    size_t n = 0, all = s->n - 1;
    for (size_t k = 0; k < SPACINGS && k < all; k++) {
        size_t i = all <= SPACINGS ? k : k * (all - 1) / (SPACINGS - 1);
        int64_t spacing = s->t_ns[i + 1] - s->t_ns[i];
        size_t at = n++;
        for (; at > 0 && sorted[at - 1] > spacing; at--) sorted[at] = sorted[at - 1];
        sorted[at] = spacing;
    }
    int64_t own = 3 * sorted[n / 2];
    return own > max_gap ? own : max_gap;
}

/* ---- Power ---- */

/* The part of a window that readings account for: exact in time, so that full coverage can be told from nearly. */
struct integral {
    double value_s; /* integral of the value, unit x s */
    int64_t covered_ns, held_ns;
};

/* Adds the line from (ta, va) to (tb, vb), cut to [t0, t1]. */
static void add_line(struct integral *sum, int64_t ta, double va, int64_t tb, double vb, int64_t t0, int64_t t1)
{
    int64_t lo = ta > t0 ? ta : t0, hi = tb < t1 ? tb : t1;
    if (hi <= lo) return;
    double slope = (vb - va) / (double)(tb - ta);
    double at_lo = va + slope * (double)(lo - ta), at_hi = va + slope * (double)(hi - ta);
    sum->value_s += 0.5 * (at_lo + at_hi) * ((double)(hi - lo) / WL_NS_PER_S);
    sum->covered_ns += hi - lo;
}

/* A reading held from ta to tb, where no reading lies beyond. */
static void add_held(struct integral *sum, int64_t ta, int64_t tb, double v, int64_t t0, int64_t t1)
{
    int64_t before = sum->covered_ns;
    if (tb > ta) add_line(sum, ta, v, tb, v, t0, t1);
    sum->held_ns += sum->covered_ns - before;
}

static struct integral integrate(const struct wl_series *s, int64_t t0, int64_t t1, int64_t max_gap, size_t *readings)
{
    struct integral sum = { 0 };
    *readings = 0;
    ptrdiff_t left = good_back(s, (ptrdiff_t)lower_bound(s, t0) - 1);
    ptrdiff_t i = left >= 0 ? left : good_on(s, 0);
    if (i < 0) return sum;
    if (left < 0) add_held(&sum, s->t_ns[i] - max_gap, s->t_ns[i], s->value[i], t0, t1);
    while (i >= 0 && s->t_ns[i] <= t1) {
        if (s->t_ns[i] >= t0) ++*readings;
        ptrdiff_t next = good_on(s, i + 1);
        if (next < 0)
            add_held(&sum, s->t_ns[i], s->t_ns[i] + max_gap, s->value[i], t0, t1);
        else if (s->t_ns[next] - s->t_ns[i] <= max_gap)
            add_line(&sum, s->t_ns[i], s->value[i], s->t_ns[next], s->value[next], t0, t1);
        i = next;
    }
    return sum;
}

struct wl_energy wl_energy_of_power(const struct wl_series *s, int64_t t0_ns, int64_t t1_ns, int64_t max_gap_ns)
{
    if (t1_ns <= t0_ns) return nothing("the window is empty");
    size_t readings;
    struct integral sum = integrate(s, t0_ns, t1_ns, bridged_ns(s, max_gap_ns), &readings);
    if (sum.covered_ns == 0) return nothing("no power reading near the window");
    struct wl_energy out = {
        .energy_j = NAN,
        .mean_w = sum.value_s / ((double)sum.covered_ns / WL_NS_PER_S),
        .coverage = (double)sum.covered_ns / (double)(t1_ns - t0_ns),
        .covered_j = sum.value_s,
        .held_s = (double)sum.held_ns / WL_NS_PER_S,
        .readings = readings,
    };
    if (sum.covered_ns == t1_ns - t0_ns)
        out.energy_j = sum.value_s;
    else
        out.why = "power readings are missing in the window";
    return out;
}

double wl_window_mean(const struct wl_series *s, int64_t t0_ns, int64_t t1_ns, int64_t max_gap_ns)
{
    return wl_energy_of_power(s, t0_ns, t1_ns, max_gap_ns).mean_w;
}

/* ---- Counters ---- */

/* A counter as seen through its readings. A slow one repeats its value between updates: then only the readings at
 * which it moved tell when it had that value. */
struct counter {
    const struct wl_series *s;
    bool slow;
};

static bool is_knot(const struct counter *c, ptrdiff_t i)
{
    if (!c->slow) return true;
    ptrdiff_t before = good_back(c->s, i - 1);
    return before >= 0 && c->s->value[before] != c->s->value[i];
}

static ptrdiff_t knot_back(const struct counter *c, ptrdiff_t i)
{
    for (i = good_back(c->s, i); i >= 0 && !is_knot(c, i); i = good_back(c->s, i - 1)) continue;
    return i;
}

static ptrdiff_t knot_on(const struct counter *c, ptrdiff_t i)
{
    for (i = good_on(c->s, i); i >= 0 && !is_knot(c, i); i = good_on(c->s, i + 1)) continue;
    return i;
}

/* The counter at t: between two knots on their line; beyond the last or before the first at the neighbouring pace,
 * but at most one step away, since a whole further step would have shown. NAN with fewer than two knots. */
static double counter_at(const struct counter *c, int64_t t)
{
    const struct wl_series *s = c->s;
    ptrdiff_t next = (ptrdiff_t)lower_bound(s, t + 1);
    ptrdiff_t a = knot_back(c, next - 1), b = knot_on(c, next);
    double reach = HUGE_VAL; /* how far from knot a the counter may be, J */
    ptrdiff_t from = a;
    if (a < 0 && b < 0) return NAN;
    if (a < 0) {
        a = from = b;
        b = knot_on(c, b + 1);
        if (b < 0) return NAN;
        reach = s->value[b] - s->value[a];
    } else if (b < 0) {
        b = a;
        a = knot_back(c, a - 1);
        if (a < 0) return NAN;
        reach = s->value[b] - s->value[a];
    }
    double pace = (s->value[b] - s->value[a]) / (double)(s->t_ns[b] - s->t_ns[a]);
    double away = pace * (double)(t - s->t_ns[from]);
    return s->value[from] + fmax(-reach, fmin(reach, away));
}

/* Is the counter known at t: readings on both sides within max_gap, or one within it where nothing lies beyond? */
static bool edge_known(const struct wl_series *s, int64_t t, int64_t max_gap)
{
    ptrdiff_t next = (ptrdiff_t)lower_bound(s, t + 1);
    ptrdiff_t a = good_back(s, next - 1), b = good_on(s, next);
    if (a >= 0 && b >= 0) return s->t_ns[b] - s->t_ns[a] <= max_gap;
    if (a >= 0) return t - s->t_ns[a] <= max_gap;
    return b >= 0 && s->t_ns[b] - t <= max_gap;
}

/* Looks at every step from the reading before t0 to the reading behind t1. */
static void inspect(const struct wl_series *s, int64_t t0, int64_t t1, bool *repeats, bool *moves, bool *falls)
{
    *repeats = *moves = *falls = false;
    ptrdiff_t start = good_back(s, (ptrdiff_t)lower_bound(s, t0) - 1);
    ptrdiff_t i = good_on(s, start < 0 ? 0 : start);
    while (i >= 0 && s->t_ns[i] <= t1) {
        ptrdiff_t next = good_on(s, i + 1);
        if (next < 0) return;
        double step = s->value[next] - s->value[i];
        *repeats |= step == 0;
        *moves |= step > 0;
        *falls |= step < 0;
        i = next;
    }
}

static size_t good_between(const struct wl_series *s, int64_t t0, int64_t t1)
{
    size_t n = 0;
    for (size_t i = lower_bound(s, t0); i < s->n && s->t_ns[i] <= t1; i++) n += isfinite(s->value[i]) ? 1 : 0;
    return n;
}

/* Time of the window that lies outside all readings. */
static int64_t outside_ns(const struct wl_series *s, int64_t t0, int64_t t1)
{
    ptrdiff_t first = good_on(s, 0), last = good_back(s, (ptrdiff_t)s->n - 1);
    int64_t before = s->t_ns[first] > t0 ? s->t_ns[first] - t0 : 0;
    int64_t behind = s->t_ns[last] < t1 ? t1 - s->t_ns[last] : 0;
    return before + behind;
}

struct wl_energy wl_energy_of_counter(const struct wl_series *s, int64_t t0_ns, int64_t t1_ns, int64_t max_gap_ns)
{
    if (t1_ns <= t0_ns) return nothing("the window is empty");
    bool repeats, moves, falls;
    inspect(s, t0_ns, t1_ns, &repeats, &moves, &falls);
    if (falls) return nothing("the counter was reset");
    int64_t gap_ns = bridged_ns(s, max_gap_ns);
    bool start_known = edge_known(s, t0_ns, gap_ns), end_known = edge_known(s, t1_ns, gap_ns);

    /* Where an edge is unknown, what is left of the window starts or ends at the nearest reading inside it. */
    ptrdiff_t first = good_on(s, (ptrdiff_t)lower_bound(s, t0_ns));
    ptrdiff_t last = good_back(s, (ptrdiff_t)lower_bound(s, t1_ns + 1) - 1);
    int64_t lo = start_known ? t0_ns : first < 0 ? t1_ns : s->t_ns[first];
    int64_t hi = end_known ? t1_ns : last < 0 ? t0_ns : s->t_ns[last];
    if (hi <= lo) return nothing("no counter reading near the window");
    if (!moves) return nothing("the counter did not move in the window");

    struct counter c = { s, repeats };
    double joules = counter_at(&c, hi) - counter_at(&c, lo);
    if (!isfinite(joules)) return nothing("the window is too short for the counter's steps");
    bool whole = start_known && end_known;
    return (struct wl_energy) {
        .energy_j = whole ? joules : NAN,
        .mean_w = joules / ((double)(hi - lo) / WL_NS_PER_S),
        .coverage = (double)(hi - lo) / (double)(t1_ns - t0_ns),
        .covered_j = joules,
        .held_s = (double)outside_ns(s, lo, hi) / WL_NS_PER_S,
        .readings = good_between(s, t0_ns, t1_ns),
        .why = whole ? NULL : "counter readings are missing at the window's edges",
    };
}

int64_t wl_max_gap_ns(double period_s)
{
    const int64_t least = WL_NS_PER_S / 4;
    int64_t three = (int64_t)(3 * period_s * WL_NS_PER_S);
    return three > least ? three : least;
}

double wl_energy_ratio(double counter_j, double integral_j)
{
    return isfinite(counter_j) && isfinite(integral_j) && integral_j != 0 ? counter_j / integral_j : NAN;
}

bool wl_energy_ratio_off(double ratio) { return isfinite(ratio) && fabs(ratio - 1) > WL_RATIO_LIMIT; }

/* ---- Which channels count ---- */

/* In order of preference; what one tier covers does not overlap. The scopes of a tier are a bit set. A node is there
 * once, however many meters it has: the first one counts. */
static const struct tier {
    unsigned scopes;
    bool estimated;
    const char *label;
} tiers[] = {
    { 1u << WL_SCOPE_GPU, false, "gpu" },
    { 1u << WL_SCOPE_MODULE, false, "module" },
    { 1u << WL_SCOPE_PACKAGE | 1u << WL_SCOPE_DRAM, false, "package" },
    { 1u << WL_SCOPE_NODE, false, "node" },
    { 1u << WL_SCOPE_PACKAGE, true, "package (estimated)" },
};

static struct wl_energy_source *source_of(struct wl_energy_source *list, size_t *n, int device)
{
    for (size_t i = 0; i < *n; i++) {
        if (list[i].device == device) return &list[i];
    }
    list[*n] = (struct wl_energy_source) { .device = device, .counter = -1, .power = -1 };
    return &list[(*n)++];
}

static size_t sources_of_tier(const struct tier *tier, const struct wl_channel *channels, size_t n,
                              struct wl_energy_source *out, bool *dram)
{
    size_t found = 0;
    *dram = false;
    for (size_t i = 0; i < n; i++) {
        const struct wl_channel *c = &channels[i];
        bool energetic = c->quantity == WL_ENERGY || c->quantity == WL_POWER;
        if (!energetic || c->estimated != tier->estimated || !(tier->scopes >> c->scope & 1)) continue;
        if (c->scope == WL_SCOPE_NODE && found > 0 && c->device != out[0].device) continue;
        struct wl_energy_source *source = source_of(out, &found, c->device);
        *(c->quantity == WL_ENERGY ? &source->counter : &source->power) = (int)i;
        *dram |= c->scope == WL_SCOPE_DRAM;
    }
    return found;
}

size_t wl_energy_sources(const struct wl_channel *channels, size_t n, struct wl_energy_source *out,
                         const char **scope_label)
{
    *scope_label = NULL;
    for (size_t t = 0; t < WL_COUNT(tiers); t++) {
        bool dram;
        size_t found = sources_of_tier(&tiers[t], channels, n, out, &dram);
        if (found == 0) continue;
        *scope_label = dram ? "package+dram" : tiers[t].label;
        return found;
    }
    return 0;
}

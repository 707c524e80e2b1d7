/* Ticks of axes: round numbers, or the measured worker counts. */
#include "report/figure/ticks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The finite values (positive ones on a log scale), sorted, each once. */
static size_t sorted_distinct(const double *values, size_t n, bool log_scale, double *out)
{
    size_t m = 0, distinct = 0;
    for (size_t i = 0; i < n; i++) {
        if (isfinite(values[i]) && (!log_scale || values[i] > 0)) out[m++] = values[i];
    }
    qsort(out, m, sizeof *out, by_value);
    for (size_t i = 0; i < m; i++) {
        if (i == 0 || out[i] > out[distinct - 1]) out[distinct++] = out[i];
    }
    return distinct;
}

struct wl_reals wl_ticks_counts(const double *values, size_t n, bool log_scale, size_t max, struct wl_arena *a)
{
    double *v = wl_new_array(a, double, n);
    size_t m = sorted_distinct(values, n, log_scale, v);
    if (m <= 2 || max < 2) return (struct wl_reals) { v, m };

    /* A tick is kept where it is at least 1/max of the axis away from the previous and from the last one. */
    double first = log_scale ? log(v[0]) : v[0], last = log_scale ? log(v[m - 1]) : v[m - 1];
    double apart = (last - first) / (double)max, at = first;
    size_t kept = 1;
    for (size_t i = 1; i + 1 < m; i++) {
        double x = log_scale ? log(v[i]) : v[i];
        if (x - at < apart || last - x < apart) continue;
        v[kept++] = v[i];
        at = x;
    }
    v[kept++] = v[m - 1];
    return (struct wl_reals) { v, kept };
}

/* The step 1, 2 or 5 times a power of ten that divides the span into about five. */
static double round_step(double span)
{
    double raw = span / 5, power = pow(10, floor(log10(raw))), lead = raw / power;
    return power * (lead < 1.5 ? 1 : lead < 3.5 ? 2 : lead < 7.5 ? 5 : 10);
}

static struct wl_reals linear_ticks(double lo, double hi, struct wl_arena *a)
{
    double step = round_step(hi - lo), from = floor(lo / step + 1e-9), to = ceil(hi / step - 1e-9);
    size_t n = (size_t)(to - from) + 1;
    struct wl_reals ticks = { wl_new_array(a, double, n), n };
    for (size_t i = 0; i < n; i++) {
        /* The decimal text of a tick has no more digits than its step: 3 * 0.1 is written 0.3. */
        char text[32];
        snprintf(text, sizeof text, "%.12g", (from + (double)i) * step);
        ticks.v[i] = strtod(text, NULL);
    }
    return ticks;
}

/* All m * 10^k between lo and hi, for the leading digits m of the list. */
static struct wl_reals decade_ticks(double lo, double hi, const char *leads, struct wl_arena *a)
{
    int from = (int)floor(log10(lo)), to = (int)ceil(log10(hi));
    size_t room = (size_t)(to - from + 1) * strlen(leads), n = 0;
    double *v = wl_new_array(a, double, room);
    for (int k = from; k <= to; k++) {
        for (const char *m = leads; *m; m++) {
            double tick = (*m - '0') * pow(10, k);
            if (tick >= lo * (1 - 1e-9) && tick <= hi * (1 + 1e-9)) v[n++] = tick;
        }
    }
    return (struct wl_reals) { v, n };
}

/* The ticks of a log axis from lo to hi whose labels fit next to each other: from the highest down. */
static struct wl_reals thin(struct wl_reals ticks, double lo, double hi)
{
    enum { CHARACTERS = 50, GAP = 2 }; /* what a narrow axis has room for, and between two labels */
    size_t longest = 0, first = ticks.n;
    for (size_t i = 0; i < ticks.n; i++) {
        char text[32];
        size_t n = (size_t)snprintf(text, sizeof text, "%.6g", ticks.v[i]);
        longest = n > longest ? n : longest;
    }
    const double apart = log(hi / lo) * (double)(longest + GAP) / CHARACTERS;
    for (size_t i = ticks.n; i-- > 0;)
        if (first == ticks.n || log(ticks.v[first] / ticks.v[i]) >= apart) ticks.v[--first] = ticks.v[i];
    return (struct wl_reals) { ticks.v + first, ticks.n - first };
}

struct wl_reals wl_ticks_round(double lo, double hi, bool log_scale, struct wl_arena *a)
{
    WL_CHECK(isfinite(lo) && isfinite(hi) && (!log_scale || lo > 0));
    if (!(hi > lo)) hi = lo + (log_scale ? lo : fabs(lo) > 0 ? fabs(lo) : 1);
    if (!log_scale) return linear_ticks(lo, hi, a);

    double decades = log10(hi / lo);
    if (decades < .6) {
        struct wl_reals all = linear_ticks(lo, hi, a); /* 8, 9, 10, 11: a log axis over less than a factor four */
        size_t n = 0;
        for (size_t i = 0; i < all.n; i++) {
            if (all.v[i] > 0) all.v[n++] = all.v[i];
        }
        return thin((struct wl_reals) { all.v, n }, lo, hi);
    }
    return thin(decade_ticks(lo, hi, decades < 1.2 ? "123457" : decades < 3.6 ? "125" : "1", a), lo, hi);
}

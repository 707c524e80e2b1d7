#include "base/table_numbers.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int wl_table_exponent(double value, int digits)
{
    char rounded[64];
    snprintf(rounded, sizeof rounded, "%.*e", digits - 1, value);
    return atoi(strchr(rounded, 'e') + 1);
}

/* ---- units ---- */

/* Prefixes of a unit, the smallest first. A column keeps its unit while its largest number is from 1 to `most`. */
struct scale {
    const char *unit;
    double most;
    size_t n;
    struct {
        const char *name;
        double factor;
    } steps[9];
};
static const struct scale scales[] = {
    { "J",
      1e5,
      7,
      { { "µJ", 1e-6 }, { "mJ", 1e-3 }, { "J", 1 }, { "kJ", 1e3 }, { "MJ", 1e6 }, { "GJ", 1e9 }, { "TJ", 1e12 } } },
    { "W", 1e5, 6, { { "µW", 1e-6 }, { "mW", 1e-3 }, { "W", 1 }, { "kW", 1e3 }, { "MW", 1e6 }, { "GW", 1e9 } } },
    { "s", 36e3, 4, { { "µs", 1e-6 }, { "ms", 1e-3 }, { "s", 1 }, { "h", 3600 } } },
    { "kWh", 1e5, 5, { { "mWh", 1e-6 }, { "Wh", 1e-3 }, { "kWh", 1 }, { "MWh", 1e3 }, { "GWh", 1e6 } } },
};

static double largest(const struct wl_table *t, size_t column)
{
    double most = 0;
    for (size_t r = 0; r < wl_table_rows(t); r++) {
        double value;
        if (wl_str_to_real(wl_table_cell_at(t, r, column), &value) == 0) most = fmax(most, fabs(value));
    }
    return most;
}

/* The step at which `most` of the unit is 1 or more. */
static size_t step_of(const struct scale *s, double most)
{
    size_t k = 0;
    while (k + 1 < s->n && most >= 0.99995 * s->steps[k + 1].factor) k++;
    return k;
}

/* Of a range of that column. */
static bool ends_of(const char *text, double *lo, double *hi, struct wl_arena *a)
{
    const char *to = strstr(text, WL_TABLE_TO);
    return to && wl_str_to_real(wl_strndup(a, text, (size_t)(to - text)), lo) == 0 &&
           wl_str_to_real(to + strlen(WL_TABLE_TO), hi) == 0;
}

static void scale_ranges_to(struct wl_table *t, size_t column, double factor, struct wl_arena *a)
{
    for (size_t r = 0; r < wl_table_rows(t); r++) {
        char **text = &t->cells.v[r * t->columns + column];
        double lo, hi;
        if (ends_of(*text, &lo, &hi, a)) *text = wl_strf(a, "%.17g" WL_TABLE_TO "%.17g", lo / factor, hi / factor);
    }
}

static void scale_to(struct wl_table *t, size_t column, double factor, struct wl_arena *a)
{
    for (size_t r = 0; r < wl_table_rows(t); r++) {
        char **text = &t->cells.v[r * t->columns + column];
        double value;
        if (wl_str_to_real(*text, &value) == 0) *text = wl_strf(a, "%.17g", value / factor);
    }
}

static void scale(struct wl_table *t, size_t column, struct wl_arena *a)
{
    struct wl_table_head *h = &t->head[column];
    const double most = largest(t, column);
    for (size_t i = 0; i < WL_COUNT(scales); i++) {
        const struct scale *s = &scales[i];
        if (!wl_str_eq(s->unit, h->unit) || most == 0) continue;
        const size_t k = step_of(s, most);
        const bool keep = most >= 1 && most < s->most;
        if (!keep) scale_to(t, column, s->steps[k].factor, a);
        if (!keep && column + 1 < t->columns && t->head[column + 1].range)
            scale_ranges_to(t, column + 1, s->steps[k].factor, a);
        h->name = wl_strf(a, "%s %s", h->quantity, keep ? s->unit : s->steps[k].name);
    }
}

/* ---- decimals ---- */

/* The decimals of a column; -1: its numbers are too large or too small to print without an exponent. */
static int decimals_of(const struct wl_table *t, size_t column)
{
    int digits = t->head[column].digits, high = INT_MIN, low = INT_MAX;
    for (size_t r = 0; r < wl_table_rows(t); r++) {
        double value;
        if (wl_str_to_real(wl_table_cell_at(t, r, column), &value) || value == 0) continue;
        int exponent = wl_table_exponent(value, digits);
        high = exponent > high ? exponent : high;
        low = exponent < low ? exponent : low;
    }
    if (high == INT_MIN) return 0; /* nothing but zeros */
    if (high >= 6 || low < -4) return -1;
    int decimals = digits - 1 - high, needed = digits - 2 - low; /* one digit less of the smallest */
    if (needed > decimals + 2) needed = decimals + 2;
    if (needed > decimals) decimals = needed;
    return decimals > 0 ? decimals : 0;
}

static void align(struct wl_table *t, size_t column, struct wl_arena *a)
{
    int digits = t->head[column].digits, decimals = decimals_of(t, column);
    for (size_t r = 0; r < wl_table_rows(t); r++) {
        char **text = &t->cells.v[r * t->columns + column];
        double value;
        if (wl_str_to_real(*text, &value)) continue;
        *text = decimals < 0 ? wl_strf(a, "%.*g", digits, value) : wl_strf(a, "%.*f", decimals, value);
    }
}

static void round_ranges(struct wl_table *t, size_t column, struct wl_arena *a)
{
    for (size_t r = 0; r < wl_table_rows(t); r++) {
        char **text = &t->cells.v[r * t->columns + column];
        double lo, hi;
        if (ends_of(*text, &lo, &hi, a))
            *text = wl_strf(a, "%s" WL_TABLE_TO "%s", wl_number_text(lo, a), wl_number_text(hi, a));
    }
}

struct wl_table wl_table_with_numbers(const struct wl_table *t, bool scaled, struct wl_arena *a)
{
    struct wl_table shown = *t;
    shown.head = wl_new_array(a, struct wl_table_head, t->columns);
    shown.cells.v = wl_new_array(a, char *, t->cells.n);
    if (t->columns) memcpy(shown.head, t->head, t->columns * sizeof *t->head);
    if (t->cells.n) memcpy(shown.cells.v, t->cells.v, t->cells.n * sizeof *t->cells.v);
    for (size_t c = 0; c < t->columns; c++) {
        if (scaled && t->head[c].unit) scale(&shown, c, a);
        if (t->head[c].digits) align(&shown, c, a);
        if (t->head[c].range) round_ranges(&shown, c, a);
    }
    return shown;
}

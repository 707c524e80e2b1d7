#include "base/amount.h"

#include "base/str.h"

#include <math.h>
#include <string.h>

const char *wl_provenance_word(enum wl_provenance from)
{
    static const char *const words[] = {
        "",         "estimated",           "simulated",           "estimated, simulated",
        "imported", "imported, estimated", "imported, simulated", "imported, estimated, simulated"
    };
    return words[from];
}

const char *wl_provenance_mark(enum wl_provenance from)
{
    static const char *const marks[] = { "",
                                         " (estimated)",
                                         " (simulated)",
                                         " (estimated, simulated)",
                                         " (imported)",
                                         " (imported, estimated)",
                                         " (imported, simulated)",
                                         " (imported, estimated, simulated)" };
    return marks[from];
}

struct wl_amount wl_amount_of(double value, const char *unit, enum wl_provenance from)
{
    return wl_amount_between(value, NAN, NAN, unit, from);
}

struct wl_amount wl_amount_between(double value, double lo, double hi, const char *unit, enum wl_provenance from)
{
    return (struct wl_amount) { value, lo, hi, unit, from };
}

void wl_amount_add(struct wl_amount *sum, const struct wl_amount *part)
{
    sum->value += part->value;
    sum->lo += part->lo;
    sum->hi += part->hi;
    sum->from |= part->from;
}

struct wl_amount wl_amount_times(const struct wl_amount *q, double factor, const char *unit)
{
    return wl_amount_between(q->value * factor, q->lo * factor, q->hi * factor, unit, q->from);
}

const char *wl_number_text(double v, struct wl_arena *a)
{
    return wl_strf(a, fabs(v) >= 1e4 && fabs(v) < 1e7 ? "%.0f" : "%.4g", v);
}

/* How units scale. Joules, watts and grams always take the prefix that fits. Of kWh and money, amounts from a size on
 * that people read in that unit (a bill in EUR, not in kEUR) keep it, and smaller ones are Wh, mWh, µWh and mEUR, µEUR.
 */
static const char *scaled(double v, const char *unit, struct wl_arena *a)
{
    const double LEAST_KWH = 0.01, LEAST_MONEY = 0.01, size = fabs(v);
    if (wl_str_eq(unit, "J") || wl_str_eq(unit, "W") || wl_str_starts(unit, "g ")) return wl_human(a, v, unit);
    if (wl_str_eq(unit, "kWh") && size > 0 && size < LEAST_KWH) return wl_human(a, 1000 * v, "Wh");
    if (!wl_str_eq(unit, "kWh") && size > 0 && size < LEAST_MONEY) return wl_human(a, v, unit);
    return wl_strf(a, "%s %s", wl_number_text(v, a), unit);
}

/* "700 to 730 J", "990 J to 1.02 kJ" */
static const char *range_text(const struct wl_amount *q, struct wl_arena *a)
{
    const char *lo = scaled(q->lo, q->unit, a), *hi = scaled(q->hi, q->unit, a);
    const char *lo_unit = strchr(lo, ' '), *hi_unit = strchr(hi, ' ');
    const bool once = lo_unit && hi_unit && wl_str_eq(lo_unit, hi_unit);
    return wl_strf(a, "%.*s to %s", once ? (int)(lo_unit - lo) : (int)strlen(lo), lo, hi);
}

const char *wl_amount_text(const struct wl_amount *q, struct wl_arena *a)
{
    if (isnan(q->value)) return "unknown";
    const char *value = scaled(q->value, q->unit, a), *word = wl_provenance_word(q->from);
    const bool known = !isnan(q->lo) && !isnan(q->hi);
    if (!known) return wl_strf(a, "%s%s", value, wl_provenance_mark(q->from));
    return wl_strf(a, "%s (%s%s%s)", value, range_text(q, a), *word ? ", " : "", word);
}

const char *wl_probability_text(double p, struct wl_arena *a)
{
    return p > 0.995 ? "above 0.99" : p < 0.005 ? "below 0.01" : wl_strf(a, "%.2f", p);
}

/* A printed quantity: energy, power, carbon or money, with its interval and provenance.
 *
 * Joules of a model or of a simulated driver are not measurements, and a number without a word on it is taken for one.
 * So the provenance is part of the type: wl_amount_text and wl_table_amount print "estimated" or "simulated", and
 * nothing else in src/ prints a quantity of these units (tools/check-output).
 */
#ifndef WL_BASE_AMOUNT_H
#define WL_BASE_AMOUNT_H

#include "base/arena.h"

/* Bits: a sum has the provenance of all its parts. Imported: another tool measured it. */
enum wl_provenance { WL_MEASURED = 0, WL_ESTIMATED = 1, WL_SIMULATED = 2, WL_IMPORTED = 4 };

static inline enum wl_provenance wl_provenance_of(bool estimated, bool simulated)
{
    return (enum wl_provenance)((estimated ? WL_ESTIMATED : 0) | (simulated ? WL_SIMULATED : 0));
}

/* "estimated", "simulated", "imported", "estimated, simulated" ...; "": measured here. */
const char *wl_provenance_word(enum wl_provenance from);

/* The same as " (estimated)" and so on, or "". */
const char *wl_provenance_mark(enum wl_provenance from);

struct wl_amount {
    double value;     /* NAN: unknown */
    double lo, hi;    /* 95 % interval, for an estimate including the model's error; NAN: unknown */
    const char *unit; /* "J", "W", "g CO2e", "kWh" or a currency */
    enum wl_provenance from;
};

struct wl_amount wl_amount_of(double value, const char *unit, enum wl_provenance from);
struct wl_amount wl_amount_between(double value, double lo, double hi, const char *unit, enum wl_provenance from);

/* Sums of the same unit: ends are added, since errors of one model and one sensor go together. */
void wl_amount_add(struct wl_amount *sum, const struct wl_amount *part);

/* Converts to another unit: kWh to grams or money. factor >= 0. */
struct wl_amount wl_amount_times(const struct wl_amount *q, double factor, const char *unit);

/* "716 J", "716 J (700 to 730 J)", "35.0 kJ (990 J to 71.2 kJ, estimated)", "0.41 kWh (simulated)", "3.20 mWh", "12.0
 * µEUR"; "unknown". This is where units scale. */
const char *wl_amount_text(const struct wl_amount *q, struct wl_arena *a);

/* Four significant digits, without an exponent below ten million. */
const char *wl_number_text(double v, struct wl_arena *a);

/* "0.97"; at the ends "above 0.99" and "below 0.01", since no probability of a model is 1. */
const char *wl_probability_text(double p, struct wl_arena *a);

#endif

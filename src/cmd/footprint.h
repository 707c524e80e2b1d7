/* What energy means in carbon and money: from the energy at the site's meter, the grid and a price. */
#ifndef WL_CMD_FOOTPRINT_H
#define WL_CMD_FOOTPRINT_H

#include "cmd/intensity.h"

struct wl_footprint {
    double pue;                     /* energy at the meter over energy of the devices */
    double carbon;                  /* g CO2e a kWh; NAN: not asked for */
    struct wl_reals range;          /* its interval, none or two */
    const char *kind, *source;      /* average or marginal; place, time and origin */
    const char *country;            /* carbon and source from the table; NULL: none */
    const char *carbon_csv;         /* carbon over time from a file; NULL: none */
    struct wl_intensity *intensity; /* that file */
    double price;                   /* a kWh; NAN: not asked for */
    const char *currency;
};

/* Rows for a struct that holds a struct wl_footprint as member `at`. */
/* clang-format off */
#define WL_FOOTPRINT_OPT_ROWS(holder, at)                                                                         \
    { .name = "pue", .type = WL_REAL, .offset = offsetof(holder, at.pue), .def = "1", .min = 1, .max = 10,        \
      .help = "power usage effectiveness of the site, for carbon and cost" },                                     \
    { .name = "carbon", .type = WL_REAL, .offset = offsetof(holder, at.carbon), .min = 0, .max = 1e5,             \
      .unit = "g CO2e/kWh", .help = "carbon intensity of the electricity; needs --carbon-source" },               \
    { .name = "carbon-range", .type = WL_REALS, .offset = offsetof(holder, at.range), .min = 0, .max = 1e5,       \
      .unit = "g CO2e/kWh", .help = "LOW,HIGH: interval of the carbon intensity" },                               \
    { .name = "carbon-kind", .type = WL_CHOICE, .offset = offsetof(holder, at.kind), .def = "average",            \
      .choices = "average|marginal", .help = "what kind of intensity it is" },                                    \
    { .name = "carbon-source", .type = WL_STR, .offset = offsetof(holder, at.source),                             \
      .help = "place and time the intensity holds for, and where it is from" },                                   \
    { .name = "country", .type = WL_STR, .offset = offsetof(holder, at.country),                                  \
      .help = "two letters, DE: carbon intensity from the built-in table, instead of --carbon" },                 \
    { .name = "carbon-csv", .type = WL_STR, .offset = offsetof(holder, at.carbon_csv),                            \
      .help = "carbon intensity over time from this file, instead of --carbon; runs of a store only" },           \
    { .name = "price", .type = WL_REAL, .offset = offsetof(holder, at.price), .min = 0, .max = 1e5,               \
      .unit = "per kWh", .help = "price of electricity" },                                                        \
    { .name = "currency", .type = WL_STR, .offset = offsetof(holder, at.currency), .def = "EUR", .help = "of the price" }
/* clang-format on */

/* Looks the country up or reads the file, and checks what belongs together: WL_EUSAGE, WL_EINVAL. */
int wl_footprint_complete(struct wl_footprint *f, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Is carbon asked for? */
bool wl_footprint_has_carbon(const struct wl_footprint *f);

/* With the carbon intensity that held while an energy was drawn, where it comes from a file: for the calls below. */
struct wl_footprint wl_footprint_at(const struct wl_footprint *f, double g_per_kwh);

/* Lines on carbon and cost of an energy of the devices, their names `width` wide; nothing where neither was asked for.
 * `note`: marks of the energy, such as " (simulated)". */
void wl_footprint_print(const struct wl_footprint *f, double kwh, const char *note, int width, FILE *to,
                        struct wl_arena *a);

/* pue, carbon_g_per_kwh, carbon_kind, carbon_source, carbon_csv, price_per_kwh, currency; and of an energy carbon_g,
 * carbon_g_range, cost. */
void wl_footprint_json(const struct wl_footprint *f, struct wl_json *object);
void wl_footprint_energy_json(const struct wl_footprint *f, double kwh, struct wl_json *object);

#endif

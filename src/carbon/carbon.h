/* Carbon and cost of energy: carbon intensity of the grid, price, and the power usage effectiveness of the site. The
 * options of commands and the keys of experiments are the same rows. */
#ifndef WL_CARBON_CARBON_H
#define WL_CARBON_CARBON_H

#include "base/base.h"
#include "carbon/currency.h"
#include "carbon/steps.h"
#include "store/read.h"

/* Carbon intensity over time, g CO2e/kWh. */
struct wl_carbon_intensity {
    struct wl_grid_steps steps;
    bool marginal; /* else an average */
};

/* Reads a file with a column of times and one of intensities, known by their names (docs/formats.md): exports of
 * Electricity Maps and WattTime, or plain ones. WL_EINVAL names file:line. */
int wl_carbon_intensity_read(const char *path, struct wl_carbon_intensity *out, struct wl_arena *a,
                             struct wl_err *e) WL_MUST_CHECK;

/* Prices of electricity over time, per kWh, below 0 where the market pays for use. Columns are known by a name that
 * has "price" and the unit: price_per_kwh, price_eur_per_mwh, "Day-ahead Price [EUR/MWh]", price_eur_ct_per_kwh.
 * *currency: the code in the name, in upper case; NULL: there is none. WL_EINVAL names file:line; also a name whose
 * currency is not known. */
int wl_grid_price_read(const char *path, struct wl_grid_steps *out, const char **currency, struct wl_arena *a,
                       struct wl_err *e) WL_MUST_CHECK;

/* g CO2e per kWh over the run, its steps weighted by the energy drawn in each; NAN if the file does not cover the whole
 * run, and *why says which part is missing. */
int wl_carbon_intensity_of_run(const struct wl_carbon_intensity *grid, struct wl_store *s, int64_t run,
                               double *g_per_kwh, const char **why, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Average life-cycle carbon intensity of the electricity that a country generated in a year (Ember). */
struct wl_country {
    const char *alpha2, *alpha3, *name; /* ISO 3166; English, ASCII */
    int year;
    double g_per_kwh; /* CO2e */
};

/* The whole table, ordered by alpha2. */
const struct wl_country *wl_country_table(size_t *n);

/* By alpha-2 or alpha-3 code or name, ignoring case; NULL: there is none. */
const struct wl_country *wl_country_find(const char *word);

/* The country whose name is closest to `word`, for "did you mean"; NULL: none is close. */
const struct wl_country *wl_country_closest(const char *word, struct wl_arena *a);

struct wl_footprint {
    double pue;                            /* energy at the meter over energy of the devices; NAN: not given */
    double carbon;                         /* g CO2e per kWh; NAN: not requested */
    struct wl_reals range;                 /* its interval, none or two */
    const char *kind, *source;             /* average or marginal (NULL: not given); place, time and origin */
    const char *country;                   /* carbon and source from the table; NULL: none */
    const char *carbon_csv;                /* carbon over time from a file; NULL: none */
    struct wl_carbon_intensity *intensity; /* that file */
    double price;                          /* per kWh; NAN: not requested */
    const char *currency;                  /* NULL: not given */
};

/* Rows for a struct that holds a struct wl_footprint as member `at`. */
/* clang-format off */
#define WL_FOOTPRINT_OPT_ROWS(holder, at)                                                                         \
    { .name = "pue", .type = WL_REAL, .offset = offsetof(holder, at.pue), .min = 1, .max = 10,                    \
      .help = "power usage effectiveness of the site, for carbon and cost (default 1)" },                     \
    { .name = "carbon", .type = WL_REAL, .offset = offsetof(holder, at.carbon), .min = 0, .max = 1e5,             \
      .unit = "g CO2e/kWh", .help = "carbon intensity of the electricity; requires --carbon-source (default: none)" },                 \
    { .name = "carbon-range", .type = WL_REALS, .offset = offsetof(holder, at.range), .min = 0, .max = 1e5,       \
      .unit = "g CO2e/kWh", .help = "interval of the carbon intensity as LOW,HIGH (default: none)" },                               \
    { .name = "carbon-kind", .type = WL_CHOICE, .offset = offsetof(holder, at.kind),                              \
      .choices = "average|marginal", .help = "kind of carbon intensity (default average)" },              \
    { .name = "carbon-source", .type = WL_STR, .offset = offsetof(holder, at.source),                             \
      .unit = "SOURCE", .help = "place, period and publisher of the carbon intensity (default: none)" },                                   \
    { .name = "country", .type = WL_STR, .offset = offsetof(holder, at.country),                                  \
      .unit = "COUNTRY", .help = "country (DE, DEU or Germany) whose carbon intensity is taken from the built-in table, instead of --carbon (default: none)" },                   \
    { .name = "carbon-csv", .type = WL_STR, .offset = offsetof(holder, at.carbon_csv),                            \
      .unit = "FILE", .help = "CSV file of the carbon intensity over time, instead of --carbon; only for runs of a store (default: none)" },             \
    { .name = "price", .type = WL_REAL, .offset = offsetof(holder, at.price), .min = 0, .max = 1e5,               \
      .unit = "per kWh", .help = "price of electricity (default: none)" },                                                        \
    { .name = "currency", .type = WL_STR, .offset = offsetof(holder, at.currency),                                \
      .unit = "CODE", .help = "currency of the price (default EUR)" }
/* clang-format on */

/* Looks up the country or reads the file, fills in defaults and checks that the options fit together: WL_EUSAGE,
 * WL_EINVAL. *faulty: the option's name, which is not in the message. */
int wl_footprint_complete(struct wl_footprint *f, const char **faulty, struct wl_arena *a,
                          struct wl_err *e) WL_MUST_CHECK;

/* Takes from `from` what was not given: the PUE, carbon with all its options, price and currency. Both before they are
 * completed. */
void wl_footprint_inherit(struct wl_footprint *f, const struct wl_footprint *from);

/* From the section [measure] of an experiment's expanded text; other keys are ignored. */
int wl_footprint_from_experiment(const char *text, struct wl_footprint *out, struct wl_arena *a,
                                 struct wl_err *e) WL_MUST_CHECK;

/* Is key, of n characters, the name of a row? */
bool wl_footprint_has_key(const char *key, size_t n);

bool wl_footprint_same(const struct wl_footprint *x, const struct wl_footprint *y);

/* Is carbon requested? */
bool wl_footprint_has_carbon(const struct wl_footprint *f);

/* A copy with the carbon intensity at the time when an energy was drawn, if intensities come from a file. */
struct wl_footprint wl_footprint_with_intensity(const struct wl_footprint *f, double g_per_kwh);

#endif

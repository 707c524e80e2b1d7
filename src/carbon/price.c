/* Prices of electricity over time, from a CSV file. */
#include "carbon/carbon.h"

#include "carbon/internal.h"

#include <ctype.h>
#include <string.h>

/* Units in a column's name, in lower case. A price without one is not taken: markets quote MWh, contracts kWh. */
static const struct {
    const char *text;
    double scale; /* to per kWh */
} units[] = {
    { "/kwh", 1 }, { "per_kwh", 1 }, { "per kwh", 1 }, { "/mwh", 1e-3 }, { "per_mwh", 1e-3 }, { "per mwh", 1e-3 },
};

/* The word of three letters before the unit: "price_eur_per_mwh", "day-ahead price [eur/mwh]"; NULL: there is none. */
static const char *currency_before(const char *name, const char *unit, struct wl_arena *a)
{
    enum { LETTERS = 3 };
    const char *end = unit;
    while (end > name && !isalpha((unsigned char)end[-1])) end--;
    const char *begin = end;
    while (begin > name && isalpha((unsigned char)begin[-1])) begin--;
    if (end - begin != LETTERS) return NULL;
    char *code = wl_strndup(a, begin, LETTERS);
    for (char *c = code; *c; c++) *c = (char)toupper((unsigned char)*c);
    return code;
}

static bool is_price(const char *name, double *scale, const char **currency, struct wl_arena *a)
{
    if (!strstr(name, "price")) return false;
    for (size_t i = 0; i < WL_COUNT(units); i++) {
        const char *unit = strstr(name, units[i].text);
        if (!unit) continue;
        *scale = units[i].scale;
        *currency = currency_before(name, unit, a);
        return true;
    }
    return false;
}

int wl_grid_price_read(const char *path, struct wl_grid_steps *out, const char **currency, struct wl_arena *a,
                       struct wl_err *e)
{
    struct wl_csv csv;
    int rc = wl_csv_open(&csv, path, ',', a, e);
    if (rc < 0) return rc;
    struct wl_grid_column c = { .time = wl_grid_time_column(&csv, a),
                                .value = -1,
                                .min = -1e3,
                                .max = 1e3,
                                .expect = "a price from -1000 to 1000 per kWh" };
    for (size_t i = 0; i < csv.head.n && c.value < 0; i++)
        if (is_price(wl_grid_lower(csv.head.v[i], a), &c.scale, currency, a)) c.value = (int)i;
    if (c.time < 0 || c.value < 0)
        return wl_fail(e, WL_EINVAL, "%s: no column of %s (docs/formats.md lists the names)", path,
                       c.time < 0 ? "times: timestamp, datetime" : "prices with their unit: price_eur_per_mwh");
    return wl_grid_steps_read(&csv, &c, out, a, e);
}

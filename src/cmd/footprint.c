#include "cmd/footprint.h"

#include "cmd/words.h"

#include <math.h>
#include <strings.h>

/* Average life-cycle carbon intensity of a country's electricity in 2023, g CO2e/kWh. Source: Our World in Data,
 * "Carbon intensity of electricity generation, 1990 to 2023", from Ember and the Energy Institute; India and Norway:
 * Ember, 3 July 2024, by way of Statista (943137). Production, without imports. */
static const struct country {
    const char *code, *name;
    double g_per_kwh;
} countries[] = {
    { "AT", "Austria", 111 }, { "BE", "Belgium", 138 }, { "BG", "Bulgaria", 335 }, { "HR", "Croatia", 205 },
    { "CY", "Cyprus", 534 },  { "CZ", "Czechia", 450 }, { "DK", "Denmark", 152 },  { "EE", "Estonia", 417 },
    { "FI", "Finland", 79 },  { "FR", "France", 56 },   { "DE", "Germany", 381 },  { "GR", "Greece", 337 },
    { "HU", "Hungary", 204 }, { "IN", "India", 713 },   { "IE", "Ireland", 291 },  { "NO", "Norway", 30 },
};

static int look_up(struct wl_footprint *f, struct wl_arena *a, struct wl_err *e)
{
    const char *codes[WL_COUNT(countries)];
    for (size_t i = 0; i < WL_COUNT(countries); i++) {
        codes[i] = countries[i].code;
        if (strcasecmp(countries[i].code, f->country) != 0) continue;
        f->carbon = countries[i].g_per_kwh;
        f->source = wl_strf(a, "%s 2023, Ember", countries[i].name);
        return 0;
    }
    const char *meant = wl_closest(f->country, codes, WL_COUNT(codes));
    return wl_fail(e, WL_EUSAGE, "--country %s: not in the table%s%s%s; give --carbon and --carbon-source", f->country,
                   meant ? " (did you mean " : "", meant ? meant : "", meant ? "?)" : "");
}

static int read_intensity(struct wl_footprint *f, struct wl_arena *a, struct wl_err *e)
{
    if (f->country || !isnan(f->carbon) || f->range.n)
        return wl_fail(e, WL_EUSAGE, "--carbon-csv takes the place of --carbon, --carbon-range and --country");
    f->intensity = wl_new(a, struct wl_intensity);
    int rc = wl_intensity_read(f->carbon_csv, f->intensity, a, e);
    if (rc < 0) return rc;
    if (f->intensity->marginal) f->kind = "marginal";
    f->source = wl_strf(a, "%s%s%s of %s, in steps", f->source ? f->source : "", f->source ? ", " : "",
                        f->intensity->column, f->carbon_csv);
    return 0;
}

int wl_footprint_complete(struct wl_footprint *f, struct wl_arena *a, struct wl_err *e)
{
    if (f->carbon_csv) return read_intensity(f, a, e);
    if (f->country && !isnan(f->carbon)) return wl_fail(e, WL_EUSAGE, "--country or --carbon, not both");
    if (f->country && wl_streq(f->kind, "marginal"))
        return wl_fail(e, WL_EUSAGE, "--country: the table has average intensities only");
    if (f->country) return look_up(f, a, e);
    if (!isnan(f->carbon) && !f->source)
        return wl_fail(e, WL_EUSAGE, "--carbon needs --carbon-source: the place and time it holds for");
    if (isnan(f->carbon) && f->range.n) return wl_fail(e, WL_EUSAGE, "--carbon-range needs --carbon");
    if (f->range.n && (f->range.n != 2 || f->range.v[0] > f->range.v[1]))
        return wl_fail(e, WL_EUSAGE, "--carbon-range: expected LOW,HIGH");
    return 0;
}

bool wl_footprint_has_carbon(const struct wl_footprint *f) { return f->intensity || !isnan(f->carbon); }

struct wl_footprint wl_footprint_at(const struct wl_footprint *f, double g_per_kwh)
{
    struct wl_footprint at = *f;
    if (f->intensity) at.carbon = g_per_kwh;
    return at;
}

/* Energy at the site's meter. */
static double site_kwh(const struct wl_footprint *f, double kwh) { return kwh * f->pue; }

void wl_footprint_print(const struct wl_footprint *f, double kwh, const char *note, int width, FILE *to,
                        struct wl_arena *a)
{
    double site = site_kwh(f, kwh);
    if (wl_footprint_has_carbon(f) && isnan(f->carbon)) {
        fprintf(to, "  %-*s unknown: %s does not cover all of it\n", width, "carbon", f->carbon_csv);
    } else if (wl_footprint_has_carbon(f)) {
        fprintf(to, "  %-*s %s%s", width, "carbon", wl_human(a, site * f->carbon, "g CO2e"), note);
        if (f->range.n)
            fprintf(to, " (%s to %s)", wl_human(a, site * f->range.v[0], "g"), wl_human(a, site * f->range.v[1], "g"));
        fprintf(to, ": PUE %g, %.4g g/kWh, %s intensity, %s\n", f->pue, f->carbon, f->kind, f->source);
    }
    if (!isnan(f->price))
        fprintf(to, "  %-*s %s %s%s: PUE %g, %g %s/kWh\n", width, "cost", wl_words_number(site * f->price, a),
                f->currency, note, f->pue, f->price, f->currency);
}

void wl_footprint_json(const struct wl_footprint *f, struct wl_json *o)
{
    wl_json_add_real(o, "pue", f->pue);
    wl_json_add_real(o, "carbon_g_per_kwh", f->carbon);
    wl_json_add_str(o, "carbon_kind", wl_footprint_has_carbon(f) ? f->kind : NULL);
    wl_json_add_str(o, "carbon_source", f->source);
    wl_json_add_str(o, "carbon_csv", f->carbon_csv);
    wl_json_add_real(o, "price_per_kwh", f->price);
    wl_json_add_str(o, "currency", isnan(f->price) ? NULL : f->currency);
}

void wl_footprint_energy_json(const struct wl_footprint *f, double kwh, struct wl_json *o)
{
    double site = site_kwh(f, kwh);
    wl_json_add_real(o, "carbon_g", site * f->carbon);
    struct wl_json *range = wl_json_add_array(o, "carbon_g_range");
    for (size_t i = 0; i < f->range.n; i++) wl_json_add_real(range, NULL, site * f->range.v[i]);
    wl_json_add_real(o, "cost", site * f->price);
}

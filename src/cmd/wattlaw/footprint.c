#include "cmd/wattlaw/footprint.h"

#include "cmd/wattlaw/format.h"

#include <math.h>

int wl_cmd_footprint_complete(struct wl_footprint *f, struct wl_arena *a, struct wl_err *e)
{
    const char *faulty;
    int rc = wl_footprint_complete(f, &faulty, a, e);
    return rc < 0 ? wl_err_prefix(e, "--%s", faulty) : 0;
}

/* A store may come from somebody else: a file it names is opened only if the command line names it too. */
static void inherit(struct wl_footprint *f, const struct wl_footprint *stored, struct wl_strs *notes,
                    struct wl_arena *a)
{
    bool named = f->carbon_csv != NULL;
    wl_footprint_inherit(f, stored);
    if (named || !f->carbon_csv) return;
    wl_strs_add(a, notes,
                wl_strf(a, "carbon unknown: the store names %s, which is only opened if given as --carbon-csv",
                        f->carbon_csv));
    f->carbon_csv = NULL;
}

/* Campaigns without an experiment are those of `measure`, whose runs have no carbon settings. */
int wl_cmd_footprint_of_store(struct wl_footprint *f, struct wl_store *s, int64_t campaign, struct wl_strs *notes,
                              struct wl_arena *a, struct wl_err *e)
{
    struct wl_campaign_rows rows;
    struct wl_footprint all;
    size_t read = 0;
    int rc = wl_store_campaigns(s, &rows, a, e);
    for (size_t i = 0; i < rows.n && rc == 0; i++) {
        struct wl_footprint one;
        const char *text = rows.v[i].experiment;
        if (campaign && rows.v[i].id != campaign) continue;
        rc = wl_footprint_from_experiment(text ? text : "", &one, a, e);
        if (rc < 0) break;
        if (read++ == 0) all = one;
        if (wl_footprint_same(&all, &one)) continue;
        wl_strs_add(a, notes, "the campaigns of this store differ in carbon, PUE or price: none of these is used");
        return 0;
    }
    if (rc == 0 && read) inherit(f, &all, notes, a);
    return rc;
}

struct wl_footprint wl_cmd_footprint_of_run(const struct wl_footprint *f, const char *store, int64_t run,
                                            const char **why, struct wl_arena *a)
{
    double g_per_kwh = NAN;
    struct wl_store *s;
    struct wl_err e;
    *why = NULL;
    if (!f->intensity) return *f;
    int rc = wl_store_open(&s, store, WL_STORE_READ, a, &e);
    if (rc == 0) {
        rc = wl_carbon_intensity_of_run(f->intensity, s, run, &g_per_kwh, why, a, &e);
        wl_store_close(s);
    }
    if (rc < 0) *why = wl_strdup(a, e.msg);
    return wl_footprint_with_intensity(f, g_per_kwh);
}

/* Energy at the site's meter, from the energy of devices in J. */
static struct wl_amount site_kwh(const struct wl_footprint *f, const struct wl_amount *energy)
{
    return wl_amount_times(energy, f->pue / WL_J_PER_KWH, "kWh");
}

/* The interval combines those of the energy and of the carbon intensity. */
static struct wl_amount carbon_of(const struct wl_footprint *f, const struct wl_amount *energy)
{
    const struct wl_amount site = site_kwh(f, energy);
    struct wl_amount g = wl_amount_times(&site, f->carbon, "g CO2e");
    if (f->range.n) {
        g.lo = (isnan(site.lo) ? site.value : site.lo) * f->range.v[0];
        g.hi = (isnan(site.hi) ? site.value : site.hi) * f->range.v[1];
    }
    return g;
}

static struct wl_amount cost_of(const struct wl_footprint *f, const struct wl_amount *energy)
{
    const struct wl_amount site = site_kwh(f, energy);
    return wl_amount_times(&site, f->price, f->currency);
}

const char *wl_cmd_footprint_brief(const struct wl_footprint *f, const struct wl_amount *energy, struct wl_arena *a)
{
    const struct wl_amount carbon = carbon_of(f, energy), cost = cost_of(f, energy);
    struct wl_text t = WL_TEXT(a);
    if (wl_footprint_has_carbon(f))
        wl_text_addf(&t, "%s%s", isnan(f->carbon) ? "carbon " : "", wl_amount_text(&carbon, a));
    if (!isnan(f->price)) wl_text_addf(&t, "%s%s", t.n ? ", " : "", wl_amount_text(&cost, a));
    return t.n ? t.s : NULL;
}

void wl_cmd_footprint_print(const struct wl_footprint *f, const struct wl_amount *energy, int width, enum wl_out to,
                            struct wl_arena *a)
{
    const struct wl_amount carbon = carbon_of(f, energy), cost = cost_of(f, energy);
    if (wl_footprint_has_carbon(f) && isnan(f->carbon))
        wl_fprint(to, "  %-*s unknown: %s does not cover the whole time\n", width, "carbon", f->carbon_csv);
    else if (wl_footprint_has_carbon(f))
        wl_fprint(to, "  %-*s %s: PUE %g, %.4g g/kWh, %s intensity, %s\n", width, "carbon", wl_amount_text(&carbon, a),
                  f->pue, f->carbon, f->kind, f->source);
    if (!isnan(f->price))
        wl_fprint(to, "  %-*s %s: PUE %g, %g %s/kWh\n", width, "cost", wl_amount_text(&cost, a), f->pue, f->price,
                  f->currency);
}

void wl_cmd_footprint_json(const struct wl_footprint *f, struct wl_json *o)
{
    wl_json_add_real(o, "pue", f->pue);
    wl_json_add_real(o, "carbon_g_per_kwh", f->carbon);
    wl_json_add_str(o, "carbon_kind", wl_footprint_has_carbon(f) ? f->kind : NULL);
    wl_json_add_str(o, "carbon_source", f->source);
    wl_json_add_str(o, "carbon_csv", f->carbon_csv);
    wl_json_add_real(o, "price_per_kwh", f->price);
    wl_json_add_str(o, "currency", isnan(f->price) ? NULL : f->currency);
}

void wl_cmd_footprint_energy_json(const struct wl_footprint *f, double kwh, struct wl_json *o)
{
    const struct wl_amount energy = wl_amount_of(kwh * WL_J_PER_KWH, "J", WL_MEASURED);
    const double site = site_kwh(f, &energy).value;
    wl_json_add_real(o, "carbon_g", site * f->carbon);
    struct wl_json *range = wl_json_add_array(o, "carbon_g_range");
    for (size_t i = 0; i < f->range.n; i++) wl_json_add_real(range, NULL, site * f->range.v[i]);
    wl_json_add_real(o, "cost", site * f->price);
}

#include "carbon/carbon.h"

#include <math.h>

static int look_up_country(struct wl_footprint *f, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_country *c = wl_country_find(f->country);
    if (c) {
        f->carbon = c->g_per_kwh;
        f->source = wl_strf(a, "%s %d, Ember", c->name, c->year);
        return 0;
    }
    c = wl_country_closest(f->country, a);
    const char *meant = c ? wl_strf(a, " (did you mean %s, %s?)", c->alpha2, c->name) : "";
    return wl_fail(
        e, WL_EUSAGE,
        "'%s' is not in the table of countries%s; expected an ISO 3166 code or an English name (DE, DEU, Germany), or "
        "give the intensity itself instead (--carbon 380; in an experiment carbon = 380)",
        f->country, meant);
}

static int read_intensity(struct wl_footprint *f, struct wl_arena *a, struct wl_err *e)
{
    if (f->country || !isnan(f->carbon) || f->range.n)
        return wl_fail(e, WL_EUSAGE, "a file replaces carbon, carbon-range and country: give one or the other");
    f->intensity = wl_new(a, struct wl_carbon_intensity);
    int rc = wl_carbon_intensity_read(f->carbon_csv, f->intensity, a, e);
    if (rc < 0) return rc;
    if (f->intensity->marginal) f->kind = "marginal";
    f->source = wl_strf(a, "%s%s%s of %s, in steps", f->source ? f->source : "", f->source ? ", " : "",
                        f->intensity->steps.column, f->carbon_csv);
    return 0;
}

static int check_carbon(struct wl_footprint *f, const char **faulty, struct wl_arena *a, struct wl_err *e)
{
    *faulty = "country";
    if (f->country && !isnan(f->carbon)) return wl_fail(e, WL_EUSAGE, "give --country or --carbon, not both");
    if (f->country && wl_str_eq(f->kind, "marginal"))
        return wl_fail(e, WL_EUSAGE, "the table has average intensities only");
    if (f->country) return look_up_country(f, a, e);
    *faulty = "carbon";
    if (!isnan(f->carbon) && !f->source)
        return wl_fail(e, WL_EUSAGE, "needs --carbon-source: the region and time of the intensity");
    *faulty = "carbon-range";
    if (isnan(f->carbon) && f->range.n) return wl_fail(e, WL_EUSAGE, "needs --carbon");
    if (f->range.n && (f->range.n != 2 || f->range.v[0] > f->range.v[1]))
        return wl_fail(e, WL_EUSAGE, "expected LOW,HIGH");
    return 0;
}

int wl_footprint_complete(struct wl_footprint *f, const char **faulty, struct wl_arena *a, struct wl_err *e)
{
    if (isnan(f->pue)) f->pue = 1;
    if (!f->kind) f->kind = "average";
    if (!f->currency) f->currency = "EUR";
    if (!f->carbon_csv) return check_carbon(f, faulty, a, e);
    *faulty = "carbon-csv";
    return read_intensity(f, a, e);
}

bool wl_footprint_has_carbon(const struct wl_footprint *f) { return f->intensity || !isnan(f->carbon); }

struct wl_footprint wl_footprint_with_intensity(const struct wl_footprint *f, double g_per_kwh)
{
    struct wl_footprint at = *f;
    if (f->intensity) at.carbon = g_per_kwh;
    return at;
}

/* ---- of a campaign ---- */

static bool names_carbon(const struct wl_footprint *f)
{
    return !isnan(f->carbon) || f->range.n || f->kind || f->source || f->country || f->carbon_csv;
}

void wl_footprint_inherit(struct wl_footprint *f, const struct wl_footprint *from)
{
    struct wl_footprint own = *f;
    if (!names_carbon(f)) *f = *from;
    f->pue = isnan(own.pue) ? from->pue : own.pue;
    bool priced = !isnan(own.price);
    f->price = priced ? own.price : from->price;
    f->currency = priced || own.currency ? own.currency : from->currency;
}

struct options {
    struct wl_footprint footprint;
};
static const struct wl_opt rows[] = { WL_FOOTPRINT_OPT_ROWS(struct options, footprint), WL_OPT_END };

bool wl_footprint_has_key(const char *key, size_t n)
{
    struct wl_arena *a = wl_arena_new(NULL);
    bool found = wl_opts_find(rows, wl_strndup(a, key, n)) != NULL;
    wl_arena_free(a);
    return found;
}

static const char *text_of(const struct wl_footprint *f, struct wl_arena *a)
{
    struct options in = { *f };
    struct wl_text t = WL_TEXT(a);
    wl_opts_ini(rows, &in, &t);
    return t.s;
}

bool wl_footprint_same(const struct wl_footprint *x, const struct wl_footprint *y)
{
    struct wl_arena *a = wl_arena_new(NULL);
    bool same = wl_str_eq(text_of(x, a), text_of(y, a));
    wl_arena_free(a);
    return same;
}

int wl_footprint_from_experiment(const char *text, struct wl_footprint *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_ini ini = { 0 };
    struct options in = { 0 };
    wl_opts_default(rows, &in, a);
    int rc = wl_ini_parse("the stored experiment", text, &ini, a, e);
    const struct wl_ini_section *s = rc == 0 ? wl_ini_section(&ini, "measure") : NULL;
    for (size_t i = 0; s && i < s->n && rc == 0; i++)
        if (wl_opts_find(rows, s->v[i].key)) rc = wl_opts_set(rows, &in, s->v[i].key, s->v[i].value, ini.path, a, e);
    *out = in.footprint;
    return rc;
}

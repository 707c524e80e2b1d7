/* Limits, restrictions and tables from options. */
#include "cmd/wattlaw/recommend/recommend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- --where and --reference ---- */

static int read_range(const char *option, struct wl_choose_where *w, const char *value, const char *dots,
                      struct wl_arena *a, struct wl_err *e)
{
    const char *lo = wl_str_strip(a, wl_strndup(a, value, (size_t)(dots - value))), *hi = wl_str_strip(a, dots + 2);
    w->least = -INFINITY;
    w->most = INFINITY;
    if ((*lo && wl_str_to_real(lo, &w->least)) || (*hi && wl_str_to_real(hi, &w->most)) || (!*lo && !*hi))
        return wl_fail(e, WL_EUSAGE, "--%s %s: expected LOW..HIGH with numbers, one of them may be left out", option,
                       w->text);
    if (w->least > w->most)
        return wl_fail(e, WL_EUSAGE, "--%s %s: the low end is above the high end: no setting can match", option,
                       w->text);
    return 0;
}

static int read_one(const char *option, const char *text, struct wl_choose_where *w, struct wl_arena *a,
                    struct wl_err *e)
{
    const char *equals = strchr(text, '=');
    *w = (struct wl_choose_where) { .text = text };
    if (!equals || equals == text || !equals[1])
        return wl_fail(e, WL_EUSAGE, "--%s %s: expected COLUMN=VALUE or COLUMN=LOW..HIGH, such as workers=4..16",
                       option, text);
    w->column = wl_str_strip(a, wl_strndup(a, text, (size_t)(equals - text)));
    const char *value = wl_str_strip(a, equals + 1), *dots = strstr(value, "..");
    w->none = wl_str_eq(value, "none");
    if (dots) return read_range(option, w, value, dots, a, e);
    w->value = value;
    return 0;
}

int wl_recommend_read_where(const struct wl_strs *texts, const char *option, struct wl_choose_where **out,
                            struct wl_arena *a, struct wl_err *e)
{
    int rc = 0;
    *out = wl_new_array(a, struct wl_choose_where, texts->n);
    for (size_t i = 0; rc == 0 && i < texts->n; i++) rc = read_one(option, texts->v[i], &(*out)[i], a, e);
    return rc;
}

/* ---- amounts with units ---- */

/* A positive number and what follows it. */
static int split_number(const char *text, double *value, const char **unit, struct wl_arena *a)
{
    const size_t digits = strspn(text, "0123456789.eE+-");
    size_t n = digits;
    while (n && (text[n - 1] == 'e' || text[n - 1] == 'E')) n--; /* 5EUR: not an exponent */
    const char *number = wl_strndup(a, text, n);
    *unit = wl_str_strip(a, text + n);
    return wl_str_to_real(number, value) || !(*value > 0) ? -1 : 0;
}

struct unit {
    const char *name;
    double factor;
};
static const struct unit energies[] = { { "J", 1 },      { "kJ", 1e3 },    { "MJ", 1e6 },    { "GJ", 1e9 },
                                        { "Wh", 3.6e3 }, { "kWh", 3.6e6 }, { "MWh", 3.6e9 }, { NULL, 0 } },
                         masses[] = { { "gCO2e", 1 }, { "kgCO2e", 1e3 }, { "tCO2e", 1e6 }, { NULL, 0 } },
                         powers[] = { { "W", 1 }, { "kW", 1e3 }, { "MW", 1e6 }, { NULL, 0 } };

static double factor_of(const struct unit *v, const char *name)
{
    for (; v->name; v++)
        if (strcmp(v->name, name) == 0) return v->factor;
    return NAN;
}

int wl_recommend_read_site_power(const char *text, double *watts, struct wl_arena *a, struct wl_err *e)
{
    const char *unit;
    if (split_number(text, watts, &unit, a) || isnan(factor_of(powers, unit)))
        return wl_fail(e, WL_EUSAGE, "--site-power %s: expected a positive number with W, kW or MW, such as 40kW",
                       text);
    *watts *= factor_of(powers, unit);
    return 0;
}

static struct wl_choose_limit *add(struct wl_choose_options *o, enum wl_choose_quantity q, double most,
                                   const char *name)
{
    struct wl_choose_limit *l = &o->limits[o->n_limits++];
    *l = (struct wl_choose_limit) { .name = name, .quantity = q, .most = most };
    return l;
}

static int add_budget(const char *text, const char *currency, struct wl_choose_options *out, struct wl_arena *a,
                      struct wl_err *e)
{
    double v;
    const char *unit;
    if (split_number(text, &v, &unit, a))
        return wl_fail(e, WL_EUSAGE, "--budget %s: expected a positive number with a unit, such as 200kWh or 500EUR",
                       text);
    const char *name = wl_strf(a, "--budget %s", text);
    if (!isnan(factor_of(energies, unit)))
        add(out, WL_CHOOSE_ENERGY, v * factor_of(energies, unit), name);
    else if (!isnan(factor_of(masses, unit)))
        add(out, WL_CHOOSE_CARBON, v * factor_of(masses, unit), name);
    else if (wl_str_eq(unit, currency))
        add(out, WL_CHOOSE_COST, v, name);
    else
        return wl_fail(
            e, WL_EUSAGE,
            "--budget %s: unknown unit \"%s\": expected kWh, MWh, J, kJ, MJ or GJ of energy, gCO2e, kgCO2e or "
            "tCO2e of carbon, or %s (--currency)",
            text, unit, currency);
    return 0;
}

int wl_recommend_read_percent(const char *option, const char *text, double most, double *out, struct wl_arena *a,
                              struct wl_err *e)
{
    const size_t n = strlen(text);
    const char *number = n && text[n - 1] == '%' ? wl_strndup(a, text, n - 1) : text;
    if (wl_str_to_real(number, out) || !(*out >= 0 && *out <= most))
        return wl_fail(e, WL_EUSAGE, "--%s %s: expected a percentage from 0 to %g, such as 10%%", option, text, most);
    return 0;
}

bool wl_recommend_is_unlimited(const char *max_slowdown) { return wl_str_eq(max_slowdown, "none"); }

static int add_slowdown(const char *text, struct wl_choose_options *out, struct wl_arena *a, struct wl_err *e)
{
    double v;
    if (wl_recommend_is_unlimited(text)) return 0;
    const int rc = wl_recommend_read_percent("max-slowdown", text, WL_RECOMMEND_SLOWDOWN_MAX, &v, a, e);
    if (rc == 0) add(out, WL_CHOOSE_TIME, 1 + v / 100, wl_strf(a, "--max-slowdown %g%%", v))->relative = true;
    return rc;
}

int wl_recommend_read_limits(const struct wl_recommend_options *o, struct wl_choose_options *out, struct wl_arena *a,
                             struct wl_err *e)
{
    int rc = 0;
    const char *currency = o->footprint.currency ? o->footprint.currency : "EUR";
    out->limits = wl_new_array(a, struct wl_choose_limit, 2 + o->budget.n);
    if (o->max_slowdown) rc = add_slowdown(o->max_slowdown, out, a, e);
    if (rc == 0 && !isnan(o->deadline_s))
        add(out, WL_CHOOSE_TIME, o->deadline_s, wl_strf(a, "--deadline %s", wl_human_time(a, o->deadline_s)));
    for (size_t i = 0; rc == 0 && i < o->budget.n; i++) rc = add_budget(o->budget.v[i], currency, out, a, e);
    return rc;
}

/* ---- --epochs-table ---- */

struct pair {
    double batch, epochs;
};

static int by_batch(const void *x, const void *y)
{
    const struct pair *p = x, *q = y;
    return (p->batch > q->batch) - (p->batch < q->batch);
}

static int read_pair(const struct wl_csv *csv, int batch, int epochs, struct pair *out, struct wl_err *e)
{
    int rc = wl_csv_real(csv, batch, &out->batch, e);
    if (rc == 0) rc = wl_csv_real(csv, epochs, &out->epochs, e);
    if (rc) return rc;
    if (out->batch > 0 && out->epochs > 0) return 0;
    return wl_fail(e, WL_EINVAL, "%s:%d: global_batch %g, epochs %g: expected positive numbers", csv->path, csv->line,
                   out->batch, out->epochs);
}

int wl_recommend_read_epochs_table(const char *path, struct wl_choose_epochs_table *out, struct wl_arena *a,
                                   struct wl_err *e)
{
    struct wl_csv csv;
    struct pair *v = NULL;
    size_t n = 0, cap = 0;
    int more, rc = wl_csv_open(&csv, path, ',', a, e);
    if (rc) return rc;
    const int batch = wl_csv_column(&csv, "global_batch"), epochs = wl_csv_column(&csv, "epochs");
    if (batch < 0 || epochs < 0) return wl_fail(e, WL_EINVAL, "%s: expected the columns global_batch and epochs", path);
    while ((more = wl_csv_next(&csv, e)) > 0) {
        WL_GROW(a, v, n, cap);
        rc = read_pair(&csv, batch, epochs, &v[n++], e);
        if (rc) return rc;
    }
    if (more < 0) return more;
    if (!n) return wl_fail(e, WL_EINVAL, "%s: has a header but no rows", path);
    qsort(v, n, sizeof *v, by_batch);
    *out = (struct wl_choose_epochs_table) { wl_new_array(a, double, n), wl_new_array(a, double, n), n };
    for (size_t i = 0; i < n; i++) {
        if (i && v[i].batch == v[i - 1].batch)
            return wl_fail(e, WL_EINVAL, "%s: global_batch %g occurs twice", path, v[i].batch);
        out->batch[i] = v[i].batch;
        out->epochs[i] = v[i].epochs;
    }
    return 0;
}

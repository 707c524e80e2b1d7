#include "cmd/wattlaw/stop_at.h"

#include <math.h>
#include <string.h>

static const struct unit {
    const char *name, *shown; /* shown: in messages; NULL: as a time */
    double factor;            /* J or s */
    double per_unit;          /* J in one of `shown` */
} units[] = {
    { "J", "J", 1, 1 },
    { "kJ", "J", 1e3, 1 },
    { "MJ", "J", 1e6, 1 },
    { "GJ", "J", 1e9, 1 },
    { "Wh", "kWh", 3.6e3, 3.6e6 },
    { "kWh", "kWh", 3.6e6, 3.6e6 },
    { "MWh", "kWh", 3.6e9, 3.6e6 },
    { "s", NULL, 1 },
    { "min", NULL, 60 },
    { "m", NULL, 60 },
    { "h", NULL, 3600 },
    { "d", NULL, 86400 },
};

/* ---- parsing ---- */

const struct wl_stop_at_price wl_stop_at_price_options = { .price = "--price", .currency = "--currency " };

static int refuse(const char *text, struct wl_err *e)
{
    return wl_fail(
        e, WL_EUSAGE,
        "--stop-at '%s': expected a positive number with a unit: J, kJ, MJ, GJ, Wh, kWh, MWh, a currency such "
        "as EUR, or s, min, h, d",
        text);
}

/* What a unit of money buys at the site's meter, less what the PUE takes: J of devices, as cost is printed. */
static int read_money(const char *text, const char *code, double number, const struct wl_footprint *f,
                      const struct wl_stop_at_price *given, struct wl_run_limit *out, struct wl_err *e)
{
    if (isnan(f->price))
        return wl_fail(e, WL_EUSAGE, "--stop-at '%s' requires %s, the price per kWh", text, given->price);
    if (!(f->price > 0)) return wl_fail(e, WL_EUSAGE, "--stop-at '%s': at a price of 0 no cost is ever reached", text);
    if (!wl_str_eq(f->currency, code))
        return wl_fail(e, WL_EUSAGE, "--stop-at '%s': the price is in %s: give the limit in %s, or %s%s", text,
                       f->currency, f->currency, given->currency, code);
    out->of_energy = true;
    out->unit = f->currency;
    out->per_unit = WL_J_PER_KWH / (f->price * f->pue);
    out->value = number * out->per_unit;
    return isfinite(out->value) ? 0 : refuse(text, e);
}

static int parse(const char *text, const struct wl_footprint *f, const struct wl_stop_at_price *given,
                 struct wl_run_limit *out, struct wl_arena *a, struct wl_err *e)
{
    const size_t n = strspn(text, "0123456789.");
    const char *word = text + n + strspn(text + n, " ");
    double number;
    *out = (struct wl_run_limit) { .text = text };
    if (n == 0 || wl_str_to_real(wl_strndup(a, text, n), &number) || !(number > 0) || !isfinite(number))
        return refuse(text, e);
    for (size_t i = 0; i < WL_COUNT(units); i++) {
        if (!wl_str_eq(word, units[i].name)) continue;
        out->of_energy = units[i].shown != NULL;
        out->unit = units[i].shown;
        out->per_unit = units[i].per_unit;
        out->value = number * units[i].factor;
        return isfinite(out->value) ? 0 : refuse(text, e);
    }
    const char *code = wl_currency_code(word);
    return code ? read_money(text, code, number, f, given, out, e) : refuse(text, e);
}

int wl_stop_at_parse(const struct wl_strs *texts, const struct wl_footprint *f, const struct wl_stop_at_price *given,
                     struct wl_run_limit **out, struct wl_arena *a, struct wl_err *e)
{
    int rc = 0;
    *out = wl_new_array(a, struct wl_run_limit, texts->n);
    for (size_t i = 0; i < texts->n && rc == 0; i++) rc = parse(texts->v[i], f, given, &(*out)[i], a, e);
    return rc;
}

/* ---- printing ---- */

const struct wl_run_limit_state *wl_stop_at_reached(const struct wl_run_limits *l)
{
    size_t n;
    const struct wl_run_limit_state *v = wl_run_limits_states(l, &n);
    for (size_t i = 0; i < n; i++)
        if (v[i].reached) return &v[i];
    return NULL;
}

/* The energy as it is stored, which counts the last second too; else as it was followed. */
static double used_of(const struct wl_run_limit_state *s, double energy_j)
{
    return s->limit.of_energy && !isnan(energy_j) ? energy_j : s->used;
}

void wl_stop_at_print(const struct wl_run_limits *l, const struct wl_amount *energy, struct wl_arena *a)
{
    size_t n;
    const struct wl_run_limit_state *v = wl_run_limits_states(l, &n);
    for (size_t i = 0; i < n; i++) {
        const struct wl_run_limit_state *s = &v[i];
        struct wl_text t = WL_TEXT(a);
        wl_text_addf(&t, "%s: %s, %s used", s->limit.text,
                     s->reached ? "reached, the command was stopped" : "not reached",
                     wl_run_limit_used(s, used_of(s, energy->value), a));
        if (s->work) wl_text_addf(&t, "; %s done", s->work);
        if (s->reached && !isnan(s->forecast))
            wl_text_addf(&t, ", all of them would have taken %s", wl_run_limit_forecast(s, a));
        wl_eprint("  limit        %s\n", t.s);
    }
}

void wl_stop_at_states_json(const struct wl_run_limit_state *v, size_t n, double energy_j, struct wl_json *object)
{
    struct wl_json *list = wl_json_add_array(object, "stop_at");
    for (size_t i = 0; i < n; i++) {
        const struct wl_run_limit_state *s = &v[i];
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "limit", s->limit.text);
        wl_json_add_str(o, "of", s->limit.of_energy ? "energy" : "time");
        wl_json_add_str(o, "unit", s->limit.of_energy ? "J" : "s");
        wl_json_add_real(o, "value", s->limit.value);
        wl_json_add_real(o, "used", used_of(s, energy_j));
        wl_json_add_bool(o, "estimated", s->from & WL_ESTIMATED);
        wl_json_add_bool(o, "simulated", s->from & WL_SIMULATED);
        wl_json_add_bool(o, "reached", s->reached);
        wl_json_add_bool(o, "warned", s->warned);
        wl_json_add_str(o, "done", s->work);
        wl_json_add_real(o, "forecast", s->forecast);
        wl_json_add_real(o, "forecast_lo", s->lo);
        wl_json_add_real(o, "forecast_hi", s->hi);
    }
}

void wl_stop_at_json(const struct wl_run_limits *l, const struct wl_amount *energy, struct wl_json *object)
{
    size_t n;
    const struct wl_run_limit_state *v = wl_run_limits_states(l, &n);
    wl_stop_at_states_json(v, n, energy->value, object);
}

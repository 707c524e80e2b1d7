/* Prices of electricity over time, from a CSV file. */
#include "carbon/carbon.h"

#include "carbon/currency.h"
#include "carbon/internal.h"

#include <ctype.h>
#include <string.h>

/* Units after "/" or "per". A price without one is not taken: markets quote MWh, contracts kWh. */
static const struct {
    const char *word;
    double scale; /* to per kWh */
} units[] = {
    { "kwh", 1 }, { "mwh", 1e-3 }, { "mwhe", 1e-3 }, /* Ember */
};

/* ---- the words of a column's name ---- */

struct name {
    struct wl_strs words; /* in lower case; "per" for "/", too */
    size_t price, unit;   /* words */
    double scale;         /* of the unit */
    const char *shown;    /* as it is in the file */
    const struct wl_csv *csv;
};

/* Bytes from 0x80 on: of letters and signs in UTF-8. */
static bool is_of_word(char c) { return isalnum((unsigned char)c) || c == '$' || (unsigned char)c >= 0x80; }

static struct wl_strs words_of(const char *text, struct wl_arena *a)
{
    struct wl_strs words = { 0 };
    for (size_t n; *text; text += n ? n : 1) {
        for (n = 0; is_of_word(text[n]);) n++;
        if (n)
            wl_strs_add(a, &words, wl_strndup(a, text, n));
        else if (*text == '/')
            wl_strs_add(a, &words, "per");
    }
    return words;
}

static bool find_price(struct name *name)
{
    for (name->price = 0; name->price < name->words.n; name->price++)
        if (strstr(name->words.v[name->price], "price")) return true;
    return false;
}

static bool find_unit(struct name *name)
{
    for (name->unit = 1; name->unit < name->words.n; name->unit++)
        for (size_t i = 0; i < WL_COUNT(units) && wl_str_eq(name->words.v[name->unit - 1], "per"); i++)
            if (wl_str_eq(name->words.v[name->unit], units[i].word)) return name->scale = units[i].scale, true;
    return false;
}

/* The first column of prices with their unit; -1: there is none. */
static int find_column(const struct wl_csv *csv, struct name *out, struct wl_arena *a)
{
    for (size_t i = 0; i < csv->head.n; i++) {
        *out = (struct name) { .words = words_of(wl_grid_lower(csv->head.v[i], a), a),
                               .shown = csv->head.v[i],
                               .csv = csv };
        if (find_price(out) && find_unit(out)) return (int)i;
    }
    return -1;
}

/* ---- its currency ---- */

static int refuse(const struct name *name, const char *what, const char *word, struct wl_err *e)
{
    return wl_fail(e, WL_EINVAL,
                   "%s:%d: column \"%s\": %s \"%s\": expected a currency by its ISO code beside the unit, as "
                   "price_eur_per_mwh, \"Price [EUR/MWh]\" or, of hundredths, price_eur_ct_per_kwh; a description "
                   "comes before \"price\"",
                   name->csv->path, name->csv->line, name->shown, what, word);
}

/* Words before "price" describe it, as in "Day-ahead Price [EUR/MWh]", unless they are money. One letter is the name
 * of a zone or a tariff there. */
static int read_word(const struct name *name, size_t i, const char **currency,
                     const struct wl_currency_hundredth **hundredth, struct wl_err *e)
{
    const char *word = name->words.v[i], *code = wl_currency_code(word);
    const bool describes = i < name->price && name->price < name->unit;
    if (i == name->price || i == name->unit || wl_str_eq(word, "per") || wl_str_eq(word, "in")) return 0;
    if (code && *currency && !wl_str_eq(*currency, code)) return refuse(name, "a second currency", word, e);
    if (code) return *currency = code, 0;
    const struct wl_currency_hundredth *h = describes && !word[1] ? NULL : wl_currency_hundredth(word);
    if (h) return *hundredth = h, 0;
    return describes ? 0 : refuse(name, "unknown word", word, e);
}

/* The scale of the column and the currency. */
static int read_money(const struct name *name, double *scale, const char **currency, struct wl_err *e)
{
    const struct wl_currency_hundredth *h = NULL;
    int rc = 0;
    *currency = NULL;
    for (size_t i = 0; i < name->words.n && rc == 0; i++) rc = read_word(name, i, currency, &h, e);
    if (rc) return rc;
    *scale = name->scale * (h ? 0.01 : 1);
    if (!h) return 0;
    if (!*currency) *currency = wl_currency_only(h);
    if (!*currency) return refuse(name, "several currencies have", h->word, e);
    return wl_currency_has_hundredth(*currency, h) ? 0 : refuse(name, "the currency does not have", h->word, e);
}

int wl_grid_price_read(const char *path, struct wl_grid_steps *out, const char **currency, struct wl_arena *a,
                       struct wl_err *e)
{
    struct wl_csv csv;
    struct name name = { 0 };
    int rc = wl_csv_open(&csv, path, ',', a, e);
    if (rc < 0) return rc;
    struct wl_grid_column c = { .time = wl_grid_time_column(&csv, a),
                                .value = find_column(&csv, &name, a),
                                .min = -1e3,
                                .max = 1e3,
                                .expect = "a price from -1000 to 1000 per kWh" };
    if (c.time < 0 || c.value < 0)
        return wl_fail(e, WL_EINVAL, "%s: no column of %s (docs/formats.md lists the names)", path,
                       c.time < 0 ? "times: timestamp, datetime" : "prices with their unit: price_eur_per_mwh");
    rc = read_money(&name, &c.scale, currency, e);
    return rc ? rc : wl_grid_steps_read(&csv, &c, out, a, e);
}

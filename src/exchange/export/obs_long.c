/* Observations in long form: a line per value. */
#include "exchange/export/export.h"

#include "settings/settings.h"

#include <math.h>
#include <string.h>

/* A column is one of these; the settings, run and epoch begin each line. */
enum kind { KEY, VALUE, METRIC, LEFT_OUT };

static enum kind kind_of(const struct wl_obs_column *c)
{
    static const char *const keys[] = { "run", "epoch", "repeat" };
    static const char *const left_out[] = { "metric", "metric_unit", "metric_better", "estimated", "simulated" };
    for (size_t i = 0; i < WL_COUNT(keys); i++)
        if (strcmp(c->name, keys[i]) == 0) return KEY;
    for (size_t i = 0; i < WL_COUNT(left_out); i++)
        if (strcmp(c->name, left_out[i]) == 0) return LEFT_OUT;
    if (strcmp(c->name, "metric_value") == 0) return METRIC;
    return c->text || c->setting || wl_setting_find(c->name) ? KEY : VALUE;
}

/* Columns that the view adds have their unit at the end of their names. */
static const char *unit_of(const struct wl_obs_column *c)
{
    static const struct {
        const char *ending, *unit;
    } endings[] = { { "_s", "s" }, { "_j", "J" }, { "_w", "W" }, { "_mhz", "MHz" }, { "_pct", "%" }, { "_c", "C" } };
    const size_t n = strlen(c->name);
    if (c->unit) return c->unit;
    for (size_t i = 0; i < WL_COUNT(endings); i++) {
        const size_t k = strlen(endings[i].ending);
        if (n > k && strcmp(c->name + n - k, endings[i].ending) == 0) return endings[i].unit;
    }
    return "";
}

struct long_form {
    const struct wl_observations *obs;
    struct wl_obs_columns columns;
    enum kind *kind; /* [columns.n] */
    struct wl_obs_column metric_unit;
    struct wl_arena *arena;
};

static void put_head(const struct long_form *l, FILE *to)
{
    struct wl_text line = WL_TEXT(l->arena);
    for (size_t c = 0; c < l->columns.n; c++) {
        if (l->kind[c] != KEY) continue;
        wl_csv_put(&line, l->columns.v[c].name);
        wl_text_add(&line, ",");
    }
    fprintf(to, "%squantity,unit,value,estimated,simulated\n", line.s);
}

static void put_keys(const struct long_form *l, size_t row, struct wl_text *keys)
{
    char number[WL_NUMBER_MAX];
    wl_text_clear(keys);
    for (size_t c = 0; c < l->columns.n; c++) {
        const struct wl_obs_column *v = &l->columns.v[c];
        if (l->kind[c] != KEY) continue;
        if (v->text && v->text[row]) wl_csv_put(keys, v->text[row]);
        if (v->real && !isnan(v->real[row])) wl_text_add(keys, wl_number_shortest(v->real[row], number));
        wl_text_add(keys, ",");
    }
}

static void put_value(const struct long_form *l, size_t row, size_t column, const char *keys, struct wl_text *line,
                      FILE *to)
{
    const struct wl_obs_column *v = &l->columns.v[column];
    const bool metric = l->kind[column] == METRIC;
    const char *name = metric && l->obs->metric[row] ? l->obs->metric[row] : v->name, *unit = unit_of(v);
    char number[WL_NUMBER_MAX];
    if (!v->real || isnan(v->real[row])) return;
    if (metric && l->metric_unit.text && l->metric_unit.text[row]) unit = l->metric_unit.text[row];
    wl_text_clear(line);
    wl_csv_put(line, name);
    wl_text_add(line, ",");
    wl_csv_put(line, unit);
    fprintf(to, "%s%s,%s,%d,%d\n", keys, line->s, wl_number_shortest(v->real[row], number), l->obs->estimated[row] != 0,
            l->obs->simulated[row] != 0);
}

void wl_obs_write_long(const struct wl_observations *obs, FILE *to)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct long_form l = { .obs = obs, .columns = wl_obs_columns(obs, a), .arena = a };
    struct wl_text keys = WL_TEXT(a), line = WL_TEXT(a);
    l.kind = wl_new_array(a, enum kind, l.columns.n);
    for (size_t c = 0; c < l.columns.n; c++) {
        l.kind[c] = kind_of(&l.columns.v[c]);
        if (strcmp(l.columns.v[c].name, "metric_unit") == 0) l.metric_unit = l.columns.v[c];
    }
    put_head(&l, to);
    for (size_t row = 0; row < obs->n && !ferror(to); row++) {
        put_keys(&l, row, &keys);
        for (size_t c = 0; c < l.columns.n; c++)
            if (l.kind[c] == VALUE || l.kind[c] == METRIC) put_value(&l, row, c, keys.s, &line, to);
    }
    wl_arena_free(a);
}

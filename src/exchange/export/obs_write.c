#include "exchange/export/export.h"

#include <math.h>

struct wl_obs_columns wl_obs_columns(const struct wl_observations *obs, struct wl_arena *a)
{
    struct wl_obs_columns out = { 0 };
    size_t canonical = 0;
    while (wl_obs_names[canonical]) canonical++;
    out.v = wl_new_array(a, struct wl_obs_column, canonical + obs->n_extra);
    for (; out.n < canonical; out.n++) WL_CHECK(wl_obs_find(obs, wl_obs_names[out.n], &out.v[out.n], NULL) == 0);
    for (size_t i = 0; i < obs->n_extra; i++) out.v[out.n++] = obs->extra[i];
    return out;
}

static void put_field(struct wl_text *line, const struct wl_obs_column *c, size_t row)
{
    char number[WL_NUMBER_MAX];
    if (c->text && c->text[row]) wl_csv_put(line, c->text[row]);
    if (c->real && !isnan(c->real[row])) wl_text_add(line, wl_number_shortest(c->real[row], number));
}

void wl_obs_write_csv(const struct wl_observations *obs, FILE *to)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_obs_columns columns = wl_obs_columns(obs, a);
    struct wl_text line = WL_TEXT(a);
    for (size_t c = 0; c < columns.n; c++) {
        if (c) wl_text_add(&line, ",");
        wl_csv_put(&line, columns.v[c].name);
    }
    fprintf(to, "%s\n", line.s);
    for (size_t row = 0; row < obs->n && !ferror(to); row++) {
        wl_text_clear(&line);
        for (size_t c = 0; c < columns.n; c++) {
            if (c) wl_text_add(&line, ",");
            put_field(&line, &columns.v[c], row);
        }
        fprintf(to, "%s\n", line.s);
    }
    wl_arena_free(a);
}

void wl_obs_write_jsonl(const struct wl_observations *obs, FILE *to)
{
    struct wl_arena *columns_arena = wl_arena_new(NULL);
    struct wl_obs_columns columns = wl_obs_columns(obs, columns_arena);
    for (size_t row = 0; row < obs->n && !ferror(to); row++) {
        struct wl_arena *a = wl_arena_new(NULL);
        struct wl_json *object = wl_json_root_object(a);
        for (size_t i = 0; i < columns.n; i++) {
            const struct wl_obs_column *c = &columns.v[i];
            if (c->text && c->text[row]) wl_json_add_str(object, c->name, c->text[row]);
            if (c->real && !isnan(c->real[row])) wl_json_add_number(object, c->name, c->real[row]);
        }
        fprintf(to, "%s\n", wl_json_printable(wl_json_text(object, 0, a), a));
        wl_arena_free(a);
    }
    wl_arena_free(columns_arena);
}

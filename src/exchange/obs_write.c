#include "exchange/exchange.h"

#include <math.h>

/* All columns: the canonical ones, then the extra ones. */
struct columns {
    struct wl_obs_column *v;
    size_t n;
};

static struct columns all_columns(const struct wl_observations *obs, struct wl_arena *a)
{
    struct columns out = { 0 };
    size_t canonical = 0;
    while (wl_obs_names[canonical]) canonical++;
    out.v = wl_new_array(a, struct wl_obs_column, canonical + obs->n_extra);
    for (; out.n < canonical; out.n++) WL_CHECK(wl_obs_find(obs, wl_obs_names[out.n], &out.v[out.n], NULL) == 0);
    for (size_t i = 0; i < obs->n_extra; i++) out.v[out.n++] = obs->extra[i];
    return out;
}

/* The shortest decimal that reads back as the same double. */
static const char *shortest(double value, char *buf, size_t size)
{
    for (int digits = 15; digits <= 17; digits++) {
        double back;
        snprintf(buf, size, "%.*g", digits, value);
        if (wl_str_to_real(buf, &back) == 0 && back == value) break;
    }
    return buf;
}

static void put_field(struct wl_text *line, const struct wl_obs_column *c, size_t row)
{
    char number[32];
    if (c->text && c->text[row]) wl_csv_put(line, c->text[row]);
    if (c->real && !isnan(c->real[row])) wl_text_add(line, shortest(c->real[row], number, sizeof number));
}

void wl_obs_write_csv(const struct wl_observations *obs, FILE *to)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct columns columns = all_columns(obs, a);
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
    struct columns columns = all_columns(obs, columns_arena);
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

#include "cmd/wattlaw/export/export.h"

#include "exchange/exchange.h"
#include "report/report.h"

#include <math.h>
#include <string.h>

static bool is_whole(const struct wl_obs_column *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isnan(c->real[i]) && (c->real[i] != floor(c->real[i]) || fabs(c->real[i]) > 1e9)) return false;
    return true;
}

/* The flags of all rows together are in the title; a row's own are in a column where they differ. */
static bool is_flag(const struct wl_obs_column *c)
{
    return strcmp(c->name, "estimated") == 0 || strcmp(c->name, "simulated") == 0;
}

static struct wl_report_columns columns_of(const struct wl_observations *obs, const struct wl_obs_columns *from,
                                           bool marked, struct wl_arena *a)
{
    struct wl_report_columns out = { 0 };
    for (size_t c = 0; c < from->n; c++) {
        const struct wl_obs_column *v = &from->v[c];
        const struct wl_report_column column = { .id = v->name,
                                                 .label = v->name,
                                                 .unit = v->unit,
                                                 .text = v->text != NULL,
                                                 .digits = v->real && !is_whole(v, obs->n) ? 5 : 0 };
        if (!is_flag(v)) wl_report_columns_add(&out, &column, 1, a);
    }
    if (marked)
        wl_report_columns_add(&out,
                              &(struct wl_report_column) { .id = "provenance", .label = "provenance", .text = true }, 1,
                              a);
    return out;
}

static void add_row(struct wl_report_table *t, const struct wl_observations *obs, const struct wl_obs_columns *from,
                    size_t row, bool marked)
{
    const bool estimated = obs->estimated[row] != 0, simulated = obs->simulated[row] != 0;
    for (size_t c = 0; c < from->n; c++) {
        const struct wl_obs_column *v = &from->v[c];
        if (is_flag(v)) continue;
        if (v->text)
            wl_report_table_text(t, v->text[row]);
        else
            wl_report_table_real(t, v->real[row]);
    }
    const char *word = wl_provenance_word(wl_provenance_of(estimated, simulated));
    if (marked) wl_report_table_text(t, *word ? word : "measured");
    t->estimated = t->estimated || estimated;
    t->simulated = t->simulated || simulated;
}

void wl_cmd_export_table(const struct wl_observations *obs, const char *format, FILE *to)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_obs_columns from = wl_obs_columns(obs, a);
    struct wl_text text = WL_TEXT(a);
    bool differ = false;
    for (size_t i = 1; i < obs->n; i++)
        differ = differ || obs->estimated[i] != obs->estimated[0] || obs->simulated[i] != obs->simulated[0];
    const struct wl_report_columns columns = columns_of(obs, &from, differ, a);
    struct wl_report_table *t =
        wl_report_table_new(a, "observations", wl_strf(a, "Observations of %s", wl_path_base(obs->source)), columns.v,
                            columns.n);
    for (size_t i = 0; i < obs->n; i++) add_row(t, obs, &from, i, differ);
    wl_report_table_format(format)(t, &text);
    fputs(text.s, to);
    wl_arena_free(a);
}

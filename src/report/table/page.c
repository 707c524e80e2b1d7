/* A table on the page: the rows that there is room for, and what they are about. */
#include "report/escape.h"
#include "report/labels.h"
#include "report/metric_docs.h"
#include "report/table/cells.h"
#include "report/table/page_rows.h"

enum { PAGE_ROWS = 150 }; /* of a table, whatever the size of a store; all of them are in the CSV file */

static void put_heading(const struct wl_report_column *c, struct wl_text *to)
{
    const struct wl_metric_doc *m = wl_metric_doc(c->metric);
    wl_text_addf(to, "<th scope=\"col\"%s>", c->text ? " class=t" : "");
    if (m) wl_text_addf(to, "<a href=\"#metric-%s\">", m->id);
    wl_escape_html(to, c->label);
    if (m) wl_text_add(to, "</a>");
    if (c->unit) {
        wl_text_add(to, " <span class=\"unit\">[");
        wl_escape_html(to, c->unit);
        wl_text_add(to, "]</span>");
    }
    wl_text_add(to, "</th>");
}

/* The cells of a row. HTML leaves the end tags of cells and rows out, and so do we: a twentieth of a large page. */
static void put_row(const struct wl_report_table *t, const bool *used, size_t row, struct wl_text *to)
{
    for (size_t c = 0; c < t->n_columns; c++) {
        if (!used[c]) continue;
        wl_text_add(to, t->columns[c].text ? "<td class=t>" : "<td>");
        wl_escape_html(to, wl_report_table_cell_text(t, row, c));
    }
    wl_text_add(to, "\n");
}

/* The keys of the rows for ui/tables.js, which shows those that are picked and says how many there are elsewhere: of
 * each its workloads, its factor and the number of rows in the whole table. */
static void put_keys(const struct wl_report_row_keys *keys, struct wl_arena *a, struct wl_text *to)
{
    struct wl_json *list = wl_json_root_array(a);
    for (size_t k = 0; k < keys->n; k++) {
        struct wl_json *key = wl_json_add_array(list, NULL), *of = wl_json_add_array(key, NULL);
        for (size_t i = 0; i < keys->v[k].n_of; i++) wl_json_add_int(of, NULL, (int64_t)keys->v[k].of[i]);
        wl_json_add_str(key, NULL, keys->v[k].factor);
        wl_json_add_int(key, NULL, (int64_t)keys->v[k].rows);
    }
    wl_escape_attribute(to, "data-keys", wl_json_text_to_draw(list, a));
}

static void put_rows(const struct wl_report_table *t, const struct wl_report_row_keys *keys, bool keyed,
                     const bool *used, struct wl_text *to)
{
    const bool *kept = t->n_rows > PAGE_ROWS ? wl_report_page_rows(t, keys, PAGE_ROWS) : NULL;
    for (size_t r = 0; r < t->n_rows; r++) {
        if (kept && !kept[r]) continue;
        if (keyed)
            wl_text_addf(to, "<tr data-k=%zu>", keys->of_row[r]);
        else
            wl_text_add(to, "<tr>");
        put_row(t, used, r, to);
    }
}

static void put_rows_note(const struct wl_report_table *t, struct wl_text *to)
{
    if (t->n_rows > PAGE_ROWS)
        wl_text_addf(to,
                     "<details><summary>%d of %zu rows</summary>\n<p class=\"caption\">All %zu rows: tables/%s.csv, "
                     "which <code>wattlaw report --formats csv</code> writes.</p>\n",
                     PAGE_ROWS, t->n_rows, t->n_rows, t->id);
    else if (t->n_rows > WL_REPORT_LONG_ROWS)
        wl_text_addf(to, "<details><summary>%zu rows</summary>\n", t->n_rows);
}

/* A table so long that it would hide what follows is folded. */
void wl_report_table_page(const struct wl_report_table *t, struct wl_text *to)
{
    const bool *used = wl_report_table_used_columns(t);
    const char *honesty = wl_provenance_note(t->estimated, t->simulated);
    const struct wl_report_row_keys keys = wl_report_row_keys(t);
    const bool keyed = keys.n > 1 || (t->workloads && t->workloads->n > 1);
    wl_text_addf(to, "<figure class=\"table\" id=\"table-%s\"", t->id);
    wl_escape_attribute(to, "data-workload", t->workload);
    wl_escape_attribute(to, "data-factor", t->factor);
    wl_text_add(to, ">\n<figcaption><h3>");
    wl_escape_html(to, t->title);
    if (honesty) wl_text_addf(to, " <span class=\"badge\">%s</span>", honesty);
    wl_text_add(to, "</h3></figcaption>\n");
    put_rows_note(t, to);
    wl_text_add(to, "<div class=\"scroll\"><table");
    if (keyed) put_keys(&keys, t->arena, to);
    wl_text_add(to, ">\n<thead><tr>");
    for (size_t c = 0; c < t->n_columns; c++) {
        if (used[c]) put_heading(&t->columns[c], to);
    }
    wl_text_add(to, "</tr></thead>\n<tbody>\n");
    put_rows(t, &keys, keyed, used, to);
    wl_text_add(to, "</tbody>\n</table></div>\n");
    if (t->n_rows > WL_REPORT_LONG_ROWS) wl_text_add(to, "</details>\n");
    if (t->caption) {
        wl_text_add(to, "<p class=\"caption\">");
        wl_escape_html_prose(to, t->caption);
        wl_text_add(to, "</p>\n");
    }
    wl_text_add(to, "</figure>\n");
}

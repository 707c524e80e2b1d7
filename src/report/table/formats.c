/* The formats of tables, one writer per format: text, CSV, Markdown, LaTeX and HTML. CSV has every column, the others
 * those with a value. */
#include "report/escape.h"
#include "report/labels.h"
#include "report/metric_docs.h"
#include "report/table/cells.h"

#include <math.h>

static void write_text(const struct wl_report_table *t, struct wl_text *to)
{
    struct wl_table text = wl_table_new(t->arena);
    const char *honesty = wl_provenance_note(t->estimated, t->simulated);
    for (size_t c = 0; c < t->n_columns; c++)
        wl_table_column(&text, wl_report_table_column_title(&t->columns[c], t->arena), !t->columns[c].text);
    for (size_t r = 0; r < t->n_rows; r++) {
        for (size_t c = 0; c < t->n_columns; c++) wl_table_cell(&text, wl_report_table_cell_text(t, r, c));
        wl_table_row(&text);
    }
    wl_text_add(to, wl_printable(t->arena, t->title, WL_PRINTABLE_LINE));
    if (honesty) wl_text_addf(to, " (%s)", honesty);
    wl_text_add(to, "\n");
    wl_table_text(&text, to, 0);
}

static void write_csv(const struct wl_report_table *t, struct wl_text *to)
{
    for (size_t c = 0; c < t->n_columns; c++) {
        if (c) wl_text_add(to, ",");
        wl_csv_put(to, t->columns[c].id);
    }
    wl_text_add(to, ",estimated,simulated\n");
    for (size_t r = 0; r < t->n_rows; r++) {
        for (size_t c = 0; c < t->n_columns; c++) {
            const struct wl_report_cell *cell = &t->cells[r * t->n_columns + c];
            if (c) wl_text_add(to, ",");
            if (cell->text)
                wl_csv_put(to, cell->text);
            else if (isfinite(cell->value))
                wl_text_addf(to, "%.15g", cell->value);
        }
        wl_text_addf(to, ",%d,%d\n", t->estimated, t->simulated);
    }
}

static void write_markdown(const struct wl_report_table *t, struct wl_text *to)
{
    const bool *used = wl_report_table_used_columns(t);
    const char *honesty = wl_provenance_note(t->estimated, t->simulated);
    wl_text_add(to, "**");
    wl_escape_markdown(to, t->title);
    wl_text_add(to, "**");
    if (honesty) wl_text_addf(to, " (%s)", honesty);
    wl_text_add(to, "\n\n|");
    for (size_t c = 0; c < t->n_columns; c++) {
        if (!used[c]) continue;
        wl_text_add(to, " ");
        wl_escape_markdown(to, t->columns[c].label);
        if (t->columns[c].unit) {
            wl_text_add(to, " (");
            wl_escape_markdown(to, t->columns[c].unit);
            wl_text_add(to, ")");
        }
        wl_text_add(to, " |");
    }
    wl_text_add(to, "\n|");
    for (size_t c = 0; c < t->n_columns; c++) {
        if (used[c]) wl_text_add(to, t->columns[c].text ? " :-- |" : " --: |");
    }
    wl_text_add(to, "\n");
    for (size_t r = 0; r < t->n_rows; r++) {
        wl_text_add(to, "|");
        for (size_t c = 0; c < t->n_columns; c++) {
            if (!used[c]) continue;
            wl_text_add(to, " ");
            wl_escape_markdown(to, wl_report_table_cell_text(t, r, c));
            wl_text_add(to, " |");
        }
        wl_text_add(to, "\n");
    }
    if (!t->caption) return;
    wl_text_add(to, "\n");
    wl_escape_markdown(to, t->caption);
    wl_text_add(to, "\n");
}

/* Row SIZE_MAX: the headings. */
static void put_latex_row(const struct wl_report_table *t, const bool *used, size_t row, struct wl_text *to)
{
    const char *before = "";
    for (size_t c = 0; c < t->n_columns; c++) {
        if (!used[c]) continue;
        wl_text_add(to, before);
        wl_escape_latex(to, row == SIZE_MAX ? wl_report_table_column_title(&t->columns[c], t->arena)
                                            : wl_report_table_cell_text(t, row, c));
        before = " & ";
    }
    wl_text_add(to, " \\\\\n");
}

/* More rows than fit on a page. */
enum { LONG_ROWS = 40 };

static void put_latex_caption(const struct wl_report_table *t, struct wl_text *to)
{
    const char *honesty = wl_provenance_note(t->estimated, t->simulated);
    wl_text_add(to, "\\caption{");
    wl_escape_latex(to, t->title);
    if (honesty) wl_text_addf(to, " (%s)", honesty);
    wl_text_add(to, ".");
    if (t->caption) {
        wl_text_add(to, " ");
        wl_escape_latex(to, t->caption);
    }
    wl_text_addf(to, "}\n\\label{tab:%s}", t->id);
}

static void put_latex_columns(const struct wl_report_table *t, const bool *used, struct wl_text *to)
{
    for (size_t c = 0; c < t->n_columns; c++) {
        if (used[c]) wl_text_add(to, t->columns[c].text ? "l" : "r");
    }
    wl_text_add(to, "}\n");
}

static void put_latex_head(const struct wl_report_table *t, const bool *used, const char *suffix, struct wl_text *to)
{
    wl_text_add(to, "\\toprule\n");
    put_latex_row(t, used, SIZE_MAX, to);
    wl_text_addf(to, "\\midrule\n%s", suffix);
}

/* For \usepackage{booktabs}, long ones for longtable too, whose head is on each page; UTF-8 input. */
static void write_latex(const struct wl_report_table *t, struct wl_text *to)
{
    const bool folded = t->n_rows > LONG_ROWS, *used = wl_report_table_used_columns(t);
    wl_text_addf(to, "%% needs \\usepackage{booktabs} and%s \\usepackage[T1]{fontenc}\n",
                 folded ? " \\usepackage{longtable} and" : "");
    if (folded) {
        wl_text_add(to, "\\begin{longtable}{");
        put_latex_columns(t, used, to);
        put_latex_caption(t, to);
        wl_text_add(to, "\\\\\n");
        put_latex_head(t, used, "\\endfirsthead\n", to);
        put_latex_head(t, used, "\\endhead\n", to);
    } else {
        wl_text_add(to, "\\begin{table}\n\\centering\n");
        put_latex_caption(t, to);
        wl_text_add(to, "\n\\begin{tabular}{");
        put_latex_columns(t, used, to);
        put_latex_head(t, used, "", to);
    }
    for (size_t r = 0; r < t->n_rows; r++) put_latex_row(t, used, r, to);
    wl_text_addf(to, "\\bottomrule\n%s", folded ? "\\end{longtable}\n" : "\\end{tabular}\n\\end{table}\n");
}

static void put_html_heading(const struct wl_report_column *c, struct wl_text *to)
{
    const struct wl_metric_doc *m = wl_metric_doc(c->metric);
    wl_text_addf(to, "<th scope=\"col\"%s>", c->text ? " class=\"text\"" : "");
    if (m) {
        wl_text_addf(to, "<a href=\"#metric-%s\" title=\"", m->id);
        wl_escape_html(to, m->formula);
        wl_text_add(to, "\">");
    }
    wl_escape_html(to, c->label);
    if (m) wl_text_add(to, "</a>");
    if (c->unit) {
        wl_text_add(to, " <span class=\"unit\">[");
        wl_escape_html(to, c->unit);
        wl_text_add(to, "]</span>");
    }
    wl_text_add(to, "</th>");
}

/* HTML leaves the end tags of cells and rows out, and so do we: a twentieth of a large page. */
static void put_html_row(const struct wl_report_table *t, const bool *used, size_t row, struct wl_text *to)
{
    wl_text_add(to, "<tr>");
    for (size_t c = 0; c < t->n_columns; c++) {
        if (!used[c]) continue;
        wl_text_add(to, t->columns[c].text ? "<td class=\"text\">" : "<td>");
        wl_escape_html(to, wl_report_table_cell_text(t, row, c));
    }
    wl_text_add(to, "\n");
}

/* A page holds so many rows of a table, whatever the size of a store: first the rows that say why a run was not used,
 * say, then those at the head; all of them are in the CSV file. */
enum { PAGE_ROWS = 150 };

static void put_html_rows(const struct wl_report_table *t, const bool *used, struct wl_text *to)
{
    size_t notable = 0, plain = 0;
    for (size_t r = 0; r < t->n_rows; r++) notable += wl_report_table_is_notable(t, r);
    notable = notable < PAGE_ROWS ? notable : PAGE_ROWS;
    for (size_t r = 0, seen = 0; r < t->n_rows; r++) {
        const bool kept = wl_report_table_is_notable(t, r) ? seen++ < notable : plain++ < PAGE_ROWS - notable;
        if (t->n_rows <= PAGE_ROWS || kept) put_html_row(t, used, r, to);
    }
}

/* A table so long that it would hide what follows is folded. */
static void write_html(const struct wl_report_table *t, struct wl_text *to)
{
    const bool fold = t->n_rows > LONG_ROWS, *used = wl_report_table_used_columns(t);
    const char *honesty = wl_provenance_note(t->estimated, t->simulated);
    wl_text_addf(to, "<figure class=\"table\" id=\"table-%s\"", t->id);
    wl_escape_attribute(to, "data-workload", t->workload);
    wl_escape_attribute(to, "data-factor", t->factor);
    wl_text_add(to, ">\n<figcaption><h3>");
    wl_escape_html(to, t->title);
    if (honesty) wl_text_addf(to, " <span class=\"badge\">%s</span>", honesty);
    wl_text_add(to, "</h3></figcaption>\n");
    if (t->n_rows > PAGE_ROWS)
        wl_text_addf(to,
                     "<details><summary>%d of %zu rows</summary>\n<p class=\"caption\">All %zu rows: tables/%s.csv, "
                     "which <code>wattlaw report --formats csv</code> writes.</p>\n",
                     PAGE_ROWS, t->n_rows, t->n_rows, t->id);
    else if (fold)
        wl_text_addf(to, "<details><summary>%zu rows</summary>\n", t->n_rows);
    wl_text_add(to, "<div class=\"scroll\"><table>\n<thead><tr>");
    for (size_t c = 0; c < t->n_columns; c++) {
        if (used[c]) put_html_heading(&t->columns[c], to);
    }
    wl_text_add(to, "</tr></thead>\n<tbody>\n");
    put_html_rows(t, used, to);
    wl_text_add(to, "</tbody>\n</table></div>\n");
    if (fold) wl_text_add(to, "</details>\n");
    if (t->caption) {
        wl_text_add(to, "<p class=\"caption\">");
        wl_escape_html(to, t->caption);
        wl_text_add(to, "</p>\n");
    }
    wl_text_add(to, "</figure>\n");
}

static const struct {
    const char *name;
    wl_report_table_writer *write;
} formats[] = {
    { "text", write_text }, { "csv", write_csv },   { "md", write_markdown },
    { "tex", write_latex }, { "html", write_html },
};

wl_report_table_writer *wl_report_table_format(const char *name)
{
    for (size_t i = 0; i < WL_COUNT(formats); i++) {
        if (wl_str_eq(formats[i].name, name)) return formats[i].write;
    }
    return NULL;
}

/* The formats of tables, one writer per format: text, CSV, Markdown and LaTeX; page.c has HTML. CSV has every column,
 * the others those with a value. */
#include "report/escape.h"
#include "report/labels.h"
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
    const bool folded = t->n_rows > WL_REPORT_LONG_ROWS, *used = wl_report_table_used_columns(t);
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

static const struct {
    const char *name;
    wl_report_table_writer *write;
} formats[] = {
    { "text", write_text },           { "csv", write_csv }, { "md", write_markdown }, { "tex", write_latex },
    { "html", wl_report_table_page },
};

wl_report_table_writer *wl_report_table_format(const char *name)
{
    for (size_t i = 0; i < WL_COUNT(formats); i++) {
        if (wl_str_eq(formats[i].name, name)) return formats[i].write;
    }
    return NULL;
}

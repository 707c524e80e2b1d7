/* A document as files in a folder. */
#include "report/document/document.h"

enum { HTML, SVG, PDF, CSV, MD, TEX, FORMATS };
static const char *const format_names[FORMATS] = { "html", "svg", "pdf", "csv", "md", "tex" };

struct writing {
    const struct wl_document *d;
    const char *figures, *tables; /* folders */
    bool want[FORMATS], no_gnuplot;
    struct wl_document_files *out;
    struct wl_progress *progress;
    size_t done, total;
    struct wl_arena *arena;
};

static int choose_formats(const struct wl_strs *names, bool *want, struct wl_err *e)
{
    for (size_t i = 0; i < names->n; i++) {
        size_t k = 0;
        while (k < FORMATS && !wl_str_eq(names->v[i], format_names[k])) k++;
        if (k == FORMATS) {
            const char *near = wl_str_closest(names->v[i], format_names, FORMATS);
            return wl_fail(e, WL_EUSAGE, "unknown format %s (known: html, svg, pdf, csv, md, tex)%s%s%s", names->v[i],
                           near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
        }
        want[k] = true;
    }
    return 0;
}

static int write_text(struct writing *w, const char *path, const struct wl_text *text, struct wl_err *e)
{
    int rc = wl_file_write(path, text->s, text->n, e);
    if (rc == 0) wl_strs_add(w->arena, &w->out->paths, path);
    return rc;
}

static char *file_in(struct writing *w, const char *dir, const char *id, const char *ending)
{
    return wl_path_join(w->arena, dir, wl_strf(w->arena, "%s.%s", id, ending));
}

static int write_figure_csv(struct writing *w, const struct wl_figure *f, struct wl_err *e)
{
    struct wl_text text = WL_TEXT(w->arena);
    wl_figure_csv(f, &text);
    return write_text(w, file_in(w, w->figures, f->id, "csv"), &text, e);
}

static int draw(struct writing *w, const struct wl_figure *f, const char *script, int format, struct wl_err *e)
{
    char *path = file_in(w, w->figures, f->id, format_names[format]);
    if (!w->want[format] || w->no_gnuplot) return 0;
    struct wl_err why = { 0 };
    int rc = wl_gnuplot_run(script, format_names[format], path, w->arena, &why);
    if (rc == WL_EUNAVAIL) {
        w->no_gnuplot = true;
        wl_strs_add(w->arena, &w->out->notes,
                    wl_strf(w->arena, "%s: the figures are written as scripts and CSV, not as pictures", why.msg));
        return 0;
    }
    if (rc) return wl_fail(e, rc, "%s", why.msg);
    wl_strs_add(w->arena, &w->out->paths, path);
    return 0;
}

static int write_figure(struct writing *w, const struct wl_figure *f, struct wl_err *e)
{
    int rc = 0;
    if (w->want[SVG] || w->want[PDF]) {
        struct wl_text script = WL_TEXT(w->arena);
        char *path = file_in(w, w->figures, f->id, "gp");
        wl_figure_gnuplot(f, &script);
        rc = write_text(w, path, &script, e);
        if (rc == 0) rc = draw(w, f, path, SVG, e);
        if (rc == 0) rc = draw(w, f, path, PDF, e);
    }
    if (rc == 0 && (w->want[CSV] || w->no_gnuplot)) rc = write_figure_csv(w, f, e);
    return rc;
}

static int write_table(struct writing *w, const struct wl_report_table *t, struct wl_err *e)
{
    static const int formats[] = { CSV, MD, TEX };
    for (size_t i = 0; i < WL_COUNT(formats); i++) {
        if (!w->want[formats[i]]) continue;
        const char *name = format_names[formats[i]];
        struct wl_text text = WL_TEXT(w->arena);
        wl_report_table_format(name)(t, &text);
        int rc = write_text(w, file_in(w, w->tables, t->id, name), &text, e);
        if (rc) return rc;
    }
    return 0;
}

static int write_page(struct writing *w, const char *dir, struct wl_err *e)
{
    if (!w->want[HTML]) return 0;
    struct wl_text page = WL_TEXT(w->arena);
    wl_document_html(w->d, &page);
    return write_text(w, wl_path_join(w->arena, dir, "report.html"), &page, e);
}

static void step(struct writing *w, const char *what)
{
    if (w->progress) wl_progress_update(w->progress, (double)w->done, (double)w->total, -1, what);
    w->done++;
}

static int write_section(struct writing *w, const struct wl_section *s, struct wl_err *e)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < s->n_figures; i++) {
        step(w, s->figures[i]->id);
        rc = write_figure(w, s->figures[i], e);
    }
    for (size_t i = 0; rc == 0 && i < s->n_tables; i++) {
        step(w, s->tables[i]->id);
        rc = write_table(w, s->tables[i], e);
    }
    return rc;
}

static int make_folders(struct writing *w, const char *dir, struct wl_err *e)
{
    int rc = wl_mkdirs(dir, e);
    if (rc == 0 && (w->want[SVG] || w->want[PDF] || w->want[CSV])) rc = wl_mkdirs(w->figures, e);
    if (rc == 0 && (w->want[CSV] || w->want[MD] || w->want[TEX])) rc = wl_mkdirs(w->tables, e);
    if (rc) return rc;
    const char *const folders[] = { dir, w->figures,
                                    w->tables }; /* a report that was killed may have had other files */
    for (size_t i = 0; i < WL_COUNT(folders); i++) wl_tempfile_clean(folders[i]);
    return 0;
}

int wl_document_write(const struct wl_document *d, const char *dir, const struct wl_strs *formats,
                      struct wl_progress *progress, struct wl_document_files *out, struct wl_arena *a, struct wl_err *e)
{
    struct writing w = { .d = d,
                         .figures = wl_path_join(a, dir, "figures"),
                         .tables = wl_path_join(a, dir, "tables"),
                         .progress = progress,
                         .out = out,
                         .arena = a };
    *out = (struct wl_document_files) { 0 };
    int rc = choose_formats(formats, w.want, e);
    if (rc == 0) rc = make_folders(&w, dir, e);
    if (rc) return rc;

    for (size_t i = 0; i < d->n_sections; i++) w.total += d->sections[i]->n_figures + d->sections[i]->n_tables;
    rc = write_page(&w, dir, e);
    for (size_t i = 0; rc == 0 && i < d->n_sections; i++) rc = write_section(&w, d->sections[i], e);
    return rc;
}

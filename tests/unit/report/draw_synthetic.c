/* Draws the synthetic page into a folder, to be looked at: draw_synthetic DIR. */
#include "synthetic.h"

#include <stdio.h>

static int draw(const char *dir, struct wl_arena *a, struct wl_err *e)
{
    struct wl_document *d = synthetic_document(a);
    struct wl_text page = WL_TEXT(a);
    wl_document_html(d, &page);
    int rc = wl_mkdirs(dir, e);
    if (rc == 0) rc = wl_file_write(wl_path_join(a, dir, "report.html"), page.s, page.n, e);
    for (size_t i = 0; rc == 0 && i < d->sections[0]->n_figures; i++) {
        const struct wl_figure *f = d->sections[0]->figures[i];
        struct wl_text script = WL_TEXT(a);
        char *path = wl_path_join(a, dir, wl_strf(a, "%s.gp", f->id));
        wl_figure_gnuplot(f, &script);
        rc = wl_file_write(path, script.s, script.n, e);
        if (rc == 0) rc = wl_gnuplot_run(path, "svg", wl_path_join(a, dir, wl_strf(a, "%s.svg", f->id)), a, e);
        if (rc == 0) rc = wl_gnuplot_run(path, "pdf", wl_path_join(a, dir, wl_strf(a, "%s.pdf", f->id)), a, e);
    }
    return rc;
}

int main(int argc, char **argv)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e = { 0 };
    int rc = argc == 2 ? draw(argv[1], a, &e) : wl_fail(&e, WL_EUSAGE, "usage: draw_synthetic DIR");
    if (rc) fprintf(stderr, "%s\n", e.msg);
    wl_arena_free(a);
    return rc != 0;
}

#include "exchange/import/report.h"

#include "exchange/import/import.h"

void wl_import_reject(struct wl_import *im, const char *fmt, ...)
{
    struct wl_import_report *r = &im->report;
    va_list ap;
    if (r->n_rejected++ >= WL_IMPORT_MESSAGES) return;
    va_start(ap, fmt);
    wl_strs_addf(im->a, &r->rejected, "%s:%lld: %s", im->in->path, (long long)im->in->line, wl_strfv(im->a, fmt, ap));
    va_end(ap);
}

void wl_import_note(struct wl_import *im, const char *fmt, ...)
{
    struct wl_strs *notes = &im->report.notes;
    va_list ap;
    va_start(ap, fmt);
    const char *text = wl_strfv(im->a, fmt, ap);
    va_end(ap);
    for (size_t i = 0; i < notes->n; i++)
        if (wl_str_eq(notes->v[i], text)) return;
    wl_strs_add(im->a, notes, text);
}

void wl_import_count(struct wl_import_counts *list, const char *what, size_t n, struct wl_arena *a)
{
    for (size_t i = 0; i < list->n; i++) {
        if (!wl_str_eq(list->v[i].what, what)) continue;
        list->v[i].n += n;
        return;
    }
    WL_GROW(a, list->v, list->n, list->cap);
    list->v[list->n++] = (struct wl_import_count) { wl_strdup(a, what), n };
}

void wl_import_pass_over(struct wl_import *im, const char *what, size_t n)
{
    wl_import_count(&im->report.passed_over, what, n, im->a);
}

void wl_import_set_tool(struct wl_import *im, const char *tool)
{
    if (!im->report.tool) im->report.tool = wl_strdup(im->a, tool);
}

/* A document: facts, findings, warnings and sections of figures and tables. */
#include "report/report.h"

struct wl_document *wl_document_new(struct wl_arena *a, const char *title)
{
    struct wl_document *d = wl_new(a, struct wl_document);
    *d = (struct wl_document) { .title = title, .arena = a };
    return d;
}

void wl_document_fact(struct wl_document *d, const char *label, const char *value)
{
    if (!value || !*value) return;
    WL_GROW(d->arena, d->facts, d->n_facts, d->cap_facts);
    d->facts[d->n_facts++] = (struct wl_fact) { label, value };
}

struct wl_section *wl_document_section(struct wl_document *d, const char *id, const char *title)
{
    struct wl_section *s = wl_new(d->arena, struct wl_section);
    *s = (struct wl_section) { .id = id, .title = title };
    WL_GROW(d->arena, d->sections, d->n_sections, d->cap_sections);
    return d->sections[d->n_sections++] = s;
}

void wl_section_figure(struct wl_document *d, struct wl_section *s, struct wl_figure *f)
{
    WL_GROW(d->arena, s->figures, s->n_figures, s->cap_figures);
    s->figures[s->n_figures++] = f;
}

void wl_section_table(struct wl_document *d, struct wl_section *s, struct wl_table_data *t)
{
    WL_GROW(d->arena, s->tables, s->n_tables, s->cap_tables);
    s->tables[s->n_tables++] = t;
}

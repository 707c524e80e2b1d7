/* A document: facts, findings, warnings and sections of figures and tables. */
#include "report/document/document.h"

#include "report/labels.h"

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
    d->facts[d->n_facts++] = (struct wl_report_fact) { label, value };
}

static void add_once(struct wl_arena *a, struct wl_strs *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++)
        if (wl_str_eq(list->v[i], name)) return;
    wl_strs_add(a, list, name);
}

void wl_document_workload(struct wl_document *d, const char *name)
{
    add_once(d->arena, &d->workloads, name ? name : "");
}

void wl_document_view(struct wl_document *d, const char *name, const char *workload)
{
    size_t i = 0;
    while (i < d->n_views && !wl_str_eq(d->views[i].name, name)) i++;
    if (i == d->n_views) {
        WL_GROW(d->arena, d->views, d->n_views, d->cap_views);
        d->views[d->n_views++] = (struct wl_view) { .name = name };
    }
    add_once(d->arena, &d->views[i].workloads, workload);
}

struct wl_section *wl_document_section(struct wl_document *d, const char *id, const char *title)
{
    struct wl_section *s = wl_new(d->arena, struct wl_section);
    *s = (struct wl_section) { .id = wl_unique_name(&d->section_ids, id, "-", "", d->arena), .title = title };
    WL_GROW(d->arena, d->sections, d->n_sections, d->cap_sections);
    return d->sections[d->n_sections++] = s;
}

void wl_section_figure(struct wl_document *d, struct wl_section *s, struct wl_figure *f)
{
    WL_GROW(d->arena, s->figures, s->n_figures, s->cap_figures);
    f->id = wl_unique_name(&d->figure_ids, f->id, "-", "", d->arena);
    s->figures[s->n_figures++] = f;
}

void wl_section_table(struct wl_document *d, struct wl_section *s, struct wl_report_table *t)
{
    if (t->n_rows == 0) return;
    WL_GROW(d->arena, s->tables, s->n_tables, s->cap_tables);
    t->id = wl_unique_name(&d->table_ids, t->id, "-", "", d->arena);
    t->workloads = &d->workloads;
    s->tables[s->n_tables++] = t;
}

static void list_json(struct wl_json *object, const char *key, const struct wl_strs *list)
{
    struct wl_json *array = wl_json_add_array(object, key);
    for (size_t i = 0; i < list->n; i++) wl_json_add_str(array, NULL, list->v[i]);
}

static void answers_json(const struct wl_document *d, struct wl_json *object)
{
    struct wl_json *array = wl_json_add_array(object, "answers");
    for (size_t i = 0; i < d->n_answers; i++) {
        const struct wl_answer *answer = &d->answers[i];
        struct wl_json *to = wl_json_add_object(array, NULL);
        wl_json_add_str(to, "workload", answer->workload);
        wl_json_add_bool(to, "shown", answer->shown);
        wl_json_add_str(to, "use", answer->use);
        wl_json_add_str(to, "saves", answer->saves);
        wl_json_add_str(to, "sure", answer->sure);
        wl_json_add_str(to, "next", answer->next);
        wl_json_add_real(to, "within_3_pct", answer->within);
    }
}

void wl_document_json(const struct wl_document *d, struct wl_json *object)
{
    wl_json_add_str(object, "title", d->title);
    struct wl_json *facts = wl_json_add_object(object, "facts"), *tables;
    for (size_t i = 0; i < d->n_facts; i++) wl_json_add_str(facts, d->facts[i].label, d->facts[i].value);
    answers_json(d, object);
    list_json(object, "choice", &d->choice);
    list_json(object, "findings", &d->findings);
    list_json(object, "warnings", &d->warnings);
    tables = wl_json_add_array(object, "tables");
    for (size_t i = 0; i < d->n_sections; i++) {
        const struct wl_section *s = d->sections[i];
        for (size_t k = 0; k < s->n_tables; k++) wl_report_table_json(s->tables[k], wl_json_add_object(tables, NULL));
    }
}

/* Nodes and GPUs against each other: is one of them slower, hungrier or hotter? */
#include "report/sections/sections.h"

#include <math.h>

/* In % or points: a smaller effect is not worth a warning, however clear it is. */
static const double RELEVANT = 1;

static const struct wl_report_column node_column[] = { { .id = "node", .label = "node", .text = true } },
                                     gpu_column[] = { { .id = "gpu", .label = "GPU", .text = true } },
                                     gpu_names[] = { { .id = "uuid", .label = "UUID", .text = true },
                                                     { .id = "serial", .label = "serial number", .text = true } };
static const struct wl_report_column effect_columns[] = {
    { .id = "quantity", .label = "quantity", .text = true },
    { .id = "runs", .label = "runs" },
    { .id = "effect", .label = "difference", .digits = 3 },
    { .id = "effect_lo", .label = "from", .metric = "ci95", .digits = 3 },
    { .id = "effect_hi", .label = "to", .metric = "ci95", .digits = 3 },
    { .id = "in", .label = "in", .text = true },
    { .id = "p_holm", .label = "p (Holm)", .digits = 2 },
    { .id = "finding", .label = "finding", .text = true, .notable = true },
};

static bool is_relevant(const struct wl_units_table *t, size_t u)
{
    const struct wl_estimate v = wl_units_percent(t, u);
    return wl_units_differs(t, u) && (v.lo >= RELEVANT || v.hi <= -RELEVANT);
}

static bool any_relevant(const struct wl_units_result *r)
{
    for (size_t i = 0; i < r->tables; i++)
        for (size_t u = 0; u < r->n; u++)
            if (is_relevant(&r->v[i], u)) return true;
    return false;
}

static void add_row(struct wl_report_table *to, const struct wl_units_result *r, const struct wl_units_table *t,
                    size_t u)
{
    const struct wl_unit_effect *v = &t->effects.v[u];
    const struct wl_estimate percent = wl_units_percent(t, u);
    wl_report_table_text(to, r->label[u]);
    wl_report_table_text(to, wl_units_title(t->quantity));
    wl_report_table_real(to, (double)v->rows);
    wl_report_table_real(to, percent.value);
    wl_report_table_real(to, percent.lo);
    wl_report_table_real(to, percent.hi);
    wl_report_table_text(to, t->is_share ? "points" : "%");
    wl_report_table_real(to, v->p_holm);
    wl_report_table_text(to,
                         is_relevant(t, u) && wl_units_is_finding(t, u) ? wl_units_sentence(r, t, u, to->arena) : NULL);
    if (r->uuid) wl_report_table_text(to, r->uuid[u]);
    if (r->uuid) wl_report_table_text(to, r->serial[u]);
    to->estimated |= t->estimated;
}

static struct wl_report_table *table_of(const struct wl_report_data *g, const struct wl_units_result *r)
{
    const bool gpus = r->kind == WL_UNITS_GPUS;
    struct wl_report_columns columns = { 0 };
    wl_report_columns_add(&columns, gpus ? gpu_column : node_column, 1, g->arena);
    wl_report_columns_add(&columns, effect_columns, WL_COUNT(effect_columns), g->arena);
    if (gpus) wl_report_columns_add(&columns, gpu_names, WL_COUNT(gpu_names), g->arena);
    struct wl_report_table *t =
        wl_report_table_new(g->arena, gpus ? "gpus-compared" : "nodes-compared",
                            gpus ? "GPUs compared with each other" : "Nodes compared with each other", columns.v,
                            columns.n);
    struct wl_text caption = WL_TEXT(g->arena);
    wl_text_addf(
        &caption,
        "Difference from the mean of the %s that are not shown to differ, in runs of the same settings or within "
        "runs; p by Holm over all of them.",
        wl_units_plurals[r->kind]);
    for (size_t i = 0; i < r->notes.n; i++) wl_text_addf(&caption, " Note: %s.", r->notes.v[i]);
    t->caption = caption.s;
    t->simulated = r->simulated;
    for (size_t i = 0; i < r->tables; i++)
        for (size_t u = 0; u < r->n; u++)
            if (r->v[i].effects.v[u].state == WL_UNIT_COMPARED && r->v[i].effects.v[u].rows && !r->v[i].refusal)
                add_row(t, r, &r->v[i], u);
    return t;
}

static void warn(const struct wl_report_data *g, const struct wl_units_result *r, struct wl_document *d)
{
    enum { LISTED = 3 };
    struct wl_text text = WL_TEXT(g->arena);
    size_t n = 0;
    for (size_t i = 0; i < r->tables; i++)
        for (size_t u = 0; u < r->n; u++) {
            if (r->v[i].effects.v[u].state != WL_UNIT_COMPARED || !is_relevant(&r->v[i], u) ||
                !wl_units_is_worse(&r->v[i], u) || n++ >= LISTED)
                continue;
            wl_text_addf(&text, "%s%s", text.n ? "; " : "", wl_units_sentence(r, &r->v[i], u, g->arena));
        }
    if (n > LISTED) wl_text_add(&text, "; ...");
    if (n)
        wl_strs_add(g->arena, &d->warnings,
                    wl_strf(g->arena, "Not all %s are alike: %s.", wl_units_plurals[r->kind], text.s));
}

/* Nodes wherever there are several; GPUs where one differs. What cannot be compared is left out. */
static void add_kind(const struct wl_report_data *g, const struct wl_units_input *in, enum wl_units_kind kind,
                     struct wl_document *d, struct wl_section **s)
{
    struct wl_units_result r;
    struct wl_err none;
    if (wl_units_compare(in, kind, &r, g->arena, &none) < 0 || (kind == WL_UNITS_GPUS && !any_relevant(&r))) return;
    struct wl_report_table *t = table_of(g, &r);
    if (!t->n_rows) return;
    if (!*s) *s = wl_document_section(d, "nodes", "Nodes and GPUs");
    wl_section_table(d, *s, t);
    warn(g, &r, d);
}

int wl_report_add_units(const struct wl_report_data *g, struct wl_document *d, struct wl_err *e)
{
    struct wl_units_input in = { .obs = &g->observations, .drop_epochs = g->options.drop_epochs };
    struct wl_section *s = NULL;
    int rc = g->store ? wl_report_unit_readings(g->store, &in, g->arena, e) : 0;
    if (rc) return rc;
    add_kind(g, &in, WL_UNITS_NODES, d, &s);
    add_kind(g, &in, WL_UNITS_GPUS, d, &s);
    return 0;
}

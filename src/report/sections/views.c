/* Ready views of campaigns with several workloads under several caps or clocks, in the layouts of Frey et al. 2022:
 * time by domain (Fig. 8, 12), variation of utilisation by cap (Fig. 15, 16), exponents by workload (Table 2) and by
 * level (Tables 3 to 6). */
#include "report/groups.h"
#include "report/sections/sections.h"
#include "settings/settings.h"

#include <math.h>

/* The domains of the workloads that wattlaw-train ships. Source: Frey et al. 2022, Table 1; Kurth et al. 2022. */
static const struct {
    const char *workload, *domain;
} domains[] = {
    { "resnet50", "computer vision" },   { "vgg16", "computer vision" },
    { "inception3", "computer vision" }, { "bert", "language" },
    { "dimenet", "geometric learning" }, { "schnet", "geometric learning" },
    { "fourcastnet", "weather" },
};

static const char *domain_of(const struct wl_report_group *group)
{
    for (size_t i = 0; i < WL_COUNT(domains); i++)
        if (wl_str_eq(domains[i].workload, group->workload)) return domains[i].domain;
    return NULL;
}

static const char *cap_of(const struct wl_report_group *group)
{
    for (size_t i = 0; i < group->law->n_key; i++)
        if (wl_str_eq(group->law->key[i].column, "power_cap_w")) return group->law->key[i].value;
    return NULL;
}

/* The name of the view that a group belongs to, NULL: none. */
typedef const char *view_of(const struct wl_report_data *g, const struct wl_report_group *group);

static const char *by_domain(const struct wl_report_data *g, const struct wl_report_group *group)
{
    (void)g;
    return domain_of(group);
}

static const char *by_cap(const struct wl_report_data *g, const struct wl_report_group *group)
{
    const char *cap = cap_of(group);
    return cap ? *cap ? wl_strf(g->arena, "cap %s W", cap) : "no power cap" : NULL;
}

/* Do two groups that follow each other belong to one workload and one view? Then the latter, of the higher clock,
 * stands for both. */
static bool same_line(const struct wl_report_data *g, view_of *of, size_t i)
{
    return i + 1 < g->n_groups && wl_str_eq(g->groups[i].workload, g->groups[i + 1].workload) &&
           wl_str_eq(of(g, &g->groups[i]), of(g, &g->groups[i + 1]));
}

/* The colour and marker that the workload has in the figures of all workloads. */
static void look_of_workload(const struct wl_report_data *g, struct wl_report_group *group)
{
    for (size_t i = g->n_groups; i < g->n_drawn; i++) {
        if (!wl_str_eq(g->groups[i].workload, group->workload)) continue;
        group->colour = g->groups[i].colour, group->dash = g->groups[i].dash, group->marker = g->groups[i].marker;
    }
    group->label = group->workload;
}

/* The groups of each view as facets of their own. */
static struct wl_report_data views_of(const struct wl_report_data *g, view_of *of)
{
    struct wl_report_data view = *g;
    struct wl_strs names = { 0 };
    view.groups = wl_new_array(g->arena, struct wl_report_group, g->n_groups);
    view.facets = wl_new_array(g->arena, struct wl_report_facet, g->n_groups);
    view.n_groups = view.n_drawn = view.n_facets = 0;
    for (size_t i = 0; i < g->n_groups; i++) {
        const char *name = of(g, &g->groups[i]);
        size_t k = 0;
        if (!name || same_line(g, of, i)) continue;
        while (k < names.n && !wl_str_eq(names.v[k], name)) k++;
        if (k == names.n) {
            wl_strs_add(g->arena, &names, name);
            view.facets[view.n_facets++] = (struct wl_report_facet) { .workload = name };
        }
        struct wl_report_group *group = &view.groups[view.n_drawn++];
        *group = g->groups[i];
        group->facet = k;
        look_of_workload(g, group);
    }
    view.n_groups = view.n_drawn;
    return view;
}

/* ---- by domain: one line for each workload, of its highest cap and clock ---- */

static const char *last_by_domain(const struct wl_report_data *g, const struct wl_report_group *group)
{
    const size_t i = (size_t)(group - g->groups);
    const bool last = i + 1 >= g->n_groups || !wl_str_eq(g->groups[i + 1].workload, group->workload);
    return last ? by_domain(g, group) : NULL;
}

static void add_domains(const struct wl_report_data *g, struct wl_document *d, struct wl_section **s)
{
    const struct wl_report_data view = views_of(g, last_by_domain);
    if (view.n_facets < 2) return;
    if (!*s) *s = wl_document_section(d, "views", "By domain, by cap and by workload");
    for (size_t i = 0; i < view.n_drawn; i++)
        wl_document_view(d, view.facets[view.groups[i].facet].workload, view.groups[i].workload);
    wl_report_add_scaling_figures(&view, d, *s);
}

static void add_caps(const struct wl_report_data *g, struct wl_document *d, struct wl_section **s)
{
    const struct wl_report_data view = views_of(g, by_cap);
    if (view.n_facets < 2 || g->variations.n == 0) return;
    if (!*s) *s = wl_document_section(d, "views", "By domain, by cap and by workload");
    wl_report_add_variation_figures(&view, d, *s);
}

/* ---- tables ---- */

/* Table 2: a column for each workload. */
static struct wl_report_table *workload_table(const struct wl_report_data *g)
{
    const size_t n = g->n_drawn - g->n_groups;
    struct wl_report_column *columns = wl_new_array(g->arena, struct wl_report_column, n + 1);
    columns[0] = (struct wl_report_column) { .id = "quantity", .label = "quantity", .text = true };
    for (size_t i = 0; i < n; i++) {
        const char *name = g->groups[g->n_groups + i].workload;
        columns[i + 1] = (struct wl_report_column) { .id = name, .label = name, .metric = "beta", .digits = 2 };
    }
    struct wl_report_table *t =
        wl_report_table_new(g->arena, "exponents-by-workload", "Exponent of each workload", columns, n + 1);
    const char *const rows[] = { "exponent", "standard error", "R2" };
    for (size_t r = 0; r < WL_COUNT(rows); r++) {
        wl_report_table_text(t, rows[r]);
        for (size_t i = 0; i < n; i++) {
            const struct wl_law_group *group = g->groups[g->n_groups + i].law;
            const struct wl_law_estimate *law = group->law;
            wl_report_table_real(t, !law ? NAN : r == 0 ? law->beta : r == 1 ? law->beta_se : law->r2);
            t->simulated = t->simulated || group->simulated;
        }
    }
    if (g->facets[0].settings)
        t->caption = wl_strf(g->arena, "At %s. Time = alpha workers^-exponent.", g->facets[0].settings);
    return t;
}

void wl_report_add_views(const struct wl_report_data *g, struct wl_document *d)
{
    struct wl_section *s = NULL;
    if (g->n_drawn == g->n_groups) return; /* nothing to pick from: the figures above have it all */
    add_domains(g, d, &s);
    add_caps(g, d, &s);
    if (!s) s = wl_document_section(d, "views", "By domain, by cap and by workload");
    wl_section_table(d, s, workload_table(g));
}

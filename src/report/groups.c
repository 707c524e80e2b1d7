/* The groups of a report: their order, names, colours and facets. Keys are matched by the names of their columns:
 * groups of one store may differ in them (law/partition.h). */
#include "report/groups.h"

#include "report/labels.h"
#include "settings/settings.h"

#include <string.h>

/* The key of a column; NULL: nothing separates this group by it. */
static const struct wl_law_key *key_of(const struct wl_law_group *law, const char *column)
{
    for (size_t i = 0; i < law->n_key; i++) {
        if (wl_str_eq(law->key[i].column, column)) return &law->key[i];
    }
    return NULL;
}

bool wl_report_groups_have_column(const struct wl_report_data *g, const char *column)
{
    for (size_t i = 0; i < g->law.n; i++) {
        if (key_of(&g->law.groups[i], column)) return true;
    }
    return false;
}

/* ---- names ---- */

/* Shortens a name to the room of a legend, in the middle: groups differ at either end of their names. */
static char *fit_legend(const char *name, struct wl_arena *a)
{
    enum { HEAD = 24, TAIL = 15, MAX = HEAD + TAIL + 1 };
    size_t n = 0, head = 0, tail = 0;
    for (const char *p = name; *p; p++) n += ((unsigned char)*p & 0xc0) != 0x80;
    if (n <= MAX) return wl_strdup(a, name);
    for (size_t i = 0, k = 0; name[i]; i++) { /* character k begins at byte i */
        if (((unsigned char)name[i] & 0xc0) == 0x80) continue;
        if (k == HEAD) head = i;
        if (k == n - TAIL) tail = i;
        k++;
    }
    return wl_strf(a, "%.*s\xe2\x80\xa6%s", (int)head, name, name + tail);
}

/* In the law's own order: by workload, then by settings, uncapped after the highest cap. */
static void copy_law_groups(struct wl_report_data *g)
{
    struct wl_strs names = { 0 };
    g->n_groups = g->law.n;
    g->groups = wl_new_array(g->arena, struct wl_report_group, 2 * g->n_groups);
    for (size_t i = 0; i < g->n_groups; i++) {
        const struct wl_law_group *law = &g->law.groups[i];
        const struct wl_law_key *workload = key_of(law, "workload");
        g->groups[i] = (struct wl_report_group) {
            .law = law,
            .model = &g->models[i],
            .workload = workload ? workload->value : "",
            .name = wl_unique_name(&names, wl_law_key_words(law->key, law->n_key, g->arena), " (", ")", g->arena),
        };
    }
}

/* The distinct workloads in order of appearance; group i belongs to workload which[i]. */
static size_t distinct_workloads(const struct wl_report_data *g, const char **names, size_t *which)
{
    size_t n = 0;
    for (size_t i = 0; i < g->n_groups; i++) {
        size_t k = 0;
        while (k < n && !wl_str_eq(names[k], g->groups[i].workload)) k++;
        if (k == n) names[n++] = g->groups[i].workload;
        which[i] = k;
    }
    return n;
}

static void set_look(struct wl_report_group *group, int slot)
{
    const struct wl_look look = wl_look(slot);
    group->colour = look.colour, group->dash = look.dash, group->marker = look.marker;
}

/* The last group of each workload, which has the highest cap or clock, represents it in the first facet. */
static void add_overview(struct wl_report_data *g, const size_t *which, const int *slots)
{
    for (size_t i = 0; i < g->n_groups; i++) {
        if (i + 1 < g->n_groups && which[i + 1] == which[i]) continue;
        struct wl_report_group *group = &g->groups[g->n_drawn++];
        *group = g->groups[i];
        group->facet = 0;
        set_look(group, slots[which[i]]);
    }
}

/* The columns of all keys, each once, and in which facets their values differ. */
struct settings {
    struct wl_strs columns;
    bool *varies; /* [facets][columns.n] */
};

static size_t column_at(const struct wl_strs *columns, const char *column)
{
    size_t i = 0;
    while (i < columns->n && !wl_str_eq(columns->v[i], column)) i++;
    return i;
}

static bool same_setting(const struct wl_law_group *p, const struct wl_law_group *q, const char *column)
{
    const struct wl_law_key *x = key_of(p, column), *y = key_of(q, column);
    return x && y ? wl_str_eq(x->value, y->value) : x == y;
}

static struct settings settings_of(const struct wl_report_data *g)
{
    struct settings s = { 0 };
    for (size_t i = 0; i < g->n_groups; i++) {
        const struct wl_law_group *law = g->groups[i].law;
        for (size_t k = 0; k < law->n_key; k++) {
            if (column_at(&s.columns, law->key[k].column) == s.columns.n)
                wl_strs_add(g->arena, &s.columns, law->key[k].column);
        }
    }
    const struct wl_law_group **first = wl_new_array(g->arena, const struct wl_law_group *, g->n_facets);
    s.varies = wl_new_array(g->arena, bool, g->n_facets *s.columns.n);
    for (size_t i = 0; i < g->n_drawn; i++) {
        const struct wl_report_group *group = &g->groups[i];
        if (!first[group->facet]) first[group->facet] = group->law;
        for (size_t k = 0; k < s.columns.n; k++)
            s.varies[group->facet * s.columns.n + k] |= !same_setting(first[group->facet], group->law, s.columns.v[k]);
    }
    return s;
}

/* The settings that the groups of the first facet share and groups of other facets differ in. */
static const char *shared_settings(const struct wl_report_data *g, const struct settings *s)
{
    const struct wl_law_group *any = g->groups[g->n_groups].law; /* of the first facet */
    struct wl_law_key *keys = wl_new_array(g->arena, struct wl_law_key, any->n_key);
    size_t n = 0;
    for (size_t k = 0; k < any->n_key; k++) {
        size_t c = column_at(&s->columns, any->key[k].column);
        bool elsewhere = false;
        for (size_t facet = 1; facet < g->n_facets; facet++) elsewhere |= s->varies[facet * s->columns.n + c];
        if (elsewhere && !s->varies[c]) keys[n++] = any->key[k];
    }
    return n ? wl_law_key_words(keys, n, g->arena) : NULL;
}

/* The settings in which a group differs from the others of its figures; the workload where there are none. */
static const char *label_of(const struct wl_report_data *g, const struct wl_report_group *group,
                            const struct settings *s)
{
    const struct wl_law_group *law = group->law;
    struct wl_law_key *keys = wl_new_array(g->arena, struct wl_law_key, law->n_key);
    size_t n = 0;
    for (size_t k = 0; k < law->n_key; k++) {
        if (s->varies[group->facet * s->columns.n + column_at(&s->columns, law->key[k].column)])
            keys[n++] = law->key[k];
    }
    const char *label = n ? wl_law_key_words(keys, n, g->arena) : *group->workload ? group->workload : group->name;
    return fit_legend(label, g->arena);
}

static void label_groups(struct wl_report_data *g)
{
    const struct settings s = settings_of(g);
    struct wl_strs *labels = wl_new_array(g->arena, struct wl_strs, g->n_facets);
    for (size_t i = 0; i < g->n_drawn; i++) {
        struct wl_report_group *group = &g->groups[i];
        group->label = wl_unique_name(&labels[group->facet], label_of(g, group, &s), " (", ")", g->arena);
    }
    if (g->n_facets > 1) g->facets[0].settings = shared_settings(g, &s);
}

/* ---- one colour for each cap, one line style for each clock ---- */

static const char *value_of(const struct wl_law_group *law, const char *column)
{
    const struct wl_law_key *key = key_of(law, column);
    return key ? key->value : "";
}

/* The distinct values of a column over all groups, in their order: ascending caps, none last. */
static struct wl_strs values_of(const struct wl_report_data *g, const char *column)
{
    struct wl_strs values = { 0 };
    for (size_t i = 0; i < g->n_groups; i++) {
        const char *value = value_of(g->groups[i].law, column);
        if (column_at(&values, value) == values.n) wl_strs_add(g->arena, &values, value);
    }
    return values;
}

/* In a figure whose groups differ in power cap and clock, a cap has the same colour in all figures and a clock the same
 * line style and marker. Not where that would leave two groups alike: they differ in something else as well. */
static void look_by_caps(struct wl_report_data *g, size_t facet)
{
    const struct wl_strs caps = values_of(g, "power_cap_w"), clocks = values_of(g, "clock_mhz");
    if (caps.n < 2 || caps.n > WL_PALETTE || clocks.n > WL_DASHES) return;
    bool *taken = wl_new_array(g->arena, bool, caps.n *clocks.n);
    for (size_t i = 0; i < g->n_groups; i++) {
        if (g->groups[i].facet != facet) continue;
        const size_t cap = column_at(&caps, value_of(g->groups[i].law, "power_cap_w")),
                     clock = column_at(&clocks, value_of(g->groups[i].law, "clock_mhz"));
        if (taken[cap * clocks.n + clock]) return;
        taken[cap * clocks.n + clock] = true;
    }
    for (size_t i = 0; i < g->n_groups; i++) {
        struct wl_report_group *group = &g->groups[i];
        if (group->facet != facet) continue;
        group->colour = (int)column_at(&caps, value_of(group->law, "power_cap_w"));
        group->dash = group->marker = (int)column_at(&clocks, value_of(group->law, "clock_mhz"));
        if (clocks.n < 2) group->marker = group->colour;
    }
}

/* Where every workload has one group, colours belong to workloads, the same in every report; else to groups, counted
 * within their figure. */
void wl_report_groups_name(struct wl_report_data *g)
{
    copy_law_groups(g);
    size_t n = g->n_groups;
    const char **names = wl_new_array(g->arena, const char *, n);
    size_t *which = wl_new_array(g->arena, size_t, n), *seen = wl_new_array(g->arena, size_t, n + 1);
    int *slots = wl_new_array(g->arena, int, n);
    size_t workloads = distinct_workloads(g, names, which);
    bool split = n > WL_COLOURS && workloads > 1 && workloads < n;
    wl_colour_slots(names, workloads, slots);

    g->n_facets = split ? 1 + workloads : 1;
    g->facets = wl_new_array(g->arena, struct wl_report_facet, g->n_facets);
    for (size_t k = 0; split && k < workloads; k++) g->facets[1 + k].workload = names[k];
    for (size_t i = 0; i < n; i++) {
        struct wl_report_group *group = &g->groups[i];
        group->facet = split ? 1 + which[i] : 0;
        set_look(group, workloads == n ? slots[which[i]] : (int)seen[group->facet]);
        seen[group->facet]++;
    }
    for (size_t k = 0; k < g->n_facets && workloads < n; k++) look_by_caps(g, k);
    g->n_drawn = n;
    if (split) add_overview(g, which, slots);
    label_groups(g);
}

/* "epoch-time" + "-2-bert" + "-constant-global-batch", and titles alike. */
char *wl_report_facet_title(const struct wl_report_data *g, size_t facet, const char *title)
{
    const char *workload = g->facets[facet].workload;
    const char *more[] = { workload && !*workload ? "no workload" : workload, g->facets[facet].settings, g->series };
    struct wl_text text = WL_TEXT(g->arena);
    wl_text_add(&text, title);
    for (size_t i = 0; i < WL_COUNT(more); i++) {
        if (more[i]) wl_text_addf(&text, ", %s", more[i]);
    }
    return text.s;
}

char *wl_report_facet_id(const struct wl_report_data *g, size_t facet, const char *id)
{
    const char *workload = g->facets[facet].workload;
    const char *of = workload ? wl_strf(g->arena, "-%zu-%s", facet, wl_slug(workload, g->arena)) : "";
    const char *series = g->series ? wl_strf(g->arena, "-%s", wl_slug(g->series, g->arena)) : "";
    return wl_strf(g->arena, "%s%s%s", id, of, series);
}

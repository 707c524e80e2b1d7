/* Reads a store once and fits the laws. */
#include "report/gather.h"

#include "report/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int read_store(struct wl_gathered *g, struct wl_err *e)
{
    int64_t campaign = g->options.campaign;
    struct wl_run_filter filter = { .campaign = campaign };
    int rc = wl_store_campaigns(g->store, &g->campaigns, g->arena, e);
    if (rc == 0) rc = wl_store_trials(g->store, campaign, &g->trials, g->arena, e);
    if (rc == 0) rc = wl_store_runs(g->store, &filter, &g->runs, g->arena, e);
    if (rc == 0) rc = wl_store_observations(g->store, campaign, &g->observations, g->arena, e);
    if (rc == 0) rc = wl_store_variations(g->store, campaign, &g->variations, g->arena, e);
    if (rc == 0) rc = wl_store_metric_defs(g->store, campaign, 0, &g->metric_defs, g->arena, e);
    if (rc) return rc;

    size_t kept = 0; /* campaigns without a trial have nothing to say */
    for (size_t i = 0; i < g->campaigns.n; i++) {
        bool wanted = false;
        for (size_t k = 0; k < g->trials.n; k++) wanted = wanted || g->trials.v[k].campaign == g->campaigns.v[i].id;
        if (wanted) g->campaigns.v[kept++] = g->campaigns.v[i];
    }
    g->campaigns.n = kept;
    return 0;
}

static int by_run_id(const void *p, const void *q)
{
    const struct wl_run_row *const *a = p, *const *b = q;
    return ((*a)->id > (*b)->id) - ((*a)->id < (*b)->id);
}

static void index_runs(struct wl_gathered *g)
{
    g->runs_by_id = wl_new_array(g->arena, const struct wl_run_row *, g->runs.n);
    for (size_t i = 0; i < g->runs.n; i++) g->runs_by_id[i] = &g->runs.v[i];
    qsort(g->runs_by_id, g->runs.n, sizeof *g->runs_by_id, by_run_id);
}

const struct wl_run_row *wl_gathered_run(const struct wl_gathered *g, int64_t id)
{
    const struct wl_run_row key = { .id = id }, *wanted = &key;
    const struct wl_run_row *const *found =
        bsearch(&wanted, g->runs_by_id, g->runs.n, sizeof *g->runs_by_id, by_run_id);
    return found ? *found : NULL;
}

const struct wl_run_row *wl_gathered_labelled(const struct wl_gathered *g, const char *label)
{
    int64_t id;
    return label && wl_parse_int(label, &id) == 0 ? wl_gathered_run(g, id) : NULL;
}

size_t wl_gathered_count(const struct wl_gathered *g, enum wl_run_status status)
{
    size_t n = 0;
    for (size_t i = 0; i < g->runs.n; i++) n += g->runs.v[i].status == status;
    return n;
}

const char *wl_gathered_span(const struct wl_gathered *g) { return g->whole_runs ? "run" : "epoch"; }

/* ---- groups: their names, colours and facets ---- */

static const char *key_value(const struct wl_law_group *law, const char *column)
{
    for (size_t i = 0; i < law->n_key; i++) {
        if (wl_streq(law->key[i].column, column)) return law->key[i].value;
    }
    return "";
}

/* "local batch 16", "250 W", "resnet50": a part of a group's key in words. */
static char *key_words(const struct wl_law_key *key, struct wl_arena *a)
{
    if (!*key->value) return wl_strf(a, "no %s", key->column);
    if (wl_streq(key->column, "workload") || wl_streq(key->column, "hardware")) return wl_strdup(a, key->value);
    if (wl_streq(key->column, "power_cap_w")) return wl_strf(a, "cap %s W", key->value);
    if (wl_streq(key->column, "module_cap_w")) return wl_strf(a, "module cap %s W", key->value);
    if (wl_streq(key->column, "clock_mhz")) return wl_strf(a, "%s MHz", key->value);
    if (wl_streq(key->column, "mem_clock_mhz")) return wl_strf(a, "memory %s MHz", key->value);
    char *column = wl_strdup(a, key->column);
    for (char *p = column; *p; p++) {
        if (*p == '_') *p = ' ';
    }
    return wl_strf(a, "%s %s", column, key->value);
}

/* Legends have room for so many characters; what tells groups apart stands at the end of a name as often as at its
 * beginning. */
static char *fit_legend(const char *name, struct wl_arena *a)
{
    enum { HEAD = 24, TAIL = 15, MOST = HEAD + TAIL + 1 };
    size_t n = 0, head = 0, tail = 0;
    for (const char *p = name; *p; p++) n += ((unsigned char)*p & 0xc0) != 0x80;
    if (n <= MOST) return wl_strdup(a, name);
    for (size_t i = 0, k = 0; name[i]; i++) { /* character k begins at byte i */
        if (((unsigned char)name[i] & 0xc0) == 0x80) continue;
        if (k == HEAD) head = i;
        if (k == n - TAIL) tail = i;
        k++;
    }
    return wl_strf(a, "%.*s\xe2\x80\xa6%s", (int)head, name, name + tail);
}

char *wl_key_words(const struct wl_law_key *key, size_t n, struct wl_arena *a)
{
    struct wl_text words = WL_TEXT(a);
    for (size_t i = 0; i < n; i++) wl_text_addf(&words, "%s%s", words.n ? ", " : "", key_words(&key[i], a));
    return words.n ? words.s : wl_strdup(a, "all runs");
}

/* Numbers by value, words by alphabet, column by column: all groups have the same columns. */
static int by_key(const void *a, const void *b)
{
    const struct wl_law_group *p = ((const struct wl_report_group *)a)->law,
                              *q = ((const struct wl_report_group *)b)->law;
    for (size_t i = 0; i < p->n_key && i < q->n_key; i++) {
        double x, y;
        const char *s = p->key[i].value, *t = q->key[i].value;
        bool numbers = wl_parse_real(s, &x) == 0 && wl_parse_real(t, &y) == 0;
        int order = numbers ? (x > y) - (x < y) : strcmp(s, t);
        if (order) return order;
    }
    return p < q ? -1 : p > q; /* the law's own order */
}

static void sort_groups(struct wl_gathered *g)
{
    g->n_groups = g->law.n;
    g->groups = wl_new_array(g->arena, struct wl_report_group, 2 * g->n_groups);
    for (size_t i = 0; i < g->n_groups; i++) {
        g->groups[i].law = &g->law.groups[i];
        g->groups[i].workload = key_value(&g->law.groups[i], "workload");
    }
    qsort(g->groups, g->n_groups, sizeof *g->groups, by_key);
}

/* The distinct workloads in order of appearance; group i belongs to workload which[i]. */
static size_t distinct_workloads(const struct wl_gathered *g, const char **names, size_t *which)
{
    size_t n = 0;
    for (size_t i = 0; i < g->n_groups; i++) {
        size_t k = 0;
        while (k < n && !wl_streq(names[k], g->groups[i].workload)) k++;
        if (k == n) names[n++] = g->groups[i].workload;
        which[i] = k;
    }
    return n;
}

/* The last group of each workload, which of several caps and clocks has the highest, stands for it in the first facet.
 */
static void add_overview(struct wl_gathered *g, const size_t *which, const int *slots)
{
    for (size_t i = 0; i < g->n_groups; i++) {
        if (i + 1 < g->n_groups && which[i + 1] == which[i]) continue;
        struct wl_report_group *group = &g->groups[g->n_drawn++];
        *group = g->groups[i];
        group->facet = 0;
        group->colour = slots[which[i]];
        group->marker = group->colour + group->colour / WL_COLOURS;
    }
}

/* What the groups of the first facet share while groups of the others differ in it. */
static const char *shared_settings(const struct wl_gathered *g, const bool *varies, size_t n_key)
{
    struct wl_law_key *keys = wl_new_array(g->arena, struct wl_law_key, n_key);
    size_t n = 0;
    for (size_t k = 0; k < n_key; k++) {
        bool elsewhere = false;
        for (size_t facet = 1; facet < g->n_facets; facet++) elsewhere |= varies[facet * n_key + k];
        if (elsewhere && !varies[k]) keys[n++] = g->groups[g->n_groups].law->key[k];
    }
    return n ? wl_key_words(keys, n, g->arena) : NULL;
}

/* In a legend stands what tells the groups of a figure apart; the workload where nothing does. */
static void label_groups(struct wl_gathered *g)
{
    const struct wl_report_group **first = wl_new_array(g->arena, const struct wl_report_group *, g->n_facets);
    size_t n_key = g->n_groups ? g->groups[0].law->n_key : 0; /* all groups have the same columns */
    bool *varies = wl_new_array(g->arena, bool, g->n_facets *n_key);
    struct wl_law_key *keys = wl_new_array(g->arena, struct wl_law_key, n_key);
    for (size_t i = 0; i < g->n_drawn; i++) {
        const struct wl_report_group *group = &g->groups[i];
        if (!first[group->facet]) first[group->facet] = group;
        for (size_t k = 0; k < n_key; k++)
            varies[group->facet * n_key + k] |=
                !wl_streq(first[group->facet]->law->key[k].value, group->law->key[k].value);
    }
    for (size_t i = 0; i < g->n_drawn; i++) {
        struct wl_report_group *group = &g->groups[i];
        size_t n = 0;
        for (size_t k = 0; k < n_key; k++) {
            if (varies[group->facet * n_key + k]) keys[n++] = group->law->key[k];
        }
        const char *label = n ? wl_key_words(keys, n, g->arena) : *group->workload ? group->workload : group->name;
        group->label = fit_legend(label, g->arena);
    }
    if (g->n_facets > 1) g->facets[0].settings = shared_settings(g, varies, n_key);
}

/* Where every workload has one group, colours follow workloads, in every report alike; else groups, counted within
 * the figure they are drawn in. */
static void name_groups(struct wl_gathered *g)
{
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
        group->name = wl_key_words(group->law->key, group->law->n_key, g->arena);
        group->colour = workloads == n ? slots[which[i]] : (int)seen[group->facet];
        group->marker = group->colour + group->colour / WL_COLOURS; /* equal colours get other markers */
        seen[group->facet]++;
    }
    g->n_drawn = n;
    if (split) add_overview(g, which, slots);
    label_groups(g);
}

/* "epoch-time" + "-2-bert" + "-constant-global-batch", and titles alike. */
char *wl_facet_title(const struct wl_gathered *g, size_t facet, const char *title)
{
    const char *more[] = { g->facets[facet].workload, g->facets[facet].settings, g->series };
    struct wl_text text = WL_TEXT(g->arena);
    wl_text_add(&text, title);
    for (size_t i = 0; i < WL_COUNT(more); i++) {
        if (more[i]) wl_text_addf(&text, ", %s", more[i]);
    }
    return text.s;
}

char *wl_facet_id(const struct wl_gathered *g, size_t facet, const char *id)
{
    const char *workload = g->facets[facet].workload;
    const char *of = workload ? wl_strf(g->arena, "-%zu-%s", facet, wl_slug(workload, g->arena)) : "";
    const char *series = g->series ? wl_strf(g->arena, "-%s", wl_slug(g->series, g->arena)) : "";
    return wl_strf(g->arena, "%s%s%s", id, of, series);
}

static bool any_epoch(const struct wl_observations *o)
{
    for (size_t i = 0; o->epoch && i < o->n; i++) {
        if (!isnan(o->epoch[i])) return true;
    }
    return false;
}

int wl_gather(struct wl_gathered *g, struct wl_store *store, const struct wl_report_options *options,
              struct wl_arena *a, struct wl_err *e)
{
    *g = (struct wl_gathered) { .store = store, .options = *options, .arena = a };
    struct wl_law_options how = { .response = WL_LAW_TIME, .drop_epochs = options->drop_epochs, .thorough = true };
    int rc = read_store(g, e);
    if (rc == 0) rc = wl_law_fit(&g->observations, &how, &g->law, a, e);
    if (rc) return rc;
    g->whole_runs = !any_epoch(&g->observations);
    index_runs(g);
    sort_groups(g);
    name_groups(g);
    return 0;
}

int wl_gather_series(struct wl_gathered *out, const struct wl_gathered *g, const char *batch, struct wl_err *e)
{
    struct wl_law_options how = { .response = WL_LAW_TIME, .drop_epochs = g->options.drop_epochs };
    const struct wl_law_group *any = &g->law.groups[0]; /* all have the same columns */
    for (size_t i = 0; i < any->n_key; i++) {
        const char *column = any->key[i].column;
        bool is_batch = wl_streq(column, "local_batch") || wl_streq(column, "global_batch");
        if (!is_batch && !wl_streq(column, "accumulation")) wl_strs_add(g->arena, &how.by, column);
    }
    wl_strs_add(g->arena, &how.by, batch);
    *out = *g;
    int rc = wl_law_fit(&g->observations, &how, &out->law, g->arena, e);
    if (rc) return rc;
    out->series = wl_streq(batch, "local_batch") ? "constant local batch" : "constant global batch";
    sort_groups(out);
    name_groups(out);
    return 0;
}

/* Which rows belong to one law: refinement of a partition, column by column. */
#include "law/partition.h"

#include "law/labels.h"
#include "law/split.h"
#include "settings/settings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Number of values of each part that are not missing. */
static size_t *count_values(const struct wl_law_split *s, const char *const *texts)
{
    size_t n = s->obs->n, *ids = wl_new_array(s->step, size_t, n), *counts = wl_new_array(s->step, size_t, s->parts);
    size_t pairs = wl_law_split_within(s, s->part, texts, ids), seen = 0;
    for (size_t i = 0; i < n && seen < pairs; i++) {
        if (ids[i] != seen) continue;
        seen++;
        if (*texts[i]) counts[s->part[i]]++;
    }
    return counts;
}

static bool varies(const char *const *texts, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (strcmp(texts[i], texts[0]) != 0) return true;
    return false;
}

/* Separates where the column varies; one that names the groups separates always. */
static void separate_by(struct wl_law_split *s, const struct wl_obs_column *column, bool names)
{
    if (wl_str_eq(column->name, s->rule->excluded_column)) return;
    const char **texts = wl_law_split_texts(s, column);
    if (varies(texts, s->obs->n) || (names && *texts[0])) wl_law_split_refine_all(s, column->name, texts);
}

/* The settings that always name the group, and those that separate it where they vary. */
static void by_setting(struct wl_law_split *s)
{
    for (const struct wl_setting *r = wl_settings_table; r->name; r++) {
        struct wl_obs_column column; /* which not every table has */
        struct wl_err none;
        bool always = r->group == WL_GROUP_ALWAYS;
        if (!always && r->group != WL_GROUP_VARIES) continue;
        if (wl_obs_find(s->obs, r->name, &column, &none) < 0) continue;
        wl_law_split_next_step(s);
        if (r->type == WL_SETTING_CHOICE && !wl_law_split_values_vary(wl_law_split_texts(s, &column), s->obs->n))
            continue;
        separate_by(s, &column, always);
    }
}

/* What other tools measured (the column `source` of a store) is never in a group with what wattlaw did, and is named.
 */
static void by_source(struct wl_law_split *s)
{
    struct wl_obs_column column;
    if (wl_obs_find(s->obs, "source", &column, NULL) < 0 || !column.setting) return;
    wl_law_split_next_step(s);
    const char **texts = wl_law_split_texts(s, &column);
    for (size_t i = 0; i < s->obs->n; i++)
        if (!*texts[i]) texts[i] = "wattlaw";
    wl_law_split_refine_all(s, column.name, texts);
}

/* The batch size that is held fixed. */
static bool is_batch(const char *name)
{
    const struct wl_setting *r = name ? wl_setting_find(name) : NULL;
    return r && r->group == WL_GROUP_BATCH;
}

static void by_batch(struct wl_law_split *s)
{
    if (is_batch(s->rule->excluded_column)) return; /* the other one changes with it */
    const char *fixed = s->rule->fixed_batch;
    size_t n = s->obs->n;
    const char **local = wl_law_split_texts(s, &(struct wl_obs_column) { .real = s->obs->local_batch });
    const char **global = wl_law_split_texts(s, &(struct wl_obs_column) { .real = s->obs->global_batch });
    size_t *locals = count_values(s, local), *globals = count_values(s, global);
    const char **names = wl_new_array(s->step, const char *, n), **texts = wl_new_array(s->step, const char *, n);
    for (size_t i = 0; i < n; i++) {
        size_t l = locals[s->part[i]], g = globals[s->part[i]];
        if (!l && !g) continue;
        bool fixed_global = fixed ? wl_str_eq(fixed, "global_batch") : g && (!l || g < l);
        names[i] = fixed_global ? "global_batch" : "local_batch";
        texts[i] = fixed_global ? global[i] : local[i];
    }
    wl_law_split_refine(s, names, texts);
}

static void by_accumulation(struct wl_law_split *s)
{
    const struct wl_observations *obs = s->obs;
    if (is_batch(s->rule->excluded_column) || s->rule->fixed_batch) return;
    double *steps = wl_new_array(s->step, double, obs->n);
    for (size_t i = 0; i < obs->n; i++) {
        const double k = obs->global_batch[i] / (obs->workers[i] * obs->local_batch[i]);
        steps[i] = isfinite(k) ? k : NAN;
    }
    wl_law_split_where_several(s, "accumulation", wl_law_labels_of_numbers(steps, obs->n, 6, s->a, s->step));
}

/* Settings that may follow the worker count: those that say so, and the axes of the user's own, which have no row. */
static bool may_follow(const struct wl_obs_column *column)
{
    const struct wl_setting *r = wl_setting_find(column->name);
    return column->setting && (!r || r->group == WL_GROUP_FOLLOWS);
}

static void by_campaign_settings(struct wl_law_split *s)
{
    for (size_t c = 0; c < s->obs->n_extra; c++) {
        const struct wl_obs_column *column = &s->obs->extra[c];
        wl_law_split_next_step(s);
        if (may_follow(column) && !wl_str_eq(column->name, s->rule->excluded_column))
            wl_law_split_where_several(s, column->name, wl_law_split_texts(s, column));
    }
}

static int by_columns(struct wl_law_split *s, const struct wl_strs *by, struct wl_err *e)
{
    for (size_t c = 0; c < by->n; c++) {
        struct wl_obs_column column;
        int rc = wl_obs_find(s->obs, by->v[c], &column, e);
        if (rc) return rc;
        wl_law_split_next_step(s);
        wl_law_split_refine_all(s, column.name, wl_law_split_texts(s, &column));
    }
    return 0;
}

/* Numbers by value, before words; a missing value comes last. */
int wl_law_partition_compare(const char *x, const char *y)
{
    double a, b;
    bool x_number = wl_str_to_real(x, &a) == 0, y_number = wl_str_to_real(y, &b) == 0;
    if (x_number && y_number) return (a > b) - (a < b);
    if (!*x || !*y) return !*x - !*y;
    if (x_number != y_number) return x_number ? -1 : 1;
    return strcmp(x, y);
}

/* Keys of equal columns by their values; others by the first column that differs, then by length. */
static int by_key(const void *p, const void *q)
{
    const struct wl_law_partition_cell *x = p, *y = q;
    for (size_t i = 0; i < x->n_key && i < y->n_key; i++) {
        int order = strcmp(x->key[i].column, y->key[i].column);
        if (!order) order = wl_law_partition_compare(x->key[i].value, y->key[i].value);
        if (order) return order;
    }
    return (x->n_key > y->n_key) - (x->n_key < y->n_key);
}

/* A workload is named alone, other values follow their column. */
const char *wl_law_partition_title(const struct wl_law_partition_cell *part, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    for (size_t i = 0; i < part->n_key; i++) {
        const struct wl_law_key *k = &part->key[i];
        const char *value = *k->value ? k->value : "unknown";
        if (t.n) wl_text_add(&t, ", ");
        if (wl_str_eq(k->column, "workload") && *k->value)
            wl_text_add(&t, value);
        else
            wl_text_addf(&t, "%s %s", k->column, value);
    }
    return t.n ? t.s : "all runs";
}

/* Copies the parts out of the scratch arena, with their rows. */
static void take_parts(const struct wl_law_split *s, struct wl_law_partition_cells *out, struct wl_arena *a)
{
    out->v = wl_new_array(a, struct wl_law_partition_cell, s->parts);
    out->n = s->parts;
    for (size_t i = 0; i < s->obs->n; i++) out->v[s->part[i]].n++;
    for (size_t p = 0; p < s->parts; p++) {
        struct wl_law_partition_cell *part = &out->v[p];
        part->n_key = s->keys[p].n_key;
        part->key = wl_new_array(a, struct wl_law_key, part->n_key);
        for (size_t i = 0; i < part->n_key; i++)
            part->key[i] = (struct wl_law_key) { s->keys[p].key[i].column, wl_strdup(a, s->keys[p].key[i].value) };
        part->rows = wl_new_array(a, size_t, part->n);
        part->n = 0;
    }
    for (size_t i = 0; i < s->obs->n; i++) {
        struct wl_law_partition_cell *part = &out->v[s->part[i]];
        part->rows[part->n++] = i;
    }
    qsort(out->v, out->n, sizeof *out->v, by_key);
}

static int separate(struct wl_law_split *s, struct wl_err *e)
{
    if (s->rule->by.n) return by_columns(s, &s->rule->by, e);
    if (!s->obs->n) return 0;
    by_source(s);
    by_setting(s);
    wl_law_split_next_step(s);
    by_batch(s);
    wl_law_split_next_step(s);
    by_accumulation(s);
    by_campaign_settings(s);
    wl_law_split_by_work(s);
    return 0;
}

int wl_law_partition(const struct wl_observations *obs, const struct wl_law_grouping *rule,
                     struct wl_law_partition_cells *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_arena *scratch = wl_arena_new(a);
    struct wl_law_split s = {
        .obs = obs, .rule = rule, .a = scratch, .part = wl_new_array(scratch, size_t, obs->n), .parts = 1
    };
    s.step = wl_arena_new(scratch);
    s.keys = wl_new(scratch, struct wl_law_partition_cell);
    *out = (struct wl_law_partition_cells) { 0 };
    int rc = separate(&s, e);
    if (rc == 0 && obs->n) take_parts(&s, out, a);
    wl_arena_free(scratch);
    return rc;
}

/* Which rows belong to one law: refinement of a partition, column by column. */
#include "law/partition.h"

#include "law/work.h"
#include "settings/settings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef bool same_kind(const void *ctx, size_t a, size_t b);

/* Numbers the kinds of rows in order of first appearance; `same` compares two rows of one hash. Returns the number of
 * kinds. */
static size_t number_kinds(const uint64_t *hash, size_t n, same_kind *same, const void *ctx, size_t *ids,
                           struct wl_arena *scratch)
{
    size_t size = 16, count = 0;
    while (size < 2 * n) size *= 2;
    size_t *first = wl_new_array(scratch, size_t, size); /* row + 1, open addressing */
    for (size_t i = 0; i < n; i++) {
        size_t at = hash[i] & (size - 1);
        while (first[at] && !same(ctx, first[at] - 1, i)) at = (at + 1) & (size - 1);
        if (!first[at]) {
            first[at] = i + 1;
            ids[i] = count++;
        } else {
            ids[i] = ids[first[at] - 1];
        }
    }
    return count;
}

static bool same_text(const void *ctx, size_t a, size_t b)
{
    const char *const *texts = ctx;
    return texts[a] == texts[b] || strcmp(texts[a], texts[b]) == 0;
}

size_t wl_law_partition_labels(const char *const *texts, size_t n, size_t *ids, struct wl_arena *a)
{
    struct wl_arena *scratch = wl_arena_new(a);
    uint64_t *hash = wl_new_array(scratch, uint64_t, n);
    for (size_t i = 0; i < n; i++) hash[i] = wl_hash_fnv1a(texts[i]);
    size_t count = number_kinds(hash, n, same_text, texts, ids, scratch);
    wl_arena_free(scratch);
    return count;
}

/* A partition of the rows and the key of each part so far. */
struct split {
    const struct wl_observations *obs;
    const struct wl_law_grouping *rule;
    struct wl_arena *a, *step; /* what lasts; arrays over rows of one step of the rule */
    size_t *part;              /* [n] */
    size_t parts;
    struct wl_law_partition_cell *keys; /* [parts] */
};

static bool same_number(const void *ctx, size_t a, size_t b)
{
    const double *v = ctx;
    return v[a] == v[b] || (isnan(v[a]) && isnan(v[b]));
}

/* Numbers as texts, each distinct one written once; "" where one is missing. */
static const char **number_texts(const struct split *s, const double *v, int digits)
{
    const size_t n = s->obs->n;
    size_t *ids = wl_new_array(s->step, size_t, n);
    const char **texts = wl_new_array(s->step, const char *, n), **of = wl_new_array(s->step, const char *, n);
    uint64_t *hash = wl_new_array(s->step, uint64_t, n);
    for (size_t i = 0; i < n; i++) {
        const double known = isnan(v[i]) ? 0 : v[i] + 0.0; /* -0 and 0 are the same */
        memcpy(&hash[i], &known, sizeof known);
        hash[i] = (hash[i] * 0x9e3779b97f4a7c15u) >> 20;
    }
    number_kinds(hash, n, same_number, v, ids, s->step);
    for (size_t i = 0; i < n; i++) {
        if (!of[ids[i]]) of[ids[i]] = isnan(v[i]) ? "" : wl_strf(s->a, "%.*g", digits, v[i]);
        texts[i] = of[ids[i]];
    }
    return texts;
}

/* The texts of one column, row by row. */
static const char **column_texts(const struct split *s, const struct wl_obs_column *column)
{
    if (column->real) return number_texts(s, column->real, 15);
    const char **texts = wl_new_array(s->step, const char *, s->obs->n);
    for (size_t i = 0; i < s->obs->n; i++) texts[i] = column->text[i] ? column->text[i] : "";
    return texts;
}

/* Frees the arrays of the step before. */
static void next_step(struct split *s)
{
    wl_arena_free(s->step);
    s->step = wl_arena_new(s->a);
}

struct pairs {
    const size_t *of, *text;
};

static bool same_pair(const void *ctx, size_t a, size_t b)
{
    const struct pairs *p = ctx;
    return p->of[a] == p->of[b] && p->text[a] == p->text[b];
}

/* The pairs (group, text) numbered in the order of their first rows, where group is one of the numbers in `of`. */
static size_t number_within(const struct split *s, const size_t *of, const char *const *texts, size_t *ids)
{
    size_t n = s->obs->n;
    struct wl_arena *scratch = wl_arena_new(s->step);
    size_t *text = wl_new_array(scratch, size_t, n);
    uint64_t *hash = wl_new_array(scratch, uint64_t, n);
    wl_law_partition_labels(texts, n, text, scratch);
    for (size_t i = 0; i < n; i++) hash[i] = (of[i] * 0x9e3779b97f4a7c15u + text[i] * 0xc2b2ae3d27d4eb4fu) >> 20;
    size_t count = number_kinds(hash, n, same_pair, &(struct pairs) { of, text }, ids, scratch);
    wl_arena_free(scratch);
    return count;
}

/* Number of values of each part that are not missing. */
static size_t *count_values(const struct split *s, const char *const *texts)
{
    size_t n = s->obs->n, *ids = wl_new_array(s->step, size_t, n), *counts = wl_new_array(s->step, size_t, s->parts);
    size_t pairs = number_within(s, s->part, texts, ids), seen = 0;
    for (size_t i = 0; i < n && seen < pairs; i++) {
        if (ids[i] != seen) continue;
        seen++;
        if (*texts[i]) counts[s->part[i]]++;
    }
    return counts;
}

/* Refines the partition by texts; rows whose name is NULL are not separated. */
static void refine(struct split *s, const char *const *names, const char *const *texts)
{
    size_t n = s->obs->n, *ids = wl_new_array(s->step, size_t, n);
    const char **labels = wl_new_array(s->step, const char *, n);
    for (size_t i = 0; i < n; i++) labels[i] = names[i] ? texts[i] : "";
    size_t parts = number_within(s, s->part, labels, ids), seen = 0;
    struct wl_law_partition_cell *keys = wl_new_array(s->a, struct wl_law_partition_cell, parts);
    for (size_t i = 0; i < n; i++) {
        if (ids[i] == seen) {
            const struct wl_law_partition_cell *old = &s->keys[s->part[i]];
            struct wl_law_partition_cell *new = &keys[seen++];
            new->key = wl_new_array(s->a, struct wl_law_key, old->n_key + 1);
            if (old->n_key) memcpy(new->key, old->key, old->n_key * sizeof *old->key);
            new->n_key = old->n_key;
            if (names[i]) new->key[new->n_key++] = (struct wl_law_key) { names[i], texts[i] };
        }
        s->part[i] = ids[i];
    }
    s->parts = parts;
    s->keys = keys;
}

static void refine_all(struct split *s, const char *name, const char *const *texts)
{
    const char **names = wl_new_array(s->step, const char *, s->obs->n);
    for (size_t i = 0; i < s->obs->n; i++) names[i] = name;
    refine(s, names, texts);
}

static bool varies(const char *const *texts, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (strcmp(texts[i], texts[0]) != 0) return true;
    return false;
}

/* Separates where the column varies; one that names the groups separates always. */
static void separate_by(struct split *s, const struct wl_obs_column *column, bool names)
{
    if (wl_str_eq(column->name, s->rule->excluded_column)) return;
    const char **texts = column_texts(s, column);
    if (varies(texts, s->obs->n) || (names && *texts[0])) refine_all(s, column->name, texts);
}

/* Two values among those that are known? Runs of an unknown choice (a store of an older version, a CSV with blanks)
 * join those of the one known value. Beside two known values they could belong to either: they are a group of their
 * own. A missing cap is a level, no cap. */
static bool known_values_vary(const char *const *texts, size_t n)
{
    const char *first = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!*texts[i]) continue;
        if (first && strcmp(first, texts[i]) != 0) return true;
        first = texts[i];
    }
    return false;
}

/* The settings that always name the group, and those that separate it where they vary. */
static void by_setting(struct split *s)
{
    for (const struct wl_setting *r = wl_settings_table; r->name; r++) {
        struct wl_obs_column column; /* which not every table has */
        struct wl_err none;
        bool always = r->group == WL_GROUP_ALWAYS;
        if (!always && r->group != WL_GROUP_VARIES) continue;
        if (wl_obs_find(s->obs, r->name, &column, &none) < 0) continue;
        next_step(s);
        if (r->type == WL_SETTING_CHOICE && !known_values_vary(column_texts(s, &column), s->obs->n)) continue;
        separate_by(s, &column, always);
    }
}

/* The batch size that is held fixed. */
static bool is_batch(const char *name)
{
    const struct wl_setting *r = name ? wl_setting_find(name) : NULL;
    return r && r->group == WL_GROUP_BATCH;
}

static void by_batch(struct split *s)
{
    if (is_batch(s->rule->excluded_column)) return; /* the other one changes with it */
    const char *fixed = s->rule->fixed_batch;
    size_t n = s->obs->n;
    const char **local = column_texts(s, &(struct wl_obs_column) { .real = s->obs->local_batch });
    const char **global = column_texts(s, &(struct wl_obs_column) { .real = s->obs->global_batch });
    size_t *locals = count_values(s, local), *globals = count_values(s, global);
    const char **names = wl_new_array(s->step, const char *, n), **texts = wl_new_array(s->step, const char *, n);
    for (size_t i = 0; i < n; i++) {
        size_t l = locals[s->part[i]], g = globals[s->part[i]];
        if (!l && !g) continue;
        bool fixed_global = fixed ? wl_str_eq(fixed, "global_batch") : g && (!l || g < l);
        names[i] = fixed_global ? "global_batch" : "local_batch";
        texts[i] = fixed_global ? global[i] : local[i];
    }
    refine(s, names, texts);
}

/* A setting that may follow the worker count: it separates the parts in which one worker count has several of it. */
static void by_other_setting(struct split *s, const char *name, const char *const *texts)
{
    size_t n = s->obs->n, *at_workers = wl_new_array(s->step, size_t, n), *ids = wl_new_array(s->step, size_t, n);
    const char **workers = column_texts(s, &(struct wl_obs_column) { .real = s->obs->workers });
    number_within(s, s->part, workers, at_workers);
    size_t pairs = number_within(s, at_workers, texts, ids), seen = 0;
    size_t *values = wl_new_array(s->step, size_t, n); /* [at_workers] */
    bool *several = wl_new_array(s->step, bool, s->parts), any = false;
    for (size_t i = 0; i < n && seen < pairs; i++) {
        if (ids[i] != seen) continue;
        seen++;
        if (++values[at_workers[i]] > 1) several[s->part[i]] = any = true;
    }
    if (!any) return;
    const char **names = wl_new_array(s->step, const char *, n);
    for (size_t i = 0; i < n; i++) names[i] = several[s->part[i]] ? name : NULL;
    refine(s, names, texts);
}

static void by_accumulation(struct split *s)
{
    const struct wl_observations *obs = s->obs;
    if (is_batch(s->rule->excluded_column) || s->rule->fixed_batch) return;
    double *steps = wl_new_array(s->step, double, obs->n);
    for (size_t i = 0; i < obs->n; i++) {
        const double k = obs->global_batch[i] / (obs->workers[i] * obs->local_batch[i]);
        steps[i] = isfinite(k) ? k : NAN;
    }
    by_other_setting(s, "accumulation", number_texts(s, steps, 6));
}

/* The parts in which rows of one worker count (and one value of the excluded column) have unlike work. */
static bool find_unlike_work(const struct split *s, const double *work, bool *unlike)
{
    size_t n = s->obs->n, *cell = wl_new_array(s->step, size_t, n);
    size_t cells =
        number_within(s, s->part, column_texts(s, &(struct wl_obs_column) { .real = s->obs->workers }), cell);
    struct wl_obs_column excluded;
    struct wl_err none;
    if (s->rule->excluded_column && !wl_obs_find(s->obs, s->rule->excluded_column, &excluded, &none)) {
        size_t *finer = wl_new_array(s->step, size_t, n);
        cells = number_within(s, cell, column_texts(s, &excluded), finer);
        cell = finer;
    }
    double *least = wl_new_array(s->step, double, cells), *most = wl_new_array(s->step, double, cells);
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        if (isnan(work[i])) continue;
        if (!(most[cell[i]] > 0)) least[cell[i]] = most[cell[i]] = work[i];
        least[cell[i]] = fmin(least[cell[i]], work[i]);
        most[cell[i]] = fmax(most[cell[i]], work[i]);
    }
    for (size_t i = 0; i < n; i++)
        if (most[cell[i]] > WL_LAW_SAME_WORK * least[cell[i]]) unlike[s->part[i]] = any = true;
    return any;
}

/* Epochs of unlike work are not one law. Of the samples of an epoch and those of a worker, the one with fewer values
 * (the samples where equal) separates the parts in which one worker count has several. */
static void by_samples(struct split *s)
{
    const struct wl_observations *obs = s->obs;
    bool *unlike = wl_new_array(s->step, bool, s->parts);
    double *work = wl_law_work_of_rows(obs, s->step), *per_worker = wl_new_array(s->step, double, obs->n);
    if (!find_unlike_work(s, work, unlike)) return;
    size_t *epoch_classes = wl_new_array(s->step, size_t, s->parts),
           *worker_classes = wl_new_array(s->step, size_t, s->parts);
    for (size_t i = 0; i < obs->n; i++) per_worker[i] = work[i] / obs->workers[i];
    const char **of_epoch = wl_law_work_classes(work, s->part, obs->n, s->parts, epoch_classes, s->a);
    const char **of_worker = wl_law_work_classes(per_worker, s->part, obs->n, s->parts, worker_classes, s->a);
    const char **names = wl_new_array(s->step, const char *, obs->n),
               **texts = wl_new_array(s->step, const char *, obs->n);
    for (size_t i = 0; i < obs->n; i++) {
        const size_t p = s->part[i];
        if (!unlike[p]) continue;
        const bool worker = worker_classes[p] < epoch_classes[p];
        names[i] = worker ? "samples_per_worker" : "samples";
        texts[i] = worker ? of_worker[i] : of_epoch[i];
    }
    refine(s, names, texts);
}

/* Each run's first known text of a column. */
static const char **text_of_runs(const struct split *s, const struct wl_obs_column *column)
{
    const size_t n = s->obs->n;
    const char **of_row = column_texts(s, column), **of_run = wl_new_array(s->step, const char *, s->obs->runs),
               **out = wl_new_array(s->step, const char *, n);
    for (size_t i = 0; i < n; i++)
        if (*of_row[i] && !of_run[s->obs->run_index[i]]) of_run[s->obs->run_index[i]] = of_row[i];
    for (size_t i = 0; i < n; i++) out[i] = of_run[s->obs->run_index[i]] ? of_run[s->obs->run_index[i]] : "";
    return out;
}

/* With values, metrics are what training was watched by: any run may record any. Without, they name the work. */
static bool has_metric_values(const struct wl_observations *obs)
{
    for (size_t i = 0; i < obs->n; i++)
        if (!isnan(obs->metric_value[i])) return true;
    return false;
}

/* Work is of another kind where runs of one worker count have another metric or unit. */
static void by_work(struct split *s)
{
    static const char *const kinds[] = { "metric", "unit" };
    for (size_t k = 0; k < WL_COUNT(kinds); k++) {
        struct wl_obs_column column;
        struct wl_err none;
        if (k == 0 && has_metric_values(s->obs)) continue;
        if (wl_str_eq(s->rule->excluded_column, kinds[k]) || wl_obs_find(s->obs, kinds[k], &column, &none)) continue;
        next_step(s);
        const char **texts = text_of_runs(s, &column);
        if (known_values_vary(texts, s->obs->n)) by_other_setting(s, column.name, texts);
    }
    next_step(s);
    if (!wl_law_work_is_key(s->rule->excluded_column)) by_samples(s);
}

/* Settings that may follow the worker count: those that say so, and the axes of the user's own, which have no row. */
static bool may_follow(const struct wl_obs_column *column)
{
    const struct wl_setting *r = wl_setting_find(column->name);
    return column->setting && (!r || r->group == WL_GROUP_FOLLOWS);
}

static void by_campaign_settings(struct split *s)
{
    for (size_t c = 0; c < s->obs->n_extra; c++) {
        const struct wl_obs_column *column = &s->obs->extra[c];
        next_step(s);
        if (may_follow(column) && !wl_str_eq(column->name, s->rule->excluded_column))
            by_other_setting(s, column->name, column_texts(s, column));
    }
}

static int by_columns(struct split *s, const struct wl_strs *by, struct wl_err *e)
{
    for (size_t c = 0; c < by->n; c++) {
        struct wl_obs_column column;
        int rc = wl_obs_find(s->obs, by->v[c], &column, e);
        if (rc) return rc;
        next_step(s);
        refine_all(s, column.name, column_texts(s, &column));
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
static void take_parts(const struct split *s, struct wl_law_partition_cells *out, struct wl_arena *a)
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

static int separate(struct split *s, struct wl_err *e)
{
    if (s->rule->by.n) return by_columns(s, &s->rule->by, e);
    if (!s->obs->n) return 0;
    by_setting(s);
    next_step(s);
    by_batch(s);
    next_step(s);
    by_accumulation(s);
    by_campaign_settings(s);
    by_work(s);
    return 0;
}

int wl_law_partition(const struct wl_observations *obs, const struct wl_law_grouping *rule,
                     struct wl_law_partition_cells *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_arena *scratch = wl_arena_new(a);
    struct split s = {
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

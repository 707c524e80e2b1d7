#include "law/split.h"

#include "law/labels.h"

#include <string.h>

const char **wl_law_split_texts(const struct wl_law_split *s, const struct wl_obs_column *column)
{
    if (column->real) return wl_law_labels_of_numbers(column->real, s->obs->n, 15, s->a, s->step);
    const char **texts = wl_new_array(s->step, const char *, s->obs->n);
    for (size_t i = 0; i < s->obs->n; i++) texts[i] = column->text[i] ? column->text[i] : "";
    return texts;
}

void wl_law_split_next_step(struct wl_law_split *s)
{
    wl_arena_free(s->step);
    s->step = wl_arena_new(s->a);
}

size_t wl_law_split_within(const struct wl_law_split *s, const size_t *of, const char *const *texts, size_t *ids)
{
    return wl_law_labels_within(of, texts, s->obs->n, ids, s->step);
}

void wl_law_split_refine(struct wl_law_split *s, const char *const *names, const char *const *texts)
{
    size_t n = s->obs->n, *ids = wl_new_array(s->step, size_t, n);
    const char **labels = wl_new_array(s->step, const char *, n);
    for (size_t i = 0; i < n; i++) labels[i] = names[i] ? texts[i] : "";
    size_t parts = wl_law_split_within(s, s->part, labels, ids), seen = 0;
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

void wl_law_split_refine_all(struct wl_law_split *s, const char *name, const char *const *texts)
{
    const char **names = wl_new_array(s->step, const char *, s->obs->n);
    for (size_t i = 0; i < s->obs->n; i++) names[i] = name;
    wl_law_split_refine(s, names, texts);
}

bool wl_law_split_values_vary(const char *const *texts, size_t n)
{
    const char *first = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!*texts[i]) continue;
        if (first && strcmp(first, texts[i]) != 0) return true;
        first = texts[i];
    }
    return false;
}

void wl_law_split_where_several(struct wl_law_split *s, const char *name, const char *const *texts)
{
    size_t n = s->obs->n, *at_workers = wl_new_array(s->step, size_t, n), *ids = wl_new_array(s->step, size_t, n);
    const char **workers = wl_law_split_texts(s, &(struct wl_obs_column) { .real = s->obs->workers });
    wl_law_split_within(s, s->part, workers, at_workers);
    size_t pairs = wl_law_split_within(s, at_workers, texts, ids), seen = 0;
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
    wl_law_split_refine(s, names, texts);
}

#include "report/table/page_rows.h"

#include "report/table/cells.h"

#include <stdlib.h>
#include <string.h>

/* ---- keys ---- */

static size_t column_of(const struct wl_report_table *t, const char *id)
{
    size_t c = 0;
    while (c < t->n_columns && !wl_str_eq(t->columns[c].id, id)) c++;
    return c;
}

/* The words of a row by which it has its key; NULL: it has none of them. */
struct words {
    const char *workload, *group, *factor;
    size_t row;
};

static const char *word(const struct wl_report_table *t, size_t row, size_t column)
{
    return column < t->n_columns ? t->cells[row * t->n_columns + column].text : NULL;
}

static int compare(const struct words *a, const struct words *b)
{
    const char *const x[] = { a->workload, a->group, a->factor }, *const y[] = { b->workload, b->group, b->factor };
    for (size_t i = 0; i < WL_COUNT(x); i++) {
        const int order = strcmp(x[i] ? x[i] : "", y[i] ? y[i] : "");
        if (order) return order;
    }
    return 0;
}

static int by_words(const void *p, const void *q)
{
    const struct words *a = p, *b = q;
    const int order = compare(a, b);
    return order ? order : (a->row > b->row) - (a->row < b->row);
}

/* Does the name of a group begin with that of a workload? "bert", "bert, cap 250 W", "bert (2)" */
static bool is_of(const char *group, size_t n, const char *workload)
{
    const size_t length = strlen(workload);
    if (length == 0 || n < length || memcmp(group, workload, length) != 0) return false;
    return n == length || wl_str_starts(group + length, ", ") || wl_str_starts(group + length, " (");
}

static void add_workload(struct wl_report_row_key *key, size_t workload)
{
    for (size_t i = 0; i < key->n_of; i++)
        if (key->of[i] == workload) return;
    key->of[key->n_of++] = workload;
}

/* The longest workload that a group's name begins with. */
static void add_group(const struct wl_strs *workloads, const char *group, size_t n, struct wl_report_row_key *key)
{
    size_t best = workloads->n;
    for (size_t k = 0; k < workloads->n; k++)
        if (is_of(group, n, workloads->v[k]) &&
            (best == workloads->n || strlen(workloads->v[k]) > strlen(workloads->v[best])))
            best = k;
    if (best < workloads->n) add_workload(key, best);
}

static struct wl_report_row_key key_of(const struct wl_report_table *t, const struct words *w)
{
    static const struct wl_strs none;
    const struct wl_strs *workloads = t->workloads ? t->workloads : &none;
    struct wl_report_row_key key = { .of = wl_new_array(t->arena, size_t, workloads->n), .factor = w->factor };
    for (size_t k = 0; w->workload && k < workloads->n; k++)
        if (wl_str_eq(workloads->v[k], w->workload)) add_workload(&key, k);
    for (const char *group = w->workload ? NULL : w->group; group;) { /* "a; b": of several groups */
        const char *end = strstr(group, "; ");
        add_group(workloads, group, end ? (size_t)(end - group) : strlen(group), &key);
        group = end ? end + 2 : NULL;
    }
    return key;
}

static bool same_key(const struct wl_report_row_key *p, const struct wl_report_row_key *q)
{
    if (p->n_of != q->n_of || !wl_str_eq(p->factor, q->factor)) return false;
    return p->n_of == 0 || memcmp(p->of, q->of, p->n_of * sizeof *p->of) == 0;
}

/* The place of the key in the list, to which it is added. */
static size_t place_of(struct wl_report_row_keys *keys, const struct wl_report_row_key *key, struct wl_arena *a)
{
    size_t k = 0;
    while (k < keys->n && !same_key(&keys->v[k], key)) k++;
    if (k < keys->n) return k;
    WL_GROW(a, keys->v, keys->n, keys->cap);
    keys->v[keys->n++] = *key;
    return k;
}

struct wl_report_row_keys wl_report_row_keys(const struct wl_report_table *t)
{
    struct wl_report_row_keys keys = { .of_row = wl_new_array(t->arena, size_t, t->n_rows) };
    const size_t workload = column_of(t, "workload"), factor = column_of(t, "factor"), one = column_of(t, "group"),
                 group = one < t->n_columns ? one : column_of(t, "groups");
    struct words *words = wl_new_array(t->arena, struct words, t->n_rows);
    for (size_t r = 0; r < t->n_rows; r++)
        words[r] = (struct words) { workload < t->n_columns && !word(t, r, workload) ? "" : word(t, r, workload),
                                    word(t, r, group), word(t, r, factor), r };
    if (t->n_rows) qsort(words, t->n_rows, sizeof *words, by_words);
    for (size_t i = 0, k = 0; i < t->n_rows; i++) {
        if (i == 0 || compare(&words[i - 1], &words[i]) != 0) {
            const struct wl_report_row_key key = key_of(t, &words[i]);
            k = place_of(&keys, &key, t->arena);
        }
        keys.of_row[words[i].row] = k;
        keys.v[k].rows++;
    }
    return keys;
}

/* ---- the rows of a page ---- */

struct candidate {
    size_t turn, row;
};

static int by_turn(const void *p, const void *q)
{
    const struct candidate *a = p, *b = q;
    if (a->turn != b->turn) return a->turn < b->turn ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

const bool *wl_report_page_rows(const struct wl_report_table *t, const struct wl_report_row_keys *keys, size_t most)
{
    enum { EACH = 8 }; /* rows of a key, whatever is notable of others */
    bool *kept = wl_new_array(t->arena, bool, t->n_rows);
    struct candidate *order = wl_new_array(t->arena, struct candidate, t->n_rows);
    size_t *notable = wl_new_array(t->arena, size_t, keys->n), *plain = wl_new_array(t->arena, size_t, keys->n);
    for (size_t r = 0; r < t->n_rows; r++) plain[keys->of_row[r]] += wl_report_table_is_notable(t, r);
    for (size_t r = 0; r < t->n_rows; r++) {
        const bool first = wl_report_table_is_notable(t, r);
        const size_t k = keys->of_row[r], rank = first ? notable[k]++ : plain[k]++;
        order[r] = (struct candidate) { rank < EACH ? rank : first ? EACH : rank + 1, r };
    }
    if (t->n_rows) qsort(order, t->n_rows, sizeof *order, by_turn);
    for (size_t i = 0; i < t->n_rows && i < most; i++) kept[order[i].row] = true;
    return kept;
}

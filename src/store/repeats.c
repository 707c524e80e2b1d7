/* Repeats that do not repeat: done runs of the same settings whose commands differ. */
#include "store/read.h"

#include "store/connection.h"
#include "store/rows.h"

#include <stdlib.h>
#include <string.h>

struct repeat {
    int64_t id, campaign, swept;
    struct wl_settings set;
    const char *actual_extra, *folder, *command;
    const char *key; /* of its settings */
};

#define AT(member) offsetof(struct repeat, member)

static const struct wl_column_map map[] = {
    { "r.id", WL_COLUMN_INT, AT(id) },
    { "s.campaign", WL_COLUMN_INT, AT(campaign) },
    { "EXISTS (SELECT 1 FROM experiment x WHERE x.campaign = s.campaign AND x.text <> '')", WL_COLUMN_INT, AT(swept) },
#define SETTINGS_PREFIX "s."
#define SETTINGS_BASE   offsetof(struct repeat, set)
#include "store/settings_map.h"
    { "a.extra", WL_COLUMN_OBJECT, AT(actual_extra) },
    { "r.folder", WL_COLUMN_TEXT, AT(folder) },
    { "r.command", WL_COLUMN_TEXT, AT(command) },
    { NULL },
};

static int read_repeats(struct wl_store *s, int64_t campaign, struct repeat **v, size_t *n, struct wl_arena *a,
                        struct wl_err *e)
{
    const struct wl_query q = { .map = map,
                                .from = "FROM run r JOIN setting s ON s.run = r.id LEFT JOIN actual a ON a.run = r.id "
                                        "WHERE r.status = 'done' AND r.flag IS NULL AND r.command IS NOT NULL "
                                        "AND (?1 = 0 OR s.campaign = ?1)",
                                .values = SQL(sql_int(campaign)),
                                .size = sizeof **v };
    const int rc = wl_rows_select(s, &q, v, n, a, e);
    for (size_t i = 0; i < *n && rc == 0; i++) {
        struct repeat *r = &(*v)[i];
        r->set.extra = wl_settings_merge_extra(r->set.extra, r->actual_extra, a);
        r->key = wl_settings_key(&r->set, a);
    }
    return rc;
}

static int by_settings(const void *p, const void *q)
{
    const struct repeat *x = p, *y = q;
    const int order = strcmp(x->key, y->key);
    return order ? order : (x->id > y->id) - (x->id < y->id);
}

/* ---- what a command is, whatever the run ---- */

/* --seed, --data-seed=7, seed=7 */
static bool is_seed(const char *word)
{
    static const char name[] = "seed";
    const size_t n = strcspn(word, "=");
    return n >= strlen(name) && strncmp(word + n - strlen(name), name, strlen(name)) == 0;
}

/* Words that each run has of its own have no text: the files in its folder, and seeds. */
static struct wl_strs words_of(const struct repeat *r, struct wl_arena *a)
{
    struct wl_strs words = { 0 };
    struct wl_err none;
    if (wl_shell_split(r->command, &words, a, &none)) {
        words.n = 0;
        wl_strs_add(a, &words, r->command);
    }
    for (size_t i = 0; i < words.n; i++) {
        const char *word = words.v[i], *before = i ? words.v[i - 1] : "";
        const bool of_run = r->folder && *r->folder && strstr(word, r->folder),
                   seed = strchr(word, '=') ? is_seed(word) : is_seed(before) && !strchr(before, '=');
        if (of_run || seed) words.v[i] = wl_strdup(a, "");
    }
    return words;
}

/* All runs of a sweep are of one template (another one is refused): where their commands differ, by more than seeds, it
 * is in placeholders. */
static bool have_one_template(const struct repeat *x, const struct repeat *y)
{
    return x->swept && x->campaign == y->campaign;
}

static bool are_alike(const struct repeat *x, const struct repeat *y, struct wl_arena *scratch)
{
    if (have_one_template(x, y) || strcmp(x->command, y->command) == 0) return true;
    const struct wl_strs p = words_of(x, scratch), q = words_of(y, scratch);
    bool alike = p.n == q.n;
    for (size_t i = 0; i < p.n && alike; i++) alike = strcmp(p.v[i], q.v[i]) == 0;
    return alike;
}

/* The first two of v[0 .. n) whose commands differ. */
static void compare(const struct repeat *v, size_t n, struct wl_unlike_rows *out, size_t *cap, struct wl_arena *a)
{
    struct wl_arena *scratch = wl_arena_new(a);
    size_t i = 1;
    while (i < n && are_alike(&v[0], &v[i], scratch)) i++;
    wl_arena_free(scratch);
    if (i == n) return;
    WL_GROW(a, out->v, out->n, *cap);
    out->v[out->n++] = (struct wl_unlike_row) { v[0].set.workload, v[0].id, v[i].id, v[0].command, v[i].command };
}

static int by_run(const void *p, const void *q)
{
    const struct wl_unlike_row *x = p, *y = q;
    return (x->run > y->run) - (x->run < y->run);
}

int wl_store_unlike_repeats(struct wl_store *s, int64_t campaign, struct wl_unlike_rows *out, struct wl_arena *a,
                            struct wl_err *e)
{
    struct repeat *v = NULL;
    size_t n = 0, cap = 0;
    *out = (struct wl_unlike_rows) { 0 };
    const int rc = read_repeats(s, campaign, &v, &n, a, e);
    if (rc || !n) return rc;
    qsort(v, n, sizeof *v, by_settings);
    for (size_t first = 0, next; first < n; first = next) {
        for (next = first + 1; next < n && strcmp(v[next].key, v[first].key) == 0;) next++;
        compare(v + first, next - first, out, &cap, a);
    }
    if (out->n) qsort(out->v, out->n, sizeof *out->v, by_run);
    return 0;
}

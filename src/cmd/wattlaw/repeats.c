#include "cmd/wattlaw/repeats.h"

#include "cmd/wattlaw/analysis.h"

#include <stdlib.h>
#include <string.h>

static int read_rows(const char *given, struct wl_unlike_rows *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_store *s;
    char *path;
    int rc = wl_store_find(given, &path, a, e);
    if (rc == 0) rc = wl_store_open(&s, path, WL_STORE_READ, a, e);
    if (rc) return rc;
    rc = wl_store_unlike_repeats(s, 0, out, a, e);
    wl_store_close(s);
    return rc;
}

static int by_number(const void *p, const void *q)
{
    const int64_t x = *(const int64_t *)p, y = *(const int64_t *)q;
    return (x > y) - (x < y);
}

/* The numbers of the runs of a table, ascending. */
static int64_t *runs_of(const struct wl_observations *obs, size_t *n, struct wl_arena *a)
{
    int64_t *v = wl_new_array(a, int64_t, obs->n);
    *n = 0;
    for (size_t i = 0; i < obs->n; i++)
        if (obs->run[i] && wl_str_to_int(obs->run[i], &v[*n]) == 0) *n += 1;
    qsort(v, *n, sizeof *v, by_number);
    return v;
}

int wl_unlike_repeats_find(const char *path, const struct wl_observations *obs, struct wl_unlike_repeats *out,
                           struct wl_arena *a, struct wl_err *e)
{
    *out = (struct wl_unlike_repeats) { 0 };
    if (!wl_analysis_is_store(path)) return 0;
    out->known = true;
    struct wl_unlike_rows *rows = &out->rows;
    const int rc = read_rows(path, rows, a, e);
    if (rc || !rows->n) return rc;
    size_t n = 0, n_runs;
    const int64_t *runs = runs_of(obs, &n_runs, a);
    for (size_t i = 0; i < rows->n; i++)
        if (bsearch(&rows->v[i].run, runs, n_runs, sizeof *runs, by_number) &&
            bsearch(&rows->v[i].other, runs, n_runs, sizeof *runs, by_number))
            rows->v[n++] = rows->v[i];
    rows->n = n;
    return 0;
}

/* Of a long command the part where it differs from the other one. */
static const char *excerpt(const char *command, const char *other, struct wl_arena *a)
{
    enum { MOST = 60, BEFORE = 20 };
    size_t same = 0, n = strlen(command);
    while (command[same] && command[same] == other[same]) same++;
    const size_t from = n <= MOST || same <= BEFORE ? 0 : same - BEFORE, length = n - from > MOST ? MOST : n - from;
    const char *part = wl_strndup(a, command + from, length);
    return wl_strf(a, "%s%s%s", from ? "..." : "", part, from + length < n ? "..." : "");
}

void wl_unlike_repeats_print(const struct wl_unlike_repeats *r, bool shortened, struct wl_arena *a)
{
    enum { LISTED = 8 };
    const size_t listed = shortened ? 1 : LISTED;
    if (r->rows.n) wl_print("\n");
    for (size_t i = 0; i < r->rows.n && i < listed; i++) {
        const struct wl_unlike_row *row = &r->rows.v[i];
        wl_fprint_in(WL_STDOUT, WL_CAUTION, "different commands");
        wl_print(": runs %lld and %lld", (long long)row->run, (long long)row->other);
        if (row->workload) wl_print(" of '%s'", row->workload);
        wl_print(" count as repeats: %s; %s\n", excerpt(row->command, row->other_command, a),
                 excerpt(row->other_command, row->command, a));
    }
    if (r->rows.n > listed) wl_print("  and %zu more settings\n", r->rows.n - listed);
}

void wl_unlike_repeats_json(const struct wl_unlike_repeats *r, struct wl_json *root)
{
    if (!r->known) return;
    struct wl_json *list = wl_json_add_array(root, "unlike_repeats");
    for (size_t i = 0; i < r->rows.n; i++) {
        const struct wl_unlike_row *row = &r->rows.v[i];
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "workload", row->workload);
        wl_json_add_int(o, "run", row->run);
        wl_json_add_int(o, "other", row->other);
        wl_json_add_str(o, "command", row->command);
        wl_json_add_str(o, "other_command", row->other_command);
    }
}

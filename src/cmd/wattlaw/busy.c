#include "cmd/wattlaw/busy.h"

#include "cmd/wattlaw/analysis.h"

#include <stdlib.h>
#include <string.h>

static int by_run(const void *key, const void *row)
{
    const int64_t run = *(const int64_t *)key, other = ((const struct wl_busy_row *)row)->run;
    return (run > other) - (run < other);
}

static int read_rows(const char *given, struct wl_busy_rows *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_store *s;
    char *path;
    int rc = wl_store_find(given, &path, a, e);
    if (rc == 0) rc = wl_store_open(&s, path, WL_STORE_READ, a, e);
    if (rc) return rc;
    rc = wl_store_busy(s, out, a, e);
    wl_store_close(s);
    return rc;
}

/* part[row]: 1 for rows of busy runs. Keeps those runs of the list that have rows. */
static size_t find_rows(const struct wl_observations *obs, struct wl_busy_rows *rows, size_t *part, struct wl_arena *a)
{
    bool *seen = wl_new_array(a, bool, rows->n);
    size_t n = 0, hits = 0;
    for (size_t i = 0; i < obs->n; i++) {
        int64_t run;
        if (!obs->run[i] || wl_str_to_int(obs->run[i], &run)) continue;
        const struct wl_busy_row *row = bsearch(&run, rows->v, rows->n, sizeof *rows->v, by_run);
        if (row) seen[row - rows->v] = true;
        part[i] = row != NULL;
        hits += row != NULL;
    }
    for (size_t i = 0; i < rows->n; i++)
        if (seen[i]) rows->v[n++] = rows->v[i];
    rows->n = n;
    return hits;
}

int wl_busy_runs_find(const char *path, bool exclude, struct wl_observations *obs, struct wl_busy_runs *out,
                      struct wl_arena *a, struct wl_err *e)
{
    *out = (struct wl_busy_runs) { .runs = obs->runs };
    if (!wl_analysis_is_store(path))
        return exclude ? wl_fail(e, WL_EUSAGE, "--exclude-busy needs a store: %s does not say which runs were", path)
                       : 0;
    out->known = true;
    int rc = read_rows(path, &out->rows, a, e);
    if (rc || !out->rows.n) return rc;
    size_t *part = wl_new_array(a, size_t, obs->n), hits = find_rows(obs, &out->rows, part, a);
    if (!exclude || hits == 0) return 0;
    if (hits == obs->n)
        return wl_fail(e, WL_EINVAL, "%s: no run is left: all %zu were measured on a busy machine (see wattlaw show)",
                       path, obs->runs);
    *obs = wl_obs_split(obs, part, 2, a)[0];
    out->excluded = true;
    return 0;
}

const char *wl_busy_runs_text(const struct wl_busy_runs *b, struct wl_arena *a)
{
    if (b->rows.n == 0) return NULL;
    return wl_strf(a, "%zu of %zu runs%s%s, %s", b->rows.n, b->runs, b->of ? " of " : "", b->of ? b->of : "",
                   b->excluded ? "excluded" : "included (--exclude-busy leaves them out)");
}

void wl_busy_runs_print(const struct wl_busy_runs *b, bool shortened, struct wl_arena *a)
{
    enum { LISTED = 8 };
    const char *text = wl_busy_runs_text(b, a);
    if (!text) return;
    wl_print("\n");
    wl_fprint_in(WL_STDOUT, WL_CAUTION, "busy machine");
    wl_print(": %s\n", text);
    if (shortened) return;
    for (size_t i = 0; i < b->rows.n && i < LISTED; i++)
        wl_print("  run %-6lld %s\n", (long long)b->rows.v[i].run, b->rows.v[i].busy);
    if (b->rows.n > LISTED) wl_print("  and %zu more: wattlaw show lists them\n", b->rows.n - LISTED);
}

void wl_busy_runs_json(const struct wl_busy_runs *b, struct wl_json *root)
{
    if (!b->known) return;
    struct wl_json *list = wl_json_add_array(root, "busy_runs");
    for (size_t i = 0; i < b->rows.n; i++) {
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_int(o, "run", b->rows.v[i].run);
        wl_json_add_str(o, "busy", b->rows.v[i].busy);
    }
    wl_json_add_bool(root, "busy_excluded", b->excluded);
}

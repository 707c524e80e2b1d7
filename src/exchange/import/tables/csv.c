#include "exchange/import/tables/csv.h"

#include <math.h>
#include <string.h>

static int find(const struct wl_table_csv *t, const char *column)
{
    for (int i = 0; i < t->n; i++)
        if (wl_str_eq(t->column[i], column)) return i;
    return -1;
}

static int read_header(struct wl_table_csv *t, const struct wl_slice *v, int n, struct wl_err *e)
{
    if (n < 1 || n > WL_TABLE_COLUMNS)
        return wl_fail(e, WL_EINVAL, "%s:%lld: a header of %d columns; expected 1 to %d", t->im->in->path,
                       (long long)t->im->in->line, n, WL_TABLE_COLUMNS);
    t->n = 0;
    for (int i = 0; i < n; i++) {
        const char *name = wl_slice_text(v[i], t->a);
        if (*name && find(t, name) >= 0)
            return wl_fail(e, WL_EINVAL, "%s:%lld: the column %s is there twice", t->im->in->path,
                           (long long)t->im->in->line, name);
        t->column[t->n++] = name;
    }
    return 0;
}

static int next_line(struct wl_table_csv *t, int *n, struct wl_err *e)
{
    struct wl_slice line;
    int rc;
    while ((rc = wl_import_line(t->im, &line, e)) > 0) {
        if (line.s[0] == '#') continue;
        *n = wl_slice_split(line, t->separator, t->v, WL_TABLE_COLUMNS);
        if (*n >= 0) return 1;
        wl_import_reject(t->im, "a quote is not closed");
    }
    return rc;
}

int wl_table_csv_open(struct wl_table_csv *t, struct wl_import *im, char separator, const char *first,
                      struct wl_arena *a, struct wl_err *e)
{
    int n = 0;
    t->im = im;
    t->separator = separator;
    t->a = a;
    t->n = 0;
    t->rows = 0;
    int rc = next_line(t, &n, e);
    if (rc == 0) return wl_fail(e, WL_EINVAL, "%s: no header", im->in->path);
    if (rc > 0) rc = read_header(t, t->v, n, e);
    if (rc < 0) return rc;
    if (first && find(t, first) < 0)
        return wl_fail(e, WL_EINVAL, "%s:%lld: expected a header with the column %s", im->in->path,
                       (long long)im->in->line, first);
    return 0;
}

static bool is_header(const struct wl_table_csv *t) { return t->v[0].n && wl_slice_eq(t->v[0], t->column[0]); }

int wl_table_csv_next(struct wl_table_csv *t, struct wl_err *e)
{
    int n = 0, rc;
    while ((rc = next_line(t, &n, e)) > 0) {
        if (is_header(t)) {
            if ((rc = read_header(t, t->v, n, e)) < 0) return rc;
            continue;
        }
        t->rows++;
        if (n == t->n) return 1;
        wl_import_reject(t->im, "%d fields under the %d columns of the header, so that it is unknown which are missing",
                         n, t->n);
    }
    if (rc == 0 && t->rows == 0)
        return wl_fail(e, WL_EINVAL, "%s: a header without rows: no measurements", t->im->in->path);
    return rc;
}

int wl_table_csv_each(struct wl_table_csv *t, wl_table_csv_row *read, struct wl_err *e)
{
    int rc;
    while ((rc = wl_table_csv_next(t, e)) > 0) {
        struct wl_arena *scratch = wl_arena_new(t->a);
        rc = read(t, scratch, e);
        wl_arena_free(scratch);
        if (rc < 0) break;
    }
    return rc;
}

bool wl_table_csv_has(const struct wl_table_csv *t, const char *column) { return find(t, column) >= 0; }

struct wl_slice wl_table_csv_field(const struct wl_table_csv *t, const char *column)
{
    int i = find(t, column);
    return i < 0 ? (struct wl_slice) { "", 0 } : t->v[i];
}

const char *wl_table_csv_text(const struct wl_table_csv *t, const char *column, struct wl_arena *a)
{
    const struct wl_slice v = wl_table_csv_field(t, column);
    return wl_import_no_value(v) ? NULL : wl_slice_text(v, a);
}

bool wl_table_csv_real(const struct wl_table_csv *t, const char *column, double *out)
{
    const struct wl_slice v = wl_table_csv_field(t, column);
    *out = NAN;
    if (wl_import_no_value(v) || wl_slice_real(v, out)) return true;
    wl_import_reject(t->im, "%s: \"%.*s\" is not a number%s", column, WL_QUOTE(v),
                     memchr(v.s, ',', v.n) ? " with a decimal point" : "");
    return false;
}

bool wl_table_csv_positive(const struct wl_table_csv *t, const char *column, double *out)
{
    if (!wl_table_csv_real(t, column, out)) return false;
    if (*out > 0) return true;
    wl_import_reject(t->im, "%s: \"%.*s\", expected a number above 0", column, WL_QUOTE(wl_table_csv_field(t, column)));
    return false;
}

bool wl_table_csv_recognise(const struct wl_import_head *h, char separator, const char *const *columns,
                            struct wl_arena *a)
{
    struct wl_slice v[WL_TABLE_COLUMNS];
    const char *line = wl_import_head_line(h, a);
    int n = line ? wl_slice_split(wl_slice_of(line), separator, v, WL_TABLE_COLUMNS) : 0;
    for (; *columns; columns++) {
        bool found = false;
        for (int i = 0; i < n && i < WL_TABLE_COLUMNS && !found; i++) found = wl_slice_eq(v[i], *columns);
        if (!found) return false;
    }
    return true;
}

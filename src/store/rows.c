#include "store/internal.h"

#include <math.h>
#include <string.h>

const struct wl_settings wl_settings_none = {
    .nodes = NAN,
    .workers = NAN,
    .local_batch = NAN,
    .global_batch = NAN,
    .accumulation = NAN,
    .epochs = NAN,
    .threads = NAN,
    .power_cap_w = NAN,
    .module_cap_w = NAN,
    .clock_mhz = NAN,
    .mem_clock_mhz = NAN,
};

const char *const wl_run_status_names[] = { "planned", "running", "done", "failed", "interrupted" };

static enum wl_run_status status_from(const char *name)
{
    for (size_t i = 0; i < WL_COUNT(wl_run_status_names); i++)
        if (wl_streq(wl_run_status_names[i], name)) return (enum wl_run_status)i;
    return WL_RUN_INTERRUPTED; /* the schema's CHECK lets nothing else through */
}

static struct sql_value value_of(const struct field *f, const void *row)
{
    const char *at = (const char *)row + f->offset;
    switch (f->type) {
    case F_INT:
    case F_TIME: return sql_int(*(const int64_t *)at);
    case F_BOOL: return sql_int(*(const bool *)at);
    case F_REAL: return sql_real(*(const double *)at);
    case F_COUNT: {
        double v = *(const double *)at;
        /* What is no whole number is refused by the column's type. */
        return v == floor(v) && fabs(v) < 0x1p62 ? sql_int((int64_t)v) : sql_real(v);
    }
    case F_TEXT: return sql_text(*(const char *const *)at);
    case F_STATUS: break;
    }
    return sql_text(wl_run_status_names[*(const enum wl_run_status *)at]);
}

static void read_field(const struct field *f, sqlite3_stmt *stmt, int column, void *row, struct wl_arena *a)
{
    char *at = (char *)row + f->offset;
    bool missing = sqlite3_column_type(stmt, column) == SQLITE_NULL;
    const char *text;
    switch (f->type) {
    case F_INT: *(int64_t *)at = sqlite3_column_int64(stmt, column); break;
    case F_TIME: *(int64_t *)at = missing ? WL_NO_NS : sqlite3_column_int64(stmt, column); break;
    case F_BOOL: *(bool *)at = sqlite3_column_int(stmt, column) != 0; break;
    case F_REAL:
    case F_COUNT: *(double *)at = missing ? NAN : sqlite3_column_double(stmt, column); break;
    case F_TEXT:
        text = (const char *)sqlite3_column_text(stmt, column);
        *(const char **)at = text ? wl_strdup(a, text) : NULL;
        break;
    case F_STATUS: *(enum wl_run_status *)at = status_from((const char *)sqlite3_column_text(stmt, column)); break;
    }
}

static int read_rows(struct wl_store *s, sqlite3_stmt *stmt, const struct field *map, size_t size, void *rows,
                     size_t *n, struct wl_arena *a, struct wl_err *e)
{
    char *list = NULL;
    size_t cap = 0;
    int rc;
    *n = 0;
    while ((rc = wl_sql_step(s, stmt, e)) > 0) {
        list = *n < cap ? list : wl_grow(a, list, *n, &cap, *n + 1, size);
        char *row = list + *n * size;
        memset(row, 0, size);
        for (int c = 0; map[c].name; c++) read_field(&map[c], stmt, c, row, a);
        ++*n;
    }
    memcpy(rows, &list, sizeof list); /* a pointer to any struct */
    return rc;
}

int wl_rows_select(struct wl_store *s, const struct field *map, const char *from, const struct sql_value *v, size_t nv,
                   size_t size, void *rows, size_t *n, struct wl_arena *a, struct wl_err *e)
{
    struct wl_text sql = WL_TEXT(a);
    for (size_t c = 0; map[c].name; c++) wl_text_addf(&sql, "%s%s", c ? ", " : "SELECT ", map[c].name);
    wl_text_addf(&sql, " %s", from);
    sqlite3_stmt *stmt;
    int rc = wl_sql_get(s, sql.s, &stmt, e);
    if (rc == 0) rc = wl_sql_bind(s, stmt, v, nv, e);
    return rc ? rc : read_rows(s, stmt, map, size, rows, n, a, e);
}

/* "INSERT INTO epoch(run, epoch, ...) VALUES (?1, ?2, ...) behind" */
static char *insert_sql(struct wl_arena *a, const char *table, const char *key, const struct field *map,
                        const char *behind)
{
    struct wl_text sql = WL_TEXT(a), values = WL_TEXT(a);
    int n = 0;
    wl_text_addf(&sql, "INSERT INTO %s(", table);
    if (key) wl_text_add(&sql, key), wl_text_addf(&values, "?%d", ++n);
    for (; map->name; map++) {
        wl_text_addf(&sql, "%s%s", n ? ", " : "", map->name);
        wl_text_addf(&values, "%s?%d", n ? ", " : "", n + 1);
        n++;
    }
    wl_text_addf(&sql, ") VALUES (%s) %s", values.s, behind);
    return sql.s;
}

/* Composed once for each map: writing the text of a row's INSERT took longer than running it. */
static int insert_statement(struct wl_store *s, const char *table, const char *key, const struct field *map,
                            const char *behind, sqlite3_stmt **out, struct wl_err *e)
{
    for (size_t i = 0; i < s->n_inserts; i++) {
        const struct insert *known = &s->inserts[i];
        if (known->map != map || strcmp(known->table, table) != 0 || strcmp(known->behind, behind) != 0) continue;
        *out = known->stmt;
        sqlite3_clear_bindings(*out);
        return 0;
    }
    int rc = wl_sql_get(s, insert_sql(s->arena, table, key, map, behind), out, e);
    if (rc) return rc;
    WL_GROW(s->arena, s->inserts, s->n_inserts, s->inserts_cap);
    s->inserts[s->n_inserts++] = (struct insert) { table, behind, map, *out };
    return 0;
}

int wl_rows_insert(struct wl_store *s, const char *table, const char *key, int64_t id, const struct field *map,
                   const void *rows, size_t n, size_t size, const char *behind, struct wl_err *e)
{
    if (n == 0) return 0;
    sqlite3_stmt *stmt;
    int rc = insert_statement(s, table, key, map, behind, &stmt, e);
    for (size_t i = 0; i < n && rc == 0; i++) {
        const void *row = (const char *)rows + i * size;
        struct sql_value v[MAX_FIELDS];
        size_t k = 0;
        if (key) v[k++] = sql_int(id);
        for (const struct field *f = map; f->name; f++) {
            WL_CHECK(k < MAX_FIELDS);
            v[k++] = value_of(f, row);
        }
        rc = wl_sql_bind(s, stmt, v, k, e);
        if (rc == 0) rc = wl_sql_step(s, stmt, e);
    }
    return rc;
}

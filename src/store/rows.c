#include "store/rows.h"

#include "store/connection.h"
#include "store/files.h"
#include "store/records.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const wl_run_status_names[] = { "planned", "running", "done", "failed", "interrupted" };

static const int64_t most = ((int64_t)1 << 62) - 1; /* the difference of two fits */

static struct wl_sql_value value_of(const struct wl_column_map *f, const void *row)
{
    const char *at = (const char *)row + f->offset;
    switch (f->type) {
    case WL_COLUMN_INT:
    case WL_COLUMN_TIME: return sql_int(*(const int64_t *)at);
    case WL_COLUMN_BOOL: return sql_int(*(const bool *)at);
    case WL_COLUMN_REAL: return sql_real(*(const double *)at);
    case WL_COLUMN_COUNT:
    case WL_COLUMN_WHOLE: {
        double v = *(const double *)at;
        return isnan(v) ? sql_real(v) : sql_int((int64_t)v);
    }
    case WL_COLUMN_TEXT:
    case WL_COLUMN_NAME:
    case WL_COLUMN_OBJECT: return sql_text(*(const char *const *)at);
    case WL_COLUMN_STATUS: break;
    }
    return sql_text(wl_run_status_names[*(const enum wl_run_status *)at]);
}

/* What a reader would refuse is not written: one such cell would make the whole store unreadable. */
static bool is_readable(const struct wl_column_map *f, const void *row)
{
    const char *at = (const char *)row + f->offset;
    switch (f->type) {
    case WL_COLUMN_TIME:
    case WL_COLUMN_INT: {
        int64_t v = *(const int64_t *)at;
        return (v >= -most && v <= most) || (v == WL_NO_NS && f->type == WL_COLUMN_TIME);
    }
    case WL_COLUMN_COUNT:
    case WL_COLUMN_WHOLE: {
        double v = *(const double *)at, min = f->type == WL_COLUMN_COUNT ? 0 : -(double)most;
        return isnan(v) || (v == floor(v) && v >= min && v < 0x1p62);
    }
    default: return true;
    }
}

static int not_readable(struct wl_store *s, const char *table, const struct wl_column_map *f, const void *row,
                        struct wl_err *e)
{
    const char *at = (const char *)row + f->offset;
    bool real = f->type == WL_COLUMN_COUNT || f->type == WL_COLUMN_WHOLE;
    struct wl_arena *a = wl_arena_new(NULL);
    const char *value =
        real ? wl_strf(a, "%.15g", *(const double *)at) : wl_strf(a, "%lld", (long long)*(const int64_t *)at);
    int rc = wl_fail(e, WL_EINVAL, "%s: %s.%s cannot be %s: expected a whole number %s 2^62", s->path, table, f->name,
                     value, f->type == WL_COLUMN_COUNT ? "from 0 to" : "within");
    wl_arena_free(a);
    return rc;
}

/* ---- cells: nothing is believed of them ---- */

/* A cell that was read: column `number` of `stmt` into the field. */
struct cell {
    const struct wl_column_map *field;
    sqlite3_stmt *stmt;
    int number;
    const char *wrong; /* what it holds in place of what is expected; NULL: nothing is wrong */
    const char *expected;
};

static void refuse(struct cell *c, const char *wrong, const char *expected)
{
    c->wrong = wrong;
    c->expected = expected;
}

static void refuse_type(struct cell *c, const char *expected)
{
    static const char *const types[] = {
        [SQLITE_INTEGER] = "an integer", [SQLITE_FLOAT] = "a real number", [SQLITE_TEXT] = "text",
        [SQLITE_BLOB] = "a blob",        [SQLITE_NULL] = "NULL",
    };
    refuse(c, types[sqlite3_column_type(c->stmt, c->number)], expected);
}

static int64_t read_integer(struct cell *c, const char *expected)
{
    int64_t v = sqlite3_column_int64(c->stmt, c->number);
    if (sqlite3_column_type(c->stmt, c->number) != SQLITE_INTEGER)
        refuse_type(c, expected);
    else if (v > most || v < -most)
        refuse(c, "a number out of range", "an integer within 2^62");
    return c->wrong ? 0 : v;
}

static double read_real(struct cell *c)
{
    int type = sqlite3_column_type(c->stmt, c->number);
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) refuse_type(c, "a number");
    return sqlite3_column_double(c->stmt, c->number);
}

static double read_count(struct cell *c, int64_t least)
{
    int64_t v = read_integer(c, "a whole number");
    if (v < least) refuse(c, "a negative number", "a count");
    return (double)v;
}

static const char *read_text(struct cell *c, struct wl_arena *a)
{
    if (sqlite3_column_type(c->stmt, c->number) != SQLITE_TEXT) {
        refuse_type(c, "text");
        return NULL;
    }
    const char *text = (const char *)sqlite3_column_text(c->stmt, c->number);
    if (!text)
        refuse(c, "text that does not fit into memory", "text");
    else if (strlen(text) != (size_t)sqlite3_column_bytes(c->stmt, c->number))
        refuse(c, "text with a NUL", "text");
    return c->wrong ? NULL : wl_strdup(a, text);
}

/* The names of its members are unique, and no reader needs the depth of more than a few levels. */
static const char *read_object(struct cell *c, struct wl_arena *a)
{
    const char *text = read_text(c, a);
    struct wl_arena *scratch = wl_arena_new(NULL);
    struct wl_json *parsed;
    struct wl_err e;
    if (text && (wl_json_parse(text, "", &parsed, scratch, &e) || !wl_json_is_object(parsed)))
        refuse(c, wl_strf(a, "\"%.40s\"", text), "a JSON object");
    wl_arena_free(scratch);
    return text;
}

static enum wl_run_status read_status(struct cell *c, struct wl_arena *a)
{
    const char *text = read_text(c, a);
    for (size_t i = 0; text && i < WL_COUNT(wl_run_status_names); i++)
        if (strcmp(wl_run_status_names[i], text) == 0) return (enum wl_run_status)i;
    if (text) refuse(c, wl_strf(a, "\"%.40s\"", text), "planned, running, done, failed or interrupted");
    return WL_RUN_INTERRUPTED;
}

static void read_cell(struct cell *c, void *row, struct wl_arena *a)
{
    char *at = (char *)row + c->field->offset;
    bool missing = sqlite3_column_type(c->stmt, c->number) == SQLITE_NULL;
    switch (c->field->type) {
    case WL_COLUMN_INT: *(int64_t *)at = read_integer(c, "an integer"); break;
    case WL_COLUMN_TIME: *(int64_t *)at = missing ? WL_NO_NS : read_integer(c, "a time in ns"); break;
    case WL_COLUMN_BOOL: *(bool *)at = !missing && read_integer(c, "0 or 1") != 0; break;
    case WL_COLUMN_REAL: *(double *)at = missing ? NAN : read_real(c); break;
    case WL_COLUMN_COUNT: *(double *)at = missing ? NAN : read_count(c, 0); break;
    case WL_COLUMN_WHOLE: *(double *)at = missing ? NAN : read_count(c, -most); break;
    case WL_COLUMN_TEXT: *(const char **)at = missing ? NULL : read_text(c, a); break;
    case WL_COLUMN_NAME: *(const char **)at = read_text(c, a); break;
    case WL_COLUMN_OBJECT: *(const char **)at = missing ? NULL : read_object(c, a); break;
    case WL_COLUMN_STATUS: *(enum wl_run_status *)at = read_status(c, a); break;
    }
}

/* ---- where a cell is ---- */

/* The table that a query ("... FROM run r JOIN setting s ...") calls `alias`; the first one where nothing is called so.
 */
static char *table_called(const char *from, const char *alias, size_t n, struct wl_arena *a)
{
    struct wl_strs words = wl_str_split(a, from, ' ');
    for (size_t i = 1; n && i < words.n; i++)
        if (strlen(words.v[i]) == n && strncmp(words.v[i], alias, n) == 0) return words.v[i - 1];
    return words.n > 1 ? words.v[1] : wl_strdup(a, from);
}

/* "trial.extra" of the field "t.extra". What is computed from several cells is named by its expression. */
static char *column_name(const struct wl_column_map *f, const char *from, struct wl_arena *a)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_0123456789";
    size_t n = strspn(f->name, letters), alias = f->name[n] == '.' ? n : 0;
    const char *column = alias ? f->name + alias + 1 : f->name;
    if (column[strspn(column, letters)]) return wl_strf(a, "of %s", f->name);
    return wl_strf(a, "%s.%s", table_called(from, f->name, alias, a), column);
}

/* "id 3", "run 3": the first column that says which row it is; else its place in the query. */
static char *row_name(const struct wl_column_map *map, sqlite3_stmt *stmt, size_t row, struct wl_arena *a)
{
    static const char *const keys[] = { "id", "run" };
    for (size_t k = 0; k < WL_COUNT(keys); k++) {
        for (int c = 0; map[c].name; c++) {
            const char *dot = strchr(map[c].name, '.');
            if (strcmp(dot ? dot + 1 : map[c].name, keys[k]) != 0) continue;
            return wl_strf(a, "%s %lld", keys[k], (long long)sqlite3_column_int64(stmt, c));
        }
    }
    char *sql = sqlite3_expanded_sql(stmt);
    const char *where = sql ? strstr(sql, "WHERE run = ") : NULL;
    char *name = where ? wl_strf(a, "row %zu of run %lld", row + 1, strtoll(where + strlen("WHERE run = "), NULL, 10))
                       : wl_strf(a, "row %zu", row + 1);
    sqlite3_free(sql);
    return name;
}

static int wrong_cell(struct wl_store *s, const struct wl_query *q, const struct cell *c, size_t row, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    int rc = wl_fail(e, WL_EINVAL, "%s: %s (%s) holds %s where %s is expected: the file is damaged or forged", s->path,
                     column_name(c->field, q->from, a), row_name(q->map, c->stmt, row, a), c->wrong, c->expected);
    wl_arena_free(a);
    return rc;
}

static int read_row(struct wl_store *s, sqlite3_stmt *stmt, const struct wl_query *q, size_t n, void *row,
                    struct wl_arena *a, struct wl_err *e)
{
    for (int i = 0; q->map[i].name; i++) {
        struct cell c = { .field = &q->map[i], .stmt = stmt, .number = i };
        read_cell(&c, row, a);
        if (c.wrong) return wrong_cell(s, q, &c, n, e);
    }
    return 0;
}

static int read_rows(struct wl_store *s, sqlite3_stmt *stmt, const struct wl_query *q, void *rows, size_t *n,
                     struct wl_arena *a, struct wl_err *e)
{
    char *list = NULL;
    size_t cap = 0;
    int rc;
    *n = 0;
    while ((rc = wl_sql_step(s, stmt, e)) > 0) {
        list = *n < cap ? list : wl_grow(a, list, *n, &cap, *n + 1, q->size);
        char *row = list + *n * q->size;
        memset(row, 0, q->size);
        rc = read_row(s, stmt, q, *n, row, a, e);
        if (rc) {
            sqlite3_reset(stmt);
            return rc;
        }
        ++*n;
    }
    memcpy(rows, &list, sizeof list); /* a pointer to any struct */
    return rc ? rc : wl_store_check_unchanged(s, e);
}

int wl_rows_select(struct wl_store *s, const struct wl_query *q, void *rows, size_t *n, struct wl_arena *a,
                   struct wl_err *e)
{
    struct wl_text sql = WL_TEXT(a);
    for (size_t c = 0; q->map[c].name; c++) wl_text_addf(&sql, "%s%s", c ? ", " : "SELECT ", q->map[c].name);
    wl_text_addf(&sql, " %s", q->from);
    sqlite3_stmt *stmt;
    int rc = wl_sql_get(s, sql.s, &stmt, e);
    if (rc == 0) rc = wl_sql_bind(s, stmt, q->values, q->n_values, e);
    return rc ? rc : read_rows(s, stmt, q, rows, n, a, e);
}

int wl_rows_reading(struct wl_store *s, sqlite3_stmt *stmt, int64_t *t_ns, double *value, struct wl_err *e)
{
    static const struct wl_column_map map[] = { { "t_ns", WL_COLUMN_INT, 0 },
                                                { "value", WL_COLUMN_REAL, 0 },
                                                { NULL } };
    struct cell c[] = { { .field = &map[0], .stmt = stmt, .number = 0 },
                        { .field = &map[1], .stmt = stmt, .number = 1 } };
    read_cell(&c[0], t_ns, NULL);
    read_cell(&c[1], value, NULL);
    if (!c[0].wrong && !c[1].wrong) return 0;
    const struct wl_query q = { .map = map, .from = "FROM sample" };
    return wrong_cell(s, &q, c[0].wrong ? &c[0] : &c[1], 0, e);
}

/* "INSERT INTO epoch(run, epoch, ...) VALUES (?1, ?2, ...) suffix" */
static char *insert_sql(const struct wl_insert *to, struct wl_arena *a)
{
    struct wl_text sql = WL_TEXT(a), values = WL_TEXT(a);
    int n = 0;
    wl_text_addf(&sql, "INSERT INTO %s(", to->table);
    if (to->run) wl_text_add(&sql, "run"), wl_text_addf(&values, "?%d", ++n);
    for (const struct wl_column_map *c = to->map; c->name; c++) {
        wl_text_addf(&sql, "%s%s", n ? ", " : "", c->name);
        wl_text_addf(&values, "%s?%d", n ? ", " : "", n + 1);
        n++;
    }
    wl_text_addf(&sql, ") VALUES (%s) %s", values.s, to->suffix ? to->suffix : "");
    return sql.s;
}

/* Composed once for each map: writing the text of a row's INSERT took longer than running it. */
static int insert_statement(struct wl_store *s, const struct wl_insert *to, sqlite3_stmt **out, struct wl_err *e)
{
    for (size_t i = 0; i < s->n_inserts; i++) {
        const struct wl_cached_insert *known = &s->inserts[i];
        if (known->map != to->map || strcmp(known->table, to->table) != 0 || !wl_str_eq(known->suffix, to->suffix))
            continue;
        *out = known->stmt;
        sqlite3_clear_bindings(*out);
        return 0;
    }
    int rc = wl_sql_get(s, insert_sql(to, s->arena), out, e);
    if (rc) return rc;
    WL_GROW(s->arena, s->inserts, s->n_inserts, s->inserts_cap);
    s->inserts[s->n_inserts++] = (struct wl_cached_insert) { to->table, to->suffix, to->map, *out };
    return 0;
}

static int insert_row(struct wl_store *s, const struct wl_insert *to, sqlite3_stmt *stmt, const void *row,
                      struct wl_err *e)
{
    struct wl_sql_value v[WL_MAX_COLUMNS + 1];
    size_t n = 0;
    if (to->run) v[n++] = sql_int(to->run);
    for (const struct wl_column_map *c = to->map; c->name; c++) {
        WL_CHECK(n < WL_COUNT(v));
        if (!is_readable(c, row)) return not_readable(s, to->table, c, row, e);
        v[n++] = value_of(c, row);
    }
    int rc = wl_sql_bind(s, stmt, v, n, e);
    return rc ? rc : wl_sql_step(s, stmt, e);
}

int wl_rows_insert(struct wl_store *s, const struct wl_insert *to, const void *rows, size_t n, struct wl_err *e)
{
    if (n == 0) return 0;
    sqlite3_stmt *stmt;
    int rc = insert_statement(s, to, &stmt, e);
    for (size_t i = 0; i < n && rc == 0; i++) rc = insert_row(s, to, stmt, (const char *)rows + i * to->size, e);
    return rc;
}

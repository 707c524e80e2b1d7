/* Statements, their values, and transactions. */
#ifndef WL_STORE_SQL_H
#define WL_STORE_SQL_H

#include "base/base.h"

#include <sqlite3.h>

struct wl_store;

/* A value to bind: NAN, WL_NO_NS and the NULL text become NULL. */
struct wl_sql_value {
    enum { WL_SQL_INT, WL_SQL_REAL, WL_SQL_TEXT } type;
    int64_t i;
    double r;
    const char *s;
};
static inline struct wl_sql_value sql_int(int64_t i) { return (struct wl_sql_value) { .type = WL_SQL_INT, .i = i }; }
static inline struct wl_sql_value sql_real(double r) { return (struct wl_sql_value) { .type = WL_SQL_REAL, .r = r }; }
static inline struct wl_sql_value sql_text(const char *s)
{
    return (struct wl_sql_value) { .type = WL_SQL_TEXT, .s = s };
}

/* The values of ?1, ?2 ... as the two arguments `values, n` of the calls below. */
#define SQL(...)                                   \
    (const struct wl_sql_value[]) { __VA_ARGS__ }, \
        sizeof((const struct wl_sql_value[]) { __VA_ARGS__ }) / sizeof(struct wl_sql_value)
#define SQL_NONE NULL, 0

/* The compiled statement, from the cache, reset and without values. */
int wl_sql_get(struct wl_store *s, const char *sql, sqlite3_stmt **out, struct wl_err *e) WL_MUST_CHECK;
int wl_sql_bind(struct wl_store *s, sqlite3_stmt *stmt, const struct wl_sql_value *v, size_t n,
                struct wl_err *e) WL_MUST_CHECK;

/* One step: 1 a row, 0 the end, negative an error; resets at the end and on error. */
int wl_sql_step(struct wl_store *s, sqlite3_stmt *stmt, struct wl_err *e) WL_MUST_CHECK;

/* Runs a statement that returns no rows. */
int wl_sql_do(struct wl_store *s, const char *sql, const struct wl_sql_value *v, size_t n,
              struct wl_err *e) WL_MUST_CHECK;

/* The first column of the first row: 1 found, 0 no row or NULL (*out as it was), negative an error. */
int wl_sql_find(struct wl_store *s, const char *sql, const struct wl_sql_value *v, size_t n, int64_t *out,
                struct wl_err *e) WL_MUST_CHECK;

/* Several statements in one text, without values. */
int wl_sql_script(struct wl_store *s, const char *script, struct wl_err *e) WL_MUST_CHECK;

/* Turns SQLite's last error into ours, with the SQL quoted. */
int wl_sql_fail(struct wl_store *s, int rc, const char *sql, struct wl_err *e);

/* Finalizes all statements. */
void wl_sql_finalize_all(struct wl_store *s);

/* Whether a call opened the transaction itself. */
struct wl_sql_tx {
    bool ours;
};
int wl_sql_begin(struct wl_store *s, bool durable, struct wl_sql_tx *tx, struct wl_err *e) WL_MUST_CHECK;
/* Commits when rc is 0 and rolls back otherwise, if this call opened it; returns rc or the commit's error. */
int wl_sql_end(struct wl_store *s, const struct wl_sql_tx *tx, int rc, struct wl_err *e) WL_MUST_CHECK;

#endif

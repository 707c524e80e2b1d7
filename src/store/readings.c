/* The readings of a channel as arrays, which a long series has in a file beside the store. docs/adr/175 */
#include "store/connection.h"
#include "store/files.h"
#include "store/read.h"
#include "store/rows.h"
#include "store/sql.h"

enum {
    MOST_IN_MEMORY = 1 << 16, /* readings of a channel, 1 MiB: two hours at ten a second; more are in a file */
    REST_AFTER = 1 << 16      /* readings that are new in the memory of the process, until they leave it */
};

/* An array of n numbers of eight bytes each. */
static void *room_for(size_t n, bool spilled, const char *near, struct wl_arena *a, struct wl_err *e)
{
    return spilled ? wl_spill_alloc(near, n * 8, a) : wl_try_alloc(a, n * 8 + 1, 16, "the readings of a channel", e);
}

int wl_readings_alloc(struct wl_readings *r, size_t n, const char *near, struct wl_arena *a, struct wl_err *e)
{
    _Static_assert(sizeof *r->t_ns == 8 && sizeof *r->value == 8, "room_for gives 8 bytes each");
    *r = (struct wl_readings) { .spilled = n > MOST_IN_MEMORY };
    for (;;) {
        r->t_ns = room_for(n, r->spilled, near, a, e);
        r->value = r->t_ns ? room_for(n, r->spilled, near, a, e) : NULL;
        if (r->value) return 0;
        if (!r->spilled) return WL_ENOMEM;
        r->spilled = false;
    }
}

void wl_readings_rest(const struct wl_readings *r)
{
    if (!r->spilled) return;
    wl_spill_rest(r->t_ns, r->n * sizeof *r->t_ns);
    wl_spill_rest(r->value, r->n * sizeof *r->value);
}

static int read_series(struct wl_store *s, sqlite3_stmt *stmt, struct wl_readings *out, size_t n, struct wl_arena *a,
                       struct wl_err *e)
{
    int rc = wl_readings_alloc(out, n, wl_store_path(s), a, e);
    if (rc < 0) return rc;
    while (out->n < n && (rc = wl_sql_step(s, stmt, e)) > 0) {
        rc = wl_rows_reading(s, stmt, &out->t_ns[out->n], &out->value[out->n], e);
        if (rc) break;
        if (++out->n % REST_AFTER == 0) wl_readings_rest(out);
    }
    wl_readings_rest(out);
    sqlite3_reset(stmt);
    return rc < 0 ? rc : wl_store_check_unchanged(s, e);
}

/* Counted first, so that the arrays have their size; readings that arrive in between are left out. */
int wl_store_readings(struct wl_store *s, int64_t channel, int64_t begin_ns, int64_t end_ns, struct wl_readings *out,
                      struct wl_arena *a, struct wl_err *e)
{
    *out = (struct wl_readings) { 0 };
    if (begin_ns == INT64_MIN) begin_ns++; /* which binds as NULL */
    int64_t n = 0;
    int rc = wl_sql_find(s, "SELECT count(*) FROM sample WHERE channel = ?1 AND t_ns BETWEEN ?2 AND ?3",
                         SQL(sql_int(channel), sql_int(begin_ns), sql_int(end_ns)), &n, e);
    if (rc < 0) return rc;
    sqlite3_stmt *stmt;
    rc = wl_sql_get(s, "SELECT t_ns, value FROM sample WHERE channel = ?1 AND t_ns BETWEEN ?2 AND ?3 ORDER BY t_ns",
                    &stmt, e);
    if (rc == 0) rc = wl_sql_bind(s, stmt, SQL(sql_int(channel), sql_int(begin_ns), sql_int(end_ns)), e);
    return rc ? rc : read_series(s, stmt, out, (size_t)n, a, e);
}

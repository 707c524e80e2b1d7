/* What is written during a run: devices, channels, samples, marks, log lines. */
#include "store/facts.h"

#include "store/maps.h"

#include <math.h>

int wl_store_add_device(struct wl_store *s, const struct wl_device_row *device, int64_t *id, struct wl_err *e)
{
    struct wl_sql_tx tx;
    int rc = wl_sql_begin(s, false, &tx, e);
    if (rc) return rc;
    const struct wl_insert to = {
        .table = "device",
        .map = wl_device_map + 1,
        .size = sizeof *device,
        .suffix = "ON CONFLICT(host, uuid) DO NOTHING",
    };
    rc = wl_rows_insert(s, &to, device, 1, e);
    if (rc == 0)
        rc = wl_sql_find(s, "SELECT id FROM device WHERE host = ?1 AND uuid = ?2",
                         SQL(sql_text(device->host), sql_text(device->uuid)), id, e);
    return wl_sql_end(s, &tx, rc < 0 ? rc : 0, e);
}

int wl_store_add_channel(struct wl_store *s, const struct wl_channel_row *c, int64_t *id, struct wl_err *e)
{
    struct wl_sql_tx tx;
    int rc = wl_sql_begin(s, false, &tx, e);
    if (rc) return rc;
    const struct wl_insert to = {
        .table = "channel",
        .map = wl_channel_map + 1,
        .size = sizeof *c,
        .suffix = "ON CONFLICT(run, device, quantity, scope, variant) DO NOTHING",
    };
    rc = wl_rows_insert(s, &to, c, 1, e);
    if (rc == 0)
        rc = wl_sql_find(s,
                         "SELECT id FROM channel WHERE run = ?1 AND device = ?2 AND quantity = ?3 AND scope = ?4 "
                         "AND variant = ?5",
                         SQL(sql_int(c->run), sql_int(c->device), sql_text(c->quantity), sql_text(c->scope),
                             sql_text(c->variant)),
                         id, e);
    return wl_sql_end(s, &tx, rc < 0 ? rc : 0, e);
}

/* The hot path: three binds a reading and, as starting a statement costs as much as a row, one step for many. */
enum { AT_ONCE = 16 };
#define ROW       "(?,?,?)"
#define FOUR_ROWS ROW "," ROW "," ROW "," ROW
static const char insert_one[] = "INSERT INTO sample(channel, t_ns, value) VALUES " ROW " ON CONFLICT DO NOTHING";
static const char insert_many[] = "INSERT INTO sample(channel, t_ns, value) VALUES " FOUR_ROWS "," FOUR_ROWS
                                  "," FOUR_ROWS "," FOUR_ROWS " ON CONFLICT DO NOTHING";

static int insert_samples(struct wl_store *s, const char *sql, size_t at_once, const struct wl_sample_row *v, size_t n,
                          struct wl_err *e)
{
    sqlite3_stmt *stmt;
    int rc = wl_sql_get(s, sql, &stmt, e);
    for (size_t i = 0; i + at_once <= n && rc == 0; i += at_once) {
        for (size_t k = 0; k < at_once; k++) {
            int to = (int)(3 * k);
            sqlite3_bind_int64(stmt, to + 1, v[i + k].channel);
            sqlite3_bind_int64(stmt, to + 2, v[i + k].t_ns);
            if (isnan(v[i + k].value))
                sqlite3_bind_null(stmt, to + 3);
            else
                sqlite3_bind_double(stmt, to + 3, v[i + k].value);
        }
        rc = wl_sql_step(s, stmt, e);
    }
    return rc;
}

int wl_store_add_samples(struct wl_store *s, const struct wl_sample_row *v, size_t n, struct wl_err *e)
{
    struct wl_sql_tx tx;
    if (n == 0) return 0;
    int rc = wl_sql_begin(s, false, &tx, e);
    if (rc) return rc;
    size_t many = n / AT_ONCE * AT_ONCE;
    if (many) rc = insert_samples(s, insert_many, AT_ONCE, v, many, e);
    if (rc == 0 && n > many) rc = insert_samples(s, insert_one, 1, v + many, n - many, e);
    return wl_sql_end(s, &tx, rc, e);
}

int wl_store_add_marks(struct wl_store *s, int64_t run, const struct wl_mark_row *v, size_t n, struct wl_err *e)
{
    const struct wl_insert to = { .table = "mark", .map = wl_mark_map, .size = sizeof *v, .run = run };
    struct wl_sql_tx tx;
    if (n == 0) return 0;
    int rc = wl_sql_begin(s, false, &tx, e);
    return rc ? rc : wl_sql_end(s, &tx, wl_rows_insert(s, &to, v, n, e), e);
}

int wl_store_add_log(struct wl_store *s, int64_t run, const char *level, const char *area, const char *message,
                     struct wl_err *e)
{
    return wl_sql_do(s, "INSERT INTO log(run, wall_ns, level, area, message) VALUES (nullif(?1, 0), ?2, ?3, ?4, ?5)",
                     SQL(sql_int(run), sql_int(wl_wall_ns()), sql_text(level), sql_text(area), sql_text(message)), e);
}

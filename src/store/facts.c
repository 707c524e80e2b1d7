/* What is written while a run goes on: devices, channels, samples, marks, log lines. */
#include "store/internal.h"

#include <math.h>

int wl_store_device(struct wl_store *s, const struct wl_device_row *device, int64_t *id, struct wl_err *e)
{
    struct sql_tx tx;
    int rc = wl_sql_begin(s, false, &tx, e);
    if (rc) return rc;
    rc = wl_rows_insert(s, "device", NULL, 0, wl_device_map + 1, device, 1, sizeof *device,
                        "ON CONFLICT(host, uuid) DO NOTHING", e);
    if (rc == 0)
        rc = wl_sql_find(s, "SELECT id FROM device WHERE host = ?1 AND uuid = ?2",
                         SQL(sql_text(device->host), sql_text(device->uuid)), id, e);
    return wl_sql_end(s, &tx, rc < 0 ? rc : 0, e);
}

int wl_store_channel(struct wl_store *s, const struct wl_channel_row *c, int64_t *id, struct wl_err *e)
{
    struct sql_tx tx;
    int rc = wl_sql_begin(s, false, &tx, e);
    if (rc) return rc;
    rc = wl_rows_insert(s, "channel", NULL, 0, wl_channel_map + 1, c, 1, sizeof *c,
                        "ON CONFLICT(run, device, quantity, scope, variant) DO NOTHING", e);
    if (rc == 0)
        rc = wl_sql_find(s,
                         "SELECT id FROM channel WHERE run = ?1 AND device = ?2 AND quantity = ?3 AND scope = ?4 "
                         "AND variant = ?5",
                         SQL(sql_int(c->run), sql_int(c->device), sql_text(c->quantity), sql_text(c->scope),
                             sql_text(c->variant)),
                         id, e);
    return wl_sql_end(s, &tx, rc < 0 ? rc : 0, e);
}

/* The hot path: three binds and a step a reading. */
static int insert_samples(struct wl_store *s, const struct wl_sample_row *v, size_t n, struct wl_err *e)
{
    static const char sql[] = "INSERT INTO sample(channel, t_ns, value) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
    sqlite3_stmt *stmt;
    int rc = wl_sql_get(s, sql, &stmt, e);
    for (size_t i = 0; i < n && rc == 0; i++) {
        sqlite3_bind_int64(stmt, 1, v[i].channel);
        sqlite3_bind_int64(stmt, 2, v[i].t_ns);
        if (isnan(v[i].value))
            sqlite3_bind_null(stmt, 3);
        else
            sqlite3_bind_double(stmt, 3, v[i].value);
        rc = wl_sql_step(s, stmt, e);
    }
    return rc;
}

int wl_store_samples(struct wl_store *s, const struct wl_sample_row *v, size_t n, struct wl_err *e)
{
    struct sql_tx tx;
    if (n == 0) return 0;
    int rc = wl_sql_begin(s, false, &tx, e);
    return rc ? rc : wl_sql_end(s, &tx, insert_samples(s, v, n, e), e);
}

int wl_store_marks(struct wl_store *s, int64_t run, const struct wl_mark_row *v, size_t n, struct wl_err *e)
{
    struct sql_tx tx;
    if (n == 0) return 0;
    int rc = wl_sql_begin(s, false, &tx, e);
    return rc ? rc : wl_sql_end(s, &tx, wl_rows_insert(s, "mark", "run", run, wl_mark_map, v, n, sizeof *v, "", e), e);
}

int wl_store_log(struct wl_store *s, int64_t run, const char *level, const char *area, const char *message,
                 struct wl_err *e)
{
    return wl_sql_do(s, "INSERT INTO log(run, wall_ns, level, area, message) VALUES (nullif(?1, 0), ?2, ?3, ?4, ?5)",
                     SQL(sql_int(run), sql_int(wl_wall_ns()), sql_text(level), sql_text(area), sql_text(message)), e);
}

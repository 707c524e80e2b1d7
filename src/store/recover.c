/* After a crash: runs that are marked running and whose wattlaw is dead. */
#include "store/recover.h"

#include "store/connection.h"
#include "store/control.h"
#include "store/lock.h"
#include "store/read.h"
#include "store/rows.h"
#include "store/run.h"
#include "store/spool.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

/* On a local file system the lock decides, also across containers and boots. On a shared one, locks of other machines
 * may be invisible: there only runs of this host are judged, by boot, lock and, where locks do not work, process id. */
static int alive(struct wl_store *s, int64_t run, const char *host, const char *boot_id, double pid)
{
    int locked = wl_store_locked(s, wl_lock_of_run(run));
    if (locked >= 0 && !s->network) return locked;
    struct wl_arena *a = wl_arena_new(NULL);
    bool here = wl_str_eq(host, wl_host_name(a)), same_boot = wl_str_eq(boot_id, wl_host_boot_id(a));
    wl_arena_free(a);
    if (!here) return -1;
    if (!same_boot) return 0;
    if (locked >= 0) return locked;
    if (!(pid >= 1 && pid <= INT32_MAX)) return 0;
    return kill((pid_t)pid, 0) == 0 || errno != ESRCH;
}

int wl_store_run_is_alive(struct wl_store *s, const struct wl_run_row *r)
{
    return alive(s, r->id, r->host, r->boot_id, r->pid);
}

struct running {
    int64_t id;
    double pid;
    const char *host, *boot_id;
};

static int close_if_dead(struct wl_store *s, const struct running *r, size_t *found, struct wl_err *e)
{
    if (alive(s, r->id, r->host, r->boot_id, r->pid) != 0) return 0;
    ++*found;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_sql_tx tx;
    int rc = wl_sql_begin(s, false, &tx, e);
    if (rc == 0) {
        const char *cancelled = wl_store_cancelled(s, r->id, a); /* it is not to be repeated */
        rc = wl_sql_do(s,
                       "UPDATE run SET status = CASE WHEN ?2 IS NULL THEN 'interrupted' ELSE 'failed' END, error = "
                       "ifnull(?2 || ': ', '') || "
                       "'wattlaw (process ' || pid || ') ended without closing the run' "
                       "WHERE id = ?1 AND status = 'running'",
                       SQL(sql_int(r->id), sql_text(cancelled)), e);
        if (rc == 0 && cancelled) rc = wl_store_control_run_closed(s, r->id, e);
        rc = wl_sql_end(s, &tx, rc, e);
    }
    wl_arena_free(a);
    return rc;
}

int wl_store_recover(struct wl_store *s, size_t *found, struct wl_err *e)
{
    static const struct wl_column_map map[] = {
        { "id", WL_COLUMN_INT, offsetof(struct running, id) },
        { "pid", WL_COLUMN_COUNT, offsetof(struct running, pid) },
        { "host", WL_COLUMN_TEXT, offsetof(struct running, host) },
        { "boot_id", WL_COLUMN_TEXT, offsetof(struct running, boot_id) },
        { NULL },
    };
    struct wl_arena *a = wl_arena_new(NULL);
    struct running *v;
    size_t n = 0, dead = 0;
    const struct wl_query q = {
        .map = map,
        .from = "FROM run WHERE status = 'running'",
        .size = sizeof *v,
    };
    int rc = wl_rows_select(s, &q, &v, &n, a, e);
    for (size_t i = 0; i < n && rc == 0; i++) rc = close_if_dead(s, &v[i], &dead, e);
    if (found) *found = dead;
    wl_arena_free(a);
    return rc;
}

/* ---- going on with such a run ---- */

/* A writer that stores the last readings of the dead one holds the lock for some milliseconds. */
static int lock_with_retry(struct wl_store *s, int64_t run)
{
    int64_t until_ns = wl_now_ns() + WL_NS_PER_S;
    int rc;
    while ((rc = wl_store_lock(s, wl_lock_of_run(run), NULL)) == 0 && wl_now_ns() < until_ns)
        wl_sleep_until(wl_now_ns() + WL_NS_PER_S / 100);
    return rc;
}

int wl_store_run_take_over(struct wl_store *s, int64_t run, struct wl_err *e)
{
    int rc = lock_with_retry(s, run);
    if (rc == 0) return wl_fail(e, WL_EPERM, "%s: run %lld is running in another wattlaw", s->path, (long long)run);
    rc = wl_sql_do(s, "UPDATE run SET pid = ?2 WHERE id = ?1 AND status = 'running'",
                   SQL(sql_int(run), sql_int(getpid())), e);
    if (rc == 0 && sqlite3_changes(s->db) != 1)
        rc = wl_fail(e, WL_EINVAL, "%s: run %lld is not running", s->path, (long long)run);
    if (rc == 0) rc = wl_spool_recover_run(s, run, e);
    if (rc) wl_store_unlock(s, wl_lock_of_run(run));
    return rc;
}

#include "store/read.h"

#include "store/connection.h"
#include "store/sql.h"

/* In one step: a writer that comes between would begin the copy anew. */
static int copy_pages(struct wl_store *s, sqlite3 *to, const char *path, struct wl_err *e)
{
    sqlite3_backup *b = sqlite3_backup_init(to, "main", s->db, "main");
    if (!b) return wl_fail(e, WL_EIO, "%s: cannot copy the store: %s", path, sqlite3_errmsg(to));
    int rc = sqlite3_backup_step(b, -1), end = sqlite3_backup_finish(b);
    if (rc == SQLITE_DONE && end == SQLITE_OK) return 0;
    return wl_fail(e, WL_EIO, "%s: cannot copy the store %s: %s", path, s->path, sqlite3_errstr(end ? end : rc));
}

int wl_store_copy(struct wl_store *s, const char *path, struct wl_err *e)
{
    sqlite3 *to = NULL;
    int rc = 0;
    if (sqlite3_open_v2(path, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) != SQLITE_OK)
        rc = wl_fail(e, WL_EIO, "%s: cannot make a copy of the store: %s", path, sqlite3_errmsg(to));
    if (rc == 0) rc = copy_pages(s, to, path, e);
    if (rc == 0 && sqlite3_exec(to, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL) != SQLITE_OK)
        rc = wl_fail(e, WL_EIO, "%s: cannot complete the copy of the store: %s", path, sqlite3_errmsg(to));
    sqlite3_close(to);
    return rc;
}

/* What a full disk cuts short leaves nothing behind: the file of a new store, what SQLite and wattlaw keep next to it,
 * its folders. docs/adr/183
 *
 * Whose file it is is known by making it: open(2) with O_EXCL, which follows no link, and then by its inode. Whether
 * another process uses it by now is known by SQLite's own exclusive lock, which is held until the names are gone.
 */
#include "store/discard.h"

#include "store/connection.h"
#include "store/files.h"
#include "store/open.h"
#include "store/sql.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096 }; /* of a new database; its header is in the first one */

static char *next_to(const struct wl_store *s, const char *suffix, struct wl_arena *a)
{
    return wl_strf(a, "%s%s", s->file, suffix);
}

static const char *const sidecars[] = { "-wal", "-shm", "-journal" };

static bool is_there(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

static bool has_sidecars(const struct wl_store *s)
{
    bool found = false;
    for (size_t i = 0; i < WL_COUNT(sidecars); i++) found = found || is_there(next_to(s, sidecars[i], s->arena));
    return found;
}

/* ---- make it ---- */

/* What prevents this prevents SQLite from making it, which says why. */
static void make_file(struct wl_store *s, size_t folders)
{
    struct stat st;
    const bool lock = is_there(next_to(s, "-lock", s->arena)), ours = !has_sidecars(s);
    const int fd = open(s->file, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644); /* as SQLite makes it */
    if (fd < 0) return;
    if (ours && fstat(fd, &st) == 0) {
        s->made = wl_new(s->arena, struct wl_store_made);
        *s->made = (struct wl_store_made) { .dev = st.st_dev, .ino = st.st_ino, .folders = folders, .lock = !lock };
    }
    close(fd);
}

int wl_store_make_file(struct wl_store *s, struct wl_err *e)
{
    size_t folders;
    const char *folder = wl_path_dir(s->arena, s->path);
    int rc = wl_mkdirs_made(folder, &folders, e);
    if (rc == 0 && access(folder, W_OK)) rc = wl_fail_errno(e, "%s: its folder cannot be written to", s->path);
    if (rc == 0) make_file(s, folders);
    if (rc < 0 || (!s->made && !is_there(s->file))) wl_rmdirs(folder, folders);
    return rc;
}

/* ---- remove it ---- */

/* Is it still there, under its name? */
static bool is_ours(const struct wl_store *s, struct stat *st)
{
    return lstat(s->file, st) == 0 && S_ISREG(st->st_mode) && st->st_dev == s->made->dev && st->st_ino == s->made->ino;
}

/* Each connection to a store in WAL mode holds a shared lock for as long as it's open, those of this process
 * included. */
static bool lock_alone(struct wl_store *s)
{
    sqlite3_file *f = NULL;
    if (sqlite3_file_control(s->db, "main", SQLITE_FCNTL_FILE_POINTER, &f) || !f || !f->pMethods) return false;
    return f->pMethods->xLock(f, SQLITE_LOCK_SHARED) == SQLITE_OK &&
           f->pMethods->xLock(f, SQLITE_LOCK_EXCLUSIVE) == SQLITE_OK;
}

/* Without memory that is shared, for which there may be no room, nothing can be read, nor could it be written. */
static bool is_without_tables(const struct wl_store *s, const struct stat *st)
{
    return st->st_size <= PAGE && wl_files_wal_size(s) <= 0;
}

/* A plan isn't a result: the next call makes it anew. */
static bool is_empty(struct wl_store *s, const struct stat *st)
{
    int64_t n = 0;
    int rc = wl_sql_find(s, "SELECT count(*) FROM main.sqlite_schema WHERE name = 'run'", SQL_NONE, &n, NULL);
    if (rc < 0) return is_without_tables(s, st);
    if (n == 0) return true;
    rc = wl_sql_find(s, "SELECT count(*) FROM main.run WHERE status <> 'planned'", SQL_NONE, &n, NULL);
    return rc == 1 && n == 0;
}

/* The file itself is the last: until then its lock keeps others out, and they'd find an empty database. */
static void remove_names(const struct wl_store *s, const char *folder, struct wl_arena *a)
{
    if (folder) rmdir(folder);
    for (size_t i = 0; i < WL_COUNT(sidecars); i++) unlink(next_to(s, sidecars[i], a));
    if (s->made->lock) unlink(next_to(s, "-lock", a));
    unlink(s->file);
    wl_rmdirs(wl_path_dir(a, s->file), s->made->folders);
}

/* SQLite would write what is in the log into the file that is gone, and remove the log of one that is made meanwhile.
 */
static void leave_log(struct wl_store *s) { sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL); }

static bool may_remove(struct wl_store *s)
{
    struct stat st;
    if (!s->db) return is_ours(s, &st) && st.st_size == 0;
    return lock_alone(s) && is_ours(s, &st) && is_empty(s, &st);
}

void wl_store_discard(struct wl_store *s, const char *folder)
{
    if (s && s->db) wl_store_rollback(s);
    if (s && s->made && may_remove(s)) {
        struct wl_arena *a = wl_arena_new(NULL);
        remove_names(s, folder, a);
        if (s->db) leave_log(s);
        s->made = NULL;
        wl_arena_free(a);
    }
    wl_store_close(s);
}

#include "store/connection.h"
#include "store/files.h"
#include "store/sql.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096 }; /* the first one holds what SQLite says of the file: no row is in it without others */

/* Nothing, or the tables alone. What cannot be read may be something; without room for SQLite's shared memory nothing
 * can be. */
static bool is_empty(struct wl_store *s)
{
    int64_t tables = -1, rows = -1;
    struct wl_err e;
    if (wl_files_wal_size(s) <= 0 && wl_store_stamp(s->file).size <= PAGE) return true;
    if (wl_sql_find(s, "SELECT count(*) FROM main.sqlite_schema", SQL_NONE, &tables, &e) < 0) return false;
    return tables == 0 || (wl_sql_find(s,
                                       "SELECT (SELECT count(*) FROM main.run) + (SELECT count(*) FROM main.trial) + "
                                       "(SELECT count(*) FROM main.campaign)",
                                       SQL_NONE, &rows, &e) >= 0 &&
                           rows == 0);
}

/* The file that was opened, locked against all others: whoever has a store open, in WAL mode, holds a lock on these
 * bytes as long (https://www.sqlite.org/fileformat2.html#the_lock_byte_page). -1: it is another one, or in use. */
static int lock_alone(const struct wl_store *s)
{
    static const off_t lock_bytes = 0x40000000;
    struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = lock_bytes, .l_len = 512 };
    const int fd = open(s->file, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == s->ino && st.st_dev == s->dev && fcntl(fd, F_SETLK, &all) == 0)
        return fd;
    if (fd >= 0) close(fd);
    return -1;
}

static void remove_files(const struct wl_store *s)
{
    static const char *const names[] = { "-wal", "-shm", "-journal", "-lock", "" }; /* of the file last: until then it is one */
    struct wl_arena *a = wl_arena_new(NULL);
    for (size_t i = 0; i < WL_COUNT(names); i++) (void)unlink(wl_strf(a, "%s%s", s->file, names[i]));
    if (s->made_folder) (void)rmdir(wl_path_dir(a, s->file)); /* where it is empty */
    wl_arena_free(a);
}

void wl_store_discard(struct wl_store *s)
{
    if (!s || !s->db) return;
    wl_store_rollback(s);
    const bool remove = s->created && !s->network && s->ino && is_empty(s);
    wl_store_close(s);
    const struct wl_store_stamp left = wl_store_stamp(s->file); /* another process may have stored something since */
    const int fd = remove ? lock_alone(s) : -1;
    if (fd < 0) return;
    const struct wl_store_stamp now = wl_store_stamp(s->file);
    if (now.changed_wall_ns == left.changed_wall_ns && now.size == left.size && now.inode == left.inode)
        remove_files(s);
    close(fd);
}

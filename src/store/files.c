/* The file of a store and the files that SQLite keeps next to it, checked before and after SQLite opens them. */
#include "store/files.h"

#include "store/connection.h"
#include "store/discard.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int wl_store_refused(const struct wl_store *s, const char *what, struct wl_err *e)
{
    return wl_fail(e, WL_EINVAL, "%s: not a wattlaw store (%s)", s->path, what);
}

static int check_header(struct wl_store *s, const struct stat *st, struct wl_err *e)
{
    static const char magic[16] = "SQLite format 3";
    enum { WRITE_VERSION = 18, WITH_WAL = 2 }; /* https://www.sqlite.org/fileformat.html */
    char head[WRITE_VERSION + 1];
    if (st->st_size == 0 && s->mode == WL_STORE_CREATE) return 0; /* left by a wattlaw that was killed at its start */
    FILE *f = fopen(s->path, "rb");
    if (!f) return wl_fail_errno(e, "%s: cannot open the store", s->path);
    size_t n = fread(head, 1, sizeof head, f);
    fclose(f);
    if (n == 0) return wl_store_refused(s, "the file is empty", e);
    s->has_wal_mode = n == sizeof head && head[WRITE_VERSION] == WITH_WAL;
    return n == sizeof head && memcmp(head, magic, sizeof magic) == 0
               ? 0
               : wl_store_refused(s, "not an SQLite database", e);
}

/* SQLite opens them as files, and would wait for ever for the other end of a pipe. */
static int check_sidecars(const struct wl_store *s, struct wl_err *e)
{
    static const char *const names[] = { "-wal", "-shm", "-journal" };
    struct stat st;
    for (size_t i = 0; i < WL_COUNT(names); i++) {
        if (lstat(wl_strf(s->arena, "%s%s", s->file, names[i]), &st) || S_ISREG(st.st_mode)) continue;
        return wl_fail(e, WL_EINVAL, "%s%s: is not a regular file, so that the store cannot be opened", s->path,
                       names[i]);
    }
    return 0;
}

static int check_folder(struct wl_store *s, struct wl_err *e)
{
    if (errno != ENOENT || s->mode != WL_STORE_CREATE) return wl_fail_errno(e, "%s: no store here", s->path);
    int rc = check_sidecars(s, e);
    return rc ? rc : wl_store_make_file(s, e);
}

int wl_files_check(struct wl_store *s, struct wl_err *e)
{
    struct stat st;
    s->file = s->path;
    if (stat(s->path, &st)) return check_folder(s, e);
    if (S_ISDIR(st.st_mode)) return wl_fail(e, WL_EINVAL, "%s: is a folder, a store is a file", s->path);
    if (!S_ISREG(st.st_mode)) return wl_store_refused(s, "not a regular file", e);
    char *file = realpath(s->path, NULL);
    if (file) s->file = wl_strdup(s->arena, file);
    free(file);
    int rc = check_header(s, &st, e);
    if (rc == 0) rc = check_sidecars(s, e);
    if (rc) return rc;
    if (s->mode != WL_STORE_READ && access(s->path, W_OK))
        return wl_fail_errno(e, "%s: cannot write to the store", s->path);
    return 0;
}

off_t wl_files_wal_size(const struct wl_store *s)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct stat st;
    off_t size = stat(wl_strf(a, "%s-wal", s->file), &st) ? -1 : st.st_size;
    wl_arena_free(a);
    return size;
}

bool wl_files_writable(const struct wl_store *s)
{
    struct stat st;
    return stat(s->file, &st) == 0 && st.st_uid == geteuid() && access(s->file, W_OK) == 0 &&
           access(wl_path_dir(s->arena, s->file), W_OK) == 0;
}

char *wl_files_immutable_uri(const struct wl_store *s)
{
    struct wl_text uri = WL_TEXT(s->arena);
    wl_text_add(&uri, "file:");
    for (const char *p = s->file; *p; p++) {
        if (strchr("?#%", *p))
            wl_text_addf(&uri, "%%%02x", (unsigned char)*p);
        else
            wl_text_addn(&uri, p, 1);
    }
    wl_text_add(&uri, "?immutable=1");
    return uri.s;
}

void wl_files_record_identity(struct wl_store *s)
{
    struct stat st;
    if (stat(s->file, &st)) return;
    s->dev = st.st_dev;
    s->ino = st.st_ino;
    s->mtime = st.st_mtim;
}

struct wl_store_stamp wl_store_stamp(const char *path)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const char *const names[] = { path, wl_strf(a, "%s-wal", path) };
    struct wl_store_stamp stamp = { 0 };
    for (size_t i = 0; i < WL_COUNT(names); i++) {
        struct stat st;
        if (stat(names[i], &st)) continue;
        const int64_t t_ns = (int64_t)st.st_mtim.tv_sec * WL_NS_PER_S + st.st_mtim.tv_nsec;
        if (t_ns > stamp.changed_wall_ns) stamp.changed_wall_ns = t_ns;
        stamp.size += (int64_t)st.st_size;
        if (i == 0) stamp.inode = (int64_t)st.st_ino;
    }
    wl_arena_free(a);
    return stamp;
}

int wl_store_check_exists(const struct wl_store *s, struct wl_err *e)
{
    struct stat st;
    if (!s->ino || (stat(s->path, &st) == 0 && st.st_dev == s->dev && st.st_ino == s->ino)) return 0;
    return wl_fail(e, WL_ENOENT, "%s: the store was removed or replaced while it was in use", s->path);
}

/* A writer has a log that is not empty until what it wrote is in the file. */
int wl_store_check_unchanged(const struct wl_store *s, struct wl_err *e)
{
    struct stat st;
    if (!s->immutable || (stat(s->file, &st) == 0 && st.st_mtim.tv_sec == s->mtime.tv_sec &&
                          st.st_mtim.tv_nsec == s->mtime.tv_nsec && wl_files_wal_size(s) <= 0))
        return 0;
    return wl_fail(e, WL_EIO, "%s: its owner has begun to write to it while it was read: run the command again",
                   s->path);
}

/* The store of a job's run becomes a shard in the campaign's folder, whose name holds its checksum. docs/adr/158 */
#include "campaign/batch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A run whose wattlaw died becomes interrupted when its store is opened, with the readings of its spool. */
int wl_batch_shard_seal(const char *store, const struct wl_placement_row *placed, struct wl_run_row *out,
                        struct wl_arena *a, struct wl_err *e)
{
    struct wl_store *s;
    struct wl_run_rows runs;
    int rc = wl_store_open(&s, store, WL_STORE_WRITE, a, e);
    if (rc == 0) rc = wl_store_runs(s, &(struct wl_run_filter) { 0 }, &runs, a, e);
    if (rc == 0 && (runs.n == 0 || runs.v[runs.n - 1].status < WL_RUN_DONE))
        rc = wl_fail(e, WL_ENOENT, "%s: the run has not begun", store);
    if (rc < 0) return rc;
    *out = runs.v[runs.n - 1];
    if (placed && wl_store_add_placement(s, out->id, placed, e) < 0) wl_log(WL_WARN, "campaign", "%s", e->msg);
    rc = wl_store_seal(s, e);
    wl_store_close(s);
    return rc;
}

/* ---- shards as files: read, not mapped, as somebody may cut them off meanwhile ---- */

enum { PIECE = 1 << 18 };

/* A regular file, not a link: wattlaw makes no others. */
static int open_shard(const char *path, struct wl_err *e)
{
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0 && errno == ELOOP) return wl_fail(e, WL_EINVAL, "%s: a symbolic link, which is not followed", path);
    if (fd < 0) return wl_fail_errno(e, "%s", path);
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) return fd;
    close(fd);
    return wl_fail(e, WL_EINVAL, "%s: not a regular file", path);
}

/* Reads to the end: the checksum, the bytes; *to (NULL: nobody) gets a copy. */
static int read_through(int fd, const char *path, struct wl_atomic_file *to, uint32_t *crc, size_t *n, struct wl_err *e)
{
    char *piece = malloc(PIECE);
    int rc = piece ? 0 : wl_fail(e, WL_ENOMEM, "%s: no memory to read it", path);
    *crc = 0;
    *n = 0;
    while (rc == 0) {
        const ssize_t got = read(fd, piece, PIECE);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) rc = wl_fail_errno(e, "%s: cannot read", path);
        if (got <= 0) break;
        *crc = wl_crc32c(*crc, piece, (size_t)got);
        *n += (size_t)got;
        if (to) rc = wl_atomic_file_write(to, piece, (size_t)got, e);
    }
    free(piece);
    return rc;
}

static int checksum(const char *path, uint32_t *crc, size_t *n, struct wl_err *e)
{
    const int fd = open_shard(path, e);
    if (fd < 0) return fd;
    const int rc = read_through(fd, path, NULL, crc, n, e);
    close(fd);
    return rc;
}

int wl_batch_shard_copy_to(const char *store, const char *path, struct wl_err *e)
{
    struct wl_atomic_file file;
    uint32_t crc;
    size_t n;
    const int fd = open_shard(store, e);
    if (fd < 0) return fd;
    int rc = wl_atomic_file_open(&file, path, WL_ATOMIC_FILE_INTERNAL_MANY, e);
    if (rc == 0) rc = read_through(fd, store, &file, &crc, &n, e);
    if (rc == 0) rc = wl_atomic_file_commit(&file, e);
    if (rc < 0) wl_atomic_file_discard(&file);
    close(fd);
    return rc;
}

int wl_batch_shard_copy(const char *store, const char *campaign, struct wl_batch_shard_name *name, const char **path,
                        struct wl_arena *a, struct wl_err *e)
{
    size_t n;
    int rc = wl_batch_folders_check(campaign, a, e);
    if (rc == 0) rc = checksum(store, &name->crc, &n, e);
    if (rc < 0) return rc;
    *path = wl_strf(a, "%s/%s/%s", campaign, WL_BATCH_SHARDS_FOLDER, wl_batch_shard_name(name, a));
    return wl_batch_shard_copy_to(store, *path, e);
}

const char *wl_batch_shard_damage(const char *path, const struct wl_batch_shard_name *name, struct wl_arena *a)
{
    struct wl_err e;
    uint32_t crc;
    size_t n;
    if (checksum(path, &crc, &n, &e) < 0) return wl_strdup(a, e.msg);
    if (n && crc == name->crc) return NULL;
    return wl_strf(a, "its CRC-32C is %08x, its name says %08x: it is truncated or damaged", (unsigned)crc,
                   (unsigned)name->crc);
}

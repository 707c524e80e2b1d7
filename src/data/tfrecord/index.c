/* The index file has the sizes of all records, so that a start reads one small file instead of the headers of a million
 * records. docs/formats.md has its layout, docs/adr/033 the reasons.
 *
 * It is valid for the sizes and modification times of the shards that it lists. A shard that changes within a tick of
 * the file system's clock keeps its time, so shards younger than SETTLED_NS are scanned and no index is written. */
#include "data/tfrecord/index.h"

#include "data/tfrecord/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[8] = { 'W', 'L', 'S', 'H', 'I', 'X', '1', '\n' }; /* the digit is the version */
enum { MAGIC = sizeof magic, SHARD = 24 /* size, time, records */, CRC = 4 };
static const int64_t SETTLED_NS = 2 * WL_NS_PER_S;
static const size_t MAX_BYTES = (size_t)1 << 34;

/* Identifies a version of a shard. */
struct stamp {
    uint64_t size;
    int64_t mtime_ns;
};

static int stamp_all(struct stamp *stamps, const struct wl_tfrecord_file *v, int64_t n, struct wl_err *e)
{
    for (int64_t i = 0; i < n; i++) {
        struct stat st;
        if (stat(v[i].path, &st) != 0) return wl_fail_errno(e, "%s", v[i].path);
        stamps[i] = (struct stamp) { .size = (uint64_t)st.st_size,
                                     .mtime_ns = st.st_mtim.tv_sec * WL_NS_PER_S + st.st_mtim.tv_nsec };
    }
    return 0;
}

static bool settled(const struct stamp *stamps, int64_t n)
{
    int64_t now = wl_wall_ns();
    for (int64_t i = 0; i < n; i++)
        if (stamps[i].mtime_ns > now - SETTLED_NS) return false;
    return true;
}

/* ---- paths ------------------------------------------------------------------------------------------------------ */

static const char *path_beside_shards(const char *dir, const char *prefix, struct wl_arena *a)
{
    return wl_path_join(a, dir, wl_strf(a, "%s.wattlaw-index", prefix));
}

/* The user's cache (XDG Base Directory Specification: a relative XDG_CACHE_HOME is ignored); NULL: there is none. */
static const char *cache_dir(struct wl_arena *a)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && cache[0] == '/') return wl_path_join(a, cache, "wattlaw");
    return home && *home ? wl_path_join(a, home, ".cache/wattlaw") : NULL;
}

/* Folders of the same name in different locations get different files. */
static const char *path_in_cache(const char *dir, const char *prefix, struct wl_arena *a)
{
    char *whole = realpath(dir, NULL);
    const char *cache = cache_dir(a);
    const char *path = whole && cache ? wl_strf(a, "%s/%s-%016llx.wattlaw-index", cache, prefix,
                                                (unsigned long long)wl_hash_fnv1a(whole))
                                      : NULL;
    free(whole);
    return path;
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

/* Are the bytes an index of exactly these shards? */
static bool matches_shards(const uint8_t *p, size_t n, const struct stamp *stamps, int64_t shards)
{
    size_t head = MAGIC + 8 + (size_t)shards * SHARD;
    if (n < head + CRC || memcmp(p, magic, MAGIC) != 0 || wl_le_read(p + MAGIC, 8) != (uint64_t)shards) return false;
    for (int64_t i = 0; i < shards; i++) {
        const uint8_t *s = p + MAGIC + 8 + i * SHARD;
        if (wl_le_read(s, 8) != stamps[i].size || (int64_t)wl_le_read(s + 8, 8) != stamps[i].mtime_ns) return false;
    }
    return wl_le_read(p + n - CRC, CRC) == wl_crc32c(0, p, n - CRC);
}

/* The offsets of one shard; false: the sizes do not add up to the shard's. */
static bool fill_shard(struct wl_tfrecord_file *r, uint64_t records, uint64_t size, struct wl_byte_span *from,
                       struct wl_arena *a)
{
    uint64_t at = 0, bytes;
    if (records == 0 || records > (uint64_t)(from->end - from->p)) return false; /* a record takes at least one byte */
    r->n = (int64_t)records;
    r->offset = wl_new_array(a, uint64_t, (size_t)records + 1);
    for (uint64_t i = 0; i < records; i++) {
        if (!wl_varint_read(from, &bytes) || bytes > size - at || bytes < WL_TFRECORD_HEADER + WL_TFRECORD_FOOTER)
            return false;
        r->offset[i + 1] = at += bytes;
    }
    return at == size;
}

/* False: missing, damaged, or of other shards. */
static bool read_index(const char *path, struct wl_tfrecord_file *v, const struct stamp *stamps, int64_t n,
                       struct wl_arena *a)
{
    struct wl_arena *tmp = wl_arena_new(a);
    char *text;
    size_t bytes;
    bool good = path && wl_is_file(path) && wl_file_read(path, MAX_BYTES, &text, &bytes, tmp, NULL) == 0;
    const uint8_t *p = good ? (const uint8_t *)text : NULL;
    good = good && matches_shards(p, bytes, stamps, n);
    struct wl_byte_span sizes = { NULL, NULL };
    if (good) sizes = (struct wl_byte_span) { p + MAGIC + 8 + n * SHARD, p + bytes - CRC };
    for (int64_t i = 0; good && i < n; i++)
        good = fill_shard(&v[i], wl_le_read(p + MAGIC + 8 + i * SHARD + 16, 8), stamps[i].size, &sizes, a);
    wl_arena_free(tmp);
    return good && sizes.p == sizes.end;
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

static uint8_t *encode(const struct wl_tfrecord_file *v, const struct stamp *stamps, int64_t n, size_t *bytes,
                       struct wl_arena *a)
{
    size_t head = MAGIC + 8 + (size_t)n * SHARD, room = head + CRC;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < v[i].n; k++) room += wl_varint_size(v[i].offset[k + 1] - v[i].offset[k]);
    uint8_t *buf = wl_try_alloc(a, room, 1, "the index of the shards", NULL), *to = buf + head;
    if (!buf) return NULL;
    memcpy(buf, magic, MAGIC);
    wl_le_write(buf + MAGIC, 8, (uint64_t)n);
    for (int64_t i = 0; i < n; i++) {
        uint8_t *s = buf + MAGIC + 8 + i * SHARD;
        wl_le_write(s, 8, stamps[i].size);
        wl_le_write(s + 8, 8, (uint64_t)stamps[i].mtime_ns);
        wl_le_write(s + 16, 8, (uint64_t)v[i].n);
        for (int64_t k = 0; k < v[i].n; k++) to = wl_varint_put(to, v[i].offset[k + 1] - v[i].offset[k]);
    }
    wl_le_write(to, CRC, wl_crc32c(0, buf, room - CRC));
    *bytes = room;
    return buf;
}

/* Tries both paths. Without an index the next start scans again. */
static void write_index(const struct wl_tfrecord_file *v, const struct stamp *stamps, int64_t n,
                        const char *const paths[2], struct wl_arena *a)
{
    struct wl_arena *tmp = wl_arena_new(a);
    struct wl_err why = { 0 };
    size_t bytes;
    const char *data = (const char *)encode(v, stamps, n, &bytes, tmp), *path = paths[0];
    int rc = data ? wl_file_write(path, data, bytes, &why) : WL_ENOMEM;
    if (rc != 0 && data && paths[1]) {
        path = paths[1];
        rc = wl_mkdirs(wl_path_dir(tmp, path), &why);
        if (rc == 0) rc = wl_file_write(path, data, bytes, &why);
    }
    if (rc == 0)
        wl_log(WL_INFO, "data", "wrote %s, which saves the next start reading the headers of %lld shards", path,
               (long long)n);
    else
        wl_log(WL_INFO, "data", "cannot write an index, so each start reads the headers of %lld shards: %s",
               (long long)n, why.msg);
    wl_arena_free(tmp);
}

/* ---- one process of a node scans -------------------------------------------------------------------------------- */

/* Locks the folder itself, which leaves no file behind and needs no write permission. -1: the file system has no such
 * locks (NFS); then each process scans, and all write the same index. */
static int lock_folder(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;
    if (fd < 0) return -1;
    rc = flock(fd, LOCK_EX | LOCK_NB);
    if (rc != 0 && errno == EWOULDBLOCK) {
        wl_log(WL_INFO, "data", "waiting for another process that is reading the headers of the shards in %s", dir);
        while ((rc = flock(fd, LOCK_EX)) != 0 && errno == EINTR) continue;
    }
    if (rc == 0) return fd;
    close(fd);
    return -1;
}

static bool read_either(const char *const paths[2], struct wl_tfrecord_file *v, const struct stamp *stamps, int64_t n,
                        struct wl_arena *a)
{
    return read_index(paths[0], v, stamps, n, a) || read_index(paths[1], v, stamps, n, a);
}

int wl_tfrecord_index_open(struct wl_tfrecord_file *v, int64_t n, const char *dir, const char *prefix,
                           struct wl_arena *a, struct wl_err *e)
{
    const char *const paths[2] = { path_beside_shards(dir, prefix, a), path_in_cache(dir, prefix, a) };
    struct stamp *stamps = wl_new_array(a, struct stamp, (size_t)n);
    int rc = stamp_all(stamps, v, n, e);
    if (rc != 0 || read_either(paths, v, stamps, n, a)) return rc;
    bool keep = settled(stamps, n);
    int lock = keep ? lock_folder(dir) : -1;
    if (lock < 0 || !read_either(paths, v, stamps, n, a)) {
        rc = wl_tfrecord_scan_all(v, n, a, e);
        if (rc == 0 && keep) write_index(v, stamps, n, paths, a);
    }
    if (lock >= 0) close(lock); /* and unlocks */
    return rc;
}

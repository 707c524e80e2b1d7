/* A record of a TFRecord file is
 *   u64 length, u32 masked CRC-32C of those 8 bytes, `length` bytes of data, u32 masked CRC-32C of the data
 * all little-endian. Checksums are masked because the CRC of data that contain CRCs is weak.
 * Source: tensorflow/core/lib/io/record_writer.h, tensorflow/core/lib/hash/crc32c.h. */
#include "data/tfrecord/tfrecord.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD = WL_TFRECORD_HEADER, FOOT = WL_TFRECORD_FOOTER };

/* Exactly n bytes at an offset; WL_EIO names the file. */
static int read_at(int fd, const char *path, uint64_t at, uint8_t *p, size_t n, struct wl_err *e)
{
    while (n > 0) {
        ssize_t got = pread(fd, p, n, (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return wl_fail_errno(e, "%s", path);
        if (got == 0)
            return wl_fail(e, WL_EIO, "%s: the file was truncated to %llu bytes while it was read", path,
                           (unsigned long long)at);
        p += got;
        at += (uint64_t)got;
        n -= (size_t)got;
    }
    return 0;
}

/* ---- scanning --------------------------------------------------------------------------------------------------- */

static int truncated_error(const struct wl_tfrecord_file *r, uint64_t at, uint64_t left, struct wl_err *e)
{
    return wl_fail(
        e, WL_EINVAL,
        "%s: truncated: record %lld at byte %llu has %llu bytes left, expected at least %d for its length and "
        "checksums",
        r->path, (long long)r->n + 1, (unsigned long long)at, (unsigned long long)left, HEAD + FOOT);
}

/* `left`: bytes of the file after the header and before the last checksum. */
static int too_long(const struct wl_tfrecord_file *r, uint64_t at, uint64_t length, uint64_t left, struct wl_err *e)
{
    return wl_fail(e, WL_EINVAL,
                   "%s: truncated: record %lld at byte %llu has a length of %llu bytes, but only %llu are left",
                   r->path, (long long)r->n + 1, (unsigned long long)at, (unsigned long long)length,
                   (unsigned long long)left);
}

/* Verifies the checksum of a header. */
static int check_head(const struct wl_tfrecord_file *r, uint64_t at, const uint8_t *head, struct wl_err *e)
{
    uint32_t found = (uint32_t)wl_le_read(head + 8, 4), expected = wl_crc32c_masked(head, 8);
    if (found == expected) return 0;
    if (r->n == 0)
        return wl_fail(e, WL_EINVAL, "%s: not a TFRecord file (checksum of the first length 0x%08x, expected 0x%08x)",
                       r->path, found, expected);
    return wl_fail(e, WL_EINVAL, "%s: record %lld at byte %llu: checksum of the length 0x%08x, expected 0x%08x",
                   r->path, (long long)r->n + 1, (unsigned long long)at, found, expected);
}

static int scan_fd(struct wl_tfrecord_file *r, int fd, struct wl_arena *a, struct wl_err *e)
{
    struct stat st;
    size_t cap = 0;
    uint64_t at = 0, size;
    uint8_t head[HEAD];
    if (fstat(fd, &st) != 0) return wl_fail_errno(e, "%s", r->path);
    size = (uint64_t)st.st_size;
    if (size == 0) return wl_fail(e, WL_EINVAL, "%s: no records: the file is empty", r->path);
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM); /* reads only headers */
    for (;; r->n++) {
        WL_GROW(a, r->offset, (size_t)r->n, cap);
        r->offset[r->n] = at;
        if (at == size) return 0;
        if (size - at < HEAD + FOOT) return truncated_error(r, at, size - at, e);
        int rc = read_at(fd, r->path, at, head, HEAD, e);
        if (rc == 0) rc = check_head(r, at, head, e);
        if (rc != 0) return rc;
        uint64_t length = wl_le_read(head, 8);
        if (length > size - at - HEAD - FOOT) return too_long(r, at, length, size - at - HEAD - FOOT, e);
        at += HEAD + length + FOOT;
    }
}

int wl_tfrecord_scan(struct wl_tfrecord_file *r, struct wl_arena *a, struct wl_err *e)
{
    *r = (struct wl_tfrecord_file) { .path = r->path };
    int fd = open(r->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return wl_fail_errno(e, "%s", r->path);
    int rc = scan_fd(r, fd, a, e);
    close(fd);
    return rc;
}

/* ---- reading and writing ---------------------------------------------------------------------------------------- */

int wl_tfrecord_read(const struct wl_tfrecord_file *r, int64_t i, bool check_crc, struct wl_byte_buffer *buf,
                     const uint8_t **data, size_t *n, struct wl_err *e)
{
    uint64_t at = r->offset[i];
    buf->n = (size_t)(r->offset[i + 1] - at);
    *n = buf->n - HEAD - FOOT;
    int rc = wl_byte_buffer_reserve(buf, buf->n, r->path, e);
    if (rc != 0) return rc;
    int fd = open(r->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return wl_fail_errno(e, "%s", r->path);
    rc = read_at(fd, r->path, at, buf->p, buf->n, e);
    close(fd);
    if (rc != 0) return rc;
    *data = buf->p + HEAD;
    if (wl_le_read(buf->p, 8) != *n)
        return wl_fail(e, WL_EINVAL, "%s: record %lld at byte %llu: the length changed since the file was indexed",
                       r->path, (long long)i + 1, (unsigned long long)at);
    uint32_t found = (uint32_t)wl_le_read(*data + *n, FOOT), expected = check_crc ? wl_crc32c_masked(*data, *n) : found;
    if (found == expected) return 0;
    return wl_fail(e, WL_EINVAL, "%s: record %lld at byte %llu: checksum of the %zu data bytes 0x%08x, expected 0x%08x",
                   r->path, (long long)i + 1, (unsigned long long)at, *n, found, expected);
}

int wl_tfrecord_write(FILE *to, const char *path, const uint8_t *data, size_t n, struct wl_err *e)
{
    uint8_t head[HEAD], foot[FOOT];
    wl_le_write(head, 8, n);
    wl_le_write(head + 8, 4, wl_crc32c_masked(head, 8));
    wl_le_write(foot, FOOT, wl_crc32c_masked(data, n));
    if (fwrite(head, HEAD, 1, to) == 1 && fwrite(data, 1, n, to) == n && fwrite(foot, FOOT, 1, to) == 1) return 0;
    return wl_fail_errno(e, "%s", path);
}

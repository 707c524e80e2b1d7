/* Any bytes as a tf.train.Example, and as a TFRecord file: read, or refused with a message. */
#include "fuzz.h"

#include "data/tfrecord/example.h"
#include "data/tfrecord/tfrecord.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void check(int rc, const struct wl_err *e) { WL_CHECK(rc == 0 || (rc == WL_EINVAL && e->msg[0])); }

/* Results must lie within the input. */
static void as_example(const uint8_t *data, size_t n)
{
    struct wl_tf_example x;
    struct wl_err e = { 0 };
    int rc = wl_tf_example_parse(&x, data, n, &e);
    check(rc, &e);
    if (rc != 0) return;
    if (x.encoded) WL_CHECK(x.encoded >= data && x.encoded + x.encoded_n <= data + n);
    if (x.filename) WL_CHECK((const uint8_t *)x.filename + x.filename_n <= data + n);
}

static void as_file(const char *path, struct wl_arena *a)
{
    struct wl_tfrecord_file r = { .path = path };
    struct wl_byte_buffer buf = { 0 };
    struct wl_err e = { 0 };
    int rc = wl_tfrecord_scan(&r, a, &e);
    check(rc, &e);
    for (int64_t i = 0; rc == 0 && i < r.n; i++)
        for (int crc = 0; crc < 2; crc++) {
            const uint8_t *data;
            size_t n;
            int read = wl_tfrecord_read(&r, i, crc, &buf, &data, &n, &e);
            check(read, &e);
            if (read == 0) as_example(data, n);
        }
    free(buf.p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct wl_arena *a = wl_arena_new(NULL);
    int fd = memfd_create("tfrecord", 0);
    WL_CHECK(fd >= 0 && write(fd, data, n) == (ssize_t)n);
    as_example(data, n);
    if (n > 12) as_example(data + 12, n - 12); /* after the header of a record: examples with few mutations */
    as_file(wl_strf(a, "/proc/self/fd/%d", fd), a);
    close(fd);
    wl_arena_free(a);
    return 0;
}

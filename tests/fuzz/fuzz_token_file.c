/* Any bytes as a token file with a valid header checksum: accepted or refused with a message; accepted files have only
 * tokens of the vocabulary. */
#include "fuzz.h"

#include "data/text/token_file.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HEAD = 128, TOKENS_CRC = 60, HEAD_CRC = HEAD - 4 };

/* Most files get valid checksums, so that the code after those checks is reached. */
static void set_checksums(uint8_t *p, size_t n)
{
    uint32_t crc = wl_crc32c(0, p + HEAD, n - HEAD);
    memcpy(p + TOKENS_CRC, &crc, sizeof crc);
    crc = wl_crc32c(0, p, HEAD_CRC);
    memcpy(p + HEAD_CRC, &crc, sizeof crc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e = { 0 };
    struct wl_token_file t;
    uint8_t *copy = wl_alloc(a, n);
    memcpy(copy, data, n);
    if (n >= HEAD && data[n - 1] % 4) set_checksums(copy, n);
    int fd = memfd_create("tokens", 0);
    WL_CHECK(fd >= 0 && write(fd, copy, n) == (ssize_t)n);
    int rc = wl_token_file_open(&t, wl_strf(a, "/proc/self/fd/%d", fd), a, &e);
    WL_CHECK(rc == 0 || (rc < 0 && e.code == rc && e.msg[0]));
    for (uint64_t i = 0; rc == 0 && i < t.n; i++) {
        uint32_t id = 0;
        memcpy(&id, t.data + i * (size_t)t.width, (size_t)t.width);
        WL_CHECK(id < t.vocabulary);
    }
    close(fd);
    wl_arena_free(a);
    return 0;
}

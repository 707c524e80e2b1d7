/* Any bytes as a bundle: read or refused with a message; what is sound has been hashed whole. */
#include "fuzz.h"

#include "exchange/exchange.h"

#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_bundle_check c;
    struct wl_err e = { 0 };
    int fd = memfd_create("bundle", 0);
    WL_CHECK(fd >= 0 && write(fd, data, n) == (ssize_t)n);
    int rc = wl_bundle_verify(wl_strf(a, "/proc/self/fd/%d", fd), &c, a, &e);
    WL_CHECK(rc == 0 || (rc < 0 && e.code == rc && e.msg[0]));
    if (rc == 0) WL_CHECK(c.bytes >= 0 && c.bytes <= 1032.0 * (double)n && c.problems.n <= 21);
    close(fd);
    wl_arena_free(a);
    return 0;
}

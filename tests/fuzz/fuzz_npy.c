/* Any bytes as an array of NumPy, of the six numbers of the seed or of another count: read, or refused with a message.
 */
#include "fuzz.h"

#include "data/era5/npy.h"

#include <sys/mman.h>
#include <unistd.h>

enum { MOST = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e = { 0 };
    const int64_t count = n && data[n - 1] % 4 == 0 ? data[n - 1] % MOST : 6;
    float *to = wl_new_array(a, float, (size_t)count);
    int fd = memfd_create("array", 0);
    WL_CHECK(fd >= 0 && write(fd, data, n) == (ssize_t)n);
    int rc = wl_npy_read(wl_strf(a, "/proc/self/fd/%d", fd), count, to, a, &e);
    WL_CHECK(rc == 0 || (rc == WL_EINVAL && e.msg[0]));
    close(fd);
    wl_arena_free(a);
    return 0;
}

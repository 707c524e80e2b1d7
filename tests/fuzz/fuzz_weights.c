/* Any bytes as a file of safetensors: taken or refused with a message, and what is taken can be read. */
#include "fuzz.h"

#include "nn/checkpoint/safetensors.h"

#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_err e = { 0 };
    struct wl_safetensors s;
    int fd = memfd_create("weights", 0);
    WL_CHECK(fd >= 0 && write(fd, data, n) == (ssize_t)n);
    int rc = wl_safetensors_open(&s, wl_strf(a, "/proc/self/fd/%d", fd), a, &e);
    WL_CHECK(rc == 0 || (rc < 0 && e.code == rc && e.msg[0]));
    for (size_t i = 0; rc == 0 && i < s.n; i++) {
        float *to = wl_alloc(a, s.v[i].count * sizeof *to);
        int read = wl_safetensors_read(&s, &s.v[i], to, &e);
        WL_CHECK(read == 0 || read == WL_EINVAL);
    }
    close(fd);
    wl_arena_free(a);
    return 0;
}

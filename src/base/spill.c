#include "base/spill.h"

#include "base/tempfile.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

struct spill {
    void *at;
    size_t bytes;
};

static void unmap(void *spill)
{
    struct spill *s = spill;
    munmap(s->at, s->bytes);
}

void *wl_spill_alloc(const char *near, size_t bytes, struct wl_arena *a)
{
    char name[WL_TEMPFILE_PATH];
    struct wl_err ignored = { 0 };
    struct rlimit largest;
    if (getrlimit(RLIMIT_FSIZE, &largest) == 0 && bytes > largest.rlim_cur) return NULL; /* SIGXFSZ would follow */
    int fd = wl_tempfile(name, near, 0600, &ignored);
    if (fd < 0) return NULL;
    void *at = MAP_FAILED;
    if (unlink(name) == 0 && posix_fallocate(fd, 0, (off_t)bytes) == 0)
        at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (at == MAP_FAILED) return NULL;
    struct spill *s = wl_new(a, struct spill);
    *s = (struct spill) { at, bytes };
    wl_defer(a, unmap, s);
    return at;
}

void wl_spill_rest(const void *at, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), skew = (uintptr_t)at % page;
    if (bytes)
        madvise((char *)(uintptr_t)at - skew, bytes + skew, MADV_DONTNEED); /* of a shared mapping: clears nothing */
}

static void close_file(void *fd) { close(*(const int *)fd); }

int wl_spill_file(const char *near, struct wl_arena *a, struct wl_err *e)
{
    char name[WL_TEMPFILE_PATH];
    const int fd = wl_tempfile(name, near, 0600, e);
    if (fd < 0) return fd;
    int *own = wl_new(a, int);
    *own = fd;
    wl_defer(a, close_file, own);
    return unlink(name) == 0 ? fd : wl_fail_errno(e, "%s: cannot be removed", name);
}

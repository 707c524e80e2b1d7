/* Shared memory by memfd, opened by other processes through /proc/PID/fd: unlike /dev/shm it has no size limit of its
 * own (containers often give /dev/shm 64 MiB) and leaves nothing behind when a process is killed. */
#include "nn/comm/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static int map(int fd, size_t n_bytes, void **p, struct wl_err *e)
{
    void *at = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) return wl_fail_errno(e, "mapping %zu bytes of shared memory", n_bytes);
    madvise(at, n_bytes, MADV_HUGEPAGE); /* a wish; most kernels refuse it for shared memory */
    *p = at;
    return 0;
}

int wl_shm_map(size_t n_bytes, int *fd, void **p, struct wl_err *e)
{
    int f = memfd_create("wattlaw", MFD_CLOEXEC);
    if (f < 0) return wl_fail_errno(e, "shared memory");
    /* Reserves the pages now: a machine without room says so here instead of killing a rank by a signal later. */
    int en = posix_fallocate(f, 0, (off_t)n_bytes);
    if (en) {
        close(f);
        errno = en == ENOSPC ? ENOMEM : en;
        return wl_fail_errno(e, "%zu bytes of shared memory", n_bytes);
    }
    int rc = map(f, n_bytes, p, e);
    if (rc) {
        close(f);
        return rc;
    }
    *fd = f;
    return 0;
}

int wl_shm_map_of(pid_t pid, int fd, size_t n_bytes, void **p, struct wl_err *e)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
    int f = open(path, O_RDWR | O_CLOEXEC);
    if (f < 0) return wl_fail_errno(e, "shared memory of process %d (%s)", (int)pid, path);
    int rc = map(f, n_bytes, p, e);
    close(f);
    return rc;
}

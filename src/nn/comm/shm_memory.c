/* Shared memory by memfd, opened by other processes through /proc/PID/fd: unlike /dev/shm it has no size limit of its
 * own (containers often give /dev/shm 64 MiB) and leaves nothing behind when a process is killed. */
#include "nn/comm/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* since Linux 5.14; the C library's header may be older than the kernel */
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

enum { HUGE_PAGE = 2 << 20 };

/* Address space that starts on a huge page and ends after n_bytes. */
static void *reserve(size_t n_bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE); /* 4 KiB, 64 KiB on some Arm systems */
    size_t used = (n_bytes + page - 1) / page * page, reserved = used + HUGE_PAGE;
    char *at = mmap(NULL, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) return at;
    size_t lead = (HUGE_PAGE - (uintptr_t)at % HUGE_PAGE) % HUGE_PAGE;
    if (lead) munmap(at, lead);
    munmap(at + lead + used, reserved - lead - used);
    return at + lead;
}

/* Huge pages halve the cost of writing and summing gradients, but most systems grant shared memory none unless they are
 * asked for at once (Linux 6.1; /sys/kernel/mm/transparent_hugepage/shmem_enabled is "never" by default). All of it is
 * a wish: refused, the pages stay small. */
static void want_huge_pages(void *at, size_t n_bytes)
{
    madvise(at, n_bytes, MADV_POPULATE_WRITE);
    madvise(at, n_bytes, MADV_COLLAPSE);
}

static int map(int fd, size_t n_bytes, void **p, struct wl_err *e)
{
    void *at = reserve(n_bytes);
    if (at != MAP_FAILED) at = mmap(at, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
    if (at == MAP_FAILED) return wl_fail_errno(e, "mapping %zu bytes of shared memory", n_bytes);
    if (n_bytes >= HUGE_PAGE) want_huge_pages(at, n_bytes);
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

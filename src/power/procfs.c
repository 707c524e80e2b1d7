#include "power/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void close_fd(void *fd) { close((int)(intptr_t)fd); }

int wl_small_open(const char *root, const char *path, struct wl_arena *a, struct wl_err *e)
{
    const char *full = wl_strf(a, "%s%s", root, path);
    int fd = open(full, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return wl_fail_errno(e, "%s", full);
    wl_defer(a, close_fd, (void *)(intptr_t)fd);
    return fd;
}

int wl_small_read(int fd, char *buf, size_t size)
{
    ssize_t n;
    do n = pread(fd, buf, size - 1, 0);
    while (n < 0 && errno == EINTR);
    if (n < 0) return -errno;
    buf[n] = '\0';
    return (int)n;
}

char *wl_small_text(struct wl_arena *a, const char *path)
{
    char buf[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return NULL;
    int n = wl_small_read(fd, buf, sizeof buf);
    close(fd);
    return n < 0 ? NULL : wl_strip(a, buf);
}

size_t wl_cpu_list(const char *text, int *cpus, size_t max)
{
    size_t n = 0;
    for (const char *at = text; *at;) {
        char *end;
        long from = strtol(at, &end, 10), to = from;
        if (end == at) break;
        if (*end == '-') to = strtol(end + 1, &end, 10);
        for (long cpu = from; cpu <= to; cpu++, n++) {
            if (n < max) cpus[n] = (int)cpu;
        }
        at = *end == ',' ? end + 1 : end;
    }
    return n;
}

/* "cpu  user nice system idle iowait irq softirq steal guest guest_nice" in clock ticks; guest is part of user.
 * Source: proc_stat(5). */
int wl_cpu_times_read(int fd, struct wl_cpu_times *out)
{
    char buf[512];
    int n = wl_small_read(fd, buf, sizeof buf);
    if (n < 0) return n;
    if (strncmp(buf, "cpu ", 4) != 0) return -EINVAL;
    enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, FIELDS };
    double ticks[FIELDS] = { 0 };
    char *at = buf + 4;
    for (int i = 0; i < FIELDS; i++) {
        char *end;
        ticks[i] = (double)strtoull(at, &end, 10);
        if (end == at) break; /* kernels before 2.6.11 have fewer columns */
        at = end;
    }
    double hz = (double)sysconf(_SC_CLK_TCK);
    double busy = ticks[USER] + ticks[NICE] + ticks[SYSTEM] + ticks[IRQ] + ticks[SOFTIRQ];
    out->busy_s = busy / hz;
    out->total_s = (busy + ticks[IDLE] + ticks[IOWAIT] + ticks[STEAL]) / hz;
    return 0;
}

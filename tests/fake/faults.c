/* Preloaded into wattlaw: what sensors of a kernel and clocks do on a bad day. $WATTLAW_FAULT names a file; while it is
 * there, its words act: "read PART ERRNO": reads of files whose path holds PART fail with that number (EIO 5, ENODEV
 * 19, EACCES 13); "wall SECONDS": the wall clock is so far ahead. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int word(const char *format, void *a, void *b)
{
    const char *path = getenv("WATTLAW_FAULT");
    FILE *f = path ? fopen(path, "r") : NULL;
    int n = f ? fscanf(f, format, a, b) : 0;
    if (f) fclose(f);
    return n;
}

ssize_t pread(int fd, void *to, size_t n, off_t at)
{
    char part[256], link[64], path[4096];
    int code;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (word("read %255s %d", part, &code) == 2) {
        ssize_t len = readlink(link, path, sizeof path - 1);
        path[len > 0 ? len : 0] = '\0';
        if (strstr(path, part)) {
            errno = code;
            return -1;
        }
    }
    return syscall(SYS_pread64, fd, to, n, at);
}

int clock_gettime(clockid_t id, struct timespec *t)
{
    long ahead_s;
    int rc = (int)syscall(SYS_clock_gettime, id, t);
    if (id == CLOCK_REALTIME && word("wall %ld", &ahead_s, NULL) == 1) t->tv_sec += ahead_s;
    return rc;
}

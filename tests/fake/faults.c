/* Preloaded into wattlaw: faults of kernel sensors and clocks. $WATTLAW_FAULT names a file; while it exists, its words
 * are in effect. "read PART ERRNO": reads of files whose path contains PART fail with that number (EIO 5, ENODEV 19,
 * EACCES 13); "slow PART SECONDS EACH_S": such reads take that long, one per EACH_S seconds; "burn PART SECONDS": each
 * takes that much CPU time; "wall SECONDS": the wall clock is ahead by that.
 *
 * $WATTLAW_COUNTER is "PART WATTS": files whose path contains PART are microjoule counters that run at that power. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int word(const char *format, void *a, void *b, void *c)
{
    const char *path = getenv("WATTLAW_FAULT");
    FILE *f = path ? fopen(path, "r") : NULL;
    int n = f ? fscanf(f, format, a, b, c) : 0;
    if (f) fclose(f);
    return n;
}

static int holds(int fd, const char *part)
{
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, sizeof path - 1);
    path[len > 0 ? len : 0] = '\0';
    return strstr(path, part) != NULL;
}

static double now_s(clockid_t id)
{
    struct timespec t;
    syscall(SYS_clock_gettime, id, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void burn(double seconds)
{
    for (double end = now_s(CLOCK_THREAD_CPUTIME_ID) + seconds; now_s(CLOCK_THREAD_CPUTIME_ID) < end;) continue;
}

static void be_slow_now_and_then(double seconds, double each_s)
{
    static double due_s;
    struct timespec left = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };
    double t = now_s(CLOCK_MONOTONIC);
    if (t < due_s) return;
    due_s = t + each_s;
    nanosleep(&left, NULL);
}

ssize_t pread(int fd, void *to, size_t n, off_t at)
{
    char part[256];
    double seconds, each_s;
    int code;
    if (word("read %255s %d", part, &code, NULL) == 2 && holds(fd, part)) {
        errno = code;
        return -1;
    }
    if (word("burn %255s %lf", part, &seconds, NULL) == 2 && holds(fd, part)) burn(seconds);
    if (word("slow %255s %lf %lf", part, &seconds, &each_s) == 3 && holds(fd, part))
        be_slow_now_and_then(seconds, each_s);
    double watts;
    const char *counter = getenv("WATTLAW_COUNTER");
    if (counter && sscanf(counter, "%255s %lf", part, &watts) == 2 && holds(fd, part))
        return snprintf(to, n, "%.0f\n", 1e6 * watts * now_s(CLOCK_MONOTONIC));
    return syscall(SYS_pread64, fd, to, n, at);
}

int clock_gettime(clockid_t id, struct timespec *t)
{
    long ahead_s;
    int rc = (int)syscall(SYS_clock_gettime, id, t);
    if (id == CLOCK_REALTIME && word("wall %ld", &ahead_s, NULL, NULL) == 1) t->tv_sec += ahead_s;
    return rc;
}

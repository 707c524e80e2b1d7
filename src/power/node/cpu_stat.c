#include "power/node/cpu_stat.h"

#include "power/procfs.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct wl_cpu_stat {
    pthread_mutex_t lock;
    int fd; /* below 0: not opened yet */
    struct wl_arena *arena;
    int64_t t_ns;
    struct wl_cpu_times times;
};

/* Sensors of the same tick read it within this time. */
static const int64_t same_tick_ns = WL_NS_PER_S / 100;

/* A reading that took longer was preempted, so that its instant is uncertain; it is repeated. */
static const int64_t sharp_ns = WL_NS_PER_S / 1000;
enum { TRIES = 4 };

static void destroy_lock(void *lock) { pthread_mutex_destroy(lock); }

struct wl_cpu_stat *wl_cpu_stat_new(struct wl_arena *a)
{
    struct wl_cpu_stat *c = wl_new(a, struct wl_cpu_stat);
    *c = (struct wl_cpu_stat) { .fd = -1, .arena = a };
    pthread_mutex_init(&c->lock, NULL);
    wl_defer(a, destroy_lock, &c->lock);
    return c;
}

/* "cpu  user nice system idle iowait irq softirq steal guest guest_nice" in clock ticks; guest is part of user.
 * Source: proc_stat(5). */
int wl_cpu_times_read(int fd, struct wl_cpu_times *out)
{
    char buf[512];
    int n = wl_procfs_read(fd, buf, sizeof buf);
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

int wl_cpu_stat_open(struct wl_cpu_stat *c, const char *root, struct wl_err *e)
{
    struct wl_cpu_times times;
    pthread_mutex_lock(&c->lock);
    if (c->fd < 0) c->fd = wl_procfs_open(root, "/proc/stat", c->arena, e);
    int fd = c->fd;
    pthread_mutex_unlock(&c->lock);
    if (fd < 0) return fd;
    if (wl_cpu_times_read(fd, &times) < 0)
        return wl_fail(e, WL_EINVAL, "%s/proc/stat: the first line is not \"cpu ...\"", root);
    return 0;
}

/* Keeps the shortest of a few readings: its instant is the most certain. */
static int read_now(struct wl_cpu_stat *c)
{
    int64_t shortest_ns = INT64_MAX;
    for (int i = 0; i < TRIES && shortest_ns > sharp_ns; i++) {
        struct wl_cpu_times times;
        int64_t t0 = wl_now_ns();
        int rc = wl_cpu_times_read(c->fd, &times);
        int64_t took_ns = wl_now_ns() - t0;
        if (rc < 0) return rc;
        if (took_ns >= shortest_ns) continue;
        shortest_ns = took_ns;
        c->times = times;
        c->t_ns = t0 + took_ns / 2;
    }
    return 0;
}

int wl_cpu_stat_read(struct wl_cpu_stat *c, int64_t after_ns, struct wl_cpu_times *out, int64_t *t_ns)
{
    int rc = 0;
    pthread_mutex_lock(&c->lock);
    if (c->t_ns <= after_ns || wl_now_ns() - c->t_ns > same_tick_ns) rc = read_now(c);
    *out = c->times;
    *t_ns = c->t_ns;
    pthread_mutex_unlock(&c->lock);
    return rc;
}

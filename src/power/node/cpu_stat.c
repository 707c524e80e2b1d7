/* /proc/stat, read once for all sensors that want it at the same tick: on a machine with many CPUs the kernel takes
 * long to write it. */
#include "power/internal.h"

#include <pthread.h>

struct wl_cpu_stat {
    pthread_mutex_t lock;
    int fd; /* below 0: not opened yet */
    struct wl_arena *arena;
    int64_t t_ns;
    struct wl_cpu_times times;
};

/* Two sensors of one tick read it within this. */
static const int64_t same_tick_ns = WL_NS_PER_S / 100;

/* A thread that lost its CPU in the middle of a reading does not know when that was; it reads again. */
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

/* The shortest of a few readings tells best when it was. */
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

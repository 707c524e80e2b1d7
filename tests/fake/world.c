#include "world.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const uint64_t magic = 0x3147505564726f77u;

int64_t fake_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static struct fake_world *map(int fd)
{
    int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    void *at = mmap(NULL, sizeof(struct fake_world), PROT_READ | PROT_WRITE, flags, fd, 0);
    return at == MAP_FAILED ? NULL : at;
}

static void begin(struct fake_world *w, const struct fake_world *wanted, const struct fake_input *start)
{
    w->seed = wanted->seed;
    w->profile = wanted->profile;
    w->gpus = wanted->gpus < FAKE_GPUS ? wanted->gpus : FAKE_GPUS;
    w->spread = wanted->spread;
    int64_t now = fake_now_ns();
    for (int i = 0; i < FAKE_GPUS; i++) {
        w->history[i].events[0] = (struct fake_event) { .t_ns = now, .in = *start };
        w->history[i].events[0].in.since_ns = now;
        w->history[i].n = 1;
    }
    w->magic = magic;
}

/* The lock is held while a world is created and while its history grows. */
static int open_locked(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC, 0666);
    if (fd >= 0 && flock(fd, LOCK_EX) == 0) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

/* A mapping keeps the lock of its descriptor: closing is not enough. */
static void close_locked(int fd)
{
    if (fd < 0) return;
    flock(fd, LOCK_UN);
    close(fd);
}

/* The path of this process's world; "": in memory. */
static char locked_path[4096];

struct fake_world *fake_world_open(const char *path, const struct fake_world *wanted, const struct fake_input *start)
{
    int fd = *path ? open_locked(path, O_RDWR | O_CREAT) : -1;
    if (*path && fd < 0) return NULL;
    struct fake_world *w = NULL;
    if (!*path || ftruncate(fd, sizeof *w) == 0) w = map(fd);
    if (w && w->magic != magic) begin(w, wanted, start);
    close_locked(fd);
    snprintf(locked_path, sizeof locked_path, "%s", path);
    return w;
}

struct fake_world *fake_world_find(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct stat st;
    struct fake_world *w = NULL;
    if (fd >= 0 && fstat(fd, &st) == 0 && (size_t)st.st_size == sizeof *w) w = map(fd);
    if (fd >= 0) close(fd);
    snprintf(locked_path, sizeof locked_path, "%s", path);
    return w && w->magic == magic ? w : NULL;
}

const char *fake_world_path(const char *script)
{
    static char path[4096];
    const char *at = script ? strstr(script, "world=") : NULL;
    if (!at || sscanf(at + strlen("world="), "%4095[^; \t\n]", path) != 1) return NULL;
    return path;
}

void fake_world_gpu(struct fake_world *w, int gpu, struct fake_gpu *out)
{
    struct fake_history *h = &w->history[gpu];
    fake_gpu_init(out, fake_profile_at((size_t)w->profile), w->seed, gpu, w->spread, h->events, &h->n);
}

void fake_world_change(struct fake_world *w, int gpu, int64_t t_ns,
                       void (*change)(struct fake_input *in, const void *to), const void *to)
{
    int fd = *locked_path ? open_locked(locked_path, O_RDWR) : -1;
    struct fake_history *h = &w->history[gpu];
    if (h->n == FAKE_EVENTS) {
        fprintf(stderr, "fake world: more than %d changes of GPU %d\n", FAKE_EVENTS, gpu);
        abort();
    }
    const struct fake_event *last = &h->events[h->n - 1];
    struct fake_event next = { .t_ns = t_ns > last->t_ns ? t_ns : last->t_ns, .in = last->in };
    change(&next.in, to);
    h->events[h->n] = next;
    __atomic_store_n(&h->n, h->n + 1, __ATOMIC_RELEASE);
    close_locked(fd);
}

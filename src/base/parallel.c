#include "base/parallel.h"

#include "base/thread.h"

#include <sched.h>
#include <stdatomic.h>

enum { MOST_THREADS = 64 };

struct work {
    size_t n;
    atomic_size_t next;
    void (*one)(void *ctx, size_t i, struct wl_arena *arena);
    void *ctx;
};

struct worker {
    struct work *work;
    struct wl_arena *arena;
    pthread_t thread;
    bool started;
};

static void *run(void *arg)
{
    const struct worker *w = arg;
    for (size_t i; (i = atomic_fetch_add(&w->work->next, 1)) < w->work->n;) w->work->one(w->work->ctx, i, w->arena);
    return NULL;
}

static size_t threads_for(size_t n)
{
    cpu_set_t cores;
    size_t count = sched_getaffinity(0, sizeof cores, &cores) ? 1 : (size_t)CPU_COUNT(&cores);
    if (count > MOST_THREADS) count = MOST_THREADS;
    return count < n ? count : n;
}

void wl_parallel(size_t n, void (*one)(void *ctx, size_t i, struct wl_arena *arena), void *ctx, struct wl_arena *a)
{
    struct work work = { .n = n, .one = one, .ctx = ctx };
    struct worker workers[MOST_THREADS];
    const size_t count = threads_for(n);
    for (size_t i = 0; i < count; i++) workers[i] = (struct worker) { .work = &work, .arena = wl_arena_new(a) };
    for (size_t i = 1; i < count; i++)
        workers[i].started = wl_thread_start(&workers[i].thread, "wl-parallel", run, &workers[i]) == 0;
    if (count) run(&workers[0]);
    for (size_t i = 1; i < count; i++)
        if (workers[i].started) pthread_join(workers[i].thread, NULL);
}

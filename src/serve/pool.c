#include "serve/pool.h"

#include "base/thread.h"

#include <string.h>
#include <sys/resource.h>

enum { QUICK_THREADS = 2, SLOW_THREADS = 1, THREADS = QUICK_THREADS + SLOW_THREADS, WAITING = 512 };

/* nice(2) of the threads: what is measured on this machine comes first. Linux has it per thread. */
static const int niceness[WL_POOL_QUEUES] = { [WL_POOL_QUICK] = 5, [WL_POOL_SLOW] = 19 };

struct job {
    void (*call)(void *what);
    void *what;
};

struct queue {
    struct job v[WAITING]; /* a ring */
    size_t first, n;
    size_t running;
    pthread_cond_t change;
    int nice;
    struct wl_pool *pool;
};

struct wl_pool {
    pthread_mutex_t lock;
    pthread_cond_t idle;
    struct queue queues[WL_POOL_QUEUES];
    pthread_t threads[THREADS];
    size_t n_threads;
    bool closed, ended;
};

static void *work(void *arg)
{
    struct queue *q = arg;
    struct wl_pool *p = q->pool;
    (void)setpriority(PRIO_PROCESS, 0, q->nice);
    pthread_mutex_lock(&p->lock);
    for (;;) {
        while (q->n == 0 && !p->ended) pthread_cond_wait(&q->change, &p->lock);
        if (q->n == 0) break;
        const struct job job = q->v[q->first];
        q->first = (q->first + 1) % WAITING;
        q->n--;
        q->running++;
        pthread_mutex_unlock(&p->lock);
        job.call(job.what);
        pthread_mutex_lock(&p->lock);
        q->running--;
        pthread_cond_broadcast(&p->idle);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

void wl_pool_drain(struct wl_pool *p)
{
    pthread_mutex_lock(&p->lock);
    p->closed = true;
    for (size_t i = 0; i < WL_POOL_QUEUES; i++)
        while (p->queues[i].n + p->queues[i].running > 0) pthread_cond_wait(&p->idle, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

static void end(void *pool)
{
    struct wl_pool *p = pool;
    wl_pool_drain(p);
    pthread_mutex_lock(&p->lock);
    p->ended = true;
    for (size_t i = 0; i < WL_POOL_QUEUES; i++) pthread_cond_broadcast(&p->queues[i].change);
    pthread_mutex_unlock(&p->lock);
    for (size_t i = 0; i < p->n_threads; i++) pthread_join(p->threads[i], NULL);
    for (size_t i = 0; i < WL_POOL_QUEUES; i++) pthread_cond_destroy(&p->queues[i].change);
    pthread_cond_destroy(&p->idle);
    pthread_mutex_destroy(&p->lock);
}

int wl_pool_new(struct wl_pool **out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_pool *p = wl_new(a, struct wl_pool);
    wl_thread_cond_init(&p->lock, &p->idle);
    for (size_t i = 0; i < WL_POOL_QUEUES; i++) {
        pthread_cond_init(&p->queues[i].change, NULL);
        p->queues[i].nice = niceness[i];
        p->queues[i].pool = p;
    }
    wl_defer(a, end, p);
    for (size_t i = 0; i < THREADS; i++) {
        struct queue *q = &p->queues[i < QUICK_THREADS ? WL_POOL_QUICK : WL_POOL_SLOW];
        const int rc = wl_thread_start(&p->threads[i], "serve", work, q);
        if (rc) return wl_fail(e, WL_EIO, "cannot start a thread: %s", strerror(rc));
        p->n_threads++;
    }
    *out = p;
    return 0;
}

bool wl_pool_add(struct wl_pool *p, enum wl_pool_queue queue, void (*call)(void *what), void *what)
{
    struct queue *q = &p->queues[queue];
    pthread_mutex_lock(&p->lock);
    const bool room = !p->closed && q->n < WAITING;
    if (room) {
        q->v[(q->first + q->n++) % WAITING] = (struct job) { call, what };
        pthread_cond_signal(&q->change);
    }
    pthread_mutex_unlock(&p->lock);
    return room;
}

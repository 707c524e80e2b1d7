/* Calls with a timeout in threads that can be abandoned. */
#include "base/thread.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>

/* A wait is divided into slices. While the machine or process is stopped, only one slice elapses. */
enum { WAIT_SLICES = 20 };

void wl_thread_cond_init(pthread_mutex_t *lock, pthread_cond_t *change)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(lock, NULL);
    pthread_cond_init(change, &attr);
    pthread_condattr_destroy(&attr);
}

bool wl_thread_cond_wait(pthread_cond_t *change, pthread_mutex_t *lock, const bool *what, int64_t timeout_ns)
{
    for (int part = 0; part < WAIT_SLICES && !*what; part++) {
        int64_t end_ns = wl_now_ns() + timeout_ns / WAIT_SLICES;
        struct timespec deadline = { .tv_sec = end_ns / WL_NS_PER_S, .tv_nsec = end_ns % WL_NS_PER_S };
        for (int rc = 0; !*what && rc != ETIMEDOUT;) rc = pthread_cond_timedwait(change, lock, &deadline);
    }
    return *what;
}

/* Signals are handled by the program's other threads. */
int wl_thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *arg)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(thread, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc == 0) pthread_setname_np(*thread, name);
    return rc;
}

/* A list of leaked arenas, so that leak checkers find them referenced. The list has its own memory, as an abandoned
 * thread may be using the arena. */
static struct leaked_arena {
    struct wl_arena *own, *arena;
    struct leaked_arena *next;
} * _Atomic leaked_arenas;

void wl_arena_leak(struct wl_arena *a)
{
    struct wl_arena *own = wl_arena_new(NULL);
    struct leaked_arena *k = wl_new(own, struct leaked_arena);
    *k = (struct leaked_arena) { .own = own, .arena = a, .next = atomic_load(&leaked_arenas) };
    while (!atomic_compare_exchange_weak(&leaked_arenas, &k->next, k)) continue;
}

struct guarded_call {
    struct wl_arena *arena;
    void (*call)(void *arg);
    void *arg;
    pthread_mutex_t lock;
    pthread_cond_t change;
    bool ended, given_up;
};

static void release(struct guarded_call *t)
{
    pthread_cond_destroy(&t->change);
    pthread_mutex_destroy(&t->lock);
    wl_arena_free(t->arena);
}

static void *make(void *arg)
{
    struct guarded_call *t = arg;
    t->call(t->arg);
    pthread_mutex_lock(&t->lock);
    t->ended = true;
    bool given_up = t->given_up;
    pthread_cond_broadcast(&t->change);
    pthread_mutex_unlock(&t->lock);
    if (given_up) release(t);
    return NULL;
}

bool wl_thread_call_timeout(void (*call)(void *arg), void *arg, int64_t timeout_ns)
{
    struct wl_arena *own = wl_arena_new(NULL);
    struct guarded_call *t = wl_new(own, struct guarded_call);
    pthread_t thread;
    *t = (struct guarded_call) { .arena = own, .call = call, .arg = arg };
    wl_thread_cond_init(&t->lock, &t->change);
    if (wl_thread_start(&thread, "wl-driver", make, t) != 0) {
        call(arg);
        release(t);
        return true;
    }
    pthread_mutex_lock(&t->lock);
    bool ended = wl_thread_cond_wait(&t->change, &t->lock, &t->ended, timeout_ns);
    t->given_up = !ended;
    pthread_mutex_unlock(&t->lock);
    if (!ended) {
        pthread_detach(thread);
        return false;
    }
    pthread_join(thread, NULL);
    release(t);
    return true;
}

/* Calls with a timeout in threads that can be abandoned. */
#include "base/thread.h"

#include <errno.h>
#include <signal.h>

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

bool wl_thread_cond_wait(pthread_cond_t *change, pthread_mutex_t *lock, const bool *flag, int64_t timeout_ns)
{
    for (int part = 0; part < WAIT_SLICES && !*flag; part++) {
        int64_t end_ns = wl_now_ns() + timeout_ns / WAIT_SLICES;
        struct timespec deadline = { .tv_sec = end_ns / WL_NS_PER_S, .tv_nsec = end_ns % WL_NS_PER_S };
        for (int rc = 0; !*flag && rc != ETIMEDOUT;) rc = pthread_cond_timedwait(change, lock, &deadline);
    }
    return *flag;
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

struct guarded_call {
    struct wl_arena *arena;
    void (*call)(void *arg);
    void *arg;
    pthread_mutex_t lock;
    pthread_cond_t change;
    bool ended, given_up;
};

static void call_free(struct guarded_call *t)
{
    pthread_cond_destroy(&t->change);
    pthread_mutex_destroy(&t->lock);
    wl_arena_free(t->arena);
}

static void *call_run(void *arg)
{
    struct guarded_call *t = arg;
    t->call(t->arg);
    pthread_mutex_lock(&t->lock);
    t->ended = true;
    bool given_up = t->given_up;
    pthread_cond_broadcast(&t->change);
    pthread_mutex_unlock(&t->lock);
    if (given_up) call_free(t);
    return NULL;
}

bool wl_thread_call_timeout(void (*call)(void *arg), void *arg, int64_t timeout_ns)
{
    struct wl_arena *own = wl_arena_new(NULL);
    struct guarded_call *t = wl_new(own, struct guarded_call);
    pthread_t thread;
    *t = (struct guarded_call) { .arena = own, .call = call, .arg = arg };
    wl_thread_cond_init(&t->lock, &t->change);
    if (wl_thread_start(&thread, "wl-driver", call_run, t) != 0) {
        call(arg);
        call_free(t);
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
    call_free(t);
    return true;
}

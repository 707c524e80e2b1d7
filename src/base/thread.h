/* Drivers may hang: their calls are made by threads that can be given up. */
#ifndef WL_BASE_THREAD_H
#define WL_BASE_THREAD_H

#include "base/base.h"

#include <pthread.h>

/* How long a driver is waited for at the ends of a run, and when it is closed. */
#define WL_DRIVER_TIMEOUT_NS (2 * (int64_t)WL_NS_PER_S)

/* Makes the call in a thread of its own. False: it has not returned in that time; the thread goes on with arg, which
 * must stay for good, as must all that the call uses. Where no thread can be had the caller's makes the call. */
bool wl_thread_call_timeout(void (*call)(void *arg), void *arg, int64_t timeout_ns);

/* Leaves an arena to threads that were given up, to the end of the process. */
void wl_arena_leak(struct wl_arena *a);

/* A lock and its condition, whose deadlines are on CLOCK_MONOTONIC. */
void wl_thread_cond_init(pthread_mutex_t *lock, pthread_cond_t *change);

/* Waits, under the lock, until *what is true or the time is over, and returns *what. */
bool wl_thread_cond_wait(pthread_cond_t *change, pthread_mutex_t *lock, const bool *what, int64_t timeout_ns);

/* A thread that takes no signals; 0 or an errno. */
int wl_thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *arg);

#endif

/* Calls with a timeout: a driver may hang, so it is called in a thread that can be abandoned. */
#ifndef WL_BASE_THREAD_H
#define WL_BASE_THREAD_H

#include "base/arena.h"
#include "base/clock.h"

#include <pthread.h>

/* Timeout of a driver at the start and end of a run, and on closing it. */
#define WL_DRIVER_TIMEOUT_NS (2 * (int64_t)WL_NS_PER_S)

/* Makes the call in a new thread. False: timed out; the thread keeps using arg, which must never be freed, nor anything
 * else that the call uses. If no thread can be created, the calling thread makes the call. */
bool wl_thread_call_timeout(void (*call)(void *arg), void *arg, int64_t timeout_ns);

/* A lock and its condition with deadlines on CLOCK_MONOTONIC. */
void wl_thread_cond_init(pthread_mutex_t *lock, pthread_cond_t *change);

/* Waits, holding the lock, until *flag is true or the time is over, and returns *flag. */
bool wl_thread_cond_wait(pthread_cond_t *change, pthread_mutex_t *lock, const bool *flag, int64_t timeout_ns);

/* Creates a thread with all signals blocked; 0 or an errno. */
int wl_thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *arg);

#endif

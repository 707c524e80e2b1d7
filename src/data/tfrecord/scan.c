/* Several files at a time, as a scan mostly waits for the disk. */
#include "data/tfrecord/scan.h"

#include <pthread.h>
#include <stdatomic.h>

enum { SCAN_THREADS = 8 };

struct scan {
    struct wl_tfrecord_file *v; /* [n] */
    int64_t n;
    atomic_llong next;
    pthread_mutex_t lock;
    int64_t failed; /* index of the first shard that failed; under the lock */
    struct wl_err why;
};

struct scanner {
    struct scan *scan;
    struct wl_arena *arena;
    pthread_t thread;
};

/* Shards are taken in order, so that all before a failed one are scanned and the first error is always the same. */
static void *scan_some(void *arg)
{
    struct scanner *me = arg;
    struct scan *scan = me->scan;
    for (;;) {
        int64_t i = atomic_fetch_add(&scan->next, 1);
        if (i >= scan->n) return NULL;
        struct wl_err why;
        if (wl_tfrecord_scan(&scan->v[i], me->arena, &why) == 0) continue;
        pthread_mutex_lock(&scan->lock);
        if (i < scan->failed) {
            scan->failed = i;
            scan->why = why;
        }
        pthread_mutex_unlock(&scan->lock);
        atomic_store(&scan->next, scan->n);
    }
}

int wl_tfrecord_scan_all(struct wl_tfrecord_file *v, int64_t n, struct wl_arena *a, struct wl_err *e)
{
    struct scan scan = { .v = v, .n = n, .failed = n };
    struct scanner scanners[SCAN_THREADS];
    int64_t started = 1, want = n < SCAN_THREADS ? n : SCAN_THREADS;
    pthread_mutex_init(&scan.lock, NULL);
    for (int64_t i = 0; i < want; i++) scanners[i] = (struct scanner) { .scan = &scan, .arena = wl_arena_new(a) };
    while (started < want && pthread_create(&scanners[started].thread, NULL, scan_some, &scanners[started]) == 0)
        started++;
    scan_some(&scanners[0]); /* this thread scans too, and does all the work if no other could be started */
    for (int64_t i = 1; i < started; i++) pthread_join(scanners[i].thread, NULL);
    pthread_mutex_destroy(&scan.lock);
    return scan.failed == n ? 0 : wl_fail(e, scan.why.code, "%s", scan.why.msg);
}

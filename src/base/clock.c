#include "base/clock.h"

#include <errno.h>
#include <time.h>

static int64_t read_clock(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * WL_NS_PER_S + t.tv_nsec;
}

int64_t wl_now_ns(void) { return read_clock(CLOCK_MONOTONIC); }
int64_t wl_wall_ns(void) { return read_clock(CLOCK_REALTIME); }
int64_t wl_thread_cpu_ns(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }
int64_t wl_process_cpu_ns(void) { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

int wl_sleep_until(int64_t t_ns)
{
    struct timespec t = { .tv_sec = (time_t)(t_ns / WL_NS_PER_S), .tv_nsec = (long)(t_ns % WL_NS_PER_S) };
    int rc = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
    return rc == EINTR ? WL_EINTR : 0;
}

struct wl_anchor wl_anchor_now(void)
{
    /* The wall clock read between two monotonic reads belongs to their middle; of three tries the tightest. */
    struct wl_anchor best = { 0 };
    int64_t best_gap = INT64_MAX;
    for (int i = 0; i < 3; i++) {
        int64_t a = wl_now_ns(), w = wl_wall_ns(), b = wl_now_ns();
        if (b - a < best_gap) {
            best_gap = b - a;
            best = (struct wl_anchor){ .mono_ns = a + (b - a) / 2, .wall_ns = w };
        }
    }
    return best;
}

char *wl_iso_time(struct wl_arena *a, int64_t wall_ns)
{
    time_t s = (time_t)(wall_ns / WL_NS_PER_S);
    struct tm tm;
    gmtime_r(&s, &tm);
    char buf[32];
    strftime(buf, sizeof buf, "%Y-%m-%dT%H:%M:%SZ", &tm);
    return wl_strdup(a, buf);
}

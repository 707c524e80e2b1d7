#include "base/clock.h"

#include "base/str.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int64_t read_clock(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * WL_NS_PER_S + t.tv_nsec;
}

int64_t wl_now_ns(void) { return read_clock(CLOCK_MONOTONIC); }
int64_t wl_wall_ns(void) { return read_clock(CLOCK_REALTIME); }
int64_t wl_clock_thread_cpu_ns(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }
int64_t wl_clock_process_cpu_ns(void) { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

int wl_sleep_until(int64_t t_ns)
{
    struct timespec t = { .tv_sec = (time_t)(t_ns / WL_NS_PER_S), .tv_nsec = (long)(t_ns % WL_NS_PER_S) };
    int rc = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
    return rc == EINTR ? WL_EINTR : 0;
}

struct wl_anchor wl_anchor_now(void)
{
    /* The wall clock is read between two monotonic reads and paired with their middle; the tightest of three tries. */
    struct wl_anchor best = { 0 };
    int64_t best_gap = INT64_MAX;
    for (int i = 0; i < 3; i++) {
        int64_t a = wl_now_ns(), w = wl_wall_ns(), b = wl_now_ns();
        if (b - a < best_gap) {
            best_gap = b - a;
            best = (struct wl_anchor) { .mono_ns = a + (b - a) / 2, .wall_ns = w };
        }
    }
    return best;
}

struct wl_anchor wl_anchor_at(int64_t mono_ns)
{
    struct wl_anchor now = wl_anchor_now();
    return (struct wl_anchor) { .mono_ns = mono_ns, .wall_ns = now.wall_ns - (now.mono_ns - mono_ns) };
}

char *wl_clock_iso(struct wl_arena *a, int64_t wall_ns)
{
    time_t s = (time_t)(wall_ns / WL_NS_PER_S);
    struct tm tm;
    gmtime_r(&s, &tm);
    char buf[32];
    strftime(buf, sizeof buf, "%Y-%m-%dT%H:%M:%SZ", &tm);
    return wl_strdup(a, buf);
}

/* "+01:00", "+0100", "+01", "Z" or nothing: seconds ahead of UTC; false: something else. */
static bool read_offset(const char *text, int *seconds)
{
    char sign;
    int hours = 0, minutes = 0, n = 0;
    *seconds = 0;
    text += strspn(text, " ");
    if (!*text || wl_str_eq(text, "Z") || wl_str_eq(text, "UTC")) return true;
    if (sscanf(text, "%c%2d%n", &sign, &hours, &n) != 2 || (sign != '+' && sign != '-')) return false;
    text += n + (text[n] == ':');
    if (*text && (sscanf(text, "%2d%n", &minutes, &n) != 1 || text[n])) return false;
    *seconds = (sign == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
    return hours <= 14 && minutes < 60;
}

/* Seconds (or, from 1e11 on, ms) since 1970. */
static bool read_number(double number, int64_t *t_ns)
{
    double ns = number * (number >= 1e11 ? 1e6 : 1e9);
    if (!(number > 0 && ns < 0x1p63)) return false;
    *t_ns = (int64_t)ns;
    return true;
}

bool wl_clock_parse(const char *text, int64_t *t_ns)
{
    struct tm tm = { 0 };
    double number, second = 0;
    int n = 0, offset_s;
    if (wl_str_to_real(text, &number) == 0) return read_number(number, t_ns);
    if (sscanf(text, "%4d-%2d-%2d%*1[T ]%2d:%2d%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour, &tm.tm_min,
               &n) != 5)
        return false;
    text += n;
    if (*text == ':' && (sscanf(text, ":%12lf%n", &second, &n) != 1 || second < 0 || second >= 61)) return false;
    text += *text == ':' ? n : 0;
    if (tm.tm_year < 1970 || tm.tm_year >= WL_CLOCK_END_YEAR || tm.tm_mon < 1 || tm.tm_mon > 12 || tm.tm_mday < 1 ||
        tm.tm_mday > 31 || tm.tm_hour > 24 || tm.tm_min > 59 || !read_offset(text, &offset_s))
        return false;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    *t_ns = ((int64_t)timegm(&tm) - offset_s) * WL_NS_PER_S + (int64_t)(second * WL_NS_PER_S);
    return true;
}

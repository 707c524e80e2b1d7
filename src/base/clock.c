#include "base/clock.h"

#include "base/str.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DAY_S = 86400 };

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

bool wl_anchor_is_plausible(const struct wl_anchor *at)
{
    return at->mono_ns >= 0 && at->mono_ns < (int64_t)1 << 61 && at->wall_ns >= 0 && at->wall_ns < (int64_t)1 << 62;
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

/* A number of 1 to `most` digits. */
static bool read_digits(const char **at, int most, int *value)
{
    int n = 0;
    for (*value = 0; n < most && isdigit((unsigned char)**at); n++) *value = 10 * *value + *(*at)++ - '0';
    return n > 0;
}

static bool skip(const char **at, char c)
{
    const bool there = **at == c;
    *at += there;
    return there;
}

/* "2026-01-31": seconds since 1970. */
static bool read_date(const char **at, int64_t *s)
{
    int year, month, day;
    if (!read_digits(at, 4, &year) || !skip(at, '-') || !read_digits(at, 2, &month) || !skip(at, '-') ||
        !read_digits(at, 2, &day))
        return false;
    if (year < 1970 || year >= WL_CLOCK_END_YEAR || month < 1 || month > 12) return false;
    struct tm tm = { .tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day };
    *s = timegm(&tm);
    return tm.tm_mday == day; /* 31 February has become 3 March */
}

/* After ":", "07" or "07.250", to ns. */
static bool read_second(const char **at, int64_t *ns)
{
    int second;
    if (!read_digits(at, 2, &second) || second > 60) return false;
    *ns = second * WL_NS_PER_S;
    if (!skip(at, '.')) return true;
    if (!isdigit((unsigned char)**at)) return false;
    for (int64_t unit = WL_NS_PER_S / 10; isdigit((unsigned char)**at); unit /= 10) *ns += unit * (*(*at)++ - '0');
    return true;
}

/* "12:00" or "12:00:07.250": its minute, seconds since midnight, and ns within it. */
static bool read_time_of_day(const char **at, int64_t *minute_s, int64_t *ns)
{
    int hour, minute;
    *ns = 0;
    if (!read_digits(at, 2, &hour) || !skip(at, ':') || !read_digits(at, 2, &minute) || minute > 59) return false;
    if (skip(at, ':') && !read_second(at, ns)) return false;
    *minute_s = hour * 3600 + minute * 60;
    return hour < 24 || (*minute_s == DAY_S && *ns == 0); /* 24:00: the end of the day */
}

/* "+01:00", "+0100", "+01", "Z" or nothing: seconds ahead of UTC; false: something else. */
static bool read_offset(const char *text, int *seconds)
{
    enum { MOST_S = 14 * 3600 };
    int hours, minutes = 0;
    *seconds = 0;
    text += strspn(text, " ");
    if (!*text || wl_str_eq(text, "Z") || wl_str_eq(text, "UTC")) return true;
    const char sign = *text++;
    if ((sign != '+' && sign != '-') || !read_digits(&text, 2, &hours)) return false;
    const bool more = skip(&text, ':') || *text;
    if (more && (!read_digits(&text, 2, &minutes) || *text)) return false;
    *seconds = (sign == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
    return minutes < 60 && abs(*seconds) <= MOST_S;
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
    double number;
    int64_t day_s, minute_s, ns;
    int offset_s;
    if (wl_str_to_real(text, &number) == 0) return read_number(number, t_ns);
    text += strspn(text, " ");
    if (!read_date(&text, &day_s) || !(skip(&text, 'T') || skip(&text, ' ')) ||
        !read_time_of_day(&text, &minute_s, &ns) || !read_offset(text, &offset_s))
        return false;
    const int64_t utc_s = day_s + minute_s - offset_s;
    /* Leap seconds end a day of UTC. */
    if (utc_s < 0 || (ns >= 60 * WL_NS_PER_S && utc_s % DAY_S != DAY_S - 60)) return false;
    *t_ns = utc_s * WL_NS_PER_S + ns;
    return true;
}

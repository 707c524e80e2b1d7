/* CF conventions: https://cfconventions.org/cf-conventions/cf-conventions.html#time-coordinate
 */
#include "data/era5/calendar.h"

#include <stdio.h>
#include <time.h>

static const struct {
    const char *name;
    double s;
} units[] = {
    { "seconds", 1 }, { "second", 1 },   { "sec", 1 },      { "s", 1 },       { "minutes", 60 },
    { "minute", 60 }, { "min", 60 },     { "hours", 3600 }, { "hour", 3600 }, { "hr", 3600 },
    { "h", 3600 },    { "days", 86400 }, { "day", 86400 },  { "d", 86400 },
};

/* After a date: nothing, or a time of day, which may be marked as UTC. */
static bool time_of_day(const char *text, double *s)
{
    static const char *const utc[] = { "", "Z", "UTC", "+00:00", "+0000", "+00" };
    int hour = 0, minute = 0, n = 0;
    double second = 0;
    if (*text == ' ' || *text == 'T') text++;
    if (sscanf(text, "%2d:%2d%n", &hour, &minute, &n) >= 2) text += n;
    n = 0;
    if (*text == ':' && sscanf(text, ":%9lf%n", &second, &n) == 1) text += n;
    if (*text == ' ') text++;
    *s = hour * 3600 + minute * 60 + second;
    for (size_t i = 0; i < sizeof utc / sizeof *utc; i++)
        if (wl_str_eq(text, utc[i]))
            return hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && *s >= 0 && *s < 86400;
    return false;
}

bool wl_calendar_parse_units(const char *text, double *unit_s, int64_t *from_s)
{
    enum { GREGORIAN = 1583 /* the first complete year: earlier dates differ between calendars */ };
    char word[16];
    int year, month, day, n = 0;
    double clock_s;
    if (sscanf(text, "%15s since %4d-%2d-%2d%n", word, &year, &month, &day, &n) != 4) return false;
    if (year < GREGORIAN || month < 1 || month > 12 || day < 1 || day > 31 || !time_of_day(text + n, &clock_s))
        return false;
    struct tm date = { .tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day };
    *from_s = timegm(&date) + (int64_t)clock_s;
    if (date.tm_mday != day) return false; /* 31 February has become 3 March */
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (wl_str_eq(word, units[i].name)) {
            *unit_s = units[i].s;
            return true;
        }
    return false;
}

char *wl_calendar_format(int64_t time_s, struct wl_arena *a)
{
    char text[64] = "";
    struct tm date;
    const time_t t = time_s;
    if (gmtime_r(&t, &date)) strftime(text, sizeof text, "%Y-%m-%d %H:%M", &date);
    return wl_strdup(a, text);
}

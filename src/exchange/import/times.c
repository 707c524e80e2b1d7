#include "exchange/import/times.h"

#include "exchange/import/import.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { QUARTER_S = 900, DAY_S = 86400, BACK_S = 10 };

/* ---- zones ---- */

static const char *database(void)
{
    const char *dir = getenv("TZDIR");
    return dir && *dir ? dir : "/usr/share/zoneinfo";
}

/* "+02:00", "-0330", "+02" */
static bool read_offset(struct wl_slice s, int64_t *offset_s)
{
    uint64_t hours, minutes = 0;
    if (s.n < 3 || (s.s[0] != '+' && s.s[0] != '-')) return false;
    struct wl_slice rest = { s.s + 3, s.n - 3 };
    if (rest.n && rest.s[0] == ':') rest.s++, rest.n--;
    if (!wl_slice_uint((struct wl_slice) { s.s + 1, 2 }, &hours) || hours > 14) return false;
    if (s.n > 3 && (rest.n != 2 || !wl_slice_uint(rest, &minutes) || minutes > 59)) return false;
    *offset_s = (s.s[0] == '-' ? -1 : 1) * (int64_t)(hours * 3600 + minutes * 60);
    return true;
}

/* What was probably meant: a name of the same region. */
static const char *closest_zone(const char *name, struct wl_arena *a)
{
    const char *slash = strrchr(name, '/');
    char *region = slash ? wl_strndup(a, name, (size_t)(slash - name)) : (char *)"";
    struct wl_strs names = { 0 };
    if (wl_dir_list(wl_path_join(a, database(), region), &names, a, NULL) < 0) return NULL;
    const char *found = wl_str_closest(slash ? slash + 1 : name, (const char *const *)names.v, names.n);
    return found ? wl_strf(a, "%s%s%s", region, slash ? "/" : "", found) : NULL;
}

int wl_zone_open(struct wl_zone *z, const char *name, struct wl_arena *a, struct wl_err *e)
{
    *z = (struct wl_zone) { .last_s = INT64_MIN, .latest = { .local = INT64_MIN } };
    if (!name || wl_str_eq(name, "UTC") || wl_str_eq(name, "Z") || read_offset(wl_slice_of(name), &z->offset_s))
        return 0;
    const char *path = wl_path_join(a, database(), name);
    if (name[0] && name[0] != '/' && !strstr(name, "..") && wl_is_file(path)) {
        z->name = wl_strdup(a, name);
        return 0;
    }
    const char *meant = closest_zone(name, a);
    if (meant) return wl_fail(e, WL_EUSAGE, "--timezone %s: not in %s; did you mean %s?", name, database(), meant);
    return wl_fail(e, WL_EUSAGE,
                   "--timezone %s: not in %s; expected a name such as Europe/Berlin, or an offset such as "
                   "+02:00",
                   name, database());
}

/* The C library knows one zone at a time, that of the environment. */
static void use_zone(const char *name)
{
    if (name)
        setenv("TZ", name, 1);
    else
        unsetenv("TZ");
    tzset();
}

static int64_t offset_at(int64_t utc_s)
{
    time_t t = (time_t)utc_s;
    struct tm tm;
    return localtime_r(&t, &tm) ? (int64_t)tm.tm_gmtoff : 0;
}

static void look_up(const struct wl_zone *z, struct wl_zone_quarter *q)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const char *ours = getenv("TZ");
    char *kept = ours ? wl_strdup(a, ours) : NULL;
    int64_t local_s = q->local * QUARTER_S;
    use_zone(wl_strf(a, ":%s", z->name));
    int64_t found[2] = { offset_at(local_s - DAY_S), offset_at(local_s + DAY_S) };
    for (int i = 0; i < 2; i++) {
        if (i == 1 && found[1] == found[0]) break;
        if (offset_at(local_s - found[i]) == found[i]) q->offset_s[q->n++] = found[i];
    }
    if (q->n == 2 && q->offset_s[0] < q->offset_s[1]) {
        int64_t smaller = q->offset_s[0];
        q->offset_s[0] = q->offset_s[1];
        q->offset_s[1] = smaller;
    }
    use_zone(kept);
    wl_arena_free(a);
}

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

int wl_zone_utc(struct wl_zone *z, int64_t local_s, int64_t *utc_s)
{
    if (!z->name) {
        *utc_s = local_s - z->offset_s;
        return 1;
    }
    struct wl_zone_quarter *q = &z->latest;
    int64_t quarter = floor_div(local_s, QUARTER_S);
    if (q->local != quarter) {
        *q = (struct wl_zone_quarter) { .local = quarter };
        look_up(z, q);
    }
    if (q->n == 0) return 0;
    *utc_s = local_s - q->offset_s[0];
    if (q->n == 2 && z->last_s != INT64_MIN && *utc_s < z->last_s - BACK_S) *utc_s = local_s - q->offset_s[1];
    z->last_s = *utc_s;
    return q->n;
}

/* ---- dates ---- */

static bool digits(const char **p, const char *end, int least, int most, int *value, int *n)
{
    *value = *n = 0;
    while (*p < end && *n < most && **p >= '0' && **p <= '9') *value = *value * 10 + *(*p)++ - '0', ++*n;
    return *n >= least;
}

/* Days since 1970 of the proleptic Gregorian calendar: Hinnant, "chrono-compatible low-level date algorithms". */
static int64_t days_of(int year, int month, int day)
{
    int64_t y = year - (month <= 2), era = floor_div(y, 400), of_era = y - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static bool is_day(int year, int month, int day)
{
    static const int last[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    bool leap = (year % 4 == 0 && year % 100) || year % 400 == 0;
    return year >= 1970 && year < WL_CLOCK_END_YEAR && month >= 1 && month <= 12 && day >= 1 &&
           day <= last[month - 1] + (month == 2 && leap);
}

static bool read_date(const char **p, const char *end, enum wl_date_order order, int64_t *days)
{
    int v[3], n[3];
    for (int i = 0; i < 3; i++) {
        if (i && (*p == end || !strchr("-/.", *(*p)++))) return false;
        if (!digits(p, end, 1, 4, &v[i], &n[i])) return false;
    }
    int year = order == WL_DATE_YMD ? 0 : 2, month = order == WL_DATE_MDY ? 0 : 1, day = 3 - year - month;
    if (n[year] != 4 || n[month] > 2 || n[day] > 2 || !is_day(v[year], v[month], v[day])) return false;
    *days = days_of(v[year], v[month], v[day]);
    return true;
}

bool wl_time_parse(struct wl_slice s, enum wl_date_order order, int64_t *local_s, int64_t *ns, struct wl_slice *rest)
{
    const char *p = s.s, *end = s.s + s.n;
    int64_t days;
    int v[3] = { 0 }, n;
    if (!read_date(&p, end, order, &days) || p == end || !strchr(" T_", *p++)) return false;
    for (int i = 0; i < 3; i++) {
        if (i && (p == end || *p++ != ':')) return false;
        if (!digits(&p, end, 2, 2, &v[i], &n)) return false;
    }
    if (v[0] > 23 || v[1] > 59 || v[2] > 60) return false;
    *ns = 0;
    if (p < end && *p == '.') {
        int64_t unit = WL_NS_PER_S / 10;
        for (p++; p < end && *p >= '0' && *p <= '9'; p++, unit /= 10) *ns += unit * (*p - '0');
    }
    *local_s = days * DAY_S + v[0] * 3600 + v[1] * 60 + v[2];
    *rest = wl_slice_trim((struct wl_slice) { p, (size_t)(end - p) });
    return true;
}

bool wl_import_time(struct wl_import *im, struct wl_zone *z, struct wl_slice s, enum wl_date_order order, int64_t *t_ns)
{
    int64_t local_s, ns, utc_s, offset_s = 0;
    struct wl_slice rest;
    if (!wl_time_parse(s, order, &local_s, &ns, &rest)) {
        wl_import_reject(im, "\"%.*s\" is not a time such as 2026/01/31 12:00:00.000", (int)(s.n < 60 ? s.n : 60), s.s);
        return false;
    }
    if (rest.n) {
        if (!wl_slice_eq(rest, "Z") && !wl_slice_eq(rest, "UTC") && !read_offset(rest, &offset_s)) {
            wl_import_reject(im, "\"%.*s\" after a time: expected nothing, Z or an offset such as +02:00",
                             (int)(rest.n < 40 ? rest.n : 40), rest.s);
            return false;
        }
        utc_s = local_s - offset_s;
    } else {
        int instants = wl_zone_utc(z, local_s, &utc_s);
        if (instants == 0) {
            wl_import_reject(im, "\"%.*s\" does not exist in %s: clocks go forward over it", (int)s.n, s.s, z->name);
            return false;
        }
        if (instants == 2 && !z->twice) {
            z->twice = true;
            wl_import_note(im,
                           "%s:%lld: %.*s happens twice in %s, as clocks go back: taken for the first until times go "
                           "back, then for the second",
                           im->in->path, (long long)im->in->line, (int)s.n, s.s, z->name);
        }
        if (!im->opts->timezone && !z->assumed) {
            z->assumed = true;
            wl_import_note(im, "times without a time zone are taken for UTC: give --timezone where they are local");
        }
    }
    *t_ns = utc_s * WL_NS_PER_S + ns;
    return true;
}

/* MLPerf's PTDaemon: "Time,11-13-2020 22:38:59.240,Watts,272.93,Volts,...,Mark,label,Ch1,Watts,...". The order of day
 * and month is that of the machine's locale. Source: github.com/mlcommons/power-dev, and the logs of submissions. */
#include "exchange/import/formats.h"
#include "exchange/import/reader.h"

#include <string.h>

enum { FIELDS = 64 };

struct reader {
    struct wl_import *im;
    struct wl_zone zone;
    enum wl_date_order order;
    int channel;
    size_t messages, channels;
};

/* ---- the order of dates ---- */

struct evidence {
    bool dmy, mdy;
    char example[24]; /* of a date that may be either */
};

static bool number(const char *s, size_t n, int *out)
{
    uint64_t v;
    if (!wl_slice_uint((struct wl_slice) { s, n }, &v)) return false;
    *out = (int)v;
    return true;
}

/* "Mark,2020-12-28_15-20-52_label": the harness names ranges by their beginning, on the same day but near midnight. */
static void compare_mark(struct evidence *x, const struct wl_slice *v, int n, int first, int second)
{
    int month, day;
    for (int i = 2; i + 1 < n; i++) {
        if (!wl_slice_eq(v[i], "Mark")) continue;
        const struct wl_slice m = v[i + 1];
        if (m.n < 10 || m.s[4] != '-' || m.s[7] != '-' || !number(m.s + 5, 2, &month) || !number(m.s + 8, 2, &day))
            return;
        x->dmy = x->dmy || (first == day && second == month && day != month);
        x->mdy = x->mdy || (first == month && second == day && day != month);
    }
}

static void look_at(struct evidence *x, struct wl_slice line)
{
    struct wl_slice v[FIELDS];
    int first, second, n = wl_slice_split(line, ',', v, FIELDS);
    if (n < 2 || n > FIELDS || !wl_slice_eq(v[0], "Time") || v[1].n < 10) return;
    const char *d = v[1].s;
    if (!number(d, 2, &first) || !number(d + 3, 2, &second)) return;
    x->dmy = x->dmy || first > 12;
    x->mdy = x->mdy || second > 12;
    snprintf(x->example, sizeof x->example, "%.10s", d);
    if (first <= 12 && second <= 12) compare_mark(x, v, n, first, second);
}

static struct evidence look(struct wl_slice head)
{
    struct evidence x = { 0 };
    const char *p = head.s, *end = head.s + head.n, *nl;
    for (; p < end && (nl = memchr(p, '\n', (size_t)(end - p))); p = nl + 1)
        look_at(&x, (struct wl_slice) { p, (size_t)(nl - p) });
    return x;
}

static int find_order(struct reader *r, struct wl_err *e)
{
    const char *given = r->im->opts->dates;
    struct wl_slice head;
    int rc = wl_lines_peek(r->im->in, WL_IMPORT_HEAD, &head, e);
    if (rc < 0) return rc;
    const struct evidence x = look(head);
    if (given) {
        r->order = wl_str_eq(given, "dmy") ? WL_DATE_DMY : WL_DATE_MDY;
        return 0;
    }
    if (x.dmy && x.mdy)
        return wl_fail(e, WL_EINVAL, "%s: dates of both orders, day first and month first: give --dates dmy or mdy",
                       r->im->in->path);
    if (!x.dmy && !x.mdy && x.example[0])
        return wl_fail(e, WL_EINVAL, "%s: the date %s may begin with the day or the month: give --dates dmy or mdy",
                       r->im->in->path, x.example);
    r->order = x.dmy ? WL_DATE_DMY : WL_DATE_MDY;
    return 0;
}

/* ---- lines ---- */

static int make_channel(struct reader *r)
{
    static const struct wl_import_quantity q = { "power_w", "W", "node", "average" };
    const struct wl_import_device d = { .uuid = "analyzer" };
    return wl_series_channel(r->im, wl_series_device(r->im, &d), &q);
}

/* "Analyzer identity response of 32 bytes: YOKOGAWA,WT310,C2PH13047V,F1.03" */
static void read_message(struct reader *r, struct wl_slice line)
{
    static const char key[] = "Analyzer identity response";
    const char *at = memmem(line.s, line.n, key, strlen(key)), *colon;
    r->messages++;
    if (!at || !(colon = memchr(at, ':', (size_t)(line.s + line.n - at)))) return;
    struct wl_slice rest = { colon + 1, (size_t)(line.s + line.n - colon - 1) };
    struct wl_arena *a = wl_arena_new(NULL);
    wl_import_set_tool(r->im, wl_strf(a, "PTDaemon, analyzer %.*s", WL_QUOTE(wl_slice_trim(rest))));
    wl_arena_free(a);
}

static int read_line(struct reader *r, struct wl_slice line, struct wl_err *e)
{
    struct wl_slice v[FIELDS];
    int64_t t_ns;
    double watts;
    int n = wl_slice_split(line, ',', v, FIELDS);
    if (n < 3 || n > FIELDS || !wl_slice_eq(v[0], "Time")) {
        wl_import_reject(r->im, "not a line 'Time,<date>,Watts,...'");
        return 0;
    }
    if (wl_slice_eq(v[2], "NOTICE") || wl_slice_eq(v[2], "ERROR") || wl_slice_eq(v[2], "WARNING")) {
        read_message(r, line);
        return 0;
    }
    if (n < 4 || !wl_slice_eq(v[2], "Watts")) {
        wl_import_reject(r->im, "expected Watts after the time, not \"%.*s\"", WL_QUOTE(v[2]));
        return 0;
    }
    if (!wl_import_time(r->im, &r->zone, v[1], r->order, &t_ns)) return 0;
    for (int i = 4; i < n; i++) r->channels += wl_slice_starts(v[i], "Ch") && v[i].n <= 4;
    const char *why = wl_import_no_value(v[3]);
    if (!why && !wl_slice_real(v[3], &watts)) {
        wl_import_reject(r->im, "Watts: \"%.*s\" is not a number", WL_QUOTE(v[3]));
        return 0;
    }
    if (r->channel == WL_SERIES_UNWANTED) r->channel = make_channel(r);
    if (!why && watts == -1) why = "-1, which the analyzer writes for none";
    return why ? wl_series_missing(r->im, r->channel, t_ns, why, e) : wl_series_add(r->im, r->channel, t_ns, watts, e);
}

static int read_file(struct wl_import *im, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(im->a);
    struct reader r = { .im = im, .channel = WL_SERIES_UNWANTED };
    struct wl_slice line;
    int rc = wl_zone_open(&r.zone, im->opts->timezone, a, e);
    if (rc == 0) rc = find_order(&r, e);
    if (rc == 0)
        while ((rc = wl_import_line(im, &line, e)) > 0)
            if ((rc = read_line(&r, line, e)) < 0) break;
    if (r.messages) wl_import_pass_over(im, "messages of PTDaemon", r.messages);
    if (r.channels) wl_import_pass_over(im, "single channels of the analyzer, whose sum is imported", r.channels);
    wl_arena_free(a);
    return rc;
}

static bool recognise(const struct wl_import_head *h, struct wl_arena *a)
{
    const char *line = wl_import_head_line(h, a);
    return line && wl_str_starts(line, "Time,") &&
           (strstr(line, ",Watts,") || strstr(line, ",NOTICE,") || strstr(line, ",ERROR,"));
}

const struct wl_import_format wl_import_ptd = {
    .name = "ptd",
    .title = "MLPerf's PTDaemon",
    .looks_for = "lines 'Time,<date>,Watts,'",
    .kind = WL_IMPORT_SERIES,
    .recognise = recognise,
    .read = read_file,
};

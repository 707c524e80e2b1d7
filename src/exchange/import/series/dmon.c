/* nvidia-smi dmon, with or without -o D (date) and -o T (time), in columns or as CSV. Source: nvidia-smi dmon -h. */
#include "exchange/import/formats.h"
#include "exchange/import/reader.h"

#include <string.h>

enum { COLUMNS = 64, GPUS = 256 };

static const struct field {
    const char *name;
    struct wl_import_quantity of;
    double scale;
} fields[] = {
    { "pwr", { "power_w", "W", "gpu", "driver" }, 1 },        { "gtemp", { "temperature_c", "°C", "gpu", "" }, 1 },
    { "mtemp", { "mem_temperature_c", "°C", "gpu", "" }, 1 }, { "sm", { "sm_util_pct", "%", "gpu", "" }, 1 },
    { "mem", { "mem_util_pct", "%", "gpu", "" }, 1 },         { "pclk", { "sm_clock_mhz", "MHz", "gpu", "" }, 1 },
    { "mclk", { "mem_clock_mhz", "MHz", "gpu", "" }, 1 },     { "fb", { "mem_used_bytes", "B", "gpu", "" }, 0x1p20 },
};

struct reader {
    struct wl_import *im;
    struct wl_zone zone;
    const struct field *column[COLUMNS]; /* NULL: not imported */
    char name[COLUMNS][16];
    size_t passed_over[COLUMNS];
    int n_columns, gpu, date, time; /* -1: none */
    int channel[GPUS][COLUMNS];
    bool has_channels[GPUS];
    struct wl_import_ticks ticks;
    int first_gpu;
    int64_t day_ns, last_of_day_ns; /* of files with times of day alone */
};

/* Both "# gpu   pwr" and "#Date       Time        gpu" begin with a number sign, with or without a blank after it. */
static int words_of(struct wl_slice line, struct wl_slice *v)
{
    if (line.n && line.s[0] == '#') line.s++, line.n--;
    if (memchr(line.s, ',', line.n)) return wl_slice_split(line, ',', v, COLUMNS);
    return wl_slice_words(line, v, COLUMNS);
}

static const struct field *field_named(struct wl_slice name)
{
    for (size_t i = 0; i < WL_COUNT(fields); i++)
        if (wl_slice_eq(name, fields[i].name)) return &fields[i];
    return NULL;
}

static void report_columns(struct reader *r)
{
    for (int i = 0; i < r->n_columns; i++) {
        if (!r->passed_over[i]) continue;
        struct wl_arena *a = wl_arena_new(NULL);
        wl_import_pass_over(r->im, wl_strf(a, "column %s", r->name[i]), r->passed_over[i]);
        r->passed_over[i] = 0;
        wl_arena_free(a);
    }
}

static bool same_header(const struct reader *r, const struct wl_slice *v, int n)
{
    if (n != r->n_columns) return false;
    for (int i = 0; i < n; i++)
        if (!wl_slice_eq(v[i], r->name[i])) return false;
    return true;
}

static void read_header(struct reader *r, const struct wl_slice *v, int n)
{
    if (same_header(r, v, n)) return; /* repeated every 10 to 24 rows */
    report_columns(r);
    memset(r->has_channels, 0, sizeof r->has_channels);
    r->n_columns = n;
    r->gpu = r->date = r->time = -1;
    for (int i = 0; i < n; i++) {
        snprintf(r->name[i], sizeof r->name[i], "%.*s", WL_QUOTE(v[i]));
        r->column[i] = field_named(v[i]);
        if (wl_slice_eq(v[i], "gpu")) r->gpu = i;
        if (wl_slice_eq(v[i], "Date")) r->date = i;
        if (wl_slice_eq(v[i], "Time")) r->time = i;
    }
}

static void make_channels(struct reader *r, uint64_t gpu)
{
    char uuid[32], number[24];
    snprintf(number, sizeof number, "%d", (int)gpu);
    snprintf(uuid, sizeof uuid, "gpu%d", (int)gpu);
    const struct wl_import_device d = { .uuid = uuid, .number = number };
    int device = wl_series_device(r->im, &d);
    for (int i = 0; i < r->n_columns; i++)
        r->channel[gpu][i] = r->column[i] ? wl_series_channel(r->im, device, &r->column[i]->of) : WL_SERIES_UNWANTED;
    r->has_channels[gpu] = true;
}

/* A time of day without a date: the day is that of --start, and the next one where the time goes back. */
static int time_of_day(struct reader *r, struct wl_slice text, int64_t *t_ns, struct wl_err *e)
{
    const int64_t DAY_NS = 86400 * WL_NS_PER_S, start = r->im->opts->start_ns;
    char stamp[64];
    int64_t local_s, ns;
    struct wl_slice rest;
    if (start == WL_NO_NS)
        return wl_fail(e, WL_EINVAL, "%s:%lld: rows have a time and no date: give --start with the day they are of",
                       r->im->in->path, (long long)r->im->in->line);
    snprintf(stamp, sizeof stamp, "1970-01-01 %.*s", WL_QUOTE(text));
    if (!wl_time_parse(wl_slice_of(stamp), WL_DATE_YMD, &local_s, &ns, &rest) || rest.n) {
        wl_import_reject(r->im, "\"%.*s\" is not a time such as 12:34:56", WL_QUOTE(text));
        return 0;
    }
    ns += local_s * WL_NS_PER_S;
    if (r->day_ns == WL_NO_NS)
        r->day_ns = start / DAY_NS * DAY_NS;
    else if (ns < r->last_of_day_ns - DAY_NS / 2)
        r->day_ns += DAY_NS;
    r->last_of_day_ns = ns;
    *t_ns = r->day_ns + ns;
    return 1;
}

/* 1 with *t_ns, 0: the line was rejected. */
static int row_time(struct reader *r, const struct wl_slice *v, uint64_t gpu, int64_t *t_ns, struct wl_err *e)
{
    if (r->date >= 0 && r->time >= 0) {
        const struct wl_slice d = v[r->date], t = v[r->time];
        char stamp[64];
        if (d.n != 8)
            wl_import_reject(r->im, "\"%.*s\" is not a date such as 20260131", WL_QUOTE(d));
        else
            snprintf(stamp, sizeof stamp, "%.4s-%.2s-%.2s %.*s", d.s, d.s + 4, d.s + 6, (int)(t.n < 30 ? t.n : 30),
                     t.s);
        return d.n == 8 && wl_import_time(r->im, &r->zone, wl_slice_of(stamp), WL_DATE_YMD, t_ns);
    }
    if (r->time >= 0) return time_of_day(r, v[r->time], t_ns, e);
    if (r->ticks.n == 0) r->first_gpu = (int)gpu;
    int rc = wl_import_tick(r->im, &r->ticks, (int)gpu == r->first_gpu, t_ns, e);
    return rc < 0 ? rc : 1;
}

static int read_value(struct reader *r, int i, struct wl_slice text, int channel, int64_t t_ns, struct wl_err *e)
{
    double v;
    const char *why = wl_import_no_value(text);
    if (why) return wl_series_missing(r->im, channel, t_ns, why, e);
    if (wl_slice_real(text, &v)) return wl_series_add(r->im, channel, t_ns, v * r->column[i]->scale, e);
    wl_import_reject(r->im, "%s: \"%.*s\" is not a number", r->name[i], WL_QUOTE(text));
    return 0;
}

static int read_row(struct reader *r, const struct wl_slice *v, int n, struct wl_err *e)
{
    uint64_t gpu;
    int64_t t_ns;
    if (r->n_columns == 0) {
        wl_import_reject(r->im, "a row before the header");
        return 0;
    }
    if (n != r->n_columns) {
        wl_import_reject(r->im, "%d values under %d columns", n, r->n_columns);
        return 0;
    }
    if (!wl_slice_uint(v[r->gpu], &gpu) || gpu >= GPUS) {
        wl_import_reject(r->im, "\"%.*s\" is not the number of a GPU", WL_QUOTE(v[r->gpu]));
        return 0;
    }
    int rc = row_time(r, v, gpu, &t_ns, e);
    if (rc <= 0) return rc;
    if (!r->has_channels[gpu]) make_channels(r, gpu);
    rc = 0;
    for (int i = 0; i < n && rc == 0; i++) {
        if (r->column[i])
            rc = read_value(r, i, v[i], r->channel[gpu][i], t_ns, e);
        else if (i != r->gpu && i != r->date && i != r->time)
            r->passed_over[i]++;
    }
    return rc;
}

static bool has_word(const struct wl_slice *v, int n, const char *word)
{
    for (int i = 0; i < n && i < COLUMNS; i++)
        if (wl_slice_eq(v[i], word)) return true;
    return false;
}

static int read_lines(struct reader *r, struct wl_err *e)
{
    struct wl_slice line, v[COLUMNS];
    int rc;
    while ((rc = wl_import_line(r->im, &line, e)) > 0) {
        line = wl_slice_trim(line);
        int n = words_of(line, v);
        rc = 0;
        if (n < 1 || n > COLUMNS)
            wl_import_reject(r->im, "not a row of nvidia-smi dmon");
        else if (line.s[0] != '#')
            rc = read_row(r, v, n, e);
        else if (has_word(v, n, "gpu"))
            read_header(r, v, n);
        if (rc < 0) return rc;
    }
    return rc;
}

static int read_file(struct wl_import *im, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(im->a);
    struct reader *r = wl_new(a, struct reader);
    r->im = im;
    r->gpu = r->date = r->time = -1;
    r->day_ns = WL_NO_NS;
    int rc = wl_zone_open(&r->zone, im->opts->timezone, a, e);
    if (rc == 0) rc = read_lines(r, e);
    report_columns(r);
    wl_arena_free(a);
    return rc;
}

static bool recognise(const struct wl_import_head *h, struct wl_arena *a)
{
    const char *end = memchr(h->text, '\n', h->n);
    struct wl_slice v[COLUMNS];
    (void)a;
    if (!end || h->text[0] != '#') return false;
    int n = words_of((struct wl_slice) { h->text, (size_t)(end - h->text) }, v);
    return has_word(v, n, "gpu") && (wl_import_head_has(h, "Idx") || memchr(h->text, ',', (size_t)(end - h->text)));
}

const struct wl_import_format wl_import_dmon = {
    .name = "dmon",
    .title = "nvidia-smi dmon",
    .looks_for = "a line '# gpu pwr ...'",
    .kind = WL_IMPORT_SERIES,
    .recognise = recognise,
    .read = read_file,
};

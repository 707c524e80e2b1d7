/* perun export ... csv: ",run id,hostname,device_group,sensor,unit,magnitude,timestep,value". A run id is a round of
 * the benchmark; its time steps are s since it began, in float32; a value times its magnitude is in the unit. Source:
 * github.com/Helmholtz-AI-Energy/perun. */
#include "exchange/import/formats.h"
#include "exchange/import/hdf5.h"
#include "exchange/import/reader.h"

#include <math.h>
#include <string.h>

enum { RUN, HOST, GROUP, SENSOR, UNIT, MAGNITUDE, STEP, VALUE, REQUIRED, UUID = REQUIRED, MODEL, DRIVER, ROLES };
enum { COLUMNS = 32, TEXT = 128 };
static const char *const names[ROLES] = { "run id", "hostname",  "device_group",  "sensor",
                                          "unit",   "magnitude", "timestep",      "value",
                                          "uuid",   "name",      "driver_version" }; /* the last three: of its HDF5 */

struct reader {
    struct wl_import *im;
    int column[ROLES];
    char run[TEXT], key[4 * TEXT]; /* of the latest row: its sensor, of which thousands follow each other */
    int channel;                   /* of that sensor; PASSED: not imported */
    double scale;
    size_t passed_over;
    char passed[TEXT];
};
enum { PASSED = -2, NONE = -3 };

static int read_header(void *reader, const struct wl_slice *v, int n, struct wl_err *e)
{
    struct reader *r = reader;
    for (int k = 0; k < ROLES; k++) {
        r->column[k] = -1;
        for (int i = 0; i < n && i < COLUMNS; i++)
            if (wl_slice_eq(v[i], names[k])) r->column[k] = i;
        if (r->column[k] < 0 && k < REQUIRED)
            return wl_fail(e, WL_EINVAL, "%s:%lld: no column \"%s\"", r->im->in->path, (long long)r->im->in->line,
                           names[k]);
    }
    return 0;
}

/* ---- sensors ---- */

static const struct sensor {
    const char *group, *suffix, *unit;
    struct wl_import_quantity of;
} sensors[] = {
    { "gpu", "_POWER", "W", { "power_w", "W", "gpu", "driver" } },
    { "gpu", "_CLOCK_SM", "Hz", { "sm_clock_mhz", "MHz", "gpu", "" } },
    { "gpu", "_CLOCK_MEM", "Hz", { "mem_clock_mhz", "MHz", "gpu", "" } },
    { "gpu", "_MEM", "B", { "mem_used_bytes", "B", "gpu", "" } },
    { "cpu", "", "W", { "power_w", "W", "package", "mean" } },
    { "cpu", "", "J", { "energy_j", "J", "package", "", .counter = true, .wraps = true } },
    { "ram", "", "W", { "power_w", "W", "dram", "mean" } },
    { "ram", "", "J", { "energy_j", "J", "dram", "", .counter = true, .wraps = true } },
};

static bool ends_with(struct wl_slice s, const char *suffix)
{
    const size_t n = strlen(suffix);
    return s.n >= n && memcmp(s.s + s.n - n, suffix, n) == 0;
}

static const struct sensor *sensor_of(const struct reader *r, const struct wl_slice *v)
{
    for (size_t i = 0; i < WL_COUNT(sensors); i++) {
        const struct sensor *s = &sensors[i];
        if (wl_slice_eq(v[r->column[GROUP]], s->group) && wl_slice_eq(v[r->column[UNIT]], s->unit) &&
            ends_with(v[r->column[SENSOR]], s->suffix))
            return s;
    }
    return NULL;
}

/* NULL: the file does not say it. */
static const char *text_of(const struct reader *r, const struct wl_slice *v, int role, struct wl_arena *a)
{
    const int column = r->column[role];
    return column >= 0 && v[column].n ? wl_slice_text(v[column], a) : NULL;
}

/* "CUDA:0_POWER" is of GPU 0; "cpu_0_package-0" names itself. */
static struct wl_import_device device_of(const struct reader *r, const struct wl_slice *v, const struct sensor *s,
                                         struct wl_arena *a)
{
    const struct wl_slice name = v[r->column[SENSOR]];
    struct wl_import_device d = { .uuid = wl_slice_text(name, a), .host = wl_slice_text(v[r->column[HOST]], a) };
    const char *colon = memchr(name.s, ':', name.n);
    if (!*s->suffix || !colon) return d;
    size_t n = name.n - (size_t)(colon + 1 - name.s) - strlen(s->suffix);
    d.number = wl_strndup(a, colon + 1, n);
    d.uuid = text_of(r, v, UUID, a);
    if (!d.uuid) d.uuid = wl_strf(a, "gpu%s", d.number);
    d.model = text_of(r, v, MODEL, a);
    d.driver = text_of(r, v, DRIVER, a);
    return d;
}

static void use_sensor(struct reader *r, const struct wl_slice *v)
{
    const struct sensor *s = sensor_of(r, v);
    double magnitude;
    r->channel = PASSED;
    if (!s || !wl_slice_real(v[r->column[MAGNITUDE]], &magnitude)) {
        snprintf(r->passed, sizeof r->passed, "sensor %.*s", WL_QUOTE(v[r->column[SENSOR]]));
        return;
    }
    struct wl_arena *a = wl_arena_new(NULL); /* files in the order of time change the sensor with each row */
    const struct wl_import_device d = device_of(r, v, s, a);
    r->scale = magnitude * wl_import_unit(v[r->column[UNIT]], s->of.unit);
    r->channel = wl_series_channel(r->im, wl_series_device(r->im, &d), &s->of);
    wl_arena_free(a);
}

static void report_passed(struct reader *r)
{
    if (r->passed_over) wl_import_pass_over(r->im, r->passed, r->passed_over);
    r->passed_over = 0;
}

static bool same_text(struct wl_slice s, const char *text) { return wl_slice_eq(s, text); }

/* Another run or sensor than that of the row before? */
static int follow(struct reader *r, const struct wl_slice *v, struct wl_err *e)
{
    const struct wl_slice run = v[r->column[RUN]], h = v[r->column[HOST]], s = v[r->column[SENSOR]],
                          m = v[r->column[MAGNITUDE]], u = v[r->column[UNIT]];
    char key[sizeof r->key];
    int rc = 0;
    if (!same_text(run, r->run) || r->channel == NONE) {
        snprintf(r->run, sizeof r->run, "%.*s", (int)run.n, run.s);
        char label[TEXT + 8];
        snprintf(label, sizeof label, "round %s", r->run);
        rc = wl_series_next_run(r->im, label, e);
        if (rc == 0) wl_series_undated(r->im);
        r->key[0] = '\0';
    }
    snprintf(key, sizeof key, "%.*s\n%.*s\n%.*s\n%.*s", WL_QUOTE(h), WL_QUOTE(s), WL_QUOTE(m), WL_QUOTE(u));
    if (rc < 0 || strcmp(key, r->key) == 0) return rc;
    report_passed(r);
    memcpy(r->key, key, sizeof key);
    use_sensor(r, v);
    return 0;
}

/* ---- rows ---- */

static int read_row(void *reader, const struct wl_slice *v, int n, struct wl_err *e)
{
    struct reader *r = reader;
    double step_s, value;
    (void)n;
    if (v[r->column[RUN]].n >= TEXT || !wl_slice_real(v[r->column[STEP]], &step_s) || !(step_s >= 0 && step_s < 1e9)) {
        wl_import_reject(r->im, "\"%.*s\" is not a time step in s", WL_QUOTE(v[r->column[STEP]]));
        return 0;
    }
    int rc = follow(r, v, e);
    if (rc < 0) return rc;
    if (r->channel == PASSED) {
        r->passed_over++;
        return 0;
    }
    const int64_t t_ns = wl_series_undated(r->im) + llround(step_s * 1e6) * 1000;
    const char *why = wl_import_no_value(v[r->column[VALUE]]);
    if (why) return wl_series_missing(r->im, r->channel, t_ns, why, e);
    if (wl_slice_real(v[r->column[VALUE]], &value)) return wl_series_add(r->im, r->channel, t_ns, value * r->scale, e);
    wl_import_reject(r->im, "\"%.*s\" is not a number", WL_QUOTE(v[r->column[VALUE]]));
    return 0;
}

static int read_csv(struct wl_import *im, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(im->a);
    struct reader *r = wl_new(a, struct reader);
    *r = (struct reader) { .im = im, .channel = NONE };
    wl_import_set_tool(im, "perun");
    int rc = wl_import_rows(im, ',', COLUMNS, read_header, read_row, r, e);
    report_passed(r);
    wl_arena_free(a);
    return rc;
}

static int read_file(struct wl_import *im, struct wl_err *e) { return wl_import_csv_or_hdf5(im, "perun", read_csv, e); }

static bool recognise(const struct wl_import_head *h, struct wl_arena *a)
{
    if (wl_import_is_hdf5(h)) return wl_import_head_has(h, "metrics") && wl_import_head_has(h, "nodes");
    const char *line = wl_import_head_line(h, a);
    return line && strstr(line, "run id") && strstr(line, "device_group") && strstr(line, "magnitude");
}

static const char *const columns[] = { "run id",    "hostname", "device_group", "sensor", "unit",
                                       "magnitude", "timestep", "value",        NULL };

const struct wl_import_format wl_import_perun = {
    .name = "perun",
    .title = "perun",
    .looks_for = "a header with run id, device_group, magnitude, or HDF5 with groups metrics and nodes",
    .kind = WL_IMPORT_SERIES,
    .columns = columns,
    .recognise = recognise,
    .read = read_file,
};

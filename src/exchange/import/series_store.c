/* The readings of a run as devices, channels and samples of a store, and the energies that follow from them. The run's
 * clock is the calendar: ns since 1970. */
#include "exchange/import/series_state.h"
#include "run/run.h"

#include <math.h>
#include <stdlib.h>

/* ---- readings ---- */

/* Separate from the devices that wattlaw itself reads, which keep their rows. */
static int add_device(struct wl_import *im, const struct wl_import_device *d, int64_t *id, struct wl_err *e)
{
    struct wl_json *info = wl_json_root_object(im->series->a);
    int64_t number;
    wl_json_add_str(info, "uuid", d->uuid);
    if (d->driver) wl_json_add_str(info, "driver", d->driver);
    if (d->split) wl_json_add_str(info, "mig", "on");
    bool numbered = d->number && wl_str_to_int(d->number, &number) == 0;
    struct wl_device_row row = { .host = d->host,
                                 .uuid = wl_strf(im->series->a, "%s:%s", im->format->name, d->uuid),
                                 .sensor = im->format->name,
                                 .number = numbered && number >= 0 ? (double)number : NAN,
                                 .name = d->model,
                                 .info = wl_json_text(info, 0, im->series->a) };
    return wl_store_add_device(im->store, &row, id, e);
}

static int add_channel(struct wl_import *im, struct wl_series_channel *c, struct wl_err *e)
{
    struct wl_series *s = im->series;
    const struct wl_import_quantity *q = &c->pub.of;
    struct wl_channel_row row = { .run = s->run,
                                  .quantity = q->quantity,
                                  .unit = q->unit,
                                  .scope = q->scope,
                                  .variant = q->variant,
                                  .counter = q->counter,
                                  .estimated = q->estimated,
                                  .update_s = NAN,
                                  .window_s = NAN,
                                  .delay_s = NAN,
                                  .power_limit_w = NAN };
    int rc = add_device(im, &s->devices[c->pub.device], &row.device, e);
    return rc < 0 ? rc : wl_store_add_channel(im->store, &row, &c->id, e);
}

enum { STORED_AT_ONCE = 4096 };

struct storing {
    struct wl_store *store;
    int64_t channel;
    struct wl_sample_row *rows; /* [STORED_AT_ONCE] */
    size_t n;
};

static int store_rows(struct storing *to, struct wl_err *e)
{
    int rc = wl_store_add_samples(to->store, to->rows, to->n, e);
    to->n = 0;
    return rc;
}

static int store_some(void *storing, const int64_t *t_ns, const double *value, size_t n, struct wl_err *e)
{
    struct storing *to = storing;
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        to->rows[to->n++] = (struct wl_sample_row) { to->channel, t_ns[i], value[i] };
        if (to->n == STORED_AT_ONCE) rc = store_rows(to, e);
    }
    return rc;
}

static int add_readings(struct wl_import *im, const struct wl_series_channel *c, struct wl_sample_row *rows,
                        struct wl_err *e)
{
    struct storing to = { im->store, c->id, rows, 0 };
    int rc = wl_held_each(&im->series->held, &c->held, store_some, &to, e);
    return rc < 0 ? rc : store_rows(&to, e);
}

/* A channel of the run as wl_store_readings gives it: those held, or what the store made of them where their order is
 * not that of time. */
static int read_channel(void *ctx, int64_t channel, struct wl_readings *out, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_import *im = ctx;
    for (size_t i = 0; i < im->series->n_channels; i++) {
        const struct wl_series_channel *c = &im->series->channels[i];
        if (c->id == channel && !c->unordered)
            return wl_held_read(&im->series->held, &c->held, im->store_path, out, a, e);
    }
    return wl_store_readings(im->store, channel, INT64_MIN, INT64_MAX, out, a, e);
}

/* ---- what the run is ---- */

static int by_value(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

static bool is_energetic(const struct wl_series_channel *c)
{
    return wl_str_eq(c->pub.of.unit, "W") || wl_str_eq(c->pub.of.unit, "J");
}

/* The upper quartile of the steps of the first channel of power, else of any: some tools read in pairs, of which the
 * median step would be the one between the two. */
static double period_of(struct wl_series *s)
{
    struct wl_series_channel *best = NULL;
    for (size_t i = 0; i < s->n_channels; i++) {
        struct wl_series_channel *c = &s->channels[i];
        if (c->n_steps && (!best || (is_energetic(c) && !is_energetic(best)))) best = c;
    }
    if (!best) return NAN;
    qsort(best->steps, best->n_steps, sizeof *best->steps, by_value);
    return (double)best->steps[3 * (best->n_steps - 1) / 4] / WL_NS_PER_S;
}

/* From the first to the last reading of power or energy (or else of any quantity), unless --from and --to say. */
static void find_span(const struct wl_import *im, struct wl_import_run *run)
{
    int64_t span[2][2] = { { INT64_MAX, INT64_MIN }, { INT64_MAX, INT64_MIN } }; /* energetic or not; first, last */
    for (size_t i = 0; i < im->series->n_channels; i++) {
        const struct wl_series_channel *c = &im->series->channels[i];
        int64_t *at = span[!is_energetic(c)];
        if (c->n == 0) continue;
        if (c->pub.first_ns < at[0]) at[0] = c->pub.first_ns;
        if (c->pub.last_ns > at[1]) at[1] = c->pub.last_ns;
    }
    const int64_t *at = span[span[0][1] == INT64_MIN];
    run->from_ns = im->opts->from_ns != WL_NO_NS ? im->opts->from_ns : at[0];
    run->to_ns = im->opts->to_ns != WL_NO_NS ? im->opts->to_ns : at[1];
    if (run->from_ns == run->to_ns && im->opts->period_ns != WL_NO_NS) run->to_ns += im->opts->period_ns;
}

static struct wl_strs host_names(const struct wl_series *s)
{
    struct wl_strs names = { 0 };
    for (size_t i = 0; i < s->n_devices; i++) {
        bool known = wl_str_eq(s->devices[i].host, "unknown");
        for (size_t k = 0; k < names.n; k++) known = known || wl_str_eq(names.v[k], s->devices[i].host);
        if (!known) wl_strs_add(s->a, &names, s->devices[i].host);
    }
    return names;
}

static void summarise_channels(struct wl_import *im, struct wl_import_run *run)
{
    struct wl_series *s = im->series;
    struct wl_import_channel *v = wl_new_array(s->a, struct wl_import_channel, s->n_channels);
    size_t n = 0;
    for (size_t i = 0; i < s->n_channels; i++) {
        struct wl_series_channel *c = &s->channels[i];
        if (c->pub.readings == 0) continue; /* all lines of its device were rejected */
        v[n] = c->pub;
        v[n++].mean = c->n == 0 ? NAN : c->pub.of.counter ? c->latest - c->first : c->sum / (double)c->n;
        run->readings += c->pub.readings;
        for (size_t k = 0; k < c->n_why; k++)
            wl_import_count(&im->report.missing, wl_strf(s->a, "%s: %s", c->pub.of.quantity, c->why[k].what),
                            c->why[k].n, im->a);
        if (c->n_laps)
            wl_import_note(im, "%s: its energy counter began at 0 again %zu time%s, which is made good",
                           s->devices[c->pub.device].uuid, c->n_laps, c->n_laps == 1 ? "" : "s");
    }
    run->channels = v;
    run->n_channels = n;
}

static void summarise(struct wl_import *im, struct wl_import_run *run)
{
    struct wl_series *s = im->series;
    struct wl_strs names = host_names(s);
    *run = (struct wl_import_run) {
        .label = s->label, .undated = s->undated, .device = s->devices, .devices = s->n_devices
    };
    run->hosts = names.n == 0   ? "unknown"
                 : names.n == 1 ? names.v[0]
                                : wl_strf(s->a, "%s and %zu more", names.v[0], names.n - 1);
    run->period_s = period_of(s);
    find_span(im, run);
    if (isnan(run->period_s) && im->opts->period_ns != WL_NO_NS)
        run->period_s = (double)im->opts->period_ns / WL_NS_PER_S;
    summarise_channels(im, run);
    if (s->n_unwanted) wl_import_pass_over(im, "readings of devices that --gpus leaves out", s->n_unwanted);
    if (s->n_outside) wl_import_pass_over(im, "readings outside of --from and --to", s->n_outside);
    if (s->n_back)
        wl_import_note(im,
                       "times go back, %zu time%s, first at %s, as where a clock was set back or files overlap; of "
                       "one instant the first reading counts",
                       s->n_back, s->n_back == 1 ? "" : "s", s->first_back);
    if (s->undated) wl_import_note(im, "the file has no dates: times count from its start; --start gives one");
}

static int check(const struct wl_import *im, const struct wl_import_run *run, struct wl_err *e)
{
    size_t values = 0;
    for (size_t i = 0; i < im->series->n_channels; i++) values += im->series->channels[i].n;
    const char *where = run->label ? run->label : im->sources[run->first_source].path;
    if (values == 0 && im->report.missing.n)
        return wl_fail(e, WL_EINVAL, "%s: no reading has a value: %s", where, im->report.missing.v[0].what);
    if (values == 0) return wl_fail(e, WL_EINVAL, "%s: no reading is left", where);
    if (run->from_ns < run->to_ns || !im->store_path) return 0;
    return wl_fail(e, WL_EINVAL, "%s: all readings have the same time; a run needs at least two times, or --period",
                   where);
}

/* ---- storing ---- */

static int begin_run(struct wl_import *im, const struct wl_import_run *run, struct wl_err *e)
{
    struct wl_run_begin begin = { .host = run->hosts,
                                  .boot_id = "import",
                                  .command = wl_import_command(im),
                                  .version = WL_VERSION,
                                  .at = { run->from_ns, run->undated ? WL_NO_NS : run->from_ns } };
    return wl_store_run_begin(im->store, run->run, &begin, e);
}

static const char *why_no_energy(const struct wl_derived *d)
{
    bool any = false;
    for (size_t i = 0; i < d->n_energies; i++) {
        const struct wl_energy_row *row = &d->energies[i];
        if (!row->chosen || !isnan(row->epoch)) continue;
        if (isnan(row->energy_j)) return row->why ? row->why : "unknown";
        any = true;
    }
    return any ? NULL : "no imported quantity measures energy";
}

static int end_run(struct wl_import *im, struct wl_import_run *run, struct wl_err *e)
{
    struct wl_derived derived;
    struct wl_run_end end = wl_run_end_none;
    end.at = (struct wl_anchor) { run->to_ns, run->undated ? WL_NO_NS : run->to_ns };
    end.sampling_asked_s = end.sampling_period_s = run->period_s;
    struct wl_readings_source readings = { read_channel, im };
    struct wl_derive_opts opts = { run->from_ns, run->to_ns, run->period_s, NAN, NAN, NAN, &readings };
    if (isnan(opts.period_s)) opts.period_s = (double)(run->to_ns - run->from_ns) / WL_NS_PER_S;
    struct wl_arena *scratch = wl_arena_new(NULL);
    int rc = wl_derive(im->store, run->run, &opts, &derived, NULL, scratch, e);
    size_t nodes = host_names(im->series).n;
    derived.actual.nodes = nodes ? (double)nodes : NAN;
    derived.actual.hardware = im->series->devices[im->series->channels[0].pub.device].model;
    const char *why = rc == 0 ? why_no_energy(&derived) : NULL;
    run->why_no_energy = why ? wl_strdup(im->a, why) : NULL;
    if (rc == 0) rc = wl_store_run_end(im->store, run->run, &end, &derived, e);
    wl_arena_free(scratch);
    return rc;
}

static int store_run(struct wl_import *im, struct wl_import_run *run, struct wl_err *e)
{
    struct wl_series *s = im->series;
    struct wl_arena *scratch = wl_arena_new(NULL); /* a run's own stays until all are read */
    struct wl_sample_row *rows = wl_new_array(scratch, struct wl_sample_row, STORED_AT_ONCE);
    int rc = wl_import_open_store(im, e);
    if (rc == 0) rc = wl_run_plan(im->store, "import", im->opts->set, &s->run, e);
    for (size_t i = 0; i < s->n_channels && rc == 0; i++) {
        struct wl_series_channel *c = &s->channels[i];
        if (c->held.n == 0) continue;
        rc = add_channel(im, c, e);
        if (rc == 0) rc = add_readings(im, c, rows, e);
    }
    wl_arena_free(scratch);
    run->run = s->run;
    if (rc == 0) rc = begin_run(im, run, e);
    if (rc == 0) rc = end_run(im, run, e);
    wl_held_close(&s->held); /* before the commit, which needs the room */
    return rc;
}

static bool has_readings(const struct wl_series *s)
{
    for (size_t i = 0; i < s->n_channels; i++)
        if (s->channels[i].pub.readings) return true;
    return false;
}

int wl_series_finish(struct wl_import *im, struct wl_err *e)
{
    struct wl_import_run run;
    if (!has_readings(im->series)) return 0;
    if (im->n_runs == WL_SERIES_RUNS)
        return wl_fail(e, WL_EINVAL, "%s: more than %d runs", im->paths->v[0], WL_SERIES_RUNS);
    summarise(im, &run);
    run.first_source = im->series->first_source;
    run.format = im->sources[run.first_source].format;
    run.n_sources = im->n_sources - run.first_source;
    int rc = check(im, &run, e);
    if (rc == 0 && im->store_path) rc = store_run(im, &run, e);
    if (rc < 0) return rc;
    wl_import_add_run(im, &run);
    wl_series_new(im, im->n_sources);
    return 0;
}

/* Samples, marks and notes of a run on their way into the store. Marks are stored as they are found, samples twice a
 * minute; until then they are in the store's spool. docs/adr/054 */
#include "run/recorder.h"
#include "run/derive.h"

#include <math.h>
#include <stdlib.h>

enum {
    DRAIN_MAX = 4096,
    SAMPLES_MAX = 4 * DRAIN_MAX, /* waiting */
    MARKS_MAX = 64,
    BROKEN_SHOWN = 5,
};

static const int64_t SPOOL_INTERVAL_NS =
    WL_NS_PER_S / 10 * 9; /* a killed wattlaw loses less than a second of samples */
static const int64_t STORE_INTERVAL_NS = 30 * (int64_t)WL_NS_PER_S;

void wl_recorder_store_failed(struct wl_recorder *r, int rc, const struct wl_err *e)
{
    if (rc >= 0 || r->store_rc) return;
    r->store_rc = rc;
    r->store_err = *e;
    wl_store_rollback(r->store);
}

void wl_recorder_open(struct wl_recorder *r, const char *marks_path)
{
    r->drained = wl_new_array(r->a, struct wl_sample, DRAIN_MAX);
    r->samples = wl_new_array(r->a, struct wl_sample_row, SAMPLES_MAX);
    r->marks = wl_new_array(r->a, struct wl_mark, MARKS_MAX);
    r->rows = wl_new_array(r->a, struct wl_mark_row, MARKS_MAX);
    r->tail = wl_mark_tail_new(marks_path, r->a);
}

int wl_recorder_start_sampler(struct wl_recorder *r, const struct wl_power_opts *power, pid_t job, struct wl_err *e)
{
    int rc = wl_sampler_cpu_check(power, r->a, e);
    if (rc == 0) rc = wl_sensors_open(&r->sensors, power, r->a, e);
    if (rc < 0) return rc;
    r->device_ids = wl_new_array(r->a, int64_t, r->sensors->n_devices);
    r->channel_ids = wl_new_array(r->a, int64_t, r->sensors->n_channels);
    rc = wl_sampler_start(&r->sampler, r->sensors, power->rate_hz, r->a, e);
    if (rc < 0) return rc;
    if (r->watch) r->meter = wl_run_meter_new(r->sensors, r->a);
    wl_sampler_bind(r->sampler, power->sampler_cpu);
    wl_sampler_watch(r->sampler, job);
    return 0;
}

/* ---- the run begins ---- */

static int store_device(struct wl_recorder *r, size_t i, const char *host, struct wl_err *e)
{
    const struct wl_device *d = &r->sensors->devices[i];
    struct wl_json *info = wl_json_root_object(r->a);
    if (d->bus_id) wl_json_add_str(info, "bus_id", d->bus_id);
    for (size_t k = 0; k < d->n_facts; k++) wl_json_add_str(info, d->facts[k].key, d->facts[k].value);
    struct wl_device_row row = { .host = host,
                                 .uuid = d->uuid,
                                 .sensor = d->sensor,
                                 .number = d->index,
                                 .name = d->name,
                                 .info = d->bus_id || d->n_facts ? wl_json_text(info, 0, r->a) : NULL };
    return wl_store_add_device(r->store, &row, &r->device_ids[i], e);
}

static int store_channel(struct wl_recorder *r, size_t i, struct wl_err *e)
{
    const struct wl_channel *c = &r->sensors->channels[i];
    struct wl_sensor_response g = wl_sensor_response_of(&r->sensors->devices[c->device], c);
    struct wl_channel_row row = { .run = r->run,
                                  .device = r->device_ids[c->device],
                                  .quantity = wl_quantity_name(c->quantity),
                                  .unit = wl_quantity_unit(c->quantity),
                                  .scope = wl_scope_name(c->scope),
                                  .variant = wl_variant_name(c->variant),
                                  .counter = wl_quantity_is_counter(c->quantity),
                                  .estimated = c->estimated,
                                  .simulated = c->simulated,
                                  .update_s = g.update_s,
                                  .window_s = g.window_s,
                                  .delay_s = g.delay_s,
                                  .power_limit_w = g.max_w,
                                  .calibrated = c->calibration ? c->calibration->date : NULL };
    return wl_store_add_channel(r->store, &row, &r->channel_ids[i], e);
}

/* The host is part of a device's identity in the store. */
static int store_devices(struct wl_recorder *r, struct wl_err *e)
{
    const char *host = wl_host_name(r->a);
    int rc = 0;
    for (size_t i = 0; i < r->sensors->n_devices && rc == 0; i++) rc = store_device(r, i, host, e);
    for (size_t i = 0; i < r->sensors->n_channels && rc == 0; i++) rc = store_channel(r, i, e);
    return rc;
}

/* Without a spool samples are stored as often as they would be spooled. */
static void begin_storing(struct wl_recorder *r)
{
    struct wl_err e;
    r->spooled_ns = r->stored_ns = wl_now_ns();
    r->store_interval_ns = wl_store_spool_open(r->store, r->run, &e) > 0 ? STORE_INTERVAL_NS : 0;
}

int wl_recorder_begin(struct wl_recorder *r, const struct wl_run_begin *begin, struct wl_err *e)
{
    int rc = wl_store_run_begin(r->store, r->run, begin, e);
    if (rc == 0) rc = wl_store_begin(r->store, e);
    if (rc == 0) rc = store_devices(r, e);
    if (rc == 0) rc = wl_store_commit(r->store, e);
    if (rc < 0) wl_store_rollback(r->store);
    if (rc == 0) begin_storing(r);
    return rc;
}

/* The marks that are already stored are those at the start of the file. */
static int skip_stored_marks(struct wl_recorder *r, struct wl_err *e)
{
    struct wl_mark_rows stored;
    struct wl_mark m;
    struct wl_err broken;
    int rc = wl_store_read_marks(r->store, r->run, &stored, r->a, e);
    for (size_t left = rc ? 0 : stored.n; left > 0;) {
        int found = wl_mark_tail_next(r->tail, &m, &broken);
        if (found <= 0 && found != WL_EINVAL) break;
        if (found > 0) left--;
    }
    return rc;
}

static int store_gap_ends(struct wl_recorder *r, struct wl_err *e)
{
    int64_t now_ns = wl_now_ns();
    int rc = 0;
    for (size_t i = 0; i < r->sensors->n_channels && rc == 0; i++)
        rc = wl_store_add_samples(r->store, &(struct wl_sample_row) { r->channel_ids[i], now_ns, NAN }, 1, e);
    return rc;
}

int wl_recorder_resume(struct wl_recorder *r, struct wl_err *e)
{
    int rc = skip_stored_marks(r, e);
    if (rc == 0) rc = wl_store_begin(r->store, e);
    if (rc < 0) return rc;
    rc = store_devices(r, e);
    if (rc == 0) rc = store_gap_ends(r, e);
    if (rc == 0) rc = wl_store_commit(r->store, e);
    if (rc < 0) wl_store_rollback(r->store);
    if (rc == 0) begin_storing(r);
    return rc;
}

/* ---- while it runs ---- */

static int by_channel_and_time(const void *x, const void *y)
{
    const struct wl_sample_row *a = x, *b = y;
    if (a->channel != b->channel) return a->channel < b->channel ? -1 : 1;
    return (a->t_ns > b->t_ns) - (a->t_ns < b->t_ns);
}

/* Appends what the sampler has read to the waiting samples; false: no room for all of it. */
static bool drain(struct wl_recorder *r)
{
    for (;;) {
        if (SAMPLES_MAX - r->n_samples < DRAIN_MAX) return false;
        size_t n = wl_sampler_drain(r->sampler, r->drained, DRAIN_MAX);
        if (n == 0) return true;
        for (size_t i = 0; i < n; i++) {
            r->samples[r->n_samples++] = (struct wl_sample_row) { r->channel_ids[r->drained[i].channel],
                                                                  r->drained[i].t_ns, r->drained[i].value };
            if (r->meter) wl_run_meter_add(r->meter, &r->drained[i]);
        }
    }
}

static int store_samples(struct wl_recorder *r, struct wl_err *e)
{
    int rc = 0;
    if (r->n_samples) qsort(r->samples, r->n_samples, sizeof *r->samples, by_channel_and_time);
    if (!r->store_rc) rc = wl_store_add_samples(r->store, r->samples, r->n_samples, e);
    if (rc == 0 && r->store_interval_ns) wl_store_spool_restart(r->store);
    r->n_samples = r->n_spooled = 0;
    r->stored_ns = wl_now_ns();
    return rc;
}

/* New samples go into the spool; if that fails, because the disk is full, into the store. */
static int spool_samples(struct wl_recorder *r, struct wl_err *e)
{
    if (r->store_rc) return 0;
    int rc = wl_store_spool_add(r->store, r->samples + r->n_spooled, r->n_samples - r->n_spooled, e);
    r->n_spooled = r->n_samples;
    if (rc == 0) return 0;
    r->store_interval_ns = 0;
    rc = store_samples(r, e);
    if (rc == 0) wl_store_spool_close(r->store);
    return rc;
}

static int store_marks(struct wl_recorder *r, struct wl_err *e)
{
    for (size_t i = 0; i < r->n_marks; i++)
        r->rows[i] = (struct wl_mark_row) { r->marks[i].t_ns, r->marks[i].rank, wl_mark_word_name(r->marks[i].word),
                                            r->marks[i].fields };
    int rc = r->store_rc ? 0 : wl_store_add_marks(r->store, r->run, r->rows, r->n_marks, e);
    r->n_marks = 0;
    return rc;
}

void wl_recorder_mark(void *record, const struct wl_mark *m)
{
    struct wl_recorder *r = record;
    struct wl_err e;
    if (r->n_marks == MARKS_MAX) wl_recorder_store_failed(r, store_marks(r, &e), &e);
    r->marks[r->n_marks++] = *m;
    if (r->meter) wl_run_meter_mark(r->meter, m);
    if (r->watch) r->watch->on_mark(r->watch->ctx, m);
}

void wl_recorder_broken_mark(void *record, const struct wl_err *why)
{
    struct wl_recorder *r = record;
    if (r->broken_marks++ >= BROKEN_SHOWN) return;
    wl_log(WL_WARN, "mark", "%s", why->msg);
    wl_recorder_note(r, "warn", "mark", why->msg);
}

void wl_recorder_note(struct wl_recorder *r, const char *level, const char *area, const char *text)
{
    struct wl_err e;
    if (!r->store_rc) wl_recorder_store_failed(r, wl_store_add_log(r->store, r->run, level, area, text, &e), &e);
}

/* The mark is kept as it was written; what derives from it leaves these fields out. */
static void check_start(struct wl_recorder *r, const struct wl_mark *m)
{
    if (m->word != WL_MARK_START || m->rank != 0) return;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_strs list = wl_derive_unusable_settings(m, a);
    for (size_t i = 0; i < list.n; i++) {
        struct wl_err why;
        wl_fail(&why, WL_EINVAL, "%s: start: %s; this setting is missing", wl_mark_tail_where(r->tail), list.v[i]);
        wl_recorder_broken_mark(r, &why);
    }
    wl_arena_free(a);
}

/* The workload has put something else in place of the file of marks: said once. */
static void marks_unreadable(struct wl_recorder *r, const struct wl_err *why)
{
    if (r->marks_unreadable) return;
    r->marks_unreadable = true;
    wl_recorder_broken_mark(r, why);
}

/* The marks written since the last call; `last`: the workload has ended, so half a line will not be completed. A
 * process that writes without end gets its turn, and no more. */
static void read_marks(struct wl_recorder *r, bool last)
{
    struct wl_mark m;
    struct wl_err e;
    int rc;
    wl_mark_tail_round(r->tail);
    while ((rc = last ? wl_mark_tail_last(r->tail, &m, &e) : wl_mark_tail_next(r->tail, &m, &e)) != 0) {
        if (rc > 0) {
            check_start(r, &m);
            wl_recorder_mark(r, &m);
        } else if (rc == WL_EINVAL) {
            wl_recorder_broken_mark(r, &e);
        } else {
            marks_unreadable(r, &e);
            return;
        }
    }
}

static void flush_samples(struct wl_recorder *r, bool last)
{
    struct wl_err e;
    while (!drain(r)) wl_recorder_store_failed(r, store_samples(r, &e), &e);
    if (r->meter) wl_run_meter_update(r->meter);
    bool due = last || r->spooled_ns - r->stored_ns >= r->store_interval_ns;
    wl_recorder_store_failed(r, due ? store_samples(r, &e) : spool_samples(r, &e), &e);
}

void wl_recorder_flush(struct wl_recorder *r)
{
    struct wl_err e;
    r->spooled_ns = wl_now_ns();
    read_marks(r, false);
    if (r->n_marks) wl_recorder_store_failed(r, store_marks(r, &e), &e);
    flush_samples(r, false);
}

bool wl_recorder_has_metered(const struct wl_recorder *r, int64_t t_ns) { return r->spooled_ns >= t_ns; }

void wl_recorder_read_marks(struct wl_recorder *r) { read_marks(r, false); }

void wl_recorder_store_all(struct wl_recorder *r)
{
    struct wl_err e;
    r->spooled_ns = wl_now_ns();
    read_marks(r, false);
    wl_recorder_store_failed(r, store_marks(r, &e), &e);
    flush_samples(r, true);
}

void wl_recorder_finish(struct wl_recorder *r)
{
    struct wl_err e;
    if (!r->store_rc) wl_recorder_store_failed(r, wl_store_begin(r->store, &e), &e);
    read_marks(r, true);
    wl_recorder_store_failed(r, store_marks(r, &e), &e);
    flush_samples(r, true);
    if (!r->store_rc) wl_recorder_store_failed(r, wl_store_commit(r->store, &e), &e);
    if (!r->store_rc) wl_store_spool_close(r->store);
}

bool wl_recorder_flush_due(const struct wl_recorder *r) { return wl_now_ns() - r->spooled_ns >= SPOOL_INTERVAL_NS; }

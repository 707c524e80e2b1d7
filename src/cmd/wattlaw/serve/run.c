/* One run in full; of one that is running, what its facts so far give. */
#include "run/run.h"
#include "cmd/wattlaw/serve/internal.h"
#include "cmd/wattlaw/show/show.h"
#include "mark/mark.h"

#include <math.h>

enum { PHASES_MAX = 2000 };

/* How far the end of what was read lies in the past at most; later than that nothing has been read for a while. */
static const int64_t LATEST_NS = 30 * WL_NS_PER_S;

/* ---- a run that is running ---- */

static int64_t last_reading(struct wl_store *s, const struct wl_channel_rows *channels, int64_t from_ns,
                            struct wl_arena *a)
{
    int64_t last_ns = WL_NO_NS;
    for (size_t i = 0; i < channels->n; i++) {
        struct wl_arena *scratch = wl_arena_new(a);
        struct wl_readings r;
        struct wl_err e;
        if (wl_store_readings(s, channels->v[i].id, from_ns, INT64_MAX, &r, scratch, &e) == 0 && r.n &&
            r.t_ns[r.n - 1] > last_ns)
            last_ns = r.t_ns[r.n - 1];
        wl_arena_free(scratch);
    }
    return last_ns;
}

/* Up to when something is recorded: its last reading, or its last mark. */
static int end_so_far(struct wl_store *s, const struct wl_show_details *d, int64_t *end_ns, struct wl_arena *a,
                      struct wl_err *e)
{
    const int64_t start_ns = d->run->start.mono_ns, now_ns = wl_now_ns();
    struct wl_mark_rows marks;
    int rc = wl_store_read_marks(s, d->run->id, &marks, a, e);
    if (rc < 0) return rc;
    *end_ns = start_ns;
    if (marks.n && marks.v[marks.n - 1].t_ns > start_ns) *end_ns = marks.v[marks.n - 1].t_ns;
    /* of another machine the clock is unknown, and all readings have to be looked at */
    const bool here = wl_str_eq(d->run->boot_id, wl_host_boot_id(a));
    int64_t last_ns = last_reading(s, &d->channels, here ? now_ns - LATEST_NS : start_ns, a);
    if (here && last_ns == WL_NO_NS) last_ns = last_reading(s, &d->channels, start_ns, a);
    if (last_ns > *end_ns) *end_ns = last_ns;
    return 0;
}

/* The rows that are derived when a run ends, from what there is now. */
static int derive_so_far(struct wl_store *s, struct wl_show_details *d, int64_t end_ns, struct wl_arena *a,
                         struct wl_err *e)
{
    const struct wl_run_row *r = d->run;
    const struct wl_derive_opts opts = { .start_ns = r->start.mono_ns,
                                         .end_ns = end_ns,
                                         .period_s = r->sampling_asked_s > 0 ? r->sampling_asked_s : 1,
                                         .idle_s = NAN,
                                         .own_cpu_s = NAN,
                                         .other_run = NAN };
    struct wl_derived v;
    int rc = wl_derive(s, r->id, &opts, &v, NULL, a, e);
    if (rc < 0) return rc;
    /* the rows of a store can be changed; these are ours */
    d->epochs = (struct wl_epoch_rows) { (struct wl_epoch_row *)(uintptr_t)v.epochs, v.n_epochs };
    d->energies = (struct wl_energy_rows) { (struct wl_energy_row *)(uintptr_t)v.energies, v.n_energies };
    d->phases = (struct wl_phase_rows) { (struct wl_phase_row *)(uintptr_t)v.phases, v.n_phases };
    d->metrics = (struct wl_metric_rows) { (struct wl_metric_row *)(uintptr_t)v.metrics, v.n_metrics };
    d->metric_defs =
        (struct wl_metric_def_rows) { (struct wl_metric_def_row *)(uintptr_t)v.metric_defs, v.n_metric_defs };
    d->stats = (struct wl_stat_rows) { (struct wl_stat_row *)(uintptr_t)v.stats, v.n_stats };
    d->spans = (struct wl_span_rows) { v.spans, v.n_spans };
    return 0;
}

/* The totals of the run's row, from its rows. */
static void total_so_far(struct wl_run_row *r, const struct wl_show_details *d, int64_t end_ns)
{
    bool any = false, missing = false;
    double sum_s = 0;
    r->time_s = (double)(end_ns - r->start.mono_ns) / WL_NS_PER_S;
    r->energy_j = r->energy_lo_j = r->energy_hi_j = 0;
    for (size_t i = 0; i < d->energies.n; i++) {
        const struct wl_energy_row *v = &d->energies.v[i];
        if (!v->chosen || !isnan(v->epoch)) continue;
        any = true;
        missing |= isnan(v->energy_j);
        r->energy_j += v->energy_j;
        r->energy_lo_j += v->energy_lo_j;
        r->energy_hi_j += v->energy_hi_j;
        r->estimated |= v->estimated;
        r->simulated |= v->simulated;
    }
    if (!any || missing) r->energy_j = r->energy_lo_j = r->energy_hi_j = NAN;
    r->mean_power_w = r->time_s > 0 ? r->energy_j / r->time_s : NAN;
    r->epochs_seen = (double)d->epochs.n;
    for (size_t i = 0; i < d->epochs.n; i++) sum_s += d->epochs.v[i].time_s;
    r->epoch_time_s = d->epochs.n ? sum_s / (double)d->epochs.n : NAN;
}

static int fill_in_so_far(struct wl_store *s, struct wl_show_details *d, int64_t *end_ns, struct wl_arena *a,
                          struct wl_err *e)
{
    struct wl_run_row *r = wl_new(a, struct wl_run_row);
    *r = *d->run;
    int rc = wl_store_show_spool(s, r->id, e);
    if (rc == 0) rc = end_so_far(s, d, end_ns, a, e);
    if (rc == 0) rc = derive_so_far(s, d, *end_ns, a, e);
    if (rc < 0) return rc;
    total_so_far(r, d, *end_ns);
    d->run = r;
    return 0;
}

/* ---- members beside those of `wattlaw show` ---- */

static double since_start(const struct wl_show_details *d, int64_t t_ns)
{
    return t_ns == WL_NO_NS || d->run->start.mono_ns == WL_NO_NS ? NAN
                                                                 : (double)(t_ns - d->run->start.mono_ns) / WL_NS_PER_S;
}

static bool parse_phase(const struct wl_mark_row *row, struct wl_mark *m)
{
    static const enum wl_mark_word words[] = { WL_MARK_PHASE_BEGIN, WL_MARK_PHASE_END };
    for (size_t i = 0; i < WL_COUNT(words); i++)
        if (row->rank == 0 && wl_str_eq(row->word, wl_mark_word_name(words[i])))
            return wl_mark_make(m, row->t_ns, 0, words[i], row->fields, NULL) == 0;
    return false;
}

struct open_phase {
    const char *name;
    int64_t begin_ns;
};

static int add_phase_spans(struct wl_json *to, struct wl_store *s, const struct wl_show_details *d, struct wl_arena *a,
                           struct wl_err *e)
{
    enum { OPEN_MAX = 16 };
    struct wl_json *list = wl_json_add_array(to, "phase_spans");
    struct open_phase open[OPEN_MAX];
    struct wl_mark_rows marks;
    size_t n_open = 0, n = 0;
    struct wl_mark m;
    int rc = wl_store_read_marks(s, d->run->id, &marks, a, e);
    for (size_t i = 0; rc == 0 && i < marks.n && n < PHASES_MAX; i++) {
        if (!parse_phase(&marks.v[i], &m)) continue;
        const char *name = wl_strdup(a, wl_mark_str(&m, "name"));
        if (m.word == WL_MARK_PHASE_BEGIN) {
            if (n_open < OPEN_MAX) open[n_open++] = (struct open_phase) { name, m.t_ns };
            continue;
        }
        size_t k = n_open;
        while (k > 0 && !wl_str_eq(open[k - 1].name, name)) k--;
        if (k == 0) continue;
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "phase", name);
        wl_json_add_real(o, "begin_s", since_start(d, open[k - 1].begin_ns));
        wl_json_add_real(o, "end_s", since_start(d, m.t_ns));
        n_open = k - 1;
        n++;
    }
    return rc;
}

static void add_series(struct wl_json *to, const struct wl_show_details *d, struct wl_arena *a)
{
    struct wl_json *list = wl_json_add_array(to, "series");
    for (size_t i = 0; i < d->channels.n; i++) {
        const struct wl_channel_row *c = &d->channels.v[i];
        const struct wl_device_row *device = wl_show_device(d, c->device);
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_int(o, "channel", c->id);
        wl_json_add_str(o, "quantity", c->quantity);
        wl_json_add_str(o, "unit", wl_serve_series_unit(c->counter, c->unit, a));
        wl_json_add_str(o, "scope", c->scope);
        wl_json_add_str(o, "variant", c->variant);
        wl_json_add_str(o, "device", device ? device->uuid : NULL);
        wl_json_add_str(o, "host", device ? device->host : NULL);
        wl_json_add_str(o, "name", device ? device->name : NULL);
        wl_json_add_number(o, "number", device ? device->number : NAN);
        wl_json_add_bool(o, "counter", c->counter);
        wl_json_add_bool(o, "estimated", c->estimated);
        wl_json_add_bool(o, "simulated", c->simulated);
    }
}

static void add_ns(struct wl_json *to, const char *name, int64_t t_ns)
{
    if (t_ns == WL_NO_NS)
        wl_json_add_null(to, name);
    else
        wl_json_add_int(to, name, t_ns);
}

int wl_serve_run(void *ctx, struct wl_store *s, int64_t run, struct wl_json *to, struct wl_arena *a, struct wl_err *e)
{
    struct wl_show_details d = { .attribute = "machine" };
    (void)ctx;
    int rc = wl_show_read(s, run, &d, a, e);
    if (rc < 0) return rc;
    const bool so_far = d.run->status == WL_RUN_RUNNING && d.run->start.mono_ns != WL_NO_NS;
    int64_t end_ns = d.run->stop.mono_ns;
    if (so_far) rc = fill_in_so_far(s, &d, &end_ns, a, e);
    if (rc < 0) return rc;
    const int alive = d.run->status == WL_RUN_RUNNING ? wl_store_run_is_alive(s, d.run) : -1;
    wl_json_add_bool(to, "so_far", so_far);
    wl_json_add_str(to, "words", wl_settings_words(&d.run->set, a));
    if (alive < 0)
        wl_json_add_null(to, "alive");
    else
        wl_json_add_bool(to, "alive", alive > 0);
    add_ns(to, "start_ns", d.run->start.mono_ns);
    add_ns(to, "now_ns", end_ns);
    wl_show_details_json(to, &d, a);
    add_series(to, &d, a);
    return add_phase_spans(to, s, &d, a, e);
}

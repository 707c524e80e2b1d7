/* The campaigns of a store while they run. The store is opened for reading when its files have changed, and only for as
 * long as it is read. */
#include "cmd/wattlaw/top/internal.h"
#include "mark/mark.h"

#include <math.h>

/* Reading takes at most this share of the time. */
static const double READ_SHARE = 0.05;

/* Files whose time is younger may have changed without another time. */
static const int64_t SETTLED_NS = 2 * WL_NS_PER_S;

enum { RUNS = 8 }; /* under way that are shown */

/* The energy of a run so far: of each counted device what the readings up to t_ns say. */
struct run_meter {
    int64_t run;
    struct wl_arena *a;
    struct source {
        int64_t channel, t_ns; /* in the store; the last reading that was added */
        enum wl_provenance from;
        struct wl_running_total total;
    } * v;
    size_t n;
};

struct wl_top_store {
    const struct wl_opts_args *rest;
    struct wl_store_stamp stamp;
    int64_t read_wall_ns, next_ns;
    bool read;
    struct wl_arena *a; /* of what was read last */
    struct wl_status status;
    struct wl_top_campaigns now;
    struct run_meter meters[RUNS];
};

/* ---- energy so far ---- */

static void find_sources(struct run_meter *m, const struct wl_channel_rows *rows)
{
    struct wl_channel *channels = wl_new_array(m->a, struct wl_channel, rows->n);
    struct wl_energy_source *sources = wl_new_array(m->a, struct wl_energy_source, rows->n);
    const char *label;
    size_t n = 0;
    int64_t *ids = wl_new_array(m->a, int64_t, rows->n);
    for (size_t i = 0; i < rows->n; i++) {
        const struct wl_channel_row *r = &rows->v[i];
        const int quantity = wl_quantity_from(r->quantity), scope = wl_scope_from(r->scope);
        if (quantity < 0 || scope < 0) continue;
        ids[n] = r->id;
        channels[n++] = (struct wl_channel) { .device = (int)r->device,
                                              .quantity = (enum wl_quantity)quantity,
                                              .scope = (enum wl_scope)scope,
                                              .estimated = r->estimated,
                                              .simulated = r->simulated };
    }
    m->n = wl_energy_sources(channels, n, sources, &label);
    m->v = wl_new_array(m->a, struct source, m->n);
    for (size_t i = 0; i < m->n; i++) {
        const bool counter = sources[i].counter >= 0;
        const int c = counter ? sources[i].counter : sources[i].power;
        m->v[i] = (struct source) { .channel = ids[c],
                                    .t_ns = INT64_MIN,
                                    .from = wl_provenance_of(channels[c].estimated, channels[c].simulated),
                                    .total = wl_running_total_of(counter, 0) };
    }
}

/* The one of this run, a new one in the place of a run that is over. */
static struct run_meter *meter_of(struct wl_top_store *s, struct wl_store *store, const struct wl_run_rows *runs,
                                  int64_t run, struct wl_err *e)
{
    struct run_meter *free_one = NULL;
    for (size_t i = 0; i < RUNS; i++) {
        bool used = false;
        if (s->meters[i].run == run) return &s->meters[i];
        for (size_t k = 0; k < runs->n && k < RUNS; k++) used |= runs->v[k].id == s->meters[i].run;
        if (!used) free_one = &s->meters[i];
    }
    struct wl_channel_rows rows;
    if (!free_one) return NULL;
    wl_arena_free(free_one->a);
    *free_one = (struct run_meter) { .a = wl_arena_new(NULL) };
    if (wl_store_channels(store, run, &rows, free_one->a, e) < 0 || rows.n == 0) return NULL;
    find_sources(free_one, &rows);
    free_one->run = run;
    return free_one;
}

/* Adds the readings since the last call. */
static int advance(struct run_meter *m, struct wl_store *store, const struct wl_run_row *r, struct wl_top_run *out,
                   struct wl_arena *a, struct wl_err *e)
{
    int64_t oldest_ns = INT64_MAX;
    out->energy = wl_amount_of(m->n ? 0 : NAN, "J", WL_MEASURED);
    for (size_t i = 0; i < m->n; i++) {
        struct source *x = &m->v[i];
        struct wl_readings readings;
        int rc = wl_store_readings(store, x->channel, x->t_ns == INT64_MIN ? INT64_MIN : x->t_ns + 1, INT64_MAX,
                                   &readings, a, e);
        if (rc < 0) return rc;
        for (size_t k = 0; k < readings.n; k++)
            wl_running_total_add(&x->total, readings.value[k], readings.t_ns[k], r->start.mono_ns);
        if (readings.n) x->t_ns = readings.t_ns[readings.n - 1];
        const bool begun = x->total.t_ns > r->start.mono_ns;
        out->energy.value = begun ? out->energy.value + x->total.energy_j : NAN;
        out->energy.from |= x->from;
        if (begun && x->total.t_ns < oldest_ns) oldest_ns = x->total.t_ns;
    }
    /* The clocks of another node are not ours; those of the calendar are nearly so. */
    if (oldest_ns != INT64_MAX)
        out->age_s = (double)(wl_wall_ns() - r->start.wall_ns - (oldest_ns - r->start.mono_ns)) / WL_NS_PER_S;
    return 0;
}

/* ---- runs ---- */

static void read_mark(struct wl_top_run *out, const struct wl_mark_row *row)
{
    static const enum wl_mark_word words[] = { WL_MARK_EPOCH_BEGIN, WL_MARK_STEP };
    struct wl_mark mark;
    for (size_t i = 0; i < WL_COUNT(words); i++) {
        if (row->rank != 0 || !wl_str_eq(row->word, wl_mark_word_name(words[i]))) continue;
        if (wl_mark_make(&mark, row->t_ns, 0, words[i], row->fields, NULL) < 0) return;
        if (words[i] == WL_MARK_EPOCH_BEGIN) out->epoch = wl_mark_int(&mark, "epoch", -1);
        if (words[i] == WL_MARK_STEP) {
            out->step = wl_mark_int(&mark, "step", -1);
            out->steps = wl_mark_int(&mark, "total", out->steps);
        }
    }
}

static int read_run(struct wl_top_store *s, struct wl_store *store, const struct wl_run_rows *runs, size_t i,
                    struct wl_top_run *out, struct wl_err *e)
{
    const struct wl_run_row *r = &runs->v[i];
    struct wl_mark_rows marks;
    *out = (struct wl_top_run) { .id = r->id,
                                 .settings = wl_settings_text(&r->set, s->a),
                                 .epoch = -1,
                                 .step = -1,
                                 .steps = -1,
                                 .elapsed_s = NAN,
                                 .energy = wl_amount_of(NAN, "J", WL_MEASURED) };
    if (r->start.wall_ns != WL_NO_NS) out->elapsed_s = fmax(0, (double)(wl_wall_ns() - r->start.wall_ns) / WL_NS_PER_S);
    int rc = wl_store_show_spool(store, r->id, e);
    if (rc == 0) rc = wl_store_read_marks(store, r->id, &marks, s->a, e);
    for (size_t k = 0; rc == 0 && k < marks.n; k++) read_mark(out, &marks.v[k]);
    struct run_meter *m = rc == 0 && r->start.mono_ns != WL_NO_NS ? meter_of(s, store, runs, r->id, e) : NULL;
    return m ? advance(m, store, r, out, s->a, e) : rc;
}

static int read_runs(struct wl_top_store *s, struct wl_err *e)
{
    struct wl_store *store;
    struct wl_run_rows all, runs = { 0 };
    int rc = wl_cmd_store_open(s->rest, &store, s->a, e);
    if (rc == 0) rc = wl_store_runs(store, &(struct wl_run_filter) { .statuses = 1u << WL_RUN_RUNNING }, &all, s->a, e);
    if (rc < 0) return rc;
    runs.v = wl_new_array(s->a, struct wl_run_row, all.n);
    for (size_t i = 0; i < all.n; i++)
        if (wl_store_run_is_alive(store, &all.v[i]) != 0) runs.v[runs.n++] = all.v[i];
    s->now.runs = wl_new_array(s->a, struct wl_top_run, RUNS);
    for (size_t i = 0; i < runs.n && i < RUNS && rc == 0; i++)
        rc = read_run(s, store, &runs, i, &s->now.runs[s->now.n_runs++], e);
    wl_store_close(store);
    return rc;
}

/* ---- campaigns ---- */

static struct wl_top_campaign campaign_of(const struct wl_campaign_status *st, struct wl_arena *a)
{
    const char *left = wl_status_left_text(st, a);
    const size_t runs_left = wl_status_left(st);
    if (runs_left == 0) left = "nothing";
    return (struct wl_top_campaign) { .name = st->campaign->name,
                                      .all = wl_status_all(st),
                                      .done = st->count[WL_RUN_DONE],
                                      .failed = st->count[WL_RUN_FAILED],
                                      .running = wl_status_running(st),
                                      .waiting = wl_status_waiting(st),
                                      .left = left ? left : "unknown until a run is done",
                                      .used = wl_status_used_text(st, a) };
}

static bool is_changed(const struct wl_top_store *s)
{
    const struct wl_store_stamp now = wl_store_stamp(s->status.store);
    return now.changed_wall_ns != s->stamp.changed_wall_ns || now.size != s->stamp.size ||
           now.inode != s->stamp.inode || s->read_wall_ns - now.changed_wall_ns < SETTLED_NS || s->now.n_runs > 0;
}

static void read_all(struct wl_top_store *s)
{
    struct wl_err e = { 0 };
    const int64_t begin_ns = wl_now_ns();
    const char *path = s->read && s->status.store ? wl_strdup(s->a, s->status.store) : NULL;
    const struct wl_store_stamp stamp = path ? wl_store_stamp(path) : (struct wl_store_stamp) { 0 };
    wl_arena_free(s->a);
    s->a = wl_arena_new(NULL);
    s->now = (struct wl_top_campaigns) { 0 };
    s->stamp = stamp;
    s->read_wall_ns = wl_wall_ns();
    int rc = wl_status_read(NULL, s->rest, &s->status, s->a, &e);
    s->read = rc == 0;
    if (rc == 0) rc = read_runs(s, &e);
    if (rc < 0) {
        s->now = (struct wl_top_campaigns) { .why = wl_strdup(s->a, e.msg) };
    } else {
        s->now.v = wl_new_array(s->a, struct wl_top_campaign, s->status.n);
        for (size_t i = 0; i < s->status.n; i++) s->now.v[s->now.n++] = campaign_of(&s->status.v[i], s->a);
    }
    s->next_ns = wl_now_ns() + (int64_t)((double)(wl_now_ns() - begin_ns) / READ_SHARE);
}

static void release(void *arg)
{
    struct wl_top_store *s = arg;
    for (size_t i = 0; i < RUNS; i++) wl_arena_free(s->meters[i].a);
    wl_arena_free(s->a);
}

struct wl_top_store *wl_top_store_new(const struct wl_opts_args *rest, struct wl_arena *a)
{
    struct wl_top_store *s = wl_new(a, struct wl_top_store);
    s->rest = rest;
    wl_defer(a, release, s);
    return s;
}

const struct wl_top_campaigns *wl_top_store_look(struct wl_top_store *s)
{
    if (!s->read || (wl_now_ns() >= s->next_ns && is_changed(s))) read_all(s);
    return &s->now;
}

struct wl_json *wl_top_store_json(const struct wl_top_store *s, struct wl_arena *a)
{
    return s->read ? wl_status_json(&s->status, false, a) : wl_json_root_object(a);
}

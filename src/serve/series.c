/* Readings of a run over time, reduced to what a picture can show. */
#include "serve/envelope.h"
#include "serve/site.h"

#include <math.h>

enum { CHANNELS_MAX = 32, POINTS = 400, POINTS_MIN = 2, POINTS_MAX = 2000 };

struct question {
    int64_t channels[CHANNELS_MAX];
    size_t n;
    double from_s, to_s; /* NAN: from the beginning, to the end */
    int64_t points;
};

static int read_question(const struct wl_http_request *r, struct question *ask, struct wl_err *e)
{
    static const char *const names[] = { "channel", "from", "to", "points", NULL };
    const char *channels = wl_http_param(r, "channel");
    int rc = wl_http_check_params(r, names, e);
    if (rc == 0) rc = wl_http_param_real(r, "from", NAN, &ask->from_s, e);
    if (rc == 0) rc = wl_http_param_real(r, "to", NAN, &ask->to_s, e);
    if (rc == 0) rc = wl_http_param_int(r, "points", POINTS, POINTS_MIN, POINTS_MAX, &ask->points, e);
    if (rc == 0 && ask->to_s <= ask->from_s)
        rc = wl_fail(e, WL_EINVAL, "to=%g: expected more than from=%g", ask->to_s, ask->from_s);
    const struct wl_strs list = wl_str_split(r->a, channels ? channels : "", ',');
    if (rc == 0 && (list.n == 0 || list.n > CHANNELS_MAX))
        return wl_fail(e, WL_EINVAL, "channel=%s: expected 1 to %d numbers of channels, with commas between them",
                       channels ? channels : "", CHANNELS_MAX);
    for (ask->n = 0; rc == 0 && ask->n < list.n; ask->n++)
        if (wl_str_to_int(list.v[ask->n], &ask->channels[ask->n]) < 0)
            rc = wl_fail(e, WL_EINVAL, "channel=%s: expected the number of a channel", list.v[ask->n]);
    return rc;
}

static void add_numbers(struct wl_json *o, const char *name, const double *v, size_t n)
{
    struct wl_json *list = wl_json_add_array(o, name);
    for (size_t i = 0; i < n; i++) wl_json_add_real(list, NULL, v[i]);
}

/* What the answer is about: a run on its own clock. */
struct window {
    struct wl_store *store;
    const struct wl_run_row *row;
    int64_t begin_ns, end_ns;
    bool open; /* its end is not known yet: it is the last reading */
};

static int64_t at_ns(const struct wl_run_row *row, double t_s)
{
    const int64_t origin_ns = row->start.mono_ns == WL_NO_NS ? 0 : row->start.mono_ns;
    return origin_ns + (int64_t)(t_s * WL_NS_PER_S);
}

static struct window window_of(struct wl_store *store, const struct wl_run_row *row, const struct question *ask)
{
    struct window w = { .store = store, .row = row };
    const bool ended = row->stop.mono_ns != WL_NO_NS;
    w.begin_ns = isnan(ask->from_s) ? at_ns(row, 0) : at_ns(row, ask->from_s);
    w.open = isnan(ask->to_s) && !ended;
    w.end_ns = !isnan(ask->to_s) ? at_ns(row, ask->to_s) : ended ? row->stop.mono_ns : INT64_MAX;
    if (w.end_ns < w.begin_ns) w.end_ns = w.begin_ns;
    return w;
}

static const struct wl_channel_row *find(const struct wl_channel_rows *rows, int64_t id)
{
    for (size_t i = 0; i < rows->n; i++)
        if (rows->v[i].id == id) return &rows->v[i];
    return NULL;
}

struct trace {
    const struct wl_channel_row *channel;
    struct wl_readings readings;
};

static int read_traces(struct window *w, const struct question *ask, struct trace *out, struct wl_arena *a,
                       struct wl_err *e)
{
    struct wl_channel_rows channels;
    int64_t last_ns = w->begin_ns;
    int rc = w->row->status == WL_RUN_RUNNING ? wl_store_show_spool(w->store, w->row->id, e) : 0;
    if (rc == 0) rc = wl_store_channels(w->store, w->row->id, &channels, a, e);
    for (size_t i = 0; i < ask->n && rc == 0; i++) {
        out[i].channel = find(&channels, ask->channels[i]);
        if (!out[i].channel)
            return wl_fail(e, WL_ENOENT, "channel=%lld: the run has no such channel", (long long)ask->channels[i]);
        rc = wl_store_readings(w->store, ask->channels[i], w->begin_ns, w->end_ns, &out[i].readings, a, e);
        if (rc < 0) return rc;
        const struct wl_readings *v = &out[i].readings;
        if (v->n && v->t_ns[v->n - 1] > last_ns) last_ns = v->t_ns[v->n - 1];
        if (out[i].channel->counter) wl_envelope_rates(&out[i].readings);
    }
    if (w->open) w->end_ns = last_ns;
    return rc;
}

static void add_trace(struct wl_json *list, const struct trace *t, const struct window *w, size_t points,
                      struct wl_arena *a)
{
    const struct wl_envelope v = wl_envelope_of(&t->readings, w->begin_ns, w->end_ns, points, at_ns(w->row, 0), a);
    struct wl_json *o = wl_json_add_object(list, NULL);
    wl_json_add_int(o, "channel", t->channel->id);
    wl_json_add_str(o, "unit", wl_serve_series_unit(t->channel->counter, t->channel->unit, a));
    wl_json_add_int(o, "readings", (int64_t)v.readings);
    wl_json_add_int(o, "failed", (int64_t)v.failed);
    wl_json_add_bool(o, "reduced", v.reduced);
    add_numbers(o, "t_s", v.t_s, v.n);
    add_numbers(o, "min", v.min, v.n);
    add_numbers(o, "max", v.max, v.n);
    add_numbers(o, "mean", v.mean, v.n);
}

static void answer(struct wl_site_run *run, const struct question *ask, const struct wl_http_request *r,
                   struct wl_http_answer *out)
{
    struct wl_arena *scratch = wl_arena_new(r->a);
    struct trace *traces = wl_new_array(scratch, struct trace, ask->n);
    struct wl_store *store;
    struct window w = { 0 };
    struct wl_err e;
    int rc = wl_store_open(&store, wl_served_path(run->served), WL_STORE_READ, scratch, &e);
    if (rc == 0) {
        w = window_of(store, run->row, ask);
        rc = read_traces(&w, ask, traces, scratch, &e);
    }
    if (rc < 0) {
        wl_http_answer_error(out, r->a, rc == WL_ENOENT ? 404 : 500, "%s", e.msg);
    } else {
        struct wl_json *root = wl_json_root_object(scratch);
        wl_json_add_str(root, "id",
                        wl_strf(scratch, "%zu-%lld", wl_served_number(run->served), (long long)run->row->id));
        wl_json_add_real(root, "from_s", (double)(w.begin_ns - at_ns(run->row, 0)) / WL_NS_PER_S);
        wl_json_add_real(root, "to_s", (double)(w.end_ns - at_ns(run->row, 0)) / WL_NS_PER_S);
        wl_json_add_bool(root, "so_far", run->row->status == WL_RUN_RUNNING);
        struct wl_json *list = wl_json_add_array(root, "series");
        for (size_t i = 0; i < ask->n; i++) add_trace(list, &traces[i], &w, (size_t)ask->points, scratch);
        wl_http_answer_json(out, root, r->a);
    }
    wl_arena_free(scratch);
}

void wl_site_series(struct wl_site *site, const struct wl_http_request *r, const struct wl_site_parts *parts,
                    struct wl_http_answer *out)
{
    struct question ask;
    struct wl_err e;
    if (read_question(r, &ask, &e)) {
        wl_http_answer_failure(out, r->a, &e);
        return;
    }
    struct wl_site_run run = wl_site_run(site, parts->v[0], r, out);
    if (!run.row) return;
    answer(&run, &ask, r, out);
    wl_snapshot_release(run.snapshot);
}

#include "run/limit.h"

#include "run/active_run.h"
#include "run/work_rate.h"

#include <math.h>

enum { POINTS_PER_S = 2 }; /* at most: pieces shorter than a few readings are noise */
static const double NO_FORECAST_WARNING = .8;

struct wl_run_limits {
    struct wl_run_limit_state *v;
    size_t n;
    struct wl_work_rate rate;
    bool advanced; /* marks since the last point */
    int64_t point_ns;
    struct wl_run_watch watch;
    struct wl_arena *a;
};

static const char *between(const struct wl_run_limit_state *s, double v, double lo, double hi, struct wl_arena *a)
{
    const struct wl_run_limit *l = &s->limit;
    if (l->of_energy) {
        const struct wl_amount amount =
            wl_amount_between(v / l->per_unit, lo / l->per_unit, hi / l->per_unit, l->unit, s->from);
        return wl_amount_text(&amount, a);
    }
    const char *range = isnan(lo) ? "" : wl_strf(a, " (%s to %s)", wl_human_time(a, lo), wl_human_time(a, hi));
    return wl_strf(a, "%s%s", wl_human_time(a, v), range);
}

const char *wl_run_limit_used(const struct wl_run_limit_state *s, double used, struct wl_arena *a)
{
    return between(s, used, NAN, NAN, a);
}

const char *wl_run_limit_forecast(const struct wl_run_limit_state *s, struct wl_arena *a)
{
    return between(s, s->forecast, s->lo, s->hi, a);
}

/* ---- the watch ---- */

static int on_begin(void *ctx, struct wl_active_run *run, struct wl_err *e)
{
    const struct wl_run_limits *l = ctx;
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].limit.of_energy && !wl_run_meter_has_energy(run->recorder.meter))
            return wl_fail(e, WL_EINVAL, "--stop-at %s: nothing measures energy on this machine: see wattlaw doctor",
                           l->v[i].limit.text);
    return 0;
}

static void on_mark(void *ctx, const struct wl_mark *m)
{
    struct wl_run_limits *l = ctx;
    l->advanced |= wl_work_rate_mark(&l->rate, m);
}

/* The energy at the time of the last mark is known once a reading follows it. */
static void add_point(struct wl_run_limits *l, const struct wl_active_run *run)
{
    const int64_t t_ns = l->rate.t_ns, now_ns = wl_now_ns();
    if (!l->advanced || now_ns - l->point_ns < WL_NS_PER_S / POINTS_PER_S) return;
    if (!wl_recorder_has_metered(&run->recorder, t_ns)) return;
    wl_work_rate_add(&l->rate,
                     (double[WL_WORK_COSTS]) { [WL_WORK_TIME] = (double)(t_ns - run->out->start_ns) / WL_NS_PER_S,
                                               [WL_WORK_ENERGY] = wl_run_meter_at(run->recorder.meter, t_ns) });
    l->advanced = false;
    l->point_ns = now_ns;
}

static void look(struct wl_run_limits *l, struct wl_run_limit_state *s, const struct wl_active_run *run)
{
    const struct wl_work_forecast f =
        wl_work_rate_forecast(&l->rate, s->limit.of_energy ? WL_WORK_ENERGY : WL_WORK_TIME);
    s->used = s->limit.before + (s->limit.of_energy ? wl_run_meter_at(run->recorder.meter, wl_now_ns())
                                                    : wl_run_command_elapsed_s(&run->command));
    s->from = s->limit.of_energy ? wl_run_meter_provenance(run->recorder.meter) : WL_MEASURED;
    s->forecast = f.value;
    s->lo = f.lo;
    s->hi = f.hi;
}

static void warn(struct wl_run_limits *l, struct wl_run_limit_state *s, struct wl_active_run *run)
{
    struct wl_arena *a = wl_arena_new(l->a);
    const bool known = !isnan(s->lo),
               above = known ? s->lo > s->limit.value : s->used > NO_FORECAST_WARNING * s->limit.value;
    if (above && !s->warned) {
        const char *work = wl_work_rate_text(&l->rate, a);
        const char *text =
            known ? wl_strf(a, "the job will reach its limit of %s: %s done, and all of them take %s", s->limit.text,
                            work, wl_run_limit_forecast(s, a))
                  : wl_strf(a, "%s of the limit of %s are used; %s", wl_run_limit_used(s, s->used, a), s->limit.text,
                            work ? "too little of the work was seen for a forecast"
                                 : "there is no forecast, as the job does not say how much work it has");
        wl_log(WL_WARN, "limit", "%s", text);
        wl_recorder_note(&run->recorder, "warn", "limit", text);
        s->warned = true;
    }
    wl_arena_free(a);
}

static void stop(struct wl_run_limits *l, struct wl_run_limit_state *s, struct wl_active_run *run)
{
    s->reached = true;
    const char *work = wl_work_rate_text(&l->rate, l->a);
    const char *why =
        wl_strf(l->a, "stopped at its limit of %s%s%s", s->limit.text, work ? ", after " : "", work ? work : "");
    wl_log(WL_WARN, "limit", "the job is %s (%s used)", why, wl_run_limit_used(s, s->used, l->a));
    wl_run_command_stop(&run->command, WL_RUN_INTERRUPTED, why);
}

static void on_poll(void *ctx, struct wl_active_run *run)
{
    struct wl_run_limits *l = ctx;
    add_point(l, run);
    for (size_t i = 0; i < l->n && !run->command.stopped; i++) {
        look(l, &l->v[i], run);
        if (l->v[i].used >= l->v[i].limit.value)
            stop(l, &l->v[i], run);
        else if (!l->v[i].limit.of_campaign)
            warn(l, &l->v[i], run);
    }
}

static void on_end(void *ctx, struct wl_active_run *run)
{
    struct wl_run_limits *l = ctx;
    for (size_t i = 0; i < l->n; i++) {
        struct wl_run_limit_state *s = &l->v[i];
        s->used =
            s->limit.before + (s->limit.of_energy ? wl_run_meter_at(run->recorder.meter, run->out->end_ns)
                                                  : (double)(run->out->end_ns - run->out->start_ns) / WL_NS_PER_S);
        s->work = wl_work_rate_text(&l->rate, l->a);
    }
}

/* ---- */

struct wl_run_limits *wl_run_limits_new(const struct wl_run_limit *v, size_t n, struct wl_arena *a)
{
    struct wl_run_limits *l = wl_new(a, struct wl_run_limits);
    *l = (struct wl_run_limits) {
        .v = wl_new_array(a, struct wl_run_limit_state, n), .n = n, .rate = wl_work_rate_none, .a = a
    };
    for (size_t i = 0; i < n; i++)
        l->v[i] = (struct wl_run_limit_state) { .limit = v[i], .forecast = NAN, .lo = NAN, .hi = NAN };
    l->watch =
        (struct wl_run_watch) { .on_begin = on_begin, .on_mark = on_mark, .poll = on_poll, .on_end = on_end, .ctx = l };
    return l;
}

const struct wl_run_watch *wl_run_limits_watch(const struct wl_run_limits *l) { return &l->watch; }

const struct wl_run_limit_state *wl_run_limits_states(const struct wl_run_limits *l, size_t *n)
{
    *n = l->n;
    return l->v;
}

/* Windows in the order A B B A C C A ... where A is the reference: a probe is compared with the reference before and
 * after it, which removes a linear drift, and a value that is beyond the allowed slowdown is held for one window. While
 * the job pauses for longer than that, the reference is set. */
#include "tune/live.h"
#include "tune/outcome.h"

#include <math.h>

enum {
    PENDING_MAX = 8,
    REFERENCE_TRIES = 3, /* unusable windows of the reference in a row that end the probe */
};

/* A window that has ended and is stored once the readings reach beyond it. */
struct pending {
    size_t candidate;
    struct wl_tune_span span;
    const struct wl_cap_setting *caps;
    size_t n_caps;
    const char *flag;
};

/* Attempts at a value that gave no window, and windows whose numbers must not be used, in a row. */
struct misses {
    size_t stalled, unusable;
};

struct wl_tune_live {
    struct wl_tune *t;
    struct wl_run_watch watch;
    struct wl_tune_schedule schedule;
    bool begun, done;
    size_t held;               /* value that is set; candidates.n: none */
    size_t twins;              /* windows of it, of this hold */
    enum wl_tune_event event;  /* of the schedule, not handled yet */
    struct wl_tune_span ended; /* the window, if it has ended */
    size_t waiting;            /* value that is set again when the job goes on after a pause; candidates.n: none */
    bool goes_on;              /* a step has ended since the pause began */
    int64_t decide_ns;         /* when the pending windows can be stored and the next value chosen; 0: not waiting */
    struct pending pending[PENDING_MAX];
    size_t n_pending, n_windows;
    struct misses *missed; /* [candidates.n] */
    int rc;
    struct wl_err err;
    struct wl_arena *a;
};

static struct wl_tune_candidates *candidates_of(const struct wl_tune_live *l) { return l->t->candidates; }

static bool is_reference(const struct wl_tune_live *l, size_t candidate)
{
    return candidate == candidates_of(l)->reference;
}

/* ---- setting values ---- */

static int set_value(struct wl_tune_live *l, struct wl_active_run *run, size_t candidate, struct wl_err *e)
{
    const struct wl_tune_candidates *c = candidates_of(l);
    struct wl_cap_request to = wl_cap_none;
    if (l->held == candidate) return 0;
    to.value[c->kind] = c->value[candidate];
    int rc = wl_run_change_caps(run, &to, e);
    l->held = rc < 0 ? c->n : candidate;
    return rc;
}

/* The probe ends; what was found is restored. */
static void stop(struct wl_tune_live *l, struct wl_active_run *run, int rc, const struct wl_err *why)
{
    struct wl_err e;
    l->done = true;
    if (rc < 0 && l->rc == 0) {
        l->rc = rc;
        l->err = *why;
    }
    if (wl_run_change_caps(run, NULL, &e) < 0) wl_log(WL_ERROR, "tune", "%s", e.msg);
    l->held = candidates_of(l)->n;
}

static void hold(struct wl_tune_live *l, size_t candidate, int64_t from_ns)
{
    l->twins = 0;
    l->t->holds = candidate;
    wl_tune_schedule_hold(&l->schedule, is_reference(l, candidate), from_ns);
}

static void hold_reference(struct wl_tune_live *l, struct wl_active_run *run)
{
    struct wl_err e;
    int rc = set_value(l, run, candidates_of(l)->reference, &e);
    if (rc < 0)
        stop(l, run, rc, &e);
    else
        hold(l, candidates_of(l)->reference, wl_now_ns());
}

/* The search is done: the job continues under the choice, or as it was found. */
static void finish(struct wl_tune_live *l, struct wl_active_run *run)
{
    struct wl_err e;
    size_t choice = l->t->step.index;
    bool keep = l->t->opts->apply && !is_reference(l, choice);
    int rc = keep ? set_value(l, run, choice, &e) : 0;
    if (!keep || rc < 0) stop(l, run, rc, &e);
    l->done = true;
    l->t->applied = keep && rc == 0;
    if (l->t->opts->on_done) l->t->opts->on_done(l->t->opts->ctx, l->t);
}

/* Chooses and sets the next value; one that cannot be set is given up for another. */
static void advance(struct wl_tune_live *l, struct wl_active_run *run)
{
    struct wl_tune *t = l->t;
    struct wl_err e;
    for (;;) {
        int rc = wl_tune_decide(t, &e);
        if (rc < 0) stop(l, run, rc, &e);
        if (l->done) return;
        if (t->step.done) break;
        if (is_reference(l, t->step.index)) {
            t->repeated += t->step.reason != WL_ADVISE_CAP_REFERENCE;
            hold_reference(l, run);
            return;
        }
        rc = set_value(l, run, t->step.index, &e);
        if (rc == 0) {
            hold(l, t->step.index, wl_now_ns());
            return;
        }
        wl_tune_refuse(t, t->step.index, e.msg);
        if (rc == WL_EHUNG) stop(l, run, rc, &e);
    }
    finish(l, run);
}

/* Gives a value up if it failed twice in a row; `failed`: that often so far. */
static bool give_up(struct wl_tune_live *l, size_t candidate, size_t failed, const char *why)
{
    enum { TRIES = 2 };
    if (failed < TRIES) return false;
    wl_tune_refuse(l->t, candidate, why);
    return true;
}

/* ---- windows ---- */

static void add_pending(struct wl_tune_live *l, struct wl_active_run *run)
{
    struct pending *p = &l->pending[l->n_pending++];
    *p = (struct pending) { .candidate = l->held, .span = l->ended };
    p->caps = wl_run_caps_now(run, &p->n_caps, &p->flag, l->a);
}

static const char *note_of(const struct wl_tune_live *l, const struct pending *p, struct wl_arena *a)
{
    const struct wl_tune_candidates *c = candidates_of(l);
    return wl_strf(a, "a window of %lld steps at %g %s%s", (long long)p->span.steps, c->value[p->candidate],
                   wl_cap_kind_unit(c->kind), p->span.cut ? ", cut short beyond the allowed slowdown" : "");
}

static int store_window(struct wl_tune_live *l, struct wl_active_run *run, const struct pending *p,
                        struct wl_run_result *r, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_tune_candidates *c = candidates_of(l);
    struct wl_settings set = wl_settings_none;
    struct wl_cap_request cap = wl_cap_none;
    cap.value[c->kind] = c->value[p->candidate];
    wl_settings_set_caps(&set, &cap);
    struct wl_run_part part = { .campaign = l->t->opts->name,
                                .set = &set,
                                .begin_ns = p->span.begin_ns,
                                .end_ns = p->span.end_ns,
                                .updates = (double)p->span.steps,
                                .samples = p->span.samples,
                                .caps = p->caps,
                                .n_caps = p->n_caps,
                                .flag = p->flag,
                                .note = note_of(l, p, a) };
    return wl_run_store_part(run, &part, r, a, e);
}

/* The numbers of a window must not be used: the search asks for the value again, once. */
static int miss_window(struct wl_tune_live *l, const struct pending *p, const struct wl_run_result *r, int rc,
                       struct wl_err *e)
{
    const struct wl_tune_candidates *c = candidates_of(l);
    size_t failed = ++l->missed[p->candidate].unusable;
    l->t->unusable = wl_strdup(l->t->a, e->msg);
    wl_log(WL_WARN, "tune", "run %lld, a window at %g %s, is not used: %s", (long long)r->run, c->value[p->candidate],
           wl_cap_kind_unit(c->kind), e->msg);
    if (is_reference(l, p->candidate)) return failed < REFERENCE_TRIES ? 0 : rc;
    if (!c->refused[p->candidate]) give_up(l, p->candidate, failed, wl_strf(l->a, "two windows of it: %s", e->msg));
    return 0;
}

static int check_window(const struct pending *p, struct wl_err *e)
{
    if (p->flag) return wl_fail(e, WL_EPERM, "%s", p->flag);
    if (p->span.burst)
        return wl_fail(e, WL_EINVAL,
                       "its steps were reported all at once: something buffers the marks, or the output that has them");
    return 0;
}

static int take_window(struct wl_tune_live *l, const struct pending *p, const struct wl_run_result *r, struct wl_err *e)
{
    struct wl_tune_rows rows = { .epochs = r->derived.epochs,
                                 .n_epochs = r->derived.n_epochs,
                                 .energies = r->derived.energies,
                                 .n_energies = r->derived.n_energies };
    struct wl_tune_window w = { .candidate = p->candidate, .job = (int64_t)l->t->jobs, .run = r->run };
    int rc = check_window(p, e);
    if (rc == 0) rc = wl_tune_outcome_of_window(&rows, candidates_of(l)->n_devices, &w, e);
    l->n_windows++;
    if (rc < 0) return miss_window(l, p, r, rc, e);
    l->missed[p->candidate].unusable = 0;
    l->t->steps = l->schedule.target;
    l->t->reference_s = l->schedule.reference_s;
    wl_tune_add_window(l->t, &w);
    return 0;
}

static int store_pending(struct wl_tune_live *l, struct wl_active_run *run, struct wl_err *e)
{
    int rc = 0;
    for (size_t i = 0; i < l->n_pending && rc == 0; i++) {
        struct wl_arena *a = wl_arena_new(l->a);
        struct wl_run_result r;
        rc = store_window(l, run, &l->pending[i], &r, a, e);
        if (rc == 0) rc = take_window(l, &l->pending[i], &r, e);
        wl_arena_free(a);
    }
    l->n_pending = 0;
    return rc;
}

/* Is the window beyond the allowed slowdown? */
static bool is_beyond(const struct wl_tune_live *l)
{
    const struct wl_tune_schedule *s = &l->schedule;
    double t_s = (double)(l->ended.end_ns - l->ended.begin_ns) / WL_NS_PER_S / (double)l->ended.steps;
    return l->ended.cut || t_s > (1 + s->pace.slowdown) * s->reference_s / (double)s->target;
}

/* Of another value there is a second window, unless it is beyond the allowed slowdown; then the reference follows, and
 * the next value is chosen after it. */
static void on_window_end(struct wl_tune_live *l, struct wl_active_run *run)
{
    l->missed[l->held].stalled = 0;
    add_pending(l, run);
    if (is_reference(l, l->held))
        l->decide_ns = l->ended.end_ns + wl_run_part_margin_ns(run);
    else if (l->twins == 0 && !is_beyond(l)) {
        int64_t settle_ns = (int64_t)(l->schedule.pace.settle_s * WL_NS_PER_S);
        hold(l, l->held, l->ended.end_ns - settle_ns); /* nothing is set: there is nothing to settle */
        l->twins = 1;
    } else {
        hold_reference(l, run);
    }
}

static void on_stuck(struct wl_tune_live *l, struct wl_active_run *run)
{
    wl_tune_refuse(l->t, l->held, "too slow: fewer than 5 steps in the time of a window at the allowed slowdown");
    hold_reference(l, run);
}

/* Nobody knows what a value does to a job that pauses: the reference returns until it goes on. */
static void on_pause(struct wl_tune_live *l, struct wl_active_run *run)
{
    struct wl_err e;
    size_t value = l->held, reference = candidates_of(l)->reference;
    size_t failed = ++l->missed[value].stalled;
    if (give_up(l, value, failed, "the job paused for longer than a window, twice")) {
        hold_reference(l, run);
        return;
    }
    int rc = set_value(l, run, reference, &e);
    if (rc < 0) stop(l, run, rc, &e);
    l->t->holds = reference;
    l->waiting = value;
    l->goes_on = false;
}

/* The first step after the pause: the value is set again. */
static void resume(struct wl_tune_live *l, struct wl_active_run *run)
{
    struct wl_err e;
    size_t value = l->waiting, twins = l->twins;
    l->waiting = candidates_of(l)->n;
    int rc = set_value(l, run, value, &e);
    if (rc == 0) {
        hold(l, value, wl_now_ns());
        l->twins = twins;
        return;
    }
    wl_tune_refuse(l->t, value, e.msg);
    if (rc == WL_EHUNG)
        stop(l, run, rc, &e);
    else
        hold_reference(l, run);
}

static void decide(struct wl_tune_live *l, struct wl_active_run *run)
{
    struct wl_err e;
    l->decide_ns = 0;
    int rc = store_pending(l, run, &e);
    if (rc < 0)
        stop(l, run, rc, &e);
    else
        advance(l, run);
}

/* ---- the watch of the run ---- */

static enum wl_tune_event event_of(struct wl_tune_live *l, const struct wl_mark *m)
{
    if (m->word == WL_MARK_EPOCH_END) return wl_tune_schedule_epoch_end(&l->schedule, m->t_ns, &l->ended);
    if (m->word != WL_MARK_STEP) return WL_TUNE_NOTHING;
    l->goes_on = true;
    return wl_tune_schedule_step(&l->schedule, m->t_ns, wl_mark_int(m, "step", -1), wl_mark_real(m, "samples"),
                                 &l->ended);
}

static void on_mark(void *ctx, const struct wl_mark *m)
{
    struct wl_tune_live *l = ctx;
    if (l->done || m->rank != 0 || l->event) return;
    l->event = event_of(l, m);
    l->t->window_steps = l->schedule.holds ? l->schedule.span.steps : 0;
}

static void on_event(struct wl_tune_live *l, struct wl_active_run *run)
{
    enum wl_tune_event event = l->event;
    l->event = WL_TUNE_NOTHING;
    if (event == WL_TUNE_WINDOW) on_window_end(l, run);
    if (event == WL_TUNE_STUCK) on_stuck(l, run);
    if (event == WL_TUNE_PAUSED) on_pause(l, run);
}

static void on_poll(void *ctx, struct wl_active_run *run)
{
    struct wl_tune_live *l = ctx;
    if (l->done) return;
    if (!l->begun) hold(l, l->held, wl_now_ns());
    l->begun = true;
    if (l->t->opts->on_tick) l->t->opts->on_tick(l->t->opts->ctx, l->t);
    if (!l->event) l->event = wl_tune_schedule_time(&l->schedule, wl_now_ns(), &l->ended);
    if (l->event)
        on_event(l, run);
    else if (l->waiting < candidates_of(l)->n && l->goes_on)
        resume(l, run);
    else if (l->decide_ns && wl_now_ns() >= l->decide_ns && !l->schedule.paused_ns) /* nothing is set in a pause */
        decide(l, run);
}

/* Windows that the end of the job left are stored too. */
static void on_end(void *ctx, struct wl_active_run *run)
{
    struct wl_tune_live *l = ctx;
    struct wl_err e;
    int rc = store_pending(l, run, &e);
    if (rc < 0 && l->rc == 0) {
        l->rc = rc;
        l->err = e;
    }
}

struct wl_tune_live *wl_tune_live_new(struct wl_tune *t, struct wl_arena *a)
{
    struct wl_tune_live *l = wl_new(a, struct wl_tune_live);
    *l = (struct wl_tune_live) { .t = t,
                                 .watch = { .on_mark = on_mark, .poll = on_poll, .on_end = on_end, .ctx = l },
                                 .schedule = wl_tune_schedule_new(&t->opts->pace, t->steps, t->reference_s),
                                 .held = t->candidates->reference,
                                 .waiting = t->candidates->n,
                                 .missed = wl_new_array(a, struct misses, t->candidates->n),
                                 .a = a };
    return l;
}

const struct wl_run_watch *wl_tune_live_watch(const struct wl_tune_live *l) { return &l->watch; }

size_t wl_tune_live_windows(const struct wl_tune_live *l) { return l->n_windows; }

int wl_tune_live_failure(const struct wl_tune_live *l, struct wl_err *e)
{
    return l->rc < 0 ? wl_fail(e, l->rc, "%s", l->err.msg) : 0;
}

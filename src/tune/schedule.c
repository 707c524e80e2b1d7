#include "tune/schedule.h"

#include <math.h>

enum {
    FEWEST_STEPS = 5,    /* of a window that is cut short */
    FEWEST_MARKS = 5,    /* of the first window: three pass before the next one begins, within its time */
    UNSETTLED_STEPS = 2, /* the step during which the value was set, and one whole step under it */
};
static const double BURST_SHARE = 0.1;  /* of a window of the reference: no value makes a job so much faster */
static const double PAUSE_SHARE = 0.25; /* of a window at the allowed slowdown: an interval that is so much longer */

struct wl_tune_schedule wl_tune_schedule_new(const struct wl_tune_pace *pace, int64_t steps, double reference_s)
{
    return (struct wl_tune_schedule) {
        .pace = *pace, .last_step = -1, .target = steps, .reference_s = steps ? reference_s : NAN
    };
}

static void begin_settling(struct wl_tune_schedule *s, int64_t now_ns)
{
    s->settled_ns = now_ns + (int64_t)(s->pace.settle_s * WL_NS_PER_S);
    s->unsettled = UNSETTLED_STEPS;
    s->span = (struct wl_tune_span) { 0 };
    s->longest_s = 0;
    s->marks = 0;
}

void wl_tune_schedule_hold(struct wl_tune_schedule *s, bool is_reference, int64_t now_ns)
{
    s->holds = true;
    s->is_reference = is_reference;
    s->interrupted = s->spans_end = false;
    s->spent_s = 0;
    begin_settling(s, now_ns);
}

/* Steps since the previous mark: a program may mark every tenth one only, and restart its numbers with an epoch. The
 * same number again says more of that step's work. */
static int64_t count_steps(struct wl_tune_schedule *s, int64_t number)
{
    int64_t n = s->last_step >= 0 && number >= s->last_step ? number - s->last_step : 1;
    s->last_step = number;
    s->steps_seen += n;
    return n;
}

static double seconds(int64_t from_ns, int64_t to_ns) { return (double)(to_ns - from_ns) / WL_NS_PER_S; }

static double span_s(const struct wl_tune_schedule *s) { return seconds(s->span.begin_ns, s->span.end_ns); }

/* The time of a window at the allowed slowdown; infinite where any slowdown is allowed. */
static double allowed_s(const struct wl_tune_schedule *s)
{
    if (s->is_reference || isnan(s->pace.slowdown) || isnan(s->reference_s)) return HUGE_VAL;
    return (1 + s->pace.slowdown) * s->reference_s;
}

/* The longest that this window may take. What lies between two epochs within it is assumed to take as long as it. */
static double budget_s(const struct wl_tune_schedule *s) { return allowed_s(s) * (s->spans_end ? 2 : 1) - s->spent_s; }

static bool is_beyond(const struct wl_tune_schedule *s, double t_s, int64_t steps)
{
    return t_s * (double)s->target > allowed_s(s) * (double)steps;
}

/* Is what takes so long one interval, in which the job pauses, while the other steps keep the allowed slowdown? The
 * interval may be under way. */
static bool is_pause(const struct wl_tune_schedule *s, int64_t now_ns)
{
    double open_s = seconds(s->span.end_ns, now_ns), rest_s = span_s(s), pause_s = open_s;
    int64_t steps = s->span.steps;
    if (open_s < s->longest_s) {
        steps -= s->longest_steps;
        rest_s -= s->longest_s;
        pause_s = s->longest_s - allowed_s(s) * (double)s->longest_steps / (double)s->target;
    }
    return steps > 0 && !is_beyond(s, rest_s, steps) && pause_s > PAUSE_SHARE * allowed_s(s);
}

static bool is_complete(const struct wl_tune_schedule *s)
{
    if (s->target) return s->span.steps >= s->target;
    return s->span.steps >= s->pace.min_steps && s->marks >= FEWEST_MARKS && span_s(s) >= s->pace.window_s;
}

static enum wl_tune_event end_window(struct wl_tune_schedule *s, bool cut, struct wl_tune_span *out)
{
    s->span.cut = cut;
    s->span.burst = span_s(s) < BURST_SHARE * s->reference_s * (double)s->span.steps / (double)s->target;
    *out = s->span;
    s->holds = false;
    if (!s->is_reference || s->span.burst) return WL_TUNE_WINDOW;
    if (!s->target) s->target = s->span.steps;
    s->reference_s = span_s(s);
    return WL_TUNE_WINDOW;
}

/* The budget of a window is spent. Without a step nobody can say whether the value or the job is slow. */
static enum wl_tune_event end_budget(struct wl_tune_schedule *s, int64_t now_ns, struct wl_tune_span *out)
{
    bool pauses = s->span.steps == 0 || is_pause(s, now_ns);
    if (!pauses && s->span.steps >= FEWEST_STEPS) return end_window(s, true, out);
    s->holds = false;
    return pauses ? WL_TUNE_PAUSED : WL_TUNE_STUCK;
}

static void add_steps(struct wl_tune_schedule *s, int64_t t_ns, int64_t n, double samples)
{
    double took_s = seconds(s->span.end_ns, t_ns);
    if (took_s > s->longest_s) {
        s->longest_s = took_s;
        s->longest_steps = n;
    }
    s->marks++;
    s->span.steps += n;
    s->span.samples += samples;
    s->span.end_ns = t_ns;
}

enum wl_tune_event wl_tune_schedule_step(struct wl_tune_schedule *s, int64_t t_ns, int64_t number, double samples,
                                         struct wl_tune_span *out)
{
    int64_t n = count_steps(s, number);
    if (n == 0) {
        if (!isnan(samples)) s->span.samples += samples;
        return WL_TUNE_NOTHING;
    }
    bool paused = s->paused_ns != 0;
    s->paused_ns = 0;
    if (!s->holds || s->steps_seen < s->pace.warm_up_steps) return WL_TUNE_NOTHING;
    if (s->span.begin_ns == 0) { /* settling */
        if (paused && t_ns > s->settled_ns) s->settled_ns = t_ns;
        if (t_ns < s->settled_ns || s->unsettled-- > 0) return WL_TUNE_NOTHING;
        s->span = (struct wl_tune_span) { .begin_ns = t_ns, .end_ns = t_ns };
        return WL_TUNE_NOTHING;
    }
    add_steps(s, t_ns, n, samples);
    if (is_complete(s)) return end_window(s, false, out);
    bool over = span_s(s) >= budget_s(s) && s->span.steps >= FEWEST_STEPS;
    return over ? end_budget(s, t_ns, out) : WL_TUNE_NOTHING;
}

enum wl_tune_event wl_tune_schedule_time(struct wl_tune_schedule *s, int64_t now_ns, struct wl_tune_span *out)
{
    bool begun = s->span.begin_ns != 0;
    if (!s->holds || s->steps_seen < s->pace.warm_up_steps) return WL_TUNE_NOTHING;
    if (s->paused_ns && !begun) {
        if (seconds(s->paused_ns, now_ns) < allowed_s(s)) return WL_TUNE_NOTHING;
        s->holds = false;
        return WL_TUNE_PAUSED;
    }
    if (seconds(begun ? s->span.begin_ns : s->settled_ns, now_ns) < budget_s(s)) return WL_TUNE_NOTHING;
    return end_budget(s, now_ns, out);
}

enum wl_tune_event wl_tune_schedule_epoch_end(struct wl_tune_schedule *s, int64_t t_ns, struct wl_tune_span *out)
{
    s->paused_ns = t_ns;
    if (!s->holds || s->span.begin_ns == 0) return WL_TUNE_NOTHING;
    bool beyond = s->span.steps > 0 && is_beyond(s, span_s(s), s->span.steps);
    if (beyond && s->span.steps >= FEWEST_STEPS && 2 * span_s(s) > allowed_s(s)) return end_window(s, true, out);
    if (s->interrupted) {
        s->spans_end = true;
        return WL_TUNE_NOTHING;
    }
    s->interrupted = true;
    if (beyond) s->spent_s = span_s(s);
    begin_settling(s, s->span.end_ns - (int64_t)(s->pace.settle_s * WL_NS_PER_S));
    return WL_TUNE_NOTHING;
}

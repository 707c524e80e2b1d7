#include "tune/schedule.h"

#include <math.h>

enum {
    FEWEST_STEPS = 5,    /* of a window that is cut short */
    UNSETTLED_STEPS = 2, /* the step during which the value was set, and one whole step under it */
};

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
}

void wl_tune_schedule_hold(struct wl_tune_schedule *s, bool is_reference, int64_t now_ns)
{
    s->holds = true;
    s->is_reference = is_reference;
    s->interrupted = false;
    begin_settling(s, now_ns);
}

/* Steps since the previous mark: a program may mark every tenth one only, and restart its numbers with an epoch. */
static int64_t count_steps(struct wl_tune_schedule *s, int64_t number)
{
    int64_t n = s->last_step >= 0 && number > s->last_step ? number - s->last_step : 1;
    s->last_step = number;
    s->steps_seen += n;
    return n;
}

/* The longest that a window of this value may take; infinite where any slowdown is allowed. What lies between two
 * epochs of a window that has been interrupted already is assumed to take as long as the window. */
static double budget_s(const struct wl_tune_schedule *s)
{
    if (s->is_reference || isnan(s->pace.slowdown) || isnan(s->reference_s)) return HUGE_VAL;
    return (1 + s->pace.slowdown) * s->reference_s * (s->interrupted ? 2 : 1);
}

static double seconds(int64_t from_ns, int64_t to_ns) { return (double)(to_ns - from_ns) / WL_NS_PER_S; }

static bool is_complete(const struct wl_tune_schedule *s)
{
    if (s->target) return s->span.steps >= s->target;
    return s->span.steps >= s->pace.min_steps && seconds(s->span.begin_ns, s->span.end_ns) >= s->pace.window_s;
}

static enum wl_tune_event end_window(struct wl_tune_schedule *s, bool cut, struct wl_tune_span *out)
{
    s->span.cut = cut;
    *out = s->span;
    s->holds = false;
    if (!s->is_reference) return WL_TUNE_WINDOW;
    if (!s->target) s->target = s->span.steps;
    s->reference_s = seconds(s->span.begin_ns, s->span.end_ns);
    return WL_TUNE_WINDOW;
}

enum wl_tune_event wl_tune_schedule_step(struct wl_tune_schedule *s, int64_t t_ns, int64_t number, double samples,
                                         struct wl_tune_span *out)
{
    int64_t n = count_steps(s, number);
    if (!s->holds || s->steps_seen < s->pace.warm_up_steps) return WL_TUNE_NOTHING;
    if (s->span.begin_ns == 0) { /* settling */
        if (t_ns < s->settled_ns || s->unsettled-- > 0) return WL_TUNE_NOTHING;
        s->span = (struct wl_tune_span) { .begin_ns = t_ns, .end_ns = t_ns };
        return WL_TUNE_NOTHING;
    }
    s->span.steps += n;
    s->span.samples += samples;
    s->span.end_ns = t_ns;
    if (is_complete(s)) return end_window(s, false, out);
    bool over = seconds(s->span.begin_ns, t_ns) >= budget_s(s) && s->span.steps >= FEWEST_STEPS;
    return over ? end_window(s, true, out) : WL_TUNE_NOTHING;
}

enum wl_tune_event wl_tune_schedule_time(struct wl_tune_schedule *s, int64_t now_ns)
{
    bool begun = s->span.begin_ns != 0;
    bool waits = !s->holds || s->steps_seen < s->pace.warm_up_steps || (s->interrupted && !begun);
    if (waits || seconds(begun ? s->span.begin_ns : s->settled_ns, now_ns) < budget_s(s)) return WL_TUNE_NOTHING;
    if (s->span.steps >= FEWEST_STEPS) return WL_TUNE_NOTHING; /* the next step ends the window */
    s->holds = false;
    return WL_TUNE_STUCK;
}

void wl_tune_schedule_epoch_end(struct wl_tune_schedule *s)
{
    if (!s->holds || s->span.begin_ns == 0 || s->interrupted) return;
    s->interrupted = true;
    begin_settling(s, s->span.end_ns - (int64_t)(s->pace.settle_s * WL_NS_PER_S));
}

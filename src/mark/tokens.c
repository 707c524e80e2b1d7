#include "mark/tokens.h"

#include <math.h>
#include <stdlib.h>

const struct wl_mark_tokens wl_mark_tokens_none = {
    .line = NAN, .bar = NAN, .counted = NAN, .at_step = NAN, .first_step = NAN, .marked = NAN
};

void wl_mark_tokens_begin(struct wl_mark_tokens *t, double step) { t->first_step = step; }

/* Apart by more than what a pipe delays, they do not belong together. */
static void pair(struct wl_mark_tokens *t)
{
    const bool both = !isnan(t->line) && !isnan(t->bar);
    if (!both || llabs(t->line_ns - t->bar_ns) > WL_NS_PER_S) return;
    t->counted = t->line;
    t->at_step = t->bar;
    t->line = t->bar = NAN;
}

void wl_mark_tokens_line(struct wl_mark_tokens *t, int64_t t_ns, double tokens)
{
    t->line = tokens;
    t->line_ns = t_ns;
    pair(t);
}

void wl_mark_tokens_cleared(struct wl_mark_tokens *t) { t->cleared = true; }

void wl_mark_tokens_bar(struct wl_mark_tokens *t, int64_t t_ns, double step)
{
    if (!t->cleared) return;
    t->cleared = false;
    t->bar = step;
    t->bar_ns = t_ns;
    pair(t);
}

static double until(const struct wl_mark_tokens *t, double step) { return t->counted * (step / t->at_step); }

double wl_mark_tokens_since(struct wl_mark_tokens *t, double step)
{
    if (isnan(t->marked)) t->marked = until(t, t->first_step);
    return isnan(t->marked) ? NAN : fmax(0, round(until(t, step) - t->marked));
}

double wl_mark_tokens_take(struct wl_mark_tokens *t, double step)
{
    const double tokens = wl_mark_tokens_since(t, step);
    t->marked += tokens;
    return tokens;
}

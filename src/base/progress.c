#include "base/progress.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/out.h"
#include "base/str.h"

#include <math.h>

enum {
    BAR = 24,
    SHORT_BAR = 8,
    NARROW = 60 /* columns */,
    TTY_PERIOD_MS = 100,
    LOG_PERIOD_MS = 10000,
    SILENT_MS = 2000
};

/* The remaining time in whole seconds, at least one; empty if none is left or it is unknown. */
static const char *left_text(double left_s, struct wl_arena *a)
{
    if (!(left_s > 0)) return "";
    return left_s < 99.5 ? wl_strf(a, ", %.0f s left", left_s < 1 ? 1 : left_s)
                         : wl_strf(a, ", %s left", wl_human_time(a, left_s));
}

/* 100 only if all is done. */
static double percent(double share) { return floor(share * 100 + 1e-9); }

void wl_progress_start(struct wl_progress *p, const char *what)
{
    *p = (struct wl_progress) { .what = what, .started_ns = wl_now_ns(), .tty = wl_out_status_enabled() };
    p->shown_ns = p->started_ns;
}

static void draw(struct wl_progress *p, double share, const char *left, const char *note, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    const int width = wl_out_width(WL_STDERR), bar = width && width <= NARROW ? SHORT_BAR : BAR;
    wl_text_addf(&t, "%s [", p->what);
    for (int i = 0; i < bar; i++) wl_text_add(&t, i < (int)(share * bar + 0.5) ? "#" : ".");
    wl_text_addf(&t, "] %3.0f %%%s%s%s", percent(share), left, note ? ", " : "", note ? note : "");
    wl_out_status_draw(t.s);
    p->drawn = true;
}

void wl_progress_update(struct wl_progress *p, double done, double total, double left_s, const char *note)
{
    int64_t now = wl_now_ns(), period = (p->tty ? TTY_PERIOD_MS : LOG_PERIOD_MS) * 1000000LL;
    double elapsed = (double)(now - p->started_ns) * 1e-9;
    if (now - p->shown_ns < period || elapsed * 1000 < SILENT_MS) return;
    p->shown_ns = now;
    double share = total > 0 ? done / total : 0;
    if (share > 1) share = 1;
    if (left_s < 0 && share > 0) left_s = elapsed * (1 - share) / share;
    struct wl_arena *a = wl_arena_new(NULL);
    const char *left = left_text(left_s, a);
    if (p->tty)
        draw(p, share, left, note, a);
    else
        wl_log(WL_INFO, p->what, "%.0f %%%s%s%s", percent(share), left, note ? ", " : "", note ? note : "");
    wl_arena_free(a);
}

void wl_progress_clear(struct wl_progress *p)
{
    if (p->drawn) wl_out_status_erase();
    p->drawn = false;
}

/* wattlaw status --follow: the state of campaigns while they run. The store is opened for reading when its files have
 * changed, and only for as long as it is read. */
#include "cmd/wattlaw/status/status.h"

#include <math.h>
#include <poll.h>

static const double LOOK_S = 0.5, LINE_S = 10;

/* Reading takes at most this share of the time: a store of thousands of runs is read less often. */
static const double READ_SHARE = 0.05;

/* Stamps of younger files may stay the same though the files change. */
static const int64_t SETTLED_NS = 2 * WL_NS_PER_S;

/* Without a change too: in a queue in which nothing ends the time left grows. */
static const int64_t REFRESH_NS = 30 * WL_NS_PER_S;

/* No change for so long is said, and of a campaign of which nothing is under way sooner. */
static const int64_t QUIET_NS = 60 * WL_NS_PER_S, IDLE_NS = 5 * WL_NS_PER_S;

struct view {
    const struct wl_status_opts *o;
    const struct wl_opts_args *rest;
    struct wl_signals *signals;
    struct wl_status now;
    struct wl_arena *a; /* of it */
    struct wl_store_stamp stamp;
    int64_t read_ns, next_read_ns; /* when it was read; is read again at the earliest */
    uint64_t said;                 /* hash of the state that was printed last */
    int64_t said_ns;               /* 0: none was */
    size_t lines;                  /* of the last drawing on a terminal */
    int width;
};

/* ---- reading ---- */

static bool is_changed(const struct view *v)
{
    const struct wl_store_stamp s = wl_store_stamp(v->now.store);
    return s.changed_wall_ns != v->stamp.changed_wall_ns || s.size != v->stamp.size || s.inode != v->stamp.inode ||
           v->read_ns - s.changed_wall_ns < SETTLED_NS || wl_wall_ns() - v->read_ns > REFRESH_NS;
}

static int read_again(struct view *v, struct wl_err *e)
{
    const int64_t begin_ns = wl_now_ns();
    if (v->a && (begin_ns < v->next_read_ns || !is_changed(v))) return 0;
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_store_stamp stamp = { 0 };
    if (v->a) stamp = wl_store_stamp(v->now.store); /* before it is read: what changes meanwhile is read again */
    struct wl_status now;
    v->read_ns = wl_wall_ns();
    int rc = wl_status_read(v->o->campaign, v->rest, &now, a, e);
    if (rc < 0) {
        wl_arena_free(a);
        return rc;
    }
    wl_arena_free(v->a);
    v->a = a;
    v->now = now;
    v->stamp = stamp.inode ? stamp : wl_store_stamp(now.store);
    v->next_read_ns = wl_now_ns() + (int64_t)((double)(wl_now_ns() - begin_ns) / READ_SHARE);
    return 0;
}

static bool is_over(const struct view *v)
{
    size_t left = 0;
    for (size_t i = 0; i < v->now.n; i++) left += wl_status_left(&v->now.v[i]);
    return v->now.n > 0 && left == 0;
}

/* ---- lines ---- */

static const char *time_unknown_text(const struct wl_campaign_status *st, struct wl_arena *a)
{
    return st->has_queue ? wl_strf(a, "time left unknown until %d runs have ended", WL_QUEUE_RATE_LEAST)
                         : "time left unknown until a run is done";
}

static const char *time_left_text(const struct wl_campaign_status *st, struct wl_arena *a)
{
    const char *known = wl_status_left_text(st, a);
    if (wl_status_left(st) == 0) return "nothing is left";
    return known ? wl_strf(a, "%s left", known) : time_unknown_text(st, a);
}

static void print_line(const struct wl_campaign_status *st, struct wl_arena *a)
{
    wl_print("%s %s: %zu of %zu runs done, %zu failed, %zu running, %zu waiting; %s so far; %s%s\n",
             wl_clock_iso(a, wl_wall_ns()), st->campaign->name, st->count[WL_RUN_DONE], wl_status_all(st),
             st->count[WL_RUN_FAILED], wl_status_running(st), wl_status_waiting(st), wl_status_used_text(st, a),
             time_left_text(st, a), st->control.paused ? "; paused" : "");
}

/* One object or line for a change; lines are at least some seconds apart, but for the last. */
static void print_change(struct view *v)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const int64_t now_ns = wl_now_ns();
    const uint64_t state = wl_hash_fnv1a(wl_json_text(wl_status_json(&v->now, true, a), 0, a));
    const bool early = v->said_ns && !v->o->json && !is_over(v) && (double)(now_ns - v->said_ns) < LINE_S * WL_NS_PER_S;
    if (!early && (state != v->said || !v->said_ns)) {
        v->said = state;
        v->said_ns = now_ns;
        if (v->o->json)
            wl_json_print_line(wl_status_json(&v->now, false, a));
        else
            for (size_t i = 0; i < v->now.n; i++) print_line(&v->now.v[i], a);
    }
    wl_arena_free(a);
}

/* ---- bars ---- */

static void draw_bar(const char *name, size_t n, size_t all, enum wl_style style, const char *note, int width)
{
    enum { LEAST = 8, MOST = 60, BESIDE = 40 };
    char bar[MOST + 1];
    const int length = width - BESIDE < LEAST ? LEAST : width - BESIDE > MOST ? MOST : width - BESIDE;
    int filled = all ? (int)((double)n / (double)all * length + 0.5) : 0;
    if (n && filled == 0) filled = 1;
    if (n < all && filled == length) filled = length - 1;
    for (int i = 0; i < length; i++) bar[i] = i < filled ? '#' : '.';
    bar[length] = '\0';
    wl_print("  %-8s ", name);
    wl_fprint_in(WL_STDOUT, style, "%s", bar);
    wl_print(" %6zu%s%s\n", n, *note ? "  " : "", note);
}

/* "12 in the queue, 30 not submitted" */
static const char *waiting_note(const struct wl_campaign_status *st, struct wl_arena *a)
{
    const size_t again = st->count[WL_RUN_INTERRUPTED] + st->dead, waiting = wl_status_waiting(st);
    struct wl_text t = WL_TEXT(a);
    if (st->has_queue && waiting) wl_text_addf(&t, "%zu in the queue", st->waiting);
    if (again) wl_text_addf(&t, "%s%zu to be repeated", t.n ? ", " : "", again);
    return t.n ? t.s : "";
}

static void draw_left(const struct view *v, const struct wl_campaign_status *st, struct wl_arena *a)
{
    const size_t left = wl_status_left(st);
    const int64_t quiet_ns = wl_wall_ns() - v->stamp.changed_wall_ns;
    const char *known = wl_status_left_text(st, a);
    wl_print("  left     %zu run%s, %s\n", left, left == 1 ? "" : "s", known ? known : time_unknown_text(st, a));
    if (wl_status_running(st) == 0 && wl_status_in_queue(st) == 0 && quiet_ns > IDLE_NS)
        wl_print("           no sweep is running: resume with `wattlaw sweep` and the same experiment file\n");
    else if (v->stamp.changed_wall_ns && quiet_ns > QUIET_NS)
        wl_print("           no sweep has changed anything for %s\n",
                 wl_human_time(a, (double)(quiet_ns / WL_NS_PER_S)));
}

static void draw_campaign(const struct view *v, const struct wl_campaign_status *st, struct wl_arena *a)
{
    const size_t all = wl_status_all(st);
    wl_print("%s, %zu run%s, started %s\n", st->campaign->name, all, all == 1 ? "" : "s",
             wl_clock_iso(a, st->campaign->created_wall_ns));
    draw_bar("done", st->count[WL_RUN_DONE], all, WL_GOOD, "", v->width);
    draw_bar("failed", st->count[WL_RUN_FAILED], all, WL_BAD, "", v->width);
    draw_bar("running", wl_status_running(st), all, WL_PLAIN,
             st->ended ? wl_strf(a, "%zu to be collected", st->ended) : "", v->width);
    draw_bar("waiting", wl_status_waiting(st), all, WL_PLAIN, waiting_note(st, a), v->width);
    wl_print("  used     %s\n", wl_status_used_text(st, a));
    if (st->control.paused) wl_print("  paused   %s\n", wl_status_paused_text(st, a));
    if (wl_status_left(st))
        draw_left(v, st, a);
    else
        wl_print("  left     nothing\n");
}

/* As many campaigns as the terminal has lines for. */
static void draw(struct view *v)
{
    enum { OF_A_CAMPAIGN = 9 };
    const size_t height = (size_t)wl_out_height(WL_STDOUT);
    struct wl_arena *a = wl_arena_new(NULL);
    size_t shown = 0;
    if (v->width == wl_out_width(WL_STDOUT)) wl_out_erase_lines(v->lines);
    v->width = wl_out_width(WL_STDOUT);
    const size_t before = wl_print_lines(WL_STDOUT);
    for (; shown < v->now.n; shown++) {
        if (shown && wl_print_lines(WL_STDOUT) - before + OF_A_CAMPAIGN + 2 > height) break;
        draw_campaign(v, &v->now.v[shown], a);
    }
    if (v->now.n == 0) wl_print("%s: no campaign yet\n", v->now.store);
    if (shown < v->now.n) wl_print("(%zu more: --campaign chooses one)\n", v->now.n - shown);
    wl_print_flush(WL_STDOUT);
    v->lines = wl_print_lines(WL_STDOUT) - before;
    wl_arena_free(a);
}

/* ---- following ---- */

static bool wait_for_signal(const struct view *v)
{
    struct pollfd fd = { .fd = wl_signals_fd(v->signals), .events = POLLIN };
    bool from_terminal;
    poll(&fd, 1, (int)(LOOK_S * 1000));
    return wl_signals_next(v->signals, &from_terminal) != 0;
}

int wl_status_follow(const struct wl_status_opts *o, const struct wl_opts_args *rest, struct wl_arena *a,
                     struct wl_err *e)
{
    struct view v = { .o = o, .rest = rest };
    const bool bars = !o->json && wl_out_redraw_enabled();
    int rc = wl_signals_open(&v.signals, false, a, e);
    while (rc == 0) {
        rc = read_again(&v, e);
        if (rc < 0) break;
        if (bars)
            draw(&v);
        else
            print_change(&v);
        if (wl_out_flush()) break; /* nobody reads it any more; the caller says so */
        if (is_over(&v)) break;
        if (wait_for_signal(&v)) rc = WL_EXIT_INTERRUPTED;
    }
    wl_arena_free(v.a);
    return rc;
}

/* What people ask a running campaign for: read between two runs, and once a second during one. docs/adr/177 */
#include "campaign/sweep.h"

#include <poll.h>
#include <signal.h>

enum { LOOK_MS = 500 };

bool wl_sweep_stop_requested(const struct wl_sweep *s)
{
    bool from_terminal;
    const int sig = s->opts->signals ? wl_signals_next(s->opts->signals, &from_terminal) : 0;
    return sig && sig != SIGUSR1 && sig != SIGUSR2; /* those warn a command of its time limit: none runs */
}

/* Who pauses it during a run sees at once that the sweep knows; it acts upon it after the run. */
static void notice(struct wl_sweep *s, struct wl_arena *a)
{
    struct wl_control_state state;
    struct wl_err e;
    if (wl_store_control_state(s->store, s->out->campaign, &state, a, &e) < 0 || state.last <= s->noticed) return;
    if (wl_store_control_noticed(s->store, s->out->campaign, state.last, &e) == 0) s->noticed = state.last;
}

const char *wl_sweep_stop_asked(void *ctx)
{
    const struct wl_sweep_current *c = ctx;
    struct wl_arena *a = wl_arena_new(NULL);
    notice(c->s, a);
    wl_arena_free(a);
    return wl_store_cancelled(c->s->store, c->run, c->a);
}

static void say(struct wl_sweep *s, const char *text)
{
    if (s->opts->on_control) s->opts->on_control(s->opts->ctx, text, s->n_to_do);
}

static void say_change(struct wl_sweep *s, const struct wl_control_state *state, struct wl_arena *a)
{
    if (state->paused && !s->paused)
        say(s, wl_strf(a, "paused by %s at %s: no further run begins; wattlaw resume %s goes on", state->by,
                       wl_clock_iso(a, state->since_wall_ns), s->out->store));
    else if (!state->paused && s->paused)
        say(s, "resumed");
    else
        say(s, NULL);
}

int wl_sweep_take_requests(struct wl_sweep *s, struct wl_err *e)
{
    struct wl_control_state state;
    if (s->opts->only) return 0; /* a job's own store, which nobody else sees */
    struct wl_arena *a = wl_arena_new(s->a);
    int rc = wl_store_control_state(s->store, s->out->campaign, &state, a, e);
    if (rc == 0 && state.last != s->last_request) {
        rc = wl_store_control_noticed(s->store, s->out->campaign, state.last, e);
        if (rc == 0) rc = wl_sweep_reread(s, e);
        if (rc == 0) {
            s->last_request = state.last;
            say_change(s, &state, a);
            s->paused = state.paused;
        }
    }
    wl_arena_free(a);
    return rc;
}

bool wl_sweep_has_requests(const struct wl_sweep *s)
{
    struct wl_control_state state;
    struct wl_err e;
    struct wl_arena *a = wl_arena_new(NULL);
    const bool yes = !s->opts->only && wl_store_control_state(s->store, s->out->campaign, &state, a, &e) == 0 &&
                     state.last != s->last_request;
    wl_arena_free(a);
    return yes;
}

/* The first run that is to do after run i, from the begin of the plan after its end; n_runs: none. */
static size_t next_to_do(const struct wl_sweep *s, size_t i)
{
    const size_t n = s->grid.n_runs;
    for (size_t k = 1; k <= n; k++)
        if (s->to_do[(i + k) % n]) return (i + k) % n;
    return n;
}

int wl_sweep_next(struct wl_sweep *s, size_t *i, struct wl_err *e)
{
    const size_t before = *i;
    for (;;) {
        if (wl_sweep_stop_requested(s)) return wl_fail(e, WL_EINTR, "stopped by the user");
        int rc = wl_sweep_take_requests(s, e);
        if (rc < 0) return rc;
        *i = next_to_do(s, before);
        if (*i == s->grid.n_runs || !s->paused) return 0;
        struct pollfd fd = { .fd = s->opts->signals ? wl_signals_fd(s->opts->signals) : -1, .events = POLLIN };
        if (s->opts->on_tick) s->opts->on_tick(s->opts->ctx, (double)s->passed, (double)s->n_to_do, -1, "paused");
        poll(&fd, 1, LOOK_MS);
    }
}

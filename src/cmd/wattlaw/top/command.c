/* wattlaw top: what this node and a running campaign do now. */
#include "cmd/wattlaw/top/internal.h"
#include "job/job.h"

#include <math.h>
#include <poll.h>
#include <unistd.h>

struct options {
    struct wl_live_opts live;
    double period_s;
    const char *sort;
    bool once, json;
};

static const struct wl_opt rows[] = {
    { .name = "period",
      .type = WL_DURATION,
      .offset = offsetof(struct options, period_s),
      .def = "1s",
      .min = 0.1,
      .max = 3600,
      .unit = "s",
      .help = "time between two screens; before --once and --json, how long the node is watched" },
    { .name = "sort",
      .type = WL_CHOICE,
      .offset = offsetof(struct options, sort),
      .def = "cpu",
      .choices = "cpu|gpu|gpu-memory|memory|pid",
      .help = "order of the processes" },
    { .name = "once",
      .type = WL_FLAG,
      .offset = offsetof(struct options, once),
      .help = "print one screen as text and end (default where stdout is not a terminal)" },
    { .name = "json",
      .type = WL_FLAG,
      .offset = offsetof(struct options, json),
      .help = "print one JSON object and end" },
    WL_POWER_OPT_ROWS(struct options, live.power),
    WL_OPT_END,
};

struct top {
    const struct options *o;
    struct wl_live *live;
    struct wl_top_store *store; /* NULL: no campaign is shown */
    struct wl_signals *signals;
    struct wl_top_state state;
};

static const struct wl_top_campaigns *campaigns(const struct top *t)
{
    return t->store ? wl_top_store_look(t->store) : NULL;
}

/* ---- once ---- */

static void print_row(const struct wl_top_row *r)
{
    for (size_t k = 0; k < r->n; k++) {
        const size_t end = k + 1 < r->n ? r->spans[k + 1].at : r->text.n;
        wl_fprint_in(WL_STDOUT, r->spans[k].style, "%.*s", (int)(end - r->spans[k].at), r->text.s + r->spans[k].at);
    }
    wl_print("\n");
}

/* Waits for a period, so that there are shares of it. Returns true: a signal came. */
static bool wait_for_signal(const struct top *t, int64_t until_ns)
{
    const int64_t left_ns = until_ns - wl_now_ns();
    struct pollfd fd = { .fd = wl_signals_fd(t->signals), .events = POLLIN };
    bool from_terminal;
    poll(&fd, 1, left_ns > 0 ? (int)(left_ns / 1000000) + 1 : 0);
    return wl_signals_next(t->signals, &from_terminal) != 0;
}

static int print_once(struct top *t, struct wl_arena *a)
{
    enum { WIDE = 200 };
    if (wait_for_signal(t, wl_now_ns() + (int64_t)(t->state.period_s * WL_NS_PER_S))) return WL_EXIT_INTERRUPTED;
    const struct wl_top_campaigns *c = campaigns(t);
    const struct wl_live_view *v = wl_live_look(t->live, a);
    if (t->o->json) {
        struct wl_json *root = wl_top_json(v, a);
        if (t->store) wl_json_add_value(root, "campaigns", wl_json_get(wl_top_store_json(t->store, a), "campaigns"));
        if (t->store) wl_json_add_str(root, "campaigns_why", c->why);
        wl_json_print(root);
        return WL_EXIT_OK;
    }
    const int width = wl_out_width(WL_STDOUT);
    const struct wl_top_screen s = wl_top_rows(v, c, &t->state, width > 0 ? (size_t)width : WIDE, 0, a);
    for (size_t i = 0; i < s.n; i++) print_row(&s.v[i]);
    return WL_EXIT_OK;
}

/* ---- live ---- */

static void change_period(struct wl_top_state *state, double factor)
{
    static const double LEAST_S = 0.1, MOST_S = 60;
    state->period_s = fmin(fmax(state->period_s * factor, LEAST_S), MOST_S);
}

static void scroll_by(struct wl_top_state *state, ptrdiff_t by, size_t n)
{
    const ptrdiff_t first = (ptrdiff_t)state->first + by, last = n ? (ptrdiff_t)n - 1 : 0;
    state->first = (size_t)(first < 0 ? 0 : first > last ? last : first);
}

/* False: the end. */
static bool press(struct wl_top_state *state, enum wl_top_key key, size_t processes)
{
    enum { PAGE = 10 };
    switch (key) {
    case WL_TOP_QUIT: return false;
    case WL_TOP_HELP: state->help = !state->help; break;
    case WL_TOP_SORT: state->sort = (state->sort + 1) % WL_TOP_SORTS; break;
    case WL_TOP_LONGER: change_period(state, 2); break;
    case WL_TOP_SHORTER: change_period(state, 0.5); break;
    case WL_TOP_UP: scroll_by(state, -1, processes); break;
    case WL_TOP_DOWN: scroll_by(state, 1, processes); break;
    case WL_TOP_PAGE_UP: scroll_by(state, -PAGE, processes); break;
    case WL_TOP_PAGE_DOWN: scroll_by(state, PAGE, processes); break;
    case WL_TOP_HOME: state->first = 0; break;
    case WL_TOP_END: scroll_by(state, (ptrdiff_t)processes, processes); break;
    case WL_TOP_RESIZED:
    case WL_TOP_NO_KEY: break;
    }
    return true;
}

/* Keys until the next screen is due; one that changes something shows it at once. Returns false: the end. */
static bool wait_for_keys(struct top *t, struct wl_top_terminal *terminal, int64_t until_ns, size_t processes,
                          bool *by_signal)
{
    for (;;) {
        const int64_t left_ns = until_ns - wl_now_ns();
        struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN },
                                { .fd = wl_signals_fd(t->signals), .events = POLLIN } };
        bool from_terminal;
        poll(fds, WL_COUNT(fds), left_ns > 0 ? (int)(left_ns / 1000000) + 1 : 0);
        *by_signal = wl_signals_next(t->signals, &from_terminal) != 0 || (fds[0].revents & (POLLHUP | POLLERR)) != 0;
        if (*by_signal) return false;
        const enum wl_top_key key = wl_top_terminal_key(terminal);
        if (key != WL_TOP_NO_KEY) return press(&t->state, key, processes);
        if (left_ns <= 0) return true;
    }
}

static int show(struct top *t, struct wl_arena *a, struct wl_err *e)
{
    struct wl_top_terminal *terminal;
    wl_log_init(WL_ERROR, -1); /* lines of stderr would be drawn over the screen */
    int rc = wl_top_terminal_open(&terminal, wl_out_has_color(WL_STDOUT), a, e);
    if (rc < 0) return rc;
    bool by_signal = false;
    int64_t next_ns = wl_now_ns();
    for (bool go_on = true; go_on;) {
        struct wl_arena *screen = wl_arena_new(NULL);
        size_t width, height;
        wl_top_terminal_size(terminal, &width, &height);
        const struct wl_live_view *v = wl_live_look(t->live, screen);
        const struct wl_top_screen s = wl_top_rows(v, campaigns(t), &t->state, width, height, screen);
        const size_t processes = v->n_processes;
        wl_top_terminal_draw(terminal, &s);
        wl_arena_free(screen);
        if (wl_now_ns() >= next_ns) next_ns = wl_now_ns() + (int64_t)(t->state.period_s * WL_NS_PER_S);
        go_on = wait_for_keys(t, terminal, next_ns, processes, &by_signal);
    }
    return by_signal ? WL_EXIT_INTERRUPTED : WL_EXIT_OK;
}

static enum wl_top_sort sort_of(const char *name)
{
    enum wl_top_sort k = 0;
    while (!wl_str_eq(wl_top_sort_names[k], name)) k++;
    return k;
}

static int run(void *options, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    struct options *o = options;
    struct top t = { .o = o, .state = { .period_s = o->period_s, .sort = sort_of(o->sort) } };
    const bool live = !o->once && !o->json && wl_out_is_terminal(WL_STDOUT) && isatty(STDIN_FILENO);
    if (rest->args.n > 1)
        return wl_fail(e, WL_EUSAGE, "unexpected argument '%s': one campaign is shown", rest->args.v[1]);
    if (live && wl_top_terminal_unavailable()) return wl_fail(e, WL_EUNAVAIL, "%s", wl_top_terminal_unavailable());
    o->live.processes = true;
    int rc = wl_sampler_cpu_check(&o->live.power, a, e);
    if (rc == 0) rc = wl_signals_open(&t.signals, false, a, e);
    if (rc == 0 && rest->args.n > 0) {
        t.store = wl_top_store_new(rest, a);
        const struct wl_top_campaigns *c = wl_top_store_look(t.store);
        if (c->why) return wl_fail(e, WL_ENOENT, "%s", c->why);
    }
    if (rc == 0) rc = wl_live_start(&t.live, &o->live, a, e);
    if (rc < 0) return rc;
    t.state.keys = live;
    return live ? show(&t, a, e) : print_once(&t, a);
}

const struct wl_cmd wl_cmd_top = {
    .name = "top",
    .usage = "[options] [RESULTS]",
    .help = "show what this node and a running campaign do now",
    .more =
        "Devices with their power, cap, clock, utilisation, memory, temperature and energy since the start; who uses\n"
        "them; and, of a store or a campaign's folder that is given, progress and the runs that are under way.\n"
        "Nothing is stored and no setting is changed.\n"
        "\n"
        "Keys: q ends, h helps, s changes the order of the processes, + and - the time between two screens, arrows\n"
        "scroll.\n"
        "\n"
        "  wattlaw top                   this node\n"
        "  wattlaw top lab1              and the campaign in lab1\n"
        "  wattlaw top --json | jq .power_w",
    .options = rows,
    .options_size = sizeof(struct options),
    .run = run,
};

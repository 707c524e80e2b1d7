/* wattlaw status: what a campaign has done, what went wrong, what is left. */
#include "cmd/wattlaw/status/status.h"

#include <math.h>

static const struct wl_opt status_rows[] = {
    { .name = "campaign",
      .type = WL_STR,
      .offset = offsetof(struct wl_status_opts, campaign),
      .unit = "NAME",
      .help = "name of the campaign of the store (default: all campaigns)" },
    { .name = "json",
      .type = WL_FLAG,
      .offset = offsetof(struct wl_status_opts, json),
      .help = "print the results as JSON; with --follow an object on a line of its own for each change" },
    { .name = "follow",
      .letter = 'f',
      .type = WL_FLAG,
      .offset = offsetof(struct wl_status_opts, follow),
      .help = "show the state until no run is left: on a terminal as bars, elsewhere as a line for each change" },
    WL_OPT_END,
};

static void print_count(size_t n, const char *what, const char *more)
{
    if (n) wl_print(", %zu %s%s", n, what, more);
}

static void print_left(const struct wl_campaign_status *st, struct wl_arena *a)
{
    size_t alive = st->count[WL_RUN_RUNNING] - st->dead, left = wl_status_left(st);
    const char *time = wl_status_left_text(st, a);
    if (left == 0)
        wl_print("  left     nothing\n");
    else
        wl_print("  left     %zu run%s%s%s\n", left, left == 1 ? "" : "s", time ? ", " : "", time ? time : "");
    if (left && alive == 0)
        wl_print("           %s with `wattlaw sweep` and the same experiment file\n",
                 wl_status_in_queue(st) ? "collect and go on" : "resume");
}

static void print_paused(const struct wl_campaign_status *st, struct wl_arena *a)
{
    const char *paused = wl_status_paused_text(st, a);
    if (paused) wl_print("  paused   %s\n", paused);
}

static void print_energy(const struct wl_campaign_status *st, struct wl_arena *a)
{
    if (st->count[WL_RUN_DONE] == 0) return;
    wl_print("  time     %s in runs that are done\n", wl_human_time(a, st->time_s));
    if (st->energy.value > 0 || !st->energy_missing)
        wl_print("  energy   %s%s\n", wl_amount_text(&st->energy, a),
                 st->energy_missing ? ", missing in some runs" : "");
    else
        wl_print("  energy   not measured\n");
}

static void print_failed(const struct wl_campaign_status *st, struct wl_arena *a)
{
    if (st->n_failed) wl_fprint_in(WL_STDOUT, WL_BAD, "  failed\n");
    for (size_t i = 0; i < st->n_failed; i++) {
        const struct wl_run_row *r = st->failed[i];
        wl_print("    run %lld, %s repeat %lld: %s\n", (long long)r->id, wl_settings_text(&r->set, a),
                 (long long)r->repeat, wl_cmd_run_end(r, a));
        struct wl_strs lines = wl_str_split(a, r->log_tail ? r->log_tail : "", '\n');
        for (size_t k = 0; k < lines.n; k++)
            if (*lines.v[k]) wl_print("      | %s\n", lines.v[k]);
    }
}

static void print_beside(const struct wl_campaign_status *st)
{
    const struct wl_neighbours_effect *b = &st->beside;
    if (b->beside == 0) return;
    wl_print("  beside   %zu of %zu done runs had neighbours in their allocation; ", b->beside, b->runs);
    if (isnan(b->pct))
        wl_print("their effect is unknown: no trial has enough runs with and without\n");
    else
        wl_print("neighbours change the time of a run by %+.1f %% (95 %% interval %+.1f to %+.1f %%)\n", b->pct, b->lo,
                 b->hi);
}

/* One line per reason: a single trial is named by its settings, several are counted. */
static void print_skipped(const struct wl_campaign_status *st, struct wl_arena *a)
{
    if (st->n_skipped) wl_print("  cannot run here\n");
    for (size_t i = 0; i < st->n_skipped; i++) {
        const char *reason = st->skipped[i]->skipped;
        size_t before = 0, same = 0;
        for (size_t k = 0; k < st->n_skipped; k++) {
            if (!wl_str_eq(st->skipped[k]->skipped, reason)) continue;
            before += k < i;
            same++;
        }
        if (before) continue;
        wl_print("    %s: %s\n", same > 1 ? wl_strf(a, "%zu trials", same) : wl_settings_text(&st->skipped[i]->set, a),
                 reason);
    }
}

static void print_text(const struct wl_campaign_status *st, struct wl_arena *a)
{
    wl_print("%s, started %s, wattlaw %s\n", st->campaign->name, wl_clock_iso(a, st->campaign->created_wall_ns),
             st->campaign->version ? st->campaign->version : "?");
    wl_print("  runs     %zu of %zu done", st->count[WL_RUN_DONE], wl_status_all(st));
    print_count(st->count[WL_RUN_RUNNING] - st->dead, "running", "");
    print_count(st->count[WL_RUN_FAILED], "failed", "");
    print_count(st->count[WL_RUN_INTERRUPTED] + st->dead, "interrupted", "");
    print_count(st->waiting, "waiting in the queue", "");
    print_count(st->in_job, "running in jobs", "");
    print_count(st->ended, "ended and not collected", "");
    print_count(st->count[WL_RUN_PLANNED] - wl_status_in_queue(st),
                wl_status_in_queue(st) ? "not submitted" : "not started", "");
    print_count(st->flagged, "flagged", " and excluded from the analysis");
    wl_print("\n");
    print_energy(st, a);
    if (st->used.core_s > 0) wl_print("  used     %s\n", wl_status_used_text(st, a));
    print_beside(st);
    print_left(st, a);
    print_paused(st, a);
    print_failed(st, a);
    print_skipped(st, a);
}

static void print_all(const struct wl_status *all, struct wl_arena *a)
{
    for (size_t i = 0; i < all->n; i++) print_text(&all->v[i], a);
    if (all->n == 0) wl_print("%s: no campaign yet\n", all->store);
}

static int run(void *options, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_status_opts *o = options;
    struct wl_status all;
    if (o->follow) return wl_status_follow(o, rest, a, e);
    int rc = wl_status_read(o->campaign, rest, &all, a, e);
    if (rc < 0) return rc;
    if (o->json)
        wl_json_print(wl_status_json(&all, false, a));
    else
        print_all(&all, a);
    return WL_EXIT_OK;
}

const struct wl_cmd wl_cmd_status = {
    .name = "status",
    .usage = "[options] [STORE]",
    .help = "show what a campaign has done, what failed and why, and what is left",
    .more = "STORE is a .db file or the folder of a campaign (default: wattlaw.db, where measure writes).\n"
            "Of each repeat the last attempt counts.\n"
            "\n"
            "    wattlaw status lab1\n"
            "    wattlaw status lab1 --follow\n"
            "    wattlaw status lab1 --json | jq '.campaigns[0].runs'",
    .options = status_rows,
    .options_size = sizeof(struct wl_status_opts),
    .run = run,
};

#include "tune/trial_watch.h"

#include "job/job.h"

#include <stdio.h>
#include <string.h>

static const int64_t LOOK_NS = WL_NS_PER_S / 2; /* between two looks at the log */

const char wl_tune_stopped_at_limit[] = "stopped: it costs too much beside the best trial so far";
const char wl_tune_stopped_without_memory[] = "stopped: a process ran out of memory and the others made no progress";

static void on_mark(void *ctx, const struct wl_mark *m)
{
    struct wl_tune_trial_watch *w = ctx;
    w->alive_ns = wl_now_ns();
    if (m->rank != 0) return;
    if (m->word == WL_MARK_EPOCH_BEGIN && w->begin_ns == 0) w->begin_ns = m->t_ns;
    if (!w->target->metric || !wl_str_eq(wl_mark_str(m, "name"), w->target->metric)) return;
    const char *better = wl_mark_str(m, "better");
    if (m->word == WL_MARK_DEFINE && better) w->progress.larger = wl_str_eq(better, "larger");
    if (m->word == WL_MARK_METRIC && wl_mark_int(m, "epoch", 0) > 0)
        wl_tune_progress_add(&w->progress, w->target, wl_mark_int(m, "epoch", 0), wl_mark_real(m, "value"));
}

static double seconds_since(int64_t t_ns) { return (double)(wl_now_ns() - t_ns) / WL_NS_PER_S; }

/* Memory that ran out once in a run may be no failure: a program can try a smaller batch. */
static void look_at_log(struct wl_tune_trial_watch *w, const struct wl_active_run *run)
{
    struct wl_arena *a = wl_arena_new(NULL);
    const char *tail = wl_run_log_tail(run, a);
    size_t n = tail ? strlen(tail) : 0;
    const char *last = n < sizeof w->last ? tail : tail + n + 1 - sizeof w->last;
    w->looked_ns = wl_now_ns();
    w->has_failed |= wl_job_says_out_of_memory(tail);
    if (tail && !wl_str_eq(last, w->last)) {
        w->alive_ns = w->looked_ns;
        snprintf(w->last, sizeof w->last, "%s", last);
    }
    wl_arena_free(a);
}

/* Ranks that wait for a lost one wait forever: the group is ended once nothing has happened for a while. */
static bool is_stalled(struct wl_tune_trial_watch *w, const struct wl_active_run *run)
{
    if (wl_now_ns() - w->looked_ns >= LOOK_NS) look_at_log(w, run);
    return w->has_failed && seconds_since(w->alive_ns) >= w->stall_s;
}

static void on_poll(void *ctx, struct wl_active_run *run)
{
    struct wl_tune_trial_watch *w = ctx;
    if (w->progress.epoch)
        wl_run_stop(run, WL_RUN_DONE, NULL);
    else if (w->begin_ns && seconds_since(w->begin_ns) >= w->limit_s)
        wl_run_stop(run, WL_RUN_FAILED, wl_tune_stopped_at_limit);
    else if (is_stalled(w, run))
        wl_run_stop(run, WL_RUN_FAILED, wl_tune_stopped_without_memory);
}

static void on_end(void *ctx, struct wl_active_run *run) { (void)ctx, (void)run; }

void wl_tune_trial_watch_init(struct wl_tune_trial_watch *w, const struct wl_tune_target *target, double limit_s,
                              double stall_s)
{
    *w = (struct wl_tune_trial_watch) { .watch = { .on_mark = on_mark, .poll = on_poll, .on_end = on_end, .ctx = w },
                                        .target = target,
                                        .limit_s = limit_s,
                                        .stall_s = stall_s,
                                        .progress = wl_tune_progress_none };
}

#include "cmd/train/run.h"

#include "cmd/cmd.h"
#include "cmd/train/by_op.h"
#include "cmd/train/events.h"
#include "cmd/train/explain.h"
#include "cmd/train/report.h"
#include "cmd/train/signals.h"

#include <stdlib.h>

static void become_rank(const struct wl_comm *c, const struct wl_train_opts *o)
{
    char rank[16];
    snprintf(rank, sizeof rank, "%d", c->rank);
    setenv("WATTLAW_RANK", rank, 1); /* for the marks; forked ranks have the same environment */
    wl_log_init(o->quiet ? WL_WARN : WL_INFO, c->size > 1 ? c->rank : -1);
    if (o->pin) wl_comm_pin(c, (int)o->threads);
    wl_cmd_train_signals_catch();
}

/* One message per error: rank 0 prints what all ranks know. An error that one rank alone knows is printed by that rank,
 * which then ends the waiting of the others; these learn that a rank was lost, and rank 0 prints that. What a rank does
 * not print, as all may know it (a sum failed), it passes on to the others, which may not have seen it yet. */
static int finish(struct wl_trainer *t, int rc, const struct wl_err *e)
{
    bool is_root = t->comm->rank == 0, lost_another = rc == WL_EJOB;
    if (t->plan && is_root && (rc == 0 || rc == WL_EINTR)) wl_cmd_train_report(t, rc == WL_EINTR);
    if (rc == 0 || t->error_is_collective) return is_root ? rc : wl_exit_status(rc);
    const bool prints = is_root || !lost_another;
    if (prints) wl_log(WL_ERROR, "train", "%s", e->msg);
    t->comm->ops->abandon(t->comm, wl_exit_status(rc), prints ? NULL : e->msg);
    return wl_exit_status(rc);
}

int wl_cmd_train_run(struct wl_train_task *j, const struct wl_opts_args *rest, struct wl_err *e)
{
    const struct wl_train_opts *o = j->opts;
    if (rest->args.n) return wl_fail(e, WL_EUSAGE, "unexpected argument '%s'", rest->args.v[0]);
    int rc = wl_train_options_complete(j, e);
    if (rc) return rc;
    if (o->explain && wl_comm_launch_rank() > 0) return WL_EXIT_OK;
    if (o->explain) return wl_str_eq(o->by_op, "no") ? wl_cmd_train_explain(j, e) : wl_cmd_train_by_op(j, e);
    struct wl_cmd_train_progress progress = { 0 };
    struct wl_trainer t = { .task = j,
                            .arena = j->arena,
                            .events = wl_cmd_train_events(o->quiet),
                            .events_data = &progress,
                            .autotune_cache = wl_cmd_train_autotune_cache(j->arena) };
    const struct wl_comm_opts comm = { .backend = o->comm,
                                       .workers = o->workers,
                                       .on_gpus = wl_backend_on_gpus(wl_train_backend(o)) };
    rc = wl_comm_open(&t.comm, &comm, j->arena, e);
    if (rc) return rc;
    become_rank(t.comm, o);
    rc = wl_train_run(&t, e);
    return finish(&t, rc, e);
}

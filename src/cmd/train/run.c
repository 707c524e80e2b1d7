/* `wattlaw-train NAME`: opens the ranks, trains, reports. */
#include "cmd/cmd.h"
#include "train/train.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>
#include <wattlaw/mark.h>

/* ---- this process among the ranks ------------------------------------------------------------------------------- */

static void become_rank(const struct wl_comm *c, const struct wl_train_opts *o)
{
    char rank[16];
    snprintf(rank, sizeof rank, "%d", c->rank);
    setenv("WATTLAW_RANK", rank, 1); /* for the marks; ranks that were forked have the same environment */
    wl_log_init(o->quiet ? WL_WARN : WL_INFO, c->size > 1 ? c->rank : -1);
    if (o->pin) wl_comm_pin(c, (int)o->threads);
    wl_cmd_train_signals_catch();
}

static const char *fact_fields(const struct wl_train_task *j)
{
    struct wl_text text = WL_TEXT(j->arena);
    for (int i = 0; i < j->n_facts; i++)
        if (!j->facts[i].text) wl_text_addf(&text, " %s=%lld", j->facts[i].name, (long long)j->facts[i].value);
    return text.n ? text.s : "";
}

static const char *memory_field(const struct wl_train_opts *o, struct wl_arena *a)
{
    return isnan(o->memory_gb) ? "" : wl_strf(a, " memory_gb=%g", o->memory_gb);
}

static void mark_start(const struct wl_trainer *t)
{
    const struct wl_train_opts *o = t->opts;
    char host[65] = "";
    gethostname(host, sizeof host - 1);
    wattlaw_mark_start("workload=%s workers=%d local_batch=%lld global_batch=%lld accumulation=%lld epochs=%lld "
                       "size=%s%s threads=%lld precision=%s recompute=%s%s recipe=%s host=%s pid=%d",
                       t->job->workload->name, t->comm->size, (long long)o->local_batch, (long long)t->global_batch,
                       (long long)o->accumulation, (long long)o->epochs, o->size, fact_fields(t->job),
                       (long long)o->threads, o->precision, o->recompute, memory_field(o, t->arena),
                       o->recipe ? o->recipe : "none", host, (int)getpid());
}

/* ---- the job ---------------------------------------------------------------------------------------------------- */

static int leave(struct wl_trainer *t, struct wl_err *e)
{
    const struct wl_workload *w = t->job->workload;
    if (!w->finish) return 0;
    int rc = wl_comm_agree(t->comm, t->comm->rank == 0 ? w->finish(t->job, t->plan, e) : 0, e);
    t->agreed = rc != 0;
    return rc;
}

static int train(struct wl_trainer *t, struct wl_err *e)
{
    mark_start(t);
    wattlaw_mark_phase_begin("load");
    int rc = wl_train_setup(t, e);
    if (!rc && t->opts->resume) rc = wl_train_checkpoint_resume(t, e);
    wattlaw_mark_phase_end("load");
    if (!rc && t->comm->rank == 0) wl_cmd_train_log_settings(t);
    if (!rc) rc = wl_train_loop(t, e);
    return rc ? rc : leave(t, e);
}

static const char *status_word(int rc) { return rc == 0 ? "ok" : rc == WL_EINTR ? "interrupted" : "failed"; }

/* One message for the job. What all ranks know rank 0 says. What one rank alone knows it says itself, and ends the
 * others' waiting; these learn that a rank was lost, which rank 0 says. */
static int finish(struct wl_trainer *t, int rc, const struct wl_err *e)
{
    bool leads = t->comm->rank == 0, lost_another = rc == WL_EJOB;
    wattlaw_mark_stop(status_word(rc));
    if (t->plan && leads && (rc == 0 || rc == WL_EINTR)) wl_cmd_train_report(t, rc == WL_EINTR);
    if (rc == 0 || t->agreed) return leads ? rc : wl_exit_status(rc);
    if (leads || !lost_another) wl_log(WL_ERROR, "train", "%s", e->msg);
    t->comm->ops->abandon(t->comm, wl_exit_status(rc));
    return wl_exit_status(rc);
}

int wl_cmd_train_run(struct wl_train_task *j, const struct wl_opts_args *rest, struct wl_err *e)
{
    const struct wl_train_opts *o = j->opts;
    if (rest->args.n) return wl_fail(e, WL_EUSAGE, "'%s' was not expected", rest->args.v[0]);
    int rc = wl_train_options_complete(j, e);
    if (rc) return rc;
    if (o->explain) return wl_comm_launch_rank() > 0 ? WL_EXIT_OK : wl_cmd_train_explain(j, e);
    struct wl_trainer t = { .job = j, .opts = o, .arena = j->arena };
    rc = wl_comm_open(&t.comm, &(struct wl_comm_opts) { .backend = o->comm, .workers = o->workers }, j->arena, e);
    if (rc) return rc;
    j->silent = t.comm->rank > 0;
    t.global_batch = t.comm->size * o->local_batch * o->accumulation;
    become_rank(t.comm, o);
    rc = train(&t, e);
    return finish(&t, rc, e);
}

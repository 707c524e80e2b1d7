#include "train/internal.h"

#include <math.h>
#include <unistd.h>
#include <wattlaw/mark.h>

static const char *attr_fields(const struct wl_train_task *j)
{
    struct wl_text text = WL_TEXT(j->arena);
    for (int i = 0; i < j->n_attrs; i++)
        if (!j->attrs[i].text) wl_text_addf(&text, " %s=%lld", j->attrs[i].name, (long long)j->attrs[i].value);
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
                       t->task->workload->name, t->comm->size, (long long)o->local_batch, (long long)t->global_batch,
                       (long long)o->accumulation, (long long)o->epochs, o->size, attr_fields(t->task),
                       (long long)o->threads, o->precision, o->recompute, memory_field(o, t->arena),
                       o->recipe ? o->recipe : "none", host, (int)getpid());
}

static int export(struct wl_trainer *t, struct wl_err *e)
{
    const struct wl_workload *w = t->task->workload;
    if (!w->export) return 0;
    int rc = wl_comm_agree(t->comm, t->comm->rank == 0 ? w->export(t->task, t->plan, e) : 0, e);
    t->error_is_collective = rc != 0;
    return rc;
}

static int train(struct wl_trainer *t, struct wl_err *e)
{
    wattlaw_mark_phase_begin("load");
    int rc = wl_train_setup(t, e);
    if (!rc && t->opts->resume) rc = wl_train_checkpoint_resume(t, e);
    wattlaw_mark_phase_end("load");
    if (!rc && t->comm->rank == 0 && t->events && t->events->ready) t->events->ready(t->events_data, t);
    if (!rc) rc = wl_train_loop(t, e);
    return rc ? rc : export(t, e);
}

static const char *status_word(int rc) { return rc == 0 ? "ok" : rc == WL_EINTR ? "interrupted" : "failed"; }

int wl_train_run(struct wl_trainer *t, struct wl_err *e)
{
    t->opts = t->task->opts;
    t->global_batch = t->comm->size * t->opts->local_batch * t->opts->accumulation;
    t->task->quiet_rank = t->comm->rank > 0;
    mark_start(t);
    int rc = train(t, e);
    wattlaw_mark_stop(status_word(rc));
    return rc;
}

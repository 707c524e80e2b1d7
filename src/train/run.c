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

static const char *choice_fields(const struct wl_train_opts *o, struct wl_arena *a)
{
    struct wl_text text = WL_TEXT(a);
#define SETTING_CHOICE(name, ...) wl_text_addf(&text, " %s=%s", #name, o->name);
#include "settings/settings.def"
    return text.s;
}

/* The board that a harness charges this rank's energy to. */
static const char *device_fields(const struct wl_trainer *t)
{
    const struct wl_backend_device *d = &t->device;
    return *d->uuid ? wl_strf(t->arena, " gpu=%s gpu_bus=%s", d->uuid, d->bus) : "";
}

static void mark_start(const struct wl_trainer *t)
{
    const struct wl_train_opts *o = t->opts;
    struct wl_settings set = wl_settings_none;
    char host[65] = "";
    gethostname(host, sizeof host - 1);
    set.workload = t->task->workload->name;
    set.workers = t->comm->size;
    set.local_batch = (double)o->local_batch;
    set.global_batch = (double)t->global_batch;
    set.accumulation = (double)o->accumulation;
    set.epochs = (double)o->epochs;
    set.threads = (double)o->threads;
    wattlaw_mark_start("%s size=%s%s%s%s recipe=%s%s host=%s pid=%d", wl_settings_key(&set, t->arena), o->size,
                       attr_fields(t->task), choice_fields(o, t->arena), memory_field(o, t->arena),
                       o->recipe ? o->recipe : "none", device_fields(t), host, (int)getpid());
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
    if (wl_backend_locate(wl_train_backend(t->opts), t->comm->node_rank, &t->device, &t->no_device))
        wl_err_prefix(&t->no_device, "--backend %s", t->opts->backend);
    mark_start(t);
    int rc = train(t, e);
    wattlaw_mark_stop(status_word(rc));
    return rc;
}

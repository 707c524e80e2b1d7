#include "cmd/train/events.h"

#include "cmd/train/report.h"
#include "cmd/train/signals.h"

#include <stdio.h>
#include <stdlib.h>

static void tuning(void *data, size_t done, size_t total)
{
    struct wl_cmd_train_progress *p = data;
    if (!p->active) wl_progress_start(&p->bar, "planning");
    p->active = true;
    if (total) wl_progress_update(&p->bar, (double)done, (double)total, -1, "shapes measured");
}

static void clear(struct wl_cmd_train_progress *p)
{
    if (p->active) wl_progress_clear(&p->bar);
    p->active = false;
}

static void planned(void *data) { clear(data); }

static void ready(void *data, const struct wl_trainer *t)
{
    (void)data;
    wl_cmd_train_log_settings(t);
}

static void pass_begin(void *data, const struct wl_trainer *t)
{
    struct wl_cmd_train_progress *p = data;
    snprintf(p->label, sizeof p->label, "epoch %lld/%lld", (long long)t->position.epoch, (long long)t->opts->epochs);
    wl_progress_start(&p->bar, p->label);
    p->active = true;
}

static void update(void *data, const struct wl_trainer *t)
{
    struct wl_cmd_train_progress *p = data;
    wl_progress_update(&p->bar, (double)t->position.epoch_updates, (double)t->epoch_updates, -1, NULL);
}

static void pass_end(void *data, const struct wl_trainer *t)
{
    (void)t;
    clear(data);
}

static void epoch_end(void *data, const struct wl_trainer *t, const struct wl_train_epoch *r)
{
    (void)data;
    wl_cmd_train_log_epoch(t, r);
}

static bool stop(void *data)
{
    (void)data;
    return wl_cmd_train_stop_requested();
}

const struct wl_train_events *wl_cmd_train_events(bool quiet)
{
    static const struct wl_train_events all = { .tuning = tuning,
                                                .planned = planned,
                                                .ready = ready,
                                                .pass_begin = pass_begin,
                                                .update = update,
                                                .pass_end = pass_end,
                                                .epoch_end = epoch_end,
                                                .stop = stop };
    static const struct wl_train_events only_stop = { .stop = stop };
    return quiet ? &only_stop : &all;
}

const char *wl_cmd_train_autotune_cache(struct wl_arena *a)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && *cache) return wl_strf(a, "%s/wattlaw/choices.txt", cache);
    return home && *home ? wl_strf(a, "%s/.cache/wattlaw/choices.txt", home) : NULL;
}

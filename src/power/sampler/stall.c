/* A read that does not return. */
#include "power/sampler/worker.h"

/* Moves the worker's other sensors to a new worker. The caller holds w's lock. */
static void move_others(struct wl_sampler *s, struct wl_worker *w)
{
    struct wl_sampler_source **others = wl_new_array(s->arena, struct wl_sampler_source *, w->n_sources), **only;
    size_t n = 0;
    for (size_t i = 0; i < w->n_sources; i++)
        if (w->sources[i] != w->reading) others[n++] = w->sources[i];
    if (n == 0) return;
    struct wl_worker *next = wl_sampler_add_worker(s, others, n, w->period_ns);
    struct wl_err e;
    next->stop = w->stop;
    if (wl_worker_start(next, s->start_ns, false, &e) < 0) {
        for (size_t i = 0; i < n; i++) others[i]->worker = w;
        s->n_workers--;
        return;
    }
    wl_worker_bind(next, s->cpu);
    only = wl_new_array(s->arena, struct wl_sampler_source *, 1);
    only[0] = (struct wl_sampler_source *)w->reading;
    w->sources = only;
    w->n_sources = 1;
}

void wl_sampler_isolate_stalled(struct wl_sampler *s, struct wl_worker *w)
{
    pthread_mutex_lock(&w->lock);
    if (w->reading && !w->stall_reported && !w->abandoned && wl_now_ns() - w->since_ns >= WL_STALL_NS) {
        w->stall_reported = true;
        wl_worker_publish_failure(w, w->reading, "the sensor has not answered for a second");
        move_others(s, w);
    }
    pthread_mutex_unlock(&w->lock);
}

void wl_sampler_abandon(struct wl_sampler *s, struct wl_worker *w)
{
    w->abandoned = s->abandoned = true;
    for (size_t i = 0; i < w->n_sources; i++) {
        w->sources[i]->sensor->abandoned = true;
        wl_worker_publish_failure(w, w->sources[i], "the sensor had not answered by the end of the run");
    }
}

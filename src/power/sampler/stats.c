/* Statistics of the sampler and its channels. */
#include "power/sampler/worker.h"

#include <math.h>

/* The mean time between the ticks of the slowest thread that reads at the sampler's rate or faster; NAN: no tick yet.
 */
static double achieved_period_s(const struct wl_sampler *s)
{
    double slowest = NAN;
    for (size_t i = 0; i < s->n_workers; i++) {
        struct wl_worker *w = s->workers[i];
        if (w->period_ns > s->period_ns) continue;
        pthread_mutex_lock(&w->lock);
        if (w->regular_ticks > 0)
            slowest =
                fmax(slowest, (double)(w->last_tick_ns - w->thread_start_ns) / WL_NS_PER_S / (double)w->regular_ticks);
        pthread_mutex_unlock(&w->lock);
    }
    return slowest;
}

void wl_sampler_stats(const struct wl_sampler *s, struct wl_sampler_stats *out)
{
    *out = (struct wl_sampler_stats) {
        .period_s = (double)s->period_ns / WL_NS_PER_S,
        .achieved_period_s = achieved_period_s(s),
        .memory_bytes = s->memory_bytes,
        .threads = (int)s->n_workers,
    };
    for (size_t i = 0; i < s->n_workers; i++) {
        struct wl_worker *w = s->workers[i];
        pthread_mutex_lock(&w->lock);
        out->ticks += w->ticks;
        out->skipped += w->skipped;
        out->samples += w->samples;
        out->lost += w->lost;
        out->errors += w->errors;
        out->cpu_ns += w->cpu_ns;
        pthread_mutex_unlock(&w->lock);
    }
}

static const struct wl_sampler_source *source_of(const struct wl_sampler *s, size_t channel)
{
    size_t i = 0;
    while (channel >= s->sources[i]->sensor->first_channel + s->sources[i]->sensor->n_channels) i++;
    return s->sources[i];
}

void wl_sampler_channel_stats(const struct wl_sampler *s, size_t channel, struct wl_channel_stats *out)
{
    const struct wl_sampler_source *source = source_of(s, channel);
    pthread_mutex_lock(&source->worker->lock);
    struct wl_channel_tally t = source->tallies[channel - source->sensor->first_channel];
    pthread_mutex_unlock(&source->worker->lock);
    *out =
        (struct wl_channel_stats) { .samples = t.samples, .errors = t.errors, .last_why = t.why, .gap_ns = t.gap_ns };
    if (t.failing) out->gap_ns += (s->stop_ns ? s->stop_ns : wl_now_ns()) - (t.good_ns ? t.good_ns : s->start_ns);
}

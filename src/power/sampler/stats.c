/* What became of each channel, and of all readings together. */
#include "power/sampler/worker.h"

#include <math.h>

static void count_failure(struct wl_channel_tally *t, struct wl_worker *w, const char *why)
{
    t->why = why;
    t->failing = true;
    t->errors++;
    w->errors++;
}

/* A gap reaches from the last good reading before the failures to the first good one behind them; where there was
 * none before, from the sampler's start. */
static void count_good(struct wl_channel_tally *t, int64_t start_ns, int64_t t_ns)
{
    if (t->failing) t->gap_ns += t_ns - (t->good_ns ? t->good_ns : start_ns);
    t->failing = false;
    t->good_ns = t_ns;
    t->samples++;
}

/* A value, or why there is none. */
static void put(struct wl_worker *w, const struct wl_sampler_source *s, size_t c, const struct wl_reading *r)
{
    struct wl_channel_tally *t = &s->tallies[c];
    bool slow = t->energetic && r->took_ns > WL_SLOW_NS, good = isfinite(r->value) && !slow;
    if (good)
        count_good(t, w->start_ns, r->t_ns);
    else
        count_failure(t, w, slow ? WL_SLOW_WHY : r->why);
    struct wl_sample sample = { .t_ns = r->t_ns,
                                .value = good ? r->value : NAN,
                                .channel = (uint32_t)(s->sensor->first_channel + c) };
    if (wl_ring_push(&w->ring, &sample))
        w->samples++;
    else
        w->lost++;
}

void wl_worker_publish(struct wl_worker *w, const struct wl_sampler_source *s, bool energetic_only)
{
    for (size_t c = 0; c < s->sensor->n_channels; c++) {
        const struct wl_reading *r = &s->sensor->readings[c];
        if (energetic_only && !s->tallies[c].energetic) continue;
        if (isfinite(r->value) || r->why) put(w, s, c, r);
    }
}

void wl_worker_publish_failure(struct wl_worker *w, const struct wl_sampler_source *s, const char *why)
{
    struct wl_reading failed;
    wl_reading_fail(&failed, why);
    for (size_t c = 0; c < s->sensor->n_channels; c++) put(w, s, c, &failed);
}

/* ---- What the sampler tells of it ---- */

/* The mean time between the ticks of the thread that was slowest, of those at the sampler's own rate or above it; NAN
 * before any thread's first. */
static double achieved_period_s(const struct wl_sampler *s)
{
    double slowest = NAN;
    for (size_t i = 0; i < s->n_workers; i++) {
        struct wl_worker *w = s->workers[i];
        if (w->period_ns > s->period_ns) continue;
        pthread_mutex_lock(&w->lock);
        if (w->beats > 0) slowest = fmax(slowest, (double)(w->beat_ns - w->born_ns) / WL_NS_PER_S / (double)w->beats);
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

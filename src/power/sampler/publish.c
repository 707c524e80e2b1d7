/* Readings go into the ring and are counted. */
#include "power/sampler/worker.h"

#include <math.h>

static void count_failure(struct wl_channel_tally *t, struct wl_worker *w, const char *why)
{
    t->why = why;
    t->failing = true;
    t->errors++;
    w->errors++;
}

/* A gap extends from the last good reading, or the sampler's start, to the first good one after the failures. */
static void count_good(struct wl_channel_tally *t, int64_t start_ns, int64_t t_ns)
{
    if (t->failing) t->gap_ns += t_ns - (t->good_ns ? t->good_ns : start_ns);
    t->failing = false;
    t->good_ns = t_ns;
    t->samples++;
}

/* A value, or a failure. */
static void put(struct wl_worker *w, const struct wl_sampler_source *s, size_t c, const struct wl_reading *r)
{
    struct wl_channel_tally *t = &s->tallies[c];
    bool slow = t->is_energy && r->took_ns > WL_SLOW_NS, good = isfinite(r->value) && !slow;
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

void wl_worker_publish(struct wl_worker *w, const struct wl_sampler_source *s, bool energy_only)
{
    for (size_t c = 0; c < s->sensor->n_channels; c++) {
        const struct wl_reading *r = &s->sensor->readings[c];
        if (energy_only && !s->tallies[c].is_energy) continue;
        if (isfinite(r->value) || r->why) put(w, s, c, r);
    }
}

void wl_worker_publish_failure(struct wl_worker *w, const struct wl_sampler_source *s, const char *why)
{
    struct wl_reading failed;
    wl_reading_fail(&failed, why);
    for (size_t c = 0; c < s->sensor->n_channels; c++) put(w, s, c, &failed);
}

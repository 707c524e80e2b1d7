/* A thread of the sampler: reads its sensors at absolute deadlines. docs/adr/040 has the reasons. */
#include "power/sampler/worker.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* An edge of a window is known to within a step of the counter, unless a burst of readings catches the instants of the
 * steps around it. Counters with shorter steps need no burst; longer ones are not waited for. */
static const double min_step_s = 0.005, max_step_s = 0.25;
static const int64_t burst_step_ns = WL_NS_PER_S / 500;

/* Maximum length of a burst in steps of the slowest counter: enough for two edges. */
static const double burst_steps = 2.2;

/* Attempts at a reading at an end of the job. */
enum { EDGE_TRIES = 4 };

/* A remembered update period that differs by more than this share is wrong: drivers use round numbers. */
static const double period_tolerance = 0.1;

/* ---- Setting up ---- */

static bool is_power_or_energy(const struct wl_channel *c)
{
    return c->quantity == WL_POWER || c->quantity == WL_POWER_AVERAGE || c->quantity == WL_ENERGY;
}

bool wl_sampler_detects_edges(double step_s) { return step_s >= min_step_s && step_s <= max_step_s; }

static bool has_steps(const struct wl_channel *c)
{
    return c->quantity == WL_ENERGY && !c->estimated && wl_sampler_detects_edges(c->update_s);
}

struct wl_sampler_source *wl_sampler_source_new(struct wl_sensor *s, const struct wl_channel *channels,
                                                struct wl_arena *a)
{
    struct wl_sampler_source *source = wl_new(a, struct wl_sampler_source);
    *source = (struct wl_sampler_source) { .sensor = s,
                                           .tallies = wl_new_array(a, struct wl_channel_tally, s->n_channels),
                                           .changes = wl_new_array(a, struct wl_change_detector, s->n_channels) };
    for (size_t c = 0; c < s->n_channels; c++) {
        source->tallies[c].is_energy = is_power_or_energy(&channels[c]);
        source->tallies[c].stepped = has_steps(&channels[c]);
        if (source->tallies[c].stepped) source->step_s = fmax(source->step_s, channels[c].update_s);
    }
    return source;
}

/* Maximum duration of a burst. A remembered update period may be shorter than the true one. */
static int64_t burst_ns(const struct wl_sampler_source *s)
{
    double step_s = s->step_s > 0 && s->sensor->ops->update_period_wrong ? max_step_s : s->step_s;
    return (int64_t)(burst_steps * step_s * WL_NS_PER_S);
}

/* Maximum number of samples of a burst, during which the ring is not drained. */
static size_t burst_samples(const struct wl_sampler_source *s)
{
    size_t is_energy = 0;
    for (size_t c = 0; c < s->sensor->n_channels; c++) is_energy += s->tallies[c].is_energy ? 1 : 0;
    return is_energy * ((size_t)(burst_ns(s) / burst_step_ns) + 1);
}

static bool has_energy(const struct wl_sampler_source *s)
{
    for (size_t c = 0; c < s->sensor->n_channels; c++)
        if (s->tallies[c].is_energy) return true;
    return false;
}

bool wl_worker_has_energy(const struct wl_worker *w)
{
    for (size_t i = 0; i < w->n_sources; i++)
        if (has_energy(w->sources[i])) return true;
    return false;
}

int64_t wl_worker_burst_ns(const struct wl_worker *w)
{
    int64_t sum = 0;
    for (size_t i = 0; i < w->n_sources; i++) sum += burst_ns(w->sources[i]);
    return sum;
}

struct wl_worker *wl_worker_new(struct wl_sampler_source **sources, size_t n, int64_t period_ns, double ring_s,
                                struct wl_arena *a)
{
    struct wl_worker *w = wl_new(a, struct wl_worker);
    size_t channels = 0, at_edges = 0;
    *w = (struct wl_worker) { .period_ns = period_ns, .sources = sources, .n_sources = n };
    for (size_t i = 0; i < n; i++) {
        channels += sources[i]->sensor->n_channels;
        at_edges += burst_samples(sources[i]);
        sources[i]->worker = w;
    }
    double ticks = ring_s * WL_NS_PER_S / (double)period_ns;
    /* The first and last readings and those at two edges, with all attempts. */
    wl_ring_init(&w->ring, channels * ((size_t)ticks + 4 * EDGE_TRIES) + at_edges, a);
    wl_thread_cond_init(&w->lock, &w->change);
    return w;
}

/* ---- Reading: only read_source and pause_until release the lock ---- */

static void fail_readings(struct wl_sensor *s, const char *why)
{
    for (size_t c = 0; c < s->n_channels; c++)
        if (isfinite(s->readings[c].value)) wl_reading_fail(&s->readings[c], why);
}

/* Returns false: the worker was abandoned meanwhile. */
static bool read_source(struct wl_worker *w, struct wl_sampler_source *s, struct wl_due due)
{
    int64_t t0_ns = wl_now_ns();
    w->reading = s;
    w->since_ns = t0_ns;
    w->stall_reported = false;
    pthread_mutex_unlock(&w->lock);
    wl_sensor_read(s->sensor, due);
    pthread_mutex_lock(&w->lock);
    w->reading = NULL;
    if (w->abandoned) return false;
    if (wl_now_ns() - t0_ns >= WL_STALL_NS) fail_readings(s->sensor, "the sensor took longer than a second to answer");
    return true;
}

static void pause_until(struct wl_worker *w, int64_t t_ns)
{
    pthread_mutex_unlock(&w->lock);
    wl_sleep_until(t_ns);
    pthread_mutex_lock(&w->lock);
}

/* A reading at an end of the job, which its energy depends on: one that took long is repeated, so that there is one
 * with a known instant on a busy machine too. */
static bool read_edge(struct wl_worker *w, struct wl_sampler_source *s, struct wl_due due, bool energy_only)
{
    int64_t usual_ns = (int64_t)(2 * s->sensor->read_s * WL_NS_PER_S), took_ns = INT64_MAX;
    int64_t limit_ns = usual_ns > WL_SLOW_NS / 4 ? usual_ns : WL_SLOW_NS / 4;
    for (int i = 0; i < EDGE_TRIES && took_ns > limit_ns; i++) {
        int64_t t0_ns = wl_now_ns();
        if (!read_source(w, s, due)) return false;
        wl_worker_publish(w, s, energy_only);
        took_ns = wl_now_ns() - t0_ns;
        if (took_ns >= WL_STALL_NS) break;
    }
    return true;
}

/* wl_sampler_isolate_stalled may move the other sources away meanwhile: then this one is the first and only one. */
static bool tick(struct wl_worker *w, struct wl_due due)
{
    for (size_t i = 0; i < w->n_sources; i++) {
        struct wl_sampler_source *s = w->sources[i];
        if (due.all) {
            if (!read_edge(w, s, due, false)) return false;
            continue;
        }
        if (!read_source(w, s, due)) return false;
        wl_worker_publish(w, s, false);
    }
    w->ticks++;
    return true;
}

/* The poll intervals that are due at the tick of this time: each at the nearest tick. */
static struct wl_due due_at(struct wl_worker *w, int64_t t_ns)
{
    struct wl_due due = { .interval = WL_POLL_EVERY_TICK };
    for (enum wl_poll_interval p = WL_POLL_EVERY_TICK + 1; p < WL_POLL_INTERVALS; p++) {
        int64_t interval_ns = (int64_t)(wl_poll_interval_s(p) * WL_NS_PER_S),
                late_ns = t_ns + w->period_ns / 2 - w->due_ns[p];
        if (late_ns < 0) continue;
        w->due_ns[p] += (late_ns / interval_ns + 1) * interval_ns;
        due.interval = p;
    }
    return due;
}

/* ---- Edges of counters ---- */

/* Has each counter that can be read shown its edges? */
static bool detect_changes(const struct wl_sampler_source *s, int edges)
{
    bool all = true;
    for (size_t c = 0; c < s->sensor->n_channels; c++) {
        const struct wl_reading *r = &s->sensor->readings[c];
        if (!s->tallies[c].is_energy) continue;
        wl_change_detector_add(&s->changes[c], r->value, r->t_ns);
        all &= !s->tallies[c].stepped || s->changes[c].n >= edges || !isfinite(r->value);
    }
    return all;
}

/* Do the changes contradict the remembered period? Power may return to its value, so fewer changes of it prove nothing.
 * A counter that changed less often during the burst has longer steps than was assumed. */
static bool contradicts(const struct wl_channel *c, const struct wl_change_detector *m, int edges)
{
    bool counter = c->quantity == WL_ENERGY;
    double off_s = wl_change_detector_period_s(m) - c->update_s;
    if (isnan(c->update_s) || !isfinite(m->value)) return false;
    if (m->n < 2) return counter && m->n < edges;
    return (counter ? fabs(off_s) : -off_s) > period_tolerance * c->update_s + wl_change_detector_error_s(m);
}

/* Corrects the update periods of a sensor that remembers them. */
static void update_periods(const struct wl_sampler_source *s, int edges)
{
    struct wl_sensor *sensor = s->sensor;
    for (size_t i = 0; i < sensor->n_channels; i++) {
        struct wl_channel *c = &sensor->channels[i];
        bool of_power = c->quantity == WL_POWER || s->tallies[i].stepped;
        if (!of_power || !contradicts(c, &s->changes[i], edges)) continue;
        c->update_s = wl_change_detector_period_s(&s->changes[i]);
        sensor->ops->update_period_wrong(sensor, c->device);
    }
}

void wl_worker_report_update_periods(const struct wl_worker *w, struct wl_sensors *all)
{
    for (size_t i = 0; i < w->n_sources; i++) {
        const struct wl_sensor *s = w->sources[i]->sensor;
        for (size_t c = 0; c < s->n_channels; c++)
            all->channels[s->first_channel + c].update_s = s->channels[c].update_s;
    }
}

/* Reads power, its mean and energy until all counters have shown their edges. */
static bool read_burst(struct wl_worker *w, struct wl_sampler_source *s)
{
    int64_t next = wl_now_ns(), end = next + burst_ns(s);
    for (size_t c = 0; c < s->sensor->n_channels; c++) s->changes[c] = wl_change_detector_none;
    for (bool shown = false; next < end && !shown; next += burst_step_ns) {
        pause_until(w, next);
        if (!read_source(w, s, (struct wl_due) { .interval = WL_POLL_EVERY_TICK, .all = true })) return false;
        wl_worker_publish(w, s, true);
        shown = detect_changes(s, w->edges);
    }
    if (s->step_s > 0 && s->sensor->ops->update_period_wrong) update_periods(s, w->edges);
    return true;
}

static bool answer_request(struct wl_worker *w)
{
    const struct wl_due due = { .interval = WL_POLL_EVERY_TICK, .all = true };
    for (size_t i = 0; i < w->n_sources; i++) {
        struct wl_sampler_source *s = w->sources[i];
        if (!has_energy(s)) continue;
        if (burst_ns(s) > 0 ? !read_burst(w, s) : !read_edge(w, s, due, true)) return false;
    }
    w->edges = 0;
    w->answered = true;
    pthread_cond_broadcast(&w->change);
    return true;
}

/* ---- The thread ---- */

/* Sleeps until the deadline, a request for edges or the stop, whichever comes first. A condition variable with an
 * absolute monotonic deadline is as punctual as clock_nanosleep(TIMER_ABSTIME), and can be woken at once. */
static void sleep_until(struct wl_worker *w, int64_t t_ns)
{
    struct timespec deadline = { .tv_sec = t_ns / WL_NS_PER_S, .tv_nsec = t_ns % WL_NS_PER_S };
    int rc = 0;
    while (!w->stop && w->edges == 0 && rc != ETIMEDOUT) rc = pthread_cond_timedwait(&w->change, &w->lock, &deadline);
}

/* Deadlines are start + k * period. A tick whose time has already passed is skipped, so that a late reading does not
 * shift later ones. */
static bool regular_tick(struct wl_worker *w, int64_t *k)
{
    int64_t now_ns = wl_now_ns();
    w->last_tick_ns = now_ns;
    w->regular_ticks++;
    if (!tick(w, due_at(w, now_ns))) return false;
    int64_t next = (wl_now_ns() - w->start_ns) / w->period_ns + 1;
    if (next > *k + 1) w->skipped += (uint64_t)(next - *k - 1);
    *k = next;
    return true;
}

static bool signal_done(struct wl_worker *w, bool *what)
{
    w->cpu_ns = wl_clock_thread_cpu_ns();
    *what = true;
    pthread_cond_broadcast(&w->change);
    return true;
}

static void work_locked(struct wl_worker *w)
{
    int64_t k = (wl_now_ns() - w->start_ns) / w->period_ns + 1;
    if (!w->began && (!tick(w, WL_DUE_ALL) || !signal_done(w, &w->began))) return;
    for (;;) {
        sleep_until(w, w->start_ns + k * w->period_ns);
        if (w->stop) break;
        if (w->edges > 0 ? !answer_request(w) : !regular_tick(w, &k)) return;
        w->cpu_ns = wl_clock_thread_cpu_ns();
    }
    if (tick(w, WL_DUE_ALL)) signal_done(w, &w->ended);
}

static void *work(void *arg)
{
    struct wl_worker *w = arg;
    pthread_mutex_lock(&w->lock);
    work_locked(w);
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

int wl_worker_start(struct wl_worker *w, int64_t start_ns, bool first, struct wl_err *e)
{
    w->start_ns = start_ns;
    w->thread_start_ns = first ? start_ns : wl_now_ns();
    w->began = !first;
    for (enum wl_poll_interval p = 0; p < WL_POLL_INTERVALS; p++)
        w->due_ns[p] = w->thread_start_ns + (int64_t)(wl_poll_interval_s(p) * WL_NS_PER_S);
    int rc = wl_thread_start(&w->thread, "wl-sampler", work, w);
    return rc == 0 ? 0 : wl_fail(e, WL_ENOMEM, "cannot start a sampler thread: %s", strerror(rc));
}

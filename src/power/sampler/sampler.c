/* Starts, watches and ends the threads that read the sensors. */
#include "power/sampler/sampler.h"

#include "power/sampler/worker.h"

#include <math.h>

static const double default_ring_s = 30;

/* Timeout for a single reading at an end of the job; a slower sensor is read soon after it. */
static const int64_t READING_NS = WL_NS_PER_S / 4;

/* A sensor is slow, and gets a thread of its own, when its first reading took more than this share of the period. */
static const double slow_share = 1.0 / 20;

/* ---- Workers ---- */

/* The sampler's period, or that of a sensor that is read less or more often. */
static int64_t period_of(const struct wl_sampler *s, const struct wl_sensor *sensor)
{
    int64_t own = (int64_t)llround(sensor->min_period_s * WL_NS_PER_S),
            often = (int64_t)llround(sensor->burst_period_s * WL_NS_PER_S);
    if (often > 0 && often < s->period_ns) return often;
    return own > s->period_ns ? own : s->period_ns;
}

struct wl_worker *wl_sampler_add_worker(struct wl_sampler *s, struct wl_sampler_source **sources, size_t n,
                                        int64_t period_ns)
{
    struct wl_worker *w = wl_worker_new(sources, n, period_ns, s->ring_s, s->arena);
    s->memory_bytes += sizeof *w + w->ring.size * sizeof(struct wl_sample);
    s->workers[s->n_workers++] = w;
    return w;
}

static void find_sources(struct wl_sampler *s)
{
    const struct wl_sensors *sensors = s->sensors;
    s->sources = wl_new_array(s->arena, struct wl_sampler_source *, sensors->n_open);
    for (size_t i = 0; i < sensors->n_open; i++) {
        struct wl_sensor *sensor = sensors->open[i];
        if (sensor->n_channels == 0) continue;
        s->sources[s->n_sources++] = wl_sampler_source_new(sensor, &sensors->channels[sensor->first_channel], s->arena);
        s->memory_bytes += sensor->n_channels * sizeof(struct wl_channel_tally);
    }
}

/* One thread for all fast sensors, one for each other. */
static void assign_workers(struct wl_sampler *s)
{
    double limit_s = slow_share * (double)s->period_ns / WL_NS_PER_S;
    struct wl_sampler_source **fast = wl_new_array(s->arena, struct wl_sampler_source *, s->n_sources);
    size_t n_fast = 0;
    s->workers = wl_new_array(s->arena, struct wl_worker *, 2 * s->n_sources); /* twice as many: for isolated sensors */
    for (size_t i = 0; i < s->n_sources; i++) {
        const struct wl_sensor *sensor = s->sources[i]->sensor;
        int64_t period_ns = period_of(s, sensor);
        if (sensor->read_s <= limit_s && period_ns == s->period_ns)
            fast[n_fast++] = s->sources[i];
        else
            wl_sampler_add_worker(s, &s->sources[i], 1, period_ns);
    }
    if (n_fast > 0) wl_sampler_add_worker(s, fast, n_fast, s->period_ns);
}

void wl_worker_bind(struct wl_worker *w, int64_t cpu)
{
    cpu_set_t one;
    if (cpu < 0) return;
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    (void)pthread_setaffinity_np(w->thread, sizeof one, &one);
}

/* ---- Start and stop ---- */

static void ask_to_stop(struct wl_worker *w)
{
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_broadcast(&w->change);
    pthread_mutex_unlock(&w->lock);
}

/* Waits for the last readings, or abandons the worker. */
static void await_end(struct wl_sampler *s, struct wl_worker *w)
{
    pthread_mutex_lock(&w->lock);
    bool ended = wl_thread_cond_wait(&w->change, &w->lock, &w->ended,
                                     s->abandoned ? WL_DRIVER_TIMEOUT_NS / 4 : WL_DRIVER_TIMEOUT_NS);
    pthread_mutex_unlock(&w->lock);
    if (!ended) wl_sampler_isolate_stalled(s, w);
    pthread_mutex_lock(&w->lock);
    ended = w->ended;
    if (!ended) wl_sampler_abandon(s, w);
    pthread_mutex_unlock(&w->lock);
    if (ended)
        pthread_join(w->thread, NULL);
    else
        pthread_detach(w->thread);
}

void wl_sampler_stop(struct wl_sampler *s)
{
    if (s->stop_ns != 0) return;
    for (size_t i = 0; i < s->n_workers; i++) ask_to_stop(s->workers[i]);
    for (size_t i = 0; i < s->n_workers; i++) await_end(s, s->workers[i]); /* n_workers may grow */
    s->stop_ns = wl_now_ns();
}

static void release(void *arg)
{
    struct wl_sampler *s = arg;
    wl_sampler_stop(s);
    if (s->abandoned) {
        wl_arena_leak(s->arena);
        return;
    }
    for (size_t i = 0; i < s->n_workers; i++) {
        pthread_cond_destroy(&s->workers[i]->change);
        pthread_mutex_destroy(&s->workers[i]->lock);
    }
    wl_arena_free(s->arena);
}

static int start_workers(struct wl_sampler *s, struct wl_err *e)
{
    for (size_t i = 0; i < s->n_workers; i++) {
        int code = wl_worker_start(s->workers[i], s->start_ns, true, e);
        if (code == 0) continue;
        s->n_workers = i;
        return code;
    }
    for (size_t i = 0; i < s->n_workers; i++) {
        struct wl_worker *w = s->workers[i];
        pthread_mutex_lock(&w->lock);
        wl_thread_cond_wait(&w->change, &w->lock, &w->began, WL_DRIVER_TIMEOUT_NS);
        pthread_mutex_unlock(&w->lock);
    }
    return 0;
}

int wl_sampler_start_with(struct wl_sampler **out, struct wl_sensors *sensors, double rate_hz, double ring_s,
                          struct wl_arena *a, struct wl_err *e)
{
    if (!(rate_hz > 0 && rate_hz <= 1e6)) return wl_fail(e, WL_EINVAL, "sampling rate %g Hz is not above 0", rate_hz);
    struct wl_arena *own = wl_arena_new(NULL);
    struct wl_sampler *s = wl_new(own, struct wl_sampler);
    *s = (struct wl_sampler) { .arena = own,
                               .sensors = sensors,
                               .period_ns = (int64_t)llround(WL_NS_PER_S / rate_hz),
                               .ring_s = ring_s,
                               .cpu = -1,
                               .memory_bytes = sizeof *s };
    find_sources(s);
    assign_workers(s);
    wl_defer(a, release, s);
    s->start_ns = wl_now_ns();
    for (size_t i = 0; i < sensors->n_open; i++) {
        struct wl_sensor *sensor = sensors->open[i];
        if (sensor->ops->start) sensor->ops->start(sensor, s->start_ns);
    }
    *out = s;
    return start_workers(s, e);
}

int wl_sampler_start(struct wl_sampler **out, struct wl_sensors *sensors, double rate_hz, struct wl_arena *a,
                     struct wl_err *e)
{
    return wl_sampler_start_with(out, sensors, rate_hz, default_ring_s, a, e);
}

/* ---- While it runs ---- */

/* Requests the edges of counters, or one reading if there are none; false: the worker reads no power or energy, or does
 * not answer. */
static bool ask_for_edges(struct wl_worker *w, int edges)
{
    pthread_mutex_lock(&w->lock);
    bool asked = wl_worker_has_energy(w) && !w->stall_reported && w->began;
    w->edges = asked ? edges : 0;
    w->answered = false;
    if (asked) pthread_cond_broadcast(&w->change);
    pthread_mutex_unlock(&w->lock);
    return asked;
}

void wl_sampler_edges(struct wl_sampler *s, enum wl_sampler_edge_side edges)
{
    bool *asked = wl_new_array(s->arena, bool, s->n_workers);
    for (size_t i = 0; i < s->n_workers; i++) asked[i] = ask_for_edges(s->workers[i], (int)edges);
    for (size_t i = 0; i < s->n_workers; i++) {
        struct wl_worker *w = s->workers[i];
        pthread_mutex_lock(&w->lock);
        int64_t burst_step_ns = wl_worker_burst_ns(w),
                timeout_ns = burst_step_ns > 0 ? WL_DRIVER_TIMEOUT_NS + burst_step_ns : READING_NS;
        if (asked[i] && wl_thread_cond_wait(&w->change, &w->lock, &w->answered, timeout_ns))
            wl_worker_report_update_periods(w, s->sensors);
        pthread_mutex_unlock(&w->lock);
    }
}

void wl_sampler_bind(struct wl_sampler *s, int64_t cpu)
{
    s->cpu = cpu;
    for (size_t i = 0; i < s->n_workers; i++) wl_worker_bind(s->workers[i], cpu);
}

void wl_sampler_watch(struct wl_sampler *s, pid_t pid)
{
    for (size_t i = 0; i < s->sensors->n_open; i++) {
        struct wl_sensor *sensor = s->sensors->open[i];
        if (sensor->ops->watch) sensor->ops->watch(sensor, pid);
    }
}

size_t wl_sampler_drain(struct wl_sampler *s, struct wl_sample *out, size_t max)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_workers && s->stop_ns == 0; i++) wl_sampler_isolate_stalled(s, s->workers[i]);
    for (size_t i = 0; i < s->n_workers && n < max; i++) {
        n += wl_ring_pop(&s->workers[s->drain_from]->ring, out + n, max - n);
        s->drain_from = (s->drain_from + 1) % s->n_workers;
    }
    return n;
}

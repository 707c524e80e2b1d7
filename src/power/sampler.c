#include "power/internal.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

static const double default_ring_s = 30;

/* A sensor is slow, and gets a thread of its own, when its first reading took more than this share of the period. */
static const double slow_share = 1.0 / 20;

/* A reading that took longer is not used: nobody knows to which instant of that time its value belongs (a driver under a
 * lock, a node that was stopped). Its time is a gap. */
static const int64_t STALL_NS = WL_NS_PER_S;

/* The account of a channel: written by its one producer, read by anyone. */
struct tally {
    _Atomic uint64_t samples, errors;
    _Atomic int64_t gap_ns, good_ns; /* closed gaps; time of the last good reading, 0: none yet */
    _Atomic bool failing;
    const char *_Atomic why;
};

/* One thread, the sensors it reads and the ring it fills. Before the thread starts and after it ended, the thread
 * that calls start and stop is the producer. */
struct worker {
    struct wl_sampler *sampler;
    struct wl_sensor **sensors;
    size_t n_sensors;
    int64_t period_ns;
    struct wl_ring ring;
    pthread_t thread;
    bool running;
    bool dense; /* under the sampler's lock: the counters' edges are to be read now */
    _Atomic uint64_t ticks, skipped, samples, lost, errors;
    _Atomic uint64_t beats;                 /* ticks of the thread, so without the first and last samples */
    _Atomic int64_t beat_ns;                /* when the latest of them began */
    _Atomic int64_t cpu_ns, outside_cpu_ns; /* of the thread; of the first and last samples */
};

struct wl_sampler {
    struct wl_sensors *sensors;
    struct tally *tallies; /* [channel] */
    struct worker *workers;
    size_t n_workers;
    int64_t period_ns, start_ns, stop_ns; /* stop_ns 0: it runs */
    size_t memory_bytes;
    size_t drain_from;    /* the ring that the next drain starts with */
    pthread_mutex_t lock; /* of `stop` and its condition */
    pthread_cond_t wake;
    bool stop;
};

/* The counters have one writer: no read-modify-write is needed. */
static void add_u64(_Atomic uint64_t *to, uint64_t n)
{
    atomic_store_explicit(to, atomic_load_explicit(to, memory_order_relaxed) + n, memory_order_relaxed);
}

static void add_i64(_Atomic int64_t *to, int64_t n)
{
    atomic_store_explicit(to, atomic_load_explicit(to, memory_order_relaxed) + n, memory_order_relaxed);
}

static uint64_t get_u64(const _Atomic uint64_t *from) { return atomic_load_explicit(from, memory_order_relaxed); }
static int64_t get_i64(const _Atomic int64_t *from) { return atomic_load_explicit(from, memory_order_relaxed); }
static void set_i64(_Atomic int64_t *to, int64_t v) { atomic_store_explicit(to, v, memory_order_relaxed); }

/* ---- Reading ---- */

static void tally_failure(struct tally *t, struct worker *w, const char *why)
{
    atomic_store_explicit(&t->why, why, memory_order_relaxed);
    atomic_store_explicit(&t->failing, true, memory_order_relaxed);
    add_u64(&t->errors, 1);
    add_u64(&w->errors, 1);
}

/* A gap reaches from the last good reading before the failures to the first good one behind them; where there was
 * none before, from the sampler's start. */
static void tally_good(struct tally *t, int64_t start_ns, int64_t t_ns)
{
    if (atomic_load_explicit(&t->failing, memory_order_relaxed)) {
        int64_t good = get_i64(&t->good_ns);
        add_i64(&t->gap_ns, t_ns - (good ? good : start_ns));
        atomic_store_explicit(&t->failing, false, memory_order_relaxed);
    }
    set_i64(&t->good_ns, t_ns);
    add_u64(&t->samples, 1);
}

static bool is_energetic(const struct wl_channel *c) { return c->quantity == WL_POWER || c->quantity == WL_ENERGY; }

/* Which channels: all, or those of power and energy. */
enum { EVERYTHING, ENERGETIC };

static void publish(struct worker *w, const struct wl_sensor *s, int what)
{
    struct wl_sampler *all = w->sampler;
    for (size_t c = 0; c < s->n_channels; c++) {
        const struct wl_reading *r = &s->readings[c];
        bool good = isfinite(r->value);
        if (!good && !r->why) continue;
        size_t channel = s->first_channel + c;
        if (what == ENERGETIC && !is_energetic(&all->sensors->channels[channel])) continue;
        if (good)
            tally_good(&all->tallies[channel], all->start_ns, r->t_ns);
        else
            tally_failure(&all->tallies[channel], w, r->why);
        struct wl_sample sample = { .t_ns = r->t_ns, .value = good ? r->value : NAN, .channel = (uint32_t)channel };
        if (wl_ring_push(&w->ring, &sample))
            add_u64(&w->samples, 1);
        else
            add_u64(&w->lost, 1);
    }
}

static void fail_all(struct wl_sensor *s, const char *why)
{
    for (size_t c = 0; c < s->n_channels; c++)
        if (isfinite(s->readings[c].value)) wl_reading_fail(&s->readings[c], why);
}

static void tick(struct worker *w, bool all)
{
    for (size_t i = 0; i < w->n_sensors; i++) {
        int64_t t0_ns = wl_now_ns();
        wl_sensor_read(w->sensors[i], all);
        if (wl_now_ns() - t0_ns >= STALL_NS) fail_all(w->sensors[i], "the sensor took longer than a second to answer");
        publish(w, w->sensors[i], EVERYTHING);
    }
    add_u64(&w->ticks, 1);
}

/* First and last samples, by the thread that starts and stops. */
static void tick_outside(struct worker *w)
{
    int64_t cpu = wl_thread_cpu_ns();
    tick(w, true);
    add_i64(&w->outside_cpu_ns, wl_thread_cpu_ns() - cpu);
}

/* ---- Edges of counters that move in steps ---- */

/* A window that begins or ends between two steps of a counter is known to the step; read densely at its ends, the
 * steps' instants are known. Counters that move more often need no help, slower ones are not waited for.
 */
static const double least_step_s = 0.005, longest_step_s = 0.25;
static const int64_t dense_ns = WL_NS_PER_S / 500;

static bool has_steps(const struct wl_channel *c)
{
    return c->quantity == WL_ENERGY && !c->estimated && c->update_s >= least_step_s && c->update_s <= longest_step_s;
}

/* The longest step among the sensor's counters, 0: none has steps. */
static double step_s(const struct wl_sampler *s, const struct wl_sensor *sensor)
{
    double longest = 0;
    for (size_t c = 0; c < sensor->n_channels; c++) {
        const struct wl_channel *channel = &s->sensors->channels[sensor->first_channel + c];
        if (has_steps(channel)) longest = fmax(longest, channel->update_s);
    }
    return longest;
}

/* Reads the sensor densely for `steps` of its slowest counter and a little more. */
static void read_densely(struct worker *w, struct wl_sensor *sensor, double steps)
{
    int64_t next = wl_now_ns(), end = next + (int64_t)(steps * step_s(w->sampler, sensor) * WL_NS_PER_S);
    for (next += dense_ns; next < end; next += dense_ns) {
        wl_sleep_until(next);
        wl_sensor_read(sensor, true);
        publish(w, sensor, ENERGETIC);
    }
}

/* Two edges: the pace at rest before a start, and behind an end. */
static const double edge_steps = 2.2;

static void watch_edges(struct worker *w)
{
    for (size_t k = 0; k < w->n_sensors; k++) read_densely(w, w->sensors[k], edge_steps);
}

/* ---- Threads ---- */

enum woken { BY_STOP, BY_DEADLINE, BY_REQUEST };

/* Sleeps until the deadline, a request for dense readings or the stop, whichever comes first. A condition with an
 * absolute monotonic deadline keeps the time as clock_nanosleep(TIMER_ABSTIME) does, and can be woken at once. */
static enum woken sleep_until(struct worker *w, int64_t t_ns)
{
    struct wl_sampler *s = w->sampler;
    struct timespec deadline = { .tv_sec = t_ns / WL_NS_PER_S, .tv_nsec = t_ns % WL_NS_PER_S };
    pthread_mutex_lock(&s->lock);
    int rc = 0;
    while (!s->stop && !w->dense && rc != ETIMEDOUT) rc = pthread_cond_timedwait(&s->wake, &s->lock, &deadline);
    enum woken why = s->stop ? BY_STOP : w->dense ? BY_REQUEST : BY_DEADLINE;
    pthread_mutex_unlock(&s->lock);
    return why;
}

static void answer_request(struct worker *w)
{
    watch_edges(w);
    pthread_mutex_lock(&w->sampler->lock);
    w->dense = false;
    pthread_cond_broadcast(&w->sampler->wake);
    pthread_mutex_unlock(&w->sampler->lock);
}

/* Deadlines are start + k * period. A tick whose time has passed already is skipped, so that a late reading does not
 * shift those behind it. */
static void *work(void *arg)
{
    struct worker *w = arg;
    struct wl_sampler *s = w->sampler;
    int64_t k = 1;
    for (enum woken why; (why = sleep_until(w, s->start_ns + k * w->period_ns)) != BY_STOP;) {
        if (why == BY_REQUEST) {
            answer_request(w);
            set_i64(&w->cpu_ns, wl_thread_cpu_ns());
            continue;
        }
        set_i64(&w->beat_ns, wl_now_ns());
        add_u64(&w->beats, 1);
        tick(w, false);
        set_i64(&w->cpu_ns, wl_thread_cpu_ns());
        int64_t next = (wl_now_ns() - s->start_ns) / w->period_ns + 1;
        if (next > k + 1) add_u64(&w->skipped, (uint64_t)(next - k - 1));
        k = next;
    }
    set_i64(&w->cpu_ns, wl_thread_cpu_ns());
    return NULL;
}

/* Signals are for the program's own threads. */
static int spawn(struct worker *w, struct wl_err *e)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&w->thread, NULL, work, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0) return wl_fail(e, WL_ENOMEM, "cannot start a sampler thread: %s", strerror(rc));
    w->running = true;
    pthread_setname_np(w->thread, "wl-sampler");
    return 0;
}

static void halt(struct wl_sampler *s)
{
    pthread_mutex_lock(&s->lock);
    s->stop = true;
    pthread_cond_broadcast(&s->wake);
    pthread_mutex_unlock(&s->lock);
    for (size_t i = 0; i < s->n_workers; i++) {
        if (s->workers[i].running) pthread_join(s->workers[i].thread, NULL);
        s->workers[i].running = false;
    }
}

/* ---- Start and stop ---- */

static void *counted(struct wl_sampler *s, struct wl_arena *a, size_t n, size_t size)
{
    s->memory_bytes += n * size;
    return wl_alloc_array(a, n, size);
}

/* The sampler's period, or that of a sensor that is to be read less often. */
static int64_t period_of(const struct wl_sampler *s, const struct wl_sensor *sensor)
{
    int64_t own = (int64_t)llround(sensor->period_s * WL_NS_PER_S);
    return own > s->period_ns ? own : s->period_ns;
}

/* Worker 0 reads all fast sensors, the others one slow sensor each. */
static void share_out(struct wl_sampler *s, struct wl_arena *a)
{
    struct wl_sensors *sensors = s->sensors;
    double limit = slow_share * (double)s->period_ns / WL_NS_PER_S;
    s->workers = counted(s, a, sensors->n_open + 1, sizeof *s->workers);
    s->n_workers = 1;
    struct worker *fast = &s->workers[0];
    fast->period_ns = s->period_ns;
    fast->sensors = counted(s, a, sensors->n_open + 1, sizeof(struct wl_sensor *));
    for (size_t i = 0; i < sensors->n_open; i++) {
        struct wl_sensor *sensor = sensors->open[i];
        if (sensor->n_channels == 0) continue;
        if (sensor->read_s <= limit && period_of(s, sensor) == s->period_ns) {
            fast->sensors[fast->n_sensors++] = sensor;
            continue;
        }
        struct worker *own = &s->workers[s->n_workers++];
        own->sensors = counted(s, a, 1, sizeof(struct wl_sensor *));
        own->sensors[own->n_sensors++] = sensor;
        own->period_ns = period_of(s, sensor);
    }
}

static void init_rings(struct wl_sampler *s, double ring_s, struct wl_arena *a)
{
    for (size_t i = 0; i < s->n_workers; i++) {
        struct worker *w = &s->workers[i];
        size_t channels = 0;
        double dense = 0; /* readings of the edges at one end */
        for (size_t k = 0; k < w->n_sensors; k++) {
            channels += w->sensors[k]->n_channels;
            dense = fmax(dense, edge_steps * step_s(s, w->sensors[k]) * WL_NS_PER_S / (double)dense_ns);
        }
        size_t ticks = (size_t)(ring_s * WL_NS_PER_S / (double)w->period_ns + dense) + 2; /* and first and last */
        wl_ring_init(&w->ring, channels * ticks, a);
        s->memory_bytes += w->ring.size * sizeof(struct wl_sample);
        w->sampler = s;
    }
}

static void init_wake(struct wl_sampler *s)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->wake, &attr);
    pthread_condattr_destroy(&attr);
}

static void release(void *arg)
{
    struct wl_sampler *s = arg;
    halt(s);
    pthread_cond_destroy(&s->wake);
    pthread_mutex_destroy(&s->lock);
}

int wl_sampler_start_with(struct wl_sampler **out, struct wl_sensors *sensors, double rate_hz, double ring_s,
                          struct wl_arena *a, struct wl_err *e)
{
    if (!(rate_hz > 0 && rate_hz <= 1e6)) return wl_fail(e, WL_EINVAL, "sampling rate %g Hz is not above 0", rate_hz);
    struct wl_sampler *s = wl_new(a, struct wl_sampler);
    s->memory_bytes = sizeof *s;
    s->sensors = sensors;
    s->period_ns = (int64_t)llround(WL_NS_PER_S / rate_hz);
    s->tallies = counted(s, a, sensors->n_channels, sizeof *s->tallies);
    share_out(s, a);
    init_rings(s, ring_s, a);
    init_wake(s);
    wl_defer(a, release, s);

    s->start_ns = wl_now_ns();
    for (size_t i = 0; i < sensors->n_open; i++) {
        struct wl_sensor *sensor = sensors->open[i];
        if (sensor->ops->start) sensor->ops->start(sensor, s->start_ns);
    }
    for (size_t i = 0; i < s->n_workers; i++) tick_outside(&s->workers[i]);
    for (size_t i = 0; i < s->n_workers; i++) {
        if (s->workers[i].n_sensors == 0) continue;
        int code = spawn(&s->workers[i], e);
        if (code < 0) return code;
    }
    *out = s;
    return 0;
}

int wl_sampler_start(struct wl_sampler **out, struct wl_sensors *sensors, double rate_hz, struct wl_arena *a,
                     struct wl_err *e)
{
    return wl_sampler_start_with(out, sensors, rate_hz, default_ring_s, a, e);
}

static bool any_dense(const struct wl_sampler *s)
{
    for (size_t i = 0; i < s->n_workers; i++)
        if (s->workers[i].dense) return true;
    return false;
}

void wl_sampler_edges(struct wl_sampler *s)
{
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->n_workers; i++) {
        struct worker *w = &s->workers[i];
        for (size_t k = 0; k < w->n_sensors && w->running; k++) w->dense = w->dense || step_s(s, w->sensors[k]) > 0;
    }
    pthread_cond_broadcast(&s->wake);
    while (any_dense(s)) pthread_cond_wait(&s->wake, &s->lock);
    pthread_mutex_unlock(&s->lock);
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
    for (size_t i = 0; i < s->n_workers && n < max; i++) {
        n += wl_ring_pop(&s->workers[s->drain_from].ring, out + n, max - n);
        s->drain_from = (s->drain_from + 1) % s->n_workers;
    }
    return n;
}

void wl_sampler_stop(struct wl_sampler *s)
{
    if (s->stop_ns != 0) return;
    halt(s);
    for (size_t i = 0; i < s->n_workers; i++) tick_outside(&s->workers[i]);
    s->stop_ns = wl_now_ns();
}

/* ---- Accounts ---- */

/* The mean time between the ticks of the thread that was slowest, of those at the sampler's own rate; NAN before any
 * thread's first. */
static double achieved_period_s(const struct wl_sampler *s)
{
    double slowest = NAN;
    for (size_t i = 0; i < s->n_workers; i++) {
        const struct worker *w = &s->workers[i];
        uint64_t beats = get_u64(&w->beats);
        if (beats == 0 || w->period_ns != s->period_ns) continue;
        slowest = fmax(slowest, (double)(get_i64(&w->beat_ns) - s->start_ns) / WL_NS_PER_S / (double)beats);
    }
    return slowest;
}

void wl_sampler_stats(const struct wl_sampler *s, struct wl_sampler_stats *out)
{
    *out = (struct wl_sampler_stats) {
        .period_s = (double)s->period_ns / WL_NS_PER_S,
        .achieved_period_s = achieved_period_s(s),
        .memory_bytes = s->memory_bytes,
    };
    for (size_t i = 0; i < s->n_workers; i++) {
        const struct worker *w = &s->workers[i];
        out->ticks += get_u64(&w->ticks);
        out->skipped += get_u64(&w->skipped);
        out->samples += get_u64(&w->samples);
        out->lost += get_u64(&w->lost);
        out->errors += get_u64(&w->errors);
        out->cpu_ns += get_i64(&w->cpu_ns) + get_i64(&w->outside_cpu_ns);
        out->threads += w->n_sensors > 0 ? 1 : 0;
    }
}

void wl_sampler_channel_stats(const struct wl_sampler *s, size_t channel, struct wl_channel_stats *out)
{
    const struct tally *t = &s->tallies[channel];
    *out = (struct wl_channel_stats) {
        .samples = get_u64(&t->samples),
        .errors = get_u64(&t->errors),
        .last_why = atomic_load_explicit(&t->why, memory_order_relaxed),
        .gap_ns = get_i64(&t->gap_ns),
    };
    if (!atomic_load_explicit(&t->failing, memory_order_relaxed)) return;
    int64_t good = get_i64(&t->good_ns);
    out->gap_ns += (s->stop_ns ? s->stop_ns : wl_now_ns()) - (good ? good : s->start_ns);
}

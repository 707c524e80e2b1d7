/* The parts of the sampler. A worker is a thread, the sensors that it reads and the ring that it fills. sampler.c
 * starts and stops workers, stall.c handles reads that do not return, worker.c is the thread, publish.c counts
 * readings. A worker holds its lock except while it sleeps or reads: at those times others may look at it, ask it for
 * edges or abandon it.
 *
 * A read may never return. All that a worker's thread can touch is in the sampler's own arena, which is leaked when a
 * worker is abandoned: the thread ends by itself, if ever, and changes nothing more. */
#ifndef WL_POWER_SAMPLER_WORKER_H
#define WL_POWER_SAMPLER_WORKER_H

#include "base/thread.h"
#include "power/change_detector.h"
#include "power/sampler/ring.h"
#include "power/sensor.h"

/* Counts of one channel. */
struct wl_channel_tally {
    uint64_t samples, errors;
    int64_t gap_ns, good_ns; /* closed gaps; time of the last good reading, 0: none yet */
    bool failing;            /* the latest reading failed */
    bool is_energy;          /* power, mean power or energy */
    bool stepped;            /* a counter that moves in steps */
    const char *why;         /* the latest failure */
};

/* A sensor, and the worker that reads it. */
struct wl_sampler_source {
    struct wl_sensor *sensor;
    struct wl_worker *worker;
    struct wl_channel_tally *tallies;   /* [n_channels] */
    double step_s;                      /* the longest step of its counters, 0: none has steps */
    struct wl_change_detector *changes; /* [n_channels] during the latest burst */
};

struct wl_worker {
    int64_t start_ns, thread_start_ns, period_ns; /* start_ns: of the sampler */
    struct wl_sampler_source **sources;
    size_t n_sources;
    struct wl_ring ring; /* filled by the thread and, after its end, by whoever started it */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t change; /* of what follows, all of it under the lock */

    /* requests to the thread */
    bool stop;      /* take the last reading and end */
    int edges;      /* show this many edges of each counter now, 0: none */
    bool abandoned; /* nobody waits for it any more */

    /* set by the thread */
    bool began, ended, answered;             /* first reading done; last reading done; edges shown */
    const struct wl_sampler_source *reading; /* in a read of this source ... */
    int64_t since_ns;                        /* ... since then */
    bool stall_reported;                     /* this read takes too long: its channels have failed readings */
    int64_t due_ns[WL_POLL_INTERVALS];       /* when the quantities of each poll interval are read next */
    uint64_t ticks, regular_ticks, skipped, samples, lost, errors; /* regular: without the first and the last */
    int64_t last_tick_ns, cpu_ns; /* start of the latest regular tick; CPU time of the thread */
};

/* A read that takes this long (a driver that waits for a lock, a suspended node) does not tell the instant of its
 * value: the value is not used, and another thread takes over the worker's other sensors. */
#define WL_STALL_NS ((int64_t)WL_NS_PER_S)

struct wl_sampler {
    struct wl_arena *arena; /* holds all of this; leaked if a worker was abandoned */
    struct wl_sensors *sensors;
    struct wl_sampler_source **sources; /* in the order of their channels */
    size_t n_sources;
    struct wl_worker **workers;
    size_t n_workers;
    int64_t period_ns, start_ns, stop_ns; /* stop_ns 0: running */
    double ring_s;
    size_t memory_bytes;
    int64_t cpu;       /* CPU that its threads are bound to, below 0: none */
    size_t drain_from; /* the ring that the next drain starts with */
    bool abandoned;    /* one of its workers is */
};

/* ---- sampler.c ---- */

/* wl_sampler_start with rings that hold ring_s seconds. */
int wl_sampler_start_with(struct wl_sampler **out, struct wl_sensors *sensors, double rate_hz, double ring_s,
                          struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* A worker for these sources; no thread yet. */
struct wl_worker *wl_sampler_add_worker(struct wl_sampler *s, struct wl_sampler_source **sources, size_t n,
                                        int64_t period_ns);

/* Binds the worker's thread to a CPU; below 0: does nothing. */
void wl_worker_bind(struct wl_worker *w, int64_t cpu);

/* ---- stall.c ---- */

/* Reports a read that takes longer than WL_STALL_NS, once, and moves the worker's other sensors to a new worker. */
void wl_sampler_isolate_stalled(struct wl_sampler *s, struct wl_worker *w);

/* Nobody uses the worker's sensors again: they are not even closed. The caller holds the lock. */
void wl_sampler_abandon(struct wl_sampler *s, struct wl_worker *w);

/* ---- worker.c ---- */

/* The sensor's channels are in the order of `channels`; all counts are 0. */
struct wl_sampler_source *wl_sampler_source_new(struct wl_sensor *s, const struct wl_channel *channels,
                                                struct wl_arena *a);

/* With room for ring_s seconds; no thread yet. */
struct wl_worker *wl_worker_new(struct wl_sampler_source **sources, size_t n, int64_t period_ns, double ring_s,
                                struct wl_arena *a);

/* Starts the thread of a sampler that started at start_ns; if `first`, its first reading is of all quantities. */
int wl_worker_start(struct wl_worker *w, int64_t start_ns, bool first, struct wl_err *e) WL_MUST_CHECK;

/* Does it read power or energy? */
bool wl_worker_has_energy(const struct wl_worker *w);

/* The maximum duration of a burst of its sensors; 0: no counter has steps. */
int64_t wl_worker_burst_ns(const struct wl_worker *w);

/* Copies the update periods that a burst has found to the list of all channels. The caller holds the lock. */
void wl_worker_report_update_periods(const struct wl_worker *w, struct wl_sensors *all);

/* ---- publish.c ---- */

/* The sensor's readings, or only those of power and energy, go into the ring and are counted. */
void wl_worker_publish(struct wl_worker *w, const struct wl_sampler_source *s, bool energy_only);

/* A failed reading of each of its channels; the sensor itself is not accessed. */
void wl_worker_publish_failure(struct wl_worker *w, const struct wl_sampler_source *s, const char *why);

#endif

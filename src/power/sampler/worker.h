/* The parts of the sampler. A worker is a thread, the sensors that it reads and the ring that it fills; sampler.c
 * starts and ends them, worker.c is what they do, account.c counts. A worker holds its lock except while it sleeps or
 * reads, so that it can be looked at, asked and given up at those times.
 *
 * A reading may never return. All that a worker's thread can touch lies in an arena of the sampler's own, which is left
 * to it for good when it is given up: the thread ends by itself, if ever, and changes nothing more. */
#ifndef WL_POWER_SAMPLER_WORKER_H
#define WL_POWER_SAMPLER_WORKER_H

#include "base/thread.h"
#include "power/internal.h"

/* The account of a channel. */
struct wl_channel_tally {
    uint64_t samples, errors;
    int64_t gap_ns, good_ns;          /* closed gaps; time of the last good reading, 0: none yet */
    bool failing, energetic, stepped; /* energetic: power, its mean or energy; stepped: a counter that moves in steps */
    const char *why;                  /* the latest failure */
};

/* A sensor, and which worker reads it. */
struct wl_sampler_source {
    struct wl_sensor *sensor;
    struct wl_worker *worker;
    struct wl_channel_tally *tallies; /* [n_channels] */
    double step_s;                    /* the longest step among its counters, 0: none has steps */
    struct wl_change_detector *moves; /* [n_channels] while it was read densely the last time */
};

struct wl_worker {
    int64_t start_ns, period_ns, born_ns; /* of the sampler; born: of the thread */
    struct wl_sampler_source **sources;
    size_t n_sources;
    struct wl_ring ring; /* the thread fills it; behind its end, who started it */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t change;                                 /* of what follows; all of it is under the lock */
    bool stop;                                             /* asked of the thread: its last reading; */
    int edges;                                             /* so many edges of each counter now, 0: nothing */
    bool given_up;                                         /* nobody waits for it any more */
    bool began, ended, answered;                           /* told by it: first reading done; last one; the edges */
    const struct wl_sampler_source *reading;               /* what it reads now, */
    int64_t since_ns;                                      /* and since when */
    bool told;                                             /* that this takes too long */
    int64_t due_ns[WL_POLL_INTERVALS];                     /* when quantities of that pace are read next */
    uint64_t ticks, beats, skipped, samples, lost, errors; /* beats: ticks without the first and last one */
    int64_t beat_ns, cpu_ns;                               /* when the latest of them began; of the thread */
};

/* Nobody knows to which instant of so long a reading its value belongs (a driver under a lock, a node that was
 * stopped): it is not used, and what else the thread reads is read by another one from then on. */
#define WL_STALL_NS ((int64_t)WL_NS_PER_S)

struct wl_sampler {
    struct wl_arena *arena; /* holds all of this; left where a worker was given up */
    struct wl_sensors *sensors;
    struct wl_sampler_source **sources; /* in the order of their channels */
    size_t n_sources;
    struct wl_worker **workers;
    size_t n_workers;
    int64_t period_ns, start_ns, stop_ns; /* stop_ns 0: it runs */
    double ring_s;
    size_t memory_bytes;
    int64_t cpu;       /* that its threads are bound to, below 0: none */
    size_t drain_from; /* the ring that the next drain starts with */
    bool given_up;     /* some worker */
};

/* ---- worker.c ---- */

/* The sensor's channels in the order of `channels`, none of them counted yet. */
struct wl_sampler_source *wl_sampler_source_new(struct wl_sensor *s, const struct wl_channel *channels,
                                                struct wl_arena *a);

/* Room for ring_s seconds; no thread yet. */
struct wl_worker *wl_worker_new(struct wl_sampler_source **sources, size_t n, int64_t period_ns, double ring_s,
                                struct wl_arena *a);

/* Starts the thread of a sampler that started at start_ns; its first reading is of everything where `first`. */
int wl_worker_start(struct wl_worker *w, int64_t start_ns, bool first, struct wl_err *e) WL_MUST_CHECK;

/* Does it read power or energy? */
bool wl_worker_has_energy(const struct wl_worker *w);

/* How long the dense readings of its sensors take at most; 0: no counter has steps. */
int64_t wl_worker_burst_ns(const struct wl_worker *w);

/* What dense readings have told of its channels goes from the sensors to the list of all channels. The caller holds the
 * lock. */
void wl_worker_report_update_periods(const struct wl_worker *w, struct wl_sensors *all);

/* ---- account.c ---- */

/* The sensor's readings, or only those of power and energy, go into the ring and the accounts. */
void wl_worker_publish(struct wl_worker *w, const struct wl_sampler_source *s, bool energetic_only);

/* A failed reading of each of its channels; the sensor itself is not looked at. */
void wl_worker_publish_failure(struct wl_worker *w, const struct wl_sampler_source *s, const char *why);

#endif

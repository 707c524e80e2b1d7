/* Reads every channel on time and hands the samples to one consumer. */
#ifndef WL_POWER_SAMPLER_SAMPLER_H
#define WL_POWER_SAMPLER_SAMPLER_H

#include "power/sensors.h"

#include <sys/types.h>

/* One reading. t_ns is the middle of the read call or, of a mean since the previous reading (WL_VARIANT_MEAN,
 * cpu_util_pct), the middle of the time it covers. NAN is a failed reading: store it as NULL, it marks a gap. */
struct wl_sample {
    int64_t t_ns;
    double value;
    uint32_t channel;
};

struct wl_sampler;

/* Starts one thread for the fast sensors and one for each slow one (whose first reading took longer than a twentieth of
 * the period). Returns when they have taken the first samples, or after 2 s if some hang. Each thread keeps absolute
 * deadlines: a missed tick is skipped and counted. A reading allocates nothing. One sampler per process. */
int wl_sampler_start(struct wl_sampler **out, struct wl_sensors *sensors, double rate_hz, struct wl_arena *a,
                     struct wl_err *e) WL_MUST_CHECK;

/* Binds its threads to a CPU that this process may use (wl_affinity_check). */
void wl_sampler_bind(struct wl_sampler *s, int64_t cpu);

/* pid is a root process of the job: from now on `proc` follows it, its descendants and its process group, in addition
 * to those of earlier calls. Call it from one thread only. */
void wl_sampler_watch(struct wl_sampler *s, pid_t pid);

/* Reads power and energy at once, so that there are readings on both sides of an end of the job, at most a quarter of a
 * second from it. Counters that move in steps of 5 to 250 ms, and power with them, are read in a burst, every 2 ms
 * until each has shown so many steps: one before a window that begins after this call, since idle power is steady; two
 * after one that ended before it, for the slope between them. So the energy at the edges of the window is known.
 * Returns when that is done, after .55 s at most, or after a quarter of a second if no counter has such steps. Not
 * concurrently with wl_sampler_stop. */
enum wl_sampler_edge_side { WL_EDGES_BEFORE = 1, WL_EDGES_AFTER = 2 };
void wl_sampler_edges(struct wl_sampler *s, enum wl_sampler_edge_side edges);

/* Does wl_sampler_edges look for the edges of a counter with such steps? */
bool wl_sampler_detects_edges(double step_s);

/* Moves up to max samples into out and returns their number; 0: none now. Samples of a channel are in order of time;
 * channels are interleaved. One consumer thread. The rings hold at least 30 s: drain once per second. A sensor whose
 * reading takes longer than a second gets failed readings here, and a thread of its own. */
size_t wl_sampler_drain(struct wl_sampler *s, struct wl_sample *out, size_t max);

/* Ends the threads without waiting for their next tick; they take the last samples. A sensor that has not answered
 * after 2 s is abandoned: its channels end with a failed reading that says so, and its thread's memory is leaked. A
 * second call does nothing. Freeing the arena stops the sampler too. From the consumer's thread. */
void wl_sampler_stop(struct wl_sampler *s);

/* Statistics of one channel. */
struct wl_channel_stats {
    uint64_t samples;     /* good readings */
    uint64_t errors;      /* failed readings */
    const char *last_why; /* the text of the last failure, NULL: none */
    int64_t gap_ns;       /* time without a good reading, summed over all gaps due to failures */
};

/* Statistics of the sampler, at any time. */
struct wl_sampler_stats {
    double period_s;          /* requested: 1/rate */
    double achieved_period_s; /* the slowest thread's mean time between ticks, NAN before the first of a thread */
    uint64_t ticks;           /* readings of a thread's sensors, all threads together, first and last included */
    uint64_t skipped;         /* ticks skipped because the previous reading took too long */
    uint64_t samples;         /* written to the rings */
    uint64_t lost;            /* dropped because a ring was full */
    uint64_t errors;          /* failed readings */
    int64_t cpu_ns;           /* CPU time of the sampler threads and of the readings at start and stop */
    size_t memory_bytes;      /* rings and tables */
    int threads;
};
void wl_sampler_stats(const struct wl_sampler *s, struct wl_sampler_stats *out);
void wl_sampler_channel_stats(const struct wl_sampler *s, size_t channel, struct wl_channel_stats *out);

#endif

/* How long kernels take beside one another: they run in turns, and the shortest run of each counts. A run is measured
 * by the processor time of the thread that worked longest. So another process that takes a core away in one turn, or
 * in all of them, does not decide which kernel is taken (docs/adr/013). */
#ifndef WL_NN_CPU_TIMING_H
#define WL_NN_CPU_TIMING_H

#include "nn/cpu/dnnl_api.h"

/* What is run. */
struct wl_timed {
    int (*run)(void *context, struct wl_err *e);
    void *context;
    int64_t times; /* as often as this in a pass */
    int64_t best_ns;
};

/* Memory of what is run lives as long as the arena. */
struct wl_timings {
    struct wl_arena *arena;
    struct wl_timed *v;
    size_t n, cap;
};

/* Nanoseconds of work since the call before. */
typedef int64_t wl_lap_fn(void *context);

/* Of the thread that worked longest, by the processor time of each thread of parallel loops. */
wl_lap_fn wl_busiest_thread_lap;

void wl_timings_add(struct wl_timings *t, int (*run)(void *context, struct wl_err *e), void *context, int64_t times);

/* A primitive, on memory of its own, whose bytes are all WL_TIME_FILLING: .0115 in f32 and in bf16. */
enum { WL_TIME_FILLING = 0x3c };
int wl_timings_add_primitive(struct wl_timings *t, struct wl_cpu *c, const_dnnl_primitive_desc_t pd, struct wl_err *e);

/* Runs all, one after the other, a few times. */
int wl_timings_run(struct wl_timings *t, wl_lap_fn *lap, void *lap_context, struct wl_err *e);

/* Of what has been added from `first` to before `end`, together. */
double wl_timings_seconds(const struct wl_timings *t, size_t first, size_t end);

#endif

/* A libcuda without a GPU, stricter than a real one (cuda.c says how). What its files share; and what the fakes of
 * NVIDIA's other libraries use of it: wl_fake_enqueue and wl_fake_spend, by dlsym. */
#ifndef WL_TESTS_GPU_FAKE_FAKE_H
#define WL_TESTS_GPU_FAKE_FAKE_H

#include "../sim/kernel.h"

#include "cuda/api.h"

#include <stdbool.h>
#include <stdint.h>

#define FAKE_API __attribute__((visibility("default")))

/* Enqueues f(arg) on a stream: it runs with the device's memory open when the stream gets there, again each time that a
 * graph which captured it is launched. It may not call CUDA. `arg` is the caller's and stays valid. */
FAKE_API CUresult wl_fake_enqueue(CUstream s, void (*f)(void *), void *arg);

/* Where the stream is captured: released(arg), which may not call CUDA, is called when neither the graph, nor what was
 * instantiated of it, nor a launch of that is left. 1: it will be; 0: the stream is not captured. */
FAKE_API int wl_fake_retain(CUstream s, void (*released)(void *), void *arg);

/* To be called by work while it runs: it takes that much of the GPU's time more. */
FAKE_API void wl_fake_spend(int64_t ns);

/* How many calls there were: "allocations", "waits", "launches", "graphs". -1: not a name. */
FAKE_API long wl_fake_count(const char *what);

/* ---- settings (cuda.c): $WATTLAW_FAKE_GPU, "key=value;..." ---- */

long fake_key(const char *name, long fallback);

/* Prints why a call is refused, and returns its code. */
CUresult fake_refuse(CUresult code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* 0, or why nothing can be called: not initialised, another process, no context, the GPU has failed. */
CUresult fake_usable(void);
extern CUresult fake_failed; /* the GPU's: every later call returns it */

extern struct fake_counts {
    long allocations, waits, launches, graphs;
} fake_counts;

/* ---- memory.c ---- */

void fake_open_memory(bool open);
bool fake_on_device(const void *at, size_t n); /* wholly in one allocation */
bool fake_page_locked(const void *at, size_t n);
uint64_t fake_hash(const void *at, size_t n); /* not 0 */

/* ---- stream.c ---- */

enum fake_kind { FAKE_LAUNCH, FAKE_COPY, FAKE_SET, FAKE_RECORD, FAKE_WAIT, FAKE_CALL, FAKE_GRAPH };
enum { FAKE_MAX_DEPENDENCIES = 16 };

struct fake_op {
    struct fake_op *next; /* in its stream */
    enum fake_kind kind;
    struct wl_sim_launch launch;
    void *to;
    const void *from;
    size_t n;
    uint64_t hash; /* of a copy from page-locked memory: what it held when it was enqueued; 0: not known */
    int byte;
    CUevent event;
    uint64_t ticket; /* the record that a wait waits for */
    void (*call)(void *);
    void *arg;
    /* In a graph: nodes that come before. Of a launched graph: its nodes. */
    size_t after[FAKE_MAX_DEPENDENCIES], n_after;
    struct fake_op *nodes;
    struct fake_held *held;
    bool *done;
    size_t n_nodes, n_done;
};

CUresult fake_push(CUstream s, struct fake_op op);
bool fake_capturing(void); /* any stream */
bool fake_stream_captured(CUstream s);
CUresult fake_invalidate_captures(const char *why);

#endif

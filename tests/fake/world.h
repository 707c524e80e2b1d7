/* The simulated GPUs of a machine: a file that the fake NVML, the load program and the tests map, so that they share
 * one history of loads, limits and clocks. Without a path the world is private to the process. */
#ifndef FAKE_WORLD_H
#define FAKE_WORLD_H

#include "gpu_model.h"

enum { FAKE_GPUS = 16, FAKE_EVENTS = 4096 };

struct fake_world {
    uint64_t magic, seed;
    int32_t profile, gpus; /* profile: index for fake_profile_at */
    double spread;
    struct fake_history {
        uint32_t n;
        struct fake_event events[FAKE_EVENTS];
    } history[FAKE_GPUS];
};

/* Opens the world at path, or creates it as `wanted` (seed, profile, gpus, spread) with `start` as the first input of
 * each GPU. path "": in memory. NULL: it cannot be opened; errno says why. */
struct fake_world *fake_world_open(const char *path, const struct fake_world *wanted, const struct fake_input *start);

/* Opens an existing world; NULL: none. */
struct fake_world *fake_world_find(const char *path);

/* The path after "world=" in the fake NVML's script ($WATTLAW_FAKE_NVML); NULL: none. */
const char *fake_world_path(const char *script);

/* The GPU's model. */
void fake_world_gpu(struct fake_world *w, int gpu, struct fake_gpu *out);

/* Adds an event at t: `change` edits the latest inputs. Events of different processes stay in order: an instant before
 * the latest event counts as that one. */
void fake_world_change(struct fake_world *w, int gpu, int64_t t_ns,
                       void (*change)(struct fake_input *in, const void *to), const void *to);

int64_t fake_now_ns(void); /* CLOCK_MONOTONIC */

#endif

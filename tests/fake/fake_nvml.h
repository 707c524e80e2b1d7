/* Shared by the files of the fake libnvidia-ml.so.1: the script, its GPUs, the start of each call, and the physics.
 * Each file has the calls of one subject:
 *
 *     fake_nvml.c           init and shutdown, the list of GPUs
 *     fake_identity.c       facts about a GPU
 *     fake_power.c          power and energy
 *     fake_processes.c      processes, record of utilisation
 *     fake_utilization.c    utilisation, memory, temperature
 *     fake_fields.c         GetFieldValues
 *     fake_clocks.c         clocks and their event reasons
 *     fake_gpm.c            profiling counters
 *     fake_power_limits.c   power limits
 *     fake_locked_clocks.c  locked clocks
 *     fake_newer_drivers.c  calls that drivers of 2018 did not have
 *     fake_faults.c         failures, latency, hanging calls
 *
 * Power is the script's (constant, ramp, sine) or that of a model (gpu_model.h). Built without the newer files it is a
 * driver of 2018; with FAKE_BROKEN it lacks a function that every driver has. */
#ifndef FAKE_NVML_H
#define FAKE_NVML_H

#include "fake_script.h"
#include "fake_settings.h"
#include "power/nvml/api.h"

#include <time.h>

struct nvmlDevice_st {
    int index;
    double drawn_j, drawn_to_s, limit_w; /* constant power: energy up to then, and the limit in effect since */
    double reset_j;                      /* the counter at its reset; NAN: not yet */
    struct fake_gpu model;
};

extern struct fake_nvml {
    struct fake_script script;
    struct timespec start;
    struct fake_world *world; /* NULL: no model */
    struct nvmlDevice_st devices[FAKE_MOST_GPUS];
} fake;

double fake_time_s(void); /* since nvmlInit */

/* NVML_ERROR_INSUFFICIENT_SIZE if text does not fit. */
nvmlReturn_t fake_put(char *to, unsigned size, const char *text);

/* ---- fake_faults.c ---- */

/* The start of each call: its latency, and its scripted failure. d NULL: a call without a device. */
nvmlReturn_t fake_enter(nvmlDevice_t d, const char *call);
nvmlReturn_t fake_fault(nvmlDevice_t d, const char *call); /* the scripted failure only */

/* Returns from the calling function with the call's scripted failure. */
#define FAKE_ENTER(d, call)                       \
    do {                                          \
        nvmlReturn_t rc_ = fake_enter((d), call); \
        if (rc_ != NVML_SUCCESS) return rc_;      \
    } while (0)

/* ---- fake_power.c ---- */

void fake_follow_limit(nvmlDevice_t d); /* a limit or a lock is in effect from now on; earlier energy is unchanged */
unsigned fake_power_limit_mw(nvmlDevice_t d);                  /* as set, or the default */
unsigned fake_enforced_limit_mw(nvmlDevice_t d);               /* that, or a lower one set elsewhere */
unsigned fake_module_limit_mw(nvmlDevice_t d);                 /* of the GPU's module, as set or the default; 0: none */
unsigned fake_power_mw(nvmlDevice_t d);                        /* the power sensor's instant value */
unsigned fake_mean_power_mw(nvmlDevice_t d);                   /* its 1 s mean */
unsigned fake_temperature_c(nvmlDevice_t d, unsigned usual_c); /* the model's or the script's, else the usual one */
double fake_energy_j(nvmlDevice_t d); /* the counter, which has run for a while before nvmlInit */

/* ---- fake_clocks.c ---- */

unsigned fake_max_mhz(int type);
unsigned long long fake_event_reasons(nvmlDevice_t d);
double fake_capped_s(nvmlDevice_t d); /* time for which the power limit reduced the clock */

#endif

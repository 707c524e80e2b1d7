/* What the files of the fake libnvidia-ml.so.1 share: the script, its GPUs, what each call begins with, and the physics
 * behind the calls. One file answers the calls of one idea:
 *
 *     fake_nvml.c      init and shutdown, the list of GPUs       fake_gauges.c   utilisation, memory, temperature
 *     fake_identity.c  what a GPU is                             fake_fields.c   GetFieldValues
 *     fake_power.c     power and energy                          fake_clocks.c   clocks and their reasons
 *     fake_process.c   who is on it, its record of use           fake_caps.c     power limits
 *     fake_gpm.c       profiling counters                        fake_newer.c    what drivers of 2018 did not have
 *     fake_faults.c    failures, latency, hanging calls          fake_locks.c    locked clocks
 *
 * Power is the script's (constant, ramp, sine) or that of a model (model.h). Built without the newer ones of these
 * files it is a driver of the year 2018; with FAKE_BROKEN it lacks a function that every driver has. */
#ifndef FAKE_NVML_H
#define FAKE_NVML_H

#include "fake_script.h"
#include "fake_settings.h"
#include "power/nvml/api.h"

#include <time.h>

struct nvmlDevice_st {
    int index;
    double drawn_j, drawn_to_s, limit_w; /* constant power: energy up to then, and the limit that has acted since */
    double reset_j;                      /* where the counter stood at its reset; NAN: not yet */
    struct fake_gpu model;
};

extern struct fake_nvml {
    struct fake_script script;
    struct timespec start;
    struct fake_world *world; /* NULL: no model */
    struct nvmlDevice_st devices[FAKE_MOST_GPUS];
} fake;

double fake_time_s(void); /* since nvmlInit */

/* NVML_ERROR_INSUFFICIENT_SIZE where text does not fit. */
nvmlReturn_t fake_put(char *to, unsigned size, const char *text);

/* ---- fake_faults.c ---- */

/* What each call of a device begins with: its latency, and its scripted failure. d NULL: the call is of no device. */
nvmlReturn_t fake_enter(nvmlDevice_t d, const char *call);
nvmlReturn_t fake_fault(nvmlDevice_t d, const char *call); /* the scripted failure alone */

/* Returns from the function that it stands in with the call's scripted failure. */
#define FAKE_ENTER(d, call)                       \
    do {                                          \
        nvmlReturn_t rc_ = fake_enter((d), call); \
        if (rc_ != NVML_SUCCESS) return rc_;      \
    } while (0)

/* ---- fake_power.c ---- */

void fake_follow_limit(nvmlDevice_t d); /* a limit or a lock acts from now on: what was drawn before stays drawn */
unsigned fake_power_limit_mw(nvmlDevice_t d);    /* as set, or the default */
unsigned fake_enforced_limit_mw(nvmlDevice_t d); /* that, or a lower one set elsewhere */
unsigned fake_module_limit_mw(nvmlDevice_t d);   /* of the GPU's module, as set or the default; 0: it has none */
unsigned fake_power_mw(nvmlDevice_t d);          /* what the power sensor shows: at this instant, */
unsigned fake_mean_power_mw(nvmlDevice_t d);     /* in the mean of 1 s */
unsigned fake_temperature_c(nvmlDevice_t d, unsigned usual_c); /* the model's or the script's, else the usual one */
double fake_energy_j(nvmlDevice_t d); /* what the counter shows; it has run for a while before nvmlInit */

/* ---- fake_clocks.c ---- */

unsigned fake_max_mhz(int type);
unsigned long long fake_event_reasons(nvmlDevice_t d);
double fake_capped_s(nvmlDevice_t d); /* time in which the power limit held the clock down */

#endif

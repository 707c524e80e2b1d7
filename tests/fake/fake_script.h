/* The script of the fake NVML in $WATTLAW_FAKE_NVML: "key=value" words separated by ';' or white space, or "@FILE" for
 * a file of them. A LIST is comma-separated values, one per GPU, the last one for all further GPUs. Defaults in
 * brackets.
 *
 * The GPUs
 *     gpus=2              number of GPUs (1)
 *     board=1             GPUs of another machine: other UUIDs (0)
 *     models=LIST         their names ("Fake GPU")
 *     arch=9              architecture number (7: Ampere)
 *     ecc=0, persistence=0, mig=1
 *     pids=4242,4243      compute processes on each GPU (none)
 *     pid_util=40,20      their SM utilisation, % (the driver does not tell it)
 *
 * Power and energy
 *     power=LIST          W, or ramp:START_W:W_PER_S, or sine:MEAN_W:AMPLITUDE_W:PERIOD_S (100); GPU k draws k W more
 *     update_ms=100       update period of power and energy (0: continuous)
 *     reset_s=3           the energy counter is reset at this time (never)
 *     wrap_j=4294967      it wraps at this value, like a 32-bit counter (never)
 *     counter_scale=LIST  it counts this many joules per joule (1)
 *     module_w=150        power of a module in addition to its GPU, W (0: the driver ignores scopes and answers for the
 * GPU)
 *
 * Gauges
 *     busy=LIST           SM utilisation, % (50; memory: half of it)
 *     stale_s=1           the record of utilisation ends at this time (never)
 *     temperature_c=LIST  temperature (51; drivers without nvmlDeviceGetTemperatureV: 50)
 *     memory_c=70         memory temperature (60)
 *     links_mib_s=1000    NVLink and PCIe, each way, MiB/s (0)
 *     gpm=60:40:25:30     SM activity, occupancy, tensor activity, DRAM, % (not supported); gpm=denied: no permission
 *
 * Limits
 *     limits=100:400:350  accepted power limits, W: minimum, maximum, default (100:400:400)
 *     module_limits=200:1000:1000   the same for its module, which limits GPU and the rest of the module together
 * (none: the driver ignores scopes and answers for the GPU) state=FILE          keeps power limits and locked clocks in
 * this file, for all processes opened=FILE         appends the pid at the first nvmlInit of a process ignore=1 setting
 * a power limit succeeds and changes nothing out_of_band=300     a limit set elsewhere, W: the enforced limit is never
 * above it clock=LIST          SM clock, MHz, if it is not locked (1410) reasons=2           bits of the clock event
 * reasons (1: idle) capped=0.25         share of time for which the power limit reduces the clock (0, a model's own)
 *     thermal=LIST        the same for the temperature (0)
 *
 * Faults, see fake_faults.c
 *     latency_us=500      duration of each call (0)
 *     stall=3:5           the first call after 3 s takes 5 s
 *     slow=2:0.5          one call per 2 s takes half a second (none)
 *     init=9              nvmlInit fails with this code
 *     fail=GPU:CALL:CODE[:FROM_S[:TO_S]]   calls of that GPU (* is any) fail from and to these times; CALL is the name
 *                         without "nvmlDevice" (GetPowerUsage ...), a field id (186), or *. May be given several times.
 *     hang=GPU:CALL[:FROM_S[:TO_S]]        the same, but they return at TO_S (never). CALL may be Init or
 *                         Shutdown, of GPU *.
 *
 * A simulated GPU (gpu_model.h)
 *     profile=A100        V100, A100, H100, GH200: sets power, models, limits, clock, busy and update_ms
 *     world=FILE          its history is kept here, for fake-load, fake-truth and other processes (in memory)
 *     load=PATTERN        its initial load, see fake_pattern_parse (constant:0)
 *     thermal_s=0.5       time constant of its temperature (20)
 *     seed=1, spread=0.02 random seed, and how much GPUs differ
 *
 * A constant power stays below the power limit and clocks below the locked ones. Times count from nvmlInit. */
#ifndef FAKE_SCRIPT_H
#define FAKE_SCRIPT_H

#include "world.h"

#include <stdbool.h>

enum { FAKE_MOST_GPUS = 64, FAKE_MOST_FAULTS = 32, FAKE_MOST_MODELS = 8, FAKE_MOST_PIDS = 8, FAKE_NAME_SIZE = 96 };

struct fake_list {
    double v[FAKE_MOST_GPUS];
    int n;
};
double fake_list_of(const struct fake_list *l, int gpu);

/* A call that fails with a code, or does not return for that time (code FAKE_HANGS). */
enum { FAKE_HANGS = -1 };
struct fake_fault {
    int gpu; /* -1: any */
    char call[64];
    int code;
    double from_s, to_s;
};

struct fake_script {
    int gpus, board, init, arch, ecc, persistence, mig;
    char models[FAKE_MOST_MODELS][FAKE_NAME_SIZE];
    int n_models;
    unsigned pids[FAKE_MOST_PIDS];
    unsigned n_pids;
    struct fake_list pid_util;

    enum { FAKE_POWER_CONSTANT, FAKE_POWER_RAMP, FAKE_POWER_SINE } shape;
    double shape_v[3];        /* start or mean W; slope W/s or amplitude W; period s */
    struct fake_list power_w; /* of a constant one */
    double update_ms, reset_s, wrap_j, module_w;
    struct fake_list counter_scale;

    struct fake_list busy_pct;
    struct fake_list temperature_c; /* n 0: not given */
    double memory_c, links_mib_s, stale_s;
    double gpm[4]; /* %; the first NAN: not supported */
    bool gpm_denied;

    unsigned limits_mw[3], module_limits_mw[3]; /* min, max, default; of a module 0: none */
    double out_of_band_w, capped;
    struct fake_list clock_mhz, thermal;
    int ignore, reasons;
    char state[4096], opened[4096];

    double latency_us;
    double stall_at_s, stall_s;              /* stall_s 0: none */
    double slow_each_s, slow_s, slow_next_s; /* slow_s 0: none */
    struct fake_fault faults[FAKE_MOST_FAULTS];
    int n_faults;

    const struct fake_profile *profile; /* NULL: no model */
    struct fake_input load;
    char world[4096];
    int seed;
    double spread, thermal_s; /* 0: the profile's */
};

/* Parses $WATTLAW_FAKE_NVML over the defaults; reports unknown words on stderr. */
void fake_script_load(struct fake_script *s);

#endif

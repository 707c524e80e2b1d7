/* A model of a GPU: its power under a load, a power limit and a clock, and what its sensors show.
 *
 * Inputs (load, limit, clock lock) change at events; between them the load follows a pattern. The power relaxes towards
 * its target with one time constant, so that power, energy and every sensor reading have a closed form at any instant.
 * Nothing here reads a clock; the same seed and events give the same numbers everywhere.
 *
 *     target = idle_w + (full_w - idle_w) * load * (f / max_mhz)^exponent * (1 - M + M * m / mem_mhz)
 *     dP/dt  = (target - P) / tau_s          f: the clock, limited by the lock and the power limit
 *                                            m: the memory clock, mem_mhz or its lock; M = FAKE_MEMORY_POWER
 *     power reading k  = mean of P over the window_s that end lag_s before update k, + noise
 *     counter reading k = integral of P up to its own update k
 *     dT/dt = (FAKE_AMBIENT_C + FAKE_C_PER_W * P - T) / thermal_s          the temperature, which starts at the idle
 * value
 */
#ifndef FAKE_MODEL_H
#define FAKE_MODEL_H

#include <stddef.h>
#include <stdint.h>

struct fake_profile {
    const char *key;                    /* "A100" */
    const char *name;                   /* as the driver reports it */
    double idle_w, full_w;              /* idle; under load 1 at max_mhz */
    double limit_w[3];                  /* minimum, maximum, default */
    double module_w, module_limit_w[3]; /* power of the rest of its module, and the module's limits; 0: no module */
    double idle_mhz, min_mhz, max_mhz;  /* SM clock when idle; minimum and maximum under load */
    double mem_mhz;                     /* memory clock */
    double exponent;                    /* of the clock in the power */
    double memory_share; /* share of the work's time that scales with the memory clock, not with the SM clock */
    double tau_s;        /* time constant of the power */
    double update_s, window_s, lag_s; /* the power sensor: update period, averaging window, delay */
    double counter_s;                 /* update period of the energy counter */
    double noise_w;                   /* standard deviation of a power reading */
    double thermal_s;                 /* time constant of the temperature */
    int averages;                     /* the driver has the 1 s mean, also as nvmlDeviceGetPowerUsage */
};

#define FAKE_MEMORY_POWER 0.2 /* share of the power above idle that scales with the memory clock */

#define FAKE_AMBIENT_C 28.0 /* of the cooling air or water */
#define FAKE_C_PER_W   0.08

/* NULL: no such profile. fake_profile_at(n) == NULL: end of the list. */
const struct fake_profile *fake_profile_find(const char *key);
const struct fake_profile *fake_profile_at(size_t i);

enum fake_shape { FAKE_CONSTANT, FAKE_SQUARE, FAKE_TRAINING };

/* The inputs of a GPU from an event on. A pattern: load `high` for `duty` of each period, then `low`; training has
 * periods of varying length. */
struct fake_input {
    int32_t shape; /* enum fake_shape */
    double high, low, period_s, duty;
    int64_t since_ns; /* start of the first period */
    double limit_w;   /* 0: the default */
    double clock_mhz; /* lock; 0: none */
    double mem_mhz;   /* lock of the memory clock; 0: none */
};
struct fake_event {
    int64_t t_ns;
    struct fake_input in;
};

/* The state at an instant: the power and the integrals since the start. */
struct fake_state {
    int64_t t_ns;
    size_t event; /* the one in effect */
    double power_w, energy_j, busy_s, capped_s, temperature_c;
};

struct fake_gpu {
    struct fake_profile profile; /* with this GPU's deviations */
    uint64_t seed;
    const struct fake_event *events; /* in order of time; the first one is at the start */
    const uint32_t *n_events;        /* grows while the model is used */
    struct fake_state kept, near;    /* FAKE_MEMORY_S and FAKE_NEAR_S ago: later instants are computed from there */
};

/* `spread`: relative deviation of idle and full power between GPUs of one profile (0.03: 3 %). */
void fake_gpu_init(struct fake_gpu *g, const struct fake_profile *p, uint64_t seed, int index, double spread,
                   const struct fake_event *events, const uint32_t *n_events);

/* "constant:LOAD", "square:HIGH:LOW:PERIOD_S:DUTY", "training:HIGH:LOW:PERIOD_S:DUTY"; -1: invalid. */
int fake_pattern_parse(const char *text, struct fake_input *in);

/* The clock under a load, MHz, and the speed of work at it: 1 at max_mhz. */
double fake_clock_mhz(const struct fake_profile *p, const struct fake_input *in, double load);
double fake_speed(const struct fake_profile *p, const struct fake_input *in, double load);

/* Instants may be up to FAKE_MEMORY_S before the latest one requested; events up to FAKE_NEAR_S late. */
#define FAKE_MEMORY_S 1.5
#define FAKE_NEAR_S   0.25
struct fake_state fake_at(struct fake_gpu *g, int64_t t_ns);
double fake_load_at(struct fake_gpu *g, int64_t t_ns);
const struct fake_input *fake_input_at(struct fake_gpu *g, int64_t t_ns);

/* The sensors at t: power (instant), its 1 s mean, the counter since the start. */
double fake_power_reading_w(struct fake_gpu *g, int64_t t_ns);
double fake_average_reading_w(struct fake_gpu *g, int64_t t_ns);
double fake_counter_reading_j(struct fake_gpu *g, int64_t t_ns);

#endif

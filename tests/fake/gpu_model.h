/* A GPU that is computed: what it draws under a load, a power limit and a clock, and what its sensors show of that.
 *
 * Inputs (load, limit, clock lock) change at events; between them the load follows a pattern. From them the power is
 * exact: it relaxes towards its target with one time constant, so that power, energy and every sensor reading have a
 * closed form at any instant. Nothing here reads a clock; the same seed and events give the same numbers everywhere.
 *
 *     target = idle_w + (full_w - idle_w) * load * (f / max_mhz)^exponent * (1 - M + M * m / mem_mhz)
 *     dP/dt  = (target - P) / tau_s          f: the clock, below the lock, and as low as the limit asks for
 *                                            m: the memory clock, mem_mhz or its lock; M = FAKE_MEMORY_POWER
 *     power reading k  = mean of P over the window_s that end lag_s before update k, + noise
 *     counter reading k = integral of P up to its own update k
 *     dT/dt = (FAKE_AMBIENT_C + FAKE_C_PER_W * P - T) / thermal_s          the temperature, which starts at that of rest
 */
#ifndef FAKE_MODEL_H
#define FAKE_MODEL_H

#include <stddef.h>
#include <stdint.h>

struct fake_profile {
    const char *key;                   /* "A100" */
    const char *name;                  /* as the driver gives it */
    double idle_w, full_w;             /* at rest; under load 1 at max_mhz */
    double limit_w[3];                 /* lowest, highest, default */
    double module_w, module_limit_w[3]; /* what the rest of its module draws, and the module's limits; 0: no module */
    double idle_mhz, min_mhz, max_mhz; /* SM clock at rest; the lowest and highest under load */
    double mem_mhz;                    /* memory clock */
    double exponent;                   /* power goes with the clock to this power */
    double memory_share;               /* part of the work's time that goes with the memory clock, not with this one */
    double tau_s;                      /* time constant of the power */
    double update_s, window_s, lag_s;  /* the power sensor: period, time that it sees of it, delay */
    double counter_s;                  /* update period of the energy counter */
    double noise_w;                    /* standard deviation of a power reading */
    double thermal_s;                  /* time constant of the temperature */
    int averages;                      /* the driver gives the mean of 1 s; nvmlDeviceGetPowerUsage does, too */
};

#define FAKE_MEMORY_POWER 0.2 /* part of the power above idle that goes with the memory clock */

#define FAKE_AMBIENT_C 28.0 /* of the cooling air or water */
#define FAKE_C_PER_W 0.08

/* NULL: no such profile. Ends of the list are found by fake_profile_at(n) == NULL. */
const struct fake_profile *fake_profile_find(const char *key);
const struct fake_profile *fake_profile_at(size_t i);

enum fake_shape { FAKE_CONSTANT, FAKE_SQUARE, FAKE_TRAINING };

/* What acts on a GPU from an event on. Of a pattern: load `high` for `duty` of each period, then `low`; training has
 * periods of uneven length. */
struct fake_input {
    int32_t shape; /* enum fake_shape */
    double high, low, period_s, duty;
    int64_t since_ns; /* where the first period begins */
    double limit_w;   /* 0: the default */
    double clock_mhz; /* lock; 0: none */
    double mem_mhz;   /* lock of the memory clock; 0: none */
};
struct fake_event {
    int64_t t_ns;
    struct fake_input in;
};

/* At an instant: the power and what has added up since the start. */
struct fake_state {
    int64_t t_ns;
    size_t event; /* the one that acts */
    double power_w, energy_j, busy_s, capped_s, temperature_c;
};

struct fake_gpu {
    struct fake_profile profile; /* with this GPU's own differences */
    uint64_t seed;
    const struct fake_event *events; /* in order of time; the first one stands at the start */
    const uint32_t *n_events;        /* grows while the model is used */
    struct fake_state kept, near;    /* FAKE_MEMORY_S and FAKE_NEAR_S ago: from there later instants are computed */
};

/* `spread`: idle and full power of GPUs of one profile differ by about so much (0.03: 3 %). */
void fake_gpu_init(struct fake_gpu *g, const struct fake_profile *p, uint64_t seed, int index, double spread,
                   const struct fake_event *events, const uint32_t *n_events);

/* "constant:LOAD", "square:HIGH:LOW:PERIOD_S:DUTY", "training:HIGH:LOW:PERIOD_S:DUTY"; -1: none of them. */
int fake_pattern_parse(const char *text, struct fake_input *in);

/* The clock under a load, MHz, and how fast work goes at it: 1 at max_mhz. */
double fake_clock_mhz(const struct fake_profile *p, const struct fake_input *in, double load);
double fake_speed(const struct fake_profile *p, const struct fake_input *in, double load);

/* Instants may go back by FAKE_MEMORY_S from the latest one asked for; events may come late by FAKE_NEAR_S. */
#define FAKE_MEMORY_S 1.5
#define FAKE_NEAR_S   0.25
struct fake_state fake_at(struct fake_gpu *g, int64_t t_ns);
double fake_load_at(struct fake_gpu *g, int64_t t_ns);
const struct fake_input *fake_input_at(struct fake_gpu *g, int64_t t_ns);

/* What the sensors show at t: the power sensor (instant), its mean of 1 s, the counter since the start. */
double fake_power_reading_w(struct fake_gpu *g, int64_t t_ns);
double fake_average_reading_w(struct fake_gpu *g, int64_t t_ns);
double fake_counter_reading_j(struct fake_gpu *g, int64_t t_ns);

#endif

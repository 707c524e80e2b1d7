#include "gpu_model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double ns_per_s = 1e9;

/* Powers, limits and clocks are from the vendor's data sheets; sensors as Yang et al. (SC24, arXiv:2312.02741) found
 * them on such boards. The rest (idle power, exponent, time constant, noise) is plausible, not measured. */
static const struct fake_profile profiles[] = {
    { .key = "V100",
      .name = "Tesla V100-SXM2-32GB",
      .idle_w = 42,
      .full_w = 295,
      .limit_w = { 150, 300, 300 },
      .idle_mhz = 135,
      .min_mhz = 135,
      .max_mhz = 1530,
      .mem_mhz = 877,
      .exponent = 2.0,
      .memory_share = 0.25,
      .tau_s = 0.010,
      .thermal_s = 20,
      .update_s = 0.020,
      .window_s = 0.010,
      .counter_s = 0.020,
      .noise_w = 0.5 },
    { .key = "A100",
      .name = "NVIDIA A100-SXM4-40GB",
      .idle_w = 52,
      .full_w = 390,
      .limit_w = { 100, 400, 400 },
      .idle_mhz = 210,
      .min_mhz = 210,
      .max_mhz = 1410,
      .mem_mhz = 1215,
      .exponent = 2.2,
      .memory_share = 0.30,
      .tau_s = 0.010,
      .thermal_s = 20,
      .update_s = 0.100,
      .window_s = 0.025,
      .counter_s = 0.100,
      .noise_w = 0.7 },
    { .key = "H100",
      .name = "NVIDIA H100 80GB HBM3",
      .idle_w = 70,
      .full_w = 680,
      .limit_w = { 200, 700, 700 },
      .idle_mhz = 345,
      .min_mhz = 345,
      .max_mhz = 1980,
      .mem_mhz = 2619,
      .exponent = 2.4,
      .memory_share = 0.35,
      .tau_s = 0.010,
      .thermal_s = 20,
      .update_s = 0.100,
      .window_s = 0.025,
      .counter_s = 0.100,
      .noise_w = 1.0,
      .averages = 1 },
    { .key = "GH200",
      .name = "NVIDIA GH200 480GB",
      .idle_w = 75,
      .full_w = 680,
      .limit_w = { 100, 900, 900 },
      .module_w = 130,
      .module_limit_w = { 200, 1000, 1000 },
      .idle_mhz = 345,
      .min_mhz = 345,
      .max_mhz = 1980,
      .mem_mhz = 2619,
      .exponent = 2.4,
      .memory_share = 0.35,
      .tau_s = 0.010,
      .thermal_s = 20,
      .update_s = 0.100,
      .window_s = 0.025,
      .counter_s = 0.100,
      .noise_w = 1.0,
      .averages = 1 },
};

const struct fake_profile *fake_profile_at(size_t i)
{
    return i < sizeof profiles / sizeof *profiles ? &profiles[i] : NULL;
}

const struct fake_profile *fake_profile_find(const char *key)
{
    for (size_t i = 0; fake_profile_at(i); i++)
        if (strcmp(profiles[i].key, key) == 0) return &profiles[i];
    return NULL;
}

/* ---- Reproducible random numbers: SplitMix64 of a seed and two counts ---- */

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* In (0, 1). */
static double uniform(uint64_t seed, uint64_t what, int64_t k)
{
    return ((double)(mix(mix(seed + what) ^ (uint64_t)k) >> 11) + 0.5) * 0x1p-53;
}

static double normal(uint64_t seed, uint64_t what, int64_t k)
{
    return sqrt(-2 * log(uniform(seed, what, 2 * k))) * cos(2 * M_PI * uniform(seed, what, 2 * k + 1));
}

enum { OF_IDLE = 1, OF_FULL, OF_SENSOR_PHASE, OF_COUNTER_PHASE, OF_NOISE, OF_STEP };

/* ---- The load ---- */

int fake_pattern_parse(const char *text, struct fake_input *in)
{
    char shape[16];
    *in = (struct fake_input) { .period_s = 1, .duty = 1 };
    int n = sscanf(text, "%15[a-z]:%lf:%lf:%lf:%lf", shape, &in->high, &in->low, &in->period_s, &in->duty);
    if (n == 2 && strcmp(shape, "constant") == 0) return 0;
    if (n != 5 || in->period_s <= 0) return -1;
    in->shape = strcmp(shape, "training") == 0 ? FAKE_TRAINING : FAKE_SQUARE;
    return in->shape == FAKE_TRAINING || strcmp(shape, "square") == 0 ? 0 : -1;
}

/* The start of period k. Steps of a training job differ in length, but periods never overlap. */
static int64_t period_begin_ns(const struct fake_input *in, uint64_t seed, int64_t k)
{
    double shift = 0;
    if (in->shape == FAKE_TRAINING) shift = fmin(0.1, (1 - in->duty) / 3) * (2 * uniform(seed, OF_STEP, k) - 1);
    return in->since_ns + (int64_t)llround(((double)k + shift) * in->period_s * ns_per_s);
}

/* The load at t, and when it changes next. */
static double pattern_at(const struct fake_input *in, uint64_t seed, int64_t t_ns, int64_t *next_ns)
{
    *next_ns = INT64_MAX;
    if (in->shape == FAKE_CONSTANT || in->duty >= 1) return in->high;
    int64_t on_ns = (int64_t)llround(in->duty * in->period_s * ns_per_s);
    int64_t k = (int64_t)floor((double)(t_ns - in->since_ns) / ns_per_s / in->period_s) + 1;
    while (period_begin_ns(in, seed, k) > t_ns) k--;
    int64_t begin = period_begin_ns(in, seed, k);
    *next_ns = t_ns < begin + on_ns ? begin + on_ns : period_begin_ns(in, seed, k + 1);
    return t_ns < begin + on_ns ? in->high : in->low;
}

/* ---- The GPU ---- */

static double limit_w(const struct fake_profile *p, const struct fake_input *in)
{
    return in->limit_w > 0 ? in->limit_w : p->limit_w[2];
}

/* The requested clock: the maximum, or the lock. */
static double asked_mhz(const struct fake_profile *p, const struct fake_input *in)
{
    return in->clock_mhz > 0 ? fmin(in->clock_mhz, p->max_mhz) : p->max_mhz;
}

/* The memory clock as a share of its maximum. */
static double memory_speed(const struct fake_profile *p, const struct fake_input *in)
{
    return in->mem_mhz > 0 ? fmin(in->mem_mhz / p->mem_mhz, 1) : 1;
}

/* Power above idle at the maximum clock. */
static double dynamic_w(const struct fake_profile *p, const struct fake_input *in, double load)
{
    double memory = 1 - FAKE_MEMORY_POWER + FAKE_MEMORY_POWER * memory_speed(p, in);
    return (p->full_w - p->idle_w) * load * memory;
}

double fake_clock_mhz(const struct fake_profile *p, const struct fake_input *in, double load)
{
    double asked = asked_mhz(p, in);
    if (load <= 0) return in->clock_mhz > 0 ? asked : p->idle_mhz;
    double room = fmax(0, limit_w(p, in) - p->idle_w) / dynamic_w(p, in, load);
    return fmax(p->min_mhz, fmin(asked, p->max_mhz * pow(room, 1 / p->exponent)));
}

double fake_speed(const struct fake_profile *p, const struct fake_input *in, double load)
{
    return 1 /
           (p->memory_share / memory_speed(p, in) + (1 - p->memory_share) * p->max_mhz / fake_clock_mhz(p, in, load));
}

static double target_w(const struct fake_profile *p, const struct fake_input *in, double load)
{
    if (load <= 0) return p->idle_w;
    double f = fake_clock_mhz(p, in, load) / p->max_mhz;
    return p->idle_w + dynamic_w(p, in, load) * pow(f, p->exponent);
}

/* The steady-state temperature of a power. */
static double rest_c(double power_w) { return FAKE_AMBIENT_C + FAKE_C_PER_W * power_w; }

void fake_gpu_init(struct fake_gpu *g, const struct fake_profile *p, uint64_t seed, int index, double spread,
                   const struct fake_event *events, const uint32_t *n_events)
{
    *g = (struct fake_gpu) {
        .profile = *p, .seed = mix(seed ^ (uint64_t)index << 32), .events = events, .n_events = n_events
    };
    g->profile.idle_w *= 1 + spread * (2 * uniform(g->seed, OF_IDLE, 0) - 1);
    g->profile.full_w *= 1 + spread * (2 * uniform(g->seed, OF_FULL, 0) - 1);
    g->kept = g->near = (struct fake_state) { .t_ns = events[0].t_ns, .power_w = g->profile.idle_w };
    g->kept.temperature_c = g->near.temperature_c = rest_c(g->profile.idle_w);
}

/* The same stretch for the temperature, with a term that decays with the power's distance from its target. */
static void relax_temperature(struct fake_state *s, const struct fake_profile *p, double target_w, double dt)
{
    double away_c = FAKE_C_PER_W * (s->power_w - target_w) / (1 - p->thermal_s / p->tau_s), end_c = rest_c(target_w);
    double own_c = s->temperature_c - end_c - away_c;
    s->temperature_c = end_c + away_c * exp(-dt / p->tau_s) + own_c * exp(-dt / p->thermal_s);
}

/* One stretch with a constant target. */
static void relax(struct fake_state *s, const struct fake_profile *p, const struct fake_input *in, double load,
                  int64_t until_ns)
{
    double dt = (double)(until_ns - s->t_ns) / ns_per_s, target = target_w(p, in, load);
    double left = p->tau_s > 0 ? exp(-dt / p->tau_s) : 0, away = s->power_w - target;
    relax_temperature(s, p, target, dt);
    s->energy_j += target * dt + away * p->tau_s * (1 - left);
    s->power_w = target + away * left;
    if (load > 0) s->busy_s += dt;
    if (load > 0 && fake_clock_mhz(p, in, load) < asked_mhz(p, in)) s->capped_s += dt;
    s->t_ns = until_ns;
}

static uint32_t known_events(const struct fake_gpu *g) { return __atomic_load_n(g->n_events, __ATOMIC_ACQUIRE); }

static struct fake_state advance(const struct fake_gpu *g, struct fake_state s, int64_t t_ns)
{
    while (s.t_ns < t_ns) {
        while (s.event + 1 < known_events(g) && g->events[s.event + 1].t_ns <= s.t_ns) s.event++;
        int64_t next, until = t_ns;
        double load = pattern_at(&g->events[s.event].in, g->seed, s.t_ns, &next);
        if (next < until) until = next;
        if (s.event + 1 < known_events(g) && g->events[s.event + 1].t_ns < until) until = g->events[s.event + 1].t_ns;
        relax(&s, &g->profile, &g->events[s.event].in, load, until);
    }
    return s;
}

struct fake_state fake_at(struct fake_gpu *g, int64_t t_ns)
{
    int64_t keep_ns = t_ns - (int64_t)(FAKE_MEMORY_S * ns_per_s), near_ns = t_ns - (int64_t)(FAKE_NEAR_S * ns_per_s);
    if (keep_ns > g->kept.t_ns) g->kept = advance(g, g->kept, keep_ns);
    if (near_ns > g->near.t_ns) g->near = advance(g, g->near, near_ns);
    return advance(g, t_ns >= g->near.t_ns ? g->near : g->kept, t_ns);
}

const struct fake_input *fake_input_at(struct fake_gpu *g, int64_t t_ns)
{
    size_t i = g->kept.event;
    while (i + 1 < known_events(g) && g->events[i + 1].t_ns <= t_ns) i++;
    return &g->events[i].in;
}

double fake_load_at(struct fake_gpu *g, int64_t t_ns)
{
    int64_t next;
    return pattern_at(fake_input_at(g, t_ns), g->seed, t_ns, &next);
}

/* ---- Sensors ---- */

/* The number of the latest update, and its instant. Each sensor of each GPU has its own phase. */
static int64_t update_at(const struct fake_gpu *g, int64_t t_ns, double period_s, uint64_t of)
{
    double since = (double)(t_ns - g->events[0].t_ns) / ns_per_s;
    return (int64_t)floor(since / period_s - uniform(g->seed, of, 0));
}

static int64_t update_ns(const struct fake_gpu *g, int64_t k, double period_s, uint64_t of)
{
    return g->events[0].t_ns + (int64_t)llround(((double)k + uniform(g->seed, of, 0)) * period_s * ns_per_s);
}

/* Mean power over the window that ends at t. Before the start the GPU was idle. */
static double mean_w(struct fake_gpu *g, int64_t t_ns, double window_s)
{
    struct fake_state end = fake_at(g, t_ns), begin = fake_at(g, t_ns - (int64_t)llround(window_s * ns_per_s));
    double idle_s = fmax(0, window_s - (double)(end.t_ns - begin.t_ns) / ns_per_s);
    return (end.energy_j - begin.energy_j + idle_s * g->profile.idle_w) / window_s;
}

static double update_w(struct fake_gpu *g, int64_t k)
{
    const struct fake_profile *p = &g->profile;
    int64_t seen_ns = update_ns(g, k, p->update_s, OF_SENSOR_PHASE) - (int64_t)llround(p->lag_s * ns_per_s);
    return mean_w(g, seen_ns, p->window_s) + p->noise_w * normal(g->seed, OF_NOISE, k);
}

double fake_power_reading_w(struct fake_gpu *g, int64_t t_ns)
{
    return update_w(g, update_at(g, t_ns, g->profile.update_s, OF_SENSOR_PHASE));
}

double fake_average_reading_w(struct fake_gpu *g, int64_t t_ns)
{
    const struct fake_profile *p = &g->profile;
    int64_t k = update_at(g, t_ns, p->update_s, OF_SENSOR_PHASE);
    return mean_w(g, update_ns(g, k, p->update_s, OF_SENSOR_PHASE), 1);
}

double fake_counter_reading_j(struct fake_gpu *g, int64_t t_ns)
{
    double period_s = g->profile.counter_s;
    return fake_at(g, update_ns(g, update_at(g, t_ns, period_s, OF_COUNTER_PHASE), period_s, OF_COUNTER_PHASE))
        .energy_j;
}

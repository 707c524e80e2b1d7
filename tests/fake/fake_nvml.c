/* A stand-in for libnvidia-ml.so.1, so that tests and demonstrations reach the real code of the nvml sensor on a
 * machine without a GPU. What it shows is written in $WATTLAW_FAKE_NVML, "key=value" words separated by ';' or white
 * space, or
 * "@FILE" for a file of them:
 *
 *     gpus=2              number of GPUs (1)
 *     models=A100,H100    their names, the last one for all that follow ("Fake GPU")
 *     power=250           W, or ramp:START_W:W_PER_S, or sine:MEAN_W:AMPLITUDE_W:PERIOD_S
 *     update_ms=100       power and energy move only this often (0: always)
 *     reset_s=3           the energy counter starts over at this time (never)
 *     counter_scale=1.1   the energy counter counts so many joules for each (1)
 *     busy=90             SM utilisation, % (memory: half of it)
 *     latency_us=500      time that each call takes (0)
 *     stall=3:5           the first call behind 3 s takes 5 s
 *     init=9              nvmlInit fails with this code
 *     fail=GPU:CALL:CODE[:FROM_S[:TO_S]]   calls of that GPU (* is any) fail from and to these times; CALL is the name
 *                         without "nvmlDevice" (GetPowerUsage ...), a field id (186), or *. May be given several times.
 *
 *     limits=100:400:350  power limits that it takes, W: lowest, highest, default (100:400:400)
 *     state=FILE          keeps what is set (power limits, locked clocks) in this file, for all processes
 *     ignore=1            setting a power limit succeeds and changes nothing
 *     reasons=2           bits of the clock event reasons (1: idle)
 *     clock=1005          SM clock, MHz, where it is not locked (1410)
 *     out_of_band=300     a limit set elsewhere, W: the enforced one is never above it
 *
 *     profile=A100        a GPU that is computed (model.h: V100, A100, H100) stands for power, models, limits, clock,
 *                         busy and update_ms; GPU differences are `spread`'s
 *     world=FILE          its history is kept here, for fake-load, fake-truth and other processes (in memory)
 *     load=PATTERN        its load until somebody changes it, see fake_pattern_parse (constant:0)
 *     seed=1, spread=0.02 chance, and how much GPUs differ
 *     counter=sensor      its energy counter adds up power readings and sees what they see
 *
 * Keys for what else a GPU shows are listed in fake_device.h.
 *
 * A constant power stays below the power limit and clocks below the locked ones. Times count from nvmlInit. GPU k draws
 * k W more than GPU 0. Built with FAKE_OLD it lacks what drivers of the year 2018 lacked; with FAKE_BROKEN it lacks a
 * function that every driver has. */
#include "fake_device.h"
#include "fake_limits.h"
#include "power/nvml_api.h"
#include "world.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_GPUS = 64, MOST_FAILS = 32, MOST_MODELS = 8 };

/* Tells the sensor that nothing here is measured. */
const char wattlaw_simulated_nvml[] = "simulated";

struct nvmlDevice_st {
    int index;
    double drawn_j, drawn_to_s, limit_w; /* constant power: energy up to then, and the limit that has acted since */
    double reset_j;                      /* where the counter stood at its reset; NAN: not yet */
    struct fake_gpu model;
};

struct fail {
    int gpu; /* -1: any */
    char call[64];
    int code;
    double from_s, to_s;
};

static struct {
    int gpus, init;
    char models[MOST_MODELS][NVML_NAME_SIZE];
    int n_models;
    enum { CONSTANT, RAMP, SINE } shape;
    double shape_v[3]; /* mean or start W; slope W/s or amplitude W; period s */
    double update_s, reset_s, latency_s, counter_scale;
    double stall_at_s, stall_s; /* stall_s 0: none, or it was */
    unsigned busy_pct;
    unsigned limits_mw[3]; /* min, max, default */
    unsigned out_of_band_mw, reasons, clock_mhz;
    bool ignore_sets;
    struct fail fails[MOST_FAILS];
    int n_fails;
    struct timespec start;
    const struct fake_profile *profile; /* NULL: no model */
    struct fake_input load;
    struct fake_world wanted, *world;
    char world_path[4096];
    struct nvmlDevice_st devices[MOST_GPUS];
} fake;

/* ---- The script ---- */

static void set_power(const char *v)
{
    fake.shape = CONSTANT;
    if (sscanf(v, "ramp:%lf:%lf", &fake.shape_v[0], &fake.shape_v[1]) == 2)
        fake.shape = RAMP;
    else if (sscanf(v, "sine:%lf:%lf:%lf", &fake.shape_v[0], &fake.shape_v[1], &fake.shape_v[2]) == 3)
        fake.shape = SINE;
    else
        fake.shape_v[0] = atof(v);
}

static void set_models(char *v)
{
    char *rest = NULL;
    fake.n_models = 0;
    for (char *word = strtok_r(v, ",", &rest); word && fake.n_models < MOST_MODELS; word = strtok_r(NULL, ",", &rest))
        snprintf(fake.models[fake.n_models++], NVML_NAME_SIZE, "%s", word);
}

static void add_fail(const char *v)
{
    if (fake.n_fails == MOST_FAILS) return;
    struct fail *f = &fake.fails[fake.n_fails];
    char gpu[16];
    *f = (struct fail) { .to_s = HUGE_VAL };
    if (sscanf(v, "%15[^:]:%63[^:]:%d:%lf:%lf", gpu, f->call, &f->code, &f->from_s, &f->to_s) < 3) return;
    f->gpu = gpu[0] == '*' ? -1 : atoi(gpu);
    fake.n_fails++;
}

static void set_limits(const char *v)
{
    double w[3] = { 0 };
    if (sscanf(v, "%lf:%lf:%lf", &w[0], &w[1], &w[2]) != 3) return;
    for (int i = 0; i < 3; i++) fake.limits_mw[i] = (unsigned)lround(w[i] * 1e3);
}

/* Keys of the model; false: it is none. */
static bool set_model(const char *key, const char *v)
{
    if (strcmp(key, "profile") == 0) {
        fake.profile = fake_profile_find(v);
        if (!fake.profile) fprintf(stderr, "fake nvml: no profile '%s'\n", v);
    } else if (strcmp(key, "world") == 0)
        snprintf(fake.world_path, sizeof fake.world_path, "%s", v);
    else if (strcmp(key, "load") == 0) {
        if (fake_pattern_parse(v, &fake.load) != 0) fprintf(stderr, "fake nvml: no load '%s'\n", v);
    } else if (strcmp(key, "seed") == 0)
        fake.wanted.seed = strtoull(v, NULL, 10);
    else if (strcmp(key, "spread") == 0)
        fake.wanted.spread = atof(v);
    else
        return false;
    return true;
}

static void set(const char *key, char *v)
{
    if (set_model(key, v)) return;
    if (strcmp(key, "gpus") == 0)
        fake.gpus = atoi(v) < MOST_GPUS ? atoi(v) : MOST_GPUS;
    else if (strcmp(key, "models") == 0)
        set_models(v);
    else if (strcmp(key, "power") == 0)
        set_power(v);
    else if (strcmp(key, "update_ms") == 0)
        fake.update_s = atof(v) * 1e-3;
    else if (strcmp(key, "reset_s") == 0)
        fake.reset_s = atof(v);
    else if (strcmp(key, "counter_scale") == 0)
        fake.counter_scale = atof(v);
    else if (strcmp(key, "busy") == 0)
        fake.busy_pct = (unsigned)atoi(v);
    else if (strcmp(key, "latency_us") == 0)
        fake.latency_s = atof(v) * 1e-6;
    else if (strcmp(key, "stall") == 0)
        sscanf(v, "%lf:%lf", &fake.stall_at_s, &fake.stall_s);
    else if (strcmp(key, "init") == 0)
        fake.init = atoi(v);
    else if (strcmp(key, "limits") == 0)
        set_limits(v);
    else if (strcmp(key, "state") == 0)
        fake_limits_open(v);
    else if (strcmp(key, "ignore") == 0)
        fake.ignore_sets = atoi(v) != 0;
    else if (strcmp(key, "reasons") == 0)
        fake.reasons = (unsigned)atoi(v);
    else if (strcmp(key, "clock") == 0)
        fake.clock_mhz = (unsigned)atoi(v);
    else if (strcmp(key, "out_of_band") == 0)
        fake.out_of_band_mw = (unsigned)lround(atof(v) * 1e3);
    else if (strcmp(key, "fail") == 0)
        add_fail(v);
    else if (!fake_device_set(key, v))
        fprintf(stderr, "fake nvml: unknown key '%s'\n", key);
}

static void read_script(char *text)
{
    char *rest = NULL;
    for (char *word = strtok_r(text, "; \t\n", &rest); word; word = strtok_r(NULL, "; \t\n", &rest)) {
        char *equals = strchr(word, '=');
        if (!equals) continue;
        *equals = '\0';
        set(word, equals + 1);
    }
}

static void load_script(void)
{
    static char text[1 << 16];
    const char *from = getenv("WATTLAW_FAKE_NVML");
    memset(&fake, 0, sizeof fake);
    fake_device_reset();
    fake.gpus = fake.n_models = 1;
    fake.shape_v[0] = 100;
    fake.reset_s = HUGE_VAL;
    fake.counter_scale = 1;
    fake.busy_pct = 50;
    fake.reasons = 0x1;
    fake.clock_mhz = 1410;
    set_limits("100:400:400");
    fake_limits_open("");
    memcpy(fake.models[0], "Fake GPU", sizeof "Fake GPU");
    for (int i = 0; i < MOST_GPUS; i++) fake.devices[i] = (struct nvmlDevice_st) { .index = i, .reset_j = NAN };
    text[0] = '\0';
    if (from && from[0] == '@') {
        FILE *file = fopen(from + 1, "r");
        size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
        text[n] = '\0';
        if (file) fclose(file);
    } else if (from) {
        snprintf(text, sizeof text, "%s", from);
    }
    fake.wanted.seed = 1;
    fake.wanted.spread = 0.02;
    read_script(text);
}

/* ---- The model ---- */

static void open_world(void)
{
    const struct fake_profile *p = fake.profile;
    if (!p) return;
    while (fake_profile_at((size_t)fake.wanted.profile) != p) fake.wanted.profile++;
    fake.wanted.gpus = fake.gpus;
    fake.world = fake_world_open(fake.world_path, &fake.wanted, &fake.load);
    if (!fake.world) {
        perror(fake.world_path);
        return;
    }
    fake.gpus = fake.world->gpus;
    for (int i = 0; i < fake.gpus; i++) fake_world_gpu(fake.world, i, &fake.devices[i].model);
    for (int i = 0; i < 3; i++) fake.limits_mw[i] = (unsigned)lround(p->limit_w[i] * 1e3);
    snprintf(fake.models[0], NVML_NAME_SIZE, "%s", p->name);
    fake.n_models = 1;
}

struct model_limits {
    double limit_w, clock_mhz;
};

static void set_limits_of(struct fake_input *in, const void *to)
{
    const struct model_limits *l = to;
    in->limit_w = l->limit_w;
    in->clock_mhz = l->clock_mhz;
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - fake.start.tv_sec) + (double)(now.tv_nsec - fake.start.tv_nsec) * 1e-9;
}

/* The time of the sensor's latest update. */
static double updated_s(void)
{
    double t = now_s();
    return fake.update_s > 0 ? floor(t / fake.update_s) * fake.update_s : t;
}

static unsigned power_limit_mw(const struct nvmlDevice_st *d)
{
    struct fake_limits l = fake_limits_get(d->index);
    return l.power_mw ? l.power_mw : fake.limits_mw[2];
}

static unsigned enforced_mw(const struct nvmlDevice_st *d)
{
    unsigned mw = power_limit_mw(d);
    return fake.out_of_band_mw && fake.out_of_band_mw < mw ? fake.out_of_band_mw : mw;
}

static double capped_w(const struct nvmlDevice_st *d)
{
    double w = fake.shape_v[0] + d->index;
    return d->limit_w > 0 && d->limit_w < w ? d->limit_w : w;
}

/* A new limit acts from now on: what was drawn before stays drawn. */
static void follow_limit(struct nvmlDevice_st *d)
{
    if (fake.world) {
        const struct fake_input *in = fake_input_at(&d->model, INT64_MAX);
        struct model_limits l = { enforced_mw(d) * 1e-3, fake_limits_get(d->index).sm_mhz };
        if (l.limit_w != in->limit_w || l.clock_mhz != in->clock_mhz)
            fake_world_change(fake.world, d->index, fake_now_ns(), set_limits_of, &l);
        return;
    }
    double limit_w = enforced_mw(d) * 1e-3, now = now_s();
    if (limit_w == d->limit_w) return;
    if (d->limit_w > 0) d->drawn_j += capped_w(d) * (now - d->drawn_to_s);
    d->drawn_to_s = d->limit_w > 0 ? now : 0;
    d->limit_w = limit_w;
}

static double power_w(const struct nvmlDevice_st *d, double t)
{
    const double *v = fake.shape_v;
    double base = v[0] + d->index;
    if (fake.shape == RAMP) return base + v[1] * t;
    if (fake.shape == SINE) return base + v[1] * sin(2 * M_PI * t / v[2]);
    return capped_w(d);
}

/* The exact integral of power_w from 0 to t. */
static double integral_j(const struct nvmlDevice_st *d, double t)
{
    const double *v = fake.shape_v;
    double base = (v[0] + d->index) * t;
    if (fake.shape == RAMP) return base + 0.5 * v[1] * t * t;
    if (fake.shape == SINE) return base + v[1] * v[2] / (2 * M_PI) * (1 - cos(2 * M_PI * t / v[2]));
    return d->drawn_j + capped_w(d) * (t - d->drawn_to_s);
}

static int64_t ns_at(double t_s)
{
    return fake.start.tv_sec * INT64_C(1000000000) + fake.start.tv_nsec + (int64_t)llround(t_s * 1e9);
}

static double model_counter_j(struct nvmlDevice_st *d, double t)
{
    return fake.world ? fake_counter_reading_j(&d->model, ns_at(t)) : integral_j(d, t);
}

/* The counter has run for a while before; a reset takes it to 0. */
static double counter_j(struct nvmlDevice_st *d)
{
    double t = updated_s();
    const double before_j = 123456.0;
    if (t >= fake.reset_s && isnan(d->reset_j)) d->reset_j = model_counter_j(d, fake.reset_s);
    return fake.counter_scale * (model_counter_j(d, t) + (t < fake.reset_s ? before_j : -d->reset_j));
}

/* What the power sensor shows; `average`: its mean of 1 s. */
static unsigned power_reading_mw(struct nvmlDevice_st *d, bool average)
{
    double t = updated_s(), from = t > 1 ? t - 1 : 0, w;
    if (fake.world)
        w = average ? fake_average_reading_w(&d->model, ns_at(t)) : fake_power_reading_w(&d->model, ns_at(t));
    else if (average && t > from)
        w = (integral_j(d, t) - integral_j(d, from)) / (t - from);
    else
        w = power_w(d, t);
    return (unsigned)lround(w * 1e3);
}

/* Share of the last second in which a model's GPU had work, %. */
static unsigned busy_pct(struct nvmlDevice_st *d)
{
    if (!fake.world) return fake.busy_pct;
    int64_t now = fake_now_ns();
    double busy_s = fake_at(&d->model, now).busy_s - fake_at(&d->model, now - 1000000000).busy_s;
    return (unsigned)lround(100 * fmin(1, busy_s));
}

static unsigned sm_clock_mhz(struct nvmlDevice_st *d)
{
    if (!fake.world) return fake.clock_mhz;
    int64_t now = fake_now_ns();
    return (unsigned)lround(
        fake_clock_mhz(&d->model.profile, fake_input_at(&d->model, now), fake_load_at(&d->model, now)));
}

static unsigned long long event_reasons(struct nvmlDevice_st *d)
{
    if (!fake.world) return fake.reasons;
    int64_t now = fake_now_ns();
    struct fake_state s = fake_at(&d->model, now), before = fake_at(&d->model, now - 10000000);
    if (fake_load_at(&d->model, now) <= 0) return 0x1;
    return s.capped_s > before.capped_s ? 0x4 : 0;
}

static void spend(double seconds)
{
    struct timespec left = { .tv_sec = (time_t)seconds, .tv_nsec = (long)(fmod(seconds, 1.0) * 1e9) };
    if (seconds > 0) nanosleep(&left, NULL);
}

static void stall_once(void)
{
    double seconds = fake.stall_s;
    if (seconds <= 0 || now_s() < fake.stall_at_s) return;
    fake.stall_s = 0;
    spend(seconds);
}

static nvmlReturn_t scripted(nvmlDevice_t d, const char *call)
{
    double t = now_s();
    for (int i = 0; i < fake.n_fails; i++) {
        const struct fail *f = &fake.fails[i];
        bool gpu = f->gpu < 0 || f->gpu == d->index, name = f->call[0] == '*' || strcmp(f->call, call) == 0;
        if (gpu && name && t >= f->from_s && t < f->to_s) return f->code;
    }
    return NVML_SUCCESS;
}

/* What each call of a device begins with. */
#define ENTER(d, call)                          \
    do {                                        \
        spend(fake.latency_s);                  \
        stall_once();                           \
        follow_limit(d);                        \
        nvmlReturn_t rc_ = scripted((d), call); \
        if (rc_ != NVML_SUCCESS) return rc_;    \
    } while (0)

nvmlReturn_t fake_enter(nvmlDevice_t d, const char *call)
{
    ENTER(d, call);
    return NVML_SUCCESS;
}

int fake_number(nvmlDevice_t d) { return d->index; }
double fake_time_s(void) { return now_s(); }

double fake_capped_s(nvmlDevice_t d)
{
    return fake.world ? fake_at(&d->model, fake_now_ns()).capped_s : fake_device.capped * now_s();
}

static nvmlReturn_t put(char *to, unsigned size, const char *text)
{
    if (strlen(text) >= size) return NVML_ERROR_INSUFFICIENT_SIZE;
    memcpy(to, text, strlen(text) + 1);
    return NVML_SUCCESS;
}

/* ---- NVML ---- */

/* As in NVML, the first user initialises and the last one shuts down. */
static int users;

nvmlReturn_t nvmlInit_v2(void)
{
    if (users == 0) {
        load_script();
        clock_gettime(CLOCK_MONOTONIC, &fake.start);
        open_world();
    }
    if (fake.init == NVML_SUCCESS) users++;
    return fake.init;
}

nvmlReturn_t nvmlInitWithFlags(unsigned flags)
{
    (void)flags;
    return nvmlInit_v2();
}

nvmlReturn_t nvmlShutdown(void)
{
    if (users > 0) users--;
    return NVML_SUCCESS;
}
nvmlReturn_t nvmlSystemGetDriverVersion(char *to, unsigned size) { return put(to, size, "535.104.05"); }
nvmlReturn_t nvmlSystemGetNVMLVersion(char *to, unsigned size) { return put(to, size, "12.535.104.05"); }

#ifndef FAKE_BROKEN
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *n)
{
    *n = (unsigned)fake.gpus;
    return NVML_SUCCESS;
}
#endif

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned i, nvmlDevice_t *d)
{
    if (i >= (unsigned)fake.gpus) return NVML_ERROR_INVALID_ARGUMENT;
    *d = &fake.devices[i];
    return scripted(*d, "GetHandleByIndex");
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t d, char *to, unsigned size)
{
    return put(to, size, fake.models[d->index < fake.n_models ? d->index : fake.n_models - 1]);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t d, char *to, unsigned size)
{
    char uuid[64];
    snprintf(uuid, sizeof uuid, "GPU-%08x-0000-4000-8000-fa4e00000000", 0xa0000000u + (unsigned)d->index);
    return put(to, size, uuid);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t d, nvmlPciInfo_t *pci)
{
    snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "0000:%02X:00.0", (unsigned)d->index + 1);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t d, unsigned *mw)
{
    ENTER(d, "GetPowerUsage");
    *mw = power_reading_mw(d, fake.world && fake.profile->power_call_averages);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t d, nvmlUtilization_t *u)
{
    ENTER(d, "GetUtilizationRates");
    unsigned pct = busy_pct(d);
    *u = (nvmlUtilization_t) { .gpu = pct, .memory = pct / 2 };
    return NVML_SUCCESS;
}

static unsigned max_mhz(int type)
{
    if (fake.world) return (unsigned)lround(type == NVML_CLOCK_MEM ? fake.profile->mem_mhz : fake.profile->max_mhz);
    return type == NVML_CLOCK_MEM ? 1215 : 1410;
}

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t d, int type, unsigned *mhz)
{
    ENTER(d, "GetClockInfo");
    struct fake_limits l = fake_limits_get(d->index);
    unsigned lock = type == NVML_CLOCK_MEM ? l.mem_mhz : l.sm_mhz;
    if (fake.world && type != NVML_CLOCK_MEM) lock = 0; /* the model's clock is never above it */
    *mhz = lock ? lock : type == NVML_CLOCK_MEM ? max_mhz(type) : sm_clock_mhz(d);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t d, nvmlMemory_t *m)
{
    ENTER(d, "GetMemoryInfo");
    *m = (nvmlMemory_t) { .total = 40ull << 30, .free = 32ull << 30, .used = 8ull << 30 };
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t d, int sensor, unsigned *celsius)
{
    ENTER(d, "GetTemperature");
    *celsius = sensor == NVML_TEMPERATURE_GPU ? 50 : 0;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t d, unsigned long long *bits)
{
    ENTER(d, "GetCurrentClocksThrottleReasons");
    *bits = 0x4;
    return NVML_SUCCESS;
}

#ifndef FAKE_OLD
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t d, nvmlPciInfo_t *pci)
{
    nvmlDeviceGetPciInfo_v2(d, pci);
    snprintf(pci->busId, sizeof pci->busId, "00000000:%02X:00.0", (unsigned)d->index + 1);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t d, unsigned long long *mj)
{
    ENTER(d, "GetTotalEnergyConsumption");
    *mj = (unsigned long long)(counter_j(d) * 1e3);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t d, nvmlMemory_v2_t *m)
{
    ENTER(d, "GetMemoryInfo_v2");
    if (m->version != NVML_VERSIONED(nvmlMemory_v2_t, 2)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    m->total = 40ull << 30;
    m->reserved = 1ull << 29;
    m->used = 7ull << 30;
    m->free = m->total - m->reserved - m->used;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t d, nvmlTemperature_t *t)
{
    ENTER(d, "GetTemperatureV");
    if (t->version != NVML_VERSIONED(nvmlTemperature_t, 1)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    t->temperature = 51;
    return NVML_SUCCESS;
}

static void answer_field(nvmlDevice_t d, nvmlFieldValue_t *f)
{
    char id[16];
    snprintf(id, sizeof id, "%u", f->fieldId);
    f->nvmlReturn = scripted(d, id);
    f->valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
    if (f->nvmlReturn != NVML_SUCCESS) return;
    if (f->scopeId != NVML_POWER_SCOPE_GPU) {
        fake_device_field(d, f, power_reading_mw(d, false) * 1e-3, counter_j(d));
        return;
    }
    switch (f->fieldId) {
    case NVML_FI_DEV_POWER_INSTANT: f->value.uiVal = power_reading_mw(d, false); break;
    case NVML_FI_DEV_POWER_AVERAGE: f->value.uiVal = power_reading_mw(d, true); break;
    case NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION:
        f->valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
        f->value.ullVal = (unsigned long long)(counter_j(d) * 1e3);
        break;
    default: fake_device_field(d, f, power_reading_mw(d, false) * 1e-3, counter_j(d));
    }
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t d, int n, nvmlFieldValue_t *values)
{
    ENTER(d, "GetFieldValues");
    for (int i = 0; i < n; i++) answer_field(d, &values[i]);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t d, unsigned long long *bits)
{
    ENTER(d, "GetCurrentClocksEventReasons");
    *bits = event_reasons(d);
    return NVML_SUCCESS;
}

/* ---- Limits ---- */

nvmlReturn_t nvmlDeviceGetPowerManagementLimit(nvmlDevice_t d, unsigned *mw)
{
    ENTER(d, "GetPowerManagementLimit");
    *mw = power_limit_mw(d);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t d, unsigned *mw)
{
    ENTER(d, "GetEnforcedPowerLimit");
    *mw = enforced_mw(d);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t d, unsigned *mw)
{
    ENTER(d, "GetPowerManagementDefaultLimit");
    *mw = fake.limits_mw[2];
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t d, unsigned *min, unsigned *max)
{
    ENTER(d, "GetPowerManagementLimitConstraints");
    *min = fake.limits_mw[0];
    *max = fake.limits_mw[1];
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceSetPowerManagementLimit(nvmlDevice_t d, unsigned mw)
{
    ENTER(d, "SetPowerManagementLimit");
    if (mw < fake.limits_mw[0] || mw > fake.limits_mw[1]) return NVML_ERROR_INVALID_ARGUMENT;
    struct fake_limits l = fake_limits_get(d->index);
    l.power_mw = mw;
    if (!fake.ignore_sets) fake_limits_put(d->index, &l);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t d, int type, unsigned *mhz)
{
    ENTER(d, "GetMaxClockInfo");
    *mhz = max_mhz(type);
    return NVML_SUCCESS;
}

/* 0: unlocked. */
static nvmlReturn_t lock_clock(nvmlDevice_t d, int type, unsigned mhz)
{
    struct fake_limits l = fake_limits_get(d->index);
    if (mhz > max_mhz(type)) return NVML_ERROR_INVALID_ARGUMENT;
    if (type == NVML_CLOCK_MEM)
        l.mem_mhz = mhz;
    else
        l.sm_mhz = mhz;
    fake_limits_put(d->index, &l);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceSetGpuLockedClocks(nvmlDevice_t d, unsigned min, unsigned max)
{
    ENTER(d, "SetGpuLockedClocks");
    return min > max ? NVML_ERROR_INVALID_ARGUMENT : lock_clock(d, NVML_CLOCK_SM, max);
}

nvmlReturn_t nvmlDeviceResetGpuLockedClocks(nvmlDevice_t d)
{
    ENTER(d, "ResetGpuLockedClocks");
    return lock_clock(d, NVML_CLOCK_SM, 0);
}

nvmlReturn_t nvmlDeviceSetMemoryLockedClocks(nvmlDevice_t d, unsigned min, unsigned max)
{
    ENTER(d, "SetMemoryLockedClocks");
    return min > max ? NVML_ERROR_INVALID_ARGUMENT : lock_clock(d, NVML_CLOCK_MEM, max);
}

nvmlReturn_t nvmlDeviceResetMemoryLockedClocks(nvmlDevice_t d)
{
    ENTER(d, "ResetMemoryLockedClocks");
    return lock_clock(d, NVML_CLOCK_MEM, 0);
}
#endif

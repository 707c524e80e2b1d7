/* Init and shutdown, the list of GPUs. */
#include "fake_nvml.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Marks this library as a simulation. */
const char wattlaw_simulated_nvml[] = "simulated";

struct fake_nvml fake;

double fake_time_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - fake.start.tv_sec) + (double)(now.tv_nsec - fake.start.tv_nsec) * 1e-9;
}

nvmlReturn_t fake_put(char *to, unsigned size, const char *text)
{
    if (strlen(text) >= size) return NVML_ERROR_INSUFFICIENT_SIZE;
    memcpy(to, text, strlen(text) + 1);
    return NVML_SUCCESS;
}

/* The model's values replace those of the script. */
static void open_world(void)
{
    struct fake_script *s = &fake.script;
    const struct fake_profile *p = s->profile;
    if (!p) return;
    struct fake_world wanted = { .seed = (uint64_t)s->seed, .spread = s->spread, .gpus = s->gpus };
    while (fake_profile_at((size_t)wanted.profile) != p) wanted.profile++;
    fake.world = fake_world_open(s->world, &wanted, &s->load);
    if (!fake.world) {
        perror(s->world);
        return;
    }
    s->gpus = fake.world->gpus;
    for (int i = 0; i < s->gpus; i++) {
        fake_world_gpu(fake.world, i, &fake.devices[i].model);
        if (s->thermal_s > 0) fake.devices[i].model.profile.thermal_s = s->thermal_s;
    }
    for (int i = 0; i < 3; i++) {
        s->limits_mw[i] = (unsigned)lround(p->limit_w[i] * 1e3);
        s->module_limits_mw[i] = (unsigned)lround(p->module_limit_w[i] * 1e3);
    }
    s->module_w = p->module_w;
    snprintf(s->models[0], FAKE_NAME_SIZE, "%s", p->name);
    s->n_models = 1;
}

static void note_opened(void)
{
    FILE *file = *fake.script.opened ? fopen(fake.script.opened, "a") : NULL;
    if (!file) return;
    fprintf(file, "%d\n", (int)getpid());
    fclose(file);
}

/* As in NVML, the first user initialises and the last one shuts down. */
static int users;

nvmlReturn_t nvmlInit_v2(void)
{
    if (users == 0) {
        memset(&fake, 0, sizeof fake);
        for (int i = 0; i < FAKE_MOST_GPUS; i++)
            fake.devices[i] = (struct nvmlDevice_st) { .index = i, .reset_j = NAN };
        fake_script_load(&fake.script);
        fake_limits_open(fake.script.state);
        clock_gettime(CLOCK_MONOTONIC, &fake.start);
        open_world();
        note_opened();
    }
    nvmlReturn_t rc = fake_fault(NULL, "Init");
    if (rc == NVML_SUCCESS) rc = fake.script.init;
    if (rc == NVML_SUCCESS) users++;
    return rc;
}

nvmlReturn_t nvmlInitWithFlags(unsigned flags)
{
    (void)flags;
    return nvmlInit_v2();
}

nvmlReturn_t nvmlShutdown(void)
{
    if (users > 0) users--;
    return fake_fault(NULL, "Shutdown");
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *to, unsigned size) { return fake_put(to, size, "535.104.05"); }
nvmlReturn_t nvmlSystemGetNVMLVersion(char *to, unsigned size) { return fake_put(to, size, "12.535.104.05"); }

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version)
{
    *version = 12020;
    return NVML_SUCCESS;
}

#ifndef FAKE_BROKEN
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *n)
{
    *n = (unsigned)fake.script.gpus;
    return NVML_SUCCESS;
}
#endif

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned i, nvmlDevice_t *d)
{
    if (i >= (unsigned)fake.script.gpus) return NVML_ERROR_INVALID_ARGUMENT;
    *d = &fake.devices[i];
    return fake_fault(*d, "GetHandleByIndex");
}

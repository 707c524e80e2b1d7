/* A fake libze_loader.so.1: one card with two tiles. $WATTLAW_FAKE_ZE: "denied": no permission to read the energy
 * counters; "lost": every reading fails from the third on. */
#include "power/intel/api.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char wattlaw_simulated[] = "simulated";

enum { DRIVER = 1, DEVICE, POWER_TILE, POWER_CARD, ENGINE_COMPUTE, ENGINE_ALL, CLOCK_MEMORY, CLOCK_GPU };

static int reads;

static bool is(const char *word)
{
    const char *script = getenv("WATTLAW_FAKE_ZE");
    return script && strcmp(script, word) == 0;
}

static int list(const int *kinds, uint32_t have, uint32_t *n, ze_handle_t *to)
{
    if (!to) *n = have;
    for (uint32_t i = 0; to && i < *n && i < have; i++) to[i] = (ze_handle_t)(intptr_t)kinds[i];
    return ZE_RESULT_SUCCESS;
}

static int kind_of(ze_handle_t h) { return (int)(intptr_t)h; }

static uint64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

int zesInit(uint32_t flags)
{
    reads = 0;
    return flags == 0 ? ZE_RESULT_SUCCESS : 1;
}

int zesDriverGet(uint32_t *n, ze_handle_t *to) { return list((const int[]) { DRIVER }, 1, n, to); }

int zesDeviceGet(ze_handle_t driver, uint32_t *n, ze_handle_t *to)
{
    return kind_of(driver) == DRIVER ? list((const int[]) { DEVICE }, 1, n, to) : 1;
}

int zesDeviceGetProperties(ze_handle_t d, zes_device_properties_t *p)
{
    (void)d;
    if (p->stype != ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES) return 1;
    snprintf(p->core.name, sizeof p->core.name, "Intel(R) Data Center GPU Max 1550");
    for (int i = 0; i < 16; i++) p->core.uuid[i] = (uint8_t)(0x80 + i);
    snprintf(p->driverVersion, sizeof p->driverVersion, "1.3.27642");
    return ZE_RESULT_SUCCESS;
}

int zesDevicePciGetProperties(ze_handle_t d, zes_pci_properties_t *p)
{
    (void)d;
    p->address.bus = 0x18;
    return ZE_RESULT_SUCCESS;
}

int zesDeviceEnumPowerDomains(ze_handle_t d, uint32_t *n, ze_handle_t *to)
{
    (void)d;
    return list((const int[]) { POWER_TILE, POWER_CARD }, 2, n, to);
}

int zesPowerGetProperties(ze_handle_t h, zes_power_properties_t *p)
{
    p->onSubdevice = kind_of(h) == POWER_TILE;
    p->defaultLimit = p->maxLimit = 600000;
    return ZE_RESULT_SUCCESS;
}

/* 500 W. */
int zesPowerGetEnergyCounter(ze_handle_t h, zes_power_energy_counter_t *c)
{
    if (is("denied")) return ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS;
    if (is("lost") && ++reads > 2) return ZE_RESULT_ERROR_DEVICE_LOST;
    c->timestamp = now_us();
    c->energy = c->timestamp * (kind_of(h) == POWER_CARD ? 500 : 200);
    return ZE_RESULT_SUCCESS;
}

int zesPowerGetLimits(ze_handle_t h, zes_power_sustained_limit_t *sustained, void *burst, void *peak)
{
    (void)h, (void)burst, (void)peak;
    *sustained = (zes_power_sustained_limit_t) { .enabled = 1, .power = 550000 };
    return ZE_RESULT_SUCCESS;
}

int zesDeviceEnumEngineGroups(ze_handle_t d, uint32_t *n, ze_handle_t *to)
{
    (void)d;
    return list((const int[]) { ENGINE_COMPUTE, ENGINE_ALL }, 2, n, to);
}

int zesEngineGetProperties(ze_handle_t h, zes_engine_properties_t *p)
{
    p->type = kind_of(h) == ENGINE_ALL ? ZES_ENGINE_GROUP_ALL : ZES_ENGINE_GROUP_COMPUTE_ALL;
    return ZE_RESULT_SUCCESS;
}

/* All engines are busy three quarters of the time, compute engines half of it. */
int zesEngineGetActivity(ze_handle_t h, zes_engine_stats_t *s)
{
    s->timestamp = now_us();
    s->activeTime = kind_of(h) == ENGINE_ALL ? s->timestamp / 4 * 3 : s->timestamp / 2;
    return ZE_RESULT_SUCCESS;
}

int zesDeviceEnumFrequencyDomains(ze_handle_t d, uint32_t *n, ze_handle_t *to)
{
    (void)d;
    return list((const int[]) { CLOCK_MEMORY, CLOCK_GPU }, 2, n, to);
}

int zesFrequencyGetProperties(ze_handle_t h, zes_freq_properties_t *p)
{
    p->type = kind_of(h) == CLOCK_GPU ? ZES_FREQ_DOMAIN_GPU : ZES_FREQ_DOMAIN_MEMORY;
    return ZE_RESULT_SUCCESS;
}

int zesFrequencyGetState(ze_handle_t h, zes_freq_state_t *s)
{
    if (s->stype != ZES_STRUCTURE_TYPE_FREQ_STATE) return 1;
    s->actual = kind_of(h) == CLOCK_GPU ? 1600 : 3200;
    return ZE_RESULT_SUCCESS;
}

/* A fake libamd_smi.so: sockets with one GPU each. $WATTLAW_FAKE_AMD, words separated by ';':
 *     gpus=2        (1)
 *     parts=mi250x  two dies per part, the first of which shows the power of both (mi300x: instant power)
 *     version=24    of the library (26)
 *     fail=10       energy and power fail with this code */
#include "power/amd/api.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char wattlaw_simulated[] = "simulated";

static int number(const char *key, int otherwise)
{
    const char *script = getenv("WATTLAW_FAKE_AMD"), *at = script ? strstr(script, key) : NULL;
    return at ? atoi(at + strlen(key)) : otherwise;
}

static bool is_mi250x(void)
{
    const char *script = getenv("WATTLAW_FAKE_AMD");
    return script && strstr(script, "parts=mi250x");
}

/* Handles are numbers from 1. */
static int gpu_of(amdsmi_processor_handle h) { return (int)(intptr_t)h - 1; }

/* The power of a part; the second die shows none. */
static double watts(int gpu) { return is_mi250x() ? (gpu % 2 == 0 ? 420 + gpu : 0) : 650 + gpu; }

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int amdsmi_init(uint64_t flags) { return flags == AMDSMI_INIT_AMD_GPUS ? 0 : 1; }
int amdsmi_shut_down(void) { return 0; }

int amdsmi_get_lib_version(amdsmi_version_t *v)
{
    v->major = (uint32_t)number("version=", 26);
    v->minor = v->release = 0;
    return 0;
}

int amdsmi_get_socket_handles(uint32_t *n, amdsmi_socket_handle *to)
{
    *n = (uint32_t)number("gpus=", 1);
    for (uint32_t i = 0; to && i < *n; i++) to[i] = (amdsmi_socket_handle)(intptr_t)(i + 1);
    return 0;
}

int amdsmi_get_processor_handles(amdsmi_socket_handle socket, uint32_t *n, amdsmi_processor_handle *to)
{
    *n = 1;
    if (to) to[0] = socket;
    return 0;
}

int amdsmi_get_gpu_device_uuid(amdsmi_processor_handle h, unsigned *length, char *uuid)
{
    snprintf(uuid, *length, "%08xff-0000-1000-80aa-0000000000", 0xa1u + (unsigned)gpu_of(h));
    return 0;
}

int amdsmi_get_gpu_bdf_id(amdsmi_processor_handle h, uint64_t *bdf)
{
    *bdf = ((uint64_t)0xc1 + (uint64_t)gpu_of(h)) << 8;
    return 0;
}

int amdsmi_get_gpu_asic_info(amdsmi_processor_handle h, amdsmi_asic_info_t *info)
{
    (void)h;
    memset(info, 0, sizeof *info);
    snprintf(info->market_name, sizeof info->market_name, "AMD Instinct %s", is_mi250x() ? "MI250X" : "MI300X");
    info->device_id = is_mi250x() ? 0x7408 : 0x74a1;
    return 0;
}

/* MI300 has the instant value, MI250X the mean. */
int amdsmi_get_power_info(amdsmi_processor_handle h, amdsmi_power_info_t *p)
{
    uint32_t w = (uint32_t)watts(gpu_of(h));
    p->current_socket_power = is_mi250x() ? 0xffff : w;
    p->average_socket_power = is_mi250x() ? w : 0xffff;
    return number("fail=", 0);
}

int amdsmi_get_energy_count(amdsmi_processor_handle h, uint64_t *count, float *unit_uj, uint64_t *stamp)
{
    *unit_uj = 15.259f;
    *count = (uint64_t)(watts(gpu_of(h)) * now_s() / 15.259e-6);
    *stamp = (uint64_t)(now_s() * 1e9);
    return number("fail=", 0);
}

int amdsmi_get_gpu_activity(amdsmi_processor_handle h, amdsmi_engine_usage_t *u)
{
    (void)h;
    u->gfx_activity = (uint32_t)number("busy=", 85);
    u->umc_activity = 30;
    return 0;
}

int amdsmi_get_clock_info(amdsmi_processor_handle h, int type, amdsmi_clk_info_t *c)
{
    (void)h;
    c->clk = type == AMDSMI_CLK_TYPE_MEM ? 1600 : 2100;
    return 0;
}

int amdsmi_get_temp_metric(amdsmi_processor_handle h, int type, int metric, int64_t *celsius)
{
    (void)h, (void)metric;
    *celsius = type == AMDSMI_TEMPERATURE_TYPE_VRAM ? 61000 : 72;
    return 0;
}

int amdsmi_get_gpu_memory_usage(amdsmi_processor_handle h, int type, uint64_t *used)
{
    (void)h, (void)type;
    *used = 5ull << 30;
    return 0;
}

int amdsmi_get_power_cap_info(amdsmi_processor_handle h, uint32_t sensor, amdsmi_power_cap_info_t *c)
{
    (void)h, (void)sensor;
    *c = (amdsmi_power_cap_info_t) {
        .power_cap = 700000000, .default_power_cap = 750000000, .min_power_cap = 0, .max_power_cap = 750000000
    };
    return 0;
}

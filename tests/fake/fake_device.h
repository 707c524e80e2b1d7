/* More of the fake NVML: what fake_nvml.c offers to the files that answer further calls, and their keys of the script.
 *
 *     arch=9              architecture number (7: Ampere)
 *     ecc=0, persistence=0, mig=1
 *     pids=4242,4243      compute processes on each GPU (none)
 *     capped=0.25         share of time that the power limit held the clock down (0, a model's own); thermal=0.1: the
 * temperature module_w=150        what a module draws beyond its GPU, W (0: the driver ignores scopes and answers for
 * the GPU) memory_c=70         memory temperature (60) links_mib_s=1000    NVLink and PCIe, each way, MiB/s (0)
 *     stale_s=1           the record of utilisation ends at this time (never)
 *     gpm=60:40:25:30     SM activity, occupancy, tensor activity, DRAM, % (not supported); gpm=denied: no permission
 */
#ifndef FAKE_DEVICE_H
#define FAKE_DEVICE_H

#include "power/nvml_api.h"

#include <stdbool.h>

/* ---- offered by fake_nvml.c ---- */

/* What each call of a device begins with: its latency, and its scripted failure. */
nvmlReturn_t fake_enter(nvmlDevice_t d, const char *call);
int fake_number(nvmlDevice_t d);
double fake_time_s(void);             /* since nvmlInit */
double fake_capped_s(nvmlDevice_t d); /* time in which the power limit held the clock down */

/* ---- fake_device.c ---- */

struct fake_device {
    int arch, ecc, persistence, mig;
    double capped, thermal, module_w, memory_c, links_mib_s, stale_s;
    unsigned pids[8];
    unsigned n_pids;
    double gpm[4]; /* %; the first NAN: not supported */
    bool gpm_denied;
};
extern struct fake_device fake_device;

void fake_device_reset(void);
bool fake_device_set(const char *key, const char *value); /* false: no key of these */

/* A field that fake_nvml.c does not know, or power and energy of a scope, given those of the GPU. */
void fake_device_field(nvmlDevice_t d, nvmlFieldValue_t *f, double watts, double joules);

#endif

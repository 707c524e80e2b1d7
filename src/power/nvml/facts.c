/* Facts about a GPU for the device's record, which distinguish readings of different parts or settings. */
#include "power/nvml/sensor.h"

/* nvmlDeviceArchitecture_t, by number */
static const char *const architectures[] = {
    [2] = "Kepler", [3] = "Maxwell", [4] = "Pascal", [5] = "Volta",      [6] = "Turing",
    [7] = "Ampere", [8] = "Ada",     [9] = "Hopper", [10] = "Blackwell", [13] = "Rubin",
};

static void add_text(struct wl_sensor *s, const struct wl_nvml_device *u, const char *key,
                     nvmlReturn_t (*get)(nvmlDevice_t, char *, unsigned))
{
    char text[NVML_NAME_SIZE];
    if (get && get(u->handle, text, sizeof text) == NVML_SUCCESS)
        wl_sensor_add_fact(s, u->device, key, wl_strdup(s->arena, text));
}

static void add_architecture(struct wl_sensor *s, const struct wl_nvml_device *u, const struct wl_nvml *lib)
{
    unsigned n;
    if (!lib->DeviceGetArchitecture || lib->DeviceGetArchitecture(u->handle, &n) != NVML_SUCCESS) return;
    const char *name = n < WL_COUNT(architectures) ? architectures[n] : NULL;
    wl_sensor_add_fact(s, u->device, "architecture", name ? name : wl_strf(s->arena, "number %u", n));
}

void wl_nvml_facts_add(struct wl_sensor *s, const struct wl_nvml_device *u)
{
    const struct wl_nvml *lib = &((struct wl_nvml_sensor *)s->state)->lib;
    int on, after_reset;
    add_architecture(s, u, lib);
    add_text(s, u, "serial", lib->DeviceGetSerial);
    add_text(s, u, "vbios", lib->DeviceGetVbiosVersion);
    if (lib->DeviceGetEccMode && lib->DeviceGetEccMode(u->handle, &on, &after_reset) == NVML_SUCCESS)
        wl_sensor_add_fact(s, u->device, "ecc", on ? "on" : "off");
    if (lib->DeviceGetPersistenceMode && lib->DeviceGetPersistenceMode(u->handle, &on) == NVML_SUCCESS)
        wl_sensor_add_fact(s, u->device, "persistence", on ? "on" : "off");
    if (lib->DeviceGetMigMode) wl_sensor_add_fact(s, u->device, "mig", u->processes.mig ? "on" : "off");
    wl_sensor_add_fact(s, u->device, "driver", lib->driver);
}

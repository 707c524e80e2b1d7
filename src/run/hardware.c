#include "run/run.h"

const char *wl_hardware_name(const struct wl_sensors *sensors, struct wl_arena *a)
{
    for (size_t i = 0; sensors && i < sensors->n_channels; i++)
        if (sensors->channels[i].scope == WL_SCOPE_GPU || sensors->channels[i].scope == WL_SCOPE_MODULE)
            return wl_strdup(a, sensors->devices[sensors->channels[i].device].name);
    return wl_host_cpu_name(a);
}

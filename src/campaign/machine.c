#include "campaign/internal.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The CPUs in the affinity mask; all that are online where the mask cannot be read. */
static int usable_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

struct wl_machine wl_machine_here(void)
{
    static const char *const why = "this version of wattlaw measures and does not set caps";
    return (struct wl_machine) { .cores = usable_cores(), .no_power_cap = why, .no_clock_cap = why };
}

/* "model name" of /proc/cpuinfo (x86); elsewhere the architecture. */
static const char *cpu_name(struct wl_arena *a)
{
    char *text;
    struct utsname u;
    if (wl_file_read("/proc/cpuinfo", 1 << 22, &text, NULL, a, NULL) == 0) {
        const char *at = strstr(text, "model name");
        const char *colon = at ? strchr(at, ':') : NULL;
        if (colon) return wl_strip(a, wl_strndup(a, colon + 1, strcspn(colon + 1, "\n")));
    }
    return uname(&u) == 0 ? wl_strdup(a, u.machine) : "unknown";
}

const char *wl_hardware_name(const struct wl_sensors *sensors, struct wl_arena *a)
{
    for (size_t i = 0; sensors && i < sensors->n_channels; i++)
        if (sensors->channels[i].scope == WL_SCOPE_GPU || sensors->channels[i].scope == WL_SCOPE_MODULE)
            return wl_strdup(a, sensors->devices[sensors->channels[i].device].name);
    return cpu_name(a);
}

#include "campaign/internal.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

/* The CPUs in the affinity mask; all that are online where the mask cannot be read. */
static int usable_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

static struct wl_cap_range range_of(enum wl_cap_kind kind, const struct wl_experiment *x, struct wl_arena *a)
{
    struct wl_cap_ability can;
    wl_cap_probe(kind, &x->cap.opts, &x->measure.power, &can, a);
    const char *why = can.why && can.fix ? wl_strf(a, "%s; to fix it: %s", can.why, can.fix) : can.why;
    return (struct wl_cap_range) { .why_not = why, .min = can.min, .max = can.max };
}

struct wl_machine wl_machine_here(const struct wl_experiment *x, struct wl_arena *a)
{
    struct wl_machine m = { .cores = usable_cores(),
                            .power = { .min = NAN, .max = NAN },
                            .clock = { .min = NAN, .max = NAN } };
    if (x->sweep.power_cap_w.n) m.power = range_of(WL_CAP_POWER, x, a);
    if (x->sweep.clock_mhz.n) m.clock = range_of(WL_CAP_CLOCK, x, a);
    return m;
}

const char *wl_hardware_name(const struct wl_sensors *sensors, struct wl_arena *a)
{
    for (size_t i = 0; sensors && i < sensors->n_channels; i++)
        if (sensors->channels[i].scope == WL_SCOPE_GPU || sensors->channels[i].scope == WL_SCOPE_MODULE)
            return wl_strdup(a, sensors->devices[sensors->channels[i].device].name);
    return wl_cpu_name(a);
}

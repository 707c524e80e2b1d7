#include "campaign/internal.h"

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

struct wl_machine wl_machine_here(void)
{
    static const char *const why = "this version of wattlaw measures and does not set caps";
    return (struct wl_machine) { .cores = usable_cores(), .no_power_cap = why, .no_clock_cap = why };
}

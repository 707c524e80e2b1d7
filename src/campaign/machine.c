#include "campaign/internal.h"

#include <math.h>
#include <sched.h>
#include <unistd.h>

/* The CPUs in the affinity mask; all online ones if the mask cannot be read. */
static int usable_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

static struct wl_cap_limit limit_of(enum wl_cap_kind kind, const struct wl_experiment *x, struct wl_arena *a)
{
    struct wl_cap_ability can;
    wl_cap_probe(kind, &x->cap.opts, &x->measure.power, &can, a);
    const char *why = can.why && can.fix ? wl_strf(a, "%s; to fix it: %s", can.why, can.fix) : can.why;
    return (struct wl_cap_limit) { .why_not = why, .range = can.range };
}

struct wl_machine wl_machine_detect(const struct wl_experiment *x, struct wl_arena *a)
{
    const bool jobs = wl_experiment_is_batch(x);
    struct wl_machine m = { .cores = jobs ? 0 : usable_cores() };
    bool here = !jobs && !wl_experiment_is_multinode(x); /* otherwise each node checks its own devices */
    for (int k = 0; k < WL_CAP_KINDS; k++)
        m.cap[k] = x->sweep.cap[k].n && here ? limit_of(k, x, a)
                                             : (struct wl_cap_limit) { .range = { .min = NAN, .max = NAN } };
    return m;
}

#include "base/affinity.h"

#include "base/str.h"

/* "0-3,8" */
static const char *list_of(const cpu_set_t *set, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    for (int from = 0; from < CPU_SETSIZE; from++) {
        if (!CPU_ISSET((size_t)from, set)) continue;
        int to = from;
        while (to + 1 < CPU_SETSIZE && CPU_ISSET((size_t)to + 1, set)) to++;
        wl_text_addf(&t, "%s%d", t.n ? "," : "", from);
        if (to > from) wl_text_addf(&t, "-%d", to);
        from = to;
    }
    return t.n ? t.s : "none";
}

int wl_affinity_check(int64_t cpu, struct wl_arena *a, struct wl_err *e)
{
    cpu_set_t may;
    if (sched_getaffinity(0, sizeof may, &may)) return wl_fail_errno(e, "CPU %lld", (long long)cpu);
    if (cpu >= 0 && cpu < CPU_SETSIZE && CPU_ISSET((size_t)cpu, &may)) return 0;
    return wl_fail(e, WL_EINVAL, "CPU %lld is not available to this process; available: %s", (long long)cpu,
                   list_of(&may, a));
}

void wl_affinity_bind(struct wl_affinity *b, int64_t cpu)
{
    cpu_set_t one;
    *b = (struct wl_affinity) { .bound = false };
    if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof b->before, &b->before)) return;
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    b->bound = sched_setaffinity(0, sizeof one, &one) == 0;
}

void wl_affinity_restore(struct wl_affinity *b)
{
    if (b->bound) (void)sched_setaffinity(0, sizeof b->before, &b->before);
    b->bound = false;
}

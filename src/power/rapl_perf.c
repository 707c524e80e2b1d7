/* RAPL through perf_event: the PMU "power" with the events energy-pkg, energy-ram and energy-psys, one counter a
 * package on the CPU that cpumask names; 64 bits, so it does not start over. Source: perf_event_open(2) and
 * arch/x86/events/rapl.c of Linux. */
#include "power/rapl.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void close_fd(void *fd) { close((int)(intptr_t)fd); }

static char *pmu_text(struct wl_arena *a, const char *root, const char *file)
{
    return wl_small_text(a, wl_strf(a, "%s/sys/bus/event_source/devices/power/%s", root, file));
}

static int package_of(struct wl_arena *a, const char *root, int64_t cpu)
{
    char *text = wl_small_text(a, wl_strf(a, "%s/sys/devices/system/cpu/cpu%lld/topology/physical_package_id", root,
                                          (long long)cpu));
    int64_t id;
    return text && wl_parse_int(text, &id) == 0 ? (int)id : (int)cpu;
}

static int open_event(uint32_t type, uint64_t config, int64_t cpu)
{
    struct perf_event_attr attr = { .size = sizeof attr, .type = type, .config = config };
    return (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

struct pmu {
    const char *root;
    uint32_t type;
    struct wl_strs cpus;
};

struct event {
    const char *name;   /* in the PMU's folder events/ */
    const char *device; /* "package" -> package-0 */
    enum wl_scope scope;
    bool numbered; /* one a package */
};

/* Opens an event on the CPU of each package. An event that the PMU lacks is no error; *denied is errno of the first
 * that could not be opened. */
static void add_event(struct wl_rapl *r, const struct pmu *pmu, const struct event *event, struct wl_arena *a,
                      int *denied)
{
    char *spec = pmu_text(a, pmu->root, wl_strf(a, "events/%s", event->name));
    char *scale = pmu_text(a, pmu->root, wl_strf(a, "events/%s.scale", event->name));
    double unit_j;
    if (!spec || !wl_starts(spec, "event=") || !scale || wl_parse_real(scale, &unit_j) < 0) return;
    uint64_t config = strtoull(spec + strlen("event="), NULL, 0);
    for (size_t i = 0; i < pmu->cpus.n; i++) {
        int64_t cpu;
        if (wl_parse_int(pmu->cpus.v[i], &cpu) < 0) continue;
        struct wl_rapl_domain d = { .scope = event->scope, .perf = true, .unit_j = unit_j };
        d.name = event->numbered ? wl_strf(a, "%s-%d", event->device, package_of(a, pmu->root, cpu)) : event->device;
        if (wl_rapl_has(r, d.name)) continue;
        d.fd = open_event(pmu->type, config, cpu);
        if (d.fd < 0) {
            if (*denied == 0) *denied = errno;
            continue;
        }
        wl_defer(a, close_fd, (void *)(intptr_t)d.fd);
        wl_rapl_add(r, &d, a);
    }
}

int wl_rapl_perf(struct wl_rapl *r, const char *root, struct wl_arena *a, const char **fix, struct wl_err *e)
{
    static const struct event events[] = {
        { "energy-pkg", "package", WL_SCOPE_PACKAGE, true },
        { "energy-ram", "dram", WL_SCOPE_DRAM, true },
        { "energy-psys", "psys", WL_SCOPE_PSYS, false },
    };
    char *type_text = pmu_text(a, root, "type"), *mask = pmu_text(a, root, "cpumask");
    int64_t type;
    if (!type_text || wl_parse_int(type_text, &type) < 0)
        return wl_fail(e, WL_EUNAVAIL, "perf has no PMU \"power\" in %s/sys/bus/event_source/devices", root);
    struct pmu pmu = { .root = root, .type = (uint32_t)type, .cpus = wl_split(a, mask ? mask : "0", ',') };
    int denied = 0;
    for (size_t i = 0; i < WL_COUNT(events); i++) add_event(r, &pmu, &events[i], a, &denied);
    if (denied == 0) return r->n > 0 ? 0 : wl_fail(e, WL_EUNAVAIL, "the perf PMU \"power\" has no energy event");
    if (denied != EACCES && denied != EPERM) return wl_fail(e, WL_EIO, "perf_event_open: %s", strerror(denied));
    *fix = "sudo sysctl kernel.perf_event_paranoid=0";
    return wl_fail(e, WL_EPERM, "perf_event_open is not allowed");
}

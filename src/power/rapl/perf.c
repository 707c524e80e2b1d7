/* RAPL through perf_event: the PMU "power" with the events energy-pkg, energy-ram and energy-psys, one counter
 * per package on the CPU that cpumask names; 64 bits, so it does not wrap. Source: perf_event_open(2) and
 * arch/x86/events/rapl.c of Linux. */
#include "power/rapl/sensor.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void close_fd(void *fd) { close((int)(intptr_t)fd); }

static char *pmu_text(struct wl_arena *a, const char *root, const char *file)
{
    return wl_procfs_text(a, wl_strf(a, "%s/sys/bus/event_source/devices/power/%s", root, file));
}

/* A number from the CPU's topology, or `missing`. */
static int topology_of(struct wl_arena *a, const char *root, int cpu, const char *file, int missing)
{
    char *text = wl_procfs_text(a, wl_strf(a, "%s/sys/devices/system/cpu/cpu%d/topology/%s", root, cpu, file));
    int64_t id;
    return text && wl_str_to_int(text, &id) == 0 ? (int)id : missing;
}

/* "package-0"; if the dies of a package have a counter each, the others are "package-0-die-1" ... */
static const char *name_of(const struct wl_rapl *r, const char *root, int cpu, const char *device, struct wl_arena *a)
{
    const char *name = wl_strf(a, "%s-%d", device, topology_of(a, root, cpu, "physical_package_id", cpu));
    return wl_rapl_has(r, name) ? wl_strf(a, "%s-die-%d", name, topology_of(a, root, cpu, "die_id", cpu)) : name;
}

static int open_event(uint32_t type, uint64_t config, int cpu)
{
    struct perf_event_attr attr = { .size = sizeof attr, .type = type, .config = config };
    return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

struct pmu {
    const char *root;
    uint32_t type;
    const int *cpus; /* one per counter */
    size_t n_cpus;
};

struct event {
    const char *name;   /* in the PMU's events/ folder */
    const char *device; /* "package" -> package-0 */
    enum wl_scope scope;
    bool numbered; /* one per package */
};

/* Opens an event on the CPU of each package. An event that the PMU lacks is not an error; *denied: errno of the first
 * that could not be opened. */
static void add_event(struct wl_rapl *r, const struct pmu *pmu, const struct event *event, struct wl_arena *a,
                      int *denied)
{
    char *spec = pmu_text(a, pmu->root, wl_strf(a, "events/%s", event->name));
    char *scale = pmu_text(a, pmu->root, wl_strf(a, "events/%s.scale", event->name));
    double unit_j;
    if (!spec || !wl_str_starts(spec, "event=") || !scale || wl_str_to_real(scale, &unit_j) < 0) return;
    uint64_t config = strtoull(spec + strlen("event="), NULL, 0);
    for (size_t i = 0; i < pmu->n_cpus; i++) {
        int cpu = pmu->cpus[i];
        struct wl_rapl_domain d = { .scope = event->scope, .perf = true, .unit_j = unit_j };
        d.name = event->numbered ? name_of(r, pmu->root, cpu, event->device, a) : event->device;
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
    char *type_text = pmu_text(a, root, "type");
    const char *mask = pmu_text(a, root, "cpumask");
    int64_t type;
    if (!type_text || wl_str_to_int(type_text, &type) < 0)
        return wl_fail(e, WL_EUNAVAIL, "perf has no PMU \"power\" in %s/sys/bus/event_source/devices", root);
    if (!mask) mask = "0";
    size_t n = wl_cpu_list(mask, NULL, 0);
    int *cpus = wl_new_array(a, int, n), denied = 0;
    wl_cpu_list(mask, cpus, n);
    struct pmu pmu = { .root = root, .type = (uint32_t)type, .cpus = cpus, .n_cpus = n };
    for (size_t i = 0; i < WL_COUNT(events); i++) add_event(r, &pmu, &events[i], a, &denied);
    if (denied == 0) return r->n > 0 ? 0 : wl_fail(e, WL_EUNAVAIL, "the perf PMU \"power\" has no energy event");
    if (denied != EACCES && denied != EPERM) return wl_fail(e, WL_EIO, "perf_event_open: %s", strerror(denied));
    *fix = "sudo sysctl kernel.perf_event_paranoid=0";
    return wl_fail(e, WL_EPERM, "perf_event_open is not allowed");
}

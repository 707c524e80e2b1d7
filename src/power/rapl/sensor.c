/* CPU package and DRAM energy through RAPL: powercap if it may be read, else the perf "power" PMU, else hwmon.
 *
 * Domains overlap: psys contains package, package contains core and uncore; dram is separate. Package and dram are
 * read, whose sum is the CPU's energy, and psys, which is kept apart. */
#include "power/rapl/sensor.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* The length of a name without its die: "package-0-die-1" -> "package-0". */
static size_t package_length(const char *name)
{
    const char *die = strstr(name, "-die-");
    return die ? (size_t)(die - name) : strlen(name);
}

static bool same_package(const char *x, const char *y)
{
    size_t n = package_length(x);
    return n == package_length(y) && strncmp(x, y, n) == 0;
}

bool wl_rapl_has(const struct wl_rapl *r, const char *name)
{
    for (size_t i = 0; i < r->n; i++) {
        if (wl_str_eq(r->v[i].name, name) || (r->one_per_package && same_package(r->v[i].name, name))) return true;
    }
    return false;
}

void wl_rapl_add(struct wl_rapl *r, const struct wl_rapl_domain *d, struct wl_arena *a)
{
    if (wl_rapl_has(r, d->name)) return;
    WL_GROW(a, r->v, r->n, r->cap);
    r->v[r->n++] = *d;
}

/* No socket or platform draws more, so a counter takes at least range / max_w to wrap. */
static const double max_w = 1000;

bool wl_rapl_advance(struct wl_rapl_domain *d, uint64_t count, int64_t now_ns)
{
    bool certain = true;
    if (d->at_ns != 0) {
        double wrap_s = d->range == 0 ? HUGE_VAL : (double)d->range * d->unit_j / max_w;
        certain = (double)(now_ns - d->at_ns) / WL_NS_PER_S < wrap_s;
        uint64_t step = count >= d->count || d->range == 0 ? count - d->count : d->range - d->count + count;
        d->energy_j = certain ? d->energy_j + (double)step * d->unit_j : 0;
    }
    d->count = count;
    d->at_ns = now_ns;
    return certain;
}

/* ---- The sensor: two channels per domain, energy_j and the mean power since the previous reading ---- */

/* NULL, or why there is no count: static text. */
static const char *read_count(const struct wl_rapl_domain *d, uint64_t *count)
{
    if (!d->perf) return wl_procfs_count(d->fd, NULL, count);
    return read(d->fd, count, sizeof *count) == (ssize_t)sizeof *count ? NULL : "the perf event cannot be read";
}

static void read_domain(struct wl_rapl_domain *d, struct wl_reading *energy, struct wl_reading *power)
{
    int64_t t0 = wl_now_ns(), before_ns = d->at_ns;
    double before_j = d->energy_j;
    uint64_t count;
    const char *why = read_count(d, &count);
    if (why) {
        wl_reading_fail(energy, why);
        wl_reading_fail(power, why);
        return;
    }
    int64_t took_ns = wl_now_ns() - t0, now = t0 + took_ns / 2;
    if (took_ns > WL_SLOW_NS) { /* the next reading continues from the previous one */
        wl_reading_fail(energy, WL_SLOW_WHY);
        wl_reading_fail(power, WL_SLOW_WHY);
        return;
    }
    bool certain = wl_rapl_advance(d, count, now);
    *energy = (struct wl_reading) { .value = d->energy_j, .t_ns = now };
    if (before_ns == 0 || now <= before_ns) return;
    if (certain)
        wl_reading_mean(power, (d->energy_j - before_j) * WL_NS_PER_S / (double)(now - before_ns), before_ns, now);
    else
        wl_reading_fail(power, "the RAPL counter may have wrapped more than once");
}

static void rapl_read(struct wl_sensor *s, struct wl_due due, struct wl_reading *out)
{
    (void)due;
    struct wl_rapl *r = s->state;
    for (size_t i = 0; i < r->n; i++) read_domain(&r->v[i], &out[2 * i], &out[2 * i + 1]);
}

static bool has_scope(const struct wl_rapl *r, enum wl_scope scope)
{
    for (size_t i = 0; i < r->n; i++) {
        if (r->v[i].scope == scope) return true;
    }
    return false;
}

/* No source has a counter: there may be a driver to load, unless this is a virtual machine. */
static const char *missing_fix(const char *root, struct wl_arena *a)
{
    char *cpu = wl_procfs_text(a, wl_strf(a, "%s/proc/cpuinfo", root));
    bool guest = cpu && strstr(cpu, " hypervisor");
    bool x86 = cpu && strstr(cpu, "vendor_id");
    return x86 && !guest ? "sudo modprobe intel_rapl_msr" : NULL;
}

static const char *missing_why(const char *root, struct wl_arena *a)
{
    char *cpu = wl_procfs_text(a, wl_strf(a, "%s/proc/cpuinfo", root));
    if (cpu && strstr(cpu, " hypervisor")) return "this is a virtual machine whose host does not expose the counters";
    return "the driver is not loaded or the CPU has no such counters";
}

/* Sources, best first: perf may need a permission that powercap does not, hwmon has packages only. */
static const struct source {
    int (*find)(struct wl_rapl *r, const char *root, struct wl_arena *a, const char **fix, struct wl_err *e);
    const char *source;
} sources[] = {
    { wl_rapl_powercap, "/sys/class/powercap" },
    { wl_rapl_perf, "perf_event, PMU \"power\"" },
    { wl_rapl_hwmon, "/sys/class/hwmon, driver amd_energy" },
};

/* Uses the first source with a domain. If there is none: the permission that is missing, else why there is none. */
static int find_domains(struct wl_sensor *s, struct wl_rapl *r, const char *root, struct wl_err *e)
{
    struct wl_text why = WL_TEXT(s->arena);
    int code = WL_EUNAVAIL;
    for (size_t i = 0; i < WL_COUNT(sources); i++) {
        struct wl_err refused;
        const char *fix = NULL;
        int rc = sources[i].find(r, root, s->arena, &fix, &refused);
        if (r->n > 0) {
            s->source = i == 0 ? wl_strf(s->arena, "%s%s", root, sources[i].source) : sources[i].source;
            s->reason = rc < 0 ? wl_strdup(s->arena, refused.msg) : NULL;
            s->fix = fix;
            return 0;
        }
        if (code == WL_EUNAVAIL) code = rc;
        if (!s->fix) s->fix = fix;
        wl_text_addf(&why, "%s%s", i > 0 ? "; " : "", refused.msg);
    }
    if (code != WL_EUNAVAIL) return wl_fail(e, code, "%s", why.s);
    s->fix = missing_fix(root, s->arena);
    return wl_fail(e, code, "%s: %s", why.s, missing_why(root, s->arena));
}

static bool is_amd(const char *root, struct wl_arena *a)
{
    char *cpu = wl_procfs_text(a, wl_strf(a, "%s/proc/cpuinfo", root));
    return cpu && (strstr(cpu, "AuthenticAMD") || strstr(cpu, "HygonGenuine"));
}

/* Packages of the machine, from the topology of its CPUs; 0: not known. */
static size_t count_packages(const char *root, struct wl_arena *a)
{
    enum { MAX_PACKAGES = 64 };
    bool seen[MAX_PACKAGES] = { false };
    size_t n = 0;
    for (int cpu = 0;; cpu++) {
        int64_t id;
        char *text =
            wl_procfs_text(a, wl_strf(a, "%s/sys/devices/system/cpu/cpu%d/topology/physical_package_id", root, cpu));
        if (!text) return n;
        if (wl_str_to_int(text, &id) < 0 || id < 0 || id >= MAX_PACKAGES || seen[id]) continue;
        seen[id] = true;
        n++;
    }
}

/* Packages with a counter; the dies of a package count once. */
static size_t measured_packages(const struct wl_rapl *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++) {
        bool first = r->v[i].scope == WL_SCOPE_PACKAGE;
        for (size_t k = 0; k < i; k++) first = first && !same_package(r->v[k].name, r->v[i].name);
        n += first;
    }
    return n;
}

/* Domains that a user might miss. */
static const char *missing_domains(const struct wl_rapl *r, const char *root, struct wl_arena *a)
{
    size_t all = count_packages(root, a), measured = measured_packages(r);
    if (measured < all) return wl_strf(a, "%zu of the %zu CPU packages have a counter", measured, all);
    return has_scope(r, WL_SCOPE_DRAM) ? NULL : "DRAM is not measured: this CPU has no DRAM domain";
}

/* Source: Intel, Software Developer's Manual 3B, 15.10.3: energy status is updated about every millisecond. */
static const double update_s = 0.001;

static int rapl_open(struct wl_sensor *s, const struct wl_power_opts *o, struct wl_err *e)
{
    struct wl_rapl *r = wl_new(s->arena, struct wl_rapl);
    s->state = r;
    r->one_per_package = is_amd(o->root, s->arena);
    int code = find_domains(s, r, o->root, e);
    if (code < 0) return code;
    for (size_t i = 0; i < r->n; i++) {
        const struct wl_rapl_domain *d = &r->v[i];
        const char *uuid = wl_strf(s->arena, "rapl:%s", d->name);
        int device = wl_sensor_add_device(s, &(struct wl_device) { .name = d->name, .uuid = uuid, .index = (int)i });
        int energy = wl_sensor_add_channel(s, device, WL_ENERGY, d->scope, WL_VARIANT_NONE);
        s->channels[energy].update_s = update_s;
        wl_sensor_add_channel(s, device, WL_POWER, d->scope, WL_VARIANT_MEAN);
    }
    if (!s->reason) s->reason = missing_domains(r, o->root, s->arena);
    return 0;
}

const struct wl_sensor_ops wl_sensor_rapl = {
    .name = "rapl",
    .help = "energy of CPU packages and their DRAM",
    .open = rapl_open,
    .read = rapl_read,
};

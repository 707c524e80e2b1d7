/* An estimate of CPU power from CPU time, for machines without an energy counter. Every channel is marked estimated.
 *
 *     P = P_idle + (P_full - P_idle) * busy share of all CPUs
 *
 * P_full is the thermal design power: cpu-tdp-w per package, else watts per core from the table below times the cores
 * that this machine sees (a virtual machine sees a part of a package). P_idle is cpu-idle-w, else a quarter of
 * P_full: the coefficients that Cloud Carbon Footprint derives from SPECpower_ssj2008 have idle at 0.16 (Skylake), 0.24
 * (EPYC 3rd generation) and 0.29 (EPYC 2nd generation) of full power. Clock, voltage, the
 * kind of instructions, memory and power supply losses are not modelled; the error is taken as WL_MODEL_ERROR
 * (power/energy_sources.h). */
#include "power/node/cpu_stat.h"
#include "power/procfs.h"
#include "power/sensor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Watts per core: TDP / cores of the named part, from the vendor's product page. */
struct core_power {
    const char *vendor;               /* vendor_id of /proc/cpuinfo; on Arm "CPU implementer" */
    int family, model_min, model_max; /* on Arm "CPU part" in model_min and model_max */
    double core_w;
    const char *part;
};

/* Grace, AWS Graviton4, Google Axion and others have this core; only for Grace is the power published. */
enum { NEOVERSE_V2 = 0xd4f };

static const struct core_power table[] = {
    { "GenuineIntel", 6, 63, 63, 145.0 / 18, "Xeon E5-2699 v3" },
    { "GenuineIntel", 6, 79, 79, 145.0 / 22, "Xeon E5-2699 v4" },
    { "GenuineIntel", 6, 85, 85, 205.0 / 28, "Xeon Platinum 8280" },
    { "GenuineIntel", 6, 106, 106, 270.0 / 40, "Xeon Platinum 8380" },
    { "GenuineIntel", 6, 143, 143, 350.0 / 56, "Xeon Platinum 8480+" },
    { "GenuineIntel", 6, 207, 207, 350.0 / 64, "Xeon Platinum 8592+" },
    { "GenuineIntel", 6, 173, 173, 500.0 / 128, "Xeon 6980P" },
    { "GenuineIntel", 6, 151, 151, 125.0 / 16, "Core i9-12900K" },
    { "AuthenticAMD", 23, 1, 1, 180.0 / 32, "EPYC 7601" },
    { "AuthenticAMD", 23, 49, 49, 225.0 / 64, "EPYC 7742" },
    { "AuthenticAMD", 25, 0, 1, 280.0 / 64, "EPYC 7763" },
    { "AuthenticAMD", 25, 16, 31, 360.0 / 96, "EPYC 9654" },
    { "AuthenticAMD", 25, 160, 175, 360.0 / 128, "EPYC 9754" },
    { "AuthenticAMD", 26, 0, 15, 500.0 / 128, "EPYC 9755" },
    { "AuthenticAMD", 26, 16, 31, 500.0 / 192, "EPYC 9965" },
    { "0x41", -1, 0xd0c, 0xd0c, 250.0 / 128, "Ampere Altra Max M128-30" },
    { "0x41", -1, NEOVERSE_V2, NEOVERSE_V2, 250.0 / 72, "NVIDIA Grace, memory included" },
};

/* For a CPU that is not in the table, whose rows have 2 to 8 W. */
static const double unknown_core_w = 5;
static const double idle_share = 0.25;

struct cpu_model {
    struct wl_cpu_stat *cpu_stat;
    double idle_w, full_w;
    int cpus;
    struct wl_cpu_times first, last;    /* at opening; at the latest power reading */
    int64_t first_ns, last_ns, read_ns; /* read_ns: of the latest reading of either channel */
    struct wl_budget budget;            /* loose: reduces the rate only on machines with very many CPUs */
};

/* "model name	: AMD EPYC" -> "AMD EPYC"; NULL: no such line. The first CPU's lines suffice. */
static char *cpuinfo_field(struct wl_arena *a, const char *text, const char *name)
{
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        const char *colon = strchr(line, ':');
        if (!colon || !wl_str_starts(line, name)) continue;
        const char *after = line + strlen(name);
        if (*after != '\t' && *after != ' ' && *after != ':') continue;
        return wl_str_strip(a, wl_strndup(a, colon + 1, strcspn(colon + 1, "\n")));
    }
    return NULL;
}

static int cpuinfo_int(struct wl_arena *a, const char *text, const char *name)
{
    char *field = cpuinfo_field(a, text, name);
    return field ? (int)strtol(field, NULL, 0) : -1;
}

static const struct core_power *look_up(struct wl_arena *a, const char *root, const char *cpuinfo)
{
    const char *vendor = cpuinfo_field(a, cpuinfo, "vendor_id");
    int family = cpuinfo_int(a, cpuinfo, "cpu family"), model = cpuinfo_int(a, cpuinfo, "model");
    if (!vendor) {
        vendor = cpuinfo_field(a, cpuinfo, "CPU implementer");
        family = -1;
        model = cpuinfo_int(a, cpuinfo, "CPU part");
        if (model == NEOVERSE_V2 && !wl_cpu_is_grace(root, a)) return NULL;
    }
    for (size_t i = 0; i < WL_COUNT(table); i++) {
        const struct core_power *row = &table[i];
        bool same = wl_str_eq(vendor, row->vendor) && family == row->family;
        if (same && model >= row->model_min && model <= row->model_max) return row;
    }
    return NULL;
}

struct topology {
    int packages, cores, cpus;
};

/* Cores = online CPUs / threads per core, packages = CPUs / CPUs per package, all as for CPU 0. Without the topology
 * folders: one package, one core per CPU. */
static struct topology read_topology(struct wl_arena *a, const char *root)
{
    const char *folder = wl_strf(a, "%s/sys/devices/system/cpu", root);
    char *online = wl_procfs_text(a, wl_strf(a, "%s/online", folder));
    char *threads = wl_procfs_text(a, wl_strf(a, "%s/cpu0/topology/core_cpus_list", folder));
    char *package = wl_procfs_text(a, wl_strf(a, "%s/cpu0/topology/package_cpus_list", folder));
    int cpus = online ? (int)wl_cpu_list(online, NULL, 0) : 1;
    int per_core = threads ? (int)wl_cpu_list(threads, NULL, 0) : 1;
    int per_package = package ? (int)wl_cpu_list(package, NULL, 0) : cpus;
    if (cpus < 1) cpus = 1;
    if (per_core < 1) per_core = 1;
    if (per_package < 1) per_package = cpus;
    return (struct topology) {
        .packages = (cpus + per_package - 1) / per_package,
        .cores = cpus > per_core ? cpus / per_core : 1,
        .cpus = cpus,
    };
}

static int cpu_model_open(struct wl_sensor *s, const struct wl_power_opts *o, struct wl_err *e)
{
    struct cpu_model *m = wl_new(s->arena, struct cpu_model);
    s->state = m;
    m->cpu_stat = s->cpu_stat;
    int rc = wl_cpu_stat_open(m->cpu_stat, o->root, e);
    if (rc < 0) return rc;
    if (wl_cpu_stat_read(m->cpu_stat, 0, &m->first, &m->first_ns) < 0)
        return wl_fail(e, WL_EIO, "%s/proc/stat cannot be read", o->root);
    m->budget.share = 100;
    m->last = m->first;
    m->last_ns = m->read_ns = m->first_ns;

    char *cpuinfo = wl_procfs_text(s->arena, wl_strf(s->arena, "%s/proc/cpuinfo", o->root));
    const struct core_power *row = cpuinfo ? look_up(s->arena, o->root, cpuinfo) : NULL;
    struct topology t = read_topology(s->arena, o->root);
    m->cpus = t.cpus;
    m->full_w = t.cores * (row ? row->core_w : unknown_core_w);
    const char *from = row ? wl_strf(s->arena, "as %s: %.2f W per core", row->part, row->core_w)
                           : wl_strf(s->arena, "unknown CPU: %.2f W per core", unknown_core_w);
    if (isfinite(o->cpu_tdp_w)) {
        m->full_w = t.packages * o->cpu_tdp_w;
        from = "cpu-tdp-w";
    }
    m->idle_w = isfinite(o->cpu_idle_w) ? t.packages * o->cpu_idle_w : idle_share * m->full_w;
    if (m->idle_w > m->full_w)
        return wl_fail(e, WL_EINVAL, "cpu-idle-w: %g W is more than the full power %g W", m->idle_w, m->full_w);

    char *model = cpuinfo ? cpuinfo_field(s->arena, cpuinfo, "model name") : NULL;
    struct wl_device device = { .name = model ? model : "CPU", .uuid = "cpu_model:package" };
    int d = wl_sensor_add_device(s, &device);
    wl_sensor_add_channel(s, d, WL_ENERGY, WL_SCOPE_PACKAGE, WL_VARIANT_NONE);
    wl_sensor_add_channel(s, d, WL_POWER, WL_SCOPE_PACKAGE, WL_VARIANT_MEAN);
    wl_sensor_add_channel(s, d, WL_IDLE_POWER, WL_SCOPE_PACKAGE, WL_VARIANT_NONE);
    for (size_t i = 0; i < s->n_channels; i++) s->channels[i].estimated = true;
    s->channels[0].update_s = 0.01; /* the longest tick of the kernel's accounting */
    s->source = wl_strf(s->arena, "estimated: %.1f W idle to %.1f W full for %d package%s, %d core%s (%s)", m->idle_w,
                        m->full_w, t.packages, t.packages == 1 ? "" : "s", t.cores, t.cores == 1 ? "" : "s", from);
    return 0;
}

/* The energy is a function of elapsed time and CPU time since opening, so that no tick of the kernel's accounting is
 * lost. */
static void cpu_model_read(struct wl_sensor *s, struct wl_due due, struct wl_reading *out)
{
    struct cpu_model *m = s->state;
    if (!wl_budget_due(&m->budget, due.all)) return;
    int64_t cpu0 = wl_clock_thread_cpu_ns(), now_ns;
    struct wl_cpu_times now;
    if (wl_cpu_stat_read(m->cpu_stat, m->read_ns, &now, &now_ns) < 0) {
        wl_reading_fail(&out[0], "/proc/stat cannot be read");
        wl_reading_fail(&out[1], "/proc/stat cannot be read");
        return;
    }
    m->read_ns = now_ns;
    if (wl_is_due(due, WL_IDLE_POWER)) out[2] = (struct wl_reading) { .value = m->idle_w, .t_ns = now_ns };
    double elapsed_s = (double)(now_ns - m->first_ns) / WL_NS_PER_S;
    double busy_s = (now.busy_s - m->first.busy_s) / m->cpus;
    double dynamic_w = m->full_w - m->idle_w;
    out[0] = (struct wl_reading) { .value = m->idle_w * elapsed_s + dynamic_w * busy_s, .t_ns = now_ns };
    double total = now.total_s - m->last.total_s;
    if (now_ns - m->last_ns >= WL_SHARE_SPAN_NS && total > 0) {
        double share = (now.busy_s - m->last.busy_s) / total;
        wl_reading_mean(&out[1], m->idle_w + dynamic_w * share, m->last_ns, now_ns);
        m->last = now;
        m->last_ns = now_ns;
    }
    wl_budget_spent(&m->budget, cpu0);
}

const struct wl_sensor_ops wl_sensor_cpu_model = {
    .name = "cpu_model",
    .help = "estimated CPU power from CPU time, if nothing measures it",
    .open = cpu_model_open,
    .read = cpu_model_read,
};

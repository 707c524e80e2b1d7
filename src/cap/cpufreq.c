/* The maximum frequency of CPUs: cpufreq/policyN/scaling_max_freq, kHz. A policy is a group of CPUs with one clock.
 * Source: Documentation/admin-guide/pm/cpufreq.rst of Linux. */
#include "cap/sysfs.h"

#include <math.h>

static const double KHZ_PER_MHZ = 1e3;

static void add_policy(const struct wl_setter_context *p, const char *folder, const char *policy,
                       struct wl_controls *out)
{
    const char *base = wl_strf(p->a, "%s/%s", folder, policy);
    struct wl_sysfs_file *file = wl_new(p->a, struct wl_sysfs_file);
    *file = (struct wl_sysfs_file) { .path = wl_strf(p->a, "%s/scaling_max_freq", base), .per_unit = KHZ_PER_MHZ };
    if (!wl_is_file(file->path)) return;
    struct wl_control *k = wl_controls_add(out, p->a);
    k->ops = &wl_setter_cpufreq;
    k->state = file;
    k->kind = WL_CAP_CLOCK;
    k->device = wl_strf(p->a, "cpufreq:%s", policy);
    k->name = wl_strf(p->a, "CPU %s", policy);
    k->range.min = wl_sysfs_number(wl_strf(p->a, "%s/cpuinfo_min_freq", base), KHZ_PER_MHZ, p->a);
    k->range.max = k->default_value = wl_sysfs_number(wl_strf(p->a, "%s/cpuinfo_max_freq", base), KHZ_PER_MHZ, p->a);
}

static int cpufreq_open(const struct wl_setter_context *p, enum wl_cap_kind kind, struct wl_controls *out,
                        const char **fix, struct wl_err *e)
{
    (void)kind, (void)fix;
    const char *folder = wl_strf(p->a, "%s/sys/devices/system/cpu/cpufreq", p->power->root ? p->power->root : "");
    struct wl_strs policies = { 0 };
    size_t before = out->n;
    if (wl_dir_list(folder, &policies, p->a, NULL) < 0) policies.n = 0; /* no folder: no policy */
    for (size_t i = 0; i < policies.n; i++)
        if (wl_str_starts(policies.v[i], "policy")) add_policy(p, folder, policies.v[i], out);
    if (out->n > before) return 0;
    return wl_fail(e, WL_EUNAVAIL, "no CPU frequency policy in %s", folder);
}

const struct wl_setter_ops wl_setter_cpufreq = {
    .name = "cpufreq",
    .help = "maximum frequency of CPUs",
    .kinds = { [WL_CAP_CLOCK] = true },
    .open = cpufreq_open,
    .get = wl_sysfs_get,
    .set = wl_sysfs_set,
    .probe = wl_sysfs_probe,
};

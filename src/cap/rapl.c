/* Power limits of CPU packages through powercap: intel-rapl:P/constraint_N_power_limit_uw, a package has a long_term
 * and a short_term one. Both are set, so that no burst exceeds the cap for longer than milliseconds. Source:
 * Documentation/power/powercap/powercap.rst of Linux. */
#include "cap/sysfs.h"

#include <math.h>
#include <string.h>

enum { CONSTRAINTS = 4 };
static const double UW_PER_W = 1e6;

static void add_constraint(const struct wl_setter_context *p, const char *zone, const char *package, int n,
                           struct wl_controls *out)
{
    const char *base = wl_strf(p->a, "%s/constraint_%d_", zone, n);
    const char *what = wl_sysfs_line(wl_strf(p->a, "%sname", base), p->a);
    if (!wl_str_eq(what, "long_term") && !wl_str_eq(what, "short_term")) return;
    struct wl_sysfs_file *file = wl_new(p->a, struct wl_sysfs_file);
    *file = (struct wl_sysfs_file) { .path = wl_strf(p->a, "%spower_limit_uw", base), .per_unit = UW_PER_W };
    struct wl_control *k = wl_controls_add(out, p->a);
    k->ops = &wl_setter_rapl;
    k->state = file;
    k->kind = WL_CAP_POWER;
    k->device = wl_strf(p->a, "rapl:%s/%s", package, what);
    k->name = wl_strf(p->a, "%s %s", package, what);
    k->range.min = 1; /* the kernel has no minimum; 0 would be no limit */
    /* max_power_uw, the highest sensible value, exists for long_term only, and not always */
    double max = wl_sysfs_number(wl_strf(p->a, "%smax_power_uw", base), UW_PER_W, p->a);
    if (max > 0 && wl_str_eq(what, "long_term")) k->range.max = max;
}

static int add_zone(const struct wl_setter_context *p, const char *zone, struct wl_controls *out, struct wl_err *e)
{
    const char *package = wl_sysfs_line(wl_strf(p->a, "%s/name", zone), p->a);
    if (!package || !wl_str_starts(package, "package")) return 0;
    const char *enabled = wl_sysfs_line(wl_strf(p->a, "%s/enabled", zone), p->a);
    if (enabled && wl_str_eq(enabled, "0"))
        return wl_fail(e, WL_EUNAVAIL, "%s: power limits are switched off (enabled is 0)", zone);
    for (int n = 0; n < CONSTRAINTS; n++) add_constraint(p, zone, package, n, out);
    return 0;
}

/* "intel-rapl:0" and not "intel-rapl:0:1", which is part of a package. intel-rapl-mmio has separate limits of the same
 * package, which are not changed. */
static bool is_package_zone(const char *name)
{
    static const char start[] = "intel-rapl:";
    return wl_str_starts(name, start) && !strchr(name + strlen(start), ':');
}

static int rapl_open(const struct wl_setter_context *p, enum wl_cap_kind kind, struct wl_controls *out,
                     const char **fix, struct wl_err *e)
{
    (void)kind;
    const char *folder = wl_strf(p->a, "%s/sys/class/powercap", p->power->root ? p->power->root : "");
    struct wl_strs zones = { 0 };
    size_t before = out->n;
    int rc = 0;
    if (wl_dir_list(folder, &zones, p->a, NULL) < 0) zones.n = 0; /* no folder: no zone */
    for (size_t i = 0; i < zones.n && rc == 0; i++)
        if (is_package_zone(zones.v[i])) rc = add_zone(p, wl_path_join(p->a, folder, zones.v[i]), out, e);
    if (rc < 0) *fix = "echo 1 | sudo tee /sys/class/powercap/intel-rapl:*/enabled";
    if (rc < 0 || out->n > before) return rc;
    return wl_fail(e, WL_EUNAVAIL, "no power limit of a CPU package in %s", folder);
}

const struct wl_setter_ops wl_setter_rapl = {
    .name = "rapl",
    .help = "power limits of CPU packages (powercap)",
    .kinds = { [WL_CAP_POWER] = true },
    .open = rapl_open,
    .get = wl_sysfs_get,
    .set = wl_sysfs_set,
    .probe = wl_sysfs_probe,
};

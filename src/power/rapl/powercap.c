/* RAPL through the powercap class: /sys/class/powercap/intel-rapl:P (AMD too) and its subzones intel-rapl:P:S, each
 * with name, energy_uj and max_energy_range_uj. Source: Documentation/power/powercap/powercap.rst of Linux. */
#include "power/rapl/sensor.h"

#include <string.h>

static const char *const readable_now =
    "sudo wattlaw setup --system    (for the members of a group; for all users until the next boot: "
    "sudo chmod a+r /sys/class/powercap/intel-rapl*/energy_uj)";

static char *zone_text(struct wl_arena *a, const char *root, const char *zone, const char *file)
{
    return wl_procfs_text(a, wl_strf(a, "%s/sys/class/powercap/%s/%s", root, zone, file));
}

/* "intel-rapl:0:2" -> "intel-rapl:0"; NULL for a top zone. */
static char *parent_zone(struct wl_arena *a, const char *zone)
{
    const char *first = strchr(zone, ':'), *last = strrchr(zone, ':');
    return first && last != first ? wl_strndup(a, zone, (size_t)(last - zone)) : NULL;
}

/* What a zone measures; false for core, uncore and other parts of a package. A dram zone is named after
 * its package: package-0-die-1 -> dram-0-die-1. */
static bool identify(struct wl_arena *a, const char *root, const char *zone, enum wl_scope *scope, const char **name)
{
    char *own = zone_text(a, root, zone, "name");
    char *parent = parent_zone(a, zone);
    if (!own) return false;
    *name = own;
    if (!parent && wl_str_starts(own, "package")) {
        *scope = WL_SCOPE_PACKAGE;
    } else if (!parent && wl_str_starts(own, "psys")) {
        *scope = WL_SCOPE_PSYS;
    } else if (parent && wl_str_eq(own, "dram")) {
        char *package = zone_text(a, root, parent, "name");
        *scope = WL_SCOPE_DRAM;
        *name = wl_strf(a, "dram%s", package && wl_str_starts(package, "package") ? package + strlen("package") : "");
    } else {
        return false;
    }
    return true;
}

/* Opens one zone's counter: 0, or the error of open(). A zone that is not used, or a package that another zone has
 * already provided (intel-rapl-mmio repeats them), is not an error. */
static int add_zone(struct wl_rapl *r, const char *root, const char *zone, struct wl_arena *a, struct wl_err *e)
{
    struct wl_rapl_domain d = { .unit_j = 1e-6 };
    if (!identify(a, root, zone, &d.scope, &d.name) || wl_rapl_has(r, d.name)) return 0;
    d.fd = wl_procfs_open(root, wl_strf(a, "/sys/class/powercap/%s/energy_uj", zone), a, e);
    if (d.fd < 0) return d.fd;
    char *text = zone_text(a, root, zone, "max_energy_range_uj");
    int64_t range;
    if (!text || wl_str_to_int(text, &range) < 0 || range <= 0)
        return wl_fail(e, WL_EIO, "%s/sys/class/powercap/%s/max_energy_range_uj: '%s' is not a range in uJ", root, zone,
                       text ? text : "");
    d.range = (uint64_t)range;
    wl_rapl_add(r, &d, a);
    return 0;
}

int wl_rapl_powercap(struct wl_rapl *r, const char *root, struct wl_arena *a, const char **fix, struct wl_err *e)
{
    const char *folder = wl_strf(a, "%s/sys/class/powercap", root);
    struct wl_strs zones = { 0 };
    struct wl_err error = { 0 };
    if (wl_dir_list(folder, &zones, a, &error) < 0) zones.n = 0;

    /* The CPU driver's zones first: the same package from another driver is the duplicate. */
    static const char *const drivers[] = { "intel-rapl:", "intel-rapl-mmio:" };
    error.code = 0;
    for (size_t k = 0; k < WL_COUNT(drivers); k++) {
        for (size_t i = 0; i < zones.n; i++) {
            if (!wl_str_starts(zones.v[i], drivers[k])) continue;
            struct wl_err why = { 0 };
            if (add_zone(r, root, zones.v[i], a, &why) < 0 && error.code == 0) error = why;
        }
    }
    if (error.code == 0) return r->n > 0 ? 0 : wl_fail(e, WL_EUNAVAIL, "no RAPL zone in %s", folder);
    if (error.code == WL_EPERM) *fix = readable_now;
    return wl_fail(e, error.code, "%s", error.msg);
}

/* RAPL of AMD through hwmon: the driver amd_energy (Linux 5.8 to 5.12, and later out of tree) has energyN_input in uJ,
 * accumulated by the kernel so that it does not wrap, with energyN_label "EsocketP" for package P and
 * "EcoreNNN" for its cores. Source: Documentation/hwmon/amd_energy.rst of Linux 5.12. */
#include "power/rapl/sensor.h"

#include <stdio.h>
#include <string.h>

static const char *const readable_now = "sudo chmod a+r /sys/class/hwmon/hwmon*/energy*_input    (until the next boot)";

/* Adds the counter of a label file, if it is a package's. */
static int add_label(struct wl_rapl *r, const char *folder, const char *file, struct wl_arena *a, struct wl_err *e)
{
    int number, package;
    char *label = wl_procfs_text(a, wl_path_join(a, folder, file));
    if (!label || sscanf(file, "energy%d_label", &number) != 1 || sscanf(label, "Esocket%d", &package) != 1) return 0;
    struct wl_rapl_domain d = { .scope = WL_SCOPE_PACKAGE, .name = wl_strf(a, "package-%d", package), .unit_j = 1e-6 };
    d.fd = wl_procfs_open("", wl_strf(a, "%s/energy%d_input", folder, number), a, e);
    if (d.fd < 0) return d.fd;
    wl_rapl_add(r, &d, a);
    return 0;
}

int wl_rapl_hwmon(struct wl_rapl *r, const char *root, struct wl_arena *a, const char **fix, struct wl_err *e)
{
    struct wl_strs folders = wl_hwmon_find(root, "amd_energy", a);
    struct wl_err error = { 0 };
    for (size_t i = 0; i < folders.n; i++) {
        struct wl_strs files = { 0 };
        if (wl_dir_list(folders.v[i], &files, a, &error) < 0) continue;
        for (size_t k = 0; k < files.n; k++) {
            struct wl_err why;
            if (!wl_str_starts(files.v[k], "energy") || !strstr(files.v[k], "_label")) continue;
            if (add_label(r, folders.v[i], files.v[k], a, &why) < 0 && error.code == 0) error = why;
        }
    }
    if (error.code == WL_EPERM) *fix = readable_now;
    if (error.code < 0) return wl_fail(e, error.code, "%s", error.msg);
    return r->n > 0 ? 0 : wl_fail(e, WL_EUNAVAIL, "no amd_energy driver in %s/sys/class/hwmon", root);
}

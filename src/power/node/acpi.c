/* ACPI power meters: the Grace CPU and its modules, else a meter of the whole node.
 *
 * /sys/class/hwmon/hwmonN (driver power_meter) holds power1_average in uW, the mean over power1_average_interval ms,
 * and power1_oem_info, which says what is measured; before Linux 6.17 the files are in device/ below that. Source:
 * Documentation/hwmon/acpi_power_meter.rst of Linux. On Grace the label is "Module Power Socket N" (CPU and GPU),
 * "Grace Power Socket N" (CPU, memory and input/output), "CPU Power Socket N" and "SysIO Power Socket N" (parts of
 * Grace). */
#include "power/procfs.h"
#include "power/sensor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct meter {
    int fd, channel;
    int64_t interval_ns; /* averaging interval of a value; 0: not known */
};

struct acpi {
    struct meter *v;
    size_t n, cap;
};

/* What the labels measure. A part is skipped if its whole is measured. */
static const struct kind {
    const char *label, *device;
    enum wl_scope scope;
    const char *whole; /* label of the domain that contains it, NULL: none that is counted */
    const char *note;
} kinds[] = {
    { "Module Power Socket", "module", WL_SCOPE_MODULE, NULL, NULL },
    { "Grace Power Socket", "grace", WL_SCOPE_PACKAGE, NULL, NULL },
    { "CPU Power Socket", "grace-cpu", WL_SCOPE_PACKAGE, "Grace Power Socket",
      "only the CPU rail of Grace is measured, without memory and input/output" },
};

struct found {
    const char *folder; /* with power1_average in it */
    const char *label;  /* "" if the firmware gives none */
};
struct founds {
    struct found *v;
    size_t n, cap;
};

static const char *meter_folder(const char *hwmon, struct wl_arena *a)
{
    const char *older = wl_path_join(a, hwmon, "device");
    return wl_procfs_text(a, wl_path_join(a, older, "power1_average")) ? older : hwmon;
}

static void find_meters(struct founds *all, const char *root, struct wl_arena *a)
{
    struct wl_strs hwmons = wl_hwmon_find(root, "power_meter", a);
    for (size_t i = 0; i < hwmons.n; i++) {
        const char *folder = meter_folder(hwmons.v[i], a);
        const char *label = wl_procfs_text(a, wl_path_join(a, folder, "power1_oem_info"));
        if (wl_str_eq(wl_procfs_text(a, wl_path_join(a, folder, "power1_is_battery")), "1")) continue;
        WL_GROW(a, all->v, all->n, all->cap);
        all->v[all->n++] = (struct found) { .folder = folder, .label = label ? label : "" };
    }
}

/* "Grace Power Socket 1" -> 1; -1: a label of another kind. */
static int socket_of(const char *label, const char *kind)
{
    int socket;
    return wl_str_starts(label, kind) && sscanf(label + strlen(kind), " %d", &socket) == 1 && socket >= 0 ? socket : -1;
}

static bool has_label(const struct founds *all, const char *kind, int socket)
{
    for (size_t i = 0; i < all->n; i++) {
        if (socket_of(all->v[i].label, kind) == socket) return true;
    }
    return false;
}

static const struct kind *kind_of(const struct founds *all, const struct found *f, int *socket)
{
    for (size_t k = 0; k < WL_COUNT(kinds); k++) {
        *socket = socket_of(f->label, kinds[k].label);
        if (*socket < 0) continue;
        bool part = kinds[k].whole && has_label(all, kinds[k].whole, *socket);
        return part ? NULL : &kinds[k];
    }
    return NULL;
}

static int add_meter(struct wl_sensor *s, const struct found *f, const char *name, enum wl_scope scope,
                     struct wl_err *e)
{
    struct acpi *m = s->state;
    int fd = wl_procfs_open("", wl_path_join(s->arena, f->folder, "power1_average"), s->arena, e);
    if (fd < 0) return fd;
    char *interval = wl_procfs_text(s->arena, wl_path_join(s->arena, f->folder, "power1_average_interval"));
    int64_t interval_ms;
    if (!interval || wl_str_to_int(interval, &interval_ms) < 0 || interval_ms < 0 || interval_ms > 3600 * 1000)
        interval_ms = 0;
    const char *uuid = wl_strf(s->arena, "acpi:%s", name);
    int device = wl_sensor_add_device(s, &(struct wl_device) { .name = name, .uuid = uuid, .index = (int)m->n });
    WL_GROW(s->arena, m->v, m->n, m->cap);
    m->v[m->n] = (struct meter) { .fd = fd, .interval_ns = interval_ms * (WL_NS_PER_S / 1000) };
    m->v[m->n].channel = wl_sensor_add_channel(s, device, WL_POWER, scope, WL_VARIANT_AVERAGE);
    if (interval_ms > 0) s->channels[m->v[m->n].channel].update_s = (double)interval_ms / 1e3;
    s->min_period_s = fmax(s->min_period_s, (double)interval_ms / 1e3);
    m->n++;
    return 0;
}

/* Meters with known labels; without any, the first meter is that of the node. */
static int add_meters(struct wl_sensor *s, const struct founds *all, struct wl_err *e)
{
    const struct acpi *m = s->state;
    int code = 0;
    for (size_t i = 0; i < all->n; i++) {
        int socket;
        const struct kind *k = kind_of(all, &all->v[i], &socket);
        if (!k) continue;
        code = add_meter(s, &all->v[i], wl_strf(s->arena, "%s-%d", k->device, socket), k->scope, e);
        if (code == 0 && k->note) s->reason = k->note;
    }
    if (m->n == 0 && code == 0 && all->n > 0 && !strstr(all->v[0].label, "Power Socket"))
        code = add_meter(s, &all->v[0], "node", WL_SCOPE_NODE, e);
    return m->n > 0 ? 0 : code;
}

static int acpi_open(struct wl_sensor *s, const struct wl_power_opts *o, struct wl_err *e)
{
    struct founds all = { 0 };
    s->state = wl_new(s->arena, struct acpi);
    find_meters(&all, o->root, s->arena);
    int code = add_meters(s, &all, e);
    const struct acpi *m = s->state;
    if (code < 0) {
        if (code == WL_EPERM)
            s->fix = "sudo chmod a+r /sys/class/hwmon/hwmon*/device/power1_average    (until the next boot)";
        return code;
    }
    if (m->n == 0) {
        if (wl_cpu_is_grace(o->root, s->arena)) /* the kernel was built or booted without the driver */
            s->fix = "sudo modprobe acpi_power_meter; if that finds nothing, boot with acpi_power_meter.force_cap_on=y";
        return wl_fail(e, WL_EUNAVAIL, "there is no ACPI power meter in %s/sys/class/hwmon", o->root);
    }
    s->source = wl_strf(s->arena, "%s/sys/class/hwmon, driver power_meter", o->root);
    return 0;
}

static void acpi_read(struct wl_sensor *s, struct wl_due due, struct wl_reading *out)
{
    (void)due;
    const struct acpi *m = s->state;
    for (size_t i = 0; i < m->n; i++) {
        const struct meter *v = &m->v[i];
        uint64_t uw;
        const char *why = wl_procfs_count(v->fd, NULL, &uw);
        int64_t now = wl_now_ns();
        if (why)
            wl_reading_fail(&out[v->channel], why);
        else
            wl_reading_mean(&out[v->channel], (double)uw * 1e-6, now - v->interval_ns, now);
    }
}

const struct wl_sensor_ops wl_sensor_acpi = {
    .name = "acpi",
    .help = "ACPI power meters: Grace CPUs, CPU-GPU modules, else the node",
    .open = acpi_open,
    .read = acpi_read,
};

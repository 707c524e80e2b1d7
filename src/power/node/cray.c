/* HPE Cray nodes: the blade controller's counters in /sys/cray/pm_counters, one file each, "value unit time us": energy
 * and power of the node, and those of its CPUs, memory and accelerators as parts of it. The controller writes all files
 * at raw_scan_hz (10 Hz) and increments `freshness` each time: if that stays constant, the files are stale.
 * Source: HPE, User Access to Compute Node Power Data (docs-csm). */
#include "power/procfs.h"
#include "power/sensor.h"

#include <math.h>

/* A controller that has not written for this long has stopped. */
static const int64_t stale_ns = 3 * (int64_t)WL_NS_PER_S;

struct counter {
    int fd, channel;
    const char *unit;
};

struct cray {
    struct counter *v;
    size_t n, cap;
    int freshness_fd;
    uint64_t freshness; /* as last read; fresh_ns: since when it has that value */
    int64_t fresh_ns;
};

static const char *const folder = "/sys/cray/pm_counters";

static double scan_period_s(const char *root, struct wl_arena *a)
{
    char *text = wl_procfs_text(a, wl_strf(a, "%s%s/raw_scan_hz", root, folder));
    double hz;
    return text && wl_str_to_real(text, &hz) == 0 && hz > 0 && hz <= 1000 ? 1 / hz : NAN;
}

/* Opens PREFIX_energy and PREFIX_power; a missing file is not an error. Returns the first other error. */
static int add_domain(struct wl_sensor *s, const char *root, const char *prefix, const char *name, enum wl_scope scope,
                      double update_s, struct wl_err *e)
{
    static const struct {
        const char *file, *unit;
        enum wl_quantity quantity;
        enum wl_power_variant variant;
    } files[] = { { "energy", "J", WL_ENERGY, WL_VARIANT_NONE }, { "power", "W", WL_POWER, WL_VARIANT_INSTANT } };
    struct cray *c = s->state;
    int device = -1, failed = 0;
    for (size_t i = 0; i < WL_COUNT(files); i++) {
        struct wl_err why;
        const char *path = wl_strf(s->arena, "%s/%s%s", folder, prefix, files[i].file);
        int fd = wl_procfs_open(root, path, s->arena, &why);
        if (fd < 0) {
            if (fd != WL_ENOENT && failed == 0) failed = wl_fail(e, fd, "%s", why.msg);
            continue;
        }
        if (device < 0) {
            const char *uuid = wl_strf(s->arena, "cray:%s", name);
            device = wl_sensor_add_device(s, &(struct wl_device) { .name = name, .uuid = uuid });
            s->devices[device].index = device;
        }
        WL_GROW(s->arena, c->v, c->n, c->cap);
        int channel = wl_sensor_add_channel(s, device, files[i].quantity, scope, files[i].variant);
        s->channels[channel].update_s = update_s;
        c->v[c->n++] = (struct counter) { .fd = fd, .channel = channel, .unit = files[i].unit };
    }
    return failed;
}

/* The domains of this node. Accelerators are numbered from 0; older systems have one without a number. */
static int add_domains(struct wl_sensor *s, const char *root, struct wl_err *e)
{
    enum { MAX_ACCELS = 16 };
    double update_s = scan_period_s(root, s->arena);
    struct wl_err later;
    const struct cray *c = s->state;
    int code = add_domain(s, root, "", "node", WL_SCOPE_NODE, update_s, e);
    if (c->n == 0) return code < 0 ? code : wl_fail(e, WL_EUNAVAIL, "%s%s: no energy and no power file", root, folder);
    if (add_domain(s, root, "cpu_", "cpu", WL_SCOPE_NODE_CPU, update_s, &later) < 0 ||
        add_domain(s, root, "memory_", "memory", WL_SCOPE_NODE_MEMORY, update_s, &later) < 0)
        s->reason = wl_strdup(s->arena, later.msg);
    size_t before = c->n;
    for (int i = 0; i < MAX_ACCELS; i++) {
        const char *name = wl_strf(s->arena, "accel%d", i);
        if (add_domain(s, root, wl_strf(s->arena, "%s_", name), name, WL_SCOPE_NODE_ACCEL, update_s, &later) < 0)
            s->reason = wl_strdup(s->arena, later.msg);
    }
    if (c->n == before && add_domain(s, root, "accel_", "accel", WL_SCOPE_NODE_ACCEL, update_s, &later) < 0)
        s->reason = wl_strdup(s->arena, later.msg);
    return 0;
}

static int cray_open(struct wl_sensor *s, const struct wl_power_opts *o, struct wl_err *e)
{
    struct cray *c = wl_new(s->arena, struct cray);
    struct wl_err ignored;
    s->state = c;
    if (!wl_is_dir(wl_strf(s->arena, "%s%s", o->root, folder)))
        return wl_fail(e, WL_EUNAVAIL, "there is no %s%s: not an HPE Cray node", o->root, folder);
    int code = add_domains(s, o->root, e);
    if (code < 0) {
        if (code == WL_EPERM) s->fix = "sudo chmod a+r /sys/cray/pm_counters/*    (until the next boot)";
        return code;
    }
    c->freshness_fd = wl_procfs_open(o->root, wl_strf(s->arena, "%s/freshness", folder), s->arena, &ignored);
    s->source = wl_strf(s->arena, "%s%s", o->root, folder);
    return 0;
}

/* Has the controller scanned recently? Without the file all values count as fresh. */
static bool is_fresh(struct cray *c, int64_t now)
{
    uint64_t count;
    if (c->freshness_fd < 0 || wl_procfs_count(c->freshness_fd, NULL, &count)) return true;
    if (c->fresh_ns == 0 || count != c->freshness) {
        c->freshness = count;
        c->fresh_ns = now;
    }
    return now - c->fresh_ns < stale_ns;
}

static void cray_read(struct wl_sensor *s, struct wl_due due, struct wl_reading *out)
{
    (void)due;
    struct cray *c = s->state;
    bool fresh = is_fresh(c, wl_now_ns());
    for (size_t i = 0; i < c->n; i++) {
        const struct counter *v = &c->v[i];
        int64_t t0 = wl_now_ns();
        uint64_t value;
        const char *why =
            fresh ? wl_procfs_count(v->fd, v->unit, &value) : "the blade controller has stopped updating its files";
        if (why)
            wl_reading_fail(&out[v->channel], why);
        else
            wl_reading_set(&out[v->channel], (double)value, t0);
    }
}

const struct wl_sensor_ops wl_sensor_cray = {
    .name = "cray",
    .help = "HPE Cray nodes: energy and power of the node and of its CPUs, memory and accelerators",
    .open = cray_open,
    .read = cray_read,
};

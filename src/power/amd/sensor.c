/* AMD GPUs through libamd_smi or librocm_smi64: a channel for each metric whose first reading succeeds.
 *
 * An MI250 or MI250X has two dies that are listed as two GPUs; the first one shows the power and energy of both, the
 * second shows 0. So the second has no power here: it would be taken for a GPU that draws nothing. */
#include "power/sensor.h"
#include "base/library.h"
#include "power/amd/library.h"
#include "power/procfs.h"
#include "power/visible_devices.h"

#include <math.h>
#include <stdlib.h>

static const struct row {
    enum wl_amd_metric what;
    enum wl_quantity quantity;
    enum wl_power_variant variant;
} rows[] = {
    { WL_AMD_POWER, WL_POWER, WL_VARIANT_INSTANT },
    { WL_AMD_POWER_MEAN, WL_POWER, WL_VARIANT_AVERAGE }, /* if there is no instant value */
    { WL_AMD_ENERGY, WL_ENERGY, WL_VARIANT_NONE },
    { WL_AMD_UTIL, WL_SM_UTIL, WL_VARIANT_NONE },
    { WL_AMD_MEM_UTIL, WL_MEM_UTIL, WL_VARIANT_NONE },
    { WL_AMD_CLOCK, WL_SM_CLOCK, WL_VARIANT_NONE },
    { WL_AMD_MEM_CLOCK, WL_MEM_CLOCK, WL_VARIANT_NONE },
    { WL_AMD_MEM_USED, WL_MEM_USED, WL_VARIANT_NONE },
    { WL_AMD_TEMPERATURE, WL_TEMPERATURE, WL_VARIANT_NONE },
    { WL_AMD_MEM_TEMPERATURE, WL_MEM_TEMPERATURE, WL_VARIANT_NONE },
};

struct channel {
    size_t gpu;
    const struct row *row;
};

struct amd {
    struct wl_amd lib;
    struct channel *v; /* [channel] */
    size_t n, cap;
};

const char *wl_amd_bus_id(uint64_t bdf, struct wl_arena *a)
{
    return wl_strf(a, "%08x:%02x:%02x.%x", (unsigned)(bdf >> 32), (unsigned)(bdf >> 8 & 0xff),
                   (unsigned)(bdf >> 3 & 0x1f), (unsigned)(bdf & 7));
}

/* PCI device ids of parts with two dies. Source: amdgpu of Linux, pci.ids. */
static bool has_two_dies(uint64_t device_id)
{
    return device_id == 0x7408 /* MI250X */ || device_id == 0x740c /* MI250 */;
}

/* Is it the second die of its part? The dies of a part are listed one after the other. */
static bool is_second_die(const struct wl_amd *lib, size_t gpu)
{
    size_t before = 0;
    if (!has_two_dies(lib->gpus[gpu].device_id)) return false;
    for (size_t i = 0; i < gpu; i++) before += has_two_dies(lib->gpus[i].device_id);
    return before % 2 == 1;
}

static bool is_power_or_energy(const struct row *r) { return r->quantity == WL_POWER || r->quantity == WL_ENERGY; }

static bool has_quantity(const struct wl_sensor *s, int device, enum wl_quantity q)
{
    for (size_t i = 0; i < s->n_channels; i++) {
        if (s->channels[i].device == device && s->channels[i].quantity == q) return true;
    }
    return false;
}

static void add_watts(struct wl_sensor *s, int device, const char *key, double watts)
{
    if (isfinite(watts)) wl_sensor_add_fact(s, device, key, wl_strf(s->arena, "%g W", watts));
}

static void add_gpu(struct wl_sensor *s, size_t i)
{
    struct amd *m = s->state;
    const struct wl_amd_gpu *g = &m->lib.gpus[i];
    bool second = is_second_die(&m->lib, i);
    int device = wl_sensor_add_device(s, &(struct wl_device) {
                                             .name = g->name, .uuid = g->uuid, .bus_id = g->bus_id, .index = (int)i });
    add_watts(s, device, "power_cap", g->cap_w);
    add_watts(s, device, "power_cap_min", g->cap_min_w);
    add_watts(s, device, "power_cap_max", g->cap_max_w);
    add_watts(s, device, "power_cap_default", g->cap_default_w);
    if (has_two_dies(g->device_id))
        wl_sensor_add_fact(s, device, "die", second ? "second" : "first, with the power of both");
    for (size_t k = 0; k < WL_COUNT(rows); k++) {
        if ((second && is_power_or_energy(&rows[k])) || has_quantity(s, device, rows[k].quantity)) continue;
        if (isnan(m->lib.read(&m->lib, i, rows[k].what).value)) continue;
        int channel = wl_sensor_add_channel(s, device, rows[k].quantity, WL_SCOPE_GPU, rows[k].variant);
        s->channels[channel].simulated = m->lib.simulated;
        WL_GROW(s->arena, m->v, m->n, m->cap);
        m->v[m->n++] = (struct channel) { .gpu = i, .row = &rows[k] };
    }
}

/* The GPUs that the job may use: ROCR_VISIBLE_DEVICES, by index or "GPU-" and the id. */
static size_t add_visible(struct wl_sensor *s)
{
    struct amd *m = s->state;
    char **uuids = wl_new_array(s->arena, char *, m->lib.n);
    bool *keep = wl_new_array(s->arena, bool, m->lib.n), by_index;
    for (size_t i = 0; i < m->lib.n; i++) uuids[i] = (char *)m->lib.gpus[i].uuid;
    size_t kept = wl_visible_devices(getenv("ROCR_VISIBLE_DEVICES"), uuids, m->lib.n, keep, &by_index);
    for (size_t i = 0; i < m->lib.n; i++) {
        if (keep[i]) add_gpu(s, i);
    }
    return kept;
}

static int no_driver(struct wl_sensor *s, const char *root, struct wl_err *e)
{
    if (!wl_pci_has_gpu(root, "0x1002", s->arena))
        return wl_fail(e, WL_EUNAVAIL, "no AMD GPU on the PCI bus and no AMD GPU driver (amdgpu)");
    s->fix = "sudo modprobe amdgpu";
    return wl_fail(e, WL_EUNAVAIL, "there is an AMD GPU on the PCI bus, but no AMD GPU driver (amdgpu)");
}

/* Without the driver no library is opened unless it was named: Debian installs ROCm SMI with Open MPI, and it prints
 * errors to the terminal if there is no driver. */
static int open_library(struct wl_sensor *s, struct amd *m, const struct wl_power_opts *o, struct wl_err *e)
{
    struct wl_err smi, rsmi;
    bool driver = wl_is_dir(wl_strf(s->arena, "%s/sys/module/amdgpu", o->root));
    if (!driver && !o->amd_library) return no_driver(s, o->root, e);
    if (wl_amd_smi_open(&m->lib, o->amd_library, s->arena, &smi) == 0) return 0;
    int code = wl_rocm_smi_open(&m->lib, o->amd_library, s->arena, &rsmi);
    if (code == 0) return 0;
    if (code == WL_EUNAVAIL && driver) s->fix = "sudo apt install amd-smi-lib (from AMD's ROCm repository)";
    if (code == WL_EPERM) s->fix = "sudo usermod -aG render,video $USER    (then log in again)";
    return wl_fail(e, code, "%s; %s", smi.msg, rsmi.msg);
}

static int amd_open(struct wl_sensor *s, const struct wl_power_opts *o, struct wl_err *e)
{
    struct amd *m = wl_new(s->arena, struct amd);
    s->state = m;
    int code = open_library(s, m, o, e);
    if (code < 0) return code;
    if (add_visible(s) == 0)
        return wl_fail(e, WL_EUNAVAIL, "ROCR_VISIBLE_DEVICES=%s names none of the %zu GPUs",
                       getenv("ROCR_VISIBLE_DEVICES"), m->lib.n);
    s->source = wl_strf(s->arena, "%s %s%s", m->lib.path, m->lib.version, m->lib.simulated ? " (simulated)" : "");
    return 0;
}

static void amd_read(struct wl_sensor *s, struct wl_due due, struct wl_reading *out)
{
    const struct amd *m = s->state;
    for (size_t i = 0; i < m->n; i++) {
        if (!wl_is_due(due, m->v[i].row->quantity)) continue;
        int64_t t0 = wl_now_ns();
        struct wl_amd_value v = m->lib.read(&m->lib, m->v[i].gpu, m->v[i].row->what);
        enum wl_quantity q = m->v[i].row->quantity;
        bool share = q == WL_SM_UTIL || q == WL_MEM_UTIL;
        if (isnan(v.value))
            wl_reading_fail(&out[i], v.why ? v.why : "the GPU no longer reports this metric");
        else if (share && v.value > 100)
            wl_reading_fail(&out[i], "a utilisation above 100 %");
        else
            wl_reading_set(&out[i], v.value, t0);
    }
}

const struct wl_sensor_ops wl_sensor_amd = {
    .name = "amd",
    .help = "AMD GPUs: power, energy, busy time, clocks, memory, temperature",
    .open = amd_open,
    .read = amd_read,
};

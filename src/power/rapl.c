/* CPU package and DRAM energy through RAPL: powercap where it may be read, else the perf "power" PMU.
 *
 * Domains overlap: psys holds package, package holds core and uncore; dram stands beside package. Read are package and
 * dram, whose sum is the CPU's energy, and psys, which is kept apart. */
#include "power/rapl.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool wl_rapl_has(const struct wl_rapl *r, const char *name)
{
    for (size_t i = 0; i < r->n; i++) {
        if (wl_streq(r->v[i].name, name)) return true;
    }
    return false;
}

void wl_rapl_add(struct wl_rapl *r, const struct wl_rapl_domain *d, struct wl_arena *a)
{
    if (wl_rapl_has(r, d->name)) return;
    WL_GROW(a, r->v, r->n, r->cap);
    r->v[r->n++] = *d;
}

/* No socket or platform draws more, so a counter's round takes at least range / most_w. */
static const double most_w = 1000;

bool wl_rapl_advance(struct wl_rapl_domain *d, uint64_t count, int64_t now_ns)
{
    bool certain = true;
    if (d->at_ns != 0) {
        double round_s = d->range == 0 ? HUGE_VAL : (double)d->range * d->unit_j / most_w;
        certain = (double)(now_ns - d->at_ns) / WL_NS_PER_S < round_s;
        uint64_t step = count >= d->count || d->range == 0 ? count - d->count : d->range - d->count + count;
        d->energy_j = certain ? d->energy_j + (double)step * d->unit_j : 0;
    }
    d->count = count;
    d->at_ns = now_ns;
    return certain;
}

/* ---- The sensor: two channels a domain, energy_j and the mean power since the previous reading ---- */

static bool read_count(const struct wl_rapl_domain *d, uint64_t *count)
{
    if (d->perf) return read(d->fd, count, sizeof *count) == (ssize_t)sizeof *count;
    char text[32], *end;
    int n = wl_small_read(d->fd, text, sizeof text);
    if (n <= 0) return false;
    *count = strtoull(text, &end, 10);
    return end != text;
}

static void read_domain(struct wl_rapl_domain *d, struct wl_reading *energy, struct wl_reading *power)
{
    int64_t t0 = wl_now_ns(), before_ns = d->at_ns;
    double before_j = d->energy_j;
    uint64_t count;
    if (!read_count(d, &count)) {
        wl_reading_fail(energy, "the RAPL counter cannot be read");
        wl_reading_fail(power, "the RAPL counter cannot be read");
        return;
    }
    int64_t now = t0 + (wl_now_ns() - t0) / 2;
    bool certain = wl_rapl_advance(d, count, now);
    *energy = (struct wl_reading) { .value = d->energy_j, .t_ns = now };
    if (before_ns == 0 || now <= before_ns) return;
    if (certain)
        wl_reading_mean(power, (d->energy_j - before_j) * WL_NS_PER_S / (double)(now - before_ns), before_ns, now);
    else
        wl_reading_fail(power, "the RAPL counter went round unseen");
}

static void rapl_read(struct wl_sensor *s, bool all, struct wl_reading *out)
{
    (void)all;
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

/* Neither way shows a counter: is there a driver to load, or is this a guest whose host keeps them? */
static const char *missing_fix(const char *root, struct wl_arena *a)
{
    char *cpu = wl_small_text(a, wl_strf(a, "%s/proc/cpuinfo", root));
    bool guest = cpu && strstr(cpu, " hypervisor");
    bool x86 = cpu && strstr(cpu, "vendor_id");
    return x86 && !guest ? "sudo modprobe intel_rapl_msr" : NULL;
}

static const char *missing_why(const char *root, struct wl_arena *a)
{
    char *cpu = wl_small_text(a, wl_strf(a, "%s/proc/cpuinfo", root));
    if (cpu && strstr(cpu, " hypervisor")) return "this is a virtual machine whose host does not pass the counters on";
    return "the driver is not loaded or the CPU has no such counters";
}

/* Powercap first; perf where powercap gives nothing. */
static int find_domains(struct wl_sensor *s, struct wl_rapl *r, const char *root, struct wl_err *e)
{
    struct wl_err cap = { 0 }, perf = { 0 };
    const char *cap_fix = NULL, *perf_fix = NULL;
    int code = wl_rapl_powercap(r, root, s->arena, &cap_fix, &cap);
    if (r->n > 0) {
        s->source = wl_strf(s->arena, "%s/sys/class/powercap", root);
        s->reason = code < 0 ? wl_strdup(s->arena, cap.msg) : NULL;
        s->fix = cap_fix;
        return 0;
    }
    int perf_code = wl_rapl_perf(r, root, s->arena, &perf_fix, &perf);
    if (r->n > 0) {
        s->source = "perf_event, PMU \"power\"";
        s->reason = perf_code < 0 ? wl_strdup(s->arena, perf.msg) : NULL;
        s->fix = perf_fix;
        return 0;
    }
    if (code == WL_EUNAVAIL && perf_code == WL_EUNAVAIL) {
        s->fix = missing_fix(root, s->arena);
        return wl_fail(e, code, "%s, and %s: %s", cap.msg, perf.msg, missing_why(root, s->arena));
    }
    s->fix = cap_fix ? cap_fix : perf_fix;
    return wl_fail(e, code == WL_EUNAVAIL ? perf_code : code, "%s; %s", cap.msg, perf.msg);
}

static int rapl_open(struct wl_sensor *s, const struct wl_power_opts *o, struct wl_err *e)
{
    struct wl_rapl *r = wl_new(s->arena, struct wl_rapl);
    s->state = r;
    int code = find_domains(s, r, o->root, e);
    if (code < 0) return code;
    for (size_t i = 0; i < r->n; i++) {
        const struct wl_rapl_domain *d = &r->v[i];
        const char *uuid = wl_strf(s->arena, "rapl:%s", d->name);
        int device = wl_sensor_add_device(s, &(struct wl_device) { .name = d->name, .uuid = uuid, .index = (int)i });
        wl_sensor_add_channel(s, device, WL_ENERGY, d->scope, WL_VARIANT_NONE);
        wl_sensor_add_channel(s, device, WL_POWER, d->scope, WL_VARIANT_MEAN);
    }
    if (!s->reason && !has_scope(r, WL_SCOPE_DRAM)) s->reason = "DRAM is not measured: this CPU shows no DRAM domain";
    return 0;
}

const struct wl_sensor_ops wl_sensor_rapl = {
    .name = "rapl",
    .help = "energy of CPU packages and their DRAM",
    .open = rapl_open,
    .read = rapl_read,
};

/* Whose joules? The job's part of the energy of each device that counts, by its use in slices of the run. */
#include "run/derive.h"

#include <math.h>

/* The job's CPU time is read once a second: a slice has two readings. */
enum { MOST_SLICES = 400 };
static const double SLICE_S = 2;

/* In shorter runs the ticks of CPU time, and readings of a GPU's processes, are too few for a share. */
static const double SHORTEST_S = 1;

struct share {
    const char *method;
    struct wl_attribution_model model;
    double reserved;
    const struct wl_derive_machine *machine; /* NULL: not by CPU time */
    ptrdiff_t all, job;                      /* utilisation of a GPU by all and by the job; -1: the job used it alone */
    const char *why;                         /* it cannot be shared */
};

static ptrdiff_t channel_of(const struct wl_derivation *d, int64_t device, enum wl_quantity q, const char *scope)
{
    for (size_t c = 0; c < d->channels.n; c++)
        if (d->channels.v[c].device == device && wl_derive_quantity(d, c) == (int)q &&
            wl_str_eq(d->channels.v[c].scope, scope))
            return (ptrdiff_t)c;
    return -1;
}

/* ---- how a device is shared ---- */

static struct share share_of_cpus(const struct wl_derivation *d, const struct wl_energy_row *row)
{
    const struct wl_device_row *device = wl_derive_device(d, row->device);
    bool dram = wl_str_eq(row->scope, wl_scope_name(WL_SCOPE_DRAM));
    struct share s = { "cpu-time", dram ? wl_attribution_dram : wl_attribution_cpu, NAN, NULL, -1, -1, NULL };
    size_t n;
    const struct wl_derive_machine *v = wl_derive_machines(d, &n);
    for (size_t i = 0; device && i < n; i++)
        if (wl_str_eq(v[i].host, device->host)) s.machine = &v[i];
    if (!s.machine || s.machine->busy < 0)
        s.why = "the CPU time of the machine was not recorded";
    else if (s.machine->job < 0)
        s.why = "the CPU time of the job was not recorded";
    else if (isnan(s.reserved = wl_derive_last(d, s.machine->job_cpus) / wl_derive_last(d, s.machine->cpus)))
        s.why = "the CPUs that the job may use were not recorded";
    return s;
}

/* Most processes of others on a GPU; NAN: nobody looked. */
static double most_others(const struct wl_derivation *d, int64_t device)
{
    ptrdiff_t c = channel_of(d, device, WL_OTHER_PROCESSES, wl_scope_name(WL_SCOPE_GPU));
    double most = NAN;
    for (size_t i = 0; c >= 0 && i < d->series[c].n; i++) most = fmax(most, d->series[c].value[i]);
    return most;
}

/* A GPU that the job can see is reserved for it. */
static struct share share_of_gpu(const struct wl_derivation *d, const struct wl_energy_row *row)
{
    struct share s = { "sole-user", wl_attribution_gpu, 1, NULL, -1, -1, NULL };
    double others = most_others(d, row->device);
    if (isnan(others)) s.why = "who used the GPU was not recorded";
    if (!(others > 0)) return s;
    s.method = "gpu-processes";
    s.all = channel_of(d, row->device, WL_PROCESS_UTIL, wl_scope_name(WL_SCOPE_GPU));
    s.job = channel_of(d, row->device, WL_PROCESS_UTIL, wl_scope_name(WL_SCOPE_JOB));
    if (s.all < 0 || s.job < 0) s.why = "others used the GPU, and its driver does not tell the utilisation by process";
    return s;
}

static struct share share_of(const struct wl_derivation *d, const struct wl_energy_row *row)
{
    const struct wl_run_window *w = &d->windows[0];
    struct share s = { .why = "a meter of the whole node or module does not tell who used what" };
    if (wl_str_eq(row->scope, wl_scope_name(WL_SCOPE_PACKAGE)) || wl_str_eq(row->scope, wl_scope_name(WL_SCOPE_DRAM)))
        s = share_of_cpus(d, row);
    else if (wl_str_eq(row->scope, wl_scope_name(WL_SCOPE_GPU)))
        s = share_of_gpu(d, row);
    else
        s.reserved = NAN;
    if (!s.why && (double)(w->t1_ns - w->t0_ns) < SHORTEST_S * WL_NS_PER_S) s.why = "the run was shorter than 1 s";
    if (s.why) s.method = "none";
    return s;
}

/* ---- slices ---- */

static const int64_t BRIDGED_NS = 10 * (int64_t)WL_NS_PER_S;

static double mean_of(const struct wl_derivation *d, ptrdiff_t c, const struct wl_run_window *w)
{
    return wl_window_mean(&d->series[c], w->t0_ns, w->t1_ns, BRIDGED_NS);
}

static struct wl_attribution_slice slice_of(const struct wl_derivation *d, const struct share *s, size_t energy,
                                            const struct wl_run_window *w)
{
    const double time_s = (double)(w->t1_ns - w->t0_ns) / WL_NS_PER_S;
    struct wl_attribution_slice v = { time_s, time_s * wl_derive_power_between(d, energy, w->t0_ns, w->t1_ns), time_s,
                                      time_s };
    if (s->machine) {
        v.job_use = wl_derive_used(d, s->machine->job, w->t0_ns, w->t1_ns);
        v.all_use = wl_derive_used(d, s->machine->busy, w->t0_ns, w->t1_ns);
    } else if (s->all >= 0) {
        v.job_use = time_s * mean_of(d, s->job, w);
        v.all_use = time_s * mean_of(d, s->all, w);
    }
    if (isnan(v.job_use) || isnan(v.all_use)) v.energy_j = NAN; /* a slice of which nothing is known */
    return v;
}

static struct wl_attribution_slice *slices_of(const struct wl_derivation *d, const struct share *s, size_t energy,
                                              size_t *n)
{
    const struct wl_run_window *run = &d->windows[0];
    const int64_t ns = run->t1_ns - run->t0_ns;
    *n = (size_t)fmin(fmax((double)ns / WL_NS_PER_S / SLICE_S, 1), MOST_SLICES);
    struct wl_attribution_slice *v = wl_new_array(d->a, struct wl_attribution_slice, *n);
    for (size_t i = 0; i < *n; i++) {
        const struct wl_run_window w = { NAN, run->t0_ns + ns / (int64_t)*n * (int64_t)i,
                                         i + 1 < *n ? run->t0_ns + ns / (int64_t)*n * (int64_t)(i + 1) : run->t1_ns };
        v[i] = slice_of(d, s, energy, &w);
    }
    return v;
}

/* ---- a device ---- */

/* The idle power that a model assumes; NAN: the device has a meter. */
static double modelled_idle_w(const struct wl_derivation *d, const struct wl_energy_row *row)
{
    const ptrdiff_t c = channel_of(d, row->device, WL_IDLE_POWER, row->scope);
    return row->estimated ? wl_derive_last(d, (int)c) : NAN;
}

/* The idle power before and after, of which a busy machine's is left out, else that of the model, or else its bounds:
 * what was measured on a busy machine is at least the idle power. Returns why it is not known. */
static const char *set_idle(const struct wl_derivation *d, const struct share *s, const struct wl_energy_row *row,
                            struct wl_attribution_case *c)
{
    const struct wl_run_window *w = &d->windows[0];
    const int64_t idle_ns = d->idle_s > 0 ? (int64_t)(d->idle_s * WL_NS_PER_S) : 1;
    const double least_w = fmin(row->idle_before_w, row->idle_after_w), /* fmin and fmax skip one that is missing */
        before_w = wl_derive_was_busy(d, s->machine, w->t0_ns - idle_ns, w->t0_ns) ? NAN : row->idle_before_w,
                 after_w = wl_derive_was_busy(d, s->machine, w->t1_ns, w->t1_ns + idle_ns) ? NAN : row->idle_after_w;
    const double lo_w = fmin(before_w, after_w), modelled_w = isnan(lo_w) ? modelled_idle_w(d, row) : NAN;
    c->idle_known = !isnan(lo_w) || !isnan(modelled_w);
    c->idle_lo_w = !isnan(lo_w) ? lo_w : c->idle_known ? modelled_w : 0;
    c->idle_hi_w = !isnan(lo_w) ? fmax(before_w, after_w) : c->idle_known ? modelled_w : least_w;
    if (c->idle_known) return NULL;
    return isnan(least_w) ? "the idle power was not measured: --idle 10s"
                          : "the idle power was measured while others used the machine";
}

/* Its counter, else its power. */
static size_t energy_channel(const struct wl_derivation *d, const struct wl_energy_row *row)
{
    ptrdiff_t counter = channel_of(d, row->device, WL_ENERGY, row->scope);
    return (size_t)(counter >= 0 ? counter : channel_of(d, row->device, WL_POWER, row->scope));
}

static struct wl_attribution_row attribute(const struct wl_derivation *d, const struct wl_energy_row *row)
{
    const struct share s = share_of(d, row);
    struct wl_attribution_row r = { .device = row->device,
                                    .scope = row->scope,
                                    .method = s.method,
                                    .use_share = NAN,
                                    .reserved = s.reserved,
                                    .energy_j = NAN,
                                    .energy_lo_j = NAN,
                                    .energy_hi_j = NAN,
                                    .above_j = NAN,
                                    .above_lo_j = NAN,
                                    .above_hi_j = NAN,
                                    .idle_j = NAN,
                                    .simulated = row->simulated,
                                    .why = s.why };
    if (s.why) return r;
    struct wl_attribution_case c = { .time_s = (double)(d->windows[0].t1_ns - d->windows[0].t0_ns) / WL_NS_PER_S,
                                     .energy_j = row->energy_j,
                                     .lo_j = row->energy_lo_j,
                                     .hi_j = row->energy_hi_j,
                                     .reserved = s.reserved,
                                     .model = s.model };
    r.why = set_idle(d, &s, row, &c);
    c.slices = slices_of(d, &s, energy_channel(d, row), &c.n);
    const struct wl_attribution v = wl_attribute(&c);
    if (v.why) r.why = v.why;
    r.use_share = v.use_share;
    r.energy_j = v.energy_j;
    r.energy_lo_j = v.energy_lo_j;
    r.energy_hi_j = v.energy_hi_j;
    r.above_j = v.above_j;
    r.above_lo_j = v.above_lo_j;
    r.above_hi_j = v.above_hi_j;
    r.idle_j = v.idle_j;
    return r;
}

void wl_derive_attribution(struct wl_derivation *d)
{
    struct wl_attribution_row *rows = wl_new_array(d->a, struct wl_attribution_row, d->out->n_energies);
    size_t n = 0;
    for (size_t i = 0; i < d->out->n_energies; i++) {
        const struct wl_energy_row *row = &d->out->energies[i];
        if (isnan(row->epoch) && row->chosen) rows[n++] = attribute(d, row);
    }
    d->out->attributions = rows;
    d->out->n_attributions = n;
}

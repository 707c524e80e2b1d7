/* What others did on the machine during a run: a busy machine adds joules that are not the job's, and slows it down. */
#include "run/derive.h"

#include <math.h>

/* A run is flagged where others used more than this share of the busy CPU time: by that share the energy above idle is
 * not the job's, and 5 % is what other checks of an energy allow (docs/metrics.md). */
static const double MOST_SHARE = 0.05;

/* And more CPUs than this: a share of all that changes their power by about that share of its range, or on small
 * machines what the daemons of an idle one take. */
static const double MOST_OF_MACHINE = 0.02, MOST_CPUS = 0.1;

/* The kernel counts busy time in ticks of up to 10 ms a CPU: shorter runs have too few for a share. */
static const double SHORTEST_S = 1;

/* ---- the machine of a run, or one of its machines ---- */

const struct wl_device_row *wl_derive_device(const struct wl_derivation *d, int64_t id)
{
    for (size_t i = 0; i < d->devices.n; i++)
        if (d->devices.v[i].id == id) return &d->devices.v[i];
    return NULL;
}

static struct wl_derive_machine *machine_named(struct wl_derive_machine *v, size_t *n, const char *host)
{
    for (size_t i = 0; i < *n; i++)
        if (wl_str_eq(v[i].host, host)) return &v[i];
    v[*n] = (struct wl_derive_machine) { host, -1, -1, -1, -1 };
    return &v[(*n)++];
}

static void set_channel(struct wl_derive_machine *m, enum wl_quantity q, bool job, int c)
{
    if (q == WL_CPU_TIME) *(job ? &m->job : &m->busy) = c;
    if (q == WL_CPUS) *(job ? &m->job_cpus : &m->cpus) = c;
}

struct wl_derive_machine *wl_derive_machines(const struct wl_derivation *d, size_t *n)
{
    struct wl_derive_machine *v = wl_new_array(d->a, struct wl_derive_machine, d->channels.n);
    *n = 0;
    for (size_t c = 0; c < d->channels.n; c++) {
        int q = wl_derive_quantity(d, c);
        const struct wl_device_row *device = wl_derive_device(d, d->channels.v[c].device);
        if (!device || (q != WL_CPU_TIME && q != WL_CPUS)) continue;
        bool job = wl_str_eq(d->channels.v[c].scope, wl_scope_name(WL_SCOPE_JOB));
        set_channel(machine_named(v, n, device->host), (enum wl_quantity)q, job, (int)c);
    }
    return v;
}

/* ---- its CPU time ---- */

/* A busy machine reads late, and a large one seldom: counters are bridged over this time. */
static const int64_t BRIDGED_NS = 30 * (int64_t)WL_NS_PER_S;

double wl_derive_used(const struct wl_derivation *d, int c, int64_t t0_ns, int64_t t1_ns)
{
    if (c < 0) return NAN;
    return wl_window_rate(&d->series[c], t0_ns, t1_ns, BRIDGED_NS) * (double)(t1_ns - t0_ns) / WL_NS_PER_S;
}

double wl_derive_last(const struct wl_derivation *d, int c)
{
    double last = NAN;
    for (size_t i = 0; c >= 0 && i < d->series[c].n && d->series[c].t_ns[i] <= d->windows[0].t1_ns; i++)
        if (!isnan(d->series[c].value[i])) last = d->series[c].value[i];
    return last;
}

/* CPUs that were busy before and after the job; wattlaw itself waits then. */
static double idle_cpus(const struct wl_derivation *d, const struct wl_derive_machine *m)
{
    if (!(d->idle_s > 0)) return NAN;
    int64_t idle_ns = (int64_t)(d->idle_s * WL_NS_PER_S), t0 = d->windows[0].t0_ns, t1 = d->windows[0].t1_ns;
    double before_s = wl_derive_used(d, m->busy, t0 - idle_ns, t0),
           after_s = wl_derive_used(d, m->busy, t1, t1 + idle_ns);
    return fmax(before_s, after_s) / d->idle_s; /* fmax skips one that is missing */
}

/* ---- GPUs ---- */

static double most_gpu_processes(const struct wl_derivation *d)
{
    double most = NAN;
    for (size_t c = 0; c < d->channels.n; c++) {
        const struct wl_time_series *s = &d->series[c];
        for (size_t i = 0; wl_derive_quantity(d, c) == WL_OTHER_PROCESSES && i < s->n; i++)
            most = fmax(most, s->value[i]);
    }
    return most;
}

static double mean_runnable(const struct wl_derivation *d)
{
    double sum = 0;
    size_t n = 0;
    for (size_t c = 0; c < d->channels.n; c++) {
        if (wl_derive_quantity(d, c) != WL_RUNNABLE) continue;
        sum += wl_window_mean(&d->series[c], d->windows[0].t0_ns, d->windows[0].t1_ns, BRIDGED_NS);
        n++;
    }
    return n ? sum : NAN;
}

/* ---- is it busy? ---- */

/* Are so many CPUs in use by others much, of those that are online? */
static bool is_much(double cpus, double online) { return cpus > fmax(MOST_OF_MACHINE * online, MOST_CPUS); }

bool wl_derive_was_busy(const struct wl_derivation *d, const struct wl_derive_machine *m, int64_t t0_ns, int64_t t1_ns)
{
    if (!m) return false;
    const double used_s = wl_derive_used(d, m->busy, t0_ns, t1_ns);
    return is_much(used_s * WL_NS_PER_S / (double)(t1_ns - t0_ns), wl_derive_last(d, m->cpus));
}

static void add_reason(struct wl_text *t, const char *reason)
{
    if (reason) wl_text_addf(t, "%s%s", t->n ? "; " : "", reason);
}

static const char *busy_cpus(const struct wl_load_row *r, double time_s, struct wl_arena *a)
{
    double share = r->other_cpu_s / r->busy_cpu_s, cpus = r->other_cpu_s / time_s;
    if (time_s < SHORTEST_S || !(share > MOST_SHARE) || !is_much(cpus, r->cpus)) return NULL;
    const char *runnable = isnan(r->runnable) ? "" : wl_strf(a, ", %.2g tasks runnable", r->runnable);
    return wl_strf(a, "others used %.0f %% of the busy CPU time (%.2g of %.0f CPUs%s)", 100 * share, cpus, r->cpus,
                   runnable);
}

static const char *busy_while_idle(const struct wl_load_row *r, struct wl_arena *a)
{
    if (!is_much(r->idle_other_cpus, r->cpus)) return NULL;
    return wl_strf(a, "the idle power was measured while others used %.2g CPUs", r->idle_other_cpus);
}

static const char *busy_gpus(const struct wl_load_row *r, struct wl_arena *a)
{
    if (!(r->gpu_processes > 0)) return NULL;
    return wl_strf(a, "%.0f process%s of others used a GPU", r->gpu_processes, r->gpu_processes > 1 ? "es" : "");
}

static const char *why_busy(const struct wl_load_row *r, double other_run, double time_s, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    add_reason(&t, busy_cpus(r, time_s, a));
    add_reason(&t, busy_while_idle(r, a));
    add_reason(&t, busy_gpus(r, a));
    add_reason(&t, other_run > 0 ? "another wattlaw measured on this machine" : NULL);
    return t.n ? t.s : NULL;
}

static const char *why_unknown(const struct wl_load_row *r, double time_s)
{
    if (isnan(r->busy_cpu_s)) return "the CPU time of the machine was not recorded";
    if (isnan(r->job_cpu_s)) return "the CPU time of the job was not recorded";
    if (isnan(r->other_cpu_s)) return "the CPU time of wattlaw itself was not recorded";
    if (isnan(r->cpus)) return "the number of CPUs was not recorded";
    return time_s < SHORTEST_S ? "the run was shorter than 1 s" : NULL;
}

/* Of wattlaw's own CPU time, which was counted over the idle times too, the part within the run. */
static double own_s(const struct wl_derivation *d, double own_cpu_s, double time_s)
{
    return own_cpu_s * time_s / (time_s + (d->idle_s > 0 ? 2 * d->idle_s : 0));
}

void wl_derive_load(struct wl_derivation *d, double own_cpu_s, double other_run)
{
    const struct wl_run_window *w = &d->windows[0];
    const double time_s = (double)(w->t1_ns - w->t0_ns) / WL_NS_PER_S;
    size_t n;
    const struct wl_derive_machine *v = wl_derive_machines(d, &n);
    struct wl_load_row *r = wl_new(d->a, struct wl_load_row);
    *r = wl_load_none;
    if (n > 0) r->busy_cpu_s = r->job_cpu_s = r->cpus = r->job_cpus = r->idle_other_cpus = 0;
    for (size_t i = 0; i < n; i++) {
        r->busy_cpu_s += wl_derive_used(d, v[i].busy, w->t0_ns, w->t1_ns);
        r->job_cpu_s += wl_derive_used(d, v[i].job, w->t0_ns, w->t1_ns);
        r->cpus += wl_derive_last(d, v[i].cpus);
        r->job_cpus += wl_derive_last(d, v[i].job_cpus);
        r->idle_other_cpus += idle_cpus(d, &v[i]);
    }
    r->other_cpu_s = r->busy_cpu_s - r->job_cpu_s - own_s(d, own_cpu_s, time_s);
    if (r->other_cpu_s < 0) r->other_cpu_s = 0; /* within the ticks of the kernel's counts */
    r->runnable = mean_runnable(d);
    r->gpu_processes = most_gpu_processes(d);
    r->why = why_unknown(r, time_s);
    r->busy = why_busy(r, other_run, time_s, d->a);
    d->out->load = r;
}

#include "planner/model.h"

#include "stats/stats.h"

#include <math.h>
#include <string.h>

static const double BACKWARD = 2. / 3, FORWARD = 1. / 3; /* shares of a training step */

static double or_else(double v, double otherwise) { return isnan(v) ? otherwise : v; }

static struct wl_planner_links links_of(const struct wl_planner_machine *m)
{
    return (struct wl_planner_links) { .per_node = (double)m->devices_per_node,
                                       .latency_s = m->latency_s,
                                       .node_b_s = m->node_gb_s * 1e9,
                                       .net_b_s = m->network_gb_s * 1e9 };
}

static enum wl_planner_algorithm algorithm_of(const struct wl_planner_machine *m)
{
    switch (m->collective[0]) {
    case 'r': return WL_PLANNER_RING;
    case 't': return WL_PLANNER_TREE;
    case 'h': return WL_PLANNER_HIERARCHICAL;
    }
    return WL_PLANNER_BEST;
}

static struct wl_planner_device device_of(const struct wl_planner_case *c)
{
    const struct wl_planner_machine *m = c->machine;
    return (struct wl_planner_device) { .idle_w = m->idle_w,
                                        .max_w = m->max_w,
                                        .load = c->workload->load,
                                        .exponent = m->power_exponent,
                                        .clock_mhz = m->clock_mhz,
                                        .lowest_mhz = m->lowest_clock_mhz,
                                        .highest_mhz = fmax(m->clock_mhz, m->card ? m->card->clock_mhz : NAN),
                                        .min_cap_w = m->min_cap_w };
}

static struct wl_planner_layout layout_of(const struct wl_planner_case *c, double workers)
{
    const struct wl_planner_workload *w = c->workload;
    return wl_planner_layout_of(workers, (double)w->tensor_parallel, (double)w->pipeline_stages,
                                (double)w->pipeline_chunks);
}

bool wl_planner_divides(const struct wl_planner_case *c, const struct wl_planner_setting *s)
{
    return !isnan(layout_of(c, s->workers).replicas);
}

/* ---- one device ---- */

/* max(work, traffic) + launches; NAN: numbers are missing. */
static double roofline(const struct wl_planner_machine *m, const struct wl_planner_workload *w, double batch)
{
    const double peak = m->card ? wl_hardware_card_peak(m->card, w->dtype) : NAN;
    const double b_s = m->card ? m->card->memory_b_s : NAN;
    const double compute_s = w->gflop * 1e9 * batch / (m->flops_efficiency * peak);
    const double memory_s = (w->traffic_mb * batch + w->step_mb) * 1e6 / (m->memory_efficiency * b_s);
    if (isnan(compute_s) || (isnan(memory_s) && !isnan(w->traffic_mb))) return NAN;
    return fmax(compute_s, or_else(memory_s, 0)) + w->kernels * w->kernel_s;
}

/* Measured elsewhere: scaled by the ratio of the rooflines. */
static double measured(const struct wl_planner_case *c, double batch)
{
    const struct wl_planner_workload *w = c->workload;
    const double at_reference = w->step_s;
    if (c->step_machine && c->step_machine != c->machine)
        return at_reference * roofline(c->machine, w, batch) / roofline(c->step_machine, w, w->step_batch);
    const double launches_s = fmin(w->kernels * w->kernel_s, at_reference);
    return launches_s + (at_reference - launches_s) * batch / w->step_batch;
}

double wl_planner_device_step(const struct wl_planner_case *c, double batch)
{
    return isnan(c->workload->step_s) ? roofline(c->machine, c->workload, batch) : measured(c, batch);
}

/* ---- one step ---- */

/* (x^p + y^p)^(1/p): x + y for p = 1, max(x, y) for large p. */
static double soft_max(double x, double y, double p)
{
    const double m = fmax(x, y);
    return m > 0 ? m * pow(pow(x / m, p) + pow(y / m, p), 1 / p) : x + y;
}

/* Each replica reads its samples once. */
static double input_s(const struct wl_planner_case *c, double batch, const struct wl_planner_layout *l)
{
    const double bytes = batch * c->workload->sample_kb * 1e3;
    const double on_a_node = (double)c->machine->devices_per_node / (l->tensor * l->stages);
    const double g = fmin(l->replicas, fmax(on_a_node, 1));
    const double shared_s = bytes * l->replicas / (or_else(c->machine->storage_gb_s, INFINITY) * 1e9);
    const double node_s = bytes * g / (or_else(c->machine->node_input_gb_s, INFINITY) * 1e9);
    return or_else(fmax(shared_s, node_s), 0);
}

/* Sharded parameters are gathered for both passes and gradients scattered: three halves of an all-reduce, which both
 * passes hide. Source: Rajbhandari et al. 2020, arXiv:1910.02054, stage 3. */
static double exposed_s(const struct wl_planner_case *c, const struct wl_planner_layout *l, double micro_s)
{
    const struct wl_planner_links all = links_of(c->machine), links = wl_planner_links_of_replicas(&all, l);
    const double bytes = c->workload->parameters * c->workload->gradient_bytes / (l->tensor * l->stages);
    const double count = fmax(ceil(bytes / (c->framework->bucket_mb * 1e6)), 1);
    const double bucket_s = wl_planner_all_reduce(&links, algorithm_of(c->machine), l->replicas, bytes / count);
    const bool sharded = c->workload->sharding[0] == 'f';
    if (l->replicas <= 1) return 0;
    return wl_planner_exposed(bucket_s * (sharded ? 1.5 : 1), count, micro_s * (sharded ? 1 : BACKWARD));
}

static double coordinate_s(const struct wl_planner_case *c, const struct wl_planner_layout *l)
{
    if (!(c->framework->negotiation_s > 0) || l->replicas <= 1) return 0;
    return c->framework->negotiation_s * l->replicas * c->workload->tensors / l->stages;
}

static double global_batch(const struct wl_planner_case *c, const struct wl_planner_setting *s)
{
    return or_else(s->local_batch, c->workload->local_batch) * layout_of(c, s->workers).replicas *
           or_else(s->accumulation, (double)c->workload->accumulation);
}

bool wl_planner_exceeds_data(const struct wl_planner_case *c, const struct wl_planner_setting *s)
{
    return global_batch(c, s) > or_else(s->samples, c->workload->samples);
}

static double steps_of(const struct wl_planner_workload *w, double samples, double batch)
{
    const double steps = or_else(samples, w->samples) / batch;
    return fmax(w->drop_last ? floor(steps) : ceil(steps), 1);
}

/* A worker's part of a micro-step at full clock; NAN: the workers do not make whole replicas. Kernels of a layer that
 * is split are as many on each of its workers. */
static double device_share(const struct wl_planner_case *c, const struct wl_planner_layout *l, double batch)
{
    const struct wl_planner_workload *w = c->workload;
    if (isnan(l->replicas)) return NAN;
    const double all_s = wl_planner_device_step(c, batch), launches_s = fmin(w->kernels * w->kernel_s, all_s);
    return (launches_s + (all_s - launches_s) / l->tensor) / l->stages;
}

static void step(const struct wl_planner_case *c, const struct wl_planner_setting *s, double batch,
                 struct wl_planner_point *p)
{
    const struct wl_planner_layout l = layout_of(c, s->workers);
    const struct wl_planner_links links = links_of(c->machine);
    const double micro = or_else(s->accumulation, (double)c->workload->accumulation);
    const double micro_s = device_share(c, &l, batch) * wl_planner_slowdown(c->workload->memory_share, p->at.phi);
    const double straggling = wl_planner_straggle(c->machine->straggler_cv, s->workers);
    const double sent = batch * c->workload->activation_mb * 1e6;
    const double tensor_s = wl_planner_tensor_s(&links, algorithm_of(c->machine), &l, c->workload->layers, sent);
    p->replicas = l.replicas;
    p->device_s = micro * micro_s;
    p->straggle_s = p->device_s * (straggling - 1);
    p->tensor_s = micro * tensor_s;
    p->pipeline_s = wl_planner_pipeline_s(&links, &l, micro, micro_s + tensor_s, sent);
    const double working_s = p->device_s * straggling + p->tensor_s + p->pipeline_s;
    p->input_s = soft_max(working_s, input_s(c, batch * micro, &l), c->machine->input_exponent) - working_s;
    p->exposed_s = exposed_s(c, &l, micro_s + tensor_s);
    p->coordinate_s = coordinate_s(c, &l);
    p->step_s = p->device_s + p->straggle_s + p->tensor_s + p->pipeline_s + p->input_s + p->exposed_s + p->coordinate_s;
}

/* ---- one epoch ---- */

static double validation_s(const struct wl_planner_case *c, const struct wl_planner_point *p, double batch,
                           double workers)
{
    const double n = c->workload->validation_samples;
    const struct wl_planner_layout l = layout_of(c, workers);
    const double slow = wl_planner_slowdown(c->workload->memory_share, p->at.phi);
    return n > 0 ? ceil(n / (batch * l.replicas)) * FORWARD * device_share(c, &l, batch) * slow : 0;
}

static double checkpoint_s(const struct wl_planner_case *c)
{
    const double gb = c->workload->checkpoint_gb;
    return gb > 0 ? gb / or_else(c->machine->storage_gb_s, INFINITY) : 0;
}

/* Energy of the devices by phases: at rest, and above that while computing or spinning. */
static void energy(const struct wl_planner_case *c, const struct wl_planner_setting *s, double busy_s,
                   struct wl_planner_point *p)
{
    const struct wl_planner_machine *m = c->machine;
    const double dynamic_w = p->at.active_w - m->idle_w;
    const double spin_s = p->steps * (p->straggle_s + p->tensor_s + p->pipeline_s + p->exposed_s + p->coordinate_s);
    const double node_w = or_else(m->host_w, 0) + or_else(m->network_w, 0);
    const double device_j = m->idle_w * p->epoch_s + dynamic_w * (busy_s + m->spin_share * spin_s);
    p->energy_j = s->workers * device_j + p->nodes * node_w * p->epoch_s;
    /* Shares of time, not the energy over the time: the identity is checked between two sums. */
    const double spinning = spin_s / p->epoch_s;
    p->power_w = m->idle_w + dynamic_w * (p->busy + m->spin_share * spinning) + p->nodes / s->workers * node_w;
}

/* The first stage holds activations of as many micro-batches as there are stages. Source: arXiv:2104.04473, 2.2.1. */
static double memory_b(const struct wl_planner_case *c, double batch, double micro, const struct wl_planner_layout *l)
{
    const struct wl_planner_workload *w = c->workload;
    const double shards = w->sharding[0] == 'f' ? l->replicas : 1, in_flight = fmin(micro, l->stages);
    return w->fixed_memory_gb * 1e9 / (l->tensor * l->stages * shards) +
           w->sample_memory_mb * 1e6 * batch * in_flight / (l->tensor * l->stages);
}

static void feasibility(const struct wl_planner_case *c, const struct wl_planner_setting *s, double batch,
                        struct wl_planner_point *p)
{
    const struct wl_planner_machine *m = c->machine;
    const struct wl_planner_layout l = layout_of(c, s->workers);
    p->memory_b = memory_b(c, batch, or_else(s->accumulation, (double)c->workload->accumulation), &l);
    p->fits = !(m->card && p->memory_b > m->card->memory_b) && (!m->max_nodes || p->nodes <= (double)m->max_nodes);
}

struct wl_planner_case wl_planner_case_of(const struct wl_planner_plan *p, size_t machine, size_t workload)
{
    const struct wl_planner_workload *w = &p->workloads[workload];
    const int measured = wl_planner_machine_index(p, w->step_machine);
    return (struct wl_planner_case) { &p->machines[machine], w->framework, w, &p->machines[measured] };
}

struct wl_planner_setting wl_planner_setting_of(double workers)
{
    return (struct wl_planner_setting) { workers, NAN, NAN, NAN, NAN, NAN };
}

struct wl_planner_point wl_planner_evaluate(const struct wl_planner_case *c, const struct wl_planner_setting *s)
{
    const struct wl_planner_workload *w = c->workload;
    const struct wl_planner_device d = device_of(c);
    const double batch = or_else(s->local_batch, w->local_batch);
    struct wl_planner_point p = { .nodes = ceil(s->workers / (double)c->machine->devices_per_node) };
    p.global_batch = global_batch(c, s);
    p.steps = steps_of(w, s->samples, p.global_batch);
    p.at = wl_planner_operate(&d, s->cap_w, s->clock_mhz);
    step(c, s, batch, &p);
    const double validating_s = validation_s(c, &p, batch, s->workers);
    const double busy_s = p.steps * p.device_s + validating_s;
    p.overhead_s = c->framework->epoch_s + validating_s + checkpoint_s(c);
    p.epoch_s = p.steps * p.step_s + p.overhead_s;
    p.busy = busy_s / p.epoch_s;
    energy(c, s, busy_s, &p);
    feasibility(c, s, batch, &p);
    return p;
}

double wl_planner_identity(const struct wl_planner_setting *s1, const struct wl_planner_point *p1,
                           const struct wl_planner_setting *s2, const struct wl_planner_point *p2)
{
    const double by_parts = s2->workers / s1->workers / (p1->epoch_s / p2->epoch_s) * (p2->power_w / p1->power_w);
    return by_parts / (p2->energy_j / p1->energy_j) - 1;
}

struct wl_planner_exponent wl_planner_exponent_of(const double *workers, const double *epoch_s, size_t n)
{
    double mx = 0, my = 0, sxx = 0, sxy = 0, syy = 0;
    if (n < 3) return (struct wl_planner_exponent) { NAN, NAN };
    for (size_t i = 0; i < n; i++) mx += log(workers[i]) / (double)n, my += log(epoch_s[i]) / (double)n;
    for (size_t i = 0; i < n; i++) {
        const double x = log(workers[i]) - mx, y = log(epoch_s[i]) - my;
        sxx += x * x, sxy += x * y, syy += y * y;
    }
    return (struct wl_planner_exponent) { -sxy / sxx, sxy * sxy / (sxx * syy) };
}

/* ---- what is missing ---- */

static const char *missing_of_device(const struct wl_planner_case *c)
{
    const struct wl_planner_workload *w = c->workload;
    const struct wl_planner_machine *m = c->machine;
    const bool elsewhere = c->step_machine && c->step_machine != m;
    if (!isnan(w->step_s) && !elsewhere) return NULL;
    if (isnan(w->gflop)) return elsewhere ? "flops" : "step_time, or flops,";
    const char *const peak = "a card with a peak for the workload's dtype";
    if (!m->card || isnan(wl_hardware_card_peak(m->card, w->dtype))) return peak;
    if (elsewhere && (!c->step_machine->card || isnan(wl_hardware_card_peak(c->step_machine->card, w->dtype))))
        return peak;
    return isnan(m->card->memory_b_s) && !isnan(w->traffic_mb) ? "a card with a memory bandwidth" : NULL;
}

const char *wl_planner_missing(const struct wl_planner_case *c, const struct wl_planner_setting *s, bool energy,
                               struct wl_arena *a)
{
    const struct wl_planner_machine *m = c->machine;
    const struct wl_planner_workload *w = c->workload;
    const bool nodes = s->workers > (double)m->devices_per_node, capped = !isnan(s->cap_w);
    const char *of_machine = NULL, *of_workload = NULL, *device = missing_of_device(c);
    if (device && strncmp(device, "a card", 6) == 0)
        of_machine = device;
    else
        of_workload = device;
    if (s->workers > 1 && isnan(w->parameters)) of_workload = "parameters";
    if (s->workers > 1 && c->framework->negotiation_s > 0 && isnan(w->tensors)) of_workload = "tensors";
    if (w->tensor_parallel > 1 && isnan(w->layers)) of_workload = "layers";
    if ((w->tensor_parallel > 1 || w->pipeline_stages > 1) && isnan(w->activation_mb)) of_workload = "activation";
    if (nodes && isnan(m->network_gb_s)) of_machine = "network_bandwidth";
    if (s->workers > 1 && m->devices_per_node > 1 && isnan(m->node_gb_s)) of_machine = "node_bandwidth";
    if (!isnan(s->clock_mhz) && isnan(m->clock_mhz)) of_machine = "clock";
    if ((energy || capped) && isnan(m->max_w)) of_machine = "max_power";
    if ((energy || capped) && isnan(m->idle_w)) of_machine = "idle_power";
    if (of_machine) return wl_strf(a, "%s of [machine %s]", of_machine, m->name);
    return of_workload ? wl_strf(a, "%s of [workload %s]", of_workload, w->name) : NULL;
}

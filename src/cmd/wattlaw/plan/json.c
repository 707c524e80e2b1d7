#include "cmd/wattlaw/plan/internal.h"

#include "cmd/wattlaw/analysis.h"
#include "cmd/wattlaw/footprint.h"

#include <math.h>

static void add_estimate(struct wl_json *o, const char *key, const char *interval, const struct wl_estimate *v)
{
    wl_json_add_real(o, key, v->value);
    struct wl_json *list = wl_json_add_array(o, interval);
    wl_json_add_real(list, NULL, v->lo);
    wl_json_add_real(list, NULL, v->hi);
}

/* ---- a machine ---- */

static void add_card(struct wl_json *o, const struct wl_hardware_card *c)
{
    const struct wl_card_source *source;
    const char *key, *unit;
    double value;
    wl_json_add_str(o, "name", c->name);
    wl_json_add_str(o, "title", c->title);
    wl_json_add_str(o, "path", c->path);
    struct wl_json *numbers = wl_json_add_object(o, "numbers");
    for (size_t i = 0; wl_hardware_card_number(c, i, &key, &value, &unit, &source); i++) {
        if (isnan(value)) continue;
        struct wl_json *n = wl_json_add_object(numbers, key);
        wl_json_add_real(n, "value", value);
        wl_json_add_str(n, "unit", unit);
        wl_json_add_str(n, "source", source->assumed ? NULL : source->text);
        wl_json_add_str(n, "assumed", source->assumed ? source->text : NULL);
        wl_json_add_str(n, "url", source->url);
    }
}

static void add_parameters(struct wl_json *list, const struct wl_planner_posterior *q, struct wl_arena *a)
{
    for (size_t i = 0; i < q->parameters.n; i++) {
        const struct wl_planner_parameter *p = &q->parameters.v[i];
        const struct wl_planner_marginal m = wl_planner_marginal_of(q, i, a);
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "section", p->section);
        wl_json_add_str(o, "key", wl_planner_parameter_rows[p->id].key);
        wl_json_add_str(o, "unit", wl_planner_parameter_rows[p->id].unit);
        wl_json_add_real(o, "prior_median", p->median);
        wl_json_add_real(o, "prior_sd", p->sd);
        add_estimate(o, "value", "interval95", &m.value);
        wl_json_add_real(o, "sd_ratio", m.sd);
    }
}

/* ---- points ---- */

static void add_parts(struct wl_json *o, const struct wl_planner_point *p)
{
    wl_json_add_real(o, "device_s", p->device_s);
    wl_json_add_real(o, "straggler_s", p->straggle_s);
    wl_json_add_real(o, "input_s", p->input_s);
    wl_json_add_real(o, "all_reduce_s", p->exposed_s);
    wl_json_add_real(o, "coordination_s", p->coordinate_s);
    wl_json_add_real(o, "tensor_parallel_s", p->tensor_s);
    wl_json_add_real(o, "pipeline_s", p->pipeline_s);
    wl_json_add_real(o, "step_s", p->step_s);
}

/* WHICH_start, WHICH_g_per_kwh and WHICH_price_per_kwh. */
static void add_start(struct wl_json *o, const char *which, const struct wl_cmd_plan_start *s, struct wl_arena *a)
{
    wl_json_add_str(o, wl_strf(a, "%s_start", which), s->known ? wl_clock_iso(a, s->wall_ns) : NULL);
    wl_json_add_real(o, wl_strf(a, "%s_g_per_kwh", which), s->g_per_kwh);
    wl_json_add_real(o, wl_strf(a, "%s_price_per_kwh", which), s->price);
}

static void add_bill(struct wl_json *list, const struct wl_cmd_plan_site *s, const struct wl_cmd_plan_bill *b,
                     struct wl_arena *a)
{
    struct wl_json *o = wl_json_add_object(list, NULL);
    wl_json_add_str(o, "site", s ? s->name : NULL);
    wl_json_add_real(o, "hours", b->hours);
    wl_json_add_real(o, "kwh", b->kwh);
    wl_json_add_real(o, "carbon_g", b->carbon_g);
    wl_json_add_real(o, "energy_cost", b->energy_cost);
    wl_json_add_real(o, "hour_cost", b->hour_cost);
    wl_json_add_str(o, "currency", b->currency);
    add_start(o, "best", &b->cleanest, a);
    add_start(o, "worst", &b->dirtiest, a);
    wl_json_add_real(o, "price_per_kwh", b->price);
    add_start(o, "cheapest", &b->cheapest, a);
    add_start(o, "dearest", &b->dearest, a);
}

static void add_point(struct wl_json *list, const struct wl_cmd_plan *c, const struct wl_cmd_plan_machine *m,
                      const struct wl_planner_forecast *f, const struct wl_planner_forecast *first, struct wl_arena *a)
{
    const struct wl_planner_point *p = &f->point;
    struct wl_json *o = wl_json_add_object(list, NULL);
    wl_json_add_number(o, "workers", f->at.workers);
    wl_json_add_number(o, "nodes", p->nodes);
    wl_json_add_number(o, "replicas", p->replicas);
    wl_json_add_real(o, "power_cap_w", f->at.cap_w);
    wl_json_add_real(o, "clock_mhz", f->at.clock_mhz);
    wl_json_add_bool(o, "enforceable", p->at.enforceable);
    wl_json_add_bool(o, "fits", p->fits);
    wl_json_add_number(o, "global_batch", p->global_batch);
    wl_json_add_number(o, "steps", p->steps);
    add_estimate(o, "time_s", "time_interval95", &f->time_s);
    add_estimate(o, "energy_j", "energy_interval95", &f->energy_j);
    add_estimate(o, "power_w", "power_interval95", &f->power_w);
    wl_json_add_real(o, "speed_up", first->point.epoch_s / p->epoch_s);
    wl_json_add_real(o, "energy_ratio", p->energy_j / first->point.energy_j);
    wl_json_add_real(o, "identity_difference", wl_planner_identity(&first->at, &first->point, &f->at, p));
    wl_json_add_real(o, "computing", p->busy);
    wl_json_add_real(o, "overhead_s", p->overhead_s);
    add_parts(wl_json_add_object(o, "parts"), p);
    struct wl_json *bills = wl_json_add_array(o, "training");
    for (size_t i = 0; i < (c->n_sites ? c->n_sites : 1); i++) {
        const struct wl_cmd_plan_site *s = c->n_sites ? &c->sites[i] : NULL;
        const struct wl_cmd_plan_bill b = wl_cmd_plan_bill_of(c, m, f, s);
        add_bill(bills, s, &b, a);
    }
}

static void add_workload(struct wl_json *list, const struct wl_cmd_plan *c, const struct wl_cmd_plan_machine *m,
                         const struct wl_cmd_planned *d, struct wl_arena *a)
{
    const struct wl_planner_workload *w = &c->plan->workloads[d->workload];
    double *workers = wl_new_array(a, double, d->n_base), *epoch_s = wl_new_array(a, double, d->n_base);
    for (size_t i = 0; i < d->n_base; i++) workers[i] = d->f[i].at.workers, epoch_s[i] = d->f[i].point.epoch_s;
    const struct wl_planner_exponent x = wl_planner_exponent_of(workers, epoch_s, d->n_base);
    struct wl_json *o = wl_json_add_object(list, NULL);
    wl_json_add_str(o, "workload", w->name);
    wl_json_add_real(o, "exponent", x.beta);
    wl_json_add_real(o, "r2", x.r2);
    wl_json_add_real(o, "reference_exponent", w->reference_exponent);
    wl_json_add_str(o, "reference", w->reference);
    wl_json_add_str(o, "energy_needs", d->needs_energy);
    struct wl_json *points = wl_json_add_array(o, "points");
    for (size_t i = 0; i < d->n; i++) add_point(points, c, m, &d->f[i], &d->f[0], a);
}

static void add_machine(struct wl_json *list, const struct wl_cmd_plan *c, const struct wl_cmd_plan_machine *m,
                        struct wl_arena *a)
{
    const struct wl_planner_machine *machine = &c->plan->machines[m->machine];
    struct wl_json *o = wl_json_add_object(list, NULL);
    wl_json_add_str(o, "machine", machine->name);
    if (machine->card)
        add_card(wl_json_add_object(o, "card"), machine->card);
    else
        wl_json_add_null(o, "card");
    wl_json_add_bool(o, "calibrated", m->posterior.rows > 0);
    wl_json_add_real(o, "time_noise_sd", m->posterior.noise[0]);
    wl_json_add_real(o, "power_noise_sd", m->posterior.noise[1]);
    wl_json_add_real(o, "effective_draws", m->posterior.effective);
    wl_json_add_bool(o, "hosts_counted", !isnan(machine->host_w));
    add_parameters(wl_json_add_array(o, "constants"), &m->posterior, a);
    struct wl_json *workloads = wl_json_add_array(o, "workloads");
    for (size_t i = 0; i < c->plan->n_workloads; i++) add_workload(workloads, c, m, &m->v[i], a);
}

static void add_accuracy(struct wl_json *o, const struct wl_planner_accuracy *x)
{
    wl_json_add_str(o, "why", x->why);
    wl_json_add_number(o, "largest_workers", x->largest);
    wl_json_add_int(o, "trained", (int64_t)x->trained);
    wl_json_add_int(o, "tested", (int64_t)x->n);
    wl_json_add_real(o, "median_error", x->median_error);
    wl_json_add_int(o, "inside", (int64_t)x->inside);
}

void wl_cmd_plan_json(const struct wl_cmd_plan *c, struct wl_arena *a)
{
    struct wl_json *root = wl_analysis_json(c->plan->path, a);
    wl_json_add_str(root, "name", c->plan->name);
    wl_json_add_bool(root, "estimated", true);
    wl_json_add_bool(root, "simulated", c->rows.simulated);
    wl_json_add_int(root, "epochs", c->plan->epochs);
    wl_json_add_int(root, "seed", c->plan->seed);
    wl_json_add_str(root, "calibrated_from", c->calibrated_from);
    wl_json_add_int(root, "configurations", (int64_t)c->rows.n);
    if (c->rows.n)
        add_accuracy(wl_json_add_object(root, "accuracy"), &c->accuracy);
    else
        wl_json_add_null(root, "accuracy");
    struct wl_json *sites = wl_json_add_array(root, "sites");
    for (size_t i = 0; i < c->n_sites; i++) {
        struct wl_json *o = wl_json_add_object(sites, NULL);
        wl_json_add_str(o, "site", c->sites[i].name);
        wl_cmd_footprint_json(&c->sites[i].footprint, o);
        wl_json_add_str(o, "price_csv", c->sites[i].price_csv);
    }
    struct wl_json *machines = wl_json_add_array(root, "machines");
    for (size_t i = 0; i < c->n_machines; i++) add_machine(machines, c, &c->machines[i], a);
    struct wl_json *notes = wl_json_add_array(root, "notes");
    for (size_t i = 0; i < c->rows.notes.n; i++) wl_json_add_str(notes, NULL, c->rows.notes.v[i]);
    for (size_t i = 0; i < c->plan->n_workloads; i++)
        if (c->machines[0].v[i].note) wl_json_add_str(notes, NULL, c->machines[0].v[i].note);
    wl_json_print(root);
}

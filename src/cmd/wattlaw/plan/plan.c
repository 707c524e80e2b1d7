/* wattlaw plan: time and energy at scales and on machines that nobody has run. */
#include "cmd/cmd.h"

#include "cmd/wattlaw/analysis.h"
#include "cmd/wattlaw/plan/internal.h"
#include "cmd/wattlaw/points.h"

#include <math.h>
#include <stddef.h>

struct plan_options {
    struct wl_strs at, map;
    const char *machine, *compare, *cards;
    bool keys, json;
};

static const struct wl_opt options[] = {
    { .name = "at",
      .type = WL_LINES,
      .offset = offsetof(struct plan_options, at),
      .unit = "workers=N[,N...]",
      .help = "worker counts to plan for (default: those of the plan)" },
    { .name = "machine",
      .type = WL_STR,
      .offset = offsetof(struct plan_options, machine),
      .unit = "NAME",
      .help = "machine to plan for (default: the first of the plan)" },
    { .name = "compare",
      .type = WL_CHOICE,
      .offset = offsetof(struct plan_options, compare),
      .choices = "machines|sites",
      .help = "compare all machines, or all sites with their hours of lowest carbon intensity (default: none)" },
    { .name = "cards",
      .type = WL_STR,
      .offset = offsetof(struct plan_options, cards),
      .unit = "FOLDER",
      .help = "folder of hardware cards NAME.json that replace built-in ones (default: folder of the plan)" },
    { .name = "map",
      .type = WL_LINES,
      .offset = offsetof(struct plan_options, map),
      .unit = "CANONICAL=COLUMN",
      .help =
          "read a canonical column from a column of another name of the CSV file to calibrate from (default: none)" },
    { .name = "keys",
      .type = WL_FLAG,
      .offset = offsetof(struct plan_options, keys),
      .help = "print the keys of plan files" },
    { .name = "json",
      .type = WL_FLAG,
      .offset = offsetof(struct plan_options, json),
      .help = "print the results as JSON (docs/formats.md)" },
    WL_OPT_END,
};

/* ---- what is planned ---- */

static int check_time(const struct wl_planner_plan *p, size_t machine, const struct wl_planner_forecast *f,
                      struct wl_arena *a, struct wl_err *e)
{
    const struct wl_planner_case c = wl_planner_case_of(p, machine, f->workload);
    const char *missing = wl_planner_missing(&c, &f->at, false, a);
    if (!wl_planner_divides(&c, &f->at))
        return wl_fail(e, WL_EINVAL,
                       "%s:%d: [workload %s]: %s: expected a multiple of tensor_parallel x pipeline_stages = %lld",
                       p->path, c.workload->line, c.workload->name, wl_cmd_plan_count(f->at.workers, "worker", a),
                       (long long)(c.workload->tensor_parallel * c.workload->pipeline_stages));
    if (!missing) return 0;
    return wl_fail(e, WL_EINVAL, "%s:%d: [workload %s]: the time of %s%s needs %s, which is missing", p->path,
                   c.workload->line, c.workload->name, wl_cmd_plan_count(f->at.workers, "worker", a),
                   isnan(f->at.cap_w) && isnan(f->at.clock_mhz) ? "" : " under a cap or clock lock", missing);
}

static const char *missing_for_energy(const struct wl_planner_plan *p, size_t machine, const struct wl_cmd_planned *d,
                                      struct wl_arena *a)
{
    const struct wl_planner_case c = wl_planner_case_of(p, machine, d->workload);
    return d->n ? wl_planner_missing(&c, &d->f[d->n - 1].at, true, a) : NULL;
}

/* From the first count whose global batch is more than an epoch's samples; NULL: there is none. */
static const char *note_of_data(const struct wl_planner_plan *p, size_t machine, const struct wl_cmd_planned *d,
                                struct wl_arena *a)
{
    const struct wl_planner_case c = wl_planner_case_of(p, machine, d->workload);
    for (size_t i = 0; i < d->n_base; i++) {
        if (!wl_planner_exceeds_data(&c, &d->f[i].at)) continue;
        return wl_strf(a, "%s: from %s on the global batch (%.0f) is more than the %.0f samples of an epoch: %s",
                       c.workload->name, wl_cmd_plan_count(d->f[i].at.workers, "worker", a), d->f[i].point.global_batch,
                       c.workload->samples,
                       c.workload->drop_last ? "drop_last leaves no step, one is assumed"
                                             : "one step, in part padding");
    }
    return NULL;
}

/* No cap, then each cap, then each clock; all worker counts in each. */
static struct wl_cmd_planned settings_of(const struct wl_planner_plan *p, size_t workload,
                                         const struct wl_points *points, struct wl_arena *a)
{
    const struct wl_ints own = p->workloads[workload].workers;
    const size_t counts = points->n ? points->n : own.n, caps = p->power_caps.n, locks = p->clocks.n;
    struct wl_cmd_planned d = { .workload = workload, .n_base = counts };
    d.f = wl_new_array(a, struct wl_planner_forecast, counts * (1 + caps + locks));
    for (size_t k = 0; k < 1 + caps + locks; k++)
        for (size_t i = 0; i < counts; i++) {
            struct wl_planner_forecast *f = &d.f[d.n++];
            f->workload = workload;
            f->at = wl_planner_setting_of(points->n ? points->workers[i] : (double)own.v[i]);
            if (k && k <= caps) f->at.cap_w = p->power_caps.v[k - 1];
            if (k > caps) f->at.clock_mhz = p->clocks.v[k - 1 - caps];
        }
    return d;
}

static int plan_workload(const struct wl_planner_plan *p, struct wl_cmd_plan_machine *m, size_t workload,
                         const struct wl_points *points, struct wl_arena *a, struct wl_err *e)
{
    struct wl_cmd_planned *d = &m->v[workload];
    int rc = 0;
    *d = settings_of(p, workload, points, a);
    if (!d->n)
        return wl_fail(e, WL_EINVAL,
                       "%s:%d: [workload %s]: no worker counts: give workers in [plan], or --at workers=N", p->path,
                       p->workloads[workload].line, p->workloads[workload].name);
    for (size_t i = 0; i < d->n && rc == 0; i++) rc = check_time(p, m->machine, &d->f[i], a, e);
    if (rc) return rc;
    d->needs_energy = missing_for_energy(p, m->machine, d, a);
    wl_planner_forecast(&m->posterior, d->f, d->n, a);
    d->note = note_of_data(p, m->machine, d, a);
    return 0;
}

static int plan_machine(struct wl_cmd_plan *c, size_t machine, bool calibrated, const struct wl_points *points,
                        struct wl_arena *a, struct wl_err *e)
{
    struct wl_cmd_plan_machine *m = &c->machines[c->n_machines++];
    m->machine = machine;
    m->v = wl_new_array(a, struct wl_cmd_planned, c->plan->n_workloads);
    int rc = wl_planner_calibrate(c->plan, machine, calibrated ? &c->rows : NULL, &m->posterior, a, e);
    for (size_t i = 0; i < c->plan->n_workloads && rc == 0; i++) rc = plan_workload(c->plan, m, i, points, a, e);
    return rc;
}

/* Measurements say something about the chosen machine alone: the others keep their priors. */
static int plan_machines(struct wl_cmd_plan *c, size_t chosen, bool all, const struct wl_points *points,
                         struct wl_arena *a, struct wl_err *e)
{
    c->machines = wl_new_array(a, struct wl_cmd_plan_machine, c->plan->n_machines);
    int rc = plan_machine(c, chosen, c->rows.n > 0, points, a, e);
    for (size_t i = 0; all && i < c->plan->n_machines && rc == 0; i++)
        if (i != chosen) rc = plan_machine(c, i, false, points, a, e);
    return rc;
}

static int calibrate(struct wl_cmd_plan *c, size_t machine, const struct wl_strs *map, struct wl_arena *a,
                     struct wl_err *e)
{
    struct wl_observations obs = { 0 };
    c->calibrated_from = c->plan->calibrate;
    int rc = wl_analysis_read(c->plan->calibrate, map, &obs, a, e);
    if (rc == 0) rc = wl_planner_rows_of(c->plan, &obs, &c->rows, a, e);
    return rc ? rc : wl_planner_leave_largest_out(c->plan, machine, &c->rows, &c->accuracy, a, e);
}

static int choose_machine(const struct wl_planner_plan *p, const char *name, size_t *out, struct wl_err *e)
{
    const char *names[64];
    size_t n = 0;
    const int i = name ? wl_planner_machine_index(p, name) : 0;
    *out = (size_t)i;
    if (i >= 0) return 0;
    for (; n < p->n_machines && n < WL_COUNT(names); n++) names[n] = p->machines[n].name;
    const char *near = wl_str_closest(name, names, n);
    return wl_fail(e, WL_EUSAGE, "--machine %s: there is no [machine %s] in %s%s%s%s", name, name, p->path,
                   near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static int compute(struct wl_cmd_plan *c, const struct plan_options *o, const struct wl_points *points,
                   struct wl_arena *a, struct wl_err *e)
{
    size_t machine;
    int rc = choose_machine(c->plan, o->machine, &machine, e);
    if (rc == 0) rc = wl_cmd_plan_read_sites(c->plan, &c->sites, &c->n_sites, a, e);
    if (rc == 0 && wl_str_eq(o->compare, "sites") && !c->n_sites)
        return wl_fail(e, WL_EINVAL, "%s: no [site NAME] to compare", c->plan->path);
    if (rc == 0 && c->plan->calibrate) rc = calibrate(c, machine, &o->map, a, e);
    c->from = wl_provenance_of(true, c->rows.simulated);
    return rc ? rc : plan_machines(c, machine, wl_str_eq(o->compare, "machines"), points, a, e);
}

static int run(void *opts, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    const struct plan_options *o = opts;
    struct wl_planner_plan plan;
    struct wl_cmd_plan c = { .plan = &plan };
    struct wl_points points;
    if (o->keys) return wl_cmd_plan_print_keys(), WL_EXIT_OK;
    if (rest->args.n != 1 || rest->command) return wl_fail(e, WL_EUSAGE, "expected one plan file");
    int rc = wl_points_read(&o->at, &points, a, e);
    if (rc == 0) wl_sort_ascending(points.workers, points.n);
    if (rc == 0) rc = wl_planner_read(rest->args.v[0], o->cards, &plan, a, e);
    if (rc == 0) rc = compute(&c, o, &points, a, e);
    if (rc) return rc;
    if (o->json) return wl_cmd_plan_json(&c, a), WL_EXIT_OK;
    wl_cmd_plan_print_assumed(&c, a);
    if (wl_str_eq(o->compare, "machines"))
        wl_cmd_plan_print_machines(&c, a);
    else if (wl_str_eq(o->compare, "sites"))
        wl_cmd_plan_print_sites(&c, a);
    else
        wl_cmd_plan_print(&c, a);
    return WL_EXIT_OK;
}

const struct wl_cmd wl_cmd_plan = {
    .name = "plan",
    .usage = "FILE.ini [options]",
    .help = "predict time, energy, carbon and cost at scales and on machines that nobody has run",
    .more = "A model of step time and energy from hardware, network, storage and workload, with its constants "
            "calibrated from\n"
            "measurements where there are any. Every number is an estimate.\n"
            "\n"
            "  wattlaw plan examples/frey2022/plan.ini\n"
            "  wattlaw plan lab.ini --at workers=1024,100000 --compare machines",
    .options = options,
    .options_size = sizeof(struct plan_options),
    .run = run,
};

#include "cmd/wattlaw/plan/internal.h"

#include "cmd/wattlaw/format.h"

#include <math.h>

static const char *setting_text(const struct wl_planner_setting *at, struct wl_arena *a)
{
    if (!isnan(at->cap_w)) return wl_strf(a, "cap %g W", at->cap_w);
    return isnan(at->clock_mhz) ? "" : wl_strf(a, "clock %g MHz", at->clock_mhz);
}

const char *wl_cmd_plan_count(double n, const char *noun, struct wl_arena *a)
{
    return wl_strf(a, "%g %s%s", n, noun, n == 1 ? "" : "s");
}

static const char *limits_text(const struct wl_planner_point *p)
{
    if (!p->fits) return p->at.enforceable ? "does not fit" : "does not fit, not enforceable";
    return p->at.enforceable ? NULL : "not enforceable";
}

static struct wl_amount amount(const struct wl_cmd_plan *c, const struct wl_estimate *v, const char *unit)
{
    return wl_amount_between(v->value, v->lo, v->hi, unit, c->from);
}

static void band_cell(struct wl_table *t, const struct wl_estimate *v, struct wl_arena *a)
{
    wl_table_cell(t, isnan(v->lo) ? NULL : wl_strf(a, "%s to %s", wl_number_text(v->lo, a), wl_number_text(v->hi, a)));
}

/* ---- one workload ---- */

static void print_points(const struct wl_cmd_plan *c, const struct wl_cmd_planned *d, struct wl_arena *a)
{
    struct wl_table t = wl_table_new(a);
    wl_table_column(&t, "workers", true);
    wl_table_column(&t, "setting", false);
    wl_table_column(&t, "time_s", true);
    wl_table_column(&t, "95 %", false);
    wl_table_column(&t, "speed-up", true);
    wl_table_column(&t, "computing", true);
    wl_table_provenance_column(&t);
    wl_table_column(&t, "energy_j", true);
    wl_table_column(&t, "95 %", false);
    wl_table_column(&t, "power_w of one", true);
    wl_table_column(&t, "limits", false);
    for (size_t i = 0; i < d->n; i++) {
        const struct wl_planner_forecast *f = &d->f[i];
        const struct wl_amount energy = amount(c, &f->energy_j, "J"), power = amount(c, &f->power_w, "W");
        wl_table_real(&t, f->at.workers, 0);
        wl_table_cell(&t, setting_text(&f->at, a));
        wl_table_real(&t, f->time_s.value, 4);
        band_cell(&t, &f->time_s, a);
        wl_table_real(&t, d->f[0].time_s.value / f->time_s.value, 3);
        if (isnan(f->point.busy))
            wl_table_cell(&t, NULL);
        else
            wl_table_cellf(&t, "%.0f %%", 100 * f->point.busy);
        wl_table_provenance(&t, c->from);
        wl_table_amount(&t, &energy, 4);
        band_cell(&t, &f->energy_j, a);
        wl_table_amount(&t, &power, 4);
        wl_table_cell(&t, limits_text(&f->point));
        wl_table_row(&t);
    }
    wl_table_print(&t, WL_STDOUT, wl_out_width(WL_STDOUT));
}

/* Where the time of an epoch goes. */
static void print_parts(const struct wl_planner_forecast *f, struct wl_arena *a)
{
    const struct wl_planner_point *p = &f->point;
    const double scale = 100 * p->steps / p->epoch_s;
    wl_print("  at %-7g %s of %.4g s: computing %.1f %%, stragglers %.1f %%, input %.1f %%, all-reduce %.1f %%, "
             "coordination %.1f %%, per epoch %.1f %%\n",
             f->at.workers, wl_cmd_plan_count(p->steps, "step", a), p->step_s, scale * p->device_s,
             scale * p->straggle_s, scale * p->input_s, scale * p->exposed_s, scale * p->coordinate_s,
             100 * p->overhead_s / p->epoch_s);
    if (p->replicas < f->at.workers)
        wl_print("  parallel   %s of %s: tensor parallel %.1f %%, pipeline %.1f %%\n",
                 wl_cmd_plan_count(p->replicas, "replica", a),
                 wl_cmd_plan_count(f->at.workers / p->replicas, "worker", a), scale * p->tensor_s,
                 scale * p->pipeline_s);
}

static void print_identity(const struct wl_planner_forecast *f1, const struct wl_planner_forecast *f2)
{
    const struct wl_planner_point *p1 = &f1->point, *p2 = &f2->point;
    wl_print(
        "  energy     %g to %g workers: x %.4g = workers x %.4g / speed-up %.4g x power x %.4g (difference %.1g)\n",
        f1->at.workers, f2->at.workers, p2->energy_j / p1->energy_j, f2->at.workers / f1->at.workers,
        p1->epoch_s / p2->epoch_s, p2->power_w / p1->power_w, fabs(wl_planner_identity(&f1->at, p1, &f2->at, p2)));
}

static void print_exponent(const struct wl_cmd_plan *c, const struct wl_cmd_planned *d, struct wl_arena *a)
{
    const struct wl_planner_workload *w = &c->plan->workloads[d->workload];
    double *workers = wl_new_array(a, double, d->n_base), *epoch_s = wl_new_array(a, double, d->n_base);
    for (size_t i = 0; i < d->n_base; i++) workers[i] = d->f[i].at.workers, epoch_s[i] = d->f[i].point.epoch_s;
    const struct wl_planner_exponent x = wl_planner_exponent_of(workers, epoch_s, d->n_base);
    if (isnan(x.beta)) return;
    wl_print("  exponent   %.2f (R2 %.3f) of a power law through these times", x.beta, x.r2);
    if (!isnan(w->reference_exponent))
        wl_print("; published %.2f%s%s%s", w->reference_exponent, w->reference ? " (" : "",
                 w->reference ? w->reference : "", w->reference ? ")" : "");
    wl_print("\n");
}

static const char *money(const struct wl_cmd_plan *c, double v, const char *currency, struct wl_arena *a)
{
    const struct wl_amount m = wl_amount_of(v, currency, c->from);
    return wl_amount_text(&m, a);
}

static void print_bill(const struct wl_cmd_plan *c, const struct wl_cmd_plan_machine *m,
                       const struct wl_planner_forecast *f, const struct wl_cmd_plan_site *site, struct wl_arena *a)
{
    const struct wl_cmd_plan_bill b = wl_cmd_plan_bill_of(c, m, f, site);
    const struct wl_amount kwh = wl_amount_of(b.kwh, "kWh", c->from),
                           carbon = wl_amount_of(b.carbon_g, "g CO2e", c->from);
    wl_print("  %-10s %s, %s: %s, %s", site ? site->name : "training", wl_cmd_plan_count(f->at.workers, "worker", a),
             wl_format_count((size_t)c->plan->epochs, "epoch", a), wl_human_time(a, 3600 * b.hours),
             wl_amount_text(&kwh, a));
    if (!isnan(b.carbon_g)) wl_print(", %s", wl_amount_text(&carbon, a));
    if (!isnan(b.energy_cost)) wl_print(", energy %s", money(c, b.energy_cost, b.currency, a));
    if (!isnan(b.hour_cost)) wl_print(", hours %s", money(c, b.hour_cost, b.currency, a));
    wl_print("\n");
}

static void print_workload(const struct wl_cmd_plan *c, const struct wl_cmd_plan_machine *m,
                           const struct wl_cmd_planned *d, struct wl_arena *a)
{
    const struct wl_planner_workload *w = &c->plan->workloads[d->workload];
    const struct wl_planner_machine *machine = &c->plan->machines[m->machine];
    const struct wl_planner_forecast *first = &d->f[0], *last = &d->f[d->n_base - 1];
    wl_print("\n%s on %s, local batch %g, %.0f samples per epoch%s\n", w->name, machine->name, w->local_batch,
             w->samples, wl_provenance_mark(c->from));
    print_points(c, d, a);
    print_exponent(c, d, a);
    print_parts(last, a);
    if (d->needs_energy)
        wl_print("  energy     unknown: needs %s\n", d->needs_energy);
    else if (d->n_base > 1)
        print_identity(first, last);
    if (!d->needs_energy && isnan(machine->host_w))
        wl_print("  boundary   devices alone: host_power of [machine %s] is not given\n", machine->name);
    if (d->note) wl_print("  note       %s\n", d->note);
    if (!c->n_sites) print_bill(c, m, last, NULL, a);
    for (size_t i = 0; i < c->n_sites; i++) print_bill(c, m, last, &c->sites[i], a);
}

/* ---- calibration ---- */

static void print_parameters(const struct wl_planner_posterior *q, struct wl_arena *a)
{
    struct wl_table t = wl_table_new(a);
    wl_table_column(&t, "constant", false);
    wl_table_column(&t, "of", false);
    wl_table_column(&t, "prior", true);
    wl_table_column(&t, "fitted", true);
    wl_table_column(&t, "95 %", false);
    wl_table_column(&t, "unit", false);
    wl_table_column(&t, "sd / prior sd", true);
    for (size_t i = 0; i < q->parameters.n; i++) {
        const struct wl_planner_parameter *p = &q->parameters.v[i];
        const struct wl_planner_marginal m = wl_planner_marginal_of(q, i, a);
        wl_table_cell(&t, wl_planner_parameter_rows[p->id].key);
        wl_table_cell(&t, p->section);
        wl_table_real(&t, p->median, 3);
        wl_table_real(&t, m.value.value, 3);
        band_cell(&t, &m.value, a);
        wl_table_cell(&t, wl_planner_parameter_rows[p->id].unit);
        wl_table_cellf(&t, "%.2f", m.sd);
        wl_table_row(&t);
    }
    wl_table_print(&t, WL_STDOUT, wl_out_width(WL_STDOUT));
}

static void print_accuracy(const struct wl_planner_accuracy *x, struct wl_arena *a)
{
    if (x->why) {
        wl_print("  accuracy   unknown: %s\n", x->why);
        return;
    }
    wl_print("  accuracy   fitted to %s of at most %s, the %s of more: median error %.1f %%, %zu of %zu inside "
             "their 95 %% interval\n",
             wl_format_count(x->trained, "configuration", a), wl_cmd_plan_count(x->largest, "worker", a),
             wl_format_count(x->n, "configuration", a), 100 * x->median_error, x->inside, x->n);
}

static void print_calibration(const struct wl_cmd_plan *c, struct wl_arena *a)
{
    const struct wl_planner_posterior *q = &c->machines[0].posterior;
    if (!c->rows.n) {
        wl_print("not calibrated: all intervals are those of the priors\n");
        return;
    }
    wl_print("calibrated from %s: %s, scatter of times %.1f %%", c->calibrated_from,
             wl_format_count(c->rows.n, "configuration", a), 100 * q->noise[0]);
    if (!isnan(q->noise[1])) wl_print(", of powers %.1f %%", 100 * q->noise[1]);
    wl_print("\n");
    print_parameters(q, a);
    print_accuracy(&c->accuracy, a);
    if (q->effective < 50)
        wl_print("  note       only %.0f effective draws of %zu: raise draws in [plan]\n", q->effective, q->draws);
    for (size_t i = 0; i < c->rows.notes.n; i++) wl_print("  note       %s\n", c->rows.notes.v[i]);
}

void wl_cmd_plan_print(const struct wl_cmd_plan *c, struct wl_arena *a)
{
    const struct wl_cmd_plan_machine *m = &c->machines[0];
    print_calibration(c, a);
    for (size_t i = 0; i < c->plan->n_workloads; i++) print_workload(c, m, &m->v[i], a);
}

/* ---- comparisons ---- */

static void machine_row(struct wl_table *t, const struct wl_cmd_plan *c, const struct wl_cmd_plan_machine *m,
                        size_t workload, size_t point, struct wl_arena *a)
{
    const struct wl_planner_forecast *f = &m->v[workload].f[point], *first = &c->machines[0].v[workload].f[point];
    const struct wl_amount energy = amount(c, &f->energy_j, "J");
    const struct wl_cmd_plan_bill b = wl_cmd_plan_bill_of(c, m, f, c->n_sites ? &c->sites[0] : NULL);
    wl_table_real(t, f->at.workers, 0);
    wl_table_cell(t, c->plan->machines[m->machine].name);
    wl_table_cell(t, setting_text(&f->at, a));
    wl_table_real(t, f->time_s.value, 4);
    band_cell(t, &f->time_s, a);
    wl_table_real(t, f->time_s.value / first->time_s.value, 3);
    wl_table_provenance(t, c->from);
    wl_table_amount(t, &energy, 4);
    wl_table_real(t, f->energy_j.value / first->energy_j.value, 3);
    wl_table_real(t, b.hour_cost, 4);
    wl_table_row(t);
}

void wl_cmd_plan_print_machines(const struct wl_cmd_plan *c, struct wl_arena *a)
{
    static const char *const heads[] = { "time_s", "95 %", "ratio" };
    for (size_t w = 0; w < c->plan->n_workloads; w++) {
        struct wl_table t = wl_table_new(a);
        wl_print(w ? "\n%s%s\n" : "%s%s\n", c->plan->workloads[w].name, wl_provenance_mark(c->from));
        wl_table_column(&t, "workers", true);
        wl_table_column(&t, "machine", false);
        wl_table_column(&t, "setting", false);
        for (size_t i = 0; i < WL_COUNT(heads); i++) wl_table_column(&t, heads[i], i != 1);
        wl_table_provenance_column(&t);
        wl_table_column(&t, "energy_j", true);
        wl_table_column(&t, "ratio", true);
        wl_table_column(&t, wl_strf(a, "hours, %s", c->n_sites ? c->sites[0].footprint.currency : "EUR"), true);
        for (size_t i = 0; i < c->machines[0].v[w].n; i++)
            for (size_t m = 0; m < c->n_machines; m++) machine_row(&t, c, &c->machines[m], w, i, a);
        wl_table_print(&t, WL_STDOUT, wl_out_width(WL_STDOUT));
        for (size_t m = 0; m < c->n_machines; m++)
            if (c->machines[m].v[w].needs_energy)
                wl_print("  energy     unknown: needs %s\n", c->machines[m].v[w].needs_energy);
        if (c->machines[0].v[w].note) wl_print("  note       %s\n", c->machines[0].v[w].note);
    }
}

/* Do all starts have one mean? Sums round. */
static bool is_constant(double least, double most) { return most - least <= 1e-9 * fmax(fabs(least), fabs(most)); }

static bool has_best_start(const struct wl_cmd_plan_bill *b, bool priced)
{
    return priced ? b->cheapest.known && !is_constant(b->cheapest.price, b->dearest.price)
                  : b->cleanest.known && !is_constant(b->cleanest.g_per_kwh, b->dirtiest.g_per_kwh);
}

/* Of one quantity: the best and the worst start. */
static void print_starts(const char *name, const char *path, const struct wl_cmd_plan_bill *b, bool priced,
                         struct wl_arena *a)
{
    const struct wl_cmd_plan_start *best = priced ? &b->cheapest : &b->cleanest,
                                   *worst = priced ? &b->dearest : &b->dirtiest;
    const char *unit = priced ? wl_strf(a, "%s/kWh", b->currency) : "g/kWh";
    if (!best->known) {
        wl_print("  %-10s %s does not cover %.3g h at a stretch: %s unknown\n", name, path, b->hours,
                 priced ? "price" : "carbon");
        return;
    }
    if (!has_best_start(b, priced)) {
        wl_print("  %-10s %s %.4g %s, whenever the training starts\n", name, priced ? "price" : "carbon intensity",
                 priced ? b->price : b->g_per_kwh, unit);
        return;
    }
    wl_print("  %-10s lowest %sfrom %s: %.4g %s; highest from %s: %.4g; mean of all starts %.4g\n", name,
             priced ? "price " : "", wl_clock_iso(a, best->wall_ns), priced ? best->price : best->g_per_kwh, unit,
             wl_clock_iso(a, worst->wall_ns), priced ? worst->price : worst->g_per_kwh,
             priced ? b->price : b->g_per_kwh);
}

/* What the cleanest and the cheapest start have of the other quantity. */
static void print_both(const struct wl_cmd_plan *c, const char *name, const struct wl_cmd_plan_bill *b,
                       struct wl_arena *a)
{
    const struct wl_cmd_plan_start *starts[] = { &b->cleanest, &b->cheapest };
    for (size_t i = 0; i < WL_COUNT(starts); i++) {
        const struct wl_cmd_plan_start *s = starts[i];
        const struct wl_amount carbon = wl_amount_of(b->kwh * s->g_per_kwh, "g CO2e", c->from);
        if (!has_best_start(b, i > 0) || isnan(s->g_per_kwh) || isnan(s->price) || isnan(b->kwh)) continue;
        wl_print("  %-10s %s start, %s: %s, energy %s\n", name, i ? "cheapest" : "cleanest",
                 wl_clock_iso(a, s->wall_ns), wl_amount_text(&carbon, a), money(c, b->kwh * s->price, b->currency, a));
    }
}

static void print_hours(const struct wl_cmd_plan *c, const struct wl_cmd_plan_site *s, const struct wl_cmd_plan_bill *b,
                        struct wl_arena *a)
{
    if (s->footprint.intensity) print_starts(s->name, s->footprint.carbon_csv, b, false, a);
    if (s->prices) print_starts(s->name, s->price_csv, b, true, a);
    if (s->footprint.intensity || s->prices) print_both(c, s->name, b, a);
}

static void site_row(struct wl_table *t, const struct wl_cmd_plan *c, const struct wl_planner_forecast *f,
                     const struct wl_cmd_plan_site *s, const struct wl_cmd_plan_bill *b)
{
    const struct wl_amount kwh = wl_amount_of(b->kwh, "kWh", c->from),
                           carbon = wl_amount_of(b->carbon_g, "g CO2e", c->from),
                           best = wl_amount_of(b->kwh * b->cleanest.g_per_kwh, "g CO2e", c->from);
    wl_table_real(t, f->at.workers, 0);
    wl_table_cell(t, s->name);
    wl_table_real(t, b->hours, 3);
    wl_table_provenance(t, c->from);
    wl_table_amount(t, &kwh, 4);
    wl_table_amount(t, &carbon, 4);
    wl_table_amount(t, &best, 4);
    wl_table_real(t, b->energy_cost, 4);
    wl_table_real(t, b->kwh * b->cheapest.price, 4);
    wl_table_real(t, b->hour_cost, 4);
    wl_table_cell(t, isnan(b->energy_cost) ? NULL : s->footprint.currency);
    wl_table_row(t);
}

static void print_sites_of(const struct wl_cmd_plan *c, size_t workload, struct wl_arena *a)
{
    static const char *const heads[] = { "kWh at the meter",  "g CO2e", "g CO2e, best hour", "energy",
                                         "energy, best hour", "hours" };
    const struct wl_cmd_plan_machine *m = &c->machines[0];
    const struct wl_cmd_planned *d = &m->v[workload];
    struct wl_table t = wl_table_new(a);
    wl_table_column(&t, "workers", true);
    wl_table_column(&t, "site", false);
    wl_table_column(&t, "hours of training", true);
    wl_table_provenance_column(&t);
    for (size_t i = 0; i < WL_COUNT(heads); i++) wl_table_column(&t, heads[i], true);
    wl_table_column(&t, "currency", false);
    for (size_t i = 0; i < d->n_base; i++)
        for (size_t s = 0; s < c->n_sites; s++) {
            const struct wl_cmd_plan_bill b = wl_cmd_plan_bill_of(c, m, &d->f[i], &c->sites[s]);
            site_row(&t, c, &d->f[i], &c->sites[s], &b);
        }
    wl_table_print(&t, WL_STDOUT, wl_out_width(WL_STDOUT));
    for (size_t s = 0; s < c->n_sites; s++) {
        const struct wl_cmd_plan_bill b = wl_cmd_plan_bill_of(c, m, &d->f[d->n_base - 1], &c->sites[s]);
        print_hours(c, &c->sites[s], &b, a);
    }
    if (d->needs_energy) wl_print("  energy     unknown: needs %s\n", d->needs_energy);
}

void wl_cmd_plan_print_sites(const struct wl_cmd_plan *c, struct wl_arena *a)
{
    for (size_t w = 0; w < c->plan->n_workloads; w++) {
        wl_print(w ? "\n%s on %s, %s%s\n" : "%s on %s, %s%s\n", c->plan->workloads[w].name,
                 c->plan->machines[c->machines[0].machine].name, wl_format_count((size_t)c->plan->epochs, "epoch", a),
                 wl_provenance_mark(c->from));
        print_sites_of(c, w, a);
    }
}

/* ---- keys ---- */

static void print_key_rows(const struct wl_opt *rows, struct wl_arena *a)
{
    for (const struct wl_opt *o = rows; o->name; o++) {
        char *name = wl_strdup(a, o->name);
        for (char *c = name; *c; c++) *c = *c == '-' ? '_' : *c;
        wl_print("  %-22s %s%s%s%s%s%s\n", name, o->help, o->unit ? ", " : "", o->unit ? o->unit : "",
                 o->def ? " (default " : "", o->def ? o->def : "", o->def ? ")" : "");
    }
}

void wl_cmd_plan_print_keys(void)
{
    struct wl_arena *a = wl_arena_new(NULL);
    size_t n;
    const struct wl_planner_key_table *t = wl_planner_keys(&n);
    for (size_t i = 0; i < n; i++) {
        wl_print(i ? "\n[%s]  %s\n" : "[%s]  %s\n", t[i].section, t[i].help);
        print_key_rows(t[i].rows, a);
    }
    wl_print("\n[site NAME]  a place or a tariff\n");
    print_key_rows(wl_cmd_plan_site_rows(), a);
    wl_arena_free(a);
}

/* Carbon and money of a training, by place and by hour. */
#include "cmd/wattlaw/plan/internal.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static const double J_PER_KWH = 3.6e6, S_PER_HOUR = 3600;

static const struct wl_opt rows[] = { WL_FOOTPRINT_OPT_ROWS(struct wl_cmd_plan_site, footprint), WL_OPT_END };

static int read_site(const struct wl_planner_plan *p, const struct wl_ini_section *s, struct wl_cmd_plan_site *out,
                     struct wl_arena *a, struct wl_err *e)
{
    const char *faulty;
    int rc = 0;
    wl_opts_default(rows, out, a);
    out->name = wl_str_strip(a, s->name + strlen("site"));
    for (size_t i = 0; i < s->n && rc == 0; i++)
        rc = wl_opts_set(rows, out, s->v[i].key, s->v[i].value, wl_strf(a, "%s:%d", p->path, s->v[i].line), a, e);
    if (rc) return rc;
    if (out->footprint.carbon_csv)
        out->footprint.carbon_csv = wl_path_join(a, wl_path_dir(a, p->path), out->footprint.carbon_csv);
    if (wl_footprint_complete(&out->footprint, &faulty, a, e) == 0) return 0;
    e->code = WL_EINVAL;
    return wl_err_prefix(e, "%s:%d: [%s] %s", p->path, s->line, s->name, faulty);
}

int wl_cmd_plan_read_sites(const struct wl_planner_plan *p, struct wl_cmd_plan_site **out, size_t *n,
                           struct wl_arena *a, struct wl_err *e)
{
    int rc = 0;
    *out = wl_new_array(a, struct wl_cmd_plan_site, p->sites.n);
    *n = p->sites.n;
    for (size_t i = 0; i < *n && rc == 0; i++) rc = read_site(p, p->sites.v[i], &(*out)[i], a, e);
    return rc;
}

/* Over all starts at a row of the file after which the training is covered. */
static void hours(const struct wl_carbon_intensity *g, double duration_s, struct wl_cmd_plan_bill *b)
{
    double sum = 0, n = 0;
    for (size_t i = 0; i < g->n; i++) {
        const double mean = wl_carbon_intensity_mean(g, g->t_ns[i], duration_s);
        if (isnan(mean)) continue;
        if (!b->best_start || mean < b->best_g) b->best_g = mean, b->best_start = g->t_ns[i];
        if (!b->worst_start || mean > b->worst_g) b->worst_g = mean, b->worst_start = g->t_ns[i];
        sum += mean;
        n++;
    }
    b->g_per_kwh = n ? sum / n : NAN;
}

static double or_zero(double v) { return isnan(v) ? 0 : v; }

struct wl_cmd_plan_bill wl_cmd_plan_bill_of(const struct wl_cmd_plan *c, const struct wl_cmd_plan_machine *m,
                                            const struct wl_planner_forecast *f, const struct wl_cmd_plan_site *site)
{
    const struct wl_planner_machine *machine = &c->plan->machines[m->machine];
    const double epochs = (double)c->plan->epochs, s = f->point.epoch_s * epochs;
    struct wl_cmd_plan_bill b = { .hours = s / S_PER_HOUR, .best_g = NAN, .worst_g = NAN };
    const bool priced = !isnan(machine->worker_hour_price) || !isnan(machine->node_hour_price);
    b.kwh = f->point.energy_j * epochs / J_PER_KWH * (site ? site->footprint.pue : 1);
    b.g_per_kwh = site ? site->footprint.carbon : NAN;
    if (site && site->footprint.intensity) hours(site->footprint.intensity, s, &b);
    b.carbon_g = b.kwh * b.g_per_kwh;
    b.energy_cost = site ? b.kwh * site->footprint.price : NAN;
    b.hour_cost = priced ? b.hours * (f->at.workers * or_zero(machine->worker_hour_price) +
                                      f->point.nodes * or_zero(machine->node_hour_price))
                         : NAN;
    b.currency = site ? site->footprint.currency : "EUR";
    return b;
}

/* Carbon and money of a training, by place and by hour. */
#include "cmd/wattlaw/plan/internal.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static const double J_PER_KWH = 3.6e6, S_PER_HOUR = 3600;

static const struct wl_opt rows[] = {
    WL_FOOTPRINT_OPT_ROWS(struct wl_cmd_plan_site, footprint),
    { .name = "price-csv",
      .type = WL_STR,
      .offset = offsetof(struct wl_cmd_plan_site, price_csv),
      .unit = "FILE",
      .help = "CSV file of the price of electricity over time, instead of price (default: none)" },
    WL_OPT_END,
};

const struct wl_opt *wl_cmd_plan_site_rows(void) { return rows; }

/* The prices of a file, whose column may name the currency. */
static int read_prices(const char *folder, struct wl_cmd_plan_site *s, struct wl_arena *a, struct wl_err *e)
{
    const char *currency = NULL, *given = s->footprint.currency;
    if (!s->price_csv) return 0;
    if (!isnan(s->footprint.price)) return wl_fail(e, WL_EINVAL, "a file replaces price: give one or the other");
    s->prices = wl_new(a, struct wl_grid_steps);
    s->price_csv = wl_path_join(a, folder, s->price_csv);
    int rc = wl_grid_price_read(s->price_csv, s->prices, &currency, a, e);
    if (rc) return rc;
    if (given && currency && !wl_str_eq(given, currency))
        return wl_fail(e, WL_EINVAL, "%s: the column '%s' is in %s: expected the currency of the site, %s",
                       s->price_csv, s->prices->column, currency, given);
    if (!given) s->footprint.currency = currency;
    return 0;
}

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
    const char *folder = wl_path_dir(a, p->path);
    rc = read_prices(folder, out, a, e);
    if (rc) return wl_err_prefix(e, "%s:%d: [%s] price_csv", p->path, s->line, s->name);
    if (out->footprint.carbon_csv) out->footprint.carbon_csv = wl_path_join(a, folder, out->footprint.carbon_csv);
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

/* All starts at a row of a file after which the training is covered. */
struct starts {
    bool any;
    double mean;
    int64_t least_ns, most_ns; /* where the least and the most are */
};

static struct starts starts_in(const struct wl_grid_steps *s, double duration_s)
{
    struct wl_arena *a = wl_arena_new(NULL);
    double *mean = wl_new_array(a, double, s->n), sum = 0;
    size_t n = 0, least = 0, most = 0;
    wl_grid_steps_means(s, duration_s, mean, a);
    for (size_t i = 0; i < s->n; i++) {
        if (isnan(mean[i])) continue;
        if (!n || mean[i] < mean[least]) least = i;
        if (!n || mean[i] > mean[most]) most = i;
        sum += mean[i];
        n++;
    }
    wl_arena_free(a);
    if (!n) return (struct starts) { .mean = NAN };
    return (struct starts) { true, sum / (double)n, s->t_ns[least], s->t_ns[most] };
}

/* What a training costs that starts then, in carbon and in money. */
static struct wl_cmd_plan_start start_at(const struct wl_cmd_plan_site *site, int64_t wall_ns, double duration_s)
{
    const struct wl_grid_steps *g = site->footprint.intensity ? &site->footprint.intensity->steps : NULL;
    struct wl_cmd_plan_start s = { true, wall_ns, site->footprint.carbon, site->footprint.price };
    if (g) s.g_per_kwh = wl_grid_steps_mean(g, wall_ns, duration_s);
    if (site->prices) s.price = wl_grid_steps_mean(site->prices, wall_ns, duration_s);
    return s;
}

/* Of what varies with time: the mean over all starts; the best and the worst of them stay unknown where there is none.
 */
static double choose_starts(const struct wl_cmd_plan_site *site, const struct wl_grid_steps *steps, double duration_s,
                            struct wl_cmd_plan_start *best, struct wl_cmd_plan_start *worst)
{
    const struct starts s = starts_in(steps, duration_s);
    if (!s.any) return NAN;
    *best = start_at(site, s.least_ns, duration_s);
    *worst = start_at(site, s.most_ns, duration_s);
    return s.mean;
}

static void bill_starts(const struct wl_cmd_plan_site *site, double duration_s, struct wl_cmd_plan_bill *b)
{
    if (site->footprint.intensity)
        b->g_per_kwh = choose_starts(site, &site->footprint.intensity->steps, duration_s, &b->cleanest, &b->dirtiest);
    if (site->prices) b->price = choose_starts(site, site->prices, duration_s, &b->cheapest, &b->dearest);
}

static double or_zero(double v) { return isnan(v) ? 0 : v; }

struct wl_cmd_plan_bill wl_cmd_plan_bill_of(const struct wl_cmd_plan *c, const struct wl_cmd_plan_machine *m,
                                            const struct wl_planner_forecast *f, const struct wl_cmd_plan_site *site)
{
    const struct wl_planner_machine *machine = &c->plan->machines[m->machine];
    const double epochs = (double)c->plan->epochs, s = f->point.epoch_s * epochs;
    const struct wl_cmd_plan_start none = { .g_per_kwh = NAN, .price = NAN };
    struct wl_cmd_plan_bill b = { .hours = s / S_PER_HOUR,
                                  .g_per_kwh = NAN,
                                  .price = NAN,
                                  .currency = "EUR",
                                  .cleanest = none,
                                  .dirtiest = none,
                                  .cheapest = none,
                                  .dearest = none };
    const bool priced = !isnan(machine->worker_hour_price) || !isnan(machine->node_hour_price);
    b.kwh = f->point.energy_j * epochs / J_PER_KWH * (site ? site->footprint.pue : 1);
    if (site) {
        b.g_per_kwh = site->footprint.carbon;
        b.price = site->footprint.price;
        b.currency = site->footprint.currency;
        bill_starts(site, s, &b);
    }
    b.carbon_g = b.kwh * b.g_per_kwh;
    b.energy_cost = b.kwh * b.price;
    b.hour_cost = priced ? b.hours * (f->at.workers * or_zero(machine->worker_hour_price) +
                                      f->point.nodes * or_zero(machine->node_hour_price))
                         : NAN;
    return b;
}

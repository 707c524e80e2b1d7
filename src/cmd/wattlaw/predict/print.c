#include "cmd/wattlaw/predict/internal.h"

#include "cmd/wattlaw/format.h"
#include "cmd/wattlaw/screen.h"

static enum wl_provenance provenance(const struct wl_cmd_predicted *p)
{
    return p->response == WL_LAW_ENERGY ? wl_provenance_of(p->group->estimated, p->group->simulated) : WL_MEASURED;
}

static const char *range_text(double lo, double hi, struct wl_arena *a)
{
    return wl_strf(a, "%s to %s", wl_number_text(lo, a), wl_number_text(hi, a));
}

static void print_forecasts(const struct wl_cmd_predicted *p, struct wl_arena *a)
{
    const char *unit = wl_law_response_unit(p->response);
    struct wl_table t = wl_table_new(a);
    wl_table_column(&t, "workers", true);
    wl_table_provenance_column(&t);
    wl_table_column(&t, wl_law_response_name(p->response), true);
    wl_table_column(&t, "95 % of new runs", false);
    wl_table_column(&t, "95 % of new configurations", false);
    for (size_t i = 0; i < p->n; i++) {
        const struct wl_law_forecast *f = &p->at[i];
        const struct wl_amount value = wl_amount_of(f->value, unit, provenance(p));
        wl_table_workers(&t, f->workers);
        wl_table_provenance(&t, provenance(p));
        wl_table_amount(&t, &value, 4);
        wl_table_cell(&t, range_text(f->lo, f->hi, a));
        wl_table_cell(&t, range_text(f->config_lo, f->config_hi, a));
        wl_table_row(&t);
    }
    wl_table_print(&t, WL_STDOUT, wl_out_width(WL_STDOUT));
}

static void print_words(const struct wl_cmd_predicted *p, bool shortened, struct wl_arena *a)
{
    for (size_t i = 0; i < p->n; i++) {
        const struct wl_law_forecast *f = &p->at[i];
        wl_print("  N = %-6g %s\n", f->workers, f->reach);
        if (f->narrower < 0.9)
            wl_print("             a measurement at %g workers would narrow it most: to about %.0f %% of its width\n",
                     f->measure_at, 100 * f->narrower);
    }
    if (p->group->scaling == WL_SCALING_WEAK)
        wl_print("  work       %s %s has %s in proportion to the workers\n", p->group->work ? "a" : "an",
                 p->group->work ? p->group->work->one : "epoch", p->group->counted);
    if (!shortened)
        wl_print("  scatter    configurations %s %%, runs %s %% (standard deviations in the posterior)\n",
                 wl_format_percent(p->posterior.fit.tau, a), wl_format_percent(p->posterior.fit.sigma, a));
    for (size_t i = 0; i < p->posterior.notes.n; i++) wl_print("  note       %s\n", p->posterior.notes.v[i]);
}

/* What the formulas of the curves give: a unit of work takes t(N) / N where the work grows with the workers, and its
 * energy is E(N) / N where it does not. */
static const char *of_formulas(const struct wl_cmd_predicted *p, struct wl_arena *a)
{
    const double growth = p->posterior.growth;
    return wl_strf(a, "%s(N)%s", wl_law_response_symbol(p->response),
                   growth == 0   ? ""
                   : growth == 1 ? " / N"
                                 : " / N^2");
}

static void print_families(const struct wl_cmd_predicted *p, struct wl_arena *a)
{
    struct wl_table t = wl_table_new(a);
    wl_table_column(&t, "curve", false);
    wl_table_column(&t, of_formulas(p, a), false);
    wl_table_column(&t, "prior", true);
    wl_table_column(&t, "weight", true);
    for (size_t i = 0; i < p->n; i++) wl_table_column(&t, wl_strf(a, "at %g", p->at[i].workers), true);
    wl_table_column(&t, "", false);
    for (size_t k = 0; k < p->at[0].n_families; k++) {
        const struct wl_law_forecast_family *f = &p->at[0].families[k];
        wl_table_cell(&t, f->name);
        wl_table_cell(&t, f->formula);
        wl_table_cell(&t, wl_strf(a, "%.2f", f->prior));
        wl_table_cell(&t, f->reason ? NULL : wl_strf(a, "%.2f", f->weight));
        for (size_t i = 0; i < p->n; i++) wl_table_real(&t, p->at[i].families[k].value, 4);
        wl_table_cell(&t, f->reason ? f->reason : "");
        wl_table_row(&t);
    }
    wl_print("\n");
    wl_table_print(&t, WL_STDOUT, wl_out_width(WL_STDOUT));
}

/* The families of the power of a worker with their weights: "flat 0.52, slope 0.3, idle 0.18". */
static const char *power_families(const struct wl_hier_fit *power, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    for (size_t f = 0; f < WL_HIER_FAMILIES; f++)
        if (!power->reason[f]) wl_text_addf(&t, "%s%s %.2f", t.n ? ", " : "", wl_hier_family_name(f), power->weight[f]);
    return t.s;
}

static void estimate_cells(struct wl_table *t, const struct wl_estimate *v, struct wl_arena *a)
{
    wl_table_real(t, v->value, 4);
    wl_table_cell(t, range_text(v->lo, v->hi, a));
}

/* Energy as workers x power of a worker x time. */
static void print_parts(const struct wl_cmd_predicted *p, struct wl_arena *a)
{
    static const char *const heads[] = { "time_s", "power_w of one", "energy_j" };
    if (!p->by_parts) {
        if (p->parts.reason) wl_print("  by parts   none: %s\n", p->parts.reason);
        return;
    }
    struct wl_table t = wl_table_new(a);
    wl_table_column(&t, "workers", true);
    for (size_t i = 0; i < WL_COUNT(heads); i++) {
        if (i == 1) wl_table_provenance_column(&t);
        wl_table_column(&t, heads[i], true);
        wl_table_column(&t, "95 %", false);
    }
    for (size_t i = 0; i < p->n; i++) {
        wl_table_real(&t, p->at[i].workers, 0);
        estimate_cells(&t, &p->by_parts[i].time_s, a);
        wl_table_provenance(&t, provenance(p));
        estimate_cells(&t, &p->by_parts[i].power_w, a);
        estimate_cells(&t, &p->by_parts[i].energy_j, a);
        wl_table_row(&t);
    }
    wl_print("\nby parts: workers x power of one x time, an explanation (correlation of their residuals %.2f)\n",
             p->parts.correlation);
    wl_table_print(&t, WL_STDOUT, wl_out_width(WL_STDOUT));
    wl_print("  power      %s\n", power_families(&p->parts.power, a));
}

void wl_cmd_predicted_print(const struct wl_cmd_predicted *p, bool first, bool all, struct wl_arena *a)
{
    wl_print(first ? "%s%s%s%s\n" : "\n%s%s%s%s\n", p->group->title, p->group->simulated ? " (simulated)" : "",
             p->group->estimated ? " (estimated)" : "", wl_law_per_work_text(p->group->work, a));
    if (p->posterior.refusal) {
        wl_print("  refused    %s\n", p->posterior.refusal);
        return;
    }
    print_forecasts(p, a);
    wl_print("\n");
    const bool shortened = wl_screen_is_short(all);
    print_words(p, shortened, a);
    if (p->figure) wl_print("  figure     %s\n", p->figure);
    if (shortened) return;
    print_families(p, a);
    print_parts(p, a);
}

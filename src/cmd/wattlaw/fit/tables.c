/* The tables of a group: its worker counts, and the curves by least squares. */
#include "cmd/wattlaw/fit/internal.h"

#include "cmd/wattlaw/format.h"
#include "cmd/wattlaw/screen.h"

#include <math.h>

/* What the hierarchical model gives for other runs and other configurations; empty where it is refused. */
static void new_run_cells(struct wl_table *t, const struct wl_law_curves *curves, size_t i, struct wl_arena *a)
{
    const struct wl_law_curves_at *at = i < curves->n ? &curves->at[i] : NULL;
    wl_table_cell(t, at ? wl_format_range(at->run.lo, at->run.hi, a) : NULL);
    wl_table_cell(t, at ? wl_format_range(at->config.lo, at->config.hi, a) : NULL);
}

void wl_fit_print_worker_counts(const struct wl_law_group *g, const struct wl_law_curves *curves,
                                enum wl_law_response response, bool all, struct wl_arena *a)
{
    static const char *const spare[] = {
        "95 % of new configurations", "95 % of new runs", "95 % of it", "energy ratio", "rows", "epochs", "law"
    };
    struct wl_table t = wl_table_new(a);
    const char *const counts[] = { "workers", "runs", g->work ? "rows" : "epochs" };
    for (size_t i = 0; i < WL_COUNT(counts); i++) wl_table_column(&t, counts[i], true);
    const bool joules = response == WL_LAW_ENERGY;
    if (joules) wl_table_provenance_column(&t);
    wl_table_real_column(&t, wl_law_response_name(response), 4);
    wl_table_column(&t, "95 % of new runs", true);
    wl_table_column(&t, "95 % of new configurations", true);
    wl_table_real_column(&t, "law", 4);
    wl_table_real_column(&t, "speed-up", 4);
    wl_table_column(&t, "95 % of it", true);
    wl_table_real_column(&t, "efficiency", 4);
    if (!joules) wl_table_provenance_column(&t);
    if (joules)
        wl_table_unit_column(&t, "time_s", "time", "s", 4);
    else
        wl_table_unit_column(&t, "energy_j", "energy", "J", 4);
    wl_table_real_column(&t, "energy ratio", 3);
    for (size_t i = 0; i < g->n_configs; i++) {
        const struct wl_law_config *c = &g->configs[i];
        wl_table_workers(&t, c->workers);
        wl_table_int(&t, (double)c->runs);
        wl_table_int(&t, (double)c->epochs);
        const enum wl_provenance from = wl_fit_provenance(g);
        const struct wl_amount energy = wl_amount_of(c->energy_j, "J", from),
                               shown = wl_amount_of(c->response, "J", joules ? from : WL_MEASURED),
                               law = { c->fitted, c->fitted_lo, c->fitted_hi, "J", shown.from };
        if (joules) wl_table_provenance(&t, from);
        wl_table_amount(&t, &shown, 0);
        new_run_cells(&t, curves, i, a);
        wl_table_amount(&t, &law, 0);
        wl_table_aligned(&t, c->speedup.value);
        wl_table_cell(&t, wl_format_range(c->speedup.lo, c->speedup.hi, a));
        wl_table_aligned(&t, c->efficiency);
        if (joules) {
            wl_table_aligned(&t, c->time_s);
        } else {
            wl_table_provenance(&t, isnan(c->energy_j) ? WL_MEASURED : from);
            wl_table_amount(&t, &energy, 0);
        }
        wl_table_aligned(&t, c->energy_ratio.value);
        wl_table_row(&t);
    }
    wl_table_spare(&t, spare, WL_COUNT(spare));
    wl_screen_table(&t, all);
}

static const struct wl_law_model *power_of(const struct wl_law_group *g)
{
    for (size_t i = 0; i < g->n_models; i++)
        if (g->models[i].ranked && wl_str_eq(g->models[i].name, "power")) return &g->models[i];
    return NULL;
}

/* The curve with the best AICc, whether the runs decide at all, and which one forecasts held-out worker counts best. */
static void print_best_by_aicc(const struct wl_law_group *g)
{
    const struct wl_law_model *best = g->best_model, *predictor = g->best_predictor, *power = power_of(g);
    size_t rivals = 0; /* within 2 of the best AICc (Burnham and Anderson 2002) */
    if (!best) return;
    for (size_t i = 0; i < g->n_models; i++)
        rivals += g->models[i].ranked && &g->models[i] != best && g->models[i].aicc - best->aicc <= 2;
    wl_print("  AICc       %s, t = %s, is best (weight %.2f", best->name, best->formula, best->weight);
    if (power && power != best) wl_print("; power law %.1f higher", power->aicc - best->aicc);
    wl_print("%s\n", rivals ? "), but the runs do not decide: other curves are within 2" : ")");
    if (predictor)
        wl_print("  held out   %s forecasts larger worker counts from smaller ones best, %.1f %% off\n",
                 predictor->name, predictor->llo_pct);
}

void wl_fit_print_models(const struct wl_law_group *g, const struct wl_law_curves *curves, bool all, struct wl_arena *a)
{
    struct wl_table t = wl_table_new(a);
    const char *const heads[] = { "curve", "t(N)", "parameters", "AICc - best", "weight", "% off at larger N" };
    if (!g->best_model) return;
    for (size_t i = 0; i < WL_COUNT(heads); i++) wl_table_column(&t, heads[i], i > 2);
    for (size_t i = 0; i < g->n_models; i++) {
        const struct wl_law_model *m = &g->models[i];
        struct wl_text values = WL_TEXT(a);
        for (size_t j = 0; m->ranked && j < m->k; j++)
            wl_text_addf(&values, "%s%s = %.4g", j ? ", " : "", m->param[j], m->value[j]);
        wl_table_cell(&t, m->name);
        wl_table_cell(&t, m->formula);
        wl_table_cell(&t, m->ranked ? values.s : m->reason);
        if (m->ranked) {
            wl_table_cellf(&t, "%.1f", m->aicc - g->best_model->aicc);
            wl_table_cellf(&t, "%.2f", m->weight);
            wl_table_real(&t, m->llo_pct, 3);
        }
        wl_table_row(&t);
    }
    wl_print(
        "\nfor comparison: the curves by least squares over runs, as if runs of one worker count were independent\n");
    wl_screen_table(&t, all);
    print_best_by_aicc(g);
    wl_curves_print_usl(curves);
}

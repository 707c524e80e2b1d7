#include "cmd/wattlaw/curves.h"

#include "cmd/wattlaw/format.h"

#include <math.h>

static const double least_named = 0.01; /* posterior weight of a curve that is named */

static const struct wl_law_curve_weight *best_of(const struct wl_law_curves *c)
{
    const struct wl_law_curve_weight *best = NULL;
    for (size_t f = 0; f < c->n_families; f++)
        if (!c->families[f].reason && (!best || c->families[f].weight > best->weight)) best = &c->families[f];
    return best;
}

static const char *others_text(const struct wl_law_curves *c, const struct wl_law_curve_weight *best,
                               struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    for (size_t f = 0; f < c->n_families; f++) {
        const struct wl_law_curve_weight *w = &c->families[f];
        if (w != best && w->weight >= least_named) wl_text_addf(&t, "%s%s %.2f", t.n ? ", " : "; ", w->name, w->weight);
    }
    return t.n ? t.s : "";
}

/* Families that are left out for the same reason share a line. */
static void print_left_out(const struct wl_law_curves *c, struct wl_arena *a)
{
    bool named[WL_HIER_FAMILIES] = { false };
    for (size_t f = 0; f < c->n_families; f++) {
        struct wl_text t = WL_TEXT(a);
        if (!c->families[f].reason || named[f]) continue;
        for (size_t k = f; k < c->n_families; k++) {
            if (!wl_str_eq(c->families[k].reason, c->families[f].reason)) continue;
            wl_text_addf(&t, "%s%s", t.n ? ", " : "", c->families[k].name);
            named[k] = true;
        }
        wl_print("  left out   %s: %s\n", t.s, c->families[f].reason);
    }
}

/* What the curves describe: "t", "t/N" where the work of an epoch grows with the workers, "E/N". */
static const char *symbol_text(const struct wl_law_curves *c, const char *symbol, struct wl_arena *a)
{
    if (!(c->growth > 0)) return symbol;
    return c->growth == 1 ? wl_strf(a, "%s/N", symbol) : wl_strf(a, "%s/N^%g", symbol, c->growth);
}

static const char *exponent_text(const struct wl_law_curves_at *at, struct wl_arena *a)
{
    return wl_strf(a, "%.3f (%.3f to %.3f) at N = %g", at->exponent.value, at->exponent.lo, at->exponent.hi,
                   at->workers);
}

void wl_curves_print(const struct wl_law_curves *c, const char *symbol, struct wl_arena *a)
{
    const struct wl_law_curve_weight *best = best_of(c);
    if (c->refusal || !best) return;
    wl_print("  curve      %s, %s = %s, has the posterior weight %.2f%s\n", best->name, symbol_text(c, symbol, a),
             best->formula, best->weight, others_text(c, best, a));
    wl_print("  exponent   beta %s, %s, over all curves (95 %%)\n", exponent_text(&c->at[0], a),
             exponent_text(&c->at[c->n - 1], a));
    if (!isnan(c->beta.value))
        wl_print("  power law  beta %.3f (%.3f to %.3f) given that curve\n", c->beta.value, c->beta.lo, c->beta.hi);
    wl_print("  scatter    configurations %s %%, runs %s %% (standard deviations in the posterior)\n",
             wl_format_percent(c->configuration_sd, a), wl_format_percent(c->run_sd, a));
    print_left_out(c, a);
}

static void range_cells(struct wl_table *t, const struct wl_estimate *v, struct wl_arena *a)
{
    wl_table_cell(t, wl_format_range(v->lo, v->hi, a));
}

void wl_curves_print_usl(const struct wl_law_curves *c)
{
    const struct wl_usl *u = &c->usl;
    if (c->refusal || c->no_usl) return;
    wl_print("  USL        X = %.4g N / (1 + %.3g (N-1) + %.3g N (N-1)) %s, least squares of the throughput", u->gamma,
             u->sigma, u->kappa, c->usl_unit);
    if (!isnan(u->peak_workers)) wl_print(": %.4g at its peak, N = %.3g", u->peak, u->peak_workers);
    wl_print("\n");
}

void wl_curves_print_table(const struct wl_law_curves *c, enum wl_law_response response, enum wl_provenance from,
                           struct wl_arena *a)
{
    struct wl_table t = wl_table_new(a);
    if (c->refusal) return;
    wl_table_column(&t, "workers", true);
    wl_table_provenance_column(&t);
    wl_table_real_column(&t, wl_law_response_name(response), 4);
    wl_table_column(&t, "95 % of the curve", true);
    wl_table_column(&t, "95 % of new configurations", true);
    wl_table_column(&t, "95 % of new runs", true);
    for (size_t i = 0; i < c->n; i++) {
        const struct wl_law_curves_at *at = &c->at[i];
        const struct wl_amount value = wl_amount_of(at->curve.value, wl_law_response_unit(response), from);
        wl_table_real(&t, at->workers, 0);
        wl_table_provenance(&t, from);
        wl_table_amount(&t, &value, 0);
        range_cells(&t, &at->curve, a);
        range_cells(&t, &at->config, a);
        range_cells(&t, &at->run, a);
        wl_table_row(&t);
    }
    wl_table_print(&t, WL_STDOUT, wl_out_width(WL_STDOUT));
}

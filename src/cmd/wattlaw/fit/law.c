/* The law of a group as text: the law in a few lines, and how well it fits. */
#include "cmd/wattlaw/fit/internal.h"

#include "cmd/wattlaw/format.h"

#include <math.h>

static const char *basis(const struct wl_law_estimate *e)
{
    return wl_str_eq(e->name, "run_means") ? "means of runs" : "means of worker counts";
}

static void print_exponent(const struct wl_law_estimate *law)
{
    int d = wl_format_decimals(law->beta_se);
    wl_print("  beta       %.*f", d, law->beta);
    if (isnan(law->beta_lo))
        wl_print(", no error estimate\n");
    else
        wl_print(", 95 %% interval %.*f to %.*f\n", d, law->beta_lo, d, law->beta_hi);
}

/* The basis of the interval, and the interval on the other basis: over runs or over means of worker counts. */
static void print_error(const struct wl_law_group *g, struct wl_arena *a)
{
    const struct wl_law_estimate *law = g->law;
    const struct wl_law_estimate *other = &g->estimates[law == g->estimates ? WL_LAW_CONFIG_MEANS : WL_LAW_RUN_MEANS];
    int d = wl_format_decimals(law->beta_se);
    if (isnan(law->beta_lo)) return;
    wl_print("  error      standard error of beta %.*f, %g degree%s of freedom, over %s\n", d, law->beta_se, law->df,
             law->df == 1 ? "" : "s", basis(law));
    if (!isnan(other->beta_lo) && g->n_runs > g->n_configs)
        wl_print("  narrower   %.*f, %.*f to %.*f, over %s\n", d, other->beta, d, other->beta_lo, d, other->beta_hi,
                 basis(other));
    if (!isnan(law->p_beta)) wl_print("  against 0  %s\n", wl_format_p(law->p_beta, a));
}

/* Time shrinks and is divided, energy grows and is multiplied. */
static void print_doubling(const struct wl_law_group *g, enum wl_law_response response)
{
    const bool is_speedup = response != WL_LAW_ENERGY && g->scaling != WL_SCALING_WEAK;
    const double factor = pow(2, is_speedup ? g->law->beta : -g->law->beta);
    char text[32];
    snprintf(text, sizeof text, "%.3g", factor);
    const bool is_one = wl_str_eq(text, "1");
    if (g->scaling == WL_SCALING_MIXED)
        wl_print("not a speed-up, since the work of %s differs\n", g->work ? "a step" : "an epoch");
    else if (response == WL_LAW_ENERGY && is_one)
        wl_print("twice the workers take as much energy\n");
    else if (response == WL_LAW_ENERGY)
        wl_print("twice the workers take %s times the energy\n", text);
    else if (g->scaling == WL_SCALING_WEAK && is_one)
        wl_print("twice the workers on twice the work take as long, which is ideal\n");
    else if (g->scaling == WL_SCALING_WEAK)
        wl_print("twice the workers on twice the work take %s times as long (ideal: 1)\n", text);
    else if (is_one)
        wl_print("twice the workers are not faster (ideal: 2 times as fast)\n");
    else
        wl_print("twice the workers are %s times as fast (ideal: 2)\n", text);
}

enum wl_provenance wl_fit_provenance(const struct wl_law_group *g)
{
    return wl_provenance_of(g->estimated, g->simulated);
}

enum wl_style wl_fit_style(enum wl_law_verdict v)
{
    return v == WL_LAW_SUPPORTED ? WL_GOOD : v == WL_LAW_REJECTED ? WL_BAD : WL_CAUTION;
}

/* "0.12 µJ/token at N = 1, 0.2 µJ/token at N = 64 (measured means)" */
static void print_each(const struct wl_law_group *g, struct wl_arena *a)
{
    const struct wl_law_config *ends[] = { &g->configs[0], &g->configs[g->n_configs - 1] };
    wl_print("  each       ");
    for (size_t i = 0; i < WL_COUNT(ends); i++) {
        const struct wl_amount all = wl_amount_of(ends[i]->response, "J", wl_fit_provenance(g)),
                               one = wl_amount_times(&all, 1 / g->work->n, "J");
        wl_print("%s%s per %s at N = %g", i ? ", " : "", wl_amount_text(&one, a), g->work->one, ends[i]->workers);
    }
    wl_print("\n");
}

void wl_fit_print_law(const struct wl_law_group *g, enum wl_law_response response, struct wl_arena *a)
{
    const char *mark = wl_provenance_mark(response == WL_LAW_ENERGY ? wl_fit_provenance(g) : WL_MEASURED);
    wl_print("  law        ");
    wl_fprint_in(WL_STDOUT, WL_ANSWER, "%s = %s %s%s x N^%.*f", wl_law_response_symbol(response),
                 wl_number_text(g->law->alpha, a), wl_law_response_unit(response), mark,
                 wl_format_decimals(g->law->beta_se), -g->law->beta + 0.0);
    wl_print(" for N = %g to %g workers: ", g->configs[0].workers, g->configs[g->n_configs - 1].workers);
    print_doubling(g, response);
    if (response == WL_LAW_ENERGY && g->work) print_each(g, a);
    print_exponent(g->law);
    wl_print("  power law? ");
    wl_fprint_in(WL_STDOUT, wl_fit_style(g->verdict), "%s", wl_law_verdict_name(g->verdict));
    wl_print(": %s\n", g->verdict_reason);
}

static void print_fit_quality(const struct wl_law_estimate *law, struct wl_arena *a)
{
    if (isnan(law->r2)) return;
    wl_print("  R2         %.4f (adjusted %.4f)", law->r2, law->r2_adj);
    double scatter = 100 * (exp(law->sigma) - 1);
    if (scatter > 0)
        wl_print("; scatter about the line %s %%",
                 scatter < 10 ? wl_strf(a, "%.1f", scatter) : wl_number_text(rint(scatter), a));
    wl_print("\n");
}

static void print_bend(const struct wl_law_result *r, const struct wl_law_group *g, struct wl_arena *a)
{
    const struct wl_law_config *first = g->configs, *last = &g->configs[g->n_configs - 1];
    if (isnan(g->quadratic.p)) return;
    wl_print("  bend       beta %.3f at N = %g, %.3f at N = %g: log-quadratic %s", first->local_beta, first->workers,
             last->local_beta, last->workers, wl_format_p(g->quadratic.p, a));
    if (r->n > 1) wl_print(", %s adjusted over %zu groups", wl_format_p(g->quadratic.p_bh, a), r->n);
    wl_print("%s\n", g->quadratic.p < 0.05 ? "" : ", not a clear bend");
}

static void print_break(const struct wl_law_group *g, struct wl_arena *a)
{
    const struct wl_law_breakpoint *b = &g->breakpoint;
    if (!(b->p < 0.05)) return;
    if (!b->compared) {
        wl_print("  break      not judged: it needs %d worker counts on each side of N = %.3g, here %zu and %zu\n",
                 WL_LAW_BREAK_SIDE, b->workers, b->before, b->after);
        return;
    }
    wl_print("  break      at N = %.3g (95 %% interval %.3g to %.3g): beta %.3f before, %.3f after, %s\n", b->workers,
             b->lo, b->hi, b->beta1, b->beta2, wl_format_p(b->p, a));
}

static void print_departures(const struct wl_law_group *g, struct wl_arena *a)
{
    for (size_t i = 0; i < g->n_departures; i++) {
        const struct wl_law_departure *d = &g->departures[i];
        if (!(d->p_holm < 0.05)) continue;
        wl_print("  departure  %+.1f %% at %g workers from the law up to %g (Holm's %s)\n", d->excess_pct, d->workers,
                 g->departure_base, wl_format_p(d->p_holm, a));
    }
}

static void print_shape(const struct wl_law_result *r, const struct wl_law_group *g, struct wl_arena *a)
{
    const struct wl_lack_of_fit *l = &g->lack_of_fit;
    if (!isnan(l->p))
        wl_print("  curvature  lack of fit F(%g, %g) = %.3g, %s: %s\n", l->df1, l->df2, l->f, wl_format_p(l->p, a),
                 l->p < 0.05 ? "worker counts are off the line by more than repeats explain" : "none seen");
    print_bend(r, g, a);
    print_break(g, a);
    print_departures(g, a);
}

void wl_fit_print_quality(const struct wl_law_result *r, const struct wl_law_group *g, struct wl_arena *a)
{
    print_error(g, a);
    print_fit_quality(g->law, a);
    print_shape(r, g, a);
}

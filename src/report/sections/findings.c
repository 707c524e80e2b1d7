/* Key findings on laws and configurations, in sentences. */
#include "report/sections/sections.h"

#include <math.h>
#include <stdlib.h>

static char *number(double v, struct wl_arena *a) { return wl_significant_digits(a, v, 3); }

static const char *plural(double workers) { return workers == 1 ? "" : "s"; }

static const char *energy_kind(const struct wl_law_group *law)
{
    return law->simulated ? "simulated energy" : law->estimated ? "estimated energy" : "energy";
}

/* "the time of one epoch scales as workers^-beta, beta 0.83 (95 % interval 0.80 to 0.86)": of one sign, that of beta,
 * everywhere. */
static void put_law(const struct wl_report_data *g, const struct wl_law_group *law, struct wl_text *to)
{
    if (!law->law) {
        wl_text_add(to, law->no_law_reason);
        return;
    }
    const struct wl_law_estimate *best = law->law;
    wl_text_addf(to, "the time of %s scales as workers^-beta, beta %s", wl_report_data_one_span(g),
                 number(best->beta, g->arena));
    if (isfinite(best->beta_lo))
        wl_text_addf(to, " (95 %% interval %s to %s)", number(best->beta_lo, g->arena),
                     number(best->beta_hi, g->arena));
    else
        wl_text_add(to, " (no error estimate)");
    if (best->beta_lo <= 0 && best->beta_hi >= 0)
        wl_text_add(to, ", which is not significantly different from no speedup");
    if (law->verdict == WL_LAW_REJECTED) {
        const struct wl_law_config *first = &law->configs[0], *last = &law->configs[law->n_configs - 1];
        wl_text_addf(to, "; the points curve, so it is not a power law: beta is %s at %.15g worker%s and %s at %.15g",
                     number(first->local_beta, g->arena), first->workers, plural(first->workers),
                     number(last->local_beta, g->arena), last->workers);
    }
}

/* "5.6 times as fast"; "as fast" where it would be 1 time. */
static const char *multiple(double ratio, const char *of, const char *if_one, struct wl_arena *a)
{
    const char *text = number(ratio, a);
    return strtod(text, NULL) == 1 ? if_one : wl_strf(a, "%s times %s", text, of);
}

/* "; 8 workers are 5.6 times as fast as 1 worker (70 % of ideal), at 1.2 times the energy" */
static void put_speedup(const struct wl_report_data *g, const struct wl_law_group *law, struct wl_text *to)
{
    if (law->n_configs < 2) return;
    const struct wl_law_config *first = &law->configs[0], *last = &law->configs[law->n_configs - 1];
    if (!isfinite(last->speedup.value)) return;
    wl_text_addf(to, "; %.15g workers are %s as %.15g worker%s (%s %% of ideal)", last->workers,
                 multiple(last->speedup.value, "as fast", "as fast", g->arena), first->workers, plural(first->workers),
                 number(100 * last->efficiency, g->arena));
    if (isfinite(last->energy_ratio.value))
        wl_text_addf(to, ", at %s %s", multiple(last->energy_ratio.value, "the", "the same", g->arena),
                     energy_kind(law));
}

static void group_finding(const struct wl_report_data *g, const struct wl_report_group *group, struct wl_document *d)
{
    struct wl_text text = WL_TEXT(g->arena);
    wl_text_addf(&text, "%s: ", group->name);
    put_law(g, group->law, &text);
    put_speedup(g, group->law, &text);
    wl_text_add(&text, ".");
    wl_strs_add(g->arena, &d->findings, text.s);
}

/* The fastest configuration and the one that needs least energy, where all groups are of one workload. */
static void best_finding(const struct wl_report_data *g, struct wl_document *d)
{
    const struct wl_law_config *fastest = NULL, *frugal = NULL;
    const struct wl_report_group *of_fastest = NULL, *of_frugal = NULL;
    for (size_t i = 0; i < g->n_groups; i++) {
        const struct wl_report_group *group = &g->groups[i];
        if (!wl_str_eq(group->workload, g->groups[0].workload)) return; /* epochs of different work */
        for (size_t k = 0; k < group->law->n_configs; k++) {
            const struct wl_law_config *c = &group->law->configs[k];
            if (isfinite(c->time_s) && (!fastest || c->time_s < fastest->time_s)) fastest = c, of_fastest = group;
            if (isfinite(c->energy_j) && (!frugal || c->energy_j < frugal->energy_j)) frugal = c, of_frugal = group;
        }
    }
    if (!fastest) return;
    struct wl_text text = WL_TEXT(g->arena);
    wl_text_addf(&text, "%s %s: %s s, %s with %.15g worker%s.", g->work ? "Least time of" : "Fastest", g->span,
                 wl_significant_digits(g->arena, fastest->time_s, 4), of_fastest->name, fastest->workers,
                 plural(fastest->workers));
    if (frugal)
        wl_text_addf(&text, " Least %s: %s, %s with %.15g worker%s.", energy_kind(of_frugal->law),
                     wl_human(g->arena, frugal->energy_j, "J"), of_frugal->name, frugal->workers,
                     plural(frugal->workers));
    wl_strs_add(g->arena, &d->findings, text.s);
}

/* Of a store with one finished run: what it took. */
static void run_finding(const struct wl_report_data *g, struct wl_document *d)
{
    const struct wl_run_row *run = NULL;
    for (size_t i = 0; i < g->runs.n; i++) {
        if (g->runs.v[i].status != WL_RUN_DONE) continue;
        if (run) return;
        run = &g->runs.v[i];
    }
    if (!run || !(run->time_s > 0)) return;
    struct wl_text text = WL_TEXT(g->arena);
    wl_text_addf(&text, "Run %s took %s", wl_report_data_run_name(g, run->id), wl_human_time(g->arena, run->time_s));
    const struct wl_amount energy =
        wl_amount_between(run->energy_j, run->energy_lo_j, run->energy_hi_j, "J", wl_run_provenance(run));
    if (isfinite(energy.value)) wl_text_addf(&text, " and %s", wl_amount_text(&energy, g->arena));
    wl_text_add(&text, ".");
    wl_strs_add(g->arena, &d->findings, text.s);
}

/* Groups with a law first. */
static size_t group_findings(const struct wl_report_data *g, size_t from, size_t n, struct wl_document *d)
{
    enum { MAX_FINDINGS = 8 };
    size_t reported = 0;
    for (int with_law = 1; with_law >= 0; with_law--)
        for (size_t i = from; i < from + n && reported < MAX_FINDINGS; i++) {
            if ((g->groups[i].law->law != NULL) != with_law) continue;
            group_finding(g, &g->groups[i], d);
            reported++;
        }
    return reported;
}

void wl_report_add_findings(const struct wl_report_data *g, struct wl_document *d)
{
    const size_t from = g->n_drawn > g->n_groups ? g->n_groups : 0, n = g->n_drawn - from;
    run_finding(g, d);
    const size_t reported = group_findings(g, from, n, d);
    if (from > 0 || reported < n)
        wl_strs_add(g->arena, &d->findings, wl_strf(g->arena, "The tables hold all %zu groups.", g->n_groups));
    best_finding(g, d);
}

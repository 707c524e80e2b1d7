/* Key findings: what the laws and the configurations say, in sentences. */
#include "report/gather.h"

#include <math.h>

static char *number(double v, struct wl_arena *a) { return wl_digits(a, v, 3); }

static char *interval(double lo, double hi, struct wl_arena *a)
{
    return isfinite(lo) && isfinite(hi) ? wl_strf(a, " (95 %% interval %s to %s)", number(lo, a), number(hi, a)) : wl_strdup(a, "");
}

static const char *plural(double workers) { return workers == 1 ? "" : "s"; }

/* "resnet50: the time of an epoch falls as workers^-0.83 (...), measured from 1 to 8 workers." */
static void law_finding(const struct wl_gathered *g, const struct wl_report_group *group, struct wl_document *d)
{
    const struct wl_law_group *law = group->law;
    if (law->refused) {
        wl_strs_add(g->arena, &d->findings, wl_strf(g->arena, "%s: no law. %s", law->title, law->refused));
        return;
    }
    double first = law->configs[0].workers, last = law->configs[law->n_configs - 1].workers;
    bool grows = law->law->beta < 0;
    char *exponent = number(fabs(law->law->beta), g->arena);
    char *range = grows ? interval(-law->law->beta_hi, -law->law->beta_lo, g->arena)
                        : interval(law->law->beta_lo, law->law->beta_hi, g->arena);
    const char *unsure = isnan(law->law->beta_se) ? ", without an error estimate" : "";
    wl_strs_add(g->arena, &d->findings,
                wl_strf(g->arena, "%s: from %.15g to %.15g workers the time of one %s %s with the power %s of the workers%s%s.",
                        law->title, first, last, wl_gathered_span(g), grows ? "grows" : "falls", exponent, range, unsure));
}

/* "8 workers are 5.6 times as fast as 1 worker, at 1.2 times the energy." */
static void speedup_finding(const struct wl_gathered *g, const struct wl_report_group *group, struct wl_document *d)
{
    const struct wl_law_group *law = group->law;
    if (law->n_configs < 2) return;
    const struct wl_law_config *first = &law->configs[0], *last = &law->configs[law->n_configs - 1];
    if (!isfinite(last->speedup.value)) return;
    struct wl_text text = WL_TEXT(g->arena);
    wl_text_addf(&text, "%s: %.15g workers are %s times as fast as %.15g worker%s", law->title, last->workers,
                 number(last->speedup.value, g->arena), first->workers, plural(first->workers));
    if (isfinite(last->efficiency)) wl_text_addf(&text, ", %s %% of ideal", number(100 * last->efficiency, g->arena));
    if (isfinite(last->energy_ratio.value))
        wl_text_addf(&text, ", with %s times the %senergy", number(last->energy_ratio.value, g->arena),
                     law->simulated ? "simulated " : law->estimated ? "estimated " : "");
    wl_text_add(&text, ".");
    wl_strs_add(g->arena, &d->findings, text.s);
}

/* The fastest configuration and the one that needs least energy, over groups of one workload or none. */
static void best_finding(const struct wl_gathered *g, struct wl_document *d)
{
    const struct wl_law_config *fastest = NULL, *frugal = NULL;
    const struct wl_law_group *of_fastest = NULL, *of_frugal = NULL;
    for (size_t i = 0; i < g->law.n; i++) {
        if (!wl_streq(g->groups[i].workload, g->groups[0].workload)) return; /* epochs of different work */
        const struct wl_law_group *law = g->groups[i].law;
        for (size_t k = 0; k < law->n_configs; k++) {
            const struct wl_law_config *c = &law->configs[k];
            if (isfinite(c->time_s) && (!fastest || c->time_s < fastest->time_s)) fastest = c, of_fastest = law;
            if (isfinite(c->energy_j) && (!frugal || c->energy_j < frugal->energy_j)) frugal = c, of_frugal = law;
        }
    }
    const char *span = wl_gathered_span(g);
    if (!fastest) return;
    wl_strs_add(g->arena, &d->findings,
                wl_strf(g->arena, "Fastest: %s with %.15g worker%s, %s s for one %s.", of_fastest->title, fastest->workers,
                        plural(fastest->workers), wl_digits(g->arena, fastest->time_s, 4), span));
    if (!frugal) return;
    wl_strs_add(g->arena, &d->findings,
                wl_strf(g->arena, "Least %senergy: %s with %.15g worker%s, %s for one %s.",
                        of_frugal->simulated ? "simulated " : of_frugal->estimated ? "estimated " : "", of_frugal->title,
                        frugal->workers, plural(frugal->workers), wl_human(g->arena, frugal->energy_j, "J"), span));
}

void wl_add_findings(const struct wl_gathered *g, struct wl_document *d)
{
    enum { MOST_GROUPS = 8 };
    for (size_t i = 0; i < g->law.n && i < MOST_GROUPS; i++) {
        law_finding(g, &g->groups[i], d);
        speedup_finding(g, &g->groups[i], d);
    }
    if (g->law.n > MOST_GROUPS)
        wl_strs_add(g->arena, &d->findings, wl_strf(g->arena, "%zu more groups are in the tables.", g->law.n - MOST_GROUPS));
    best_finding(g, d);
}

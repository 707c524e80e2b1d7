/* Numbers of candidates relative to the reference. */
#include "cmd/wattlaw/tune/view.h"

#include <math.h>

static const double Z95 = 1.959964;

size_t wl_tune_view_choice(const struct wl_tune *t)
{
    return t->step.done ? t->step.index : wl_advise_cap_choice(t->search);
}

struct wl_tune_ratio wl_tune_view_time(const struct wl_tune *t, size_t candidate)
{
    const struct wl_advise_cap_estimate *x = &wl_advise_cap_estimates(t->search)[candidate];
    double half = Z95 * x->sd_slowdown;
    return (struct wl_tune_ratio) { exp(x->ln_slowdown), exp(x->ln_slowdown - half), exp(x->ln_slowdown + half) };
}

double wl_tune_view_energy(const struct wl_tune *t, size_t candidate)
{
    const struct wl_advise_cap_estimate *v = wl_advise_cap_estimates(t->search);
    const struct wl_advise_cap_estimate *x = &v[candidate], *r = &v[t->candidates->reference];
    return exp(x->ln_t + x->ln_p - r->ln_t - r->ln_p);
}

/* The ratio J / J(reference) that is not exceeded with this probability, by bisection. */
static double quantile(const struct wl_tune *t, size_t candidate, double probability)
{
    double lo = log(0.05), hi = log(20);
    for (int i = 0; i < 50; i++) {
        double mid = (lo + hi) / 2;
        if (wl_advise_cap_saves(t->search, candidate, 1 - exp(mid)) < probability)
            lo = mid;
        else
            hi = mid;
    }
    return exp((lo + hi) / 2);
}

struct wl_tune_ratio wl_tune_view_objective(const struct wl_tune *t, size_t candidate)
{
    const struct wl_advise_cap_estimate *v = wl_advise_cap_estimates(t->search);
    double value = exp(v[candidate].ln_j - v[t->candidates->reference].ln_j);
    if (candidate == t->candidates->reference) return (struct wl_tune_ratio) { 1, 1, 1 };
    return (struct wl_tune_ratio) { value, quantile(t, candidate, 0.025), quantile(t, candidate, 0.975) };
}

const char *wl_tune_view_use(const struct wl_tune_view *v, const struct wl_tune *t, struct wl_arena *a)
{
    const struct wl_tune_candidates *c = t->candidates;
    if (!v->command) return NULL;
    char *option = wl_strf(a, "--%s", wl_cap_kind_name(c->kind));
    for (char *s = option; *s; s++)
        if (*s == '_') *s = '-';
    return wl_strf(a, "wattlaw measure %s %.6g -- %s", option, c->value[wl_tune_view_choice(t)],
                   wl_shell_quote(a, (char **)v->command));
}

const char *wl_tune_view_provenance(const struct wl_tune *t)
{
    bool estimated = false, simulated = false;
    for (size_t i = 0; i < t->windows.n; i++) {
        estimated |= t->windows.v[i].estimated;
        simulated |= t->windows.v[i].simulated;
    }
    return wl_provenance_mark(wl_provenance_of(estimated, simulated));
}

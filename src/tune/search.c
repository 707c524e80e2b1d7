#include "tune/search.h"

#include <math.h>

static size_t count_refused(const struct wl_tune_candidates *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++) n += c->refused[i] != NULL;
    return n;
}

/* A value that cannot be set, and a further look at the reference, cost no other value its window. */
static struct wl_advise_cap_opts options_of(const struct wl_tune_candidates *c, const struct wl_tune_goal *g,
                                            const struct wl_tune_probes *probes, size_t repeated)
{
    struct wl_advise_cap_opts o = wl_advise_cap_defaults(c->value, c->n);
    size_t most = (size_t)g->most + count_refused(c);
    o.kind = wl_cap_is_power(c->kind) ? WL_ADVISE_POWER_CAP : WL_ADVISE_CLOCK;
    o.reference = c->reference;
    o.scale_w = c->scale_w;
    o.device = c->model;
    o.objective = g->objective;
    o.eta = g->eta;
    if (!isnan(g->slowdown)) o.limit = (struct wl_advise_cap_limit) { g->slowdown, g->probability };
    if (probes->n) o.noise = probes->noise;
    o.prior = g->prior;
    o.windows = most > repeated ? most - repeated : 1;
    return o;
}

/* Clocks need the power limit of the device; where that is not known, half more than it draws at full clock. */
static double assumed_scale(const struct wl_tune_probes *probes)
{
    static const double ABOVE = 1.5, UNKNOWN = 300;
    return probes->n ? ABOVE * exp(probes->v[0].seen.ln_p) : UNKNOWN;
}

int wl_tune_search(const struct wl_tune_candidates *c, const struct wl_tune_goal *goal,
                   const struct wl_tune_probes *probes, size_t repeated, struct wl_advise_cap **out, struct wl_arena *a,
                   struct wl_err *e)
{
    struct wl_advise_cap_opts o = options_of(c, goal, probes, repeated);
    if (!(o.scale_w > 0)) o.scale_w = assumed_scale(probes);
    int rc = wl_advise_cap_new(out, &o, a, e);
    for (size_t i = 0; i < probes->n && rc == 0; i++) rc = wl_advise_cap_add(*out, &probes->v[i].seen, e);
    for (size_t i = 0; i < c->n && rc == 0; i++)
        if (c->refused[i]) rc = wl_advise_cap_fail(*out, i, true, e);
    return rc;
}

/* Settings of a cap search: distinct values of the candidates as the device enforces them. */
#include "advise/cap/state.h"

#include <math.h>

static const double readback = 0.005; /* relative: an enforced value this near to the one asked is that one */

/* Sets the value that the device enforced for candidate i. One that reaches a neighbour is the end of the device's
 * range, where everything beyond it is clamped; else it is rounded. */
void wl_advise_cap_enforce(struct wl_advise_cap *s, size_t i, double enforced)
{
    const size_t n = s->opts.n;
    const double below = i ? s->asked[i - 1] : 0, above = i + 1 < n ? s->asked[i + 1] : INFINITY;
    const double near = fmin(readback * s->asked[i], fmin(s->asked[i] - below, above - s->asked[i]) / 2);
    if (fabs(enforced - s->asked[i]) <= near) enforced = s->asked[i];
    for (size_t j = 0; j < n; j++) {
        const bool clamped = enforced >= above ? s->asked[j] < enforced : enforced <= below && s->asked[j] > enforced;
        if ((j != i && !clamped) || s->value[j] == enforced) continue;
        s->value[j] = enforced;
        s->moved = true;
    }
}

/* Whether candidate a names its setting better than b does: the reference, one that can be held, one that is enforced
 * as asked. */
static bool names_better(const struct wl_advise_cap *s, size_t a, size_t b)
{
    if (a == s->opts.reference || b == s->opts.reference) return a == s->opts.reference;
    if (s->given_up[a] != s->given_up[b]) return s->given_up[b];
    return s->asked[a] == s->value[a] && s->asked[b] != s->value[b];
}

static void number_settings(struct wl_advise_cap *s)
{
    s->settings = 0;
    for (size_t i = 0; i < s->opts.n; i++) {
        size_t k = 0;
        while (k < s->settings && s->value[s->candidate[k]] != s->value[i]) k++;
        if (k == s->settings) s->candidate[s->settings++] = i;
        s->setting_of[i] = k;
    }
    s->goal.reference = s->setting_of[s->opts.reference];
}

void wl_advise_cap_settle(struct wl_advise_cap *s)
{
    number_settings(s);
    for (size_t i = 0; i < s->opts.n; i++) {
        size_t *name = &s->candidate[s->setting_of[i]];
        if (names_better(s, i, *name)) *name = i;
    }
    for (size_t k = 0; k < s->settings; k++) s->unavailable[k] = s->given_up[s->candidate[k]];
}

void wl_advise_cap_fill(struct wl_advise_cap *s)
{
    const double unit = s->opts.kind == WL_ADVISE_CLOCK ? s->opts.top : s->opts.scale_w;
    double ratio[WL_ADVISE_CAP_MAX];
    for (size_t k = 0; k < s->settings; k++) ratio[k] = s->value[s->candidate[k]] / unit;
    wl_advise_cap_model_fill(&s->model, ratio, s->settings, s->goal.reference, s->opts.prior);
    s->moved = false;
}

bool wl_advise_cap_measured(const struct wl_advise_cap *s, size_t setting)
{
    for (size_t i = 0; i < s->opts.n; i++)
        if (s->setting_of[i] == setting && s->evidence[i].windows) return true;
    return false;
}

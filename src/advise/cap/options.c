/* Options of a cap search. */
#include "advise/cap/state.h"

#include <math.h>

static const double largest_rho = 0.95;

struct wl_advise_cap_opts wl_advise_cap_defaults(const double *value, size_t n)
{
    return (struct wl_advise_cap_opts) {
        .value = value,
        .n = n,
        .reference = n ? n - 1 : 0,
        .eta = 0.5,
        .noise = { 0.01, 0.01, 0 },
        .windows = 4,
        .tries = 2,
        .stop = 0.0003,
        .level = NAN,
    };
}

int wl_advise_cap_check_noise(const struct wl_advise_cap_noise *n, struct wl_err *e)
{
    if (!(n->sd_t > 0) || !(n->sd_p > 0) || isinf(n->sd_t) || isinf(n->sd_p))
        return wl_fail(e, WL_EINVAL, "noise of a window is %g (ln t) and %g (ln P), expected positive numbers", n->sd_t,
                       n->sd_p);
    if (!(fabs(n->rho) <= largest_rho))
        return wl_fail(e, WL_EINVAL, "correlation of the noise of time and power is %g, expected -%g to %g", n->rho,
                       largest_rho, largest_rho);
    return 0;
}

static int check_values(const struct wl_advise_cap_opts *o, struct wl_err *e)
{
    const char *unit = o->kind == WL_ADVISE_CLOCK ? "MHz" : "W";
    if (o->n < 1 || o->n > WL_ADVISE_CAP_MAX)
        return wl_fail(e, WL_EINVAL, "%zu candidates for a cap search, expected 1 to %d", o->n, WL_ADVISE_CAP_MAX);
    for (size_t i = 0; i < o->n; i++) {
        if (!(o->value[i] > 0) || isinf(o->value[i]))
            return wl_fail(e, WL_EINVAL, "candidate %zu is %g %s, expected a positive number", i, o->value[i], unit);
        if (i && o->value[i] <= o->value[i - 1])
            return wl_fail(e, WL_EINVAL, "candidates must ascend: %g %s follows %g %s", o->value[i], unit,
                           o->value[i - 1], unit);
    }
    if (o->reference >= o->n)
        return wl_fail(e, WL_EINVAL, "reference is candidate %zu of %zu (counted from 0)", o->reference, o->n);
    if (!(o->scale_w >= 0) || isinf(o->scale_w) || (o->kind == WL_ADVISE_CLOCK && !(o->scale_w > 0)))
        return wl_fail(e, WL_EINVAL, "power limit of the device is %g W, expected a positive number", o->scale_w);
    if (o->kind == WL_ADVISE_CLOCK && (!(o->top >= 0) || isinf(o->top)))
        return wl_fail(e, WL_EINVAL, "largest clock of the device is %g MHz, expected a positive number", o->top);
    return 0;
}

static int check_goal(const struct wl_advise_cap_opts *o, struct wl_err *e)
{
    if (o->objective < WL_ADVISE_MIN_ENERGY || o->objective > WL_ADVISE_MIN_TIME)
        return wl_fail(e, WL_EINVAL, "unknown objective %d", (int)o->objective);
    if (o->objective == WL_ADVISE_MIN_ZEUS && !(o->eta >= 0 && o->eta <= 1))
        return wl_fail(e, WL_EINVAL, "eta of Zeus cost is %g, expected 0 to 1", o->eta);
    if (!(o->limit.probability >= 0 && o->limit.probability < 1))
        return wl_fail(e, WL_EINVAL, "probability of the limit is %g, expected 0 (no limit) to below 1",
                       o->limit.probability);
    if (o->limit.probability > 0 && (!(o->limit.slowdown >= 0) || isinf(o->limit.slowdown)))
        return wl_fail(e, WL_EINVAL, "allowed slowdown is %g, expected 0 or more", o->limit.slowdown);
    if (o->windows < 1 || o->tries < 1)
        return wl_fail(e, WL_EINVAL, "%zu windows and %zu tries, expected at least 1", o->windows, o->tries);
    if (!(o->stop >= 0)) return wl_fail(e, WL_EINVAL, "gain to stop at is %g, expected 0 or more", o->stop);
    return isinf(o->level) ? wl_fail(e, WL_EINVAL, "prior mean of ln t is infinite") : 0;
}

int wl_advise_cap_check(const struct wl_advise_cap_opts *o, struct wl_err *e)
{
    int rc = check_values(o, e);
    if (!rc) rc = check_goal(o, e);
    return rc ? rc : wl_advise_cap_check_noise(&o->noise, e);
}

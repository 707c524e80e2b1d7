/* The cap search: windows in, next window or choice out. */
#include "advise/cap/state.h"

#include <math.h>
#include <string.h>

int wl_advise_cap_new(struct wl_advise_cap **out, const struct wl_advise_cap_opts *opts, struct wl_arena *a,
                      struct wl_err *e)
{
    int rc = wl_advise_cap_check(opts, e);
    if (rc) return rc;
    struct wl_advise_cap *s = wl_try_alloc(a, sizeof *s, 64, "a cap search", e);
    if (!s) return WL_ENOMEM;
    *s = (struct wl_advise_cap) { .opts = *opts, .level = opts->level, .stale = true, .moved = true };
    memcpy(s->asked, opts->value, opts->n * sizeof *s->asked);
    memcpy(s->value, opts->value, opts->n * sizeof *s->value);
    s->opts.value = s->asked;
    if (s->opts.scale_w <= 0) s->opts.scale_w = s->asked[opts->n - 1];
    if (s->opts.top <= 0) s->opts.top = s->asked[opts->n - 1];
    s->model.kind = opts->kind;
    s->goal = (struct wl_advise_cap_goal) { opts->objective, opts->eta, opts->limit, 0, s->unavailable };
    rc = wl_advise_cap_model_alloc(&s->model, opts->n, opts->prior, opts->device, a, e);
    if (!rc) rc = wl_advise_cap_posterior_alloc(&s->posterior, opts->n, s->model.k, a, e);
    if (!rc) *out = s;
    return rc;
}

int wl_advise_cap_add(struct wl_advise_cap *s, const struct wl_advise_cap_window *w, struct wl_err *e)
{
    const bool own = w->noise.sd_t != 0 || w->noise.sd_p != 0 || w->noise.rho != 0;
    if (w->index >= s->opts.n) return wl_fail(e, WL_EINVAL, "no candidate %zu among %zu", w->index, s->opts.n);
    if (!isfinite(w->ln_t) || !isfinite(w->ln_p))
        return wl_fail(e, WL_EINVAL, "window at %g: ln t %g and ln P %g must be finite", s->asked[w->index], w->ln_t,
                       w->ln_p);
    if (!(w->enforced >= 0) || isinf(w->enforced))
        return wl_fail(e, WL_EINVAL, "window at %g: enforced value %g, expected a positive number", s->asked[w->index],
                       w->enforced);
    if (own && wl_advise_cap_check_noise(&w->noise, e)) return WL_EINVAL;
    if (isnan(s->level)) s->level = w->ln_t;
    wl_advise_cap_observe(&s->evidence[w->index], w->ln_t - s->level, w->ln_p - log(s->opts.scale_w),
                          own ? &w->noise : &s->opts.noise);
    if (w->enforced > 0) wl_advise_cap_enforce(s, w->index, w->enforced);
    s->failed_in_a_row[w->index] = 0;
    s->used += !w->earlier;
    s->stale = true;
    return 0;
}

int wl_advise_cap_fail(struct wl_advise_cap *s, size_t index, bool now, struct wl_err *e)
{
    if (index >= s->opts.n) return wl_fail(e, WL_EINVAL, "no candidate %zu among %zu", index, s->opts.n);
    s->failed[index]++;
    if (++s->failed_in_a_row[index] >= s->opts.tries || now) s->given_up[index] = true;
    s->used++;
    s->stale = true;
    return 0;
}

/* The setting to choose. */
static size_t choose(const struct wl_advise_cap *s)
{
    const struct wl_advise_cap_posterior *p = &s->posterior;
    size_t best = s->goal.reference;
    double best_j = INFINITY;
    for (size_t k = 0; k < p->d; k++) {
        if (k != s->goal.reference && (s->unavailable[k] || s->within[k] < s->opts.limit.probability)) continue;
        const double ln_j = wl_advise_cap_value(&s->goal, p->m[k], p->m[p->d + k]).ln_j;
        if (ln_j < best_j) {
            best_j = ln_j;
            best = k;
        }
    }
    return best;
}

size_t wl_advise_cap_choice(struct wl_advise_cap *s)
{
    wl_advise_cap_update(s);
    return s->candidate[choose(s)];
}

static struct wl_advise_cap_step step(const struct wl_advise_cap *s, bool done, size_t setting,
                                      enum wl_advise_cap_reason reason, double gain)
{
    return (struct wl_advise_cap_step) { done, s->candidate[setting], reason, gain,
                                         wl_advise_cap_measured(s, setting) };
}

/* The reference comes first, if anything can be chosen at all. */
static struct wl_advise_cap_step first_step(const struct wl_advise_cap *s)
{
    const size_t r = s->goal.reference;
    const bool lost = s->unavailable[r] || s->used >= s->opts.windows;
    return step(s, lost, r, lost ? WL_ADVISE_CAP_NO_REFERENCE : WL_ADVISE_CAP_REFERENCE, NAN);
}

static bool alone(const struct wl_advise_cap *s)
{
    for (size_t k = 0; k < s->settings; k++)
        if (k != s->goal.reference && !s->unavailable[k]) return false;
    return true;
}

/* The next step once the reference is measured. */
static struct wl_advise_cap_step further_step(const struct wl_advise_cap *s)
{
    const size_t choice = choose(s);
    size_t best = choice;
    double gain = -INFINITY;
    for (size_t k = 0; k < s->settings; k++)
        if (!s->unavailable[k] && s->gain[k] > gain) gain = s->gain[best = k];
    if (s->used >= s->opts.windows) return step(s, true, choice, WL_ADVISE_CAP_SPENT, gain);
    const bool small = gain < s->opts.stop, seen = wl_advise_cap_measured(s, choice);
    if (small && seen) return step(s, true, choice, WL_ADVISE_CAP_SETTLED, gain);
    if (!seen && (small || s->used + 1 == s->opts.windows))
        return step(s, false, choice, WL_ADVISE_CAP_VERIFY, s->gain[choice]);
    return step(s, false, best, WL_ADVISE_CAP_EXPLORE, gain);
}

struct wl_advise_cap_step wl_advise_cap_next(struct wl_advise_cap *s)
{
    wl_advise_cap_settle(s);
    if (alone(s)) return step(s, true, s->goal.reference, WL_ADVISE_CAP_SINGLE, 0);
    if (!wl_advise_cap_measured(s, s->goal.reference)) return first_step(s); /* needs no posterior */
    wl_advise_cap_update(s);
    return further_step(s);
}

const char *wl_advise_cap_reason_text(enum wl_advise_cap_reason r)
{
    switch (r) {
    case WL_ADVISE_CAP_REFERENCE: return "the reference is measured first";
    case WL_ADVISE_CAP_EXPLORE: return "largest expected gain";
    case WL_ADVISE_CAP_VERIFY: return "the choice has not been measured yet";
    case WL_ADVISE_CAP_SETTLED: return "no further window is worth its time";
    case WL_ADVISE_CAP_SPENT: return "all windows are used";
    case WL_ADVISE_CAP_SINGLE: return "there is nothing to choose from";
    case WL_ADVISE_CAP_NO_REFERENCE: return "the reference could not be measured";
    }
    return "unknown";
}

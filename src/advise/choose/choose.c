#include "advise/choose/choose.h"

#include "advise/choose/internal.h"

#include <math.h>

static const double same_within = 0.01, distinct_from = 0.9; /* of tie sets: 1 %, with this probability */
static const double near[] = { 0.01, 0.03 };                 /* of the best allowed */

/* Hoare's selection: v[k] is the k-th smallest, smaller ones before it. */
static double select_kth(double *v, size_t n, size_t k)
{
    size_t lo = 0, hi = n - 1;
    while (lo < hi) {
        const double pivot = v[lo + (hi - lo) / 2];
        size_t i = lo, j = hi;
        for (;;) {
            while (v[i] < pivot) i++;
            while (v[j] > pivot) j--;
            if (i >= j) break;
            const double swapped = v[i];
            v[i++] = v[j];
            v[j--] = swapped;
        }
        if (k <= j)
            hi = j;
        else
            lo = j + 1;
    }
    return v[k];
}

/* Linear between order statistics. */
double wl_choose_quantile(double v[WL_JOINT_DRAWS], double p)
{
    const double at = p * (WL_JOINT_DRAWS - 1);
    const size_t k = (size_t)at;
    const double lo = select_kth(v, WL_JOINT_DRAWS, k);
    if (k + 1 == WL_JOINT_DRAWS) return lo;
    double hi = v[k + 1];
    for (size_t i = k + 2; i < WL_JOINT_DRAWS; i++) hi = fmin(hi, v[i]);
    return lo + (at - (double)k) * (hi - lo);
}

/* exp of a mean with the 95 % interval of draws, which are reordered. */
static struct wl_estimate estimate(double mean, double v[WL_JOINT_DRAWS])
{
    const double lo = wl_choose_quantile(v, 0.025), hi = wl_choose_quantile(v, 0.975);
    return (struct wl_estimate) { exp(mean), exp(lo), exp(hi) };
}

/* ---- what is known ---- */

static bool has_power(const struct wl_choose_input *in)
{
    for (size_t g = 0; g < in->n_groups; g++)
        if (!wl_joint_has(in->groups[g].joint, WL_JOINT_POWER)) return false;
    return true;
}

static bool has_nodes(const struct wl_choose_input *in)
{
    for (size_t i = 0; i < in->n; i++)
        if (!(in->settings[i].nodes > 0)) return false;
    return true;
}

const char *wl_choose_unknown(const struct wl_choose_input *in, const struct wl_choose_options *o,
                              enum wl_choose_quantity q)
{
    const struct wl_choose_prices *p = &o->prices;
    const bool by_energy = q == WL_CHOOSE_COST ? p->per_kwh > 0 : q != WL_CHOOSE_TIME;
    if (q == WL_CHOOSE_COST && !(p->per_kwh > 0) && !(p->per_worker_h > 0) && !(p->per_node_h > 0))
        return "no price is given";
    if (by_energy && !has_power(in)) return "no energy was measured";
    if (q == WL_CHOOSE_COST && p->per_node_h > 0 && !has_nodes(in)) return "the number of nodes was not recorded";
    if (q == WL_CHOOSE_CARBON && !(p->g_per_kwh > 0)) return "no carbon intensity is given";
    if (q == WL_CHOOSE_ZEUS && !(o->max_power_w > 0)) return "the maximum power of a worker is not known";
    return NULL;
}

static int check(const struct wl_choose_input *in, const struct wl_choose_options *o, struct wl_err *e)
{
    const char *why = wl_choose_unknown(in, o, o->minimize);
    if (why) return wl_fail(e, WL_EINVAL, "cannot minimize %s: %s", wl_choose_quantity_name(o->minimize), why);
    for (size_t k = 0; k < o->n_limits; k++) {
        why = wl_choose_unknown(in, o, o->limits[k].quantity);
        if (why) return wl_fail(e, WL_EINVAL, "%s: %s", o->limits[k].name, why);
    }
    return 0;
}

/* Without a number there is nothing to choose by, and no limit explains it. */
static int check_objective(const struct wl_choose_context *c, const struct wl_choose_result *r, struct wl_err *e)
{
    for (size_t i = 0; i < c->in->n; i++)
        if (!c->in->settings[i].excluded && !isfinite(r->rows[i].ln[c->o->minimize]))
            return wl_fail(e, WL_EINVAL, "cannot minimize %s: that of %s is not a finite number",
                           wl_choose_quantity_name(c->o->minimize), c->in->settings[i].name);
    return 0;
}

/* ---- rows ---- */

static void describe(const struct wl_choose_context *c, struct wl_choose_result *out)
{
    double v[WL_JOINT_DRAWS];
    for (int q = 0; q < WL_CHOOSE_QUANTITIES; q++) {
        const bool product = q == WL_CHOOSE_EDP || q == WL_CHOOSE_ED2P || q == WL_CHOOSE_ZEUS,
                   unknown = (product && q != (int)c->o->minimize) ||
                             wl_choose_unknown(c->in, c->o, (enum wl_choose_quantity)q);
        for (size_t i = 0; i < c->in->n; i++) {
            struct wl_choose_row *row = &out->rows[i];
            row->ln[q] = NAN;
            row->amount[q] = (struct wl_estimate) { NAN, NAN, NAN };
            if (unknown) continue;
            row->ln[q] = wl_choose_mean(c, (enum wl_choose_quantity)q, i);
            wl_choose_draws(c, (enum wl_choose_quantity)q, i, v);
            row->amount[q] = estimate(row->ln[q], v);
        }
    }
}

size_t wl_choose_reference_of(const struct wl_choose_options *o, size_t i)
{
    return o->references ? o->references[i] : o->reference;
}

/* A quantity of setting i over that of another. */
static struct wl_estimate ratio_to(const struct wl_choose_context *c, const struct wl_choose_result *r,
                                   enum wl_choose_quantity q, size_t i, size_t other)
{
    double v[WL_JOINT_DRAWS], of_other[WL_JOINT_DRAWS];
    if (isnan(r->rows[i].ln[q])) return (struct wl_estimate) { NAN, NAN, NAN };
    if (i == other) return (struct wl_estimate) { 1, 1, 1 };
    wl_choose_draws(c, q, i, v);
    wl_choose_draws(c, q, other, of_other);
    for (size_t d = 0; d < WL_JOINT_DRAWS; d++) v[d] -= of_other[d];
    return estimate(r->rows[i].ln[q] - r->rows[other].ln[q], v);
}

/* A quantity of setting i over that of its reference. */
static struct wl_estimate ratio(const struct wl_choose_context *c, const struct wl_choose_result *r,
                                enum wl_choose_quantity q, size_t i)
{
    const size_t ref = wl_choose_reference_of(c->o, i);
    if (ref == WL_CHOOSE_NO_REFERENCE) return (struct wl_estimate) { NAN, NAN, NAN };
    return ratio_to(c, r, q, i, ref);
}

/* ---- the choice ---- */

/* Least J among those allowed, `but` left out; equal ones: fewest workers. */
static int least(const struct wl_choose_context *c, const struct wl_choose_result *r, int but)
{
    int best = WL_CHOOSE_NONE;
    for (size_t i = 0; i < c->in->n; i++) {
        if (!r->rows[i].allowed || (int)i == but) continue;
        const double here = r->rows[i].ln[c->o->minimize],
                     there = best < 0 ? INFINITY : r->rows[best].ln[c->o->minimize];
        if (here < there || (here == there && c->in->settings[i].workers < c->in->settings[best].workers))
            best = (int)i;
    }
    return best;
}

/* Largest J of the settings that are not excluded: limits do not matter, since one may run it today. */
static int largest(const struct wl_choose_context *c, const struct wl_choose_result *r)
{
    int worst = WL_CHOOSE_NONE;
    for (size_t i = 0; i < c->in->n; i++)
        if (!c->in->settings[i].excluded &&
            (worst < 0 || r->rows[i].ln[c->o->minimize] > r->rows[worst].ln[c->o->minimize]))
            worst = (int)i;
    return worst;
}

static double share_below(const double *x, const double *y, double margin)
{
    size_t n = 0;
    for (size_t d = 0; d < WL_JOINT_DRAWS; d++) n += x[d] <= y[d] + margin;
    return (double)n / WL_JOINT_DRAWS;
}

/* Ties, the probability of being near the best, and the runner-up. */
static void compare(const struct wl_choose_context *c, struct wl_choose_result *out)
{
    double of_choice[WL_JOINT_DRAWS], v[WL_JOINT_DRAWS], best[WL_JOINT_DRAWS];
    wl_choose_draws(c, c->o->minimize, (size_t)out->choice, of_choice);
    for (size_t d = 0; d < WL_JOINT_DRAWS; d++) best[d] = of_choice[d];
    for (size_t i = 0; i < c->in->n; i++) {
        if (!out->rows[i].allowed) continue;
        wl_choose_draws(c, c->o->minimize, i, v);
        for (size_t d = 0; d < WL_JOINT_DRAWS; d++) best[d] = fmin(best[d], v[d]);
        out->rows[i].tied = 1 - share_below(v, of_choice, log1p(same_within)) < distinct_from;
        if ((int)i == out->runner_up) out->ahead = 1 - share_below(v, of_choice, 0);
    }
    for (size_t k = 0; k < WL_COUNT(near); k++) out->within[k] = share_below(of_choice, best, log1p(near[k]));
}

static void decide(const struct wl_choose_context *c, struct wl_choose_result *out, struct wl_arena *a)
{
    out->choice = least(c, out, WL_CHOOSE_NONE);
    if (out->choice == WL_CHOOSE_NONE) {
        wl_choose_explain(c, out, a);
        return;
    }
    out->runner_up = least(c, out, out->choice);
    compare(c, out);
    wl_choose_value_runs(c, out, a);
    for (int q = 0; q < WL_CHOOSE_QUANTITIES; q++)
        out->saving[q] = ratio(c, out, (enum wl_choose_quantity)q, (size_t)out->choice);
    const int worst = largest(c, out);
    if (worst == out->choice) return;
    out->worst = worst;
    out->over_worst = ratio_to(c, out, c->o->minimize, (size_t)out->choice, (size_t)worst);
}

int wl_choose(const struct wl_choose_input *in, const struct wl_choose_options *o, struct wl_choose_result *out,
              struct wl_arena *a, struct wl_err *e)
{
    const struct wl_choose_context c = { in, o, wl_new_array(a, size_t, in->n) };
    *out = (struct wl_choose_result) { .input = in,
                                       .options = o,
                                       .rows = wl_new_array(a, struct wl_choose_row, in->n),
                                       .choice = WL_CHOOSE_NONE,
                                       .runner_up = WL_CHOOSE_NONE,
                                       .ahead = NAN,
                                       .measure = WL_CHOOSE_NONE,
                                       .within = { NAN, NAN },
                                       .worst = WL_CHOOSE_NONE,
                                       .over_worst = { NAN, NAN, NAN },
                                       .knee = WL_CHOOSE_NONE,
                                       .depth = NAN,
                                       .nearest = WL_CHOOSE_NONE,
                                       .binding = WL_CHOOSE_NONE };
    int rc = check(in, o, e);
    if (rc) return rc;
    for (size_t g = 0; g < in->n_groups; g++)
        for (size_t i = 0; i < in->groups[g].n; i++) c.group[in->groups[g].first + i] = g;
    for (int q = 0; q < WL_CHOOSE_QUANTITIES; q++) out->saving[q] = (struct wl_estimate) { NAN, NAN, NAN };
    describe(&c, out);
    rc = check_objective(&c, out, e);
    if (rc) return rc;
    for (size_t i = 0; i < in->n; i++) out->rows[i].slowdown = ratio(&c, out, WL_CHOOSE_TIME, i);
    wl_choose_meet_limits(&c, out, a);
    wl_choose_trade_off(&c, out, a);
    decide(&c, out, a);
    return 0;
}

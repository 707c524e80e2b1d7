/* Which settings meet the limits, and, where none does, which limit is in the way. */
#include "advise/choose/internal.h"

#include <math.h>
#include <stdlib.h>

/* ln of what the limit compares, less the part that the model's question asks for, of setting i. */
static double constant_of(const struct wl_choose_context *c, enum wl_choose_quantity q, size_t i)
{
    return wl_choose_ln(c, q, i, c->in->settings[i].ln_work, 0, 0);
}

/* What the limit compares setting i with; WL_CHOOSE_NO_REFERENCE: nothing, or nothing that was measured. */
static size_t reference_of(const struct wl_choose_context *c, const struct wl_choose_limit *l, size_t i)
{
    return l->relative ? wl_choose_reference_of(c->o, i) : WL_CHOOSE_NO_REFERENCE;
}

/* Can the model answer it exactly: linear, and no uncertainty of its own in the work? */
static bool is_exact(const struct wl_choose_context *c, const struct wl_choose_limit *l)
{
    return !c->in->work_draws && wl_choose_is_linear(c->o, l->quantity);
}

static void ask_model(const struct wl_choose_context *c, const struct wl_choose_limit *l, size_t group, double *out,
                      struct wl_arena *a)
{
    const struct wl_choose_group *g = &c->in->groups[group];
    const struct wl_choose_gradient by = wl_choose_gradient(c, l->quantity, g->first, 0, 0);
    double *limit = wl_new_array(a, double, g->n);
    size_t *refs = wl_new_array(a, size_t, g->n);
    for (size_t i = 0; i < g->n; i++) {
        const size_t ref = reference_of(c, l, g->first + i);
        const bool any = ref != WL_CHOOSE_NO_REFERENCE;
        refs[i] = any ? ref - g->first : WL_JOINT_ABSOLUTE;
        limit[i] =
            log(l->most) - constant_of(c, l->quantity, g->first + i) + (any ? constant_of(c, l->quantity, ref) : 0);
    }
    const struct wl_joint_question q = { .time = by.t, .power = by.p, .refs = refs, .limit = limit };
    wl_joint_probabilities(g->joint, &q, out + g->first, a);
}

/* The draws of a quantity of setting i, less those of its reference where the limit is relative. */
static void compared(const struct wl_choose_context *c, const struct wl_choose_limit *l, size_t i,
                     double v[WL_JOINT_DRAWS])
{
    double of_ref[WL_JOINT_DRAWS];
    const size_t ref = reference_of(c, l, i);
    wl_choose_draws(c, l->quantity, i, v);
    if (ref == WL_CHOOSE_NO_REFERENCE) return;
    wl_choose_draws(c, l->quantity, ref, of_ref);
    for (size_t d = 0; d < WL_JOINT_DRAWS; d++) v[d] -= of_ref[d];
}

static void ask_draws(const struct wl_choose_context *c, const struct wl_choose_limit *l, size_t group, double *out)
{
    const struct wl_choose_group *g = &c->in->groups[group];
    double v[WL_JOINT_DRAWS];
    for (size_t i = g->first; i < g->first + g->n; i++) {
        size_t met = 0;
        compared(c, l, i, v);
        for (size_t d = 0; d < WL_JOINT_DRAWS; d++) met += v[d] <= log(l->most);
        out[i] = (double)met / WL_JOINT_DRAWS;
    }
}

/* Have all settings of a group their references in it? */
static bool is_within_group(const struct wl_choose_context *c, const struct wl_choose_limit *l, size_t group)
{
    const struct wl_choose_group *g = &c->in->groups[group];
    for (size_t i = g->first; i < g->first + g->n; i++) {
        const size_t ref = reference_of(c, l, i);
        if (ref != WL_CHOOSE_NO_REFERENCE && c->group[ref] != group) return false;
    }
    return true;
}

static void probabilities(const struct wl_choose_context *c, const struct wl_choose_limit *l, double *out,
                          struct wl_arena *a)
{
    for (size_t g = 0; g < c->in->n_groups; g++) {
        if (is_exact(c, l) && is_within_group(c, l, g))
            ask_model(c, l, g, out, a);
        else
            ask_draws(c, l, g, out);
    }
    for (size_t i = 0; l->relative && i < c->in->n; i++) {
        const size_t ref = reference_of(c, l, i);
        if (ref == WL_CHOOSE_NO_REFERENCE) out[i] = 0; /* nobody knows what it would be */
        if (ref == i) out[i] = l->most >= 1;
    }
}

void wl_choose_meet_limits(const struct wl_choose_context *c, struct wl_choose_result *out, struct wl_arena *a)
{
    const size_t n = c->in->n, m = c->o->n_limits;
    struct wl_arena *scratch = wl_arena_new(a);
    double *p = wl_new_array(scratch, double, n), *all = wl_new_array(a, double, n *m);
    for (size_t i = 0; i < n; i++) {
        out->rows[i].meets = all + i * m;
        out->rows[i].allowed = !c->in->settings[i].excluded;
    }
    for (size_t k = 0; k < m; k++) {
        probabilities(c, &c->o->limits[k], p, scratch);
        for (size_t i = 0; i < n; i++) {
            out->rows[i].meets[k] = p[i];
            out->rows[i].allowed = out->rows[i].allowed && p[i] >= c->o->probability;
        }
    }
    for (size_t i = 0; i < n; i++) out->allowed += out->rows[i].allowed;
    wl_arena_free(scratch);
}

/* ---- no setting is allowed ---- */

static bool meets_others(const struct wl_choose_context *c, const struct wl_choose_row *row, size_t but)
{
    for (size_t k = 0; k < c->o->n_limits; k++)
        if (k != but && !(row->meets[k] >= c->o->probability)) return false;
    return true;
}

/* The least value of limit k with which setting i would be allowed; INFINITY: none, without its reference. */
static double needs(const struct wl_choose_context *c, size_t k, size_t i)
{
    const struct wl_choose_limit *l = &c->o->limits[k];
    double v[WL_JOINT_DRAWS];
    if (l->relative && reference_of(c, l, i) == WL_CHOOSE_NO_REFERENCE) return INFINITY;
    compared(c, l, i, v);
    return exp(wl_choose_quantile(v, c->o->probability));
}

static struct wl_choose_relaxation relax(const struct wl_choose_context *c, const struct wl_choose_result *r, size_t k)
{
    struct wl_choose_relaxation out = { NAN, WL_CHOOSE_NONE };
    for (size_t i = 0; i < c->in->n; i++) {
        if (c->in->settings[i].excluded || !meets_others(c, &r->rows[i], k)) continue;
        const double most = needs(c, k, i);
        if (isfinite(most) && !(out.most <= most)) out = (struct wl_choose_relaxation) { most, (int)i };
    }
    return out;
}

/* ln of what setting i needs over what the limits allow, of the limit that it misses most. */
static double excess(const struct wl_choose_context *c, size_t i, size_t *limit)
{
    double most = -INFINITY;
    for (size_t k = 0; k < c->o->n_limits; k++) {
        const double here = log(needs(c, k, i) / c->o->limits[k].most);
        if (here > most) most = here, *limit = k;
    }
    return most;
}

void wl_choose_explain(const struct wl_choose_context *c, struct wl_choose_result *out, struct wl_arena *a)
{
    double least = INFINITY;
    for (size_t i = 0; i < c->in->n; i++) {
        size_t k = 0;
        const double here = c->in->settings[i].excluded ? INFINITY : excess(c, i, &k);
        if (!(here < least)) continue;
        least = here;
        out->nearest = (int)i;
        out->binding = (int)k;
    }
    out->relaxed = wl_new_array(a, struct wl_choose_relaxation, c->o->n_limits);
    for (size_t k = 0; k < c->o->n_limits; k++) out->relaxed[k] = relax(c, out, k);
}

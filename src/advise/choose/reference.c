/* The setting that slowdown and saving are relative to. */
#include "advise/choose/axes.h"

#include <math.h>

static double expected_time(const struct wl_choose_campaign *c, size_t i)
{
    for (size_t g = 0; g < c->n_groups; g++)
        if (i - c->groups[g].first < c->groups[g].n)
            return wl_joint_means(c->groups[g].joint, WL_JOINT_TIME)[i - c->groups[g].first] + c->settings[i].ln_work;
    return NAN;
}

static double *largest_values(const struct wl_choose_campaign *c, struct wl_arena *a)
{
    double *largest = wl_new_array(a, double, c->n_axes), v;
    for (size_t k = 0; k < c->n_axes; k++)
        for (size_t i = 0; i < c->n; i++)
            if (wl_str_to_real(c->value[i][k], &v) == 0) largest[k] = fmax(largest[k], v);
    return largest;
}

/* 0: no cap at all; else more, the smaller its caps are. */
static double restraint(const struct wl_choose_campaign *c, const double *largest, size_t i)
{
    double sum = 0, v;
    for (size_t k = 0; k < c->n_axes; k++) {
        const bool cap = c->axes[k].setting && c->axes[k].setting->is_cap && c->axes[k].number;
        if (cap && wl_str_to_real(c->value[i][k], &v) == 0) sum += largest[k] / v;
    }
    return sum;
}

int wl_choose_reference(const struct wl_choose_campaign *c, const struct wl_observations *obs,
                        const struct wl_choose_where *like, size_t n_like, size_t *out, struct wl_arena *a,
                        struct wl_err *e)
{
    double best = INFINITY, least = INFINITY;
    const double *largest = largest_values(c, a);
    bool any = false;
    for (size_t i = 0; i < c->n; i++) {
        bool all = true;
        for (size_t k = 0; k < n_like; k++) {
            bool match;
            const int rc = wl_choose_matches(obs, c->row[i], &like[k], &match, a, e);
            if (rc) return wl_err_prefix(e, "--reference %s", like[k].text);
            all = all && match;
        }
        const double held = all ? restraint(c, largest, i) : INFINITY, time = expected_time(c, i);
        if (!all || held > least || (held == least && time >= best)) continue;
        any = true;
        least = held;
        best = time;
        *out = i;
    }
    return any ? 0 : wl_fail(e, WL_EINVAL, "--reference: %s has no such setting", obs->source);
}

/* ---- a reference for each setting ---- */

static bool has_caps(const struct wl_choose_campaign *c)
{
    for (size_t k = 0; k < c->n_axes; k++)
        if (c->axes[k].setting && c->axes[k].setting->is_cap && c->axes[k].number) return true;
    return false;
}

/* Of each family the setting that is restrained the least of all the campaign's; where a family has none such, what
 * it would have taken is not known. */
static size_t *references_of(struct wl_choose_campaign *c, struct wl_arena *a)
{
    const double *largest = largest_values(c, a);
    size_t *family = wl_new_array(a, size_t, c->n), *out = wl_new_array(a, size_t, c->n), missing = 0;
    const size_t families = wl_choose_families(c, NULL, family, a);
    size_t *of_family = wl_new_array(a, size_t, families);
    double least = INFINITY;
    for (size_t f = 0; f < families; f++) of_family[f] = WL_CHOOSE_NO_REFERENCE;
    for (size_t i = 0; i < c->n; i++) least = fmin(least, restraint(c, largest, i));
    for (size_t i = 0; i < c->n; i++)
        if (restraint(c, largest, i) == least) of_family[family[i]] = i;
    for (size_t i = 0; i < c->n; i++) {
        out[i] = of_family[family[i]];
        missing += out[i] == WL_CHOOSE_NO_REFERENCE;
    }
    if (missing)
        wl_strs_addf(a, &c->notes,
                     "%zu setting%s not measured without a cap (or with the largest): no slowdown is known", missing,
                     missing == 1 ? " was" : "s were");
    return out;
}

int wl_choose_references(struct wl_choose_campaign *c, const struct wl_observations *obs,
                         const struct wl_choose_reference_options *how, struct wl_choose_options *o, struct wl_arena *a,
                         struct wl_err *e)
{
    o->references = how->n_like || how->fastest || !has_caps(c) ? NULL : references_of(c, a);
    return wl_choose_reference(c, obs, how->like, how->n_like, &o->reference, a, e);
}

double wl_choose_largest_cap(const struct wl_choose_campaign *c)
{
    double most = NAN, v;
    for (size_t k = 0; k < c->n_axes; k++)
        for (size_t i = 0; wl_str_eq(c->axes[k].column, "power_cap_w") && i < c->n; i++)
            if (wl_str_to_real(c->value[i][k], &v) == 0) most = fmax(most, v);
    return most;
}

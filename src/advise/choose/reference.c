/* The setting that slowdown and saving are relative to. */
#include "advise/choose/axes.h"
#include "advise/choose/restraint.h"

#include <math.h>

static double expected_time(const struct wl_choose_campaign *c, size_t i)
{
    for (size_t g = 0; g < c->n_groups; g++)
        if (i - c->groups[g].first < c->groups[g].n)
            return wl_joint_means(c->groups[g].joint, WL_JOINT_TIME)[i - c->groups[g].first] + c->settings[i].ln_work;
    return NAN;
}

/* The fastest of the settings that are marked, or WL_CHOOSE_NO_REFERENCE. */
static size_t fastest_of(const struct wl_choose_campaign *c, const bool *marked)
{
    size_t best = WL_CHOOSE_NO_REFERENCE;
    for (size_t i = 0; i < c->n; i++)
        if (marked[i] && (best == WL_CHOOSE_NO_REFERENCE || expected_time(c, i) < expected_time(c, best))) best = i;
    return best;
}

int wl_choose_reference(const struct wl_choose_campaign *c, const struct wl_observations *obs,
                        const struct wl_choose_where *like, size_t n_like, size_t *out, struct wl_arena *a,
                        struct wl_err *e)
{
    bool *all = wl_new_array(a, bool, c->n);
    for (size_t i = 0; i < c->n; i++) {
        all[i] = true;
        for (size_t k = 0; k < n_like; k++) {
            bool match;
            const int rc = wl_choose_matches(obs, c->row[i], &like[k], &match, a, e);
            if (rc) return wl_err_prefix(e, "--reference %s", like[k].text);
            all[i] = all[i] && match;
        }
    }
    *out = fastest_of(c, wl_choose_least_restrained(c, all, a));
    return *out != WL_CHOOSE_NO_REFERENCE ? 0
                                          : wl_fail(e, WL_EINVAL, "--reference: %s has no such setting", obs->source);
}

/* ---- a reference for each setting ---- */

static bool has_caps(const struct wl_choose_campaign *c)
{
    for (size_t k = 0; k < c->n_axes; k++)
        if (c->axes[k].setting && c->axes[k].setting->is_cap && c->axes[k].number) return true;
    return false;
}

static void note_references(struct wl_choose_campaign *c, size_t missing, size_t unordered, struct wl_arena *a)
{
    if (missing)
        wl_strs_addf(a, &c->notes,
                     "%zu setting%s not measured without a cap (or with the largest): no slowdown is known", missing,
                     missing == 1 ? " was" : "s were");
    if (unordered)
        wl_strs_add(a, &c->notes,
                    "no run was without a cap on every axis that was varied: of settings that are capped on different "
                    "axes, the fastest is the reference");
}

/* Of each family the fastest of those settings that are restrained the least on their hardware; where a family has none
 * of these, what it would have taken is not known. */
static size_t *references_of(struct wl_choose_campaign *c, struct wl_arena *a)
{
    const bool *least = wl_choose_least_restrained(c, NULL, a);
    size_t *family = wl_new_array(a, size_t, c->n), *out = wl_new_array(a, size_t, c->n), missing = 0, unordered = 0;
    const size_t families = wl_choose_families(c, NULL, family, a);
    size_t *of_family = wl_new_array(a, size_t, families);
    for (size_t f = 0; f < families; f++) of_family[f] = WL_CHOOSE_NO_REFERENCE;
    for (size_t i = 0; i < c->n; i++) {
        size_t *of = &of_family[family[i]];
        if (!least[i]) continue;
        unordered += *of != WL_CHOOSE_NO_REFERENCE;
        if (*of == WL_CHOOSE_NO_REFERENCE || expected_time(c, i) < expected_time(c, *of)) *of = i;
    }
    for (size_t i = 0; i < c->n; i++) {
        out[i] = of_family[family[i]];
        missing += out[i] == WL_CHOOSE_NO_REFERENCE;
    }
    note_references(c, missing, unordered, a);
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

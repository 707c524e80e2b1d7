/* Settings that differ in their caps alone. */
#include "advise/choose/axes.h"

#include <math.h>

static bool is_held(const struct wl_choose_axis *x, const char *but)
{
    const bool cap = x->setting && x->setting->is_cap;
    return !x->derived && (but ? !wl_str_eq(x->column, but) : !cap);
}

size_t wl_choose_families(const struct wl_choose_campaign *c, const char *but, size_t *id, struct wl_arena *a)
{
    const char **held = wl_new_array(a, const char *, c->n);
    for (size_t i = 0; i < c->n; i++) {
        struct wl_text t = WL_TEXT(a);
        for (size_t k = 0; k < c->n_axes; k++)
            if (is_held(&c->axes[k], but)) wl_text_addf(&t, "%s\n", c->value[i][k]);
        held[i] = t.s;
    }
    return wl_law_labels(held, c->n, id, a);
}

/* Is the value of an axis missing, or none missing and no other larger? */
static bool is_least_restrained(const struct wl_choose_campaign *c, size_t axis, size_t i)
{
    double v, other;
    if (wl_str_to_real(c->value[i][axis], &v)) return true;
    for (size_t k = 0; k < c->n; k++)
        if (wl_str_to_real(c->value[k][axis], &other) || other > v) return false;
    return true;
}

bool wl_choose_is_unrestrained(const struct wl_choose_campaign *c, const char *but, size_t i)
{
    for (size_t k = 0; k < c->n_axes; k++) {
        const struct wl_choose_axis *x = &c->axes[k];
        const bool cap = x->setting && x->setting->is_cap && x->number;
        if (cap && !wl_str_eq(x->column, but) && !is_least_restrained(c, k, i)) return false;
    }
    return true;
}

static int matches_all(const struct wl_observations *obs, size_t row, const struct wl_choose_where *where,
                       size_t n_where, bool *out, struct wl_arena *a, struct wl_err *e)
{
    int rc = 0;
    *out = true;
    for (size_t k = 0; k < n_where && *out && rc == 0; k++)
        if (wl_str_eq(where[k].column, "workload")) rc = wl_choose_matches(obs, row, &where[k], out, a, e);
    return rc;
}

int wl_choose_workloads(const struct wl_observations *obs, const struct wl_choose_where *where, size_t n_where,
                        struct wl_strs *out, struct wl_arena *a, struct wl_err *e)
{
    const char **texts = wl_new_array(a, const char *, obs->n);
    size_t *id = wl_new_array(a, size_t, obs->n), seen = 0;
    for (size_t row = 0; row < obs->n; row++) texts[row] = obs->workload[row] ? obs->workload[row] : "";
    wl_law_labels(texts, obs->n, id, a);
    for (size_t row = 0; row < obs->n; row++) {
        bool wanted;
        if (id[row] < seen) continue;
        seen++;
        const int rc = matches_all(obs, row, where, n_where, &wanted, a, e);
        if (rc) return rc;
        if (wanted) wl_strs_add(a, out, texts[row]);
    }
    return 0;
}

/* Settings that differ in their caps alone. */
#include "advise/choose/axes.h"

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

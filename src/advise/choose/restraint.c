#include "advise/choose/restraint.h"

#include <math.h>

static bool is_limit(const struct wl_choose_axis *x) { return x->setting && x->setting->is_cap && x->number; }

/* Caps of one kind of hardware say nothing of another's. */
static bool is_device(const struct wl_choose_axis *x) { return wl_str_eq(x->column, "hardware"); }

static bool same_device(const struct wl_choose_campaign *c, size_t i, size_t k)
{
    for (size_t x = 0; x < c->n_axes; x++)
        if (is_device(&c->axes[x]) && !wl_str_eq(c->value[i][x], c->value[k][x])) return false;
    return true;
}

/* INFINITY: no cap. */
static double level(const struct wl_choose_campaign *c, size_t i, size_t axis)
{
    double v;
    return wl_str_to_real(c->value[i][axis], &v) == 0 ? v : INFINITY;
}

static bool is_held_less(const struct wl_choose_campaign *c, size_t i, size_t than)
{
    bool less = false;
    for (size_t x = 0; x < c->n_axes; x++) {
        if (!is_limit(&c->axes[x])) continue;
        const double here = level(c, i, x), there = level(c, than, x);
        if (here < there) return false;
        less = less || here > there;
    }
    return less;
}

/* Numbers settings by their hardware and caps. */
static size_t number_kinds(const struct wl_choose_campaign *c, size_t *kind, struct wl_arena *a)
{
    const char **text = wl_new_array(a, const char *, c->n);
    for (size_t i = 0; i < c->n; i++) {
        struct wl_text t = WL_TEXT(a);
        for (size_t x = 0; x < c->n_axes; x++)
            if (is_limit(&c->axes[x]) || is_device(&c->axes[x])) wl_text_addf(&t, "%s\n", c->value[i][x]);
        text[i] = t.n ? t.s : "";
    }
    return wl_law_labels(text, c->n, kind, a);
}

const bool *wl_choose_least_restrained(const struct wl_choose_campaign *c, const bool *among, struct wl_arena *a)
{
    struct wl_arena *scratch = wl_arena_new(a);
    bool *out = wl_new_array(a, bool, c->n);
    size_t *kind = wl_new_array(scratch, size_t, c->n);
    const size_t kinds = number_kinds(c, kind, scratch);
    size_t *one = wl_new_array(scratch, size_t, kinds); /* 1 + a setting of the kind; 0: none among them */
    bool *held = wl_new_array(scratch, bool, kinds);
    for (size_t i = 0; i < c->n; i++)
        if (!among || among[i]) one[kind[i]] = i + 1;
    for (size_t k = 0; k < kinds; k++)
        for (size_t j = 0; j < kinds && one[k] && !held[k]; j++)
            held[k] = one[j] && same_device(c, one[j] - 1, one[k] - 1) && is_held_less(c, one[j] - 1, one[k] - 1);
    for (size_t i = 0; i < c->n; i++) out[i] = (!among || among[i]) && !held[kind[i]];
    wl_arena_free(scratch);
    return out;
}

/* Is the value of an axis missing, or none of its hardware missing and no other larger? */
static bool is_least_restrained(const struct wl_choose_campaign *c, size_t axis, size_t i)
{
    const double v = level(c, i, axis);
    for (size_t k = 0; k < c->n && v < INFINITY; k++)
        if (level(c, k, axis) > v && same_device(c, i, k)) return false;
    return true;
}

bool wl_choose_is_unrestrained(const struct wl_choose_campaign *c, const char *but, size_t i)
{
    for (size_t x = 0; x < c->n_axes; x++)
        if (is_limit(&c->axes[x]) && !wl_str_eq(c->axes[x].column, but) && !is_least_restrained(c, x, i)) return false;
    return true;
}

#include "advise/choose/effects.h"

#include "advise/choose/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The settings of the campaign, and which of them differ in one axis alone. */
struct effect_held {
    const struct wl_choose_campaign *c;
    const struct wl_choose_context *context;
    size_t axis;
    size_t *rest; /* [n] equal where all other axes are */
    bool has_energy;
    double **draws[WL_CHOOSE_QUANTITIES]; /* [n] ln of time and of energy of each setting; NULL: not asked for yet */
    struct wl_arena *a;
};

static void hold_others(struct effect_held *h)
{
    const struct wl_choose_campaign *c = h->c;
    const char **texts = wl_new_array(h->a, const char *, c->n);
    for (size_t i = 0; i < c->n; i++) {
        struct wl_text t = WL_TEXT(h->a);
        for (size_t k = 0; k < c->n_axes; k++)
            if (k != h->axis && !c->axes[k].derived) wl_text_addf(&t, "%s\n", c->value[i][k]);
        texts[i] = t.s ? t.s : "";
    }
    h->rest = wl_new_array(h->a, size_t, c->n);
    wl_law_labels(texts, c->n, h->rest, h->a);
}

/* ---- the values of an axis ---- */

struct effect_value {
    const char *text;
    double number; /* INFINITY: no cap, which is above all caps */
};

static int by_number(const void *x, const void *y)
{
    const double p = ((const struct effect_value *)x)->number, q = ((const struct effect_value *)y)->number;
    return (p > q) - (p < q);
}

static size_t values_of(const struct effect_held *h, struct effect_value *out)
{
    const struct wl_choose_axis *axis = &h->c->axes[h->axis];
    size_t n = 0;
    for (size_t i = 0; i < h->c->n; i++) {
        const char *text = h->c->value[i][h->axis];
        size_t k = 0;
        while (k < n && strcmp(out[k].text, text) != 0) k++;
        if (k < n) continue;
        double number = INFINITY;
        if (*text && wl_str_to_real(text, &number)) number = INFINITY;
        out[n++] = (struct effect_value) { text, number };
    }
    if (axis->number) qsort(out, n, sizeof *out, by_number);
    return n;
}

static size_t base_of(const struct effect_held *h, size_t n)
{
    const struct wl_choose_axis *axis = &h->c->axes[h->axis];
    return axis->setting && axis->setting->is_cap ? n - 1 : 0;
}

/* ---- ratios ---- */

/* ln of a quantity at one value over that at the base: draws of the mean over the pairs, and its posterior and raw
 * means. */
struct effect_sum {
    double draws[WL_JOINT_DRAWS], mean, raw;
};

/* A setting is in a pair of each of its axes. */
static const double *draws_of(const struct effect_held *h, enum wl_choose_quantity q, size_t i)
{
    double **at = &h->draws[q][i];
    if (*at) return *at;
    *at = wl_new_array(h->a, double, WL_JOINT_DRAWS);
    wl_choose_draws(h->context, q, i, *at);
    return *at;
}

static void add_pair(const struct effect_held *h, enum wl_choose_quantity q, size_t i, size_t base,
                     struct effect_sum *s)
{
    const double *v = draws_of(h, q, i), *of_base = draws_of(h, q, base);
    for (size_t d = 0; d < WL_JOINT_DRAWS; d++) s->draws[d] += v[d] - of_base[d];
    s->mean += wl_choose_mean(h->context, q, i) - wl_choose_mean(h->context, q, base);
    s->raw += wl_choose_raw_mean(h->context, q, i) - wl_choose_raw_mean(h->context, q, base);
}

static struct wl_estimate estimate_of(struct effect_sum *s, size_t pairs)
{
    const double n = (double)pairs;
    return (struct wl_estimate) { exp(s->mean / n), exp(wl_choose_quantile(s->draws, 0.025) / n),
                                  exp(wl_choose_quantile(s->draws, 0.975) / n) };
}

/* The setting at `base` whose other axes are those of setting i, or n. */
static size_t partner_of(const struct effect_held *h, size_t i, const char *base)
{
    for (size_t j = 0; j < h->c->n; j++)
        if (h->rest[j] == h->rest[i] && strcmp(h->c->value[j][h->axis], base) == 0) return j;
    return h->c->n;
}

static struct wl_choose_effect effect_of(const struct effect_held *h, const char *value, const char *base)
{
    static const struct wl_estimate none = { NAN, NAN, NAN };
    struct wl_choose_effect out = { h->axis, value, base, 0, none, none, NAN, NAN };
    struct effect_sum *time = wl_new(h->a, struct effect_sum), *energy = wl_new(h->a, struct effect_sum);
    for (size_t i = 0; i < h->c->n; i++) {
        if (strcmp(h->c->value[i][h->axis], value) != 0) continue;
        const size_t j = partner_of(h, i, base);
        if (j == h->c->n) continue;
        out.pairs++;
        add_pair(h, WL_CHOOSE_TIME, i, j, time);
        if (h->has_energy) add_pair(h, WL_CHOOSE_ENERGY, i, j, energy);
    }
    if (!out.pairs) return out;
    out.time = estimate_of(time, out.pairs);
    out.raw_time = exp(time->raw / (double)out.pairs);
    if (!h->has_energy) return out;
    out.energy = estimate_of(energy, out.pairs);
    out.raw_energy = exp(energy->raw / (double)out.pairs);
    return out;
}

struct wl_choose_effects wl_choose_effects(const struct wl_choose_campaign *c, const struct wl_choose_options *o,
                                           struct wl_arena *a)
{
    struct wl_choose_effects out = { 0 };
    struct wl_arena *scratch = wl_arena_new(a);
    const struct wl_choose_input in = wl_choose_campaign_input(c);
    const struct wl_choose_context context = { &in, o, wl_new_array(scratch, size_t, c->n) };
    for (size_t g = 0; g < c->n_groups; g++)
        for (size_t i = 0; i < c->groups[g].n; i++) context.group[c->groups[g].first + i] = g;
    struct effect_held h = {
        .c = c, .context = &context, .has_energy = !wl_choose_unknown(&in, o, WL_CHOOSE_ENERGY), .a = scratch
    };
    h.draws[WL_CHOOSE_TIME] = wl_new_array(scratch, double *, c->n);
    h.draws[WL_CHOOSE_ENERGY] = wl_new_array(scratch, double *, c->n);
    struct effect_value *values = wl_new_array(scratch, struct effect_value, c->n);
    for (h.axis = 0; h.axis < c->n_axes; h.axis++) {
        if (c->axes[h.axis].derived) continue;
        const size_t n = values_of(&h, values), base = base_of(&h, n);
        hold_others(&h);
        for (size_t k = 0; k < n; k++) {
            if (k == base) continue;
            const struct wl_choose_effect effect = effect_of(&h, values[k].text, values[base].text);
            if (!effect.pairs) continue;
            WL_GROW(a, out.v, out.n, out.cap);
            out.v[out.n++] = effect;
        }
    }
    wl_arena_free(scratch);
    return out;
}

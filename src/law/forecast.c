/* Forecast by model averaging: the candidate models that qualify, by their Akaike weights. */
#include "law/forecast.h"

#include "law/fit/models.h"

#include <math.h>

static const double max_extrapolation = 4; /* times the measured range */
static const double max_error_pct = 25;    /* leave-largest-out error above which a model does not contribute */

static double range_ratio(const struct wl_law_group *g, double workers)
{
    double min = g->configs[0].workers, max = g->configs[g->n_configs - 1].workers;
    return workers > max ? workers / max : workers < min ? workers / min : 1;
}

/* Why a model does not contribute, or NULL. Outside the range its leave-largest-out error must be known and small,
 * unless forced. */
static const char *exclusion_reason(const struct wl_law_model *m, bool outside, bool force, struct wl_arena *a)
{
    if (!m->ranked) return m->reason;
    if (!outside || force) return NULL;
    if (isnan(m->llo_pct)) return "too few worker counts for leave-largest-out cross-validation";
    if (m->llo_pct > max_error_pct)
        return wl_strf(a, "its leave-largest-out error is %.3g %%, above %g %%", m->llo_pct, max_error_pct);
    return NULL;
}

static void collect_components(struct wl_law_forecast *f, const struct wl_law_group *g, bool force, struct wl_arena *a)
{
    double sum = 0;
    bool outside = f->ratio != 1;
    f->components = wl_new_array(a, struct wl_law_forecast_component, g->n_models);
    f->n_components = g->n_models;
    for (size_t i = 0; i < g->n_models; i++) {
        const struct wl_law_model *m = &g->models[i];
        struct wl_law_forecast_component *v = &f->components[i];
        *v = (struct wl_law_forecast_component) {
            m, NAN, NAN, NAN, NAN, (double)g->n_runs - (double)m->k, exclusion_reason(m, outside, force, a)
        };
        if (!m->ranked) continue;
        double y = wl_law_model_eval(m, f->workers, &v->se);
        double missed = outside && !isnan(m->llo_pct) ? log1p(m->llo_pct / 100) : 0;
        v->value = exp(y);
        v->scale = sqrt(v->se * v->se + m->sse / v->df + missed * missed);
        if (!v->reason && !isfinite(v->scale)) v->reason = "its standard error is unknown";
        if (!v->reason) sum += v->weight = m->weight, f->n_contributing++;
    }
    for (size_t i = 0; i < f->n_components; i++) f->components[i].weight /= sum;
}

/* P(ln response of one more run <= y). */
static double mixture_cdf(const struct wl_law_forecast *f, double y)
{
    double p = 0;
    for (size_t i = 0; i < f->n_components; i++) {
        const struct wl_law_forecast_component *v = &f->components[i];
        if (!v->reason) p += v->weight * wl_t_cdf((y - log(v->value)) / v->scale, v->df);
    }
    return p;
}

/* Bisection between the smallest and the largest quantile of the components. */
static double mixture_quantile(const struct wl_law_forecast *f, double p)
{
    double lo = INFINITY, hi = -INFINITY;
    for (size_t i = 0; i < f->n_components; i++) {
        const struct wl_law_forecast_component *v = &f->components[i];
        if (v->reason) continue;
        double q = wl_t_quantile(p, v->df) * v->scale;
        lo = fmin(lo, log(v->value) + q);
        hi = fmax(hi, log(v->value) + q);
    }
    for (int i = 0; i < 200 && hi - lo > 1e-13 * (1 + fabs(hi)); i++) {
        double middle = (lo + hi) / 2;
        *(mixture_cdf(f, middle) < p ? &lo : &hi) = middle;
    }
    return exp((lo + hi) / 2);
}

/* Where no model contributes: the reported law. */
static void from_power_law(struct wl_law_forecast *f, const struct wl_law_group *g, struct wl_arena *a)
{
    struct wl_law_point p = wl_law_at(g, f->workers);
    f->basis = "power_law";
    f->value = p.value;
    f->lo = p.run_lo;
    f->hi = p.run_hi;
    wl_strs_addf(a, &f->notes, "from the power law alone%s%s",
                 g->no_models_reason ? ": " : ": no other model could be fitted",
                 g->no_models_reason ? g->no_models_reason : "");
    if (isnan(f->lo)) wl_strs_addf(a, &f->notes, "no interval: the law has no error estimate");
}

static void from_models(struct wl_law_forecast *f, struct wl_arena *a)
{
    double min = INFINITY, max = 0;
    f->basis = "models";
    f->value = mixture_quantile(f, 0.5);
    f->lo = mixture_quantile(f, (1 - WL_LAW_CONFIDENCE) / 2);
    f->hi = mixture_quantile(f, (1 + WL_LAW_CONFIDENCE) / 2);
    for (size_t i = 0; i < f->n_components; i++) {
        if (f->components[i].reason || f->components[i].weight < 0.05) continue;
        min = fmin(min, f->components[i].value);
        max = fmax(max, f->components[i].value);
    }
    if (max > 1.1 * min)
        wl_strs_addf(a, &f->notes, "models with a weight of at least 0.05 predict %.4g to %.4g", min, max);
}

static bool any_ranked(const struct wl_law_group *g)
{
    for (size_t i = 0; i < g->n_models; i++)
        if (g->models[i].ranked) return true;
    return false;
}

struct wl_law_forecast wl_law_forecast_at(const struct wl_law_group *g, double workers, bool force, struct wl_arena *a)
{
    struct wl_law_forecast f = { .workers = workers, .ratio = NAN, .value = NAN, .lo = NAN, .hi = NAN };
    if (g->no_law_reason || !(workers > 0)) {
        f.refusal = g->no_law_reason ? g->no_law_reason : "the worker count must be positive";
        return f;
    }
    f.ratio = range_ratio(g, workers);
    bool outside = f.ratio != 1, far = f.ratio > max_extrapolation || f.ratio < 1 / max_extrapolation;
    if (far && !force) {
        f.refusal =
            wl_strf(a,
                    "%g workers are %.3g times the measured range (%g to %g), the limit is a factor of %g; measure "
                    "closer, or use --force",
                    workers, f.ratio, g->configs[0].workers, g->configs[g->n_configs - 1].workers, max_extrapolation);
        return f;
    }
    collect_components(&f, g, force, a);
    if (outside && !f.n_contributing && !force) {
        f.refusal =
            "no model has a known leave-largest-out error of at most 25 %; measure more worker counts, or use --force";
        return f;
    }
    if (f.n_contributing)
        from_models(&f, a);
    else
        from_power_law(&f, g, a);
    if (outside && force)
        wl_strs_addf(a, &f.notes, "forced: models with a large or unknown leave-largest-out error contribute");
    if (any_ranked(g) && !f.n_contributing) wl_strs_addf(a, &f.notes, "no model has a known error");
    return f;
}

/* A worker count that was not measured: all curves that may speak, by their weights. */
#include "law/forecast.h"

#include "law/fit/models.h"

#include <math.h>

static const double max_extrapolation = 4; /* times the measured range */
static const double max_error_pct = 25;    /* error at larger worker counts beyond which a curve is no predictor */

static double range_ratio(const struct wl_law_group *g, double workers)
{
    double least = g->configs[0].workers, most = g->configs[g->n_configs - 1].workers;
    return workers > most ? workers / most : workers < least ? workers / least : 1;
}

/* May this curve speak? Beyond the range it has to have foretold larger worker counts, unless forced. */
static const char *unfit(const struct wl_law_model *m, bool outside, bool force, struct wl_arena *a)
{
    if (!m->ranked) return m->reason;
    if (!outside || force) return NULL;
    if (isnan(m->llo_pct)) return "too few worker counts to see how it foretells larger ones";
    if (m->llo_pct > max_error_pct) return wl_strf(a, "was %.3g %% off at larger worker counts", m->llo_pct);
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
            m, NAN, NAN, NAN, NAN, (double)g->n_runs - (double)m->k, unfit(m, outside, force, a)
        };
        if (!m->ranked) continue;
        double y = wl_law_model_eval(m, f->workers, &v->se);
        double missed = outside && !isnan(m->llo_pct) ? log1p(m->llo_pct / 100) : 0;
        v->value = exp(y);
        v->scale = sqrt(v->se * v->se + m->sse / v->df + missed * missed);
        if (!v->reason && !isfinite(v->scale)) v->reason = "its error is not known";
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

/* By halving between ends that surely hold it. */
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

/* Where there are no curves: the reported law. */
static void from_power_law(struct wl_law_forecast *f, const struct wl_law_group *g, struct wl_arena *a)
{
    struct wl_law_point p = wl_law_at(g, f->workers);
    f->basis = "power_law";
    f->value = p.value;
    f->lo = p.run_lo;
    f->hi = p.run_hi;
    wl_strs_addf(a, &f->notes, "from the power law alone%s%s",
                 g->no_models_reason ? ": " : ": no other curve could be fitted",
                 g->no_models_reason ? g->no_models_reason : "");
    if (isnan(f->lo)) wl_strs_addf(a, &f->notes, "no interval: the law has no error estimate");
}

static void from_models(struct wl_law_forecast *f, struct wl_arena *a)
{
    double least = INFINITY, most = 0;
    f->basis = "models";
    f->value = mixture_quantile(f, 0.5);
    f->lo = mixture_quantile(f, (1 - WL_LAW_CONFIDENCE) / 2);
    f->hi = mixture_quantile(f, (1 + WL_LAW_CONFIDENCE) / 2);
    for (size_t i = 0; i < f->n_components; i++) {
        if (f->components[i].reason || f->components[i].weight < 0.05) continue;
        least = fmin(least, f->components[i].value);
        most = fmax(most, f->components[i].value);
    }
    if (most > 1.1 * least)
        wl_strs_addf(a, &f->notes, "curves with a weight of 0.05 or more say %.4g to %.4g", least, most);
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
        f.refusal = g->no_law_reason ? g->no_law_reason : "a worker count is positive";
        return f;
    }
    f.ratio = range_ratio(g, workers);
    bool outside = f.ratio != 1, far = f.ratio > max_extrapolation || f.ratio < 1 / max_extrapolation;
    if (far && !force) {
        f.refusal =
            wl_strf(a,
                    "%g workers are %.3g times what was measured (%g to %g), beyond a factor of %g; measure "
                    "nearer, or --force",
                    workers, f.ratio, g->configs[0].workers, g->configs[g->n_configs - 1].workers, max_extrapolation);
        return f;
    }
    collect_components(&f, g, force, a);
    if (outside && !f.n_contributing && !force) {
        f.refusal =
            "no curve forecasts larger worker counts from smaller ones within 25 %, or there are too few to see; "
            "measure more worker counts, or --force";
        return f;
    }
    if (f.n_contributing)
        from_models(&f, a);
    else
        from_power_law(&f, g, a);
    if (outside && force)
        wl_strs_addf(a, &f.notes, "forced: curves that failed at larger worker counts, or were not tried, take part");
    if (any_ranked(g) && !f.n_contributing) wl_strs_addf(a, &f.notes, "no curve has a known error");
    return f;
}

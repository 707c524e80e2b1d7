/* Candidate models fitted to ln t of runs: which one the data prefer (AICc), and which one predicts larger worker
 * counts from smaller ones best. */
#include "law/fit/models.h"

#include "law/fit/formulas.h"

#include <math.h>
#include <string.h>

enum { MAX_PARAMS = WL_LAW_MODEL_PARAMS, STARTS = 10, ENOUGH = 3 };

static const double negligible_share = 1e-4; /* a term below this share of t at every N counts as 0 */

/* ---- one fit ---- */

struct data {
    const struct wl_law_formula *model;
    const double *workers, *y; /* [n] y = ln t */
    size_t n;
};

static void natural(const struct wl_law_formula *m, const double *theta, double *p)
{
    for (size_t j = 0; j < m->k; j++) p[j] = m->any_sign[j] ? theta[j] : exp(theta[j]);
}

static void residuals(const double *theta, double *residual, double *jacobian, void *opaque)
{
    const struct data *data = opaque;
    const struct wl_law_formula *m = data->model;
    double p[MAX_PARAMS], d[MAX_PARAMS];
    natural(m, theta, p);
    for (size_t i = 0; i < data->n; i++) {
        double t = m->t(data->workers[i], p, d);
        residual[i] = log(t) - data->y[i];
        for (size_t j = 0; jacobian && j < m->k; j++)
            jacobian[i + j * data->n] = d[j] / t * (m->any_sign[j] ? 1 : p[j]);
    }
}

/* The best of the starts; false where none converges. Three that end at the same best sum of squares are enough. */
static bool fit_best(const struct data *data, struct wl_nls *best, struct wl_arena *a)
{
    static const double shares[] = { 0.3, 0.1, 0.03, 0.01, 0.003 };
    const struct wl_law_formula *m = data->model;
    bool found = false;
    size_t agree = 0;
    for (size_t i = 0; i < STARTS && agree < ENOUGH; i++) {
        double p[MAX_PARAMS], theta[MAX_PARAMS];
        m->start(data->workers[0], exp(data->y[0]), shares[i / 2], i % 2 ? 1 : 0.7, p);
        for (size_t j = 0; j < m->k; j++) theta[j] = m->any_sign[j] ? p[j] : log(p[j]);
        struct wl_nls fit;
        struct wl_err e;
        struct wl_nls_problem problem = { data->n, m->k, residuals, (void *)data };
        if (wl_nls_fit(&fit, &problem, theta, a, &e) || !isfinite(fit.sse)) continue;
        bool better = !found || fit.sse < best->sse * (1 - 1e-6);
        agree = better ? 1 : agree + (fit.sse < best->sse * (1 + 1e-6));
        if (!found || fit.sse < best->sse) *best = fit;
        found = true;
    }
    return found;
}

/* A fitted curve in its own parameters. */
struct curve {
    double p[MAX_PARAMS], se[MAX_PARAMS], sse;
    double cov[MAX_PARAMS * MAX_PARAMS]; /* as of struct wl_law_model */
};

/* The columns of the segmented line with breakpoint c at x. */
static void segmented_columns(double x, double c, double *before, double *after)
{
    *before = fmin(x, c);
    *after = fmax(x - c, 0);
}

/* The covariance of intercept and slopes at the fitted breakpoint, which counts as a fourth parameter in sigma. */
static void segmented_errors(const struct data *data, const double *x, double at, double *cov, struct wl_arena *a)
{
    size_t n = data->n;
    double *columns = wl_new_array(a, double, 2 * n);
    const struct wl_ols_data lines = { .n = n, .columns = 2, .y = data->y, .x = columns, .intercept = true };
    struct wl_ols o;
    for (size_t i = 0; i < n; i++) segmented_columns(x[i], at, &columns[i], &columns[i + n]);
    bool known = n > 4 && !wl_ols_fit(&o, &lines, a, NULL);
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 3; j++) cov[i + j * MAX_PARAMS] = known ? o.cov[i + j * 3] * o.df / (o.df - 1) : NAN;
}

static bool fit_segmented(const struct data *data, struct curve *out, struct wl_arena *a)
{
    double *x = wl_new_array(a, double, data->n);
    struct wl_segmented b;
    struct wl_err e;
    for (size_t i = 0; i < data->n; i++) x[i] = log(data->workers[i]);
    if (wl_segmented_fit(x, data->y, data->n, &(struct wl_segmented_options) { WL_LAW_CONFIDENCE, 0 }, &b, a, &e))
        return false;
    *out =
        (struct curve) { { exp(b.b0), -b.slope1, -b.slope2, exp(b.breakpoint) }, { NAN, NAN, NAN, NAN }, b.sse, { 0 } };
    segmented_errors(data, x, b.breakpoint, out->cov, a);
    return true;
}

static bool fit_curve(const struct data *data, struct curve *out, struct wl_arena *a)
{
    const struct wl_law_formula *m = data->model;
    struct wl_nls fit;
    if (m->segmented) return fit_segmented(data, out, a);
    if (!fit_best(data, &fit, a)) return false;
    natural(m, fit.theta, out->p);
    for (size_t j = 0; j < m->k; j++) out->se[j] = fit.se[j] * (m->any_sign[j] ? 1 : out->p[j]);
    for (size_t i = 0; i < m->k; i++)
        for (size_t j = 0; j < m->k; j++) out->cov[i + j * MAX_PARAMS] = fit.cov[i + j * m->k];
    out->sse = fit.sse;
    return true;
}

/* The name of a positive parameter whose term is negligible at every worker count, or NULL. */
static const char *negligible_term(const struct data *data, const double *p)
{
    const struct wl_law_formula *m = data->model;
    for (size_t j = 0; j < m->k; j++) {
        double d[MAX_PARAMS], max = 0;
        if (m->any_sign[j]) continue;
        for (size_t i = 0; i < data->n; i++) {
            double t = m->t(data->workers[i], p, d);
            max = fmax(max, fabs(p[j] * d[j]) / t);
        }
        if (max < negligible_share) return m->param[j];
    }
    return NULL;
}

/* Twice the negative log-likelihood of normal residuals. */
static double deviance(double sse, double n) { return n * (log(2 * M_PI * sse / n) + 1); }

double wl_law_aicc(double sse, double n, double parameters)
{
    double k = parameters + 1; /* sigma counts */
    return n > k + 1 && sse > 0 ? deviance(sse, n) + 2 * k + 2 * k * (k + 1) / (n - k - 1) : NAN;
}

static void criteria(struct wl_law_model *out, double sse, double n)
{
    out->sse = sse;
    out->bic = deviance(sse, n) + ((double)out->k + 1) * log(n);
    out->aicc = wl_law_aicc(sse, n, (double)out->k);
}

static void fit_model(struct wl_law_model *out, const struct wl_law_formula *m, const struct data *all, size_t counts,
                      struct wl_arena *a)
{
    struct data data = *all;
    struct curve fit;
    data.model = m;
    *out = (struct wl_law_model) { m->name,     m->formula, m->k,          m->param,      .sse = NAN,
                                   .aicc = NAN, .bic = NAN, .weight = NAN, .llo_pct = NAN };
    for (size_t j = 0; j < MAX_PARAMS; j++) out->value[j] = out->se[j] = NAN;
    if (counts <= m->k || data.n <= m->k + 2) {
        out->reason = wl_strf(a, "needs at least %zu worker counts and %zu runs", m->k + 1, m->k + 3);
        return;
    }
    if (!fit_curve(&data, &fit, a)) {
        out->reason = "the fit does not converge from any start";
        return;
    }
    for (size_t j = 0; j < m->k; j++) out->value[j] = fit.p[j], out->se[j] = fit.se[j];
    memcpy(out->cov, fit.cov, sizeof fit.cov);
    criteria(out, fit.sse, (double)data.n);
    if (!(fit.sse > 0)) out->reason = "the model passes through every run: there is no residual to compare";
    const char *gone = negligible_term(&data, out->value);
    if (gone) out->reason = wl_strf(a, "%s is 0 within rounding: the model reduces to a simpler one", gone);
    out->ranked = !out->reason;
}

/* ---- leave-largest-out cross-validation ---- */

/* Fits the runs up to Nmax / 2^k, k = 1, 2, and takes the root mean square of ln error at the larger worker counts. */
static double leave_largest_out_error(const struct wl_law_group *g, const struct wl_law_formula *m,
                                      const struct data *all, struct wl_arena *a)
{
    double squares = 0, max = g->configs[g->n_configs - 1].workers;
    size_t n = 0;
    for (int halvings = 1; halvings <= 2; halvings++) {
        struct data part = *all;
        part.model = m;
        size_t counts = 0;
        part.n = 0;
        while (counts < g->n_configs && g->configs[counts].workers <= max / (1 << halvings))
            part.n += g->configs[counts++].runs;
        struct curve fit;
        if (counts <= m->k || part.n <= m->k || !fit_curve(&part, &fit, a)) continue;
        double d[MAX_PARAMS];
        for (size_t i = counts; i < g->n_configs; i++, n++) {
            double error = log(m->t(g->configs[i].workers, fit.p, d)) - log(g->configs[i].response);
            squares += error * error;
        }
    }
    return n ? 100 * (exp(sqrt(squares / (double)n)) - 1) : NAN;
}

/* ---- the comparison ---- */

static void assign_weights(struct wl_law_group *g)
{
    double best = INFINITY, sum = 0;
    for (size_t i = 0; i < g->n_models; i++)
        if (g->models[i].ranked && g->models[i].aicc < best) best = g->models[i].aicc, g->best_model = &g->models[i];
    for (size_t i = 0; i < g->n_models; i++) {
        struct wl_law_model *m = &g->models[i];
        if (m->ranked) sum += m->weight = exp((best - m->aicc) / 2);
        if (m->ranked && m->llo_pct < (g->best_predictor ? g->best_predictor->llo_pct : INFINITY))
            g->best_predictor = m;
    }
    for (size_t i = 0; i < g->n_models; i++) g->models[i].weight /= sum;
}

void wl_law_fit_models(struct wl_law_group *g, enum wl_law_response response, struct wl_arena *a)
{
    if (g->no_law_reason) {
        g->no_models_reason = g->no_law_reason;
        return;
    }
    if (response != WL_LAW_TIME || g->scaling == WL_SCALING_MIXED) {
        g->no_models_reason = response != WL_LAW_TIME ? "the candidate models describe time, not energy"
                                                      : "epochs are not comparable across worker counts";
        return;
    }
    double *workers = wl_new_array(a, double, g->n_runs), *y = wl_new_array(a, double, g->n_runs);
    for (size_t i = 0; i < g->n_runs; i++) workers[i] = g->runs[i].workers, y[i] = g->runs[i].y;
    struct data all = { NULL, workers, y, g->n_runs };
    size_t n;
    const struct wl_law_formula *formulas = wl_law_formulas(&n);
    g->models = wl_new_array(a, struct wl_law_model, n);
    for (size_t i = 0; i < n; i++) {
        if (formulas[i].weak != (g->scaling == WL_SCALING_WEAK)) continue;
        struct wl_law_model *out = &g->models[g->n_models++];
        fit_model(out, &formulas[i], &all, g->n_configs, a);
        if (out->ranked) out->llo_pct = leave_largest_out_error(g, &formulas[i], &all, a);
    }
    assign_weights(g);
}

/* ---- a fitted model at a worker count ---- */

static const struct wl_law_formula *formula_of(const struct wl_law_model *fitted)
{
    size_t n;
    const struct wl_law_formula *all = wl_law_formulas(&n);
    for (size_t i = 0; i < n; i++)
        if (all[i].formula == fitted->formula && all[i].name == fitted->name) return &all[i];
    return NULL;
}

double wl_law_model_eval(const struct wl_law_model *fitted, double workers, double *se)
{
    const struct wl_law_formula *m = formula_of(fitted);
    double d[MAX_PARAMS], gradient[MAX_PARAMS], variance = 0, t = m->t(workers, fitted->value, d);
    size_t k = m->segmented ? 3 : m->k;
    for (size_t j = 0; !m->segmented && j < k; j++) gradient[j] = d[j] / t * (m->any_sign[j] ? 1 : fitted->value[j]);
    if (m->segmented) {
        gradient[0] = 1;
        segmented_columns(log(workers), log(fitted->value[3]), &gradient[1], &gradient[2]);
    }
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < k; j++) variance += gradient[i] * gradient[j] * fitted->cov[i + j * MAX_PARAMS];
    *se = sqrt(fmax(variance, 0));
    return log(t);
}

/* Candidate models fitted to ln t of runs: which one the data prefer (AICc), and which one predicts larger worker
 * counts from smaller ones best. */
#include "law/fit/models.h"

#include "law/fit/estimate.h"
#include "law/fit/formulas.h"

#include <math.h>
#include <string.h>

enum { MAX_PARAMS = WL_LAW_MODEL_PARAMS, STARTS = 10, ENOUGH = 3 };

static const double negligible_share = 1e-4; /* a term below this share of t at every N counts as 0 */

/* ---- one fit ---- */

/* The runs of the smallest worker counts. A curve is fitted to the means of worker counts, weighted by their runs: the
 * squares of runs about those means are the same for any curve. */
struct data {
    const struct wl_law_formula *model;
    const double *workers, *y;   /* [counts] y = mean of ln t */
    const double *root_weight;   /* [counts] of the number of runs */
    const double *squares;       /* [counts] of runs about their means, summed up to each count */
    const double *run_x, *run_y; /* [runs] ln N, ln t */
    size_t counts, runs;
};

static double squares_of(const struct data *d) { return d->squares[d->counts - 1]; }

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
    for (size_t i = 0; i < data->counts; i++) {
        double t = m->t(data->workers[i], p, d);
        residual[i] = data->root_weight[i] * (log(t) - data->y[i]);
        for (size_t j = 0; jacobian && j < m->k; j++)
            jacobian[i + j * data->counts] = data->root_weight[i] * d[j] / t * (m->any_sign[j] ? 1 : p[j]);
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
        struct wl_nls_problem problem = { .n = data->counts,
                                          .k = m->k,
                                          .replicate_squares = squares_of(data),
                                          .replicate_df = (double)(data->runs - data->counts),
                                          .residual_fn = residuals,
                                          .data = (void *)data };
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
static void segmented_errors(const struct data *data, double at, double sse, double *cov, struct wl_arena *a)
{
    size_t n = data->counts;
    double *columns = wl_new_array(a, double, 2 * n), *weights = wl_new_array(a, double, n);
    const struct wl_ols_data lines = {
        .n = n, .columns = 2, .y = data->y, .x = columns, .weights = weights, .intercept = true
    };
    struct wl_ols o;
    for (size_t i = 0; i < n; i++) {
        segmented_columns(log(data->workers[i]), at, &columns[i], &columns[i + n]);
        weights[i] = data->root_weight[i] * data->root_weight[i];
    }
    bool known = data->runs > 4 && !wl_ols_fit(&o, &lines, a, NULL);
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 3; j++)
            cov[i + j * MAX_PARAMS] = known ? o.inverse[i + j * 3] * sse / (double)(data->runs - 4) : NAN;
}

static bool fit_segmented(const struct data *data, struct curve *out, struct wl_arena *a)
{
    struct wl_segmented b;
    struct wl_err e;
    if (wl_segmented_fit(data->run_x, data->run_y, data->runs, &(struct wl_segmented_options) { WL_LAW_CONFIDENCE, 0 },
                         &b, a, &e))
        return false;
    *out =
        (struct curve) { { exp(b.b0), -b.slope1, -b.slope2, exp(b.breakpoint) }, { NAN, NAN, NAN, NAN }, b.sse, { 0 } };
    segmented_errors(data, b.breakpoint, b.sse, out->cov, a);
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
        for (size_t i = 0; i < data->counts; i++) {
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

static void fit_model(struct wl_law_model *out, const struct wl_law_formula *m, const struct data *all,
                      struct wl_arena *a)
{
    struct data data = *all;
    struct curve fit;
    data.model = m;
    *out = (struct wl_law_model) { m->name,     m->formula, m->k,          m->param,      .sse = NAN,
                                   .aicc = NAN, .bic = NAN, .weight = NAN, .llo_pct = NAN };
    for (size_t j = 0; j < MAX_PARAMS; j++) out->value[j] = out->se[j] = NAN;
    if (data.counts <= m->k || data.runs <= m->k + 2) {
        out->reason = wl_strf(a, "needs at least %zu worker counts and %zu runs", m->k + 1, m->k + 3);
        return;
    }
    struct wl_arena *scratch = wl_arena_new(a);
    const bool fitted = fit_curve(&data, &fit, scratch);
    wl_arena_free(scratch);
    if (!fitted) {
        out->reason = "the fit does not converge from any start";
        return;
    }
    for (size_t j = 0; j < m->k; j++) out->value[j] = fit.p[j], out->se[j] = fit.se[j];
    memcpy(out->cov, fit.cov, sizeof fit.cov);
    criteria(out, fit.sse, (double)data.runs);
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
        part.counts = part.runs = 0;
        while (part.counts < g->n_configs && g->configs[part.counts].workers <= max / (1 << halvings))
            part.runs += g->configs[part.counts++].runs;
        struct curve fit;
        if (part.counts <= m->k || part.runs <= m->k || !fit_curve(&part, &fit, a)) continue;
        double d[MAX_PARAMS];
        for (size_t i = part.counts; i < g->n_configs; i++, n++) {
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

static struct data data_of(const struct wl_law_group *g, struct wl_arena *a)
{
    const size_t n = g->n_configs;
    double *workers = wl_new_array(a, double, n), *y = wl_new_array(a, double, n), *root = wl_new_array(a, double, n),
           *squares = wl_new_array(a, double, n), *run_x, *run_y, sum = 0;
    const size_t runs = wl_law_estimate_points(g, false, &run_x, &run_y, a);
    for (size_t i = 0, first = 0; i < n; first += g->configs[i++].runs) {
        const size_t k = g->configs[i].runs;
        const double sd = wl_sd(run_y + first, k);
        workers[i] = g->configs[i].workers;
        y[i] = wl_mean(run_y + first, k);
        root[i] = sqrt((double)k);
        squares[i] = sum += k > 1 ? sd * sd * (double)(k - 1) : 0;
    }
    return (struct data) { NULL, workers, y, root, squares, run_x, run_y, n, runs };
}

void wl_law_fit_models(struct wl_law_group *g, enum wl_law_response response, struct wl_arena *a)
{
    if (g->no_law_reason) {
        g->no_models_reason = g->no_law_reason;
        return;
    }
    if (response != WL_LAW_TIME || g->scaling == WL_SCALING_MIXED) {
        g->no_models_reason = response != WL_LAW_TIME
                                  ? "the candidate models describe time, not energy"
                                  : wl_strf(a, "%s are not comparable across worker counts", wl_law_rows_name(g));
        return;
    }
    struct wl_arena *scratch = wl_arena_new(a);
    const struct data all = data_of(g, scratch);
    size_t n;
    const struct wl_law_formula *formulas = wl_law_formulas(&n);
    g->models = wl_new_array(a, struct wl_law_model, n);
    for (size_t i = 0; i < n; i++) {
        if (formulas[i].weak != (g->scaling == WL_SCALING_WEAK)) continue;
        struct wl_law_model *out = &g->models[g->n_models++];
        fit_model(out, &formulas[i], &all, a);
        if (out->ranked) out->llo_pct = leave_largest_out_error(g, &formulas[i], &all, scratch);
    }
    wl_arena_free(scratch);
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

/* The line of y on ln N over runs and over worker counts, and which of the two to report. */
#include "law/internal.h"

#include <math.h>

/* Fits n points; what the line cannot give stays NAN. */
static struct wl_law_estimate estimate_line(const char *name, const double *y, const double *x, size_t n,
                                            struct wl_arena *a)
{
    struct wl_law_estimate out = { .name = name, .n = n };
    struct wl_err e;
    if (wl_ols_fit(&out.line, y, x, n, 1, true, a, &e)) {
        out.n = 0;
        out.why = wl_strdup(a, e.msg);
        return out;
    }
    const struct wl_ols *o = &out.line;
    double half_alpha = wl_ols_half_width(o, 0, WL_LAW_LEVEL), half_beta = wl_ols_half_width(o, 1, WL_LAW_LEVEL);
    out.alpha = exp(o->b[0]);
    out.alpha_lo = exp(o->b[0] - half_alpha);
    out.alpha_hi = exp(o->b[0] + half_alpha);
    out.beta = -o->b[1] + 0.0; /* no negative zero */
    out.beta_se = o->se[1];
    out.beta_lo = out.beta - half_beta;
    out.beta_hi = out.beta + half_beta;
    out.r2 = o->df > 0 ? o->r2 : NAN; /* of two points it is 1 whatever they are */
    out.r2_adj = o->r2_adj;
    out.p_beta = o->p[1];
    out.sigma = o->sigma;
    out.df = o->df;
    if (!(o->df > 0))
        out.why = wl_strf(a, "no error estimate: a line through %zu points leaves no degrees of freedom", n);
    return out;
}

static struct wl_law_estimate no_line(const char *name, const char *why)
{
    return (struct wl_law_estimate) { .name = name,
                                      .alpha = NAN,
                                      .alpha_lo = NAN,
                                      .alpha_hi = NAN,
                                      .beta = NAN,
                                      .beta_se = NAN,
                                      .beta_lo = NAN,
                                      .beta_hi = NAN,
                                      .r2 = NAN,
                                      .r2_adj = NAN,
                                      .p_beta = NAN,
                                      .sigma = NAN,
                                      .df = NAN,
                                      .why = why };
}

static double half_width(const struct wl_law_estimate *e) { return (e->beta_hi - e->beta_lo) / 2; }

static const char *refusal(const struct wl_law_group *g, struct wl_arena *a)
{
    if (g->counts.rows && g->counts.no_workers == g->counts.rows)
        return "no law: no row has a positive worker count";
    if (!g->n_configs) return "no law: no row has both a worker count and a positive response";
    return wl_strf(a, "no law: all runs have %g workers, and a scaling law needs at least two worker counts",
                   g->configs[0].workers);
}

void wl_law_estimate(struct wl_law_group *g, struct wl_arena *a)
{
    g->lack_of_fit = (struct wl_lack_of_fit) { .f = NAN, .p = NAN, .df1 = NAN, .df2 = NAN, .ss_pure = NAN };
    if (g->n_configs < 2) {
        g->refused = refusal(g, a);
        g->run_means = no_line("run_means", g->refused);
        g->config_means = no_line("config_means", g->refused);
        return;
    }
    size_t n = g->n_runs, m = g->n_configs;
    double *x = wl_new_array(a, double, n), *y = wl_new_array(a, double, n);
    for (size_t i = 0; i < n; i++) x[i] = log(g->runs[i].workers), y[i] = g->runs[i].y;
    g->run_means = estimate_line("run_means", y, x, n, a);
    g->lack_of_fit = wl_lack_of_fit(x, y, n, g->run_means.line.sse, 2, a);
    for (size_t i = 0; i < n; i++) g->runs[i].studentised = g->run_means.line.student[i];
    for (size_t i = 0; i < m; i++) x[i] = log(g->configs[i].workers), y[i] = log(g->configs[i].response);
    g->config_means = estimate_line("config_means", y, x, m, a);
    bool wider = half_width(&g->config_means) > half_width(&g->run_means); /* false where either is NAN */
    g->law = wider ? &g->config_means : &g->run_means;
}

struct wl_law_point wl_law_at(const struct wl_law_group *g, double workers)
{
    struct wl_law_point out = { workers, NAN, NAN, NAN, NAN, NAN };
    if (!g->law || !(workers > 0)) return out;
    double x = log(workers), extra = 0;
    struct wl_prediction p = wl_ols_predict(&g->law->line, &x, WL_LAW_LEVEL);
    if (g->law == &g->config_means && g->lack_of_fit.df2 > 0) {
        /* Scatter about a line through means is that of worker counts and a share 1/n of that between runs; one
         * more run carries the rest of the latter. n: the harmonic mean of runs at a worker count. */
        double shares = 0;
        for (size_t i = 0; i < g->n_configs; i++) shares += 1 / (double)g->configs[i].runs;
        extra = g->lack_of_fit.ss_pure / g->lack_of_fit.df2 * (1 - shares / (double)g->n_configs);
    }
    double half = (p.run_hi - p.run_lo) / 2 * sqrt(1 + (extra > 0 ? extra / (p.se_run * p.se_run) : 0));
    out.value = exp(p.fit);
    out.curve_lo = exp(p.mean_lo);
    out.curve_hi = exp(p.mean_hi);
    out.run_lo = exp(p.fit - half);
    out.run_hi = exp(p.fit + half);
    return out;
}

struct wl_law_point *wl_law_curve(const struct wl_law_group *g, size_t n, struct wl_arena *a)
{
    if (!g->law || n < 2) return NULL;
    struct wl_law_point *points = wl_new_array(a, struct wl_law_point, n);
    double first = g->configs[0].workers, last = g->configs[g->n_configs - 1].workers;
    for (size_t i = 0; i < n; i++) points[i] = wl_law_at(g, first * pow(last / first, (double)i / (double)(n - 1)));
    return points;
}

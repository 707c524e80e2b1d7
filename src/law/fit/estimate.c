/* The line of y on ln N over runs and over worker counts, and which of the two to report. */
#include "law/fit/estimate.h"

#include <math.h>

/* Fits n points; what the line cannot give stays NAN. */
struct wl_law_estimate wl_law_estimate_line(const char *name, const double *y, const double *x, const double *weights,
                                            size_t n, struct wl_arena *a)
{
    struct wl_law_estimate out = { .name = name, .n = n };
    const struct wl_ols_data data = { n, 1, y, x, weights, .intercept = true };
    struct wl_err e;
    if (wl_ols_fit(&out.line, &data, a, &e)) return wl_law_estimate_missing(name, wl_strdup(a, e.msg));
    const struct wl_ols *o = &out.line;
    double half_alpha = wl_ols_half_width(o, 0, WL_LAW_CONFIDENCE),
           half_beta = wl_ols_half_width(o, 1, WL_LAW_CONFIDENCE);
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
        out.reason = wl_strf(a, "no error estimate: a line through %zu points leaves no degrees of freedom", n);
    return out;
}

struct wl_law_estimate wl_law_estimate_missing(const char *name, const char *why)
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
                                      .reason = why };
}

static double half_width(const struct wl_law_estimate *e) { return (e->beta_hi - e->beta_lo) / 2; }

const char *wl_law_estimate_refusal(const struct wl_law_group *g, struct wl_arena *a)
{
    if (g->counts.rows && g->counts.no_workers == g->counts.rows) return "no law: no row has a positive worker count";
    if (!g->n_configs) return "no law: no row has both a worker count and a positive response";
    return wl_strf(a, "no law: one worker count, N = %g; a scaling law needs at least two", g->configs[0].workers);
}

size_t wl_law_estimate_points(const struct wl_law_group *g, bool config, double **x, double **y, struct wl_arena *a)
{
    size_t n = config ? g->n_configs : g->n_runs;
    *x = wl_new_array(a, double, n);
    *y = wl_new_array(a, double, n);
    for (size_t i = 0; i < n; i++) {
        (*x)[i] = log(config ? g->configs[i].workers : g->runs[i].workers);
        (*y)[i] = config ? log(g->configs[i].response) : g->runs[i].y;
    }
    return n;
}

void wl_law_estimate_choose(struct wl_law_group *g, struct wl_arena *a)
{
    struct wl_law_estimate *runs = &g->estimates[WL_LAW_RUN_MEANS], *configs = &g->estimates[WL_LAW_CONFIG_MEANS];
    g->lack_of_fit = (struct wl_lack_of_fit) { .f = NAN, .p = NAN, .df1 = NAN, .df2 = NAN, .ss_pure = NAN };
    if (g->n_configs < 2) {
        g->no_law_reason = wl_law_estimate_refusal(g, a);
        *runs = wl_law_estimate_missing("run_means", g->no_law_reason);
        *configs = wl_law_estimate_missing("config_means", g->no_law_reason);
        return;
    }
    double *x, *y;
    size_t n = wl_law_estimate_points(g, false, &x, &y, a);
    *runs = wl_law_estimate_line("run_means", y, x, NULL, n, a);
    if (!runs->n) { /* least squares failed: a library is missing, for example */
        g->no_law_reason = wl_strf(a, "no law: %s", runs->reason);
        *configs = wl_law_estimate_missing("config_means", g->no_law_reason);
        return;
    }
    g->lack_of_fit = wl_lack_of_fit(x, y, n, runs->line.sse, 2, a);
    for (size_t i = 0; i < n; i++) g->runs[i].studentised = runs->line.student[i];
    n = wl_law_estimate_points(g, true, &x, &y, a);
    *configs = wl_law_estimate_line("config_means", y, x, NULL, n, a);
    bool wider = half_width(configs) > half_width(runs); /* false where either is NAN */
    g->law = wider ? configs : runs;
}

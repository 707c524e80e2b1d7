/* Tests of the assumptions of a fit on its residuals, and collinearity of its columns. */
#include "stats/diagnostics.h"

#include "stats/distributions.h"
#include "stats/moments.h"

#include <math.h>

static const struct wl_hypothesis_test no_test = { NAN, NAN, NAN, NAN };

struct wl_hypothesis_test wl_breusch_pagan(const struct wl_ols *o, const double *x, struct wl_arena *a)
{
    struct wl_ols squares;
    struct wl_err e;
    size_t columns = o->k - o->intercept;
    double *v = wl_new_array(a, double, o->n);
    const struct wl_ols_data data = { .n = o->n, .columns = columns, .y = v, .x = x, .intercept = true };
    for (size_t i = 0; i < o->n; i++) v[i] = o->residual[i] * o->residual[i];
    if (!(o->df > 0) || !columns || wl_ols_fit(&squares, &data, a, &e) || isnan(squares.r2)) return no_test;
    double statistic = (double)o->n * squares.r2, df = (double)columns;
    return (struct wl_hypothesis_test) { statistic, df, NAN, wl_chi2_sf(statistic, df) };
}

struct wl_hypothesis_test wl_ramsey_reset(const struct wl_ols *o, const double *y, const double *x, struct wl_arena *a)
{
    enum { POWERS = 2 };
    struct wl_ols wide;
    struct wl_err e;
    size_t n = o->n, columns = o->k - o->intercept;
    double *v = wl_new_array(a, double, n *(columns + POWERS)), mean = wl_mean(o->fitted, n), sd = wl_sd(o->fitted, n);
    for (size_t i = 0; i < n * columns; i++) v[i] = x[i];
    for (size_t i = 0; i < n; i++) { /* powers of the standardised fit span the same space and are better conditioned */
        double z = (o->fitted[i] - mean) / sd;
        v[i + columns * n] = z * z;
        v[i + (columns + 1) * n] = z * z * z;
    }
    const struct wl_ols_data data = { .n = n, .columns = columns + POWERS, .y = y, .x = v, .intercept = true };
    if (!o->intercept || !(sd > 0) || wl_ols_fit(&wide, &data, a, &e) || !(wide.df > 0)) return no_test;
    double f = fmax(o->sse - wide.sse, 0) / POWERS / (wide.sse / wide.df);
    return (struct wl_hypothesis_test) { f, POWERS, wide.df, wl_f_sf(f, POWERS, wide.df) };
}

void wl_ols_vif(const struct wl_ols *o, double *vif)
{
    for (size_t j = o->intercept; j < o->k; j++) {
        double length = o->scale[j - o->intercept];
        vif[j - o->intercept] = o->inverse[j + j * o->k] * length * length;
    }
}

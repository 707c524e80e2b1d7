/* Shares are drawn as z^2: a share near 0, which is the usual one, has no infinite density in z. */
#include "law/hier/families.h"

#include "stats/stats.h"

#include <math.h>

static double power(double n, double largest, const double *z) { return -z[0] * log(n / largest); }

static double amdahl(double n, double largest, const double *z)
{
    double p = z[0] * z[0];
    return log((1 - p) * largest / n + p);
}

static double power_const(double n, double largest, const double *z)
{
    double p = z[1] * z[1];
    return log((1 - p) * pow(largest / n, z[0]) + p);
}

static double amdahl_log(double n, double largest, const double *z)
{
    double p = z[0] * z[0], q = z[1] * z[1];
    return log((1 - p - q) * largest / n + p + q * log(n) / log(largest));
}

static double amdahl_linear(double n, double largest, const double *z)
{
    double p = z[0] * z[0], q = z[1] * z[1];
    return log((1 - p - q) * largest / n + p + q * n / largest);
}

static double flat(double n, double largest, const double *z)
{
    (void)n, (void)largest, (void)z;
    return 0;
}

static double slope(double n, double largest, const double *z) { return z[0] * log(n / largest); }

static double idle(double n, double largest, const double *z)
{
    double p = z[1] * z[1], compute = (1 - p) * largest / n, share = compute / (compute + p);
    return log(z[0] + (1 - z[0]) * share);
}

/* ---- prior densities ---- */

static double ln_normal(double x, double mean, double sd)
{
    double d = (x - mean) / sd;
    return -0.5 * d * d;
}

static double ln_normal_constant(double sd) { return -log(sd * sqrt(2 * M_PI)); }

/* share = z^2 ~ Beta(1/2, compute_share) */
static double ln_share(double z, const struct wl_hier_prior *p) { return (p->compute_share - 1) * log1p(-z * z); }

static double ln_share_constant(const struct wl_hier_prior *p) { return log(2) - wl_lbeta(0.5, p->compute_share); }

static double power_prior(const double *z, const struct wl_hier_prior *p)
{
    return ln_normal(z[0], p->exponent, p->exponent_sd);
}

static double power_constant(const struct wl_hier_prior *p) { return ln_normal_constant(p->exponent_sd); }

static double amdahl_prior(const double *z, const struct wl_hier_prior *p) { return ln_share(z[0], p); }

static double power_const_prior(const double *z, const struct wl_hier_prior *p)
{
    return power_prior(z, p) + ln_share(z[1], p);
}

static double power_const_constant(const struct wl_hier_prior *p) { return power_constant(p) + ln_share_constant(p); }

/* The Dirichlet density of both shares, times the Jacobian 4 z0 z1. */
static double shares_prior(const double *z, const struct wl_hier_prior *p)
{
    return (2 * p->add_share - 1) * log(z[1]) + (p->compute_share - 1) * log1p(-z[0] * z[0] - z[1] * z[1]);
}

static double shares_constant(const struct wl_hier_prior *p)
{
    double ln_beta = wl_lgamma(p->compute_share) + wl_lgamma(0.5) + wl_lgamma(p->add_share) -
                     wl_lgamma(p->compute_share + 0.5 + p->add_share);
    return log(4) - ln_beta;
}

static double flat_prior(const double *z, const struct wl_hier_prior *p)
{
    (void)z, (void)p;
    return 0;
}

static double flat_constant(const struct wl_hier_prior *p)
{
    (void)p;
    return 0;
}

static const double slope_sd = 0.1;

static double slope_prior(const double *z, const struct wl_hier_prior *p)
{
    (void)p;
    return ln_normal(z[0], 0, slope_sd);
}

static double slope_constant(const struct wl_hier_prior *p)
{
    (void)p;
    return ln_normal_constant(slope_sd);
}

static double idle_prior(const double *z, const struct wl_hier_prior *p) { return ln_share(z[1], p); }

/* The idle share is uniform over its range. */
static double idle_constant(const struct wl_hier_prior *p) { return ln_share_constant(p) - log(0.95); }

const struct wl_hier_curve wl_hier_curves[WL_HIER_FAMILIES] = {
    [WL_HIER_POWER] = { "power",
                        "a N^-b",
                        1,
                        { { -0.5 }, { 1.8 } },
                        .s = power,
                        .ln_prior = power_prior,
                        .ln_constant = power_constant },
    [WL_HIER_AMDAHL] = { "amdahl",
                         "W/N + c",
                         1,
                         { { 0 }, { 1 } },
                         .s = amdahl,
                         .ln_prior = amdahl_prior,
                         .ln_constant = ln_share_constant },
    [WL_HIER_POWER_CONST] = { "power_const",
                              "a N^-b + c",
                              2,
                              { { 0.02, 0 }, { 1.8, 1 } },
                              .s = power_const,
                              .ln_prior = power_const_prior,
                              .ln_constant = power_const_constant },
    [WL_HIER_AMDAHL_LOG] = { "amdahl_log",
                             "W/N + c + g log2 N",
                             2,
                             { { 0, 0 }, { 1, 1 } },
                             .simplex = true,
                             .needs_whole = true,
                             .s = amdahl_log,
                             .ln_prior = shares_prior,
                             .ln_constant = shares_constant },
    [WL_HIER_AMDAHL_LINEAR] = { "amdahl_linear",
                                "W/N + c + g N",
                                2,
                                { { 0, 0 }, { 1, 1 } },
                                .simplex = true,
                                .s = amdahl_linear,
                                .ln_prior = shares_prior,
                                .ln_constant = shares_constant },
    [WL_HIER_FLAT] = { "flat",
                       "P",
                       1,
                       { { 0 }, { 1 } },
                       .s = flat,
                       .ln_prior = flat_prior,
                       .ln_constant = flat_constant },
    [WL_HIER_SLOPE] = { "slope",
                        "P N^b",
                        1,
                        { { -0.5 }, { 0.5 } },
                        .s = slope,
                        .ln_prior = slope_prior,
                        .ln_constant = slope_constant },
    [WL_HIER_IDLE] = { "idle",
                       "idle + busy",
                       2,
                       { { 0.05, 0 }, { 1, 1 } },
                       .s = idle,
                       .ln_prior = idle_prior,
                       .ln_constant = idle_constant },
};

const char *wl_hier_family_name(enum wl_hier_family f) { return wl_hier_curves[f].name; }
const char *wl_hier_family_formula(enum wl_hier_family f) { return wl_hier_curves[f].formula; }
size_t wl_hier_family_shapes(enum wl_hier_family f) { return wl_hier_curves[f].shapes; }

/* Chosen on real ladders (docs/accuracy.md says which had been seen). */
#define SCATTER_AND_SHAPES                                                                               \
    .sigma = 0.03, .tau_min = 0.001, .tau_max = 1.5, .tau_nodes = 14, .sigma_nodes = 7, .exponent = 0.9, \
    .exponent_sd = 0.2, .compute_share = 2, .add_share = 1, .drift = 0.5, .two_shape_workers = 4

const struct wl_hier_prior wl_hier_time_prior = { SCATTER_AND_SHAPES, .tau = 0.02,
                                                  .weight = { [WL_HIER_POWER] = 0.3,
                                                              [WL_HIER_AMDAHL] = 0.3,
                                                              [WL_HIER_POWER_CONST] = 0.1,
                                                              [WL_HIER_AMDAHL_LOG] = 0.1,
                                                              [WL_HIER_AMDAHL_LINEAR] = 0.2 } };

/* An energy scatters as time and power together: sqrt(.02^2 + .01^2). Idle power turns an overhead of time into a
 * smaller one of energy, so an upturn shows later and the data say less about it: it has more of the prior weight. */
const struct wl_hier_prior wl_hier_energy_prior = { SCATTER_AND_SHAPES, .tau = 0.0224,
                                                    .weight = { [WL_HIER_POWER] = 0.25,
                                                                [WL_HIER_AMDAHL] = 0.25,
                                                                [WL_HIER_POWER_CONST] = 0.1,
                                                                [WL_HIER_AMDAHL_LOG] = 0.1,
                                                                [WL_HIER_AMDAHL_LINEAR] = 0.3 } };
const struct wl_hier_prior wl_hier_power_prior = {
    SCATTER_AND_SHAPES, .tau = 0.01, .weight = { [WL_HIER_FLAT] = 0.34, [WL_HIER_SLOPE] = 0.33, [WL_HIER_IDLE] = 0.33 }
};

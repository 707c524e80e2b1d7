#include "cell.h"

double cell_ln_truth(const struct cell *c, double workers)
{
    return c->response == WL_LAW_ENERGY ? truth_ln_energy(c->truth, workers) + log(workers)
                                        : truth_ln_time(c->truth, workers);
}

double cell_workers(const struct cell *c, size_t count) { return ldexp(c->truth->smallest, (int)count); }

enum { PARAMETERS = 4 }; /* level, beta, c, g */

static bool has_parameter(const struct truth *t, size_t j)
{
    const bool of_family[PARAMETERS] = { true, t->family == TRUTH_POWER, t->family != TRUTH_POWER,
                                         t->family == TRUTH_LOG || t->family == TRUTH_LINEAR };
    return of_family[j];
}

/* Derivatives of ln(response) by the family's parameters; returns how many there are. */
static size_t gradient(const struct cell *c, double workers, double *out)
{
    size_t n = 0;
    for (size_t j = 0; j < PARAMETERS; j++) {
        struct truth up = *c->truth, down = *c->truth;
        double *const of_up[] = { NULL, &up.beta, &up.c, &up.g }, *const of_down[] = { NULL, &down.beta, &down.c,
                                                                                       &down.g };
        if (!has_parameter(c->truth, j)) continue;
        if (j == 0) {
            out[n++] = 1;
            continue;
        }
        const double h = 1e-4 * *of_up[j];
        *of_up[j] += h;
        *of_down[j] -= h;
        struct cell more = *c, less = *c;
        more.truth = &up;
        less.truth = &down;
        out[n++] = (cell_ln_truth(&more, workers) - cell_ln_truth(&less, workers)) / (2 * h) * *of_down[j];
    }
    return n;
}

static double power_factor(const struct cell *c) { return c->response == WL_LAW_ENERGY ? 1 + power_sd * power_sd : 1; }

/* Variance of a configuration's effect, and of a run's mean. */
static double config_variance(const struct cell *c) { return c->config_sd * c->config_sd * power_factor(c); }

static double run_variance(const struct cell *c, double epochs)
{
    const struct design *d = c->design;
    return d->run_sd * d->run_sd * power_factor(c) + d->epoch_sd * d->epoch_sd / epochs;
}

static double mean_variance(const struct cell *c, size_t count)
{
    double weight = 0;
    for (size_t r = 0; r < design_runs(c->design, count); r++)
        weight += 1 / run_variance(c, (double)design_epochs(c->design, count, r));
    return config_variance(c) + 1 / weight;
}

/* g' A^-1 g by elimination; A [n][n] is destroyed. */
static double quadratic(double a[PARAMETERS][PARAMETERS], const double *g, size_t n)
{
    double b[PARAMETERS], sum = 0;
    for (size_t i = 0; i < n; i++) b[i] = g[i];
    for (size_t k = 0; k < n; k++) {
        sum += b[k] * b[k] / a[k][k];
        for (size_t i = k + 1; i < n; i++) {
            const double f = a[i][k] / a[k][k];
            for (size_t j = k; j < n; j++) a[i][j] -= f * a[k][j];
            b[i] -= f * b[k];
        }
    }
    return sum;
}

double cell_oracle(const struct cell *c, double workers)
{
    double information[PARAMETERS][PARAMETERS] = { 0 }, g[PARAMETERS];
    size_t n = 0;
    for (size_t i = 0; i < c->design->counts; i++) {
        n = gradient(c, cell_workers(c, i), g);
        for (size_t j = 0; j < n; j++)
            for (size_t k = 0; k < n; k++) information[j][k] += g[j] * g[k] / mean_variance(c, i);
    }
    gradient(c, workers, g);
    return exp(2 * wl_normal_quantile(0.975) *
               sqrt(quadratic(information, g, n) + config_variance(c) + run_variance(c, EPOCHS)));
}

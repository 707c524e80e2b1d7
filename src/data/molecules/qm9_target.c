#include "data/molecules/qm9_target.h"

#include <math.h>
#include <string.h>

/* The number of atoms of each element, and 1. */
static void terms_of(const struct wl_molecule *m, double term[WL_QM9_TARGET_TERMS])
{
    static const uint8_t number[WL_QM9_TARGET_TERMS - 1] = { 1, 6, 7, 8, 9 };
    memset(term, 0, WL_QM9_TARGET_TERMS * sizeof *term);
    for (int i = 0; i < m->atoms; i++)
        for (int k = 0; k < WL_QM9_TARGET_TERMS - 1; k++) term[k] += m->atomic_number[i] == number[k];
    term[WL_QM9_TARGET_TERMS - 1] = 1;
}

/* Solves a x = b by Cholesky factorisation, for a positive semidefinite; a linearly dependent term gets 0. */
static void solve(double a[WL_QM9_TARGET_TERMS][WL_QM9_TARGET_TERMS], const double b[WL_QM9_TARGET_TERMS],
                  double x[WL_QM9_TARGET_TERMS])
{
    bool used[WL_QM9_TARGET_TERMS];
    double y[WL_QM9_TARGET_TERMS];
    for (int i = 0; i < WL_QM9_TARGET_TERMS; i++) {
        const double whole = a[i][i];
        for (int j = 0; j <= i; j++) {
            double sum = a[i][j];
            for (int k = 0; k < j; k++) sum -= a[i][k] * a[j][k];
            if (j < i)
                a[i][j] = used[j] ? sum / a[j][j] : 0;
            else
                a[i][i] = (used[i] = sum > 1e-9 * whole) ? sqrt(sum) : 1;
        }
        double sum = b[i];
        for (int k = 0; k < i; k++) sum -= a[i][k] * y[k];
        y[i] = used[i] ? sum / a[i][i] : 0;
    }
    for (int i = WL_QM9_TARGET_TERMS - 1; i >= 0; i--) {
        double sum = y[i];
        for (int k = i + 1; k < WL_QM9_TARGET_TERMS; k++) sum -= a[k][i] * x[k];
        x[i] = used[i] ? sum / a[i][i] : 0;
    }
}

double wl_qm9_target_residual(const struct wl_qm9_target *t, const struct wl_molecule *m, double value)
{
    double term[WL_QM9_TARGET_TERMS];
    terms_of(m, term);
    for (int k = 0; k < WL_QM9_TARGET_TERMS; k++) value -= t->reference[k] * term[k];
    return value;
}

double wl_qm9_value(const struct wl_qm9 *q, int property, int64_t i)
{
    return q->property[i * WL_QM9_PROPERTIES + property];
}

/* The mean is subtracted first, so that large energies do not cost digits. */
struct wl_qm9_target wl_qm9_target_fit(const struct wl_qm9 *q, int property, const uint32_t *order, int64_t n)
{
    struct wl_qm9_target t = { { 0 }, 1 };
    double a[WL_QM9_TARGET_TERMS][WL_QM9_TARGET_TERMS] = { { 0 } }, b[WL_QM9_TARGET_TERMS] = { 0 },
           term[WL_QM9_TARGET_TERMS], mean = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) mean += wl_qm9_value(q, property, order[i]) / (double)n;
    for (int64_t i = 0; i < n; i++) {
        const struct wl_molecule m = wl_qm9_molecule(q, order[i]);
        terms_of(&m, term);
        for (int k = 0; k < WL_QM9_TARGET_TERMS; k++) {
            b[k] += term[k] * (wl_qm9_value(q, property, order[i]) - mean);
            for (int l = 0; l < WL_QM9_TARGET_TERMS; l++) a[k][l] += term[k] * term[l];
        }
    }
    solve(a, b, t.reference);
    t.reference[WL_QM9_TARGET_TERMS - 1] += mean;
    for (int64_t i = 0; i < n; i++) {
        const struct wl_molecule m = wl_qm9_molecule(q, order[i]);
        const double rest = wl_qm9_target_residual(&t, &m, wl_qm9_value(q, property, order[i]));
        squares += rest * rest;
    }
    if (squares > 0) t.scale = sqrt(squares / (double)n);
    return t;
}

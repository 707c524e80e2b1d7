/* The target of a property: its value minus the reference energies of the atoms, fitted by least squares. */
#ifndef WL_DATA_MOLECULES_QM9_TARGET_H
#define WL_DATA_MOLECULES_QM9_TARGET_H

#include "data/molecules/qm9.h"

enum { WL_QM9_TARGET_TERMS = 6 }; /* H, C, N, O, F, and a constant */

struct wl_qm9_target {
    double reference[WL_QM9_TARGET_TERMS]; /* by element, and the constant; in the property's unit */
    double scale;                          /* standard deviation of the residuals, or 1 */
};

/* Fits property `property` over molecules order[0..n). */
struct wl_qm9_target wl_qm9_target_fit(const struct wl_qm9 *q, int property, const uint32_t *order, int64_t n);

/* `value` of a molecule minus its reference energies. */
double wl_qm9_target_residual(const struct wl_qm9_target *t, const struct wl_molecule *m, double value);

/* The value of a property of molecule i. */
double wl_qm9_value(const struct wl_qm9 *q, int property, int64_t i);

#endif

/* The smooth part of the covariance as a product B B': columns of unit kernels, scaled by the sd of each response. */
#ifndef WL_ADVISE_JOINT_BASIS_H
#define WL_ADVISE_JOINT_BASIS_H

#include "advise/joint/joint.h"

enum { WL_JOINT_LEVEL, WL_JOINT_SLOPE, WL_JOINT_CURVE, WL_JOINT_PAIR };

struct wl_joint_basis {
    size_t n, r;
    double *b;    /* [n][r] */
    int *kind;    /* [r] */
    size_t *axis; /* [r] of a slope or curve */
    size_t pairs; /* columns that scale with theta: none without two axes */
};
struct wl_joint_basis wl_joint_basis_new(const struct wl_joint_data *d, struct wl_arena *a);

/* [r] sd of each column's coefficient. */
void wl_joint_basis_scale(const struct wl_joint_basis *b, const struct wl_joint_data *d, enum wl_joint_response r,
                          double theta, double *out);

#endif

/* The posterior of the joint model: nodes of (theta, tau, sigma) that have a weight. */
#ifndef WL_ADVISE_JOINT_INTERNAL_H
#define WL_ADVISE_JOINT_INTERNAL_H

#include "advise/joint/basis.h"

/* Given a node, y_i = base_i + b_i c + u_i with c ~ N(coefficients, scale M^-1 scale) and, given c, independent u_i;
 * base is m0 + slopes. */
struct wl_joint_node {
    double weight, theta, tau, sigma;
    double *scale; /* [r] sd of the coefficients in the prior */
    double *l;     /* [r][r] lower Cholesky factor of M = I + scale B' D^-1 B scale, D = tau^2 + sigma^2 / runs */
    double *coefficients;    /* [r] of unit columns */
    double *mean, *variance; /* [n] of y */
};

struct wl_joint_part {
    struct wl_joint_node *nodes;
    size_t n_nodes;
    double *base;                     /* [n] */
    double *y;                        /* [n] mean of the runs less base; 0 without runs */
    const struct wl_joint_runs *runs; /* [n] */
    double *mean;                     /* [n] over nodes */
    double *draws;                    /* [n][WL_JOINT_DRAWS] */
};

struct wl_joint {
    size_t n;
    double rho;
    uint64_t seed;
    struct wl_joint_basis basis;
    struct wl_joint_part part[WL_JOINT_RESPONSES];
};

/* Nodes with their weights, means and variances. */
void wl_joint_posterior(struct wl_joint *j, const struct wl_joint_data *d, enum wl_joint_response r,
                        struct wl_arena *a);
void wl_joint_draw(struct wl_joint *j, struct wl_arena *a);

/* Share of a measured setting's own effect in what its mean shows: tau^2 / (tau^2 + sigma^2 / runs). */
double wl_joint_own_share(const struct wl_joint_node *v, const struct wl_joint_runs *runs);

#endif

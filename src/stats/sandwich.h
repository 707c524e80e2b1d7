/* Sandwich estimators: standard errors under heteroscedasticity and within-cluster correlation. */
#ifndef WL_STATS_SANDWICH_H
#define WL_STATS_SANDWICH_H

#include "stats/ols.h"

enum wl_hc { WL_HC0, WL_HC1, WL_HC2, WL_HC3 };

/* Heteroscedasticity-consistent standard errors [k] of an unweighted fit of x. Source: MacKinnon & White 1985;
 * Long & Ervin 2000. */
void wl_ols_hc(const struct wl_ols *o, const double *x, enum wl_hc kind, double *se);

enum wl_cr { WL_CR1, WL_CR2 };

struct wl_clusters {
    const size_t *cluster; /* [n] of each row, from 0 */
    size_t n;              /* number of clusters */
    enum wl_cr kind;
};

/* Cluster-robust standard errors [k] of an unweighted fit of x, and their degrees of freedom [k].
 *   CR1: residuals inflated by sqrt(G/(G-1) (n-1)/(n-k)), clusters - 1 degrees of freedom (as Stata, statsmodels).
 *   CR2: residuals of each cluster times (I - H_gg)^-1/2, unbiased when residuals are independent and of equal
 * variance, with Satterthwaite's degrees of freedom for that case. Source: Bell & McCaffrey 2002; Pustejovsky & Tipton
 *        2018.
 * WL_EINVAL: fewer than two clusters. WL_ELIB: the eigenvalue routine failed. */
int wl_ols_cluster(const struct wl_ols *o, const double *x, const struct wl_clusters *clusters, double *se, double *df,
                   struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif

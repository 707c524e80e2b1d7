/* The table of candidate models. */
#ifndef WL_LAW_FIT_FORMULAS_H
#define WL_LAW_FIT_FORMULAS_H

#include "law/fit/fit.h"

/* A candidate model t(N; p). Parameters are positive and fitted by their logarithms, except where `any_sign` says
 * otherwise. */
struct wl_law_formula {
    const char *name, *formula;
    size_t k;
    const char *param[WL_LAW_MODEL_PARAMS];
    bool any_sign[WL_LAW_MODEL_PARAMS];
    bool weak;      /* for work that grows with the workers; else for fixed work */
    bool segmented; /* fitted by wl_segmented_fit; t ignores d */
    double (*t)(double workers, const double *p, double *d); /* d [k]: dt/dp */
    /* A start from the first measured point (N0, t0): rest is the share of t0 that does not scale, b an exponent. NULL
     * where segmented. */
    void (*start)(double n0, double t0, double rest, double b, double *p);
};

/* All candidate models, *n in number. */
const struct wl_law_formula *wl_law_formulas(size_t *n);

#endif

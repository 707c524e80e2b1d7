/* Candidate models that compete with the power law. */
#ifndef WL_LAW_FIT_MODELS_H
#define WL_LAW_FIT_MODELS_H

#include "law/fit/fit.h"

void wl_law_fit_models(struct wl_law_group *g, enum wl_law_response response, struct wl_arena *a);

/* ln t of a fitted model at a worker count, and its standard error by the delta method (NAN: unknown). */
double wl_law_model_eval(const struct wl_law_model *fitted, double workers, double *se);

/* Akaike's criterion with the correction for n points; `parameters` without sigma. NAN where n is too small. */
double wl_law_aicc(double sse, double n, double parameters);

#endif

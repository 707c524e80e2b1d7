/* What the hierarchical model (docs/adr/111) says of a group within its measured worker counts: the weights of the
 * families of curves, and intervals of the response and of the exponent. */
#ifndef WL_LAW_CURVES_H
#define WL_LAW_CURVES_H

#include "law/forecast.h"
#include "stats/stats.h"

struct wl_law_curve_weight {
    const char *name, *formula;
    double prior, weight; /* NAN: left out */
    const char *reason;   /* why it is left out, or NULL */
};

/* At a measured worker count; 95 % intervals about posterior medians. */
struct wl_law_curves_at {
    double workers;
    struct wl_estimate curve;    /* what many configurations would have on average */
    struct wl_estimate config;   /* the mean of a new configuration */
    struct wl_estimate run;      /* one run of it */
    struct wl_estimate exponent; /* beta there, over all families: response ~ N^-beta */
};

struct wl_law_curves {
    const char *title;   /* of the group */
    const char *refusal; /* why there is nothing else here, or NULL */
    double growth;       /* the curves are of response / N^growth (wl_law_posterior) */
    struct wl_law_curve_weight families[WL_HIER_FAMILIES];
    size_t n_families;
    double configuration_sd, run_sd; /* of ln(response): geometric means over the posterior */
    struct wl_estimate beta;         /* of the power law, given that family; NAN: it is left out */
    struct wl_usl usl;               /* of the throughputs of runs in natural scale, for comparison; of times alone */
    const char *usl_unit;            /* of the throughput: "samples/s", "epochs/s" */
    const char *no_usl;              /* why there is none, or NULL */
    struct wl_law_curves_at *at;     /* [n] */
    size_t n;
    struct wl_strs notes;
};

/* prior NULL: that of wl_law_posterior. WL_EINVAL: the prior is not one. */
int wl_law_curves(const struct wl_law_group *g, enum wl_law_response response, const struct wl_hier_prior *prior,
                  struct wl_law_curves *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The same of the group's posterior, which the caller has already. */
void wl_law_curves_of_posterior(const struct wl_law_group *g, enum wl_law_response response,
                                const struct wl_law_posterior *p, struct wl_law_curves *out, struct wl_arena *a);

/* Of all groups of a result, in threads: *out has one for each. */
int wl_law_curves_of_result(const struct wl_law_result *r, const struct wl_hier_prior *prior,
                            struct wl_law_curves **out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The member "hierarchical": an array with an object for each group. */
void wl_law_curves_json(const struct wl_law_curves *v, size_t n, struct wl_json *object);

#endif

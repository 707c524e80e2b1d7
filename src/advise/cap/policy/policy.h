/* One cap (or clock) for many jobs: the share of further jobs that stay within a slowdown, and the energy.
 *
 * Each measured job i has, for each cap c, the posterior probability p_i(c) of being within the slowdown and its energy
 * relative to the reference. With s = sum p_i of n jobs, the number within among m further jobs of the same mix is
 * beta-binomial(m, s + 1/2, n - s + 1/2). Where applications are named, further jobs are of new applications: the share
 * is sum g_a p_a / sum g_a over applications (means of their jobs) and one pseudo-observation of half a job within and
 * half one outside, g ~ Exp(1) and Gamma(1/2): the Bayesian bootstrap (Rubin 1981), which for p of 0 and 1 is the same
 * beta distribution, with applications for jobs. */
#ifndef WL_ADVISE_CAP_POLICY_POLICY_H
#define WL_ADVISE_CAP_POLICY_POLICY_H

#include "advise/cap/cap.h"

/* A share with its equal-tailed interval. */
struct wl_advise_policy_share {
    double mean, lo, hi;
};

/* The share of `further` jobs within, from p[n] at a stride of `stride`, 0 <= p <= 1; level .9: the 90 % interval,
 * whose ends are multiples of 1/further. */
struct wl_advise_policy_share wl_advise_policy_share(const double *p, size_t n, size_t stride, size_t further,
                                                     double level);

struct wl_advise_policy_opts {
    size_t jobs, caps;         /* >= 1; caps ascend, the last is the reference unless given */
    const double *within;      /* [jobs][caps] p_i(c) */
    const double *energy;      /* [jobs][caps] relative to the reference's; NAN: the job has none */
    const size_t *application; /* [jobs] number of the job's application; NULL: further jobs are of the same mix */
    size_t reference;          /* cap that is always allowed */
    size_t further;            /* m: jobs that the policy will meet */
    double share;              /* asked mean share of jobs within, 0 .. 1 */
    double level;              /* of intervals, usually .9 */
};

struct wl_advise_policy_cap {
    struct wl_advise_policy_share share;
    double energy; /* mean over jobs, relative to the reference; NAN: no job has one */
    size_t jobs;   /* with an energy */
    bool allowed;  /* mean share >= the asked one, or the reference */
};
struct wl_advise_policy {
    struct wl_advise_policy_cap *cap; /* [caps] */
    size_t choice;                    /* least energy among allowed caps */
};
/* WL_EINVAL: nothing to choose from, or a number out of range (named with its job and cap). WL_ENOMEM. */
int wl_advise_policy(const struct wl_advise_policy_opts *o, struct wl_advise_policy *out, struct wl_arena *a,
                     struct wl_err *e) WL_MUST_CHECK;

/* One row of `within` and `energy` from the search to which a job's windows were added; caps and reference as its opts
 * have them. */
void wl_advise_policy_job(struct wl_advise_cap *job, size_t caps, size_t reference, double slowdown, double *within,
                          double *energy);

#endif

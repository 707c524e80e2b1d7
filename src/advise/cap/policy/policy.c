#include "advise/cap/policy/policy.h"

#include "stats/stats.h"

#include <math.h>
#include <string.h>

/* P(k of m within), beta-binomial(a, b). */
static double beta_binomial(size_t k, size_t m, double a, double b)
{
    const double x = (double)k, n = (double)m;
    const double ln_choose = wl_lgamma(n + 1) - wl_lgamma(x + 1) - wl_lgamma(n - x + 1);
    return exp(ln_choose + wl_lbeta(x + a, n - x + b) - wl_lbeta(a, b));
}

struct wl_advise_policy_share wl_advise_policy_share(const double *p, size_t n, size_t stride, size_t further,
                                                     double level)
{
    const double m = (double)further, tail = (1 - level) / 2;
    double sum = 0, cumulative = 0;
    for (size_t i = 0; i < n; i++) sum += p[i * stride];
    const double a = sum + 0.5, b = (double)n - sum + 0.5;
    struct wl_advise_policy_share out = { a / (a + b), NAN, 1 };
    for (size_t k = 0; k <= further; k++) {
        cumulative += beta_binomial(k, further, a, b);
        if (isnan(out.lo) && cumulative >= tail) out.lo = (double)k / m;
        if (cumulative < 1 - tail) continue;
        out.hi = (double)k / m;
        break;
    }
    return out;
}

enum { DRAWS = 2000 };
static const uint64_t draw_key = 0x706f6c696379; /* "policy" */

static double exponential(uint64_t stream, uint64_t i) { return -log1p(-wl_random_uniform(draw_key, stream, i)); }

/* Gamma(1/2, 1): half the square of a normal. */
static double gamma_half(uint64_t stream, uint64_t i)
{
    const double z = wl_random_normal(draw_key, stream, i);
    return z * z / 2;
}

/* Draws a share, then the number of further jobs within. Streams are keyed by the draw, so that caps share them. */
static size_t draw(const double *mean, size_t applications, size_t further, uint64_t i)
{
    const double in = gamma_half(3 * i, 0), out = gamma_half(3 * i, 1);
    double within = in, all = in + out;
    size_t k = 0;
    for (size_t a = 0; a < applications; a++) {
        const double g = exponential(3 * i + 1, a);
        within += g * mean[a];
        all += g;
    }
    for (size_t j = 0; j < further; j++) k += wl_random_uniform(draw_key, 3 * i + 2, j) * all < within;
    return k;
}

struct applications {
    size_t n;
    size_t *of;    /* [jobs] numbered 0 .. n - 1 */
    double *count; /* [n] jobs */
    double *mean;  /* [n] scratch */
    size_t *draws; /* [further + 1] scratch: draws with so many jobs within */
};

/* The least number of jobs that at least `count` draws do not exceed. */
static double quantile(const struct applications *apps, size_t further, size_t count)
{
    size_t k = 0, sum = apps->draws[0];
    while (sum < count && k < further) sum += apps->draws[++k];
    return (double)k / (double)further;
}

static struct wl_advise_policy_share share_of_new(const struct wl_advise_policy_opts *o,
                                                  const struct applications *apps, size_t cap)
{
    const double tail = (1 - o->level) / 2;
    double sum = 0;
    memset(apps->mean, 0, apps->n * sizeof *apps->mean);
    memset(apps->draws, 0, (o->further + 1) * sizeof *apps->draws);
    for (size_t i = 0; i < o->jobs; i++)
        apps->mean[apps->of[i]] += o->within[i * o->caps + cap] / apps->count[apps->of[i]];
    for (size_t a = 0; a < apps->n; a++) sum += apps->mean[a];
    for (size_t i = 0; i < DRAWS; i++) apps->draws[draw(apps->mean, apps->n, o->further, i)]++;
    return (struct wl_advise_policy_share) { (sum + 0.5) / ((double)apps->n + 1),
                                             quantile(apps, o->further, (size_t)ceil(tail * DRAWS)),
                                             quantile(apps, o->further, (size_t)ceil((1 - tail) * DRAWS)) };
}

static int check_row(const struct wl_advise_policy_opts *o, size_t i, struct wl_err *e)
{
    for (size_t c = 0; c < o->caps; c++) {
        const double p = o->within[i * o->caps + c], energy = o->energy[i * o->caps + c];
        if (!(p >= 0 && p <= 1))
            return wl_fail(e, WL_EINVAL, "job %zu, cap %zu: probability %g, expected 0 to 1", i, c, p);
        if (energy <= 0 || isinf(energy))
            return wl_fail(e, WL_EINVAL, "job %zu, cap %zu: relative energy %g, expected a positive number", i, c,
                           energy);
    }
    return 0;
}

static int check(const struct wl_advise_policy_opts *o, struct wl_err *e)
{
    if (!o->jobs || !o->caps || !o->further)
        return wl_fail(e, WL_EINVAL, "a policy for %zu jobs, %zu caps and %zu further jobs: expected at least 1 each",
                       o->jobs, o->caps, o->further);
    if (o->reference >= o->caps)
        return wl_fail(e, WL_EINVAL, "reference is cap %zu of %zu (counted from 0)", o->reference, o->caps);
    if (!(o->share >= 0 && o->share <= 1))
        return wl_fail(e, WL_EINVAL, "asked share of jobs is %g, expected 0 to 1", o->share);
    if (!(o->level > 0 && o->level < 1))
        return wl_fail(e, WL_EINVAL, "level of intervals is %g, expected between 0 and 1", o->level);
    int rc = 0;
    for (size_t i = 0; i < o->jobs && !rc; i++) rc = check_row(o, i, e);
    return rc;
}

static void mean_energy(const struct wl_advise_policy_opts *o, size_t cap, struct wl_advise_policy_cap *out)
{
    double sum = 0;
    out->jobs = 0;
    for (size_t i = 0; i < o->jobs; i++) {
        const double energy = o->energy[i * o->caps + cap];
        if (isnan(energy)) continue;
        sum += energy;
        out->jobs++;
    }
    out->energy = out->jobs ? sum / (double)out->jobs : NAN;
}

static int find_applications(const struct wl_advise_policy_opts *o, struct applications *out, struct wl_arena *a,
                             struct wl_err *e)
{
    out->of = wl_try_alloc(a, o->jobs * sizeof *out->of, 16, "the applications of a policy", e);
    out->count = wl_try_alloc(a, 2 * o->jobs * sizeof *out->count, 16, "the applications of a policy", e);
    out->draws = wl_try_alloc(a, (o->further + 1) * sizeof *out->draws, 16, "the shares of a policy", e);
    if (!out->of || !out->count || !out->draws) return WL_ENOMEM;
    out->mean = out->count + o->jobs;
    out->n = 0;
    for (size_t i = 0; i < o->jobs; i++) {
        size_t first = 0;
        while (o->application[first] != o->application[i]) first++;
        out->of[i] = first < i ? out->of[first] : out->n++;
        out->count[out->of[i]] = (first < i ? out->count[out->of[i]] : 0) + 1;
    }
    return 0;
}

static void choose(const struct wl_advise_policy_opts *o, struct wl_advise_policy *out)
{
    out->choice = o->reference;
    for (size_t c = 0; c < o->caps; c++)
        if (out->cap[c].allowed && out->cap[c].energy < out->cap[out->choice].energy) out->choice = c;
}

int wl_advise_policy(const struct wl_advise_policy_opts *o, struct wl_advise_policy *out, struct wl_arena *a,
                     struct wl_err *e)
{
    struct applications apps = { 0 };
    int rc = check(o, e);
    if (rc) return rc;
    out->cap = wl_try_alloc(a, o->caps * sizeof *out->cap, 16, "the caps of a policy", e);
    if (!out->cap) return WL_ENOMEM;
    struct wl_arena *scratch = wl_arena_new(a);
    if (o->application) rc = find_applications(o, &apps, scratch, e);
    for (size_t c = 0; c < o->caps && !rc; c++) {
        struct wl_advise_policy_cap *cap = &out->cap[c];
        cap->share = o->application ? share_of_new(o, &apps, c)
                                    : wl_advise_policy_share(o->within + c, o->jobs, o->caps, o->further, o->level);
        cap->allowed = c == o->reference || cap->share.mean >= o->share;
        mean_energy(o, c, cap);
    }
    if (!rc) choose(o, out);
    wl_arena_free(scratch);
    return rc;
}

void wl_advise_policy_job(struct wl_advise_cap *job, size_t caps, size_t reference, double slowdown, double *within,
                          double *energy)
{
    const struct wl_advise_cap_estimate *v = wl_advise_cap_estimates(job);
    for (size_t c = 0; c < caps; c++) {
        within[c] = wl_advise_cap_within(job, c, slowdown);
        energy[c] = exp(v[c].ln_t + v[c].ln_p - v[reference].ln_t - v[reference].ln_p);
    }
}

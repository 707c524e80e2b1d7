#include "advise/policy/jobs.h"

#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>

/* ---- which cap ---- */

static int axis_of(const struct wl_choose_campaign *c, const struct wl_setting *cap)
{
    for (size_t k = 0; k < c->n_axes; k++)
        if (c->axes[k].setting == cap && c->axes[k].number) return (int)k;
    return -1;
}

static const struct wl_setting *cap_that_varied(const struct wl_policy_source *sources, size_t n)
{
    const struct wl_setting *cap = NULL;
    while ((cap = wl_setting_next_cap(cap)))
        for (size_t i = 0; i < n; i++)
            if (axis_of(sources[i].campaign, cap) >= 0) return cap;
    return NULL;
}

/* Settings are joined within a source alone: another one may be of another host, or its epochs of other data. */
static const char *scope_of(const struct wl_policy_source *sources, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (!wl_str_eq(sources[i].obs->source, sources[0].obs->source)) return " within one source";
    return "";
}

/* ---- jobs ---- */

struct search {
    const struct wl_policy_source *source;
    size_t axis;
    size_t *family; /* [settings] */
    struct wl_policy_jobs *out;
    double *asked; /* of the points found so far, by their index; INFINITY: no cap */
    size_t n_asked, cap_of_asked;
    struct wl_arena *a;
};

/* Infinity where there is no cap, which sorts last. */
static double value_of(const struct search *s, size_t i)
{
    double v;
    return wl_str_to_real(s->source->campaign->value[i][s->axis], &v) == 0 ? v : INFINITY;
}

static bool is_measured(const struct wl_choose_campaign *c, size_t i)
{
    return c->means[WL_JOINT_TIME][i].n > 0 && c->means[WL_JOINT_POWER][i].n > 0;
}

static double peak_of_worker(const struct wl_choose_campaign *c, size_t i)
{
    return c->peak_is_cap[i] ? NAN : c->peak_w[i] / c->settings[i].workers;
}

static void add_point(struct search *s, struct wl_policy_job *job, size_t i)
{
    const struct wl_choose_campaign *c = s->source->campaign;
    const struct wl_joint_runs *t = &c->means[WL_JOINT_TIME][i], *p = &c->means[WL_JOINT_POWER][i];
    WL_GROW(s->a, s->asked, s->n_asked, s->cap_of_asked);
    s->asked[s->n_asked] = value_of(s, i);
    job->point[job->n++] = (struct wl_policy_point) { s->n_asked++, t->mean, p->mean, p->n, peak_of_worker(c, i) };
    job->from |= c->from[i];
}

static bool has_two_values(const struct search *s, const struct wl_policy_job *job)
{
    for (size_t k = 1; k < job->n; k++)
        if (s->asked[job->point[k].value] != s->asked[job->point[0].value]) return true;
    return false;
}

static const char *name_of(const struct search *s, size_t i)
{
    const struct wl_choose_campaign *c = s->source->campaign;
    const char *name = wl_choose_name_without_caps(c, i, s->a);
    return c->workload ? wl_strf(s->a, "%s: %s", c->workload, name) : name;
}

/* The job of the settings of family f, unless they do not make one. */
static void add_family(struct search *s, size_t f)
{
    const struct wl_choose_campaign *c = s->source->campaign;
    struct wl_policy_job job = { .workload = c->workload,
                                 .source = s->source->obs->source,
                                 .point = wl_new_array(s->a, struct wl_policy_point, c->n) };
    size_t unmeasured = 0;
    for (size_t i = 0; i < c->n; i++) {
        const bool member = s->family[i] == f && !c->settings[i].excluded;
        if (!member || !wl_choose_is_unrestrained(c, c->axes[s->axis].column, i)) continue;
        if (!job.name) job.name = name_of(s, i);
        if (is_measured(c, i))
            add_point(s, &job, i);
        else
            unmeasured++;
    }
    if (!has_two_values(s, &job)) {
        s->out->unmeasured += unmeasured > 0;
        s->out->single += job.n > 0 && !unmeasured;
        return;
    }
    WL_GROW(s->a, s->out->v, s->out->n, s->out->cap_of_v);
    s->out->v[s->out->n++] = job;
    s->out->from |= job.from;
}

static void add_source(struct search *s, const struct wl_policy_source *source)
{
    const struct wl_choose_campaign *c = source->campaign;
    const int axis = axis_of(c, s->out->cap);
    s->source = source;
    s->family = wl_new_array(s->a, size_t, c->n);
    if (axis < 0) {
        s->out->single += wl_choose_families(c, NULL, s->family, s->a);
        return;
    }
    s->axis = (size_t)axis;
    const size_t n = wl_choose_families(c, s->out->cap->name, s->family, s->a);
    for (size_t f = 0; f < n; f++) add_family(s, f);
}

/* ---- hardware ---- */

static int find_hardware(const struct wl_policy_source *sources, size_t n, struct wl_policy_jobs *out, struct wl_err *e)
{
    for (size_t k = 0; k < n; k++) {
        const struct wl_choose_campaign *c = sources[k].campaign;
        for (size_t i = 0; i < c->n; i++) {
            const char *here = sources[k].obs->hardware[c->row[i]];
            if (c->settings[i].excluded || !here) continue;
            if (!out->hardware) out->hardware = here;
            if (!wl_str_eq(out->hardware, here))
                return wl_fail(e, WL_EINVAL,
                               "%s and %s: one %s cannot serve several kinds of hardware: choose one with --where "
                               "hardware=NAME",
                               out->hardware, here, out->cap->label);
        }
    }
    return 0;
}

/* ---- values ---- */

static int ascending(const void *p, const void *q)
{
    const double x = *(const double *)p, y = *(const double *)q;
    return (x > y) - (x < y);
}

/* No cap counts as the power limit of the device, else one step above the largest cap. */
static double value_without_cap(const struct wl_policy_jobs *out, size_t n, double max_power_w, struct wl_arena *a)
{
    static const double fifth = 0.2;
    const double largest = out->value[n - 1];
    double *step = wl_new_array(a, double, n);
    if (!out->cap->domain && max_power_w > largest) return max_power_w;
    for (size_t i = 1; i < n; i++) step[i - 1] = log(out->value[i] / out->value[i - 1]);
    return largest * exp(n > 1 ? wl_median(step, n - 1, a) : fifth);
}

static int set_values(struct search *s, double max_power_w, struct wl_err *e)
{
    struct wl_policy_jobs *out = s->out;
    double *v = wl_new_array(s->a, double, s->n_asked + 1);
    size_t n = 0;
    /* Points of groups that are not jobs have no part in it. */
    for (size_t j = 0; j < out->n; j++)
        for (size_t k = 0; k < out->v[j].n; k++) v[n++] = s->asked[out->v[j].point[k].value];
    qsort(v, n, sizeof *v, ascending);
    out->value = v;
    for (size_t k = 0; k < n; k++)
        if (!out->values || v[k] > v[out->values - 1]) v[out->values++] = v[k];
    if (out->values > WL_ADVISE_CAP_MAX)
        return wl_fail(e, WL_EINVAL,
                       "%zu values of the %s among the jobs, at most %d: restrict them with --where %s=...",
                       out->values, out->cap->label, WL_ADVISE_CAP_MAX, out->cap->name);
    for (size_t j = 0; j < out->n; j++)
        for (size_t k = 0; k < out->v[j].n; k++) {
            size_t at = 0;
            while (v[at] != s->asked[out->v[j].point[k].value]) at++;
            out->v[j].point[k].value = at;
        }
    out->uncapped = isinf(v[out->values - 1]);
    if (out->uncapped) v[out->values - 1] = value_without_cap(out, out->values - 1, max_power_w, s->a);
    return 0;
}

/* The largest cap; of clocks, which say nothing of power, the most power of any job over the share of it that programs
 * use at the largest clock. */
static double scale_of(const struct wl_policy_jobs *jobs, double max_power_w)
{
    static const double used = 0.9;
    double most = 0;
    if (max_power_w > 0) most = max_power_w;
    if (!jobs->cap->domain) return fmax(most, jobs->value[jobs->values - 1]);
    for (size_t j = 0; j < jobs->n && !(max_power_w > 0); j++)
        for (size_t k = 0; k < jobs->v[j].n; k++) most = fmax(most, exp(jobs->v[j].point[k].ln_p) / used);
    return most;
}

/* ---- noise ---- */

/* Scatter of runs about their setting over all settings, with a guess that counts as much as four degrees of freedom.
 */
static void find_noise(const struct wl_policy_source *sources, size_t n, struct wl_policy_jobs *out)
{
    static const double guess = 0.02, guess_df = 4, least = 1e-4;
    double squares[WL_JOINT_RESPONSES] = { 0 }, df[WL_JOINT_RESPONSES] = { 0 }, rho = 0;
    for (size_t k = 0; k < n; k++) {
        const struct wl_choose_campaign *c = sources[k].campaign;
        double here = 0;
        for (int r = 0; r < WL_JOINT_RESPONSES; r++)
            for (size_t i = 0; i < c->n; i++) {
                squares[r] += c->means[r][i].sum_squares;
                here = c->means[r][i].n > 1 ? (double)c->means[r][i].n - 1 : 0;
                df[r] += here;
                if (r == WL_JOINT_POWER) rho += here * c->rho;
            }
    }
    const double with_guess = guess_df * guess * guess;
    out->noise_df = df[WL_JOINT_TIME];
    out->noise = (struct wl_advise_cap_noise) {
        fmax(least, sqrt((squares[WL_JOINT_TIME] + with_guess) / (df[WL_JOINT_TIME] + guess_df))),
        fmax(least, sqrt((squares[WL_JOINT_POWER] + with_guess) / (df[WL_JOINT_POWER] + guess_df))),
        df[WL_JOINT_POWER] > 0 ? rho / df[WL_JOINT_POWER] : 0
    };
}

/* ---- all ---- */

static int refuse(const struct wl_policy_jobs *out, const char *scope, struct wl_err *e)
{
    if (out->unmeasured)
        return wl_fail(e, WL_EINVAL,
                       "no group of runs has two values of the %s%s with a time and an energy (%zu have no energy)",
                       out->cap->label, scope, out->unmeasured);
    return wl_fail(e, WL_EINVAL, "no group of runs has two values of the %s%s", out->cap->label, scope);
}

int wl_policy_find_jobs(const struct wl_policy_source *sources, size_t n, const struct wl_setting *cap,
                        double max_power_w, struct wl_policy_jobs *out, struct wl_arena *a, struct wl_err *e)
{
    struct search s = { .out = out, .a = a };
    *out = (struct wl_policy_jobs) { .cap = cap ? cap : cap_that_varied(sources, n) };
    if (!out->cap)
        return wl_fail(e, WL_EINVAL, "no power cap or clock was varied%s: there is nothing to choose from",
                       scope_of(sources, n));
    int rc = find_hardware(sources, n, out, e);
    if (rc) return rc;
    for (size_t k = 0; k < n; k++) add_source(&s, &sources[k]);
    if (!out->n) return refuse(out, scope_of(sources, n), e);
    rc = set_values(&s, max_power_w, e);
    if (rc) return rc;
    const bool known = !out->cap->domain && !out->uncapped;
    out->limit_w = max_power_w > 0 ? max_power_w : known ? out->value[out->values - 1] : NAN;
    out->scale_w = scale_of(out, max_power_w);
    find_noise(sources, n, out);
    return 0;
}

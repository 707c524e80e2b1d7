#include "advise/policy/decide.h"

#include <math.h>

static const double z90 = 1.6448536269514722; /* of a 90 % interval */

/* ---- one job ---- */

static int add_windows(const struct wl_policy_jobs *jobs, const struct wl_policy_job *job, struct wl_advise_cap *search,
                       struct wl_err *e)
{
    int rc = 0;
    for (size_t k = 0; k < job->n && rc == 0; k++) {
        const struct wl_policy_point *p = &job->point[k];
        const double root = sqrt((double)p->runs);
        const struct wl_advise_cap_window w = {
            .index = p->value,
            .ln_t = p->ln_t,
            .ln_p = p->ln_p,
            .noise = { jobs->noise.sd_t / root, jobs->noise.sd_p / root, jobs->noise.rho },
        };
        rc = wl_advise_cap_add(search, &w, e);
    }
    return rc;
}

static void fill_row(const struct wl_policy_jobs *jobs, const struct wl_policy_job *job, struct wl_advise_cap *search,
                     double slowdown, struct wl_policy_cell *row)
{
    const struct wl_advise_cap_estimate *v = wl_advise_cap_estimates(search);
    double within[WL_ADVISE_CAP_MAX], energy[WL_ADVISE_CAP_MAX];
    wl_advise_policy_job(search, jobs->values, jobs->values - 1, slowdown, within, energy);
    for (size_t c = 0; c < jobs->values; c++) {
        const double half = z90 * v[c].sd_slowdown;
        row[c] = (struct wl_policy_cell) { .within = within[c],
                                           .slowdown = exp(v[c].ln_slowdown),
                                           .lo = exp(v[c].ln_slowdown - half),
                                           .hi = exp(v[c].ln_slowdown + half),
                                           .energy = energy[c],
                                           .power_w = exp(v[c].ln_p) };
    }
    for (size_t k = 0; k < job->n; k++) row[job->point[k].value].measured = true;
}

static int judge(const struct wl_policy_jobs *jobs, const struct wl_policy_job *job, double slowdown,
                 struct wl_policy_cell *row, struct wl_arena *scratch, struct wl_err *e)
{
    struct wl_advise_cap_opts o = wl_advise_cap_defaults(jobs->value, jobs->values);
    struct wl_advise_cap *search;
    o.kind = jobs->cap->domain ? WL_ADVISE_CLOCK : WL_ADVISE_POWER_CAP;
    o.scale_w = jobs->scale_w;
    o.noise = jobs->noise;
    int rc = wl_advise_cap_new(&search, &o, scratch, e);
    if (rc == 0) rc = add_windows(jobs, job, search, e);
    if (rc) return wl_err_prefix(e, "%s: %s", job->source, job->name);
    fill_row(jobs, job, search, slowdown, row);
    return 0;
}

static int judge_all(const struct wl_policy_jobs *jobs, const struct wl_policy_options *o, struct wl_policy_cell *cell,
                     struct wl_err *e)
{
    int rc = 0;
    for (size_t j = 0; j < jobs->n && rc == 0; j++) {
        struct wl_arena *scratch = wl_arena_new(NULL);
        rc = judge(jobs, &jobs->v[j], o->slowdown, cell + j * jobs->values, scratch, e);
        wl_arena_free(scratch);
    }
    return rc;
}

/* ---- shares ---- */

static size_t number_workloads(const struct wl_policy_jobs *jobs, size_t *of, struct wl_arena *a)
{
    const char **name = wl_new_array(a, const char *, jobs->n);
    for (size_t j = 0; j < jobs->n; j++) name[j] = jobs->v[j].workload ? jobs->v[j].workload : "";
    return wl_law_labels(name, jobs->n, of, a);
}

static int find_shares(const struct wl_policy_options *o, struct wl_policy_result *out, struct wl_arena *a,
                       struct wl_err *e)
{
    const size_t n = out->jobs->n, caps = out->jobs->values;
    double *within = wl_new_array(a, double, n *caps), *energy = wl_new_array(a, double, n *caps);
    size_t *workload = wl_new_array(a, size_t, n);
    struct wl_advise_policy same, others;
    for (size_t i = 0; i < n * caps; i++) within[i] = out->cell[i].within, energy[i] = out->cell[i].energy;
    out->workloads = number_workloads(out->jobs, workload, a);
    struct wl_advise_policy_opts ask = { .jobs = n,
                                         .caps = caps,
                                         .within = within,
                                         .energy = energy,
                                         .reference = out->reference,
                                         .further = o->further,
                                         .share = o->share,
                                         .level = o->level };
    int rc = wl_advise_policy(&ask, &same, a, e);
    ask.application = workload;
    if (rc == 0) rc = wl_advise_policy(&ask, &others, a, e);
    if (rc) return rc;
    out->choice = same.choice;
    for (size_t c = 0; c < caps; c++) {
        out->cap[c].share = same.cap[c].share;
        out->cap[c].of_others = others.cap[c].share;
        out->cap[c].allowed = same.cap[c].allowed;
        out->cap[c].energy = same.cap[c].energy;
    }
    return 0;
}

/* ---- power ---- */

/* NAN: the job has no peak there. */
static double peak_at(const struct wl_policy_job *job, size_t value)
{
    for (size_t k = 0; k < job->n; k++)
        if (job->point[k].value == value) return job->point[k].peak_w;
    return NAN;
}

static void find_peaks(const struct wl_policy_result *out, size_t c, struct wl_policy_cap *cap)
{
    const struct wl_policy_jobs *jobs = out->jobs;
    cap->peak_w = cap->peak_ref_w = NAN;
    for (size_t j = 0; j < jobs->n; j++) {
        const double here = peak_at(&jobs->v[j], c), there = peak_at(&jobs->v[j], out->reference);
        if (isnan(here) || isnan(there)) continue;
        cap->peak_w = fmax(cap->peak_w, here);
        cap->peak_ref_w = fmax(cap->peak_ref_w, there);
    }
    cap->peak_is_cap = isnan(cap->peak_w) && !jobs->cap->domain && !isnan(jobs->limit_w);
    if (!cap->peak_is_cap) return;
    cap->peak_w = fmin(jobs->value[c], jobs->limit_w);
    cap->peak_ref_w = jobs->limit_w;
}

static void describe(struct wl_policy_result *out, size_t c)
{
    const size_t jobs = out->jobs->n, caps = out->jobs->values;
    const double n = (double)jobs;
    double slowdown = 0, power = 0, power_ref = 0;
    for (size_t j = 0; j < jobs; j++) {
        slowdown += out->cell[j * caps + c].slowdown;
        power += out->cell[j * caps + c].power_w;
        power_ref += out->cell[j * caps + out->reference].power_w;
    }
    out->cap[c].slowdown = slowdown / n;
    out->cap[c].power_w = power / n;
    out->cap[c].power_ref_w = power_ref / n;
    find_peaks(out, c, &out->cap[c]);
}

int wl_policy_decide(const struct wl_policy_jobs *jobs, const struct wl_policy_options *o, struct wl_policy_result *out,
                     struct wl_arena *a, struct wl_err *e)
{
    *out = (struct wl_policy_result) { .jobs = jobs,
                                       .cell = wl_new_array(a, struct wl_policy_cell, jobs->n * jobs->values),
                                       .cap = wl_new_array(a, struct wl_policy_cap, jobs->values),
                                       .reference = jobs->values - 1,
                                       .reachable = ((double)jobs->n + 0.5) / ((double)jobs->n + 1) };
    int rc = judge_all(jobs, o, out->cell, e);
    if (rc == 0) rc = find_shares(o, out, a, e);
    for (size_t c = 0; c < jobs->values && rc == 0; c++) describe(out, c);
    return rc;
}

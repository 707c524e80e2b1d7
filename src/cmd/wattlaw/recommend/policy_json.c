/* The policy as JSON (docs/formats.md). */
#include "cmd/wattlaw/recommend/recommend.h"

#include <math.h>

static void add_share(struct wl_json *to, const char *key, const struct wl_advise_policy_share *s)
{
    struct wl_json *o = wl_json_add_object(to, key), *interval;
    wl_json_add_real(o, "mean", s->mean);
    interval = wl_json_add_array(o, "interval90");
    wl_json_add_real(interval, NULL, s->lo);
    wl_json_add_real(interval, NULL, s->hi);
}

/* A candidate's value; null: no cap. */
static void add_value(struct wl_json *o, const char *key, const struct wl_policy_jobs *jobs, size_t value)
{
    const bool none = jobs->uncapped && value + 1 == jobs->values;
    wl_json_add_real(o, key, none ? NAN : jobs->value[value]);
}

static void add_cap(struct wl_json *list, const struct wl_recommend_policy *p, size_t c)
{
    const struct wl_policy_cap *v = &p->result.cap[c];
    struct wl_json *o = wl_json_add_object(list, NULL);
    add_value(o, "value", &p->jobs, c);
    wl_json_add_bool(o, "allowed", v->allowed);
    add_share(o, "share", &v->share);
    add_share(o, "share_of_other_workloads", &v->of_others);
    wl_json_add_real(o, "energy_ratio", v->energy);
    wl_json_add_real(o, "time_ratio", v->slowdown);
    wl_json_add_real(o, "mean_power_w", v->power_w);
    wl_json_add_real(o, "mean_power_saved_kw", (v->power_ref_w - v->power_w) * p->devices / 1e3);
    wl_json_add_real(o, "peak_power_w", v->peak_w);
    wl_json_add_real(o, "peak_power_saved_kw", (v->peak_ref_w - v->peak_w) * p->devices / 1e3);
    wl_json_add_str(o, "peak_power_from", isnan(v->peak_w) ? NULL : v->peak_is_cap ? "cap" : "measured");
}

static void add_job(struct wl_json *list, const struct wl_recommend_policy *p, size_t j)
{
    const struct wl_policy_job *job = &p->jobs.v[j];
    const struct wl_policy_cell *c = &p->result.cell[j * p->jobs.values + p->result.choice];
    struct wl_json *o = wl_json_add_object(list, NULL), *interval;
    wl_json_add_str(o, "job", job->name);
    wl_json_add_str(o, "workload", job->workload);
    wl_json_add_str(o, "source", job->source);
    wl_json_add_int(o, "values", (int64_t)job->n);
    wl_json_add_bool(o, "measured", c->measured);
    wl_json_add_real(o, "within_probability", c->within);
    wl_json_add_real(o, "time_ratio", c->slowdown);
    interval = wl_json_add_array(o, "time_ratio_interval90");
    wl_json_add_real(interval, NULL, c->lo);
    wl_json_add_real(interval, NULL, c->hi);
    wl_json_add_real(o, "energy_ratio", c->energy);
}

static void add_scripts(struct wl_json *root, const struct wl_recommend_policy *p, struct wl_arena *a)
{
    const size_t choice = p->result.choice;
    const bool any = choice != p->result.reference;
    wl_json_add_str(root, "prolog", any ? wl_recommend_slurm_script(&p->jobs, choice, true, a) : NULL);
    wl_json_add_str(root, "epilog", any ? wl_recommend_slurm_script(&p->jobs, choice, false, a) : NULL);
}

void wl_recommend_policy_json(const struct wl_recommend_policy *p, struct wl_json *root, struct wl_arena *a)
{
    wl_json_add_str(root, "wattlaw", WL_VERSION);
    struct wl_json *list = wl_json_add_array(root, "sources");
    for (size_t i = 0; i < p->sources->n; i++) wl_json_add_str(list, NULL, p->sources->v[i]);
    wl_json_add_int(root, "drop_epochs", p->asked->drop_epochs);
    wl_json_add_str(root, "cap", p->jobs.cap->name);
    wl_json_add_str(root, "hardware", p->jobs.hardware);
    wl_json_add_real(root, "max_slowdown", p->options.slowdown);
    wl_json_add_real(root, "asked_share", p->options.share);
    wl_json_add_int(root, "further_jobs", (int64_t)p->options.further);
    wl_json_add_real(root, "devices", p->devices);
    add_value(root, "choice", &p->jobs, p->result.choice);
    add_value(root, "reference", &p->jobs, p->result.reference);
    wl_json_add_bool(root, "saves", p->result.choice != p->result.reference);
    wl_json_add_int(root, "workloads", (int64_t)p->result.workloads);
    wl_json_add_real(root, "time_noise_sd", p->jobs.noise.sd_t);
    wl_json_add_real(root, "power_noise_sd", p->jobs.noise.sd_p);
    wl_json_add_real(root, "noise_correlation", p->jobs.noise.rho);
    wl_json_add_bool(root, "noise_assumed", !(p->jobs.noise_df > 0));
    wl_json_add_bool(root, "estimated", p->jobs.from & WL_ESTIMATED);
    wl_json_add_bool(root, "simulated", p->jobs.from & WL_SIMULATED);
    add_scripts(root, p, a);
    list = wl_json_add_array(root, "notes");
    for (size_t i = 0; i < p->notes.n; i++) wl_json_add_str(list, NULL, p->notes.v[i]);
    list = wl_json_add_array(root, "caps");
    for (size_t c = 0; c < p->jobs.values; c++) add_cap(list, p, c);
    list = wl_json_add_array(root, "jobs");
    for (size_t j = 0; j < p->jobs.n; j++) add_job(list, p, j);
}

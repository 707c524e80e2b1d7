/* wattlaw recommend --policy: one cap or clock for a partition, from many measured jobs. */
#include "cmd/wattlaw/recommend/recommend.h"

#include "cmd/cmd.h"
#include "cmd/wattlaw/analysis.h"
#include "cmd/wattlaw/busy.h"

#include <math.h>

enum { FURTHER = 100 };                   /* jobs that an interval of the share is for */
static const double level = 0.9;          /* of that interval */
static const double largest_share = 99.9; /* %; no number of jobs shows all of them */
static const double devices = 100;        /* of a partition of unknown size */

/* ---- options ---- */

static int read_options(const struct wl_recommend_options *o, struct wl_policy_options *out, struct wl_arena *a,
                        struct wl_err *e)
{
    double slowdown = 0, share = 0;
    if (!o->max_slowdown) return wl_fail(e, WL_EUSAGE, "--policy requires --max-slowdown, such as 10%%");
    int rc = wl_recommend_read_percent("max-slowdown", o->max_slowdown, WL_RECOMMEND_SLOWDOWN_MAX, &slowdown, a, e);
    if (rc == 0) rc = wl_recommend_read_percent("jobs", o->jobs, largest_share, &share, a, e);
    *out = (struct wl_policy_options) { slowdown / 100, share / 100, FURTHER, level };
    return rc;
}

/* ---- sources ---- */

struct sources {
    const struct wl_recommend_options *asked;
    const struct wl_choose_where *where;
    struct wl_policy_source *v;
    size_t n, cap;
    struct wl_strs *notes;
    const char *failed; /* why the first workload without a usable run has none; NULL: each has one */
    struct wl_arena *a;
};

static int add_workload(struct sources *s, const struct wl_observations *obs, const char *workload, struct wl_err *e)
{
    const struct wl_choose_campaign_options how = { .drop_epochs = s->asked->drop_epochs,
                                                    .where = s->where,
                                                    .n_where = s->asked->where.n,
                                                    .node_size = NAN,
                                                    .global_batch = NAN,
                                                    .site_power_w = NAN,
                                                    .is_store = wl_analysis_is_store(obs->source) };
    struct wl_choose_campaign *c = wl_new(s->a, struct wl_choose_campaign);
    const int rc = wl_choose_collect(obs, &how, c, s->a, e);
    if (rc) return rc;
    for (size_t i = 0; i < c->notes.n; i++)
        wl_strs_addf(s->a, s->notes, "%s: %s%s%s", obs->source, workload, *workload ? ": " : "", c->notes.v[i]);
    WL_GROW(s->a, s->v, s->n, s->cap);
    s->v[s->n++] = (struct wl_policy_source) { obs, c };
    return 0;
}

static const char *name_of(const struct wl_choose_workloads *w, size_t k)
{
    return *w->name[k] ? w->name[k] : w->n > 1 ? "runs without a workload" : "";
}

/* A workload without a usable run is a note: the others still answer. */
static int add_source(struct sources *s, const struct wl_observations *obs, struct wl_err *e)
{
    struct wl_choose_workloads workloads = { 0 };
    int rc = wl_choose_workloads(obs, s->where, s->asked->where.n, &workloads, s->a, e);
    if (rc == 0 && !workloads.n) wl_strs_addf(s->a, s->notes, "%s: no run matches --where workload", obs->source);
    for (size_t i = 0; i < workloads.n && rc == 0; i++) {
        const char *name = name_of(&workloads, i);
        rc = add_workload(s, &workloads.obs[i], name, e);
        if (rc != WL_EINVAL) continue;
        wl_strs_addf(s->a, s->notes, "%s%s%s", name, *name ? ": " : "", e->msg);
        if (!s->failed) s->failed = wl_strdup(s->a, e->msg);
        rc = 0;
    }
    return rc;
}

/* Are there settings that may be chosen? */
static int check_any(const struct sources *s, struct wl_err *e)
{
    struct wl_text t = WL_TEXT(s->a);
    for (size_t k = 0; k < s->n; k++)
        for (size_t i = 0; i < s->v[k].campaign->n; i++)
            if (!s->v[k].campaign->settings[i].excluded) return 0;
    for (size_t k = 0; k < s->asked->where.n; k++) wl_text_addf(&t, "%s%s", k ? " --where " : "", s->asked->where.v[k]);
    if (s->failed && !s->n) return wl_fail(e, WL_EINVAL, "%s", s->failed);
    return wl_fail(e, WL_EINVAL, "no run matches --where %s", t.s);
}

/* Runs on a busy machine are a note, or left out. */
static int find_busy(const char *path, const struct sources *s, struct wl_observations *obs, struct wl_err *e)
{
    struct wl_busy_runs busy;
    int rc = wl_busy_runs_find(path, s->asked->exclude_busy, obs, &busy, s->a, e);
    const char *text = rc ? NULL : wl_busy_runs_text(&busy, s->a);
    if (text) wl_strs_addf(s->a, s->notes, "%s: busy machine: %s", path, text);
    return rc;
}

/* The table of each source, without the runs that an earlier one has. */
static int read_sources(const struct wl_strs *paths, struct sources *s, struct wl_observations *obs, struct wl_err *e)
{
    size_t *removed = wl_new_array(s->a, size_t, paths->n);
    int rc = 0;
    for (size_t i = 0; i < paths->n && rc == 0; i++) {
        rc = wl_analysis_read(paths->v[i], &s->asked->map, &obs[i], s->a, e);
        if (rc == 0) rc = find_busy(paths->v[i], s, &obs[i], e);
        if (rc == 0) rc = wl_analysis_add_peaks(paths->v[i], &obs[i], s->a, e);
    }
    if (rc) return rc;
    wl_policy_remove_copies(obs, paths->n, removed, s->a);
    for (size_t i = 0; i < paths->n; i++)
        if (removed[i])
            wl_strs_addf(s->a, s->notes, "%s: excluded: %zu run%s with the times and energies of an earlier source",
                         paths->v[i], removed[i], removed[i] == 1 ? "" : "s");
    return 0;
}

static int find_jobs(const struct wl_recommend_options *o, struct wl_recommend_policy *p, struct wl_arena *a,
                     struct wl_err *e)
{
    const size_t n = p->sources->n;
    struct sources s = { .asked = o, .notes = &p->notes, .a = a };
    struct wl_observations *obs = wl_new_array(a, struct wl_observations, n);
    struct wl_choose_where *where = NULL;
    int rc = wl_recommend_read_where(&o->where, "where", &where, a, e);
    s.where = where;
    if (rc == 0) rc = read_sources(p->sources, &s, obs, e);
    for (size_t i = 0; i < n && rc == 0; i++)
        if (obs[i].n) rc = add_source(&s, &obs[i], e);
    if (rc == 0) rc = check_any(&s, e);
    if (rc) return rc;
    return wl_policy_find_jobs(s.v, s.n, o->cap ? wl_setting_find(o->cap) : NULL, o->max_power_w, &p->jobs, a, e);
}

/* ---- notes ---- */

static void note_evidence(struct wl_recommend_policy *p, struct wl_arena *a)
{
    const struct wl_policy_jobs *j = &p->jobs;
    if (j->single)
        wl_strs_addf(a, &p->notes, "left out: %zu group%s of runs with one value of the %s%s", j->single,
                     j->single == 1 ? "" : "s", j->cap->label, p->sources->n > 1 ? " within one source" : "");
    if (j->unmeasured)
        wl_strs_addf(a, &p->notes, "left out: %zu group%s of runs without the energy of two values of the %s",
                     j->unmeasured, j->unmeasured == 1 ? "" : "s", j->cap->label);
    if (!(j->noise_df > 0))
        wl_strs_addf(
            a, &p->notes,
            "nothing was measured twice: the noise of a run is taken for %.0f %% of its time and power; repeat "
            "some runs",
            100 * j->noise.sd_t);
    if (p->options.share > p->result.reachable)
        wl_strs_addf(a, &p->notes,
                     "%zu jobs can show a mean share of %.1f %% at most: for %.4g %% measure at least %.0f", j->n,
                     100 * p->result.reachable, 100 * p->options.share,
                     ceil((p->options.share - 0.5) / (1 - p->options.share)));
    if (p->result.workloads == 1) wl_strs_add(a, &p->notes, "one workload was measured: nothing is known of others");
}

int wl_recommend_policy(const struct wl_recommend_options *o, const struct wl_strs *sources, struct wl_arena *a,
                        struct wl_err *e)
{
    struct wl_recommend_policy p = { .asked = o,
                                     .sources = sources,
                                     .devices = isnan(o->devices) ? devices : o->devices };
    int rc = read_options(o, &p.options, a, e);
    if (rc == 0) rc = find_jobs(o, &p, a, e);
    if (rc == 0) rc = wl_policy_decide(&p.jobs, &p.options, &p.result, a, e);
    if (rc) return rc;
    note_evidence(&p, a);
    if (o->json) {
        struct wl_json *root = wl_json_root_object(a);
        wl_recommend_policy_json(&p, root, a);
        wl_json_print(root);
    } else {
        wl_recommend_policy_print(&p, a);
    }
    return WL_EXIT_OK;
}

/* The scripts of all runs of an experiment, written without submitting any. */
#include "campaign/batch.h"

/* Slurm's own MaxArraySize, where this machine cannot ask the site. */
static const int64_t ARRAY_MAX = 1001;

struct dry_run {
    struct wl_sweep *s;
    struct wl_batch_scripts scripts;
    struct wl_batch_site site;
    struct wl_batch_request *requests; /* [planned run] */
};

static void ask_site(struct dry_run *d)
{
    const struct wl_batch *batch = d->s->launcher->batch;
    struct wl_err e;
    if (batch->site && batch->site(d->s->x, &d->site, d->s->a, &e) < 0)
        d->site = (struct wl_batch_site) { .array_max = ARRAY_MAX };
}

static int write_runs(struct dry_run *d, struct wl_err *e)
{
    struct wl_sweep *s = d->s;
    const struct wl_batch_queue nothing_yet = { .s = s, .site = &d->site };
    const struct wl_batch_limits *limits = wl_batch_limits_new(&nothing_yet, s->a);
    const struct wl_batch_limit limit = wl_batch_limit_of(limits, 0);
    int rc = 0;
    for (size_t i = 0; i < s->grid.n_runs && rc == 0; i++) {
        const struct wl_planned_run *p = &s->grid.runs[i];
        const struct wl_trial *t = &s->grid.trials[p->trial];
        const struct wl_settings set = wl_sweep_trial_settings(s->x, t, s->a);
        d->requests[i] = (struct wl_batch_request) {
            .trial = t, .nodes = t->nodes ? t->nodes : 1, .time_limit_s = limit.s, .why_limit = limit.why
        };
        rc = wl_batch_script_write(&d->scripts, wl_batch_trial_hash(&set, s->a), p->repeat, wl_batch_token(s->a),
                                   &d->requests[i], s->a, e);
    }
    return rc;
}

/* Numbered within each repeat, so that the next dry run replaces them. */
static int write_arrays(struct dry_run *d, size_t most, struct wl_err *e)
{
    struct wl_sweep *s = d->s;
    const size_t n = s->grid.n_runs;
    struct wl_batch_item *items = wl_new_array(s->a, struct wl_batch_item, n);
    struct wl_batch_request *members = wl_new_array(s->a, struct wl_batch_request, n), array;
    size_t *group = wl_new_array(s->a, size_t, n);
    int64_t repeat = 0, number = 0;
    int rc = 0;
    for (size_t i = 0; i < n; i++)
        items[i] =
            (struct wl_batch_item) { s->grid.runs[i].repeat, wl_batch_needs(d->scripts.batch, &d->requests[i], s->a),
                                     d->requests[i].time_limit_s };
    const size_t groups = wl_batch_array_split(items, n, most, group, s->a);
    for (size_t g = 0; g < groups && rc == 0; g++) {
        size_t m = 0;
        for (size_t i = 0; i < n; i++) {
            if (group[i] != g) continue;
            members[m++] = d->requests[i];
            if (repeat != items[i].repeat) number = 0;
            repeat = items[i].repeat;
        }
        if (m < 2) continue;
        rc = wl_batch_array_write(&d->scripts, members, m, repeat, wl_strf(s->a, "%lld", (long long)++number), &array,
                                  s->a, e);
    }
    return rc;
}

int wl_batch_write_scripts(struct wl_sweep *s, struct wl_err *e)
{
    struct dry_run d = { .s = s, .requests = wl_new_array(s->a, struct wl_batch_request, s->grid.n_runs) };
    int64_t most = 0;
    int rc = wl_batch_scripts_open(s, &d.scripts, e);
    if (rc < 0) return rc;
    ask_site(&d);
    rc = write_runs(&d, e);
    wl_batch_array_parse(s->x->launch.batch.array, &most);
    if (most > d.site.array_max) most = d.site.array_max;
    return rc || most < 2 ? rc : write_arrays(&d, (size_t)most, e);
}

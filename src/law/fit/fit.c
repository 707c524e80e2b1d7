#include "law/fit/fit.h"

#include "law/fit/diagnostics.h"
#include "law/fit/estimate.h"
#include "law/fit/models.h"
#include "law/fit/notes.h"
#include "law/fit/runs.h"
#include "law/fit/speedup.h"
#include "law/work.h"

static void add_counts(struct wl_law_counts *sum, const struct wl_law_counts *c)
{
    sum->rows += c->rows;
    sum->used += c->used;
    sum->first_epochs += c->first_epochs;
    sum->no_workers += c->no_workers;
    sum->no_response += c->no_response;
    sum->not_positive += c->not_positive;
    sum->repeated += c->repeated;
    sum->totals += c->totals;
}

/* One scan of all groups for curvature, with the false discovery rate controlled. */
static void scan_groups(struct wl_law_result *r, struct wl_arena *a)
{
    double *p = wl_new_array(a, double, r->n), *adjusted = wl_new_array(a, double, r->n);
    for (size_t i = 0; i < r->n; i++) p[i] = r->groups[i].quadratic.p;
    wl_benjamini_hochberg(p, r->n, adjusted, a);
    for (size_t i = 0; i < r->n; i++) r->groups[i].quadratic.p_bh = adjusted[i];
}

struct fits {
    const struct wl_observations *obs;
    const struct wl_law_options *options;
    const struct wl_law_partition_cells *parts;
    struct wl_law_group *groups;
};

static void note_groups(struct wl_law_group *g, const struct wl_law_options *options, struct wl_arena *a)
{
    for (size_t i = 0; i < g->n_key && !options->by.n; i++)
        if (wl_law_work_is_key(g->key[i].column))
            wl_strs_addf(a, &g->notes,
                         "runs of one worker count differ in the work of their %s, so they do not share a law: %s "
                         "separates groups",
                         wl_law_rows_name(g), g->key[i].column);
}

static void fit_group(void *ctx, size_t i, struct wl_arena *a)
{
    const struct fits *f = ctx;
    const struct wl_law_partition_cell *part = &f->parts->v[i];
    struct wl_law_group *g = &f->groups[i];
    g->key = part->key;
    g->n_key = part->n_key;
    g->title = wl_law_partition_title(part, a);
    g->work = f->obs->work;
    g->counted = f->obs->counted ? f->obs->counted : "samples";
    wl_law_collect_runs(g, f->obs, part, f->options, a);
    note_groups(g, f->options, a);
    wl_law_collect_configs(g, a);
    if (f->options->runs_only) {
        if (g->n_configs < 2) g->no_law_reason = wl_law_estimate_refusal(g, a);
        wl_law_fill_speedup(g, a);
        return;
    }
    wl_law_estimate_choose(g, a);
    wl_law_fit_estimators(g, f->options, a);
    wl_law_test_residuals(g, a);
    wl_law_describe_series(g);
    wl_law_test_power_law(g, f->options, a);
    if (f->options->thorough) wl_law_fit_models(g, f->options->response, a);
    wl_law_fill_speedup(g, a);
    wl_law_note_limits(g, a);
}

int wl_law_fit(const struct wl_observations *obs, const struct wl_law_options *options, struct wl_law_result *out,
               struct wl_arena *a, struct wl_err *e)
{
    *out = (struct wl_law_result) { .response = options->response };
    if (options->drop_epochs < 0)
        return wl_fail(e, WL_EINVAL, "drop_epochs is %lld, must be 0 or more", (long long)options->drop_epochs);
    if (!(options->beyond >= 0))
        return wl_fail(e, WL_EINVAL, "beyond is %g workers, must be 0 or more", options->beyond);
    struct wl_law_partition_cells parts;
    const struct wl_law_grouping rule = { .by = options->by, .fixed_batch = options->fixed_batch };
    int rc = wl_law_partition(obs, &rule, &parts, a, e);
    if (rc) return rc;
    out->groups = wl_new_array(a, struct wl_law_group, parts.n);
    out->n = parts.n;
    wl_parallel(parts.n, fit_group, &(struct fits) { obs, options, &parts, out->groups }, a);
    for (size_t i = 0; i < parts.n; i++) add_counts(&out->counts, &out->groups[i].counts);
    if (!options->runs_only) scan_groups(out, a);
    return 0;
}

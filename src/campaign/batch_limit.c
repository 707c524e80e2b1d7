/* The time limit of a job: predicted from what the finished runs of the campaign took, raised where it was reached, and
 * never above what the site allows. */
#include "campaign/batch.h"

#include "stats/stats.h"

#include <math.h>

/* In a job, outside of its run: the setup line, the start of wattlaw, its store on its way into the campaign's folder.
 */
static const double AROUND_RUN_S = 120;

static const double RAISE = 2;

/* ---- the law ---- */

struct law_axis {
    double lo, hi; /* of the values that were measured */
    double at;
};

/* NAN: a run has no value. */
static struct law_axis axis_of(const double *values, size_t n, double at)
{
    struct law_axis axis = { INFINITY, -INFINITY, at };
    for (size_t i = 0; i < n; i++) {
        if (!(values[i] > 0)) axis.at = NAN;
        axis.lo = fmin(axis.lo, values[i]);
        axis.hi = fmax(axis.hi, values[i]);
    }
    return axis;
}

static bool covers(const struct law_axis *axis) { return axis->at >= axis->lo && axis->at <= axis->hi; }

static double batch_or_1(double batch) { return isnan(batch) ? 1 : batch; }

static bool is_same_setting(const struct wl_batch_took *x, const struct wl_batch_took *y)
{
    return x->workers == y->workers && batch_or_1(x->batch) == batch_or_1(y->batch);
}

/* Are there so many settings among the runs? */
static bool has_settings(const struct wl_batch_took *v, size_t n, size_t needed)
{
    size_t settings = 0;
    for (size_t i = 0; i < n && settings < needed; i++) {
        size_t before = 0;
        while (before < i && !is_same_setting(&v[before], &v[i])) before++;
        settings += before == i;
    }
    return settings >= needed;
}

double wl_batch_law_s(const struct wl_batch_took *v, size_t n, double workers, double batch, struct wl_arena *a)
{
    double *value[2] = { wl_new_array(a, double, n), wl_new_array(a, double, n) };
    double *x = wl_new_array(a, double, 2 * n), *y = wl_new_array(a, double, n), x0[2];
    const double at[2] = { workers, batch_or_1(batch) };
    size_t columns = 0, used[2];
    for (size_t i = 0; i < n; i++) {
        value[0][i] = v[i].workers;
        value[1][i] = batch_or_1(v[i].batch);
        y[i] = log(v[i].time_s);
    }
    for (size_t k = 0; k < 2; k++) {
        const struct law_axis axis = axis_of(value[k], n, at[k]);
        if (!covers(&axis)) return NAN; /* a law is not trusted beyond what was measured */
        if (axis.lo < axis.hi) used[columns++] = k;
    }
    if (columns == 0 || !has_settings(v, n, columns + 2)) return NAN;
    for (size_t c = 0; c < columns; c++) {
        for (size_t i = 0; i < n; i++) x[c * n + i] = log(value[used[c]][i]);
        x0[c] = log(at[used[c]]);
    }
    const struct wl_ols_data data = { .n = n, .columns = columns, .y = y, .x = x, .intercept = true };
    struct wl_ols fit;
    struct wl_err e;
    return wl_ols_fit(&fit, &data, a, &e) < 0 ? NAN : exp(wl_ols_predict(&fit, x0, 0.95).fit);
}

/* ---- what the campaign knows ---- */

struct finished {
    size_t trial; /* index */
    struct wl_batch_took took;
};

struct wl_batch_limits {
    const struct wl_batch_queue *q;
    uint64_t *group; /* [trial] of those that differ in workers and batch alone */
    struct finished *v;
    size_t n;
    struct wl_arena *a;
};

static double batch_of(const struct wl_settings *set)
{
    return isnan(set->global_batch) ? set->local_batch : set->global_batch;
}

static uint64_t group_of(const struct wl_settings *set, struct wl_arena *a)
{
    struct wl_settings rest = *set;
    rest.workers = rest.nodes = rest.local_batch = rest.global_batch = rest.accumulation = NAN;
    return wl_hash_fnv1a(wl_settings_key(&rest, a));
}

static size_t trial_index(const struct wl_batch_queue *q, int64_t id)
{
    size_t i = 0;
    while (i < q->trials.n && q->trials.v[i].id != id) i++;
    return i;
}

static double workers_of(const struct wl_settings *set) { return isnan(set->workers) ? 1 : set->workers; }

struct wl_batch_limits *wl_batch_limits_new(const struct wl_batch_queue *q, struct wl_arena *a)
{
    struct wl_batch_limits *l = wl_new(a, struct wl_batch_limits);
    *l = (struct wl_batch_limits) { .q = q,
                                    .group = wl_new_array(a, uint64_t, q->trials.n),
                                    .v = wl_new_array(a, struct finished, q->runs.n),
                                    .a = a };
    for (size_t i = 0; i < q->trials.n; i++) l->group[i] = group_of(&q->trials.v[i].set, a);
    for (size_t i = 0; i < q->runs.n; i++) {
        const struct wl_run_row *r = &q->runs.v[i];
        const size_t trial = trial_index(q, r->trial);
        if (r->status != WL_RUN_DONE || !(r->time_s > 0) || trial == q->trials.n) continue;
        const struct wl_settings *set = &q->trials.v[trial].set;
        l->v[l->n++] = (struct finished) { trial, { workers_of(set), batch_of(set), r->time_s } };
    }
    return l;
}

/* The duration of a run, and what says so; NAN: nothing does. */
static double predict(const struct wl_batch_limits *l, size_t trial, const char **source, struct wl_arena *a)
{
    const struct wl_settings *set = &l->q->trials.v[trial].set;
    struct wl_batch_took *took = wl_new_array(a, struct wl_batch_took, l->n);
    double longest_s = NAN;
    size_t n = 0, own = 0;
    for (size_t i = 0; i < l->n; i++) {
        if (l->group[l->v[i].trial] != l->group[trial]) continue;
        took[n++] = l->v[i].took;
        if (l->v[i].trial != trial) continue;
        longest_s = fmax(longest_s, l->v[i].took.time_s);
        own++;
    }
    const double law_s = wl_batch_law_s(took, n, workers_of(set), batch_of(set), a);
    const bool by_law = !(longest_s >= law_s) && !isnan(law_s);
    *source = by_law ? wl_strf(a, "the law of %zu finished runs", n)
                     : wl_strf(a, "the longest of %zu finished run%s of these settings", own, own == 1 ? "" : "s");
    return by_law ? law_s : longest_s;
}

/* What a job does before and after its run by the experiment's keys. */
static double around_s(const struct wl_experiment *x)
{
    const double cooldown_s = isnan(x->measure.cooldown.below_c) ? 0 : x->measure.cooldown.wait_s;
    return AROUND_RUN_S + 2 * x->measure.idle_s + cooldown_s + x->launch.batch.signal_before_s;
}

double wl_batch_asked_limit_s(const struct wl_batch_site *site, const struct wl_submission_row *row)
{
    if (!isnan(row->time_limit_s)) return row->time_limit_s;
    if (!site) return NAN;
    if (site->default_limit_s > 0) return site->default_limit_s;
    return site->time_limit_s > 0 ? site->time_limit_s : NAN;
}

/* The longest limit that a job of this trial has reached; NAN: none. What is too short for one repeat is so for all. */
static double reached_s(const struct wl_batch_queue *q, int64_t trial)
{
    double longest_s = NAN;
    for (size_t i = 0; i < q->submissions.n; i++) {
        const struct wl_submission_row *row = &q->submissions.v[i];
        if (!wl_str_eq(row->outcome, wl_batch_state_names[WL_BATCH_TIMEOUT])) continue;
        for (size_t k = 0; k < q->runs.n; k++)
            if (q->runs.v[k].id == row->run && q->runs.v[k].trial == trial)
                longest_s = fmax(longest_s, wl_batch_asked_limit_s(q->site, row));
    }
    return longest_s;
}

struct wl_batch_limit wl_batch_limit_of(const struct wl_batch_limits *l, int64_t trial)
{
    const struct wl_experiment *x = l->q->s->x;
    const struct wl_batch_keys *k = &x->launch.batch;
    const struct wl_batch_site *site = l->q->site;
    struct wl_batch_limit limit = { k->time_limit_s, k->time_limit_s > 0 ? "the key time_limit" : NULL };
    const size_t at = trial_index(l->q, trial);
    struct wl_arena *work = wl_arena_new(l->a);
    const char *source;
    const double run_s = limit.s > 0 && k->time_margin > 0 && at < l->q->trials.n ? predict(l, at, &source, work) : NAN;
    if (!isnan(run_s)) {
        limit.s = k->time_margin * run_s + around_s(x);
        limit.why = wl_strf(l->a, "%g times %s, %s, and %s around it", k->time_margin, wl_human_time(l->a, run_s),
                            source, wl_human_time(l->a, around_s(x)));
    }
    wl_arena_free(work);
    const double before_s = reached_s(l->q, trial);
    if (RAISE * before_s > limit.s) {
        limit.s = RAISE * before_s;
        limit.why = wl_strf(l->a, "%g times the limit of %s, which was reached", RAISE, wl_human_time(l->a, before_s));
    }
    if (site && site->time_limit_s > 0 && limit.s > site->time_limit_s) {
        limit.s = site->time_limit_s;
        limit.why = wl_strf(l->a, "the longest that partition %s allows, in place of %s", site->partition, limit.why);
    }
    return limit;
}

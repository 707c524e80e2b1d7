#include "campaign/budget.h"

#include <math.h>

struct wl_sweep_budget {
    struct wl_sweep *s;
    struct wl_run_limit_state *v; /* [n] used: by all runs of the campaign */
    size_t n;
    double *cost, *cost_n;        /* [trial x limit] sums over finished runs */
    struct wl_run_limits *of_run; /* of the run that is under way */
};

/* ---- what is used ---- */

static double cost_of(const struct wl_run_limit *l, const struct wl_run_row *r)
{
    return l->of_energy ? r->energy_j : r->time_s;
}

static void add_row(struct wl_sweep_budget *b, const struct wl_run_row *r)
{
    for (size_t k = 0; k < b->n; k++) {
        struct wl_run_limit_state *state = &b->v[k];
        const double cost = cost_of(&state->limit, r);
        if (isnan(cost)) continue;
        state->used += cost;
        if (state->limit.of_energy) state->from |= wl_provenance_of(r->estimated, r->simulated);
        for (size_t t = 0; t < b->s->grid.n_trials && r->status == WL_RUN_DONE; t++)
            if (b->s->trial_ids[t] == r->trial) {
                b->cost[t * b->n + k] += cost;
                b->cost_n[t * b->n + k]++;
            }
    }
}

/* Failed and interrupted runs have used energy and time too. */
static int add_rows(struct wl_sweep_budget *b, int64_t run, struct wl_err *e)
{
    struct wl_run_rows rows;
    const struct wl_run_filter filter = { .campaign = b->s->out->campaign, .run = run };
    struct wl_arena *a = wl_arena_new(b->s->a);
    const int rc = wl_store_runs(b->s->store, &filter, &rows, a, e);
    for (size_t i = 0; rc == 0 && i < rows.n; i++) add_row(b, &rows.v[i]);
    wl_arena_free(a);
    return rc;
}

int wl_sweep_budget_open(struct wl_sweep *s, struct wl_sweep_budget **out, struct wl_err *e)
{
    const struct wl_sweep_opts *o = s->opts;
    *out = NULL;
    if (!o->n_limits) return 0;
    struct wl_sweep_budget *b = wl_new(s->a, struct wl_sweep_budget);
    *b = (struct wl_sweep_budget) { .s = s,
                                    .v = wl_new_array(s->a, struct wl_run_limit_state, o->n_limits),
                                    .n = o->n_limits,
                                    .cost = wl_new_array(s->a, double, s->grid.n_trials * o->n_limits),
                                    .cost_n = wl_new_array(s->a, double, s->grid.n_trials * o->n_limits) };
    for (size_t k = 0; k < b->n; k++)
        b->v[k] = (struct wl_run_limit_state) { .limit = o->limits[k], .forecast = NAN, .lo = NAN, .hi = NAN };
    s->out->limits = b->v;
    s->out->n_limits = b->n;
    *out = b;
    return add_rows(b, 0, e);
}

/* ---- what the rest will take ---- */

/* The mean cost of all finished runs; NAN before the first. */
static double mean_cost(const struct wl_sweep_budget *b, size_t limit)
{
    double sum = 0, n = 0;
    for (size_t t = 0; t < b->s->grid.n_trials; t++) {
        sum += b->cost[t * b->n + limit];
        n += b->cost_n[t * b->n + limit];
    }
    return n > 0 ? sum / n : NAN;
}

/* Of run i: the mean cost of its trial's finished runs, else `mean`. */
static double expected(const struct wl_sweep_budget *b, size_t i, size_t limit, double mean)
{
    const size_t at = b->s->grid.runs[i].trial * b->n + limit;
    return b->cost_n[at] > 0 ? b->cost[at] / b->cost_n[at] : mean;
}

static double rest(const struct wl_sweep_budget *b, size_t limit, double mean)
{
    double sum = 0;
    for (size_t i = 0; i < b->s->grid.n_runs; i++)
        if (b->s->to_do[i]) sum += expected(b, i, limit, mean);
    return sum;
}

static int stop(struct wl_sweep_budget *b, size_t limit, const char *why, struct wl_err *e)
{
    struct wl_run_limit_state *state = &b->v[limit];
    state->reached = true;
    return wl_fail(e, WL_EINTR, "the campaign is stopped at its limit of %s: %s", state->limit.text, why);
}

static void warn(struct wl_sweep_budget *b, size_t limit)
{
    struct wl_arena *a = wl_arena_new(b->s->a);
    struct wl_run_limit_state *state = &b->v[limit];
    if (state->forecast > state->limit.value && !state->warned) {
        state->warned = true;
        wl_log(WL_WARN, "campaign",
               "the campaign will reach its limit of %s: %s used after %zu of %zu runs, all of them take about %s",
               state->limit.text, wl_run_limit_used(state, state->used, a), b->s->out->done, b->s->out->planned,
               wl_run_limit_forecast(state, a));
    }
    wl_arena_free(a);
}

int wl_sweep_budget_check(struct wl_sweep_budget *b, size_t i, struct wl_err *e)
{
    for (size_t k = 0; k < b->n; k++) {
        struct wl_run_limit_state *state = &b->v[k];
        const double mean = mean_cost(b, k), next = expected(b, i, k, mean);
        state->forecast = state->used + rest(b, k, mean);
        if (state->used >= state->limit.value)
            return stop(b, k, wl_strf(b->s->a, "%s are used", wl_run_limit_used(state, state->used, b->s->a)), e);
        if (state->used + next > state->limit.value)
            return stop(b, k,
                        wl_strf(b->s->a, "%s are used, and the next run takes about %s",
                                wl_run_limit_used(state, state->used, b->s->a),
                                wl_run_limit_used(state, next, b->s->a)),
                        e);
        warn(b, k);
    }
    return 0;
}

/* ---- during a run ---- */

const struct wl_run_watch *wl_sweep_budget_watch(struct wl_sweep_budget *b, struct wl_arena *a)
{
    struct wl_run_limit *limits = wl_new_array(a, struct wl_run_limit, b->n);
    for (size_t k = 0; k < b->n; k++) {
        limits[k] = b->v[k].limit;
        limits[k].of_campaign = true;
        limits[k].before = b->v[k].used;
        limits[k].text = wl_strf(a, "%s for the campaign", b->v[k].limit.text);
    }
    b->of_run = wl_run_limits_new(limits, b->n, a);
    return wl_run_limits_watch(b->of_run);
}

int wl_sweep_budget_add(struct wl_sweep_budget *b, size_t i, struct wl_err *e)
{
    const struct wl_run_limits *of_run = b->of_run;
    b->of_run = NULL; /* it dies with the run's arena */
    const int rc = add_rows(b, b->s->run_ids[i], e);
    if (rc || !of_run) return rc;
    size_t n;
    const struct wl_run_limit_state *states = wl_run_limits_states(of_run, &n);
    for (size_t k = 0; k < n; k++)
        if (states[k].reached)
            return stop(b, k, wl_strf(b->s->a, "%s are used", wl_run_limit_used(&b->v[k], b->v[k].used, b->s->a)), e);
    return 0;
}

#include "advise/batch/batch.h"

#include "advise/batch/process.h"

#include "stats/stats.h"

#include <math.h>
#include <string.h>

enum { MAX = WL_ADVISE_BATCH_MAX };
static const double tail_mean = 0.25, tail_variance = 0.04; /* of ln cost beyond a limit: half-normal, scale .31 */
static const size_t least_trials = 4;                       /* before the search may settle */
static const size_t neighbours_left = 3;                    /* trials left from which neighbours come first */

struct wl_advise_batch {
    struct wl_advise_batch_opts opts;
    double batch[MAX], price[MAX];
    struct wl_advise_batch_trial trial[WL_ADVISE_BATCH_TRIALS];
    size_t used;
    bool stale;
    struct wl_advise_process process;
    struct wl_advise_batch_estimate estimate[MAX];
};

struct wl_advise_batch_opts wl_advise_batch_defaults(const double *batch, size_t n, size_t start)
{
    return (struct wl_advise_batch_opts) { batch, n, start, 8, 0.001, 2, NULL };
}

static int check(const struct wl_advise_batch_opts *o, struct wl_err *e)
{
    if (o->n < 1 || o->n > MAX) return wl_fail(e, WL_EINVAL, "%zu batches to choose from, expected 1 to %d", o->n, MAX);
    for (size_t i = 0; i < o->n; i++) {
        if (!(o->batch[i] > 0) || isinf(o->batch[i]))
            return wl_fail(e, WL_EINVAL, "batch %zu is %g, expected a positive number", i, o->batch[i]);
        if (i && o->batch[i] <= o->batch[i - 1])
            return wl_fail(e, WL_EINVAL, "batches must ascend: %g follows %g", o->batch[i], o->batch[i - 1]);
        if (o->price && (!(o->price[i] > 0) || isinf(o->price[i])))
            return wl_fail(e, WL_EINVAL, "price of batch %zu is %g, expected a positive number", i, o->price[i]);
    }
    if (o->start >= o->n)
        return wl_fail(e, WL_EINVAL, "first trial is batch %zu of %zu (counted from 0)", o->start, o->n);
    if (o->trials < 1 || o->trials > WL_ADVISE_BATCH_TRIALS)
        return wl_fail(e, WL_EINVAL, "%zu trials, expected 1 to %d", o->trials, WL_ADVISE_BATCH_TRIALS);
    if (!(o->stop >= 0)) return wl_fail(e, WL_EINVAL, "gain to stop at is %g, expected 0 or more", o->stop);
    if (!(o->stop_at > 1) || isinf(o->stop_at))
        return wl_fail(e, WL_EINVAL, "a trial is stopped at %g times the best cost, expected more than 1", o->stop_at);
    return 0;
}

int wl_advise_batch_new(struct wl_advise_batch **out, const struct wl_advise_batch_opts *opts, struct wl_arena *a,
                        struct wl_err *e)
{
    int rc = check(opts, e);
    if (rc) return rc;
    struct wl_advise_batch *s = wl_try_alloc(a, sizeof *s, 64, "a batch search", e);
    if (!s) return WL_ENOMEM;
    s->opts = *opts;
    memcpy(s->batch, opts->batch, opts->n * sizeof *s->batch);
    s->opts.batch = s->batch;
    if (opts->price) memcpy(s->price, opts->price, opts->n * sizeof *s->price);
    s->stale = true;
    wl_advise_process_init(&s->process, s->batch, opts->n);
    *out = s;
    return 0;
}

int wl_advise_batch_add(struct wl_advise_batch *s, const struct wl_advise_batch_trial *t, struct wl_err *e)
{
    const bool known = t->outcome == WL_ADVISE_BATCH_REACHED || t->outcome == WL_ADVISE_BATCH_STOPPED;
    if (t->index >= s->opts.n) return wl_fail(e, WL_EINVAL, "no batch %zu among %zu", t->index, s->opts.n);
    if (!(t->cost >= 0) || isinf(t->cost) || (known && !(t->cost > 0)))
        return wl_fail(e, WL_EINVAL, "trial with batch %g: cost %g, expected a positive number", s->batch[t->index],
                       t->cost);
    if (s->used == WL_ADVISE_BATCH_TRIALS)
        return wl_fail(e, WL_EINVAL, "a batch search takes at most %d trials", WL_ADVISE_BATCH_TRIALS);
    s->trial[s->used++] = *t;
    s->stale = true;
    return 0;
}

static double best_cost(const struct wl_advise_batch *s)
{
    double best = INFINITY;
    for (size_t i = 0; i < s->used; i++)
        if (s->trial[i].outcome == WL_ADVISE_BATCH_REACHED) best = fmin(best, s->trial[i].cost);
    return best;
}

static double limit(const struct wl_advise_batch *s) { return s->opts.stop_at * best_cost(s); }

/* What a trial says about ln cost; false: nothing. */
static bool observation(const struct wl_advise_batch *s, const struct wl_advise_batch_trial *t, double *y,
                        double *extra)
{
    double cost = t->cost;
    if (t->outcome == WL_ADVISE_BATCH_OUT_OF_MEMORY) return false;
    if (t->outcome == WL_ADVISE_BATCH_DIVERGED && isfinite(limit(s))) cost = limit(s);
    if (!(cost > 0)) return false;
    const bool reached = t->outcome == WL_ADVISE_BATCH_REACHED;
    *y = log(cost) + (reached ? 0 : tail_mean);
    *extra = reached ? 0 : tail_variance;
    return true;
}

static void observe(struct wl_advise_batch *s)
{
    struct wl_advise_process *p = &s->process;
    p->observed = 0;
    for (size_t i = 0; i < s->used; i++)
        if (observation(s, &s->trial[i], &p->y[p->observed], &p->extra[p->observed]))
            p->index[p->observed++] = s->trial[i].index;
    wl_advise_process_condition(p);
}

static void mark(struct wl_advise_batch *s, const struct wl_advise_batch_trial *t)
{
    struct wl_advise_batch_estimate *e = s->estimate;
    if (t->outcome == WL_ADVISE_BATCH_REACHED)
        e[t->index].reached++;
    else
        e[t->index].failed = true;
    for (size_t i = t->index; t->outcome == WL_ADVISE_BATCH_OUT_OF_MEMORY && i < s->opts.n; i++) e[i].failed = true;
}

static void update(struct wl_advise_batch *s)
{
    const size_t n = s->opts.n;
    bool free[MAX];
    if (!s->stale) return;
    observe(s);
    for (size_t i = 0; i < n; i++) s->estimate[i] = (struct wl_advise_batch_estimate) { .batch = s->batch[i] };
    for (size_t i = 0; i < s->used; i++) mark(s, &s->trial[i]);
    for (size_t i = 0; i < n; i++) free[i] = !s->estimate[i].failed;
    for (size_t i = 0; i < n; i++) {
        struct wl_advise_batch_estimate *e = &s->estimate[i];
        e->ln_cost = s->process.observed ? s->process.mean[i] : NAN;
        e->sd = s->process.observed ? sqrt(fmax(s->process.cov[i + i * n], 0)) : NAN;
        e->gain = free[i] && s->process.observed ? wl_advise_process_gain(&s->process, free, i) : 0;
    }
    s->stale = false;
}

const struct wl_advise_batch_estimate *wl_advise_batch_estimates(struct wl_advise_batch *s)
{
    update(s);
    return s->estimate;
}

/* Least mean among the batches that reached the target and did not fail, else among all that did not fail; n: none. */
static size_t choose(const struct wl_advise_batch *s)
{
    const size_t n = s->opts.n;
    for (int any = 0; any < 2; any++) {
        size_t best = n;
        for (size_t i = 0; i < n; i++) {
            const struct wl_advise_batch_estimate *e = &s->estimate[i];
            if (e->failed || (!any && !e->reached)) continue;
            if (best == n || e->ln_cost < s->estimate[best].ln_cost) best = i;
        }
        if (best < n) return best;
    }
    return n;
}

/* The untried neighbour of a batch with the lesser mean; n: none. */
static size_t untried_neighbour(const struct wl_advise_batch *s, size_t of)
{
    const size_t n = s->opts.n;
    size_t best = n;
    for (size_t i = of ? of - 1 : 0; i < n && i <= of + 1; i++) {
        const struct wl_advise_batch_estimate *e = &s->estimate[i];
        if (i == of || e->failed || e->reached) continue;
        if (best == n || e->ln_cost < s->estimate[best].ln_cost) best = i;
    }
    return best;
}

static size_t most_gain(const struct wl_advise_batch *s)
{
    size_t best = s->opts.n;
    for (size_t i = 0; i < s->opts.n; i++)
        if (!s->estimate[i].failed && (best == s->opts.n || s->estimate[i].gain > s->estimate[best].gain)) best = i;
    return best;
}

/* The candidate with the largest gain per price, among those whose gain is worth a trial; `best`: the largest gain. */
static size_t most_gain_per_price(const struct wl_advise_batch *s, size_t best)
{
    double most = 0;
    if (!s->opts.price || best == s->opts.n) return best;
    for (size_t i = 0; i < s->opts.n; i++) {
        const struct wl_advise_batch_estimate *e = &s->estimate[i];
        const double rate = e->failed || e->gain < s->opts.stop ? 0 : e->gain / (s->price[i] * exp(e->ln_cost));
        if (!(rate > most)) continue;
        most = rate;
        best = i;
    }
    return best;
}

/* The middle of what has not failed. */
static size_t middle(const struct wl_advise_batch *s)
{
    size_t free[MAX], n = 0;
    for (size_t i = 0; i < s->opts.n; i++)
        if (!s->estimate[i].failed) free[n++] = i;
    return free[n / 2];
}

static struct wl_advise_batch_step step(const struct wl_advise_batch *s, size_t i, enum wl_advise_batch_reason r)
{
    const bool done = r >= WL_ADVISE_BATCH_SETTLED;
    const double gain = i == s->opts.n ? 0 : s->estimate[done ? most_gain(s) : i].gain;
    return (struct wl_advise_batch_step) { done, i == s->opts.n ? 0 : i, limit(s), gain, r };
}

struct wl_advise_batch_step wl_advise_batch_next(struct wl_advise_batch *s)
{
    const size_t n = s->opts.n;
    update(s);
    const size_t choice = choose(s);
    if (!s->used) return step(s, s->opts.start, WL_ADVISE_BATCH_START);
    if (choice == n) return step(s, n, WL_ADVISE_BATCH_NONE);
    const bool reached = s->estimate[choice].reached > 0;
    if (s->used >= s->opts.trials)
        return step(s, reached ? choice : n, reached ? WL_ADVISE_BATCH_SPENT : WL_ADVISE_BATCH_NONE);
    if (!s->process.observed) return step(s, middle(s), WL_ADVISE_BATCH_SMALLER);
    const size_t best = most_gain(s), near = untried_neighbour(s, choice);
    const bool settled = s->used >= least_trials && s->estimate[best].gain < s->opts.stop;
    if (near < n && (settled || s->used + neighbours_left >= s->opts.trials))
        return step(s, near, WL_ADVISE_BATCH_NEIGHBOUR);
    return settled && reached ? step(s, choice, WL_ADVISE_BATCH_SETTLED)
                              : step(s, most_gain_per_price(s, best), WL_ADVISE_BATCH_EXPLORE);
}

const char *wl_advise_batch_reason_text(enum wl_advise_batch_reason r)
{
    switch (r) {
    case WL_ADVISE_BATCH_START: return "first trial";
    case WL_ADVISE_BATCH_SMALLER: return "nothing has trained yet: middle of the batches that may fit";
    case WL_ADVISE_BATCH_EXPLORE: return "largest expected gain";
    case WL_ADVISE_BATCH_NEIGHBOUR: return "a neighbour of the best batch has not been tried";
    case WL_ADVISE_BATCH_SETTLED: return "no further trial is worth its cost";
    case WL_ADVISE_BATCH_SPENT: return "all trials are used";
    case WL_ADVISE_BATCH_NONE: return "no batch reached the target";
    }
    return "unknown";
}

#include "campaign/internal.h"

#include <math.h>

#define TRIALS_MAX 100000

struct wl_trial wl_trial_empty(const struct wl_experiment *x, struct wl_arena *a)
{
    return (struct wl_trial) { .cap = wl_cap_none, .user = wl_new_array(a, const char *, x->n_user) };
}

/* ---- one trial: derive what is missing, and why it cannot be run ---- */

/* false, and *product unchanged: it is more than a store can hold. */
static bool multiply(int64_t a, int64_t b, int64_t *product)
{
    int64_t value;
    if (__builtin_mul_overflow(a, b, &value) || value > WL_MARK_COUNT_MAX) return false;
    *product = value;
    return true;
}

static const char *too_large(const struct wl_trial *t, struct wl_arena *a)
{
    return wl_strf(a, "global batch = workers x local batch x accumulation = %lld x %lld x %lld is more than %lld",
                   (long long)t->workers, (long long)t->local_batch, (long long)(t->accumulation ? t->accumulation : 1),
                   (long long)WL_MARK_COUNT_MAX);
}

/* global = workers x local x accumulation: two of the three batch keys give the third; with local or global alone
 * accumulation is 1; with neither both stay unset. Returns why the values do not fit, or NULL. */
static const char *derive_batches(struct wl_trial *t, struct wl_arena *a)
{
    int64_t *acc = &t->accumulation, *local = &t->local_batch, *global = &t->global_batch;
    if (*local == 0 && *global == 0) {
        if (*acc == 0) *acc = 1;
        return NULL;
    }
    int64_t per_pass = 0, given = *acc;
    if (*local && !multiply(t->workers, *local, &per_pass)) return too_large(t, a);
    if (*local && *global) {
        if (*global % per_pass)
            return wl_strf(a, "global batch %lld is not a multiple of workers x local batch = %lld x %lld",
                           (long long)*global, (long long)t->workers, (long long)*local);
        *acc = *global / per_pass;
        if (given && given != *acc)
            return wl_strf(a, "global batch %lld is not workers x local batch x accumulation = %lld x %lld x %lld",
                           (long long)*global, (long long)t->workers, (long long)*local, (long long)given);
        return NULL;
    }
    if (*acc == 0) *acc = 1;
    if (*local) return multiply(per_pass, *acc, global) ? NULL : too_large(t, a);
    int64_t parts = t->workers * *acc;
    if (*global % parts)
        return wl_strf(a, "global batch %lld is not a multiple of workers x accumulation = %lld x %lld",
                       (long long)*global, (long long)t->workers, (long long)*acc);
    *local = *global / parts;
    return NULL;
}

/* A worker has one thread unless [sweep] asks for more: workers that used more threads when fewer share the machine
 * would hide how the job scales. */
static const char *fit_cores(struct wl_trial *t, const struct wl_experiment *x, const struct wl_machine *here,
                             struct wl_arena *a)
{
    bool given = t->threads > 0;
    if (!given) t->threads = 1;
    int64_t nodes = t->nodes ? t->nodes : 1,
            cores = here->cores * nodes; /* other nodes are assumed to be like this one */
    if (x->launch.oversubscribe || here->cores == 0 || t->workers * t->threads <= cores) return NULL;
    const char *on = nodes > 1 ? wl_strf(a, " on %lld nodes", (long long)nodes) : "";
    if (!given || t->workers > cores)
        return wl_strf(a, "%lld workers, but %lld cores%s (oversubscribe = yes in [launch] allows it)",
                       (long long)t->workers, (long long)cores, on);
    return wl_strf(a, "%lld workers x %lld threads, but %lld cores%s (oversubscribe = yes in [launch] allows it)",
                   (long long)t->workers, (long long)t->threads, (long long)cores, on);
}

static const char *fit_cap(enum wl_cap_kind kind, double value, const struct wl_cap_limit *limit, struct wl_arena *a)
{
    const char *what = wl_setting_of_cap(kind)->label, *unit = wl_cap_kind_unit(kind);
    if (isnan(value)) return NULL;
    if (limit->why_not) return wl_strf(a, "%s %g %s cannot be set: %s", what, value, unit, limit->why_not);
    const char *why = wl_cap_refusal(&limit->range, kind, value, a);
    return why ? wl_strf(a, "%s %g %s is out of range: %s", what, value, unit, why) : NULL;
}

static const char *fit_caps(const struct wl_trial *t, const struct wl_machine *here, struct wl_arena *a)
{
    const char *why = NULL;
    for (int k = 0; k < WL_CAP_KINDS && !why; k++) why = fit_cap(k, t->cap.value[k], &here->cap[k], a);
    return why;
}

/* Nodes follow from the workers where [sweep] does not say them. */
static const char *fit_nodes(struct wl_trial *t, const struct wl_experiment *x, struct wl_arena *a)
{
    const int64_t per_node = x->launch.batch.workers_per_node, most = x->launch.batch.max_nodes;
    if (!t->nodes && per_node) t->nodes = (t->workers + per_node - 1) / per_node;
    if (!wl_experiment_is_batch(x) || !most || t->nodes <= most) return NULL;
    return wl_strf(a, "%lld nodes, but max_nodes = %lld in [launch]", (long long)t->nodes, (long long)most);
}

static void complete(struct wl_trial *t, const struct wl_experiment *x, const struct wl_machine *here,
                     struct wl_arena *a)
{
    if (t->workers == 0) t->workers = 1;
    t->samples = x->data.samples;
    if (wl_str_eq(x->campaign.scaling, "weak")) t->samples *= t->workers;
    const char *nodes = fit_nodes(t, x, a);
    t->skip = derive_batches(t, a);
    if (!t->skip) t->skip = nodes;
    const char *cores = fit_cores(t, x, here, a); /* sets threads, even if the batches do not fit */
    if (!t->skip) t->skip = cores;
    if (!t->skip) t->skip = fit_caps(t, here, a);
}

/* ---- the product ---- */

/* The number of values of each axis, the user's axes first; the last one varies fastest. */
struct odometer {
    const struct wl_experiment *x;
    size_t *count, *at;
    size_t n, n_own;
};

static struct odometer odometer_new(const struct wl_experiment *x, struct wl_arena *a)
{
    struct odometer o = { .x = x };
    while (wl_sweep_axes()[o.n_own].key) o.n_own++;
    o.n = o.n_own + x->n_user;
    o.count = wl_new_array(a, size_t, o.n);
    o.at = wl_new_array(a, size_t, o.n);
    for (size_t i = 0; i < o.n; i++)
        o.count[i] =
            i < x->n_user ? x->user[i].values.n : wl_sweep_axis_count(&wl_sweep_axes()[i - x->n_user], &x->sweep);
    return o;
}

static bool odometer_step(struct odometer *o)
{
    for (size_t i = o->n; i-- > 0;) {
        if (++o->at[i] < o->count[i]) return true;
        o->at[i] = 0;
    }
    return false;
}

static void odometer_read(const struct odometer *o, struct wl_trial *t)
{
    const struct wl_experiment *x = o->x;
    for (size_t i = 0; i < o->n; i++) {
        if (i < x->n_user)
            t->user[i] = x->user[i].values.v[o->at[i]];
        else if (o->count[i])
            wl_sweep_axis_take(&wl_sweep_axes()[i - x->n_user], &x->sweep, o->at[i], t);
    }
}

/* The axes that vary; if none does, the workload. */
static const char *label_of(const struct odometer *o, const struct wl_trial *t, struct wl_arena *a)
{
    struct wl_text text = WL_TEXT(a);
    const struct wl_experiment *x = o->x;
    for (size_t i = 0; i < o->n; i++) {
        if (o->count[i] < 2) continue;
        const struct wl_sweep_axis *axis = i < x->n_user ? NULL : &wl_sweep_axes()[i - x->n_user];
        wl_text_addf(&text, "%s%s=%s", text.n ? " " : "", axis ? axis->key : x->user[i].key,
                     axis ? wl_sweep_axis_text(axis, t, a) : t->user[i]);
    }
    if (text.n) return text.s;
    return t->workload ? t->workload : "the only trial";
}

static int count_trials(const struct odometer *o, size_t *n, struct wl_err *e)
{
    *n = 1;
    for (size_t i = 0; i < o->n; i++) {
        if (o->count[i] > 1) *n *= o->count[i];
        if (*n > TRIALS_MAX)
            return wl_fail(e, WL_EINVAL, "%s: [sweep] has more than %d trials", o->x->path, TRIALS_MAX);
    }
    return 0;
}

/* ---- the order of runs ---- */

/* Fisher and Yates; a repeat's order depends only on the seed and its number. */
static void shuffle(size_t *v, size_t n, uint64_t seed, uint64_t repeat)
{
    for (size_t i = n; i > 1; i--) {
        size_t k = wl_random_below(seed, repeat, i, i), moved = v[i - 1];
        v[i - 1] = v[k];
        v[k] = moved;
    }
}

/* Repeat after repeat, so that slow drifts of the machine affect all trials alike. */
static void plan_runs(const struct wl_experiment *x, struct wl_grid *g, struct wl_arena *a)
{
    size_t n = g->n_trials - g->n_skipped, *order = wl_new_array(a, size_t, n);
    g->n_runs = n * (size_t)x->campaign.repeats;
    g->runs = wl_new_array(a, struct wl_planned_run, g->n_runs);
    size_t k = 0;
    for (int64_t repeat = 1; repeat <= x->campaign.repeats; repeat++) {
        for (size_t i = 0, put = 0; i < g->n_trials; i++)
            if (!g->trials[i].skip) order[put++] = i;
        if (wl_str_eq(x->campaign.order, "random")) shuffle(order, n, (uint64_t)x->campaign.seed, (uint64_t)repeat);
        for (size_t i = 0; i < n; i++) g->runs[k++] = (struct wl_planned_run) { order[i], repeat };
    }
}

int wl_grid_make(const struct wl_experiment *x, const struct wl_machine *here, struct wl_grid *out, struct wl_arena *a,
                 struct wl_err *e)
{
    struct odometer o = odometer_new(x, a);
    *out = (struct wl_grid) { 0 };
    int rc = count_trials(&o, &out->n_trials, e);
    if (rc < 0) return rc;
    out->trials = wl_new_array(a, struct wl_trial, out->n_trials);
    for (size_t i = 0; i < out->n_trials; i++) {
        struct wl_trial *t = &out->trials[i];
        *t = wl_trial_empty(x, a);
        odometer_read(&o, t);
        complete(t, x, here, a);
        t->label = label_of(&o, t, a);
        out->n_skipped += t->skip != NULL;
        odometer_step(&o);
    }
    plan_runs(x, out, a);
    return 0;
}

#include "tune/experiment_axes.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_CAPS = 4, MOST_OTHERS = 8 };

/* ---- the axes of a file ---- */

static struct wl_tune_axis *add_axis(struct wl_tune_experiment *out, const char *key, size_t n, struct wl_arena *a)
{
    struct wl_tune_axis *axis = &out->axes[out->n_axes++];
    *axis = (struct wl_tune_axis) { .key = key,
                                    .value = wl_new_array(a, double, n),
                                    .text = wl_new_array(a, const char *, n),
                                    .n = n,
                                    .probability = NAN,
                                    .limit = INFINITY };
    return axis;
}

static void fill_ints(struct wl_tune_axis *axis, const struct wl_ints *list, struct wl_arena *a)
{
    for (size_t i = 0; i < list->n; i++) {
        axis->value[i] = (double)list->v[i];
        axis->text[i] = wl_strf(a, "%lld", (long long)list->v[i]);
    }
}

static void add_ints(struct wl_tune_experiment *out, const char *key, const struct wl_ints *list, struct wl_arena *a)
{
    if (list->n < 2) return;
    struct wl_tune_axis *axis = add_axis(out, key, list->n, a);
    axis->is_memory = wl_str_eq(key, "local_batch") || wl_str_eq(key, "global_batch");
    axis->is_workers = wl_str_eq(key, "workers");
    fill_ints(axis, list, a);
}

static void add_reals(struct wl_tune_experiment *out, enum wl_cap_kind kind, const struct wl_reals *list,
                      struct wl_arena *a)
{
    if (list->n < 2) return;
    struct wl_tune_axis *axis = add_axis(out, wl_cap_kind_name(kind), list->n, a);
    axis->is_cap = true;
    axis->kind = kind;
    for (size_t i = 0; i < list->n; i++) {
        axis->value[i] = list->v[i];
        axis->text[i] = wl_strf(a, "%.17g", list->v[i]);
    }
}

/* Words have no order: no search can skip one. */
static int refuse_words(const struct wl_experiment *x, const char *key, const char *value, struct wl_err *e)
{
    return wl_fail(
        e, WL_EINVAL,
        "%s: [sweep] %s = ... '%s': tune searches over numbers; give %s one value, or compare its values with "
        "wattlaw sweep",
        x->path, key, value, key);
}

static int add_user(struct wl_tune_experiment *out, const struct wl_experiment *x, const struct wl_user_axis *user,
                    struct wl_arena *a, struct wl_err *e)
{
    if (user->values.n < 2) return 0;
    struct wl_tune_axis *axis = add_axis(out, user->key, user->values.n, a);
    for (size_t i = 0; i < user->values.n; i++) {
        axis->text[i] = user->values.v[i];
        if (wl_str_to_real(axis->text[i], &axis->value[i]) < 0 || !(axis->value[i] > 0))
            return refuse_words(x, user->key, axis->text[i], e);
    }
    return 0;
}

/* Ascending, by insertion; the first value of the file stays the start. */
static void sort_axis(struct wl_tune_axis *axis)
{
    double first = axis->value[0];
    for (size_t i = 1; i < axis->n; i++)
        for (size_t k = i; k > 0 && axis->value[k] < axis->value[k - 1]; k--) {
            double v = axis->value[k];
            const char *t = axis->text[k];
            axis->value[k] = axis->value[k - 1], axis->text[k] = axis->text[k - 1];
            axis->value[k - 1] = v, axis->text[k - 1] = t;
        }
    for (size_t i = 0; i < axis->n; i++)
        if (axis->value[i] == first) axis->start = i;
    if (axis->is_cap) axis->start = axis->n - 1;
    axis->choice = axis->start;
}

static int collect(const struct wl_experiment *x, struct wl_tune_experiment *out, struct wl_arena *a, struct wl_err *e)
{
    out->axes = wl_new_array(a, struct wl_tune_axis, WL_SETTING_AXES + x->n_user);
#define SETTING_TEXT(member, ...) \
    if (x->sweep.member.n > 1) return refuse_words(x, #member, x->sweep.member.v[1], e);
#define SETTING_COUNT(member, ...)                   add_ints(out, #member, &x->sweep.member, a);
#define SETTING_CAP(member, option, unit, kind, ...) add_reals(out, kind, &x->sweep.cap[kind], a);
#include "settings/settings.def"
    for (size_t i = 0; i < x->n_user; i++) {
        int rc = add_user(out, x, &x->user[i], a, e);
        if (rc < 0) return rc;
    }
    return 0;
}

int wl_tune_axes(const struct wl_experiment *x, struct wl_tune_experiment *out, struct wl_arena *a, struct wl_err *e)
{
    int rc = collect(x, out, a, e);
    if (rc < 0) return rc;
    if (out->n_axes == 0)
        return wl_fail(e, WL_EINVAL, "%s: [sweep] has one value of everything: there is nothing to choose", x->path);
    for (size_t i = 0; i < out->n_axes; i++) {
        struct wl_tune_axis *axis = &out->axes[i];
        sort_axis(axis);
        axis->trials = wl_new_array(a, struct wl_tune_trial, WL_TUNE_TRIALS_MAX);
    }
    return 0;
}

int wl_tune_axis_of_batch(const struct wl_experiment *x, struct wl_tune_experiment *out, struct wl_arena *a,
                          struct wl_err *e)
{
    const struct wl_ints *local = &x->sweep.local_batch, *global = &x->sweep.global_batch;
    const struct wl_ints *list = local->n ? local : global;
    const char *key = local->n ? "local_batch" : "global_batch";
    struct wl_tune_experiment others = { 0 };
    int rc = collect(x, &others, a, e);
    if (rc < 0) return rc;
    if (list->n == 0 || (local->n && global->n))
        return wl_fail(e, WL_EINVAL, "%s: [sweep] has %s: the largest batch is searched of local_batch or global_batch",
                       x->path, list->n ? "both batches" : "no batch");
    for (size_t i = 0; i < others.n_axes; i++)
        if (!wl_str_eq(others.axes[i].key, key))
            return wl_fail(e, WL_EINVAL,
                           "%s: [sweep] %s has several values; the largest batch is that of one setting: give it one "
                           "value (--set sweep.%s=...)",
                           x->path, others.axes[i].key, others.axes[i].key);
    out->axes = wl_new_array(a, struct wl_tune_axis, 1);
    struct wl_tune_axis *axis = add_axis(out, key, list->n + WL_TUNE_TRIALS_MAX, a);
    axis->n = list->n;
    axis->is_memory = true;
    fill_ints(axis, list, a);
    sort_axis(axis);
    axis->trials = wl_new_array(a, struct wl_tune_trial, WL_TUNE_TRIALS_MAX);
    return 0;
}

/* ---- caps ---- */

static struct wl_tune_candidates candidates_of(const struct wl_tune_axis *axis, struct wl_arena *a)
{
    struct wl_tune_candidates c = { .kind = axis->kind,
                                    .value = axis->value,
                                    .n = axis->n,
                                    .reference = axis->n - 1,
                                    .refused = wl_new_array(a, const char *, axis->n),
                                    .n_devices = 1 };
    if (wl_cap_is_power(axis->kind)) c.scale_w = axis->value[axis->n - 1];
    for (size_t i = 0; i < axis->n_trials; i++)
        if (axis->trials[i].state != WL_TUNE_MEASURED) c.refused[axis->trials[i].value] = axis->trials[i].why;
    return c;
}

static struct wl_tune_windows windows_of(const struct wl_tune_axis *axis, struct wl_arena *a)
{
    struct wl_tune_windows w = { .v = wl_new_array(a, struct wl_tune_window, axis->n_trials) };
    for (size_t i = 0; i < axis->n_trials; i++) {
        const struct wl_tune_trial *t = &axis->trials[i];
        if (t->state != WL_TUNE_MEASURED) continue;
        w.v[w.n] = (struct wl_tune_window) {
            .candidate = t->value, .job = (int64_t)i, .t_s = t->t_s, .p_w = t->p_w, .run = t->run, .is_whole = true
        };
        w.n++;
    }
    return w;
}

/* A campaign may hold more trials than the search would have asked for, for example those of a sweep: they all count.
 */
static int next_cap(struct wl_tune_axis *axis, const struct wl_tune_goal *goal, size_t *value, struct wl_arena *a,
                    struct wl_err *e)
{
    struct wl_advise_cap *search;
    struct wl_tune_goal limits = *goal;
    struct wl_tune_candidates c = candidates_of(axis, a);
    struct wl_tune_windows w = windows_of(axis, a);
    struct wl_tune_probes probes = wl_tune_evidence(&w, c.reference, a);
    if (limits.most == 0) limits.most = MOST_CAPS;
    int rc = wl_tune_search(&c, &limits, &probes, 0, &search, a, e);
    if (rc < 0) return rc;
    struct wl_advise_cap_step s = wl_advise_cap_next(search);
    axis->done = s.done;
    axis->chosen = s.done && w.n > 0;
    axis->choice = s.done ? s.index : wl_advise_cap_choice(search);
    axis->reason = wl_advise_cap_reason_text(s.reason);
    if (!isnan(goal->slowdown)) axis->probability = wl_advise_cap_estimates(search)[axis->choice].p_limit;
    *value = s.index;
    return 0;
}

/* ---- counts ---- */

double wl_tune_trial_cost(const struct wl_tune_trial *t, const struct wl_tune_goal *goal)
{
    switch (goal->objective) {
    case WL_ADVISE_MIN_EDP: return t->energy_j * t->t_s;
    case WL_ADVISE_MIN_ED2P: return t->energy_j * t->t_s * t->t_s;
    case WL_ADVISE_MIN_TIME: return t->t_s;
    default: return t->energy_j;
    }
}

static enum wl_advise_batch_outcome outcome_of(const struct wl_tune_axis *axis, const struct wl_tune_trial *t,
                                               double cost)
{
    if (t->state == WL_TUNE_MEASURED) return WL_ADVISE_BATCH_REACHED;
    if (t->state == WL_TUNE_NOT_REACHED && cost > 0) return WL_ADVISE_BATCH_STOPPED;
    return t->state == WL_TUNE_OUT_OF_MEMORY && axis->is_memory ? WL_ADVISE_BATCH_OUT_OF_MEMORY
                                                                : WL_ADVISE_BATCH_DIVERGED;
}

/* A trial takes the time of all its workers; an energy is theirs already. */
static const double *prices_of(const struct wl_tune_axis *axis, const struct wl_tune_goal *goal, struct wl_arena *a)
{
    double *price = wl_new_array(a, double, axis->n);
    for (size_t i = 0; i < axis->n; i++) price[i] = goal->objective == WL_ADVISE_MIN_TIME ? axis->value[i] : 1;
    return price;
}

static int next_count(struct wl_tune_axis *axis, const struct wl_tune_goal *goal, size_t *value, struct wl_arena *a,
                      struct wl_err *e)
{
    struct wl_advise_batch *search;
    struct wl_advise_batch_opts o = wl_advise_batch_defaults(axis->value, axis->n, axis->start);
    o.trials = goal->most ? (size_t)goal->most : MOST_OTHERS;
    if (axis->is_workers) o.price = prices_of(axis, goal, a);
    int rc = wl_advise_batch_new(&search, &o, a, e);
    for (size_t i = 0; i < axis->n_trials && rc == 0; i++) {
        const struct wl_tune_trial *t = &axis->trials[i];
        double cost = wl_tune_trial_cost(t, goal);
        struct wl_advise_batch_trial seen = { .index = t->value, .outcome = outcome_of(axis, t, cost) };
        if (seen.outcome == WL_ADVISE_BATCH_REACHED || seen.outcome == WL_ADVISE_BATCH_STOPPED) seen.cost = cost;
        rc = wl_advise_batch_add(search, &seen, e);
    }
    if (rc < 0) return rc;
    struct wl_advise_batch_step s = wl_advise_batch_next(search);
    axis->done = s.done;
    axis->chosen = s.done && s.reason != WL_ADVISE_BATCH_NONE;
    axis->choice = axis->chosen ? s.index : axis->start;
    axis->reason = wl_advise_batch_reason_text(s.reason);
    axis->limit = s.limit;
    *value = s.index;
    return 0;
}

int wl_tune_axis_next(struct wl_tune_axis *axis, const struct wl_tune_goal *goal, size_t *value, struct wl_arena *a,
                      struct wl_err *e)
{
    return axis->is_cap ? next_cap(axis, goal, value, a, e) : next_count(axis, goal, value, a, e);
}

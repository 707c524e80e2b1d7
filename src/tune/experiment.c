#include "tune/experiment.h"
#include "tune/experiment_axes.h"
#include "tune/outcome.h"

#include <math.h>
#include <string.h>
#include <strings.h>

const char *const wl_tune_trial_states[] = { [WL_TUNE_MEASURED] = "measured",
                                             [WL_TUNE_SKIPPED] = "skipped",
                                             [WL_TUNE_OUT_OF_MEMORY] = "out of memory",
                                             [WL_TUNE_FAILED] = "failed" };

struct search {
    const struct wl_tune_experiment_opts *opts;
    struct wl_tune_experiment *out;
    struct wl_arena *a;
};

/* ---- one trial ---- */

/* The file with one value of everything: the choices so far, this value, and the first values of axes that follow. */
static int read_trial(const struct search *s, const struct wl_tune_axis *axis, const struct wl_tune_trial *t,
                      struct wl_experiment *x, struct wl_arena *a, struct wl_err *e)
{
    struct wl_strs set = { 0 };
    for (size_t i = 0; i < s->opts->set->n; i++) wl_strs_add(a, &set, s->opts->set->v[i]);
    for (size_t i = 0; i < s->out->n_axes; i++) {
        const struct wl_tune_axis *other = &s->out->axes[i];
        size_t k = other == axis ? t->value : other->choice;
        wl_strs_add(a, &set, wl_strf(a, "sweep.%s=%s", other->key, other->text[k]));
    }
    wl_strs_add(a, &set, wl_strf(a, "campaign.repeats=%lld", (long long)t->repeat));
    return wl_experiment_read(s->opts->path, &set, x, a, e);
}

struct trial_run {
    const struct search *s;
    const char *skip; /* why it cannot be run here; NULL: it can */
    size_t to_run;
    struct wl_arena *a;
};

static void on_start(void *ctx, const struct wl_grid *g, size_t to_run)
{
    struct trial_run *r = ctx;
    r->to_run = to_run;
    if (g->n_trials == 1 && g->trials[0].skip) r->skip = wl_strdup(r->a, g->trials[0].skip);
}

static void on_tick(void *ctx, double done, double total, double left_s, const char *note)
{
    const struct trial_run *r = ctx;
    if (r->s->opts->on_tick) r->s->opts->on_tick(r->s->opts->ctx, done, total, left_s, note);
}

/* ---- what the store has of it ---- */

static bool says(const struct wl_run_row *r, const struct wl_tune_axis *axis, size_t value, struct wl_arena *a)
{
    struct wl_json *extra;
    const struct wl_setting *setting = wl_setting_find(axis->key);
    if (setting && setting->type != WL_SETTING_CHOICE) {
        double v = wl_setting_real(setting, &r->set);
        return fabs(v - axis->value[value]) <= 1e-9 * axis->value[value];
    }
    if (!r->set.extra || wl_json_parse(r->set.extra, "settings", &extra, a, NULL) < 0) return false;
    const char *text = wl_settings_extra_text(wl_json_get(extra, axis->key), a);
    return wl_str_eq(text, axis->text[value]);
}

/* The newest run of a trial that ended; NULL: none. */
static const struct wl_run_row *run_of(const struct search *s, const struct wl_run_rows *rows,
                                       const struct wl_tune_axis *axis, const struct wl_tune_trial *t,
                                       struct wl_arena *a)
{
    const struct wl_run_row *found = NULL;
    for (size_t i = 0; i < rows->n; i++) {
        const struct wl_run_row *r = &rows->v[i];
        bool same = (r->status == WL_RUN_DONE || r->status == WL_RUN_FAILED) && r->repeat == t->repeat;
        for (size_t k = 0; k < s->out->n_axes && same; k++) {
            const struct wl_tune_axis *other = &s->out->axes[k];
            same = says(r, other, other == axis ? t->value : other->choice, a);
        }
        if (same && (!found || r->id > found->id)) found = r;
    }
    return found;
}

enum wl_tune_trial_state wl_tune_failure_of(const char *error, const char *log_tail)
{
    static const char *const memory[] = { "out of memory", "OutOfMemory", "cannot allocate memory", "bad_alloc" };
    for (size_t i = 0; i < WL_COUNT(memory); i++)
        if ((error && strcasestr(error, memory[i])) || (log_tail && strcasestr(log_tail, memory[i])))
            return WL_TUNE_OUT_OF_MEMORY;
    return WL_TUNE_FAILED;
}

/* Devices that the run's caps of this kind were set on; 1 where there are none. */
static int count_devices(struct wl_store *store, int64_t run, const struct wl_tune_axis *axis, size_t *n,
                         struct wl_arena *a, struct wl_err *e)
{
    struct wl_cap_rows caps;
    *n = 1;
    if (!axis->is_cap) return 0;
    int rc = wl_store_caps(store, run, &caps, a, e);
    if (rc < 0) return rc;
    size_t found = 0;
    const char **device = wl_new_array(a, const char *, caps.n);
    for (size_t i = 0; i < caps.n; i++) {
        const struct wl_cap_row *r = &caps.v[i];
        if (!wl_str_eq(r->kind, wl_cap_kind_name(axis->kind))) continue;
        device[found++] = wl_strf(a, "%s %s", r->host ? r->host : "", r->device);
    }
    if (found) *n = wl_cap_count_devices(device, found);
    return 0;
}

/* Per sample where the epochs have their samples, so that epochs of other batches are the same work. */
static void take_outcome(struct search *s, const struct wl_epoch_rows *epochs, const struct wl_tune_window *w,
                         size_t n_devices, struct wl_tune_trial *t)
{
    const struct wl_epoch_row *last = epochs->n ? &epochs->v[epochs->n - 1] : NULL;
    double work = last && last->samples > 0 ? last->samples : 1;
    s->out->per_sample = work > 1;
    t->state = WL_TUNE_MEASURED;
    t->t_s = w->t_s / work;
    t->p_w = w->p_w;
    t->energy_j = w->p_w * (double)n_devices * t->t_s;
    t->estimated = w->estimated;
    t->simulated = w->simulated;
}

static int read_run(struct search *s, struct wl_store *store, const struct wl_tune_axis *axis,
                    const struct wl_run_row *r, struct wl_tune_trial *t, struct wl_arena *a, struct wl_err *e)
{
    struct wl_epoch_rows epochs;
    struct wl_energy_rows energies;
    struct wl_tune_window w = { .t_s = NAN, .p_w = NAN };
    struct wl_err unusable;
    size_t n_devices = 1;
    t->run = r->id;
    t->state = wl_tune_failure_of(r->error, r->log_tail);
    t->why = wl_strdup(s->a, r->flag ? r->flag : r->error ? r->error : "failed");
    if (r->status != WL_RUN_DONE || r->flag) return 0;
    int rc = wl_store_epochs(store, r->id, &epochs, a, e);
    if (rc == 0) rc = wl_store_energies(store, r->id, &energies, a, e);
    if (rc == 0) rc = count_devices(store, r->id, axis, &n_devices, a, e);
    if (rc < 0) return rc;
    struct wl_tune_rows rows = { epochs.v, epochs.n, energies.v, energies.n, r->time_s };
    rc = wl_tune_outcome_of_run(&rows, n_devices, &w, &unusable);
    bool time_alone = s->opts->goal.objective == WL_ADVISE_MIN_TIME && !axis->is_cap && w.t_s > 0;
    if (rc < 0 && !time_alone) return wl_fail(e, rc, "run %lld cannot be used: %s", (long long)r->id, unusable.msg);
    t->why = NULL;
    take_outcome(s, &epochs, &w, n_devices, t);
    return 0;
}

static int read_result(struct search *s, const struct wl_sweep_result *result, const struct wl_tune_axis *axis,
                       struct wl_tune_trial *t, struct wl_arena *a, struct wl_err *e)
{
    struct wl_store *store;
    struct wl_run_rows rows;
    int rc = wl_store_open(&store, result->store, WL_STORE_READ, a, e);
    if (rc < 0) return rc;
    rc = wl_store_runs(store, &(struct wl_run_filter) { .campaign = result->campaign }, &rows, a, e);
    const struct wl_run_row *r = rc ? NULL : run_of(s, &rows, axis, t, a);
    if (rc == 0 && !r)
        rc = wl_fail(e, WL_EINVAL, "%s: has no run of %s = %s", result->store, axis->key, axis->text[t->value]);
    if (rc == 0) rc = read_run(s, store, axis, r, t, a, e);
    wl_store_close(store);
    return rc;
}

static int64_t count_trials(const struct wl_tune_axis *axis, size_t value)
{
    int64_t n = 0;
    for (size_t i = 0; i < axis->n_trials; i++) n += axis->trials[i].value == value;
    return n;
}

static int run_trial(struct search *s, struct wl_tune_axis *axis, size_t value, struct wl_arena *a, struct wl_err *e)
{
    struct wl_experiment x;
    struct wl_sweep_result result;
    struct trial_run ctx = { .s = s, .a = s->a };
    struct wl_tune_trial *t = &axis->trials[axis->n_trials];
    struct wl_sweep_opts how = {
        .signals = s->opts->signals, .on_start = on_start, .on_tick = s->opts->on_tick ? on_tick : NULL, .ctx = &ctx
    };
    *t = (struct wl_tune_trial) {
        .value = value, .repeat = count_trials(axis, value) + 1, .t_s = NAN, .energy_j = NAN, .p_w = NAN
    };
    int rc = read_trial(s, axis, t, &x, a, e);
    if (rc == 0) rc = wl_sweep_run(&x, &how, &result, a, e);
    if (rc < 0) return rc;
    s->out->store = wl_strdup(s->a, result.store);
    s->out->campaign = wl_strdup(s->a, x.campaign.name);
    s->out->runs += ctx.to_run;
    t->state = WL_TUNE_SKIPPED;
    t->why = ctx.skip;
    if (!ctx.skip) rc = read_result(s, &result, axis, t, a, e);
    if (rc < 0) return rc;
    axis->n_trials++;
    if (s->opts->on_trial) s->opts->on_trial(s->opts->ctx, axis, t);
    return 0;
}

/* ---- all axes ---- */

static int search_axis(struct search *s, struct wl_tune_axis *axis, struct wl_err *e)
{
    while (axis->n_trials < WL_TUNE_TRIALS_MAX) {
        size_t value;
        struct wl_arena *a = wl_arena_new(s->a);
        int rc = wl_tune_axis_next(axis, &s->opts->goal, &value, a, e);
        if (rc == 0 && !axis->done) rc = run_trial(s, axis, value, a, e);
        wl_arena_free(a);
        if (rc < 0) return rc;
        if (axis->done) break;
    }
    if (axis->chosen) return 0;
    return wl_fail(e, WL_EINVAL, "%s: no value could be measured; %s = %s: %s", axis->key, axis->key,
                   axis->text[axis->trials[0].value], axis->trials[0].why ? axis->trials[0].why : "failed");
}

static int check_limit(const struct search *s, struct wl_err *e)
{
    for (size_t i = 0; i < s->out->n_axes; i++)
        if (!isnan(s->opts->goal.slowdown) && !s->out->axes[i].is_cap)
            return wl_fail(e, WL_EINVAL,
                           "--max-slowdown limits caps and clocks; %s is searched too: give it one value (--set "
                           "sweep.%s=...)",
                           s->out->axes[i].key, s->out->axes[i].key);
    return 0;
}

int wl_tune_experiment(const struct wl_tune_experiment_opts *opts, struct wl_tune_experiment *out, struct wl_arena *a,
                       struct wl_err *e)
{
    struct wl_experiment x;
    struct search s = { .opts = opts, .out = out, .a = a };
    *out = (struct wl_tune_experiment) { 0 };
    int rc = wl_experiment_read(opts->path, opts->set, &x, a, e);
    if (rc == 0) rc = wl_tune_axes(&x, out, a, e);
    if (rc == 0) rc = check_limit(&s, e);
    for (size_t i = 0; i < out->n_axes && rc == 0; i++) rc = search_axis(&s, &out->axes[i], e);
    return rc;
}

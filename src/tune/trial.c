#include "tune/trial.h"

#include "job/job.h"
#include "tune/outcome.h"
#include "tune/trial_watch.h"

#include <math.h>
#include <string.h>

/* ---- one trial ---- */

/* The file with one value of everything: the choices so far, this value, and the first values of axes that follow. */
static int read_trial(const struct wl_tune_trials *s, const struct wl_tune_axis *axis, const struct wl_tune_trial *t,
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
    const struct wl_tune_trials *s;
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
static const struct wl_run_row *run_of(const struct wl_tune_trials *s, const struct wl_run_rows *rows,
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
    if (error && wl_str_starts(error, wl_tune_stopped_at_limit)) return WL_TUNE_NOT_REACHED;
    if (wl_job_says_out_of_memory(error) || wl_job_says_out_of_memory(log_tail)) return WL_TUNE_OUT_OF_MEMORY;
    bool killed = error && wl_str_starts(error, "ended by signal 9 "); /* nobody but the kernel does, for its memory */
    return killed ? WL_TUNE_OUT_OF_MEMORY : WL_TUNE_FAILED;
}

/* The last line of a log that seems to say what failed; NULL: none does. */
static const char *telling_line(const char *tail, struct wl_arena *a)
{
    enum { MOST = 160 };
    const char *found = NULL;
    for (const char *line = tail; line && *line;) {
        size_t n = strcspn(line, "\r\n");
        const char *text = wl_strndup(a, line, n < MOST ? n : MOST);
        if (strcasestr(text, "error") || strcasestr(text, "memory")) found = text;
        line += n + (line[n] != '\0');
    }
    return found;
}

/* Why a run failed, for people. */
static const char *why_of(const struct wl_run_row *r, struct wl_arena *a)
{
    const char *line = r->error ? telling_line(r->log_tail, a) : NULL;
    if (r->flag) return wl_strdup(a, r->flag);
    return line ? wl_strf(a, "%s: %s", r->error, line) : wl_strdup(a, r->error ? r->error : "failed");
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

/* ---- what it cost ---- */

/* Per sample where the epochs have their samples, so that epochs of other batches are the same work. */
static double work_of(struct wl_tune_trials *s, const struct wl_tune_rows *rows)
{
    double samples = rows->n_epochs ? rows->epochs[rows->n_epochs - 1].samples : NAN;
    s->out->per = samples > 1 ? "sample" : rows->n_epochs ? "epoch" : "run";
    return samples > 1 ? samples : 1;
}

static void take_outcome(const struct wl_tune_window *w, double work, size_t n_devices, struct wl_tune_trial *t)
{
    t->t_s = w->t_s / work;
    t->p_w = w->p_w;
    t->energy_j = w->p_w * (double)n_devices * t->t_s;
    t->estimated = w->estimated;
    t->simulated = w->simulated;
}

/* A run without an energy has a time nevertheless. */
static int check_energy(const struct wl_tune_trials *s, const struct wl_tune_axis *axis, const struct wl_tune_window *w,
                        int rc, const struct wl_err *why, struct wl_err *e)
{
    bool needed = axis->is_cap || (s->opts->goal.objective != WL_ADVISE_MIN_TIME && !s->opts->largest);
    if (rc == 0 || (!needed && w->t_s > 0)) return 0;
    return wl_fail(e, rc, "run %lld cannot be used: %s", (long long)w->run, why->msg);
}

static int read_cost(struct wl_tune_trials *s, const struct wl_tune_axis *axis, const struct wl_tune_rows *rows,
                     size_t n_devices, struct wl_tune_trial *t, struct wl_err *e)
{
    struct wl_err unusable;
    struct wl_tune_window w = { .t_s = NAN, .p_w = NAN, .run = t->run };
    int rc = wl_tune_outcome_of_run(rows, n_devices, &w, &unusable);
    rc = check_energy(s, axis, &w, rc, &unusable, e);
    if (rc < 0) return rc;
    t->state = WL_TUNE_MEASURED;
    take_outcome(&w, work_of(s, rows), n_devices, t);
    return 0;
}

static int no_metric(const struct wl_tune_trials *s, const struct wl_metric_rows *metrics, int64_t run,
                     struct wl_arena *a, struct wl_err *e)
{
    struct wl_text names = WL_TEXT(a);
    for (size_t i = 0; i < metrics->n; i++) {
        bool seen = false;
        for (size_t k = 0; k < i; k++) seen |= wl_str_eq(metrics->v[k].name, metrics->v[i].name);
        if (!seen) wl_text_addf(&names, "%s%s", names.n ? ", " : "", metrics->v[i].name);
    }
    return wl_fail(e, WL_ENOENT, "run %lld does not report the metric %s after its epochs; it reports %s",
                   (long long)run, s->opts->target.metric, names.n ? names.s : "none");
}

/* Time and energy until the target; of a run that did not reach it, all that it took. */
static int read_cost_to_target(struct wl_tune_trials *s, struct wl_store *store, const struct wl_tune_axis *axis,
                               const struct wl_tune_rows *rows, struct wl_tune_trial *t, struct wl_arena *a,
                               struct wl_err *e)
{
    struct wl_err unusable;
    struct wl_metric_rows metrics;
    struct wl_metric_def_rows defs;
    struct wl_tune_window w = { .t_s = NAN, .p_w = NAN, .run = t->run };
    bool stopped = t->state == WL_TUNE_NOT_REACHED;
    int rc = wl_store_metrics(store, t->run, &metrics, a, e);
    if (rc == 0) rc = wl_store_metric_defs(store, 0, t->run, &defs, a, e);
    if (rc < 0) return rc;
    struct wl_tune_progress p = wl_tune_progress_of(&s->opts->target, &metrics, &defs);
    if (isnan(p.first) && !stopped) return no_metric(s, &metrics, t->run, a, e);
    rc = wl_tune_outcome_until(rows, stopped ? 0 : p.epoch ? p.epoch : INT64_MAX, &w, &unusable);
    rc = check_energy(s, axis, &w, rc, &unusable, e);
    if (rc < 0) return rc;
    s->out->per = "target";
    t->state = p.epoch ? WL_TUNE_MEASURED : WL_TUNE_NOT_REACHED;
    if (!p.epoch && !stopped) t->why = wl_strf(s->a, "it ended before %s was reached", s->opts->target.metric);
    take_outcome(&w, 1, 1, t);
    return 0;
}

static bool has_target(const struct wl_tune_trials *s, const struct wl_tune_axis *axis)
{
    return s->opts->target.metric && !axis->is_cap; /* caps do not change how many epochs it takes */
}

static int read_run(struct wl_tune_trials *s, struct wl_store *store, const struct wl_tune_axis *axis,
                    const struct wl_run_row *r, struct wl_tune_trial *t, struct wl_arena *a, struct wl_err *e)
{
    struct wl_epoch_rows epochs;
    struct wl_energy_rows energies;
    size_t n_devices = 1;
    t->run = r->id;
    t->state = wl_tune_failure_of(r->error, r->log_tail);
    t->why = why_of(r, s->a);
    bool stopped = t->state == WL_TUNE_NOT_REACHED && has_target(s, axis);
    if ((r->status != WL_RUN_DONE || r->flag) && !stopped) return 0;
    int rc = wl_store_epochs(store, r->id, &epochs, a, e);
    if (rc == 0) rc = wl_store_energies(store, r->id, &energies, a, e);
    if (rc == 0) rc = count_devices(store, r->id, axis, &n_devices, a, e);
    if (rc < 0) return rc;
    struct wl_tune_rows rows = { epochs.v, epochs.n, energies.v, energies.n, r->time_s };
    if (!stopped) t->why = NULL;
    return has_target(s, axis) ? read_cost_to_target(s, store, axis, &rows, t, a, e)
                               : read_cost(s, axis, &rows, n_devices, t, e);
}

static int read_result(struct wl_tune_trials *s, const struct wl_sweep_result *result, const struct wl_tune_axis *axis,
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

/* The time after which a trial costs more than the axis's limit, if it draws no less power than any before. */
static double limit_s(const struct wl_tune_trials *s, const struct wl_tune_axis *axis)
{
    double p_w = INFINITY, j = axis->limit;
    for (size_t i = 0; i < axis->n_trials; i++)
        if (axis->trials[i].p_w > 0) p_w = fmin(p_w, axis->trials[i].p_w);
    if (!has_target(s, axis)) return INFINITY;
    switch (s->opts->goal.objective) {
    case WL_ADVISE_MIN_TIME: return j;
    case WL_ADVISE_MIN_EDP: return sqrt(j / p_w);
    case WL_ADVISE_MIN_ED2P: return cbrt(j / p_w);
    default: return j / p_w;
    }
}

static int sweep(struct wl_tune_trials *s, const struct wl_tune_axis *axis, const struct wl_experiment *x,
                 struct trial_run *ctx, struct wl_sweep_result *result, struct wl_arena *a, struct wl_err *e)
{
    static const struct wl_tune_target none = { 0 };
    struct wl_tune_trial_watch watch;
    struct wl_sweep_opts how = { .signals = s->opts->signals,
                                 .watch = &watch.watch,
                                 .on_start = on_start,
                                 .on_tick = s->opts->on_tick ? on_tick : NULL,
                                 .ctx = ctx };
    wl_tune_trial_watch_init(&watch, has_target(s, axis) ? &s->opts->target : &none, limit_s(s, axis),
                             x->launch.grace_s);
    int rc = wl_sweep_run(x, &how, result, a, e);
    if (rc < 0) return rc;
    s->out->store = wl_strdup(s->a, result->store);
    s->out->campaign = wl_strdup(s->a, x->campaign.name);
    s->out->runs += ctx->to_run;
    return 0;
}

int wl_tune_trial_run(struct wl_tune_trials *s, struct wl_tune_axis *axis, size_t value, struct wl_arena *a,
                      struct wl_err *e)
{
    struct wl_experiment x;
    struct wl_sweep_result result;
    struct trial_run ctx = { .s = s, .a = s->a };
    struct wl_tune_trial *t = &axis->trials[axis->n_trials];
    *t = (struct wl_tune_trial) {
        .value = value, .repeat = count_trials(axis, value) + 1, .t_s = NAN, .energy_j = NAN, .p_w = NAN
    };
    int rc = read_trial(s, axis, t, &x, a, e);
    if (rc == 0) rc = sweep(s, axis, &x, &ctx, &result, a, e);
    if (rc < 0) return rc;
    t->state = WL_TUNE_SKIPPED;
    t->why = ctx.skip;
    if (!ctx.skip) rc = read_result(s, &result, axis, t, a, e);
    if (rc < 0) return rc;
    axis->n_trials++;
    if (s->opts->on_trial) s->opts->on_trial(s->opts->ctx, axis, t);
    return 0;
}

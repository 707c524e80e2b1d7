#include "campaign/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Placeholders that are not axes. */
enum builtin { DATA, RUN_DIR, SEED, REPEAT, SAMPLES, TRAIN, NODELIST, MPIRUN, MEASURE };
static const struct {
    const char *name;
    enum builtin builtin;
    const char *missing; /* the key that gives it a value */
} builtins[] = {
    { "data", DATA, "[data] path" },
    { "run_dir", RUN_DIR, NULL },
    { "seed", SEED, NULL },
    { "repeat", REPEAT, NULL },
    { "samples", SAMPLES, "[data] samples" },
    { "train", TRAIN, NULL },
    { "nodelist", NODELIST, NULL },
    { "mpirun", MPIRUN, NULL },
    { "measure", MEASURE, NULL },
};

bool wl_placeholder_reserved(const char *name)
{
    for (size_t i = 0; i < WL_COUNT(builtins); i++)
        if (wl_str_eq(builtins[i].name, name)) return true;
    return wl_sweep_axis_find(name) != NULL;
}

static int fail_unknown(const struct wl_experiment *x, const char *name, const char *where, struct wl_arena *a,
                        struct wl_err *e)
{
    struct wl_strs names = { 0 };
    for (const struct wl_sweep_axis *axis = wl_sweep_axes(); axis->key; axis++) wl_strs_add(a, &names, axis->key);
    for (size_t i = 0; i < WL_COUNT(builtins); i++) wl_strs_add(a, &names, builtins[i].name);
    for (size_t i = 0; i < x->n_user; i++) wl_strs_add(a, &names, x->user[i].key);
    const char *near = wl_str_closest(name, (const char *const *)names.v, names.n);
    return wl_fail(e, WL_EINVAL,
                   "%s: {%s} is not a placeholder%s%s%s A key of your own needs its values in [sweep]; {{ and }} are "
                   "plain braces",
                   where, name, near ? "; did you mean {" : "", near ? near : "", near ? "}?" : ".");
}

/* wattlaw-train is in the folder of this program, or in PATH. */
static const char *find_train(struct wl_arena *a)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n > 0) {
        self[n] = '\0';
        const char *beside = wl_path_join(a, wl_path_dir(a, self), "wattlaw-train");
        if (access(beside, X_OK) == 0) return beside;
    }
    return wl_process_find_program("wattlaw-train", a);
}

/* The nodes of the job that this process is in, as Slurm lists them: n[1-4]; NULL and *e: it is in none. */
static const char *job_nodes(const struct wl_placeholder_values *f, const char *where, struct wl_err *e)
{
    const char *list = getenv("SLURM_JOB_NODELIST");
    if (f->checking || !f->run_dir) return "NODELIST";
    if (list && *list) return list;
    wl_fail(e, WL_EINVAL, "%s: {nodelist}: this is not inside a job of Slurm (SLURM_JOB_NODELIST is not set)", where);
    return NULL;
}

/* NULL and e unchanged: the name has no value here. */
static const char *builtin_value(const struct wl_placeholder_values *f, enum builtin builtin, const char *where,
                                 struct wl_arena *a, struct wl_err *e)
{
    const struct wl_experiment *x = f->x;
    switch (builtin) {
    case DATA: return f->data;
    case RUN_DIR: return f->run_dir ? f->run_dir : "RUN_DIR";
    case SEED: return wl_strf(a, "%lld", (long long)(x->campaign.seed + f->repeat - 1));
    case REPEAT: return wl_strf(a, "%lld", (long long)f->repeat);
    case SAMPLES: return f->trial && f->trial->samples ? wl_strf(a, "%lld", (long long)f->trial->samples) : NULL;
    case TRAIN: {
        const char *train = f->checking ? "wattlaw-train" : find_train(a);
        if (!train)
            wl_fail(e, WL_ENOENT, "%s: {train}: wattlaw-train is neither in the folder of wattlaw nor in PATH", where);
        return train;
    }
    case NODELIST: return job_nodes(f, where, e);
    case MPIRUN:
    case MEASURE:
        wl_fail(e, WL_EINVAL, "%s: {%s} expands to several words: it cannot be part of a word", where,
                builtin == MPIRUN ? "mpirun" : "measure");
        return NULL;
    }
    return NULL;
}

int wl_placeholder_value(void *ctx, const char *name, const char *where, const char **value, struct wl_arena *a,
                         struct wl_err *e)
{
    struct wl_placeholder_values *f = ctx;
    struct wl_err why = { 0 };
    if (f->used) wl_strs_add(a, f->used, name);
    for (size_t i = 0; i < f->x->n_user; i++)
        if (f->trial && wl_str_eq(f->x->user[i].key, name)) return *value = f->trial->user[i], 0;
    for (size_t i = 0; i < WL_COUNT(builtins); i++) {
        if (!wl_str_eq(builtins[i].name, name)) continue;
        *value = builtin_value(f, builtins[i].builtin, where, a, &why);
        if (*value) return 0;
        if (why.code) return wl_fail(e, why.code, "%s", why.msg);
        return wl_fail(e, WL_EINVAL, "%s: {%s} has no value: give %s", where, name, builtins[i].missing);
    }
    const struct wl_sweep_axis *axis = wl_sweep_axis_find(name);
    if (!axis || !f->trial) return fail_unknown(f->x, name, where, a, e);
    *value = wl_sweep_axis_text(axis, f->trial, a);
    if (*value) return 0;
    bool batch = strstr(name, "_batch") != NULL;
    return wl_fail(e, WL_EINVAL, "%s: {%s} has no value: give [sweep] %s", where, name,
                   batch ? "local_batch or global_batch" : name);
}

/* ---- templates of a whole run ---- */

/* A placeholder that expands to several words. */
static bool add_expanded(const struct wl_placeholder_values *f, const char *word, struct wl_strs *out,
                         struct wl_arena *a)
{
    bool mpirun = wl_str_eq(word, "{mpirun}"), measure = wl_str_eq(word, "{measure}");
    if (f->used && (mpirun || measure)) wl_strs_add(a, f->used, mpirun ? "mpirun" : "measure");
    if (measure) wl_placeholder_measure(f, out, a);
    if (mpirun && f->trial->workers > 1) {
        wl_strs_add(a, out, "mpirun");
        wl_strs_add(a, out, "-np");
        wl_strs_add(a, out, wl_strf(a, "%lld", (long long)f->trial->workers));
    }
    return mpirun || measure;
}

int wl_placeholder_words(struct wl_placeholder_values *f, const char *text, const char *where, struct wl_strs *out,
                         struct wl_arena *a, struct wl_err *e)
{
    struct wl_strs words;
    int rc = wl_template_words(text, where, &words, a, e);
    for (size_t i = 0; i < words.n && rc == 0; i++) {
        if (f->trial && add_expanded(f, words.v[i], out, a)) continue;
        const char *word;
        rc = wl_template_expand(words.v[i], wl_placeholder_value, f, where, &word, a, e);
        if (rc == 0) wl_strs_add(a, out, word);
    }
    return rc;
}

int wl_placeholder_command(struct wl_placeholder_values *f, const char *where, struct wl_strs *argv, struct wl_arena *a,
                           struct wl_err *e)
{
    *argv = (struct wl_strs) { 0 };
    int rc = wl_placeholder_words(f, f->x->launch.command, where, argv, a, e);
    if (rc == 0 && f->x->launch.args) rc = wl_placeholder_words(f, f->x->launch.args, where, argv, a, e);
    if (rc == 0 && argv->n == 0) return wl_fail(e, WL_EINVAL, "%s: the command is empty", where);
    return rc;
}

int wl_placeholder_env(struct wl_placeholder_values *f, const char *where, struct wl_strs *env, struct wl_arena *a,
                       struct wl_err *e)
{
    *env = (struct wl_strs) { 0 };
    if (!f->x->launch.env) return 0;
    int rc = wl_placeholder_words(f, f->x->launch.env, where, env, a, e);
    for (size_t i = 0; i < env->n && rc == 0; i++) {
        const char *equals = strchr(env->v[i], '=');
        if (!equals || equals == env->v[i])
            return wl_fail(e, WL_EINVAL, "%s: '%s': expected NAME=value", where, env->v[i]);
    }
    return rc;
}

int wl_trial_command(const struct wl_experiment *x, const struct wl_trial *t, int64_t repeat, const char *run_dir,
                     struct wl_strs *argv, struct wl_arena *a, struct wl_err *e)
{
    struct wl_placeholder_values f = { .x = x, .trial = t, .repeat = repeat, .run_dir = run_dir, .data = x->data.path };
    return wl_placeholder_command(&f, "[launch] command", argv, a, e);
}

bool wl_placeholder_used(const struct wl_experiment *x, const char *name)
{
    const char *const templates[] = { x->launch.command, x->launch.args, x->launch.env, x->launch.cwd };
    char placeholder[64];
    snprintf(placeholder, sizeof placeholder, "{%s}", name);
    for (size_t i = 0; i < WL_COUNT(templates); i++)
        if (templates[i] && strstr(templates[i], placeholder)) return true;
    return false;
}

bool wl_experiment_is_multinode(const struct wl_experiment *x) { return wl_placeholder_used(x, "measure"); }

/* ---- checks when an experiment is read ---- */

/* A trial that has every value that the grid will have. */
static struct wl_trial sample_trial(const struct wl_experiment *x, struct wl_arena *a)
{
    struct wl_trial t = wl_trial_empty(x, a);
    for (const struct wl_sweep_axis *axis = wl_sweep_axes(); axis->key; axis++)
        if (wl_sweep_axis_count(axis, &x->sweep)) wl_sweep_axis_take(axis, &x->sweep, 0, &t);
    for (size_t i = 0; i < x->n_user; i++) t.user[i] = x->user[i].values.v[0];
    if (t.threads == 0) t.threads = 1;
    if (t.workers == 0) t.workers = 1;
    if (t.nodes == 0 && x->launch.batch.workers_per_node) t.nodes = 1;
    if (t.accumulation == 0) t.accumulation = 1;
    if (t.local_batch == 0) t.local_batch = t.global_batch;
    if (t.global_batch == 0) t.global_batch = t.local_batch;
    t.samples = x->data.samples;
    return t;
}

static bool contains(const struct wl_strs *list, const char *word)
{
    for (size_t i = 0; i < list->n; i++)
        if (wl_str_eq(list->v[i], word)) return true;
    return false;
}

/* Does this axis affect the run? Caps are set by wattlaw itself; the three batch keys follow from each other. */
static bool affects_run(const struct wl_strs *used, const struct wl_sweep_axis *axis)
{
    static const char *const batch[] = { "local_batch", "global_batch", "accumulation" };
    if (axis->cap >= 0) return true;
    if (wl_str_eq(axis->key, "workers") && contains(used, "mpirun")) return true;
    bool is_batch = false, batch_used = false;
    for (size_t i = 0; i < WL_COUNT(batch); i++) {
        is_batch |= wl_str_eq(axis->key, batch[i]);
        batch_used |= contains(used, batch[i]);
    }
    return contains(used, axis->key) || (is_batch && batch_used);
}

/* The axis that an unknown key is probably meant to be, or NULL. */
static const char *closest_axis(const char *key)
{
    const char *names[WL_SETTING_AXES + WL_SETTING_CHOICES];
    size_t n = 0;
    for (const struct wl_sweep_axis *axis = wl_sweep_axes(); axis->key; axis++) names[n++] = axis->key;
    for (const struct wl_setting *r = wl_settings_table; r->name; r++)
        if (r->type == WL_SETTING_CHOICE) names[n++] = r->name;
    return wl_str_closest(key, names, n);
}

static int fail_unused_axis(const char *key, const char *where, struct wl_err *e)
{
    const char *near = wl_setting_find(key) ? NULL : closest_axis(key);
    if (near) return wl_fail(e, WL_EINVAL, "%s: [sweep] unknown key %s; did you mean %s?", where, key, near);
    return wl_fail(e, WL_EINVAL,
                   "%s: [sweep] %s: {%s} does not occur in [launch] command, args, env or cwd, so its "
                   "values would change nothing",
                   where, key, key);
}

static int check_axes_used(const struct wl_experiment *x, const struct wl_strs *used, wl_key_location *location,
                           void *ctx, struct wl_err *e)
{
    for (size_t i = 0; i < x->n_user; i++)
        if (!contains(used, x->user[i].key))
            return fail_unused_axis(x->user[i].key, location(ctx, "sweep", x->user[i].key), e);
    for (const struct wl_sweep_axis *axis = wl_sweep_axes(); axis->key; axis++)
        if (wl_sweep_axis_count(axis, &x->sweep) > 1 && !affects_run(used, axis))
            return fail_unused_axis(axis->key, location(ctx, "sweep", axis->key), e);
    return 0;
}

int wl_placeholder_check(const struct wl_experiment *x, wl_key_location *location, void *ctx, struct wl_arena *a,
                         struct wl_err *e)
{
    struct wl_strs used = { 0 }, words = { 0 };
    struct wl_trial t = sample_trial(x, a);
    struct wl_placeholder_values f = {
        .x = x, .trial = &t, .repeat = 1, .data = x->data.path, .checking = true, .used = &used
    };
    int rc = wl_placeholder_words(&f, x->launch.command, location(ctx, "launch", "command"), &words, a, e);
    if (rc == 0 && words.n == 0)
        return wl_fail(e, WL_EINVAL, "%s: [launch] command is empty", location(ctx, "launch", "command"));
    if (rc == 0 && x->launch.args)
        rc = wl_placeholder_words(&f, x->launch.args, location(ctx, "launch", "args"), &words, a, e);
    if (rc == 0) rc = wl_placeholder_env(&f, location(ctx, "launch", "env"), &words, a, e);
    const char *cwd;
    if (rc == 0 && x->launch.cwd)
        rc = wl_template_expand(x->launch.cwd, wl_placeholder_value, &f, location(ctx, "launch", "cwd"), &cwd, a, e);
    if (rc == 0) rc = check_axes_used(x, &used, location, ctx, e);
    if (rc < 0 || !x->data.prepare) return rc;

    const char *where = location(ctx, "data", "prepare");
    if (!x->data.path) return wl_fail(e, WL_EINVAL, "%s: [data] prepare needs [data] path", where);
    struct wl_strs made = { 0 };
    struct wl_placeholder_values once = { .x = x, .repeat = 1, .data = x->data.path, .checking = true, .used = &made };
    words = (struct wl_strs) { 0 };
    rc = wl_placeholder_words(&once, x->data.prepare, where, &words, a, e);
    if (rc == 0 && !contains(&made, "data"))
        return wl_fail(e, WL_EINVAL, "%s: [data] prepare must name {data}, the folder or file that it writes", where);
    return rc;
}

int wl_program_check(const char *where, const char *program, const char *given, struct wl_arena *a, struct wl_err *e)
{
    if (wl_process_find_program(program, a)) return 0;
    return wl_fail(e, WL_ENOENT, "%s: %s: command not found%s", where, given,
                   wl_str_eq(given, "wattlaw-train") ? "; write {train} for the one that belongs to this wattlaw" : "");
}

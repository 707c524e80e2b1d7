/* Completes an experiment that has been read, and checks what the option rows cannot express. */
#include "campaign/experiment_reader.h"

#include "campaign/batch.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* The location of a key: "exp.ini:12", "--set" or the file. */
static const char *location_of(void *ctx, const char *section, const char *key)
{
    struct wl_experiment_reader *r = ctx;
    const char *start = wl_strf(r->a, "%s.%s=", section, key);
    for (size_t i = 0; r->sets && i < r->sets->n; i++)
        if (wl_str_starts(r->sets->v[i], start)) return "--set";
    const struct wl_ini_section *s = wl_ini_section(r->ini, section);
    for (size_t i = 0; s && i < s->n; i++)
        if (wl_str_eq(s->v[i].key, key)) return wl_strf(r->a, "%s:%d", r->ini->path, s->v[i].line);
    return r->ini->path;
}

static int check_name(struct wl_experiment_reader *r, struct wl_err *e)
{
    const char *name = r->x->campaign.name;
    if (!name) return wl_fail(e, WL_EINVAL, "%s: [campaign] name is missing", r->ini->path);
    bool valid = *name && *name != '.' && *name != '-';
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._-", *c)) valid = false;
    if (valid) return 0;
    return wl_fail(e, WL_EINVAL,
                   "%s: [campaign] name = '%s': expected letters, digits, . _ - (not starting with . or -)",
                   location_of(r, "campaign", "name"), name);
}

/* A value that is repeated in an axis would give one trial twice. */
static int check_distinct(struct wl_experiment_reader *r, const char *key, const char *const *values, size_t n,
                          struct wl_err *e)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (wl_str_eq(values[i], values[k]))
                return wl_fail(e, WL_EINVAL, "%s: [sweep] %s: %s is listed twice", location_of(r, "sweep", key), key,
                               values[i]);
    return 0;
}

static int check_axes(struct wl_experiment_reader *r, struct wl_err *e)
{
    int rc = 0;
    for (size_t i = 0; i < r->x->n_user && rc == 0; i++) {
        const struct wl_strs *values = &r->x->user[i].values;
        rc = check_distinct(r, r->x->user[i].key, (const char *const *)values->v, values->n, e);
    }
    struct wl_trial t = wl_trial_empty(r->x, r->a);
    for (const struct wl_sweep_axis *axis = wl_sweep_axes(); axis->key && rc == 0; axis++) {
        size_t n = wl_sweep_axis_count(axis, &r->x->sweep);
        const char **values = wl_new_array(r->a, const char *, n);
        for (size_t i = 0; i < n; i++) {
            wl_sweep_axis_take(axis, &r->x->sweep, i, &t);
            values[i] = wl_sweep_axis_text(axis, &t, r->a);
        }
        rc = check_distinct(r, axis->key, values, n, e);
    }
    return rc;
}

static void ignore_mark(void *ctx, const struct wl_mark *m) { (void)ctx, (void)m; }

/* Reports an invalid expression now, with its line, and not in the first run. */
static int check_regex(struct wl_experiment_reader *r, struct wl_err *e)
{
    struct wl_mark_regex *unused;
    struct wl_err why;
    const char *option = NULL;
    struct wl_arena *a = wl_arena_new(NULL);
    int rc = wl_mark_regex_new(&unused, &r->x->measure.regex, ignore_mark, NULL, &option, a, &why);
    if (rc < 0) {
        const char *where = location_of(r, "measure", wl_experiment_key(option, a));
        rc = wl_fail(e, rc, "%s: [measure] %s", where, wl_experiment_options_as_keys("measure", why.msg, a));
    }
    wl_arena_free(a);
    return rc;
}

/* Reports of runs read the file of intensities again, maybe from another folder: its path is made absolute. A file that
 * does not cover the present is not an error: it may be updated later. */
static int check_footprint(struct wl_experiment_reader *r, struct wl_err *e)
{
    struct wl_footprint *given = &r->x->measure.footprint;
    const char *faulty = NULL;
    if (given->carbon_csv) given->carbon_csv = wl_path_absolute(r->a, given->carbon_csv);
    struct wl_footprint f = *given;
    int rc = wl_footprint_complete(&f, &faulty, r->a, e);
    const char *key = wl_experiment_key(faulty ? faulty : "", r->a);
    if (rc < 0)
        return wl_fail(e, WL_EINVAL, "%s: [measure] %s: %s", location_of(r, "measure", key), key,
                       wl_experiment_options_as_keys("measure", e->msg, r->a));
    int64_t now = wl_anchor_now().wall_ns, until;
    if (f.intensity && isnan(wl_grid_steps_at(&f.intensity->steps, now, &until)))
        wl_strs_add(r->a, &r->x->notes,
                    wl_strf(r->a,
                            "%s: [measure] carbon_csv: %s has no intensity for now, %s: the carbon of runs is "
                            "unknown until the file covers their time",
                            location_of(r, "measure", key), f.carbon_csv, wl_clock_iso(r->a, now)));
    return 0;
}

/* Nodes begin at different instants: there is no time in which all of them are idle. */
static int check_nodes(struct wl_experiment_reader *r, struct wl_err *e)
{
    if (!wl_experiment_is_multinode(r->x) || !(r->x->measure.idle_s > 0)) return 0;
    return wl_fail(e, WL_EINVAL,
                   "%s: [measure] idle: cannot be measured on several nodes ({measure} in [launch] command)",
                   location_of(r, "measure", "idle"));
}

bool wl_experiment_is_batch(const struct wl_experiment *x)
{
    return wl_str_eq(x->launch.launcher, "slurm") || wl_str_eq(x->launch.launcher, "allocation") ||
           wl_str_eq(x->launch.launcher, "command");
}

/* The site's lines of shell: without one of them jobs would be submitted and never seen again. */
static int check_site_commands(struct wl_experiment_reader *r, struct wl_err *e)
{
    const struct wl_batch_keys *k = &r->x->launch.batch;
    const struct {
        const char *key, *value, *example;
    } needed[] = { { "submit_command", k->submit_command, "qsub {script}" },
                   { "states_command", k->states_command, "my-states {jobs}" },
                   { "cancel_command", k->cancel_command, "qdel {jobs}" },
                   { "job_variable", k->job_variable, "PBS_JOBID" } };
    if (!wl_str_eq(r->x->launch.launcher, "command")) return 0;
    for (size_t i = 0; i < WL_COUNT(needed); i++)
        if (!needed[i].value)
            return wl_fail(e, WL_EINVAL, "%s: [launch] launcher = command requires %s, as %s",
                           location_of(r, "launch", "launcher"), needed[i].key, needed[i].example);
    return 0;
}

/* In a script a value with a line break would go on as a command. */
static int check_lines(struct wl_experiment_reader *r, struct wl_err *e)
{
    const struct wl_batch_keys *k = &r->x->launch.batch;
    const struct {
        const char *key, *value;
    } lines[] = { { "partition", k->partition },           { "account", k->account }, { "qos", k->qos },
                  { "constraint", k->constraint },         { "gres", k->gres },       { "container", k->container },
                  { "sbatch_options", k->sbatch_options }, { "wattlaw", k->wattlaw }, { "local_dir", k->local_dir },
                  { "job_variable", k->job_variable } };
    for (size_t i = 0; i < WL_COUNT(lines); i++)
        if (lines[i].value && strpbrk(lines[i].value, "\n\r"))
            return wl_fail(e, WL_EINVAL, "%s: [launch] %s = '%s': expected one line",
                           location_of(r, "launch", lines[i].key), lines[i].key, lines[i].value);
    return 0;
}

/* What the option rows cannot express, and what other batch systems than Slurm are not asked for. */
static int check_job_keys(struct wl_experiment_reader *r, struct wl_err *e)
{
    const struct wl_batch_keys *k = &r->x->launch.batch;
    const bool slurm = wl_str_eq(r->x->launch.launcher, "slurm");
    int64_t most;
    if (k->time_margin > 0 && k->time_margin < 1)
        return wl_fail(e, WL_EINVAL, "%s: [launch] time_margin = %g: expected 0 or at least 1",
                       location_of(r, "launch", "time_margin"), k->time_margin);
    if (!wl_batch_array_parse(k->array, &most))
        return wl_fail(e, WL_EINVAL, "%s: [launch] array = '%s': expected yes, no or a number of tasks from 2 on",
                       location_of(r, "launch", "array"), k->array);
    if (most && !slurm)
        return wl_fail(e, WL_EINVAL, "%s: [launch] array: only launcher = slurm has job arrays",
                       location_of(r, "launch", "array"));
    if (k->signal_before_s > 0 && !slurm)
        return wl_fail(e, WL_EINVAL, "%s: [launch] signal_before: only launcher = slurm sends such a signal",
                       location_of(r, "launch", "signal_before"));
    if (k->signal_before_s > 0 && k->time_limit_s > 0 && k->signal_before_s >= k->time_limit_s)
        return wl_fail(e, WL_EINVAL, "%s: [launch] signal_before = %g s: expected less than time_limit, %g s",
                       location_of(r, "launch", "signal_before"), k->signal_before_s, k->time_limit_s);
    return check_lines(r, e);
}

/* srun takes nodes of the allocation as it likes, whatever its environment says. */
static int check_allocation(struct wl_experiment_reader *r, struct wl_err *e)
{
    const char *command = r->x->launch.command ? r->x->launch.command : "";
    if (!wl_str_eq(r->x->launch.launcher, "allocation") || !strstr(command, "srun ")) return 0;
    if (wl_placeholder_used(r->x, "nodelist")) return 0;
    return wl_fail(e, WL_EINVAL,
                   "%s: [launch] command: with launcher = allocation srun needs the nodes of the run, as in "
                   "srun -N {nodes} -w {nodelist} -n {workers}",
                   location_of(r, "launch", "command"));
}

/* A job of several nodes whose command does not measure each of them would give the energy of the first one. */
static int check_batch(struct wl_experiment_reader *r, struct wl_err *e)
{
    const struct wl_experiment *x = r->x;
    int64_t most = 1, workers = 1;
    if (!wl_experiment_is_batch(x)) return 0;
    for (size_t i = 0; i < x->sweep.workers.n; i++)
        if (x->sweep.workers.v[i] > workers) workers = x->sweep.workers.v[i];
    if (x->launch.batch.workers_per_node)
        most = (workers + x->launch.batch.workers_per_node - 1) / x->launch.batch.workers_per_node;
    for (size_t i = 0; i < x->sweep.nodes.n; i++)
        if (x->sweep.nodes.v[i] > most) most = x->sweep.nodes.v[i];
    if (most > 1 && !wl_experiment_is_multinode(x))
        return wl_fail(e, WL_EINVAL,
                       "%s: [launch] command starts jobs of up to %lld nodes and measures the first one alone: put "
                       "{measure} after its launcher, as in srun -N {nodes} -n {workers} {measure} ...",
                       location_of(r, "launch", "command"), (long long)most);
    int rc = check_job_keys(r, e);
    if (rc == 0) rc = check_allocation(r, e);
    return rc ? rc : check_site_commands(r, e);
}

/* The command of the reference workloads. Ranks on one machine need no mpirun. Workers are pinned, so that one worker
 * does not use the cores that several would use. */
static const char *default_command(const struct wl_experiment *x, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    wl_text_addf(&t,
                 "{train} {workload} --workers {workers}%s --epochs {epochs} --local-batch {local_batch} "
                 "--accumulation {accumulation} --threads {threads} --pin --seed {seed}%s",
                 x->data.path ? " --data {data}" : "", x->data.samples ? " --train-samples {samples}" : "");
    for (size_t i = 0; i < x->n_user; i++) {
        const struct wl_setting *choice = wl_setting_find_choice(x->user[i].key);
        const char *placeholder = choice ? wl_strf(a, "{%s}", choice->name) : NULL;
        bool given = choice && x->launch.args && strstr(x->launch.args, placeholder); /* as older experiments had to */
        if (choice && !given) wl_text_addf(&t, " --%s %s", choice->option, placeholder);
    }
    return t.s;
}

/* The reference workloads know these values; a command of the user's own may have others. */
static int check_choices(struct wl_experiment_reader *r, struct wl_err *e)
{
    for (size_t i = 0; i < r->x->n_user; i++) {
        const struct wl_user_axis *axis = &r->x->user[i];
        const struct wl_setting *choice = wl_setting_find_choice(axis->key);
        for (size_t k = 0; choice && k < axis->values.n; k++)
            if (!wl_opt_has_choice(choice->choices, axis->values.v[k]))
                return wl_fail(e, WL_EINVAL, "%s: [sweep] %s = '%s': expected one of %s",
                               location_of(r, "sweep", axis->key), axis->key, axis->values.v[k], choice->choices);
    }
    return 0;
}

static int complete(struct wl_experiment_reader *r, struct wl_err *e)
{
    struct wl_experiment *x = r->x;
    if (!x->campaign.store) x->campaign.store = x->campaign.name;
    if (!x->launch.command) {
        if (x->sweep.workload.n == 0)
            return wl_fail(e, WL_EINVAL,
                           "%s: [launch] command is missing; without one, [sweep] workload must name "
                           "reference workloads",
                           r->ini->path);
        x->launch.command = default_command(x, r->a);
        int rc = check_choices(r, e);
        if (rc < 0) return rc;
    }
    if (wl_str_eq(x->campaign.scaling, "weak") && x->data.samples == 0)
        return wl_fail(e, WL_EINVAL,
                       "%s: [campaign] scaling = weak needs [data] samples, the samples of one worker's "
                       "epoch",
                       location_of(r, "campaign", "scaling"));
    return 0;
}

int wl_experiment_complete(struct wl_experiment_reader *r, struct wl_err *e)
{
    int rc = check_name(r, e);
    if (rc == 0) rc = check_axes(r, e);
    if (rc == 0) rc = check_regex(r, e);
    if (rc == 0) rc = check_footprint(r, e);
    if (rc == 0) rc = complete(r, e);
    if (rc == 0) rc = check_nodes(r, e);
    if (rc == 0) rc = check_batch(r, e);
    return rc ? rc : wl_placeholder_check(r->x, location_of, r, r->a, e);
}

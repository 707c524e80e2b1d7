/* Slurm, through sbatch, squeue, sacct and scancel. Sources: sbatch(1), squeue(1) (job state codes), sacct(1),
 * slurm.conf(5) (MinJobAge, AccountingStorageType); messages of slurmstepd as of Slurm 22.05. */
#include "campaign/batch.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the job that is asked for ---- */

/* sbatch reads quotes as sh does. */
static void directive(struct wl_text *t, const char *option, const char *value)
{
    if (value)
        wl_text_addf(t, "#SBATCH --%s=%s\n", option, wl_shell_quote(t->arena, (char *[]) { (char *)value, NULL }));
}

/* sbatch(1), "filename pattern": %j is the job's id. The folder's own % are none. */
static const char *output_pattern(const char *path, struct wl_arena *a)
{
    const size_t folder = (size_t)(wl_path_base(path) - path);
    struct wl_text t = WL_TEXT(a);
    for (size_t i = 0; i < folder; i++) wl_text_addf(&t, "%s%c", path[i] == '%' ? "%" : "", path[i]);
    wl_text_add(&t, path + folder);
    return t.s;
}

static void directive_count(struct wl_text *t, const char *option, int64_t n)
{
    if (n) wl_text_addf(t, "#SBATCH --%s=%lld\n", option, (long long)n);
}

/* Slurm counts in minutes. */
static const char *time_text(double s, struct wl_arena *a)
{
    const long long minutes = (long long)((s + 59) / 60);
    return wl_strf(a, "%lld-%02lld:%02lld:00", minutes / 1440, minutes / 60 % 24, minutes % 60);
}

/* [cap] setter = slurm: clocks of the GPUs that a job asks for, else of its CPUs, in MHz and kHz. */
static void clock_directives(struct wl_text *t, const struct wl_batch_request *r)
{
    const struct wl_batch_keys *k = &r->x->launch.batch;
    const double sm = r->trial->cap.value[WL_CAP_CLOCK], memory = r->trial->cap.value[WL_CAP_MEM_CLOCK];
    if (!wl_str_eq(r->x->cap.opts.setter, "slurm") || (isnan(sm) && isnan(memory))) return;
    if (!k->gpus_per_node && !k->gres && isnan(memory)) {
        wl_text_addf(t, "#SBATCH --cpu-freq=low-%.0f\n", 1000 * sm);
        return;
    }
    struct wl_text v = WL_TEXT(t->arena);
    if (!isnan(sm)) wl_text_addf(&v, "%.0f", sm);
    if (!isnan(memory)) wl_text_addf(&v, "%smemory=%.0f", v.n ? "," : "", memory);
    wl_text_addf(t, "#SBATCH --gpu-freq=%s\n", v.s);
}

static const char *slurm_directives(const struct wl_batch_request *r, struct wl_arena *a)
{
    const struct wl_batch_keys *k = &r->x->launch.batch;
    struct wl_text t = WL_TEXT(a);
    directive(&t, "job-name", r->name);
    directive(&t, "output", output_pattern(r->output, a));
    wl_text_add(&t, "#SBATCH --open-mode=append\n#SBATCH --no-requeue\n");
    directive(&t, "partition", k->partition);
    directive(&t, "account", k->account);
    directive(&t, "qos", k->qos);
    directive(&t, "constraint", k->constraint);
    directive_count(&t, "nodes", r->nodes);
    directive_count(&t, "ntasks", r->trial->workers);
    directive_count(&t, "cpus-per-task", r->trial->threads);
    directive_count(&t, "gpus-per-node", k->gpus_per_node);
    directive(&t, "gres", k->gres);
    clock_directives(&t, r);
    if (r->time_limit_s > 0) directive(&t, "time", time_text(r->time_limit_s, a));
    if (k->exclusive) wl_text_add(&t, "#SBATCH --exclusive\n");
    directive(&t, "exclude", r->exclude_nodes);
    if (k->signal_before_s > 0) directive(&t, "signal", wl_strf(a, "B:USR1@%.0f", ceil(k->signal_before_s)));
    directive(&t, "array", r->tasks);
    if (k->sbatch_options) wl_text_addf(&t, "#SBATCH %s\n", k->sbatch_options);
    return t.s;
}

/* sbatch does not say which value it refuses. */
static void name_keys(const struct wl_batch_keys *k, struct wl_err *e)
{
    const struct {
        const char *words, *key, *value;
    } refusals[] = {
        { "Invalid account", "account", k->account },
        { "invalid partition", "partition", k->partition },
        { "Invalid qos", "qos", k->qos },
        { "Invalid feature", "constraint", k->constraint },
        { "Invalid generic resource", "gres", k->gres },
    };
    for (size_t i = 0; i < WL_COUNT(refusals); i++)
        if (strcasestr(e->msg, refusals[i].words)) {
            char said[sizeof e->msg];
            snprintf(said, sizeof said, "%s", e->msg);
            wl_fail(e, e->code, "%s ([launch] %s = %s)", said, refusals[i].key,
                    refusals[i].value ? refusals[i].value : "not given: your default");
            return;
        }
}

/* "4711" or "4711;cluster" in the last line. */
static int slurm_submit(const struct wl_batch_request *r, const char **job, struct wl_arena *a, struct wl_err *e)
{
    char *text;
    char *argv[] = { (char *)"sbatch", (char *)"--parsable", (char *)r->script, NULL };
    int rc = wl_batch_program_submit(argv, &text, a, e);
    if (rc == WL_EINVAL) name_keys(&r->x->launch.batch, e);
    if (rc < 0) return rc;
    const char *answer = wl_str_strip(a, text), *line = strrchr(answer, '\n');
    line = line ? line + 1 : answer;
    const size_t n = strspn(line, "0123456789");
    if (n == 0) return wl_fail(e, WL_EUNAVAIL, "sbatch: printed '%s' in place of a job's id", answer);
    *job = wl_strndup(a, line, n);
    return 0;
}

static int slurm_cancel(const struct wl_experiment *x, const struct wl_strs *jobs, struct wl_arena *a, struct wl_err *e)
{
    (void)x;
    for (size_t i = 0; i < jobs->n; i++) {
        const char *id = jobs->v[i]; /* from a file: it is not an option, either */
        if (!*id || id[strspn(id, "0123456789_")])
            return wl_fail(e, WL_EINVAL, "'%s': expected the id of a job of Slurm, such as 4711", id);
    }
    int rc = 0;
    for (size_t from = 0, end; from < jobs->n && rc == 0; from = end) {
        struct wl_strs words = { 0 };
        char *text;
        end = wl_batch_ids_end(jobs, from);
        wl_strs_add(a, &words, "scancel");
        for (size_t i = from; i < end; i++) wl_strs_add(a, &words, jobs->v[i]);
        rc = wl_batch_program(wl_strs_argv(&words, a), &text, a, e);
    }
    return rc;
}

/* Of a task "4711_3", as squeue names it: SLURM_JOB_ID has a number that only the task itself knows. */
static const char *slurm_environment(const struct wl_experiment *x, struct wl_arena *a)
{
    (void)x;
    const char *id = getenv("SLURM_JOB_ID"), *array = getenv("SLURM_ARRAY_JOB_ID");
    const char *task = getenv("SLURM_ARRAY_TASK_ID");
    if (id && array && task) return wl_strf(a, "%s_%s", array, task);
    return id && *id ? id : NULL;
}

/* ---- states ---- */

/* squeue(1), "JOB STATE CODES". */
static enum wl_batch_state state_of(const char *word)
{
    static const struct {
        const char *word;
        enum wl_batch_state state;
    } words[] = {
        { "PENDING", WL_BATCH_WAITING },       { "CONFIGURING", WL_BATCH_WAITING },
        { "REQUEUED", WL_BATCH_WAITING },      { "REQUEUE_FED", WL_BATCH_WAITING },
        { "REQUEUE_HOLD", WL_BATCH_WAITING },  { "SPECIAL_EXIT", WL_BATCH_WAITING },
        { "RESV_DEL_HOLD", WL_BATCH_WAITING }, { "RUNNING", WL_BATCH_RUNNING },
        { "COMPLETING", WL_BATCH_RUNNING },    { "SUSPENDED", WL_BATCH_RUNNING },
        { "STOPPED", WL_BATCH_RUNNING },       { "SIGNALING", WL_BATCH_RUNNING },
        { "STAGE_OUT", WL_BATCH_RUNNING },     { "RESIZING", WL_BATCH_RUNNING },
        { "COMPLETED", WL_BATCH_DONE },        { "FAILED", WL_BATCH_FAILED },
        { "OUT_OF_MEMORY", WL_BATCH_FAILED },  { "DEADLINE", WL_BATCH_FAILED },
        { "TIMEOUT", WL_BATCH_TIMEOUT },       { "PREEMPTED", WL_BATCH_LOST },
        { "NODE_FAIL", WL_BATCH_LOST },        { "BOOT_FAIL", WL_BATCH_LOST },
        { "REVOKED", WL_BATCH_LOST },          { "CANCELLED", WL_BATCH_CANCELLED },
    };
    for (size_t i = 0; i < WL_COUNT(words); i++)
        if (wl_str_eq(word, words[i].word)) return words[i].state;
    return WL_BATCH_RUNNING; /* one that this version does not know: it is listed */
}

struct listing {
    struct wl_batch_job *v;
    size_t n;
    struct wl_arena *a;
};

/* The job of a line: by its id, else by the token at the end of its name, which all tasks of an array have. */
static struct wl_batch_job *job_of(const struct listing *l, const char *id, const char *name)
{
    const char *dot = strrchr(name, '.'), *task = wl_batch_task(id);
    for (size_t i = 0; i < l->n; i++) {
        const char *token = l->v[i].token, *of = wl_batch_task(token);
        const size_t n = of ? (size_t)(of - token - 1) : strlen(token);
        if (l->v[i].id && wl_str_eq(l->v[i].id, id)) return &l->v[i];
        if (l->v[i].id || !dot || !wl_str_eq(of, task)) continue;
        if (strlen(dot + 1) == n && strncmp(dot + 1, token, n) == 0) return &l->v[i];
    }
    return NULL;
}

/* A task that is cancelled while it waits has no line of its own any more, but its array has. */
static void note_array(const struct listing *l, const char *id)
{
    const size_t n = strcspn(id, "_");
    for (size_t i = 0; i < l->n; i++) {
        struct wl_batch_job *job = &l->v[i];
        if (job->id && strncmp(job->id, id, n) == 0 && job->id[n] == '_') job->array_listed = true;
    }
}

/* "4711|RUNNING|None|n[1-2]|NAME"; a name may hold anything, and comes last. */
static void read_line(const struct listing *l, char *line)
{
    enum { ID, STATE, WHY, NODES, NAME, FIELDS };
    const char *field[FIELDS];
    for (int i = 0; i < FIELDS; i++) {
        field[i] = i == NAME ? line : strsep(&line, "|");
        if (!field[i] || (i < NAME && !line)) return;
    }
    struct wl_batch_job *job = job_of(l, field[ID], field[NAME]);
    note_array(l, field[ID]);
    if (!job) return;
    char *state = wl_strndup(l->a, field[STATE], strcspn(field[STATE], " +")); /* sacct: "CANCELLED by 1000" */
    job->id = wl_strdup(l->a, field[ID]);
    job->state = state_of(state);
    if (*field[NODES] && !wl_str_starts(field[NODES], "None")) job->nodes = wl_strdup(l->a, field[NODES]);
    const bool says = *field[WHY] && !wl_str_eq(field[WHY], "None") && job->state == WL_BATCH_WAITING;
    job->why = says ? wl_strdup(l->a, field[WHY]) : job->state == WL_BATCH_WAITING ? NULL : state;
}

static void read_lines(const struct listing *l, char *text)
{
    for (char *line; (line = strsep(&text, "\n"));) read_line(l, line);
}

/* One call for all jobs of the user, each task of an array on a line of its own; ended ones stay listed for MinJobAge
 * (300 s). */
static int ask_squeue(const struct listing *l, struct wl_err *e)
{
    char *text, *user = wl_strf(l->a, "%u", (unsigned)geteuid());
    char *argv[] = { (char *)"squeue",
                     (char *)"-h",
                     (char *)"-r",
                     (char *)"-t",
                     (char *)"all",
                     (char *)"-u",
                     user,
                     (char *)"-o",
                     (char *)"%i|%T|%r|%N|%j",
                     NULL };
    int rc = wl_batch_program(argv, &text, l->a, e);
    if (rc == 0) read_lines(l, text);
    return rc;
}

static int ask_sacct_for(const struct listing *l, const char *ids, struct wl_err *e)
{
    char *text;
    char *argv[] = { (char *)"sacct",
                     (char *)"-n",
                     (char *)"-P",
                     (char *)"-X",
                     (char *)"-j",
                     (char *)ids,
                     (char *)"--format=JobID,State,Reason,NodeList,JobName",
                     NULL };
    int rc = wl_batch_program(argv, &text, l->a, e);
    if (rc == 0) read_lines(l, text);
    return rc == WL_EUNAVAIL ? rc : 0;
}

/* Jobs that squeue does not list any more, from the site's accounting. Without one nothing is learnt; a database that
 * is down is waited for. */
static int ask_sacct(const struct listing *l, struct wl_err *e)
{
    struct wl_strs ids = { 0 };
    int rc = 0;
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].state == WL_BATCH_UNKNOWN && l->v[i].id) wl_strs_add(l->a, &ids, l->v[i].id);
    for (size_t from = 0, end; from < ids.n && rc == 0; from = end) {
        struct wl_text list = WL_TEXT(l->a);
        end = wl_batch_ids_end(&ids, from);
        for (size_t i = from; i < end; i++) wl_text_addf(&list, "%s%s", i > from ? "," : "", ids.v[i]);
        rc = ask_sacct_for(l, list.s, e);
    }
    return rc;
}

static int slurm_states(const struct wl_experiment *x, struct wl_batch_job *v, size_t n, struct wl_arena *a,
                        struct wl_err *e)
{
    const struct listing l = { v, n, a };
    (void)x;
    for (size_t i = 0; i < n; i++) {
        v[i].state = WL_BATCH_UNKNOWN;
        v[i].array_listed = false;
    }
    int rc = ask_squeue(&l, e);
    return rc ? rc : ask_sacct(&l, e);
}

const struct wl_batch wl_batch_slurm = { .directives = slurm_directives,
                                         .site = wl_batch_slurm_site,
                                         .submit = slurm_submit,
                                         .states = slurm_states,
                                         .cancel = slurm_cancel,
                                         .environment = slurm_environment,
                                         .placement = wl_batch_slurm_placement,
                                         .slurm_config = wl_batch_slurm_config };

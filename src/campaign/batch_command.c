/* A batch system whose calls a site writes as lines of shell in [launch]. */
#include "campaign/batch.h"

#include <stdlib.h>
#include <string.h>

/* The values of placeholders, quoted for sh. */
struct values {
    const struct wl_batch_request *request; /* NULL: {jobs} alone */
    const char *jobs;                       /* NULL: {jobs} is not one of them */
};

static const char *quoted(const char *text, struct wl_arena *a)
{
    return wl_shell_quote(a, (char *[]) { (char *)text, NULL });
}

static const char *count(int64_t n, struct wl_arena *a) { return wl_strf(a, "%lld", (long long)n); }

/* NULL: there is no such placeholder. */
static const char *request_value(const struct wl_batch_request *r, const char *name, struct wl_arena *a)
{
    if (wl_str_eq(name, "script")) return quoted(r->script, a);
    if (wl_str_eq(name, "output")) return quoted(r->output, a);
    if (wl_str_eq(name, "name")) return quoted(r->name, a);
    if (wl_str_eq(name, "nodes")) return count(r->nodes, a);
    if (wl_str_eq(name, "workers")) return count(r->trial->workers, a);
    if (wl_str_eq(name, "threads")) return count(r->trial->threads, a);
    if (wl_str_eq(name, "gpus_per_node")) return count(r->x->launch.batch.gpus_per_node, a);
    if (wl_str_eq(name, "time_limit_s")) return wl_strf(a, "%.0f", r->time_limit_s);
    return NULL;
}

static int value_of(void *ctx, const char *name, const char *where, const char **value, struct wl_arena *a,
                    struct wl_err *e)
{
    static const char *const of_request =
        "{script}, {output}, {name}, {nodes}, {workers}, {threads}, {gpus_per_node} or {time_limit_s}";
    const struct values *v = ctx;
    *value = v->request ? request_value(v->request, name, a) : NULL;
    if (v->jobs && wl_str_eq(name, "jobs")) *value = v->jobs;
    if (*value) return 0;
    return wl_fail(e, WL_EINVAL, "%s: {%s} is not a placeholder: expected %s", where, name,
                   v->request ? of_request : "{jobs}");
}

static int run_line(const char *line, const char *key, const struct values *v, char **text, struct wl_arena *a,
                    struct wl_err *e)
{
    const char *command, *where = wl_strf(a, "[launch] %s", key);
    int rc = wl_template_expand(line, value_of, (void *)v, where, &command, a, e);
    if (rc < 0) return rc;
    rc = wl_batch_program((char *[]) { (char *)"sh", (char *)"-c", (char *)command, NULL }, text, a, e);
    return rc < 0 ? wl_err_prefix(e, "%s", where) : 0;
}

/* The id is the last word of what it prints: qsub prints nothing else, others a sentence. */
static int command_submit(const struct wl_batch_request *r, const char **job, struct wl_arena *a, struct wl_err *e)
{
    const struct values v = { .request = r };
    char *text;
    int rc = run_line(r->x->launch.batch.submit_command, "submit_command", &v, &text, a, e);
    if (rc < 0) return rc;
    const char *answer = wl_str_strip(a, text), *space = strrchr(answer, ' '), *line = strrchr(answer, '\n');
    const char *word = space > line ? space : line;
    *job = word ? word + 1 : answer;
    if (**job) return 0;
    return wl_fail(e, WL_EINVAL, "[launch] submit_command printed nothing: expected the job's id");
}

/* "ID STATE [NAME]" */
static void read_line(struct wl_batch_job *v, size_t n, char *line, struct wl_arena *a)
{
    const char *id = strsep(&line, " \t"), *state = line ? strsep(&line, " \t") : NULL;
    const char *dot = line ? strrchr(line, '.') : NULL;
    for (size_t i = 0; state && i < n; i++) {
        if (v[i].id ? !wl_str_eq(v[i].id, id) : !dot || !wl_str_eq(v[i].token, dot + 1)) continue;
        v[i].id = wl_strdup(a, id);
        v[i].state = wl_batch_state_find(state);
    }
}

/* Calls the line for all jobs, with as many ids at a time as a command line holds; without {jobs} in it, or without an
 * id, once. [n] in v: the jobs whose states it prints; NULL: it prints none. */
static int run_for_jobs(const char *line, const char *key, const struct wl_strs *ids, struct wl_batch_job *v, size_t n,
                        struct wl_arena *a, struct wl_err *e)
{
    const bool lists_them = strstr(line, "{jobs}") != NULL;
    size_t from = 0, end;
    do {
        struct wl_text jobs = WL_TEXT(a);
        char *text;
        end = lists_them ? wl_batch_ids_end(ids, from) : ids->n;
        for (size_t i = from; lists_them && i < end; i++) wl_text_addf(&jobs, "%s%s", i > from ? " " : "", ids->v[i]);
        int rc = run_line(line, key, &(struct values) { .jobs = jobs.n ? jobs.s : "" }, &text, a, e);
        if (rc < 0) return rc;
        for (char *row; v && (row = strsep(&text, "\n"));) read_line(v, n, wl_str_strip(a, row), a);
        from = end;
    } while (from < ids->n);
    return 0;
}

static int command_states(const struct wl_experiment *x, struct wl_batch_job *v, size_t n, struct wl_arena *a,
                          struct wl_err *e)
{
    struct wl_strs ids = { 0 };
    for (size_t i = 0; i < n; i++) {
        v[i].state = WL_BATCH_UNKNOWN;
        if (v[i].id) wl_strs_add(a, &ids, quoted(v[i].id, a));
    }
    return run_for_jobs(x->launch.batch.states_command, "states_command", &ids, v, n, a, e);
}

static int command_cancel(const struct wl_experiment *x, const struct wl_strs *jobs, struct wl_arena *a,
                          struct wl_err *e)
{
    struct wl_strs ids = { 0 };
    for (size_t i = 0; i < jobs->n; i++) wl_strs_add(a, &ids, quoted(jobs->v[i], a));
    return run_for_jobs(x->launch.batch.cancel_command, "cancel_command", &ids, NULL, 0, a, e);
}

static const char *command_environment(const struct wl_experiment *x, struct wl_arena *a)
{
    (void)a;
    const char *variable = x->launch.batch.job_variable, *id = variable ? getenv(variable) : NULL;
    return id && *id ? id : NULL;
}

const struct wl_batch wl_batch_command = {
    .submit = command_submit, .states = command_states, .cancel = command_cancel, .environment = command_environment
};

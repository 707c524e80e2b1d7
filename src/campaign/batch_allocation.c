/* Runs in the allocation of Slurm that the sweep is in: each is a step of it, on nodes that no other run has meanwhile.
 * docs/adr/163
 *
 * A shell of its own starts the step and outlives the sweep. What it writes next to the output of the run says what is
 * under way, so that Slurm is asked at a start alone, whether the allocation is still there:
 *
 *     jobs/NAME.TOKEN.step    4711 n1 n3,n4     allocation, host of the shell, nodes
 *                             pid 12345
 *                             exit 0            once it has ended
 */
#include "campaign/batch.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define STEP_SUFFIX  ".step"
#define STEP_ID_NAME "WATTLAW_STEP"

enum { STEP_FILE_MAX = 1 << 20, CMDLINE_MAX = 1 << 16 };

/* A shell that was not there after so long has not been started. */
static const double START_WAIT_S = 20;

struct step {
    const char *path, *token;
    const char *allocation, *host, *nodes;
    int64_t pid;   /* 0: not known yet */
    double status; /* exit status; NAN: it has not said one */
    double age_s;
};

/* ---- the files ---- */

static bool has_suffix(const char *s, const char *suffix)
{
    const size_t n = strlen(s), k = strlen(suffix);
    return n > k && strcmp(s + n - k, suffix) == 0;
}

static bool read_step(const char *path, struct step *out, struct wl_arena *a)
{
    char *text;
    struct stat st;
    if (stat(path, &st) != 0 || wl_file_read(path, STEP_FILE_MAX, &text, NULL, a, NULL) < 0) return false;
    const struct wl_strs lines = wl_str_split(a, text, '\n');
    const struct wl_strs head = wl_str_split(a, lines.n ? lines.v[0] : "", ' ');
    if (head.n != 3) return false;
    const char *name = wl_strndup(a, path, strlen(path) - strlen(STEP_SUFFIX)), *dot = strrchr(name, '.');
    *out = (struct step) { .path = path,
                           .token = dot ? dot + 1 : "",
                           .allocation = head.v[0],
                           .host = head.v[1],
                           .nodes = head.v[2],
                           .status = NAN,
                           .age_s = (double)wl_wall_ns() / WL_NS_PER_S - (double)st.st_mtim.tv_sec };
    for (size_t i = 1; i < lines.n; i++) {
        int64_t n;
        const char *space = strchr(lines.v[i], ' ');
        if (!space || wl_str_to_int(space + 1, &n) < 0) continue;
        if (wl_str_starts(lines.v[i], "pid ")) out->pid = n;
        if (wl_str_starts(lines.v[i], "exit ")) out->status = (double)n;
    }
    return true;
}

/* The shell of the step: another process may have its number by now. */
static bool is_its_shell(const struct step *s, struct wl_arena *a)
{
    char *text;
    size_t n;
    if (s->pid <= 1) return false;
    const char *path = wl_strf(a, "/proc/%lld/cmdline", (long long)s->pid);
    if (wl_file_read(path, CMDLINE_MAX, &text, &n, a, NULL) < 0) return false;
    for (size_t i = 0; i < n; i++)
        if (!text[i]) text[i] = ' ';
    return strstr(text, s->token) != NULL;
}

static const char *allocation_here(void)
{
    const char *id = getenv("SLURM_JOB_ID");
    return id && *id ? id : NULL;
}

/* Is it still there? An earlier sweep may have been in another one. */
static bool is_allocated(const char *allocation, struct wl_arena *a)
{
    char *text;
    struct wl_err e;
    char *argv[] = {
        (char *)"squeue", (char *)"-h", (char *)"-j", (char *)allocation, (char *)"-o", (char *)"%T", NULL
    };
    return wl_batch_program(argv, &text, a, &e) == 0 ? *wl_str_strip(a, text) != '\0' : e.code == WL_EUNAVAIL;
}

/* What is on another host is believed until its allocation has ended. */
static bool is_under_way(const struct step *s, struct wl_arena *a)
{
    if (!isnan(s->status)) return false;
    if (wl_str_eq(s->host, wl_host_name(a))) return s->pid ? is_its_shell(s, a) : s->age_s < START_WAIT_S;
    return wl_str_eq(s->allocation, allocation_here()) || is_allocated(s->allocation, a);
}

/* All that the folder has, under way or not. */
static struct step *read_steps(const char *folder, size_t *n, struct wl_arena *a)
{
    struct wl_strs names = { 0 };
    *n = 0;
    if (wl_dir_list(folder, &names, a, NULL) < 0) return NULL;
    struct step *v = wl_new_array(a, struct step, names.n);
    for (size_t i = 0; i < names.n; i++)
        if (has_suffix(names.v[i], STEP_SUFFIX)) *n += read_step(wl_path_join(a, folder, names.v[i]), &v[*n], a);
    return v;
}

/* ---- nodes ---- */

/* Of the campaign, as wl_batch_scripts_open makes it. */
static const char *jobs_folder(const struct wl_experiment *x, struct wl_arena *a)
{
    const char *store = x->campaign.store;
    return wl_path_join(a, has_suffix(store, ".db") ? wl_path_dir(a, store) : store, WL_BATCH_JOBS_FOLDER);
}

static int nodes_of_allocation(struct wl_strs *nodes, struct wl_arena *a, struct wl_err *e)
{
    char *text;
    const char *list = getenv("SLURM_JOB_NODELIST");
    if (!allocation_here() || !list || !*list)
        return wl_fail(e, WL_EINVAL,
                       "[launch] launcher = allocation: this is not inside an allocation of Slurm: start the sweep in "
                       "one, as in salloc -N 8 wattlaw sweep FILE.ini, or from a batch script");
    char *argv[] = { (char *)"scontrol", (char *)"show", (char *)"hostnames", (char *)list, NULL };
    int rc = wl_batch_program(argv, &text, a, e);
    if (rc < 0) return rc;
    *nodes = (struct wl_strs) { 0 };
    for (char *line; (line = strsep(&text, "\n"));)
        if (*line) wl_strs_add(a, nodes, line);
    return 0;
}

static bool is_of_list(const char *list, const char *node)
{
    const size_t n = strlen(node);
    for (const char *s = list; s; s = strchr(s, ','), s += s != NULL)
        if (strncmp(s, node, n) == 0 && (s[n] == ',' || !s[n])) return true;
    return false;
}

/* Nodes for a run of so many: the first that nobody has. WL_EPERM: too few are free. */
static int choose_nodes(const struct wl_experiment *x, int64_t n_nodes, struct wl_strs *out, struct wl_arena *a,
                        struct wl_err *e)
{
    struct wl_strs all;
    size_t n, under_way = 0;
    int rc = nodes_of_allocation(&all, a, e);
    if (rc < 0) return rc;
    if ((int64_t)all.n < n_nodes)
        return wl_fail(e, WL_EINVAL, "it takes %lld nodes, and allocation %s has %zu (max_nodes in [launch] skips it)",
                       (long long)n_nodes, allocation_here(), all.n);
    struct step *steps = read_steps(jobs_folder(x, a), &n, a);
    for (size_t i = 0; i < n; i++)
        if (is_under_way(&steps[i], a)) steps[under_way++] = steps[i];
    if (under_way && wl_str_eq(x->launch.batch.pack, "alone"))
        return wl_fail(e, WL_EPERM, "another run is under way, and pack = alone");
    *out = (struct wl_strs) { 0 };
    for (size_t i = 0; i < all.n && (int64_t)out->n < n_nodes; i++) {
        bool taken = false;
        for (size_t k = 0; k < under_way; k++) taken |= is_of_list(steps[k].nodes, all.v[i]);
        if (!taken) wl_strs_add(a, out, all.v[i]);
    }
    if ((int64_t)out->n == n_nodes) return 0;
    return wl_fail(e, WL_EPERM, "%zu nodes of allocation %s are free", out->n, allocation_here());
}

static int allocation_room(const struct wl_experiment *x, int64_t nodes, struct wl_arena *a, struct wl_err *e)
{
    struct wl_strs free_nodes;
    return choose_nodes(x, nodes, &free_nodes, a, e);
}

/* ---- a step ---- */

/* As Slurm has it: "2(x3),1". */
static const char *tasks_per_node(int64_t workers, int64_t nodes, struct wl_arena *a)
{
    const int64_t least = workers / nodes, more = workers % nodes;
    struct wl_text t = WL_TEXT(a);
    if (more) wl_text_addf(&t, "%lld(x%lld)%s", (long long)least + 1, (long long)more, more < nodes ? "," : "");
    if (more < nodes) wl_text_addf(&t, "%lld(x%lld)", (long long)least, (long long)(nodes - more));
    return t.s;
}

static const char *joined(const struct wl_strs *nodes, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    for (size_t i = 0; i < nodes->n; i++) wl_text_addf(&t, "%s%s", i ? "," : "", nodes->v[i]);
    return t.s;
}

/* The script on the run's first node, with the environment of a job that has these nodes alone: launchers in its
 * command read it. --overlap: their steps use the CPUs of this one. */
static const char *step_command(const struct wl_batch_request *r, const struct wl_strs *nodes, const char *id,
                                struct wl_arena *a)
{
    const char *list = joined(nodes, a), *count = wl_strf(a, "%zu", nodes->n);
    const int64_t n_workers = r->trial->workers ? r->trial->workers : 1;
    const char *workers = wl_strf(a, "%lld", (long long)n_workers);
    const char *const fixed[] = { "srun", "--overlap", "--nodes=1", "--ntasks=1", "--cpu-bind=none", "--input=none" };
    struct wl_strs words = { 0 };
    for (size_t i = 0; i < WL_COUNT(fixed); i++) wl_strs_add(a, &words, fixed[i]);
    wl_strs_add(a, &words, wl_strf(a, "--nodelist=%s", nodes->v[0]));
    wl_strs_add(a, &words, wl_strf(a, "--job-name=%s", r->name));
    wl_strs_add(a, &words, "env");
    const char *const variables[][2] = { { "SLURM_JOB_NODELIST", list },
                                         { "SLURM_NODELIST", list },
                                         { "SLURM_JOB_NUM_NODES", count },
                                         { "SLURM_NNODES", count },
                                         { "SLURM_NTASKS", workers },
                                         { "SLURM_NPROCS", workers },
                                         { "SLURM_TASKS_PER_NODE", tasks_per_node(n_workers, r->nodes, a) },
                                         { STEP_ID_NAME, id } };
    for (size_t i = 0; i < WL_COUNT(variables); i++)
        wl_strs_add(a, &words, wl_strf(a, "%s=%s", variables[i][0], variables[i][1]));
    wl_strs_add(a, &words, "bash");
    wl_strs_add(a, &words, r->script);
    return wl_shell_quote(a, wl_strs_argv(&words, a));
}

static const char *quoted(const char *word, struct wl_arena *a)
{
    return wl_shell_quote(a, (char *[]) { (char *)word, NULL });
}

/* In a session of its own: Ctrl-C and the end of the sweep do not reach it. */
static int start(const char *line, struct wl_arena *a, struct wl_err *e)
{
    char *text;
    char *argv[] = { (char *)"setsid", (char *)"-f", (char *)"sh", (char *)"-c", (char *)line, NULL };
    return wl_batch_program(argv, &text, a, e);
}

static int allocation_submit(const struct wl_batch_request *r, const char **job, struct wl_arena *a, struct wl_err *e)
{
    struct wl_strs nodes;
    const char *token = strrchr(r->name, '.') + 1;
    int rc = choose_nodes(r->x, r->nodes, &nodes, a, e);
    if (rc < 0) return rc;
    if (!is_allocated(allocation_here(), a)) return wl_fail(e, WL_EINVAL, "allocation %s has ended", allocation_here());
    const char *id = wl_strf(a, "%s_%s", allocation_here(), token);
    const char *file = wl_strf(a, "%.*s" STEP_SUFFIX, (int)(strlen(r->output) - strlen(".out")), r->output);
    const char *head = wl_strf(a, "%s %s %s\n", allocation_here(), wl_host_name(a), joined(&nodes, a));
    rc = wl_file_write(file, head, strlen(head), e);
    if (rc < 0) return rc;
    const char *step = quoted(file, a);
    rc = start(
        wl_strf(
            a,
            "exec </dev/null >/dev/null 2>&1; trap : TERM INT HUP; echo pid $$ >>%s; %s >>%s 2>&1; echo exit $? >>%s",
            step, step_command(r, &nodes, id, a), quoted(r->output, a), step),
        a, e);
    *job = id;
    return rc;
}

/* ---- states ---- */

/* The script's own exit status is 0, 1 or 2: others come from a signal, as at the end of the allocation. */
static void judge(struct wl_batch_job *job, const struct step *s, struct wl_arena *a)
{
    enum { BY_SIGNAL = 128 };
    job->id = wl_strf(a, "%s_%s", s->allocation, s->token);
    job->nodes = s->nodes;
    if (is_under_way(s, a)) {
        job->state = WL_BATCH_RUNNING;
    } else if (isnan(s->status)) {
        job->state = WL_BATCH_LOST;
        job->why = wl_strf(a, "allocation %s has ended, or the shell of the step was killed", s->allocation);
    } else if (s->status == 0) {
        job->state = WL_BATCH_DONE;
    } else {
        job->state = s->status < BY_SIGNAL ? WL_BATCH_FAILED : WL_BATCH_LOST;
        job->why = wl_strf(a, "exit status %.0f", s->status);
    }
}

static int allocation_states(const struct wl_experiment *x, struct wl_batch_job *v, size_t n, struct wl_arena *a,
                             struct wl_err *e)
{
    size_t n_steps;
    const struct step *steps = read_steps(jobs_folder(x, a), &n_steps, a);
    (void)e;
    for (size_t i = 0; i < n; i++) {
        v[i].state = WL_BATCH_UNKNOWN;
        for (size_t k = 0; k < n_steps; k++)
            if (wl_str_eq(steps[k].token, v[i].token)) judge(&v[i], &steps[k], a);
    }
    return 0;
}

static int allocation_cancel(const struct wl_experiment *x, const struct wl_strs *jobs, struct wl_arena *a,
                             struct wl_err *e)
{
    size_t n;
    const struct step *steps = read_steps(jobs_folder(x, a), &n, a);
    for (size_t i = 0; i < jobs->n; i++) {
        const char *token = strrchr(jobs->v[i], '_');
        for (size_t k = 0; token && k < n; k++) {
            const struct step *s = &steps[k];
            if (!wl_str_eq(s->token, token + 1) || !is_under_way(s, a)) continue;
            if (!wl_str_eq(s->host, wl_host_name(a)))
                return wl_fail(e, WL_EINVAL, "job %s was started on %s: cancel it there", jobs->v[i], s->host);
            if (is_its_shell(s, a) && kill((pid_t)-s->pid, SIGTERM) != 0 && errno != ESRCH)
                return wl_fail_errno(e, "job %s: process group %lld", jobs->v[i], (long long)s->pid);
        }
    }
    return 0;
}

static const char *allocation_environment(const struct wl_experiment *x, struct wl_arena *a)
{
    const char *id = getenv(STEP_ID_NAME);
    (void)x;
    (void)a;
    return id && *id ? id : NULL;
}

const struct wl_batch wl_batch_allocation = { .room = allocation_room,
                                              .submit = allocation_submit,
                                              .states = allocation_states,
                                              .cancel = allocation_cancel,
                                              .environment = allocation_environment,
                                              .slurm_config = wl_batch_slurm_config };

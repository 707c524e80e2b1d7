/* The script of a run: the same one is written before a submission and by --dry-run, and can be submitted any number of
 * times. */
#include "campaign/batch.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Others may write to the folder: what is there under the name has to be what the name says. */
static int check_experiment(const char *path, const char *text, struct wl_arena *a, struct wl_err *e)
{
    struct stat st;
    char *found;
    size_t n;
    const size_t size = strlen(text);
    if (lstat(path, &st) == 0 && S_ISREG(st.st_mode) && wl_file_read(path, size, &found, &n, a, e) == 0 && n == size &&
        memcmp(found, text, n) == 0)
        return 0;
    return wl_fail(e, WL_EPERM, "%s: not the experiment that its name stands for: somebody has changed it (remove it)",
                   path);
}

/* The text that determines the trials; its name is its content, so that a script that waits for weeks finds the one
 * that it was made for. */
int wl_batch_scripts_open(const struct wl_sweep *sweep, struct wl_batch_scripts *s, struct wl_err *e)
{
    const char *text = sweep->x->expanded, *jobs = wl_path_join(sweep->a, sweep->folder, WL_BATCH_JOBS_FOLDER);
    *s = (struct wl_batch_scripts) { .x = sweep->x,
                                     .batch = sweep->launcher->batch,
                                     .folder = sweep->folder,
                                     .experiment = wl_strf(sweep->a, "%s/experiment-%016llx.ini", jobs,
                                                           (unsigned long long)wl_hash_fnv1a(text)) };
    int rc = wl_batch_folders_check(sweep->folder, sweep->a, e);
    if (rc == 0) rc = wl_mkdirs(jobs, e);
    if (rc == 0) rc = wl_mkdirs(wl_path_join(sweep->a, sweep->folder, WL_BATCH_SHARDS_FOLDER), e);
    if (rc < 0) return rc;
    if (wl_is_file(s->experiment)) return check_experiment(s->experiment, text, sweep->a, e);
    wl_tempfile_clean(jobs);
    return wl_file_write(s->experiment, text, strlen(text), e);
}

static const char *own_path(const struct wl_experiment *x, struct wl_arena *a)
{
    char self[4096];
    if (x->launch.batch.wattlaw) return x->launch.batch.wattlaw;
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    return n > 0 ? wl_strndup(a, self, (size_t)n) : "wattlaw";
}

/* The words of `wattlaw job`, after those of a container. */
static const char *job_command(const struct wl_batch_scripts *s, const char *hash, int64_t repeat, struct wl_arena *a)
{
    const char *container = s->x->launch.batch.container;
    char *argv[] = { (char *)own_path(s->x, a),
                     (char *)"job",
                     (char *)"--folder",
                     (char *)s->folder,
                     (char *)"--experiment",
                     (char *)s->experiment,
                     (char *)"--trial",
                     (char *)hash,
                     (char *)"--repeat",
                     wl_strf(a, "%lld", (long long)repeat),
                     NULL };
    return wl_strf(a, "%s%s%s", container ? container : "", container ? " " : "", wl_shell_quote(a, argv));
}

/* A shell does not see a signal while it waits for a command in its foreground. In the background, bash has a command
 * ignore SIGINT, so that Ctrl-C becomes SIGTERM. */
static void add_command(struct wl_text *t, const char *command, bool warned)
{
    if (!warned) {
        wl_text_addf(t, "%s\nstatus=$?\n", command);
        return;
    }
    wl_text_addf(t, "%s &\njob=$!\n", command);
    wl_text_add(t, "trap 'kill -USR1 $job' USR1 # the time limit is near: wattlaw forwards it to the command\n"
                   "trap 'kill -TERM $job' INT\n"
                   "wait $job\nstatus=$?\n"
                   "while kill -0 $job 2>/dev/null; do wait $job; status=$?; done\n");
}

static const char *script_text(const struct wl_batch_scripts *s, const char *hash, int64_t repeat,
                               const struct wl_batch_request *r, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    const char *setup = s->x->launch.batch.setup, *command = job_command(s, hash, repeat, a);
    char here[4096];
    wl_text_add(&t, "#!/bin/bash\n");
    if (s->batch->directives) wl_text_add(&t, s->batch->directives(r, a));
    wl_text_addf(&t, "# campaign %s: %s, repeat %lld. Can be submitted again: a finished run is not repeated.\n",
                 s->x->campaign.name, r->trial->label, (long long)repeat);
    if (r->why_limit) wl_text_addf(&t, "# time limit %s: %s\n", wl_human_time(a, r->time_limit_s), r->why_limit);
    wl_text_add(&t, "trap : TERM INT HUP USR1 # wattlaw gets these signals too, and this script has to outlive it\n");
    if (getcwd(here, sizeof here)) wl_text_addf(&t, "cd %s || exit 1\n", wl_shell_quote(a, (char *[]) { here, NULL }));
    if (setup) wl_text_addf(&t, "%s\n", setup);
    add_command(&t, command, s->x->launch.batch.signal_before_s > 0);
    wl_text_add(&t, "# ended by a signal: what it has measured is stored by another wattlaw\n");
    wl_text_addf(&t, "[ $status -lt 128 ] || %s --salvage\nexit $status\n", command);
    return t.s;
}

int wl_batch_script_store(const char *path, const char *text, struct wl_err *e)
{
    struct wl_atomic_file file;
    int rc = wl_atomic_file_open(&file, path, WL_ATOMIC_FILE_INTERNAL_MANY, e);
    if (rc == 0) rc = wl_atomic_file_write(&file, text, strlen(text), e);
    if (rc == 0) rc = wl_atomic_file_commit(&file, e);
    if (rc < 0) wl_atomic_file_discard(&file);
    return rc;
}

int wl_batch_script_write(const struct wl_batch_scripts *s, const char *hash, int64_t repeat, const char *token,
                          struct wl_batch_request *r, struct wl_arena *a, struct wl_err *e)
{
    const char *name = wl_batch_run_name(r->trial, hash, repeat, a);
    const char *jobs = wl_path_join(a, s->folder, WL_BATCH_JOBS_FOLDER);
    r->x = s->x;
    r->name = wl_strf(a, "%s.%s.%s", s->x->campaign.name, wl_batch_run_name(r->trial, NULL, repeat, a), token);
    r->script = wl_strf(a, "%s/%s.sh", jobs, name);
    r->output = wl_strf(a, "%s/%s.%s%s.out", jobs, name, token, s->batch->directives ? ".%j" : "");
    return wl_batch_script_store(r->script, script_text(s, hash, repeat, r, a), e);
}

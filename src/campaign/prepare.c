#include "campaign/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TAIL_BYTES = 400 };

struct preparation {
    const struct wl_experiment *x;
    const char *path, *log_folder;
    const struct wl_signals *signals; /* NULL: none are watched */
    struct wl_arena *a;
};

static void close_fd(void *what) { close(*(int *)what); }

/* Runs the command to its end, with its output in the log; a signal stops it. */
static int run_command(const struct preparation *p, char *const *argv, const char **log_path,
                       struct wl_process_result *out, struct wl_err *e)
{
    struct wl_arena *a = p->a;
    int *fd = wl_new(a, int);
    *fd = wl_run_folder_create_file(p->log_folder, "prepare.log", log_path, a, e);
    if (*fd < 0) return *fd;
    wl_defer(a, close_fd, fd);
    struct wl_job_spec spec = { .argv = argv, .stdin_fd = -1, .stdout_fd = *fd, .stderr_fd = *fd };
    spec.grace_s = p->x->launch.grace_s;
    spec.spared = WL_CAPS_GUARD_NAME;
    struct wl_job *job;
    int64_t started_ns;
    int rc = wl_job_prepare(&job, &spec, a, e);
    if (rc == 0) rc = wl_job_start(job, &started_ns, e);
    if (rc < 0) return rc;
    for (bool stopped = false;;) {
        bool from_terminal;
        struct pollfd fds[] = { { .fd = wl_job_fd(job), .events = POLLIN },
                                { .fd = p->signals ? wl_signals_fd(p->signals) : -1, .events = POLLIN } };
        if (poll(fds, WL_COUNT(fds), -1) < 0) continue;
        if (fds[1].revents && wl_signals_next(p->signals, &from_terminal)) {
            wl_job_stop(job, stopped);
            stopped = true;
        }
        if (!fds[0].revents) continue;
        struct wl_job_exit end;
        rc = wl_job_reap(job, &end, e);
        *out = end.exit;
        if (rc == 0 && stopped) return wl_fail(e, WL_EINTR, "stopped while [data] prepare was running");
        return rc;
    }
}

/* The words of [data] prepare, with `made` for {data}; its program must exist. */
static int command_of(const struct wl_experiment *x, const char *made, struct wl_strs *argv, struct wl_arena *a,
                      struct wl_err *e)
{
    struct wl_placeholder_values fill = { .x = x, .repeat = 1, .data = made };
    int rc = wl_placeholder_words(&fill, x->data.prepare, "[data] prepare", argv, a, e);
    return rc < 0 ? rc : wl_program_check("[data] prepare", argv->v[0], argv->v[0], a, e);
}

/* Never replaces what was created there in the meantime. */
static int move_into_place(const char *made, const char *path, struct wl_err *e)
{
    struct stat st;
    if (lstat(made, &st) != 0) return wl_fail_errno(e, "[data] prepare did not make %s ({data} in its command)", made);
    if (renameat2(AT_FDCWD, made, AT_FDCWD, path, RENAME_NOREPLACE) == 0) return 0;
    bool unsupported = errno == EINVAL || errno == ENOSYS; /* network file systems */
    if (unsupported && lstat(path, &st) != 0 && rename(made, path) == 0) return 0;
    return wl_fail_errno(e, "%s: cannot move the data there", path);
}

/* In a temporary folder next to the path, which is removed in any case. */
static int make_data_in(const struct preparation *p, const struct wl_tempdir *scratch, struct wl_err *e)
{
    struct wl_arena *a = p->a;
    struct wl_strs argv = { 0 };
    int rc = command_of(p->x, scratch->inner, &argv, a, e);
    if (rc < 0) return rc;
    struct wl_process_result end = { 0 };
    char **command = wl_strs_argv(&argv, a);
    const char *log_path;
    wl_log(WL_INFO, "campaign", "preparing the data: %s", wl_shell_quote(a, command));
    rc = run_command(p, command, &log_path, &end, e);
    if (rc < 0) return wl_err_prefix(e, "[data] prepare");
    if (end.status != 0)
        return wl_fail(e, WL_EJOB, "[data] prepare: exit status %d: %s (full output: %s)", end.status,
                       wl_str_strip(a, wl_file_tail(log_path, TAIL_BYTES, a)), log_path);
    return move_into_place(scratch->inner, p->path, e);
}

static int make_data(const struct preparation *p, struct wl_err *e)
{
    struct wl_tempdir *scratch = wl_new(p->a, struct wl_tempdir);
    int rc = wl_mkdirs(wl_path_dir(p->a, p->path), e);
    if (rc == 0) rc = wl_tempdir(scratch, p->path, e);
    if (rc < 0) return rc;
    rc = make_data_in(p, scratch, e);
    wl_tempdir_remove(scratch);
    return rc;
}

int wl_prepare_find_data(const struct wl_experiment *x, const char **path, bool *missing, struct wl_arena *a,
                         struct wl_err *e)
{
    struct wl_strs argv = { 0 };
    *path = NULL;
    *missing = false;
    if (!x->data.path) return 0;
    const char *absolute = wl_path_absolute(a, x->data.path);
    size_t n = strlen(absolute);
    while (n > 1 && absolute[n - 1] == '/') n--; /* so that the path ends in a name */
    *path = wl_strndup(a, absolute, n);
    if (access(*path, F_OK) == 0) return 0;
    if (errno != ENOENT) return wl_fail_errno(e, "%s: [data] path", *path);
    if (!x->data.prepare)
        return wl_fail(e, WL_ENOENT, "%s: [data] path does not exist, and there is no [data] prepare to make it",
                       *path);
    *missing = true;
    return command_of(x, *path, &argv, a, e);
}

int wl_prepare_data(const struct wl_experiment *x, const char *log_folder, const struct wl_signals *signals,
                    const char **path, struct wl_arena *a, struct wl_err *e)
{
    bool missing;
    int rc = wl_prepare_find_data(x, path, &missing, a, e);
    if (rc == 0 && *path && x->data.prepare)
        wl_tempfile_clean(wl_path_dir(a, *path)); /* left by a process that was killed */
    if (rc < 0 || !missing) return rc;
    return make_data(&(struct preparation) { x, *path, log_folder, signals, a }, e);
}

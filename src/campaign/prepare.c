#include "campaign/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TAIL_BYTES = 400 };

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *at)
{
    (void)st, (void)flag, (void)at;
    return remove(path);
}

static int remove_tree(const char *path, struct wl_err *e)
{
    enum { OPEN_MAX_FDS = 16 };
    if (nftw(path, remove_one, OPEN_MAX_FDS, FTW_DEPTH | FTW_PHYS) == 0 || errno == ENOENT) return 0;
    return wl_fail_errno(e, "%s: cannot remove what an interrupted [data] prepare left", path);
}

static void close_fd(void *what) { close(*(int *)what); }

/* Runs the command to its end, its output in the log; a signal stops it. */
static int run_command(char *const *argv, const char *log_path, double grace_s, const struct wl_signals *signals,
                       struct wl_exit *out, struct wl_arena *a, struct wl_err *e)
{
    int *fd = wl_new(a, int);
    *fd = open(log_path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    if (*fd < 0) return wl_fail_errno(e, "%s: cannot write the log", log_path);
    wl_defer(a, close_fd, fd);
    struct wl_job_spec spec = { .argv = argv, .stdin_fd = -1, .stdout_fd = *fd, .stderr_fd = *fd, .grace_s = grace_s };
    struct wl_job *job;
    int64_t started_ns;
    int rc = wl_job_prepare(&job, &spec, a, e);
    if (rc == 0) rc = wl_job_go(job, &started_ns, e);
    if (rc < 0) return rc;
    for (bool stopped = false;;) {
        bool from_terminal;
        struct pollfd fds[] = { { .fd = wl_job_fd(job), .events = POLLIN },
                                { .fd = signals ? wl_signals_fd(signals) : -1, .events = POLLIN } };
        if (poll(fds, WL_COUNT(fds), -1) < 0) continue;
        if (fds[1].revents && wl_signals_next(signals, &from_terminal)) {
            wl_job_stop(job, stopped);
            stopped = true;
        }
        if (!fds[0].revents) continue;
        struct wl_job_exit end;
        rc = wl_job_end(job, &end, e);
        *out = end.exit;
        if (rc == 0 && stopped) return wl_fail(e, WL_EINTR, "stopped while [data] prepare was running");
        return rc;
    }
}

/* The words of [data] prepare, whose program must be there. */
static int command_of(const struct wl_experiment *x, const char *partial, struct wl_strs *argv, struct wl_arena *a,
                      struct wl_err *e)
{
    struct wl_fill fill = { .x = x, .repeat = 1, .data = partial };
    int rc = wl_fill_words(&fill, x->data.prepare, "[data] prepare", argv, a, e);
    return rc < 0 ? rc : wl_program_check("[data] prepare", argv->v[0], argv->v[0], a, e);
}

static const char *partial_of(const char *path, struct wl_arena *a) { return wl_strf(a, "%s.partial", path); }

static int make(const struct wl_experiment *x, const char *path, const char *log_path, const struct wl_signals *signals,
                struct wl_arena *a, struct wl_err *e)
{
    const char *partial = partial_of(path, a);
    struct wl_strs argv = { 0 };
    int rc = remove_tree(partial, e);
    if (rc == 0) rc = wl_mkdirs(wl_path_dir(a, path), e);
    if (rc == 0) rc = command_of(x, partial, &argv, a, e);
    if (rc < 0) return rc;
    struct wl_exit end = { 0 };
    char **command = wl_argv(&argv, a);
    wl_log(WL_INFO, "campaign", "preparing the data: %s", wl_shell_quote(a, command));
    rc = run_command(command, log_path, x->launch.grace_s, signals, &end, a, e);
    if (rc < 0) return wl_prefix(e, "[data] prepare");
    if (end.status != 0)
        return wl_fail(e, WL_EJOB, "[data] prepare ended with status %d: %s (all of it: %s)", end.status,
                       wl_strip(a, wl_file_tail(log_path, TAIL_BYTES, a)), log_path);
    if (rename(partial, path))
        return wl_fail_errno(e, "[data] prepare has not made %s ({data} in its command)", partial);
    return 0;
}

int wl_data_find(const struct wl_experiment *x, const char **path, bool *missing, struct wl_arena *a, struct wl_err *e)
{
    struct wl_strs argv = { 0 };
    *path = NULL;
    *missing = false;
    if (!x->data.path) return 0;
    *path = wl_path_absolute(a, x->data.path);
    if (access(*path, F_OK) == 0) return 0;
    if (errno != ENOENT) return wl_fail_errno(e, "%s: [data] path", *path);
    if (!x->data.prepare)
        return wl_fail(e, WL_ENOENT, "%s: [data] path is not there, and no prepare says how to make it", *path);
    *missing = true;
    return command_of(x, partial_of(*path, a), &argv, a, e);
}

int wl_data_prepare(const struct wl_experiment *x, const char *log_path, const struct wl_signals *signals,
                    const char **path, struct wl_arena *a, struct wl_err *e)
{
    bool missing;
    int rc = wl_data_find(x, path, &missing, a, e);
    return rc < 0 || !missing ? rc : make(x, *path, log_path, signals, a, e);
}

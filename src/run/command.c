/* The command of a run: its files, output, signals, time limit and end. */
#include "run/command.h"
#include "run/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOG_TAIL_BYTES = 4096 };

/* ---- start ---- */

/* The run's folder and its file of marks exist already (folder.c). */
static int open_files(struct wl_run_command *t, struct wl_err *e)
{
    int rc = wl_mkdirs(t->dir, e);
    if (rc < 0 || (t->opts->local_ranks && !wl_local_ranks_is_leader(t->opts->local_ranks))) return rc;
    if (t->opts->pass_through) return 0;
    t->log_fd = wl_run_folder_create_file(t->opts->run_dir, "log", &t->log_path, t->a, e);
    return t->log_fd < 0 ? t->log_fd : 0;
}

static void close_log(void *what)
{
    struct wl_run_command *t = what;
    if (t->log_fd >= 0) close(t->log_fd);
    t->log_fd = -1;
}

static void on_line(void *ctx, int64_t t_ns, const char *line, size_t n)
{
    struct wl_run_command *t = ctx;
    struct wl_err e;
    if (wl_mark_regex_line(t->regex, t_ns, line, n, &e) < 0) t->on_broken(t->ctx, &e);
}

/* With several ranks the marks of all go to the run's file, like those that commands write themselves. */
static void append_mark(void *ctx, const struct wl_mark *m)
{
    struct wl_run_command *t = ctx;
    char line[2 * WL_MARK_LINE_MAX];
    int n = snprintf(line, sizeof line, "%lld %d %s%s%s\n", (long long)m->t_ns,
                     wl_local_ranks_self(t->opts->local_ranks)->rank, wl_mark_word_name(m->word), *m->fields ? " " : "",
                     m->fields);
    int fd = open(t->marks_path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (fd < 0 || write(fd, line, (size_t)n) != n)
        wl_log(WL_WARN, "mark", "%s: cannot append: %s", t->marks_path, strerror(errno));
    if (fd >= 0) close(fd);
}

/* Regular expressions need the output: both streams of a measured command, the one log of a campaign. */
static int open_pumps(struct wl_run_command *t, struct wl_err *e)
{
    const struct wl_run_opts *opts = t->opts;
    if (!opts->regex || !wl_mark_regex_is_set(opts->regex)) return 0;
    int rc = opts->local_ranks ? wl_mark_regex_new(&t->regex, opts->regex, append_mark, t, NULL, t->a, e)
                               : wl_mark_regex_new(&t->regex, opts->regex, t->on_mark, t->ctx, NULL, t->a, e);
    t->n_pumps = opts->pass_through ? 2 : 1;
    for (size_t i = 0; i < t->n_pumps && rc == 0; i++)
        rc = wl_pump_open(&t->pumps[i], opts->pass_through ? (int)i + 1 : t->log_fd, on_line, t, t->a, e);
    return rc;
}

/* Python holds back what it prints into a pipe, and ours is in the place of a terminal or file: its lines would come
 * long after what they report. */
static void keep_python_from_buffering(const struct wl_run_command *t, struct wl_strs *env)
{
    static const char name[] = "PYTHONUNBUFFERED";
    if (t->n_pumps && !getenv(name)) wl_strs_add(t->a, env, wl_strf(t->a, "%s=1", name));
}

static int attach_job(struct wl_run_command *t, struct wl_err *e)
{
    const struct wl_job_attach spec = { .pid = t->opts->attach,
                                        .control = t->opts->control,
                                        .greeting = wl_strf(t->a, "started %s\n", t->marks_path) };
    return wl_job_attach(&t->job, &spec, t->a, e);
}

static int prepare_job(struct wl_run_command *t, struct wl_err *e)
{
    const struct wl_run_opts *opts = t->opts;
    if (opts->attach) return attach_job(t, e);
    struct wl_strs *env = wl_new(t->a, struct wl_strs);
    wl_strs_add(t->a, env, wl_strf(t->a, "WATTLAW_MARKS=%s", t->marks_path));
    wl_strs_add(t->a, env, wl_strf(t->a, "WATTLAW_RUN_DIR=%s", t->dir));
    keep_python_from_buffering(t, env);
    if (opts->local_ranks) wl_strs_add(t->a, env, wl_local_ranks_env(opts->local_ranks, t->a));
    for (size_t i = 0; opts->env && i < opts->env->n; i++) wl_strs_add(t->a, env, opts->env->v[i]);
    struct wl_job_spec *spec = wl_new(t->a, struct wl_job_spec);
    *spec = (struct wl_job_spec) { .argv = opts->argv,
                                   .env = env,
                                   .cwd = opts->cwd,
                                   .stdin_fd = opts->pass_through ? 0 : -1,
                                   .stdout_fd = t->log_fd,
                                   .stderr_fd = t->log_fd,
                                   .pass_through = opts->pass_through,
                                   .grace_s = opts->grace_s,
                                   .spared = WL_CAPS_GUARD_NAME }; /* a successor may start during the run */
    if (t->n_pumps) spec->stdout_fd = spec->stderr_fd = wl_pump_write_fd(t->pumps[0]);
    if (t->n_pumps == 2) spec->stderr_fd = wl_pump_write_fd(t->pumps[1]);
    int rc = wl_job_prepare(&t->job, spec, t->a, e);
    for (size_t i = 0; i < t->n_pumps && rc == 0; i++) wl_pump_close_write_fd(t->pumps[i]);
    return rc;
}

int wl_run_command_prepare(struct wl_run_command *t, struct wl_err *e)
{
    const struct wl_local_ranks *ranks = t->opts->local_ranks;
    t->log_fd = -1;
    t->dir = ranks ? wl_strf(t->a, "%s/rank-%d", t->opts->run_dir, wl_local_ranks_self(ranks)->rank) : t->opts->run_dir;
    t->marks_path = wl_path_join(t->a, t->opts->run_dir, "marks");
    wl_defer(t->a, close_log, t);
    int rc = open_files(t, e);
    if (rc == 0) rc = open_pumps(t, e);
    return rc ? rc : prepare_job(t, e);
}

int wl_run_command_start(struct wl_run_command *t, struct wl_err *e)
{
    int rc = wl_job_start(t->job, &t->start_ns, e);
    if (rc == 0 && t->regex) wl_mark_regex_start(t->regex, t->start_ns);
    return rc;
}

/* ---- while it runs ---- */

/* What batch systems send before a time limit, so that a training can write a checkpoint. */
static bool is_warning(int sig) { return sig == SIGUSR1 || sig == SIGUSR2; }

static void on_signals(struct wl_run_command *t)
{
    bool from_terminal;
    for (int sig; (sig = wl_signals_next(t->opts->signals, &from_terminal));) {
        if (is_warning(sig) && !t->opts->pass_through) {
            t->warned = true;
            wl_log(WL_WARN, "campaign", "the time limit is near (signal %d): the command gets the signal", sig);
            wl_job_signal(t->job, sig);
            continue;
        }
        bool second = t->stop_signal != 0;
        if (!second) t->stop_signal = sig;
        if (!t->opts->pass_through)
            wl_job_stop(t->job, second);
        else if (!from_terminal) /* a signal from the terminal has reached the command already */
            wl_job_signal(t->job, sig);
    }
}

double wl_run_command_elapsed_s(const struct wl_run_command *t)
{
    return (double)(wl_now_ns() - t->start_ns) / WL_NS_PER_S;
}

static void check_timeout(struct wl_run_command *t)
{
    if (t->timed_out || t->opts->timeout_s <= 0 || wl_run_command_elapsed_s(t) < t->opts->timeout_s) return;
    t->timed_out = true;
    wl_job_stop(t->job, false);
}

void wl_run_command_abandon(struct wl_run_command *t)
{
    t->abandoned = true;
    wl_log(WL_WARN, "campaign", "the sweep that started this run has died: the command is stopped");
    wl_job_stop(t->job, false);
}

void wl_run_command_stop(struct wl_run_command *t, enum wl_run_status as, const char *why)
{
    if (t->stopped) return;
    t->stopped = true;
    t->stopped_as = as;
    t->stopped_why = why ? wl_strdup(t->a, why) : NULL;
    wl_job_stop(t->job, false);
}

/* The job's own processes are ended as by Ctrl-C. */
static void check_asked(struct wl_run_command *t)
{
    const struct wl_run_opts *o = t->opts;
    if (!o->stop_asked || t->stopped || wl_now_ns() - t->asked_ns < WL_NS_PER_S) return;
    t->asked_ns = wl_now_ns();
    const char *why = o->stop_asked(o->stop_ctx);
    if (why) wl_run_command_stop(t, WL_RUN_FAILED, why);
}

static int poll_timeout_ms(const struct wl_run_command *t, int ms)
{
    if (t->opts->timeout_s > 0 && !t->timed_out) {
        double left_ms = (t->opts->timeout_s - wl_run_command_elapsed_s(t)) * 1e3 + 1;
        if (left_ms < ms) ms = left_ms > 0 ? (int)left_ms : 0;
    }
    return ms;
}

bool wl_run_command_wait(struct wl_run_command *t, int max_ms)
{
    bool ended = false;
    struct pollfd fds[4] = { { .fd = wl_job_fd(t->job), .events = POLLIN },
                             { .fd = t->opts->signals ? wl_signals_fd(t->opts->signals) : -1, .events = POLLIN } };
    for (size_t i = 0; i < t->n_pumps; i++) fds[2 + i] = wl_pump_pollfd(t->pumps[i]);
    if (poll(fds, (nfds_t)(2 + t->n_pumps), poll_timeout_ms(t, max_ms)) > 0) {
        if (fds[1].revents) on_signals(t);
        for (size_t i = 0; i < t->n_pumps; i++)
            if (fds[2 + i].revents) wl_pump_forward(t->pumps[i]);
        ended = fds[0].revents != 0;
    }
    check_timeout(t);
    if (!ended) check_asked(t);
    return ended;
}

/* ---- the end ---- */

static int reap(struct wl_run_command *t, struct wl_err *e)
{
    int rc = wl_job_reap(t->job, &t->end, e);
    if (rc < 0) { /* the guard was killed: the exit status is unknown */
        wl_kill_leftovers(&(struct wl_strs) { .v = (char *[]) { (char *)t->dir }, .n = 1 }, t->opts->grace_s);
        t->end = (struct wl_job_exit) { .t_ns = wl_now_ns(), .exit = { .status = 128 + SIGKILL, .signal = SIGKILL } };
    }
    return rc;
}

/* Ranks other than 0 print no steps. */
static void warn_without_steps(const struct wl_run_command *t)
{
    const struct wl_local_ranks *ranks = t->opts->local_ranks;
    const char *why = wl_mark_regex_without_steps(t->regex);
    if (why && (!ranks || wl_local_ranks_self(ranks)->rank == 0))
        wl_log(WL_WARN, "mark", "--log %s: no step was found in the output: %s", t->opts->regex->log, why);
}

/* `started`: there was a command. */
static void close_output(struct wl_run_command *t, bool started)
{
    for (size_t i = 0; i < t->n_pumps; i++) wl_pump_drain(t->pumps[i]);
    if (!t->regex) return;
    wl_mark_regex_end(t->regex, t->end.t_ns, t->end.exit.status == 0 && started);
    if (started) warn_without_steps(t);
}

static const char warned_text[] = "the command was warned of its time limit";

bool wl_run_was_warned(const char *error) { return error && wl_str_starts(error, warned_text); }

static const char *failure(const struct wl_run_command *t)
{
    const struct wl_process_result *x = &t->end.exit;
    if (*t->end.failed) return t->end.failed;
    if (t->timed_out) return wl_strf(t->a, "took longer than %g s and was stopped", t->opts->timeout_s);
    if (x->signal) return wl_strf(t->a, "ended by signal %d (%s)", x->signal, strsignal(x->signal));
    return wl_strf(t->a, "exit status %d", x->status);
}

static bool is_stop(int sig) { return sig == SIGINT || sig == SIGTERM || sig == SIGHUP || sig == SIGQUIT; }

/* DONE, or why not in *error. */
static enum wl_run_status status_of(const struct wl_run_command *t, const char **error)
{
    int status = t->end.exit.status;
    if (t->end.leftovers)
        wl_log(WL_WARN, "campaign", "%d process%s outlived the command and %s ended", t->end.leftovers,
               t->end.leftovers > 1 ? "es" : "", t->end.leftovers > 1 ? "were" : "was");
    if (t->end.stuck)
        wl_log(WL_WARN, "campaign", "%d process%s of the job did not end after SIGKILL: %s", t->end.stuck,
               t->end.stuck > 1 ? "es" : "", t->end.survivors);
    if (t->abandoned) {
        *error = "stopped: the sweep that started it has died";
        return WL_RUN_INTERRUPTED;
    }
    /* nor has one that wrote a checkpoint and exited cleanly */
    if (t->warned && !t->timed_out) {
        *error = wl_strf(t->a, "%s, and it ended (%s)", warned_text, failure(t));
        return WL_RUN_INTERRUPTED;
    }
    /* a job that exits cleanly when it is stopped has not finished its work */
    if (is_stop(t->stop_signal) && (status != 0 || !t->opts->pass_through)) {
        *error = wl_strf(t->a, "stopped by the user (signal %d, %s)", t->stop_signal, strsignal(t->stop_signal));
        return WL_RUN_INTERRUPTED;
    }
    if (t->stopped) {
        *error = t->stopped_why;
        return t->stopped_as;
    }
    *error = t->timed_out || status != 0 ? failure(t) : NULL;
    return *error ? WL_RUN_FAILED : WL_RUN_DONE;
}

/* A batch system ends all processes of a step at once: the end of the command may be seen before the signal to us. */
static void take_late_signal(struct wl_run_command *t)
{
    enum { LATE_MS = 500 };
    const struct wl_process_result *x = &t->end.exit;
    bool from_terminal;
    if (!t->opts->signals || t->stop_signal || (!is_stop(x->signal) && !is_stop(x->status - 128))) return;
    struct pollfd fd = { .fd = wl_signals_fd(t->opts->signals), .events = POLLIN };
    if (poll(&fd, 1, LATE_MS) <= 0) return;
    const int sig = wl_signals_next(t->opts->signals, &from_terminal);
    if (is_stop(sig)) t->stop_signal = sig;
}

void wl_run_command_finish(struct wl_run_command *t, struct wl_run_result *out)
{
    struct wl_err e;
    if (reap(t, &e) == 0) {
        take_late_signal(t);
        out->status = status_of(t, &out->error);
    } else {
        out->status = WL_RUN_FAILED;
        out->error = wl_strdup(t->a, e.msg);
    }
    close_output(t, true);
    out->exit = t->end.exit;
    out->stop_signal = t->stop_signal;
}

void wl_run_command_not_started(struct wl_run_command *t, const struct wl_err *e, struct wl_run_result *out)
{
    out->not_started = e->code;
    out->status = WL_RUN_FAILED;
    out->error = wl_strdup(t->a, e->msg);
    t->end.t_ns = wl_now_ns();
    close_output(t, false);
}

struct wl_strs wl_run_command_unmatched(const struct wl_run_command *t)
{
    const struct wl_strs none = { 0 };
    return t->regex && !t->opts->local_ranks ? wl_mark_regex_unmatched(t->regex, t->a) : none;
}

const char *wl_run_command_log_tail(const struct wl_run_command *t, enum wl_run_status status)
{
    return status != WL_RUN_DONE ? wl_run_command_read_log(t, t->a) : NULL;
}

const char *wl_run_command_read_log(const struct wl_run_command *t, struct wl_arena *a)
{
    return t->log_path ? wl_file_tail(t->log_path, LOG_TAIL_BYTES, a) : NULL;
}

/* A command under a guard process, its output and signals, and the end of all its processes. */
#ifndef WL_JOB_JOB_H
#define WL_JOB_JOB_H

#include "base/base.h"
#include "job/command_name.h"
#include "job/out_of_memory.h"

#include <poll.h>
#include <sys/types.h>

/* ---- signals ------------------------------------------------------------------------------------------------ */

/* Blocks SIGINT, SIGTERM and SIGHUP (all: SIGQUIT, SIGUSR1 and SIGUSR2 too) and returns them one by one, until the
 * arena is freed. Signals that were ignored when the program was started stay ignored. Call it before threads are
 * started. */
struct wl_signals;
int wl_signals_open(struct wl_signals **out, bool all, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;
int wl_signals_fd(const struct wl_signals *s); /* readable when a signal is pending */

/* The next signal, 0: none. from_terminal: the terminal sent it to the whole process group. */
int wl_signals_next(const struct wl_signals *s, bool *from_terminal);

/* ---- a command under a guard -------------------------------------------------------------------------------- */

struct wl_job_spec {
    char *const *argv;
    const struct wl_strs *env;          /* NAME=value, added to ours; NULL: none */
    const char *cwd;                    /* NULL: ours */
    int stdin_fd, stdout_fd, stderr_fd; /* as in struct wl_process_spawn */
    bool pass_through;  /* stays in our process group, so that it can read the terminal; may leave processes running */
    double grace_s;     /* between SIGTERM and SIGKILL */
    const char *spared; /* name (PR_SET_NAME) of children of ours that never belong to the job; NULL: none */
};

enum { WL_KILL_TEXT_SIZE = 600 };

struct wl_job_exit {
    struct wl_process_result exit;
    int64_t t_ns;  /* when the command ended */
    int leftovers; /* processes that outlived the command and were ended */
    int stuck;     /* processes that SIGKILL did not end in time (WL_KILL_TIMEOUT_NS); they are left running */
    char survivors[WL_KILL_TEXT_SIZE]; /* these, and why: wl_kill_describe */
    char failed[WL_KILL_TEXT_SIZE];    /* of a process that ran already: why what was measured failed; "": it did not */
};

struct wl_job;

/* Starts the guard, which waits; the process tree below wl_job_pid is the job's. `spec` must stay valid until
 * wl_job_start returns. A job that still runs is ended when the arena is freed or this process dies, however it dies.
 */
int wl_job_prepare(struct wl_job **out, const struct wl_job_spec *spec, struct wl_arena *a,
                   struct wl_err *e) WL_MUST_CHECK;
pid_t wl_job_pid(const struct wl_job *job);

/* Starts the command. WL_ENOENT, WL_EPERM as wl_process_spawn. */
int wl_job_start(struct wl_job *job, int64_t *started_ns, struct wl_err *e) WL_MUST_CHECK;

/* In the place of a command a process that runs already, and that is not ours: neither it nor its children get any
 * signal, and they may live on. wl_job_start only begins, wl_job_stop and wl_job_signal only end the measuring. */
struct wl_job_attach {
    pid_t pid;
    int control; /* a socket to the program that asked, which ends the measured part by the line "end", or "failed WHY";
                  * its end, or that of the process, without such a line is a failure. -1: the process is measured until
                  * it ends or we are stopped */
    const char *greeting; /* sent to it by wl_job_start */
};
int wl_job_attach(struct wl_job **out, const struct wl_job_attach *spec, struct wl_arena *a,
                  struct wl_err *e) WL_MUST_CHECK;

/* Readable when the command and everything that it started has ended: then call wl_job_reap, once. WL_EJOB: the guard
 * was killed, so the command's exit status is unknown; what was left of the job has been ended here. */
int wl_job_fd(const struct wl_job *job);
int wl_job_reap(struct wl_job *job, struct wl_job_exit *out, struct wl_err *e) WL_MUST_CHECK;

void wl_job_signal(struct wl_job *job, int sig); /* to the command itself */
void wl_job_stop(struct wl_job *job, bool now);  /* SIGTERM to all, SIGKILL after the grace time, or at once */

/* ---- the job's output through us ---------------------------------------------------------------------------- */

struct wl_pump;
typedef void wl_pump_line(void *ctx, int64_t t_ns, const char *line, size_t n);

/* A pipe whose bytes are forwarded to `to` unchanged; on_line gets each line without its end (at most 64 KiB of it). */
int wl_pump_open(struct wl_pump **out, int to, wl_pump_line *on_line, void *ctx, struct wl_arena *a,
                 struct wl_err *e) WL_MUST_CHECK;
int wl_pump_write_fd(const struct wl_pump *p); /* the job's end, until wl_pump_close_write_fd */
void wl_pump_close_write_fd(struct wl_pump *p);
struct pollfd wl_pump_pollfd(const struct wl_pump *p); /* fd -1: the output has ended */
void wl_pump_forward(struct wl_pump *p);               /* when poll(2) says so */
void wl_pump_drain(struct wl_pump *p);                 /* the job has ended: forward what is still in the pipe */

/* ---- processes that dead jobs left -------------------------------------------------------------------------- */

/* The cgroup below which each job gets its own, so that no process outlives wattlaw; NULL: there is none that we may
 * use, and *why says why. */
const char *wl_cgroup_parent(const char **why, struct wl_arena *a);

/* Ends the processes in the cgroups of jobs whose wattlaw and guard are both dead, and removes these cgroups. Returns
 * how many processes there were. */
int wl_cgroup_kill_stale(double grace_s);

/* Ends the processes that have one of these run folders in their environment (WATTLAW_RUN_DIR), left by a job whose
 * guard was killed too. SIGTERM, then SIGKILL after the grace time; what has not ended WL_KILL_TIMEOUT_NS later is
 * logged and left. Returns how many there were. */
int wl_kill_leftovers(const struct wl_strs *run_dirs, double grace_s);

#endif

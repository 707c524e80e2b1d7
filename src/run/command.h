/* The command of a run while it runs. */
#ifndef WL_RUN_COMMAND_H
#define WL_RUN_COMMAND_H

#include "run/run.h"

struct wl_run_command {
    const struct wl_run_opts *opts;
    struct wl_arena *a;
    wl_mark_sink *on_mark; /* marks made from the output, and lines that cannot be parsed */
    void (*on_broken)(void *ctx, const struct wl_err *why);
    void *ctx;
    struct wl_job *job;                /* from wl_run_command_prepare on */
    const char *dir;                   /* in the environment of its processes: for a rank, a folder below the run's */
    const char *marks_path, *log_path; /* log_path NULL: the output passes through */
    int64_t start_ns;
    struct wl_job_exit end;
    int stop_signal; /* the first that came; 0: none */
    bool timed_out, abandoned;
    bool warned;      /* its time limit was announced to it */
    int64_t asked_ns; /* when stop_asked was asked last */
    bool stopped;     /* by our own decision */
    enum wl_run_status stopped_as;
    const char *stopped_why; /* NULL: it has done its work */
    /* private */
    int log_fd;
    struct wl_pump *pumps[2];
    size_t n_pumps;
    struct wl_mark_regex *regex;
};

/* `opts` to `ctx` are set: makes the run's folder, starts the guard. Then the command, codes of wl_job_start. */
int wl_run_command_prepare(struct wl_run_command *t, struct wl_err *e) WL_MUST_CHECK;
int wl_run_command_start(struct wl_run_command *t, struct wl_err *e) WL_MUST_CHECK;

/* Waits for the next event, at most max_ms, and handles it; true: the command has ended. After its end only signals are
 * waited for. */
bool wl_run_command_wait(struct wl_run_command *t, int max_ms);
double wl_run_command_elapsed_s(const struct wl_run_command *t);

/* The sweep that started it has died: the command is stopped. */
void wl_run_command_abandon(struct wl_run_command *t);

/* Our own decision, see wl_run_stop: the command is stopped. */
void wl_run_command_stop(struct wl_run_command *t, enum wl_run_status as, const char *why);

/* The end of its log; NULL: there is none. */
const char *wl_run_command_read_log(const struct wl_run_command *t, struct wl_arena *a);

/* The command has ended: fills in t->end and the status, error and exit of the run, and forwards the rest of the
 * output. If the guard was killed, what was left of the command is ended here. */
void wl_run_command_finish(struct wl_run_command *t, struct wl_run_result *out);

/* The same for a command that could not be started, with this error. */
void wl_run_command_not_started(struct wl_run_command *t, const struct wl_err *e, struct wl_run_result *out);

/* Expressions over the output that no line has matched (wl_mark_regex_unmatched). With several ranks nothing is said:
 * one of them prints. */
struct wl_strs wl_run_command_unmatched(const struct wl_run_command *t);

/* The end of the log of a run with this status; NULL: it is done, or has no log. */
const char *wl_run_command_log_tail(const struct wl_run_command *t, enum wl_run_status status);

#endif

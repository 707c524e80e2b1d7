/* Child processes: command, environment, output files and process group. */
#ifndef WL_BASE_PROCESS_H
#define WL_BASE_PROCESS_H

#include "base/str.h"

#include <sys/resource.h>
#include <sys/types.h>

struct wl_process_spawn {
    char *const *argv;         /* argv[0] is looked up in PATH */
    const struct wl_strs *env; /* "NAME=value" added to ours; NULL: none */
    const char *dir;           /* working directory, NULL: ours */
    int stdin_fd;              /* -1: /dev/null; 0: ours */
    int stdout_fd, stderr_fd;  /* -1: ours */
    bool own_group;            /* own process group, so that the whole tree can be signalled */
    bool die_with_parent;      /* SIGTERM when this process dies (PR_SET_PDEATHSIG) */
    int cgroup_fd;             /* cgroup.procs of a cgroup to join, if permitted; 0: none */
};

/* Starts the child. A command that cannot be executed is reported here (not as exit status 127): WL_ENOENT or
 * WL_EPERM with the command's name. */
int wl_process_spawn(const struct wl_process_spawn *spawn, pid_t *pid, struct wl_err *e) WL_MUST_CHECK;

/* How a child ended. */
struct wl_process_result {
    int status;         /* exit status, or 128 + signal */
    int signal;         /* 0: it exited by itself */
    struct rusage used; /* of the child and the descendants it waited for */
};

/* Waits for the end. `block` false: returns 0 with *done false while it runs. Retries EINTR. */
int wl_process_wait(pid_t pid, bool block, bool *done, struct wl_process_result *out, struct wl_err *e) WL_MUST_CHECK;

struct wl_process_run {
    char *const *argv;
    size_t max;        /* bytes of output to collect; the rest is read and dropped */
    bool merge_stderr; /* stderr is collected too; false: it goes to ours */
    double timeout_s;  /* 0: none. With one, the command has a process group of its own */
    const char *until; /* with a timeout: text of the output at which it is killed; NULL: none */
};

/* Runs a command to its end and collects its stdout; `text` may be NULL. WL_EIO: timed out and killed with its group;
 * WL_EINTR: killed at its `until`; WL_EHUNG: could not be killed. */
int wl_process_run(const struct wl_process_run *run, char **text, struct wl_process_result *out, struct wl_arena *a,
                   struct wl_err *e) WL_MUST_CHECK;

/* The path at which execvp finds the program: a name with a slash itself, else the first executable file of that name
 * in PATH; NULL: not found. */
char *wl_process_find_program(const char *name, struct wl_arena *a);

/* A command line for sh: words are quoted where needed. */
char *wl_shell_quote(struct wl_arena *a, char *const *argv);

/* Splits a command line into words like sh: blanks, '...', "...", backslash. No expansion. */
int wl_shell_split(const char *text, struct wl_strs *out, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

#endif

/* The guard: a process of its own session that outlives us for as long as it takes to put caps back. It is a fresh
 * wattlaw (`wattlaw restore --guard JOURNAL`), not a fork that goes on: a driver library must not be used across fork.
 *
 *     wattlaw --- pipe --- guard            a byte: dismissed; the pipe closes: wattlaw is dead
 */
#include "cap/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const char READY = 'r', DISMISSED = 'd';

/* A driver may refuse for a moment. */
enum { TRIES = 5, TRY_AGAIN_US = 200000 };

/* ---- our side ---- */

static ssize_t read_byte(int fd, char *c)
{
    ssize_t n;
    while ((n = read(fd, c, 1)) < 0 && errno == EINTR) {
    }
    return n;
}

static void wait_for(struct wl_guard *g)
{
    while (g->pid > 0 && waitpid(g->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    g->pid = 0;
}

int wl_guard_start(struct wl_guard *g, const char *program, const char *journal, struct wl_arena *a, struct wl_err *e)
{
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC)) return wl_fail_errno(e, "cannot start the guard of caps: pipe");
    if (pipe2(from, O_CLOEXEC)) {
        close(to[0]);
        close(to[1]);
        return wl_fail_errno(e, "cannot start the guard of caps: pipe");
    }
    char *argv[] = { wl_strdup(a, program ? program : "/proc/self/exe"), (char *)"restore", (char *)"--guard",
                     wl_strdup(a, journal), NULL };
    struct wl_spawn how = { .argv = argv, .stdin_fd = to[0], .stdout_fd = from[1], .stderr_fd = -1 };
    int rc = wl_spawn(&how, &g->pid, e);
    close(to[0]);
    close(from[1]);
    char c = 0;
    if (rc == 0 && (read_byte(from[0], &c) != 1 || c != READY))
        rc = wl_fail(e, WL_EIO, "the guard of caps ended before it was ready");
    close(from[0]);
    g->pipe = to[1];
    if (rc == 0) return 0;
    close(to[1]);
    wait_for(g);
    return rc;
}

bool wl_guard_lives(struct wl_guard *g)
{
    if (g->pid == 0) return false;
    if (waitpid(g->pid, NULL, WNOHANG) == 0) return true;
    close(g->pipe);
    g->pid = 0;
    return false;
}

void wl_guard_dismiss(struct wl_guard *g)
{
    if (g->pid == 0) return;
    sigset_t pipe_signal, before;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE); /* the guard may be dead: our write must not end us */
    sigprocmask(SIG_BLOCK, &pipe_signal, &before);
    ssize_t put = write(g->pipe, &DISMISSED, 1);
    if (put < 0 && errno == EPIPE) sigtimedwait(&pipe_signal, NULL, &(struct timespec) { 0 });
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(g->pipe);
    wait_for(g);
}

void wl_guard_leave(struct wl_guard *g) { *g = (struct wl_guard) { 0 }; }

/* ---- the guard's side ---- */

/* Nothing but SIGKILL ends a guard: neither the terminal's Ctrl-C, nor the end of a session or batch step. */
static void become_unreachable(void)
{
    setsid();
    for (int sig = 1; sig < NSIG; sig++)
        if (sig != SIGCHLD) signal(sig, SIG_IGN); /* those of faults are ours alone and stay fatal */
    static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
    for (size_t i = 0; i < WL_COUNT(faults); i++) signal(faults[i], SIG_DFL);
    prctl(PR_SET_NAME, WL_CAPS_GUARD_NAME);
    close_range(3, ~0u, 0);
    if (chdir("/")) return; /* it only keeps a folder busy */
}

/* A journal that is gone was dealt with by our parent at its last moment, or by `wattlaw restore`. */
static int restore_now(const char *path, struct wl_arena *a, struct wl_err *e)
{
    struct wl_journal j;
    struct wl_lefts rows = { 0 };
    int lock = wl_state_lock(wl_path_dir(a, path), e);
    if (lock < 0) return lock;
    int rc = 0;
    if (wl_is_file(path)) {
        rc = wl_journal_read(path, &j, a, e);
        if (rc == 0) rc = wl_journal_restore(&j, false, false, false, &rows, a, e);
    }
    close(lock);
    return rc;
}

int wl_cap_guard(const char *journal, struct wl_err *e)
{
    char c;
    become_unreachable();
    if (write(STDOUT_FILENO, &READY, 1) != 1) return wl_fail_errno(e, "guard of caps");
    close(STDOUT_FILENO);
    if (read_byte(STDIN_FILENO, &c) == 1) return 0;
    int rc = 0;
    for (int i = 0; i < TRIES; i++) {
        struct wl_arena *a = wl_arena_new(NULL);
        if (i > 0) usleep(TRY_AGAIN_US);
        rc = restore_now(journal, a, e);
        wl_arena_free(a);
        if (rc == 0 || rc == WL_EHUNG) break; /* to wait for a driver again would keep others from the lock */
    }
    return rc;
}

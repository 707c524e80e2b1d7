/* The guard: a process in a session of its own that outlives us for as long as it takes to restore caps. It is a new
 * wattlaw (`wattlaw restore --guard JOURNAL`), not a plain fork: a driver library must not be used across fork.
 *
 *     wattlaw --- pipe --- guard            a byte: dismissed; the pipe closes: wattlaw is dead
 */
#include "cap/guard.h"

#include "cap/control.h"
#include "cap/restore.h"
#include "cap/safe_file.h"
#include "cap/state_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char READY = 'r', DISMISSED = 'd';

/* A driver may fail for a moment. */
enum { TRIES = 5, RETRY_US = 200000 };

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
    struct wl_process_spawn spawn = { .argv = argv, .stdin_fd = to[0], .stdout_fd = from[1], .stderr_fd = -1 };
    int rc = wl_process_spawn(&spawn, &g->pid, e);
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

bool wl_guard_is_alive(struct wl_guard *g)
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

void wl_guard_detach(struct wl_guard *g) { *g = (struct wl_guard) { 0 }; }

/* ---- the guard's side ---- */

/* Nothing but SIGKILL ends a guard: neither the terminal's Ctrl-C, nor the end of a session or batch step. */
static void detach_and_ignore_signals(void)
{
    setsid();
    for (int sig = 1; sig < NSIG; sig++)
        if (sig != SIGCHLD) signal(sig, SIG_IGN); /* those of faults stay fatal */
    static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
    for (size_t i = 0; i < WL_COUNT(faults); i++) signal(faults[i], SIG_DFL);
    prctl(PR_SET_NAME, WL_CAPS_GUARD_NAME);
    close_range(3, ~0u, 0);
    if (chdir("/")) return; /* only avoids keeping a folder busy */
}

/* What the guard remembers from its start. */
struct watched {
    const char *path, *dir; /* of the journal and its state folder */
    int fd;                 /* of the journal at the start */
    struct wl_journal j;
};

static int open_journal(const char *path, struct watched *w, struct wl_arena *a, struct wl_err *e)
{
    struct stat st;
    *w = (struct watched) { .path = path, .dir = wl_path_dir(a, wl_path_dir(a, path)) };
    int rc = wl_journal_read(path, &w->j, a, e);
    if (rc < 0) return rc;
    if (!w->j.trusted)
        return wl_fail(e, WL_EPERM,
                       "%s: belongs to user %u, or another user can replace it: the guard would set values of that "
                       "user's choice",
                       wl_printable_ascii(path, a), (unsigned)w->j.owner);
    w->fd = wl_safe_file_open(path, O_RDONLY, &st, e);
    return w->fd < 0 ? w->fd : 0;
}

static bool is_same(const struct wl_journal *x, const struct wl_journal *y)
{
    return x->trusted && x->owner == y->owner && x->holder.pid == y->holder.pid &&
           x->holder.started == y->holder.started;
}

/* What to restore: the journal as it is on disk now; NULL if our parent or `wattlaw restore` has finished and truncated
 * it; if somebody removed or damaged it, as we remember it. */
static const struct wl_journal *pending_journal(const struct watched *w, struct wl_journal *now, struct wl_arena *a)
{
    struct stat st;
    struct wl_err none;
    if (wl_journal_read(w->path, now, a, &none) == 0 && is_same(now, &w->j)) return now;
    bool finished = fstat(w->fd, &st) == 0 && st.st_size == 0;
    return finished ? NULL : &w->j;
}

/* Without the state folder there is nothing to lock and there are no other journals. A lock that another process does
 * not release must not keep caps in place. */
static int restore_now(const struct watched *w, struct wl_arena *a, struct wl_err *e)
{
    struct wl_journal now;
    struct wl_claims all, none = { 0 };
    struct wl_restore_results rows = { 0 };
    struct wl_err why;
    int lock = wl_cap_state_lock(w->dir, wl_cap_wait_s(&w->j.opts), &why);
    bool seen = wl_claims_load(w->dir, w->j.opts.client, &all, a, &why) == 0;
    const struct wl_journal *j = pending_journal(w, &now, a);
    struct wl_restore_options opts = { .opts = &w->j.opts, .power = &w->j.power };
    int rc = j ? wl_journal_restore(j, seen ? &all : &none, &opts, false, &rows, a, e) : 0;
    if (lock >= 0) close(lock);
    return rc;
}

int wl_cap_guard(const char *journal, struct wl_err *e)
{
    char c;
    struct watched w;
    struct wl_arena *a = wl_arena_new(NULL);
    detach_and_ignore_signals();
    int rc = open_journal(journal, &w, a, e);
    /* Nobody reads this if our parent has died since it started us; caps of the guard before us may be set. */
    bool said = rc == 0 && write(STDOUT_FILENO, &READY, 1) == 1;
    close(STDOUT_FILENO);
    bool alone = rc == 0 && !(said && read_byte(STDIN_FILENO, &c) == 1);
    for (int i = 0; i < TRIES && alone; i++) {
        struct wl_arena *one = wl_arena_new(NULL);
        if (i > 0) usleep(RETRY_US);
        rc = restore_now(&w, one, e);
        wl_arena_free(one);
        if (rc == 0 || rc == WL_EHUNG) break; /* waiting for the driver again would keep others from the lock */
    }
    wl_arena_free(a);
    return rc;
}

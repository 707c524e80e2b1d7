#include "base/process.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Our environment with the additions in front; entries they override are left out. */
static char **merged_env(const struct wl_strs *add, struct wl_arena *a)
{
    size_t n = 0;
    while (environ[n]) n++;
    size_t more = add ? add->n : 0, k = 0;
    char **env = wl_new_array(a, char *, n + more + 1);
    for (size_t i = 0; i < more; i++) env[k++] = add->v[i];
    for (size_t i = 0; i < n; i++) {
        size_t len = strcspn(environ[i], "=") + 1;
        bool replaced = false;
        for (size_t j = 0; j < more; j++) replaced |= strncmp(environ[i], add->v[j], len) == 0;
        if (!replaced) env[k++] = environ[i];
    }
    return env;
}

/* What the child reports over the pipe if it could not exec the command. */
struct failure {
    int en;
    bool in_dir; /* chdir failed, not exec */
};

static _Noreturn void child(const struct wl_process_spawn *spawn, char **env, int report, pid_t parent)
{
    struct failure f = { 0 };
    if (spawn->own_group) setpgid(0, 0);
    if (spawn->die_with_parent) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent) _exit(127); /* the parent died before the line above */
    }
    if (spawn->cgroup_fd > 0 && write(spawn->cgroup_fd, "0", 1) < 0) {
        /* it stays where it is */
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    /* Signals ignored by our caller (nohup) stay ignored. */
    int in = spawn->stdin_fd < 0 ? open("/dev/null", O_RDONLY) : spawn->stdin_fd;
    bool ok = in == 0 || dup2(in, 0) == 0;
    if (spawn->stdin_fd < 0 && in > 0) close(in);
    ok = ok && (spawn->stdout_fd < 0 || dup2(spawn->stdout_fd, 1) == 1);
    ok = ok && (spawn->stderr_fd < 0 || dup2(spawn->stderr_fd, 2) == 2);
    if (ok && spawn->dir && chdir(spawn->dir)) ok = false, f.in_dir = true;
    if (ok) {
        environ = env;
        execvp(spawn->argv[0], spawn->argv);
    }
    f.en = errno;
    ssize_t put = write(report, &f, sizeof f);
    (void)put;
    _exit(127);
}

int wl_process_spawn(const struct wl_process_spawn *spawn, pid_t *pid, struct wl_err *e)
{
    /* The pipe closes on exec; data in it is the reason why exec failed. */
    int report[2];
    if (pipe2(report, O_CLOEXEC)) return wl_fail_errno(e, "%s: cannot start: pipe", spawn->argv[0]);
    struct wl_arena *a = wl_arena_new(NULL);
    char **env = merged_env(spawn->env, a);
    pid_t parent = getpid();
    pid_t p = fork();
    if (p == 0) child(spawn, env, report[1], parent);
    int en = errno;
    wl_arena_free(a);
    close(report[1]);
    if (p < 0) {
        close(report[0]);
        errno = en;
        return wl_fail_errno(e, "%s: cannot start: fork", spawn->argv[0]);
    }
    if (spawn->own_group) setpgid(p, p); /* in parent and child, whichever is first */
    struct failure f = { 0 };
    ssize_t n;
    while ((n = read(report[0], &f, sizeof f)) < 0 && errno == EINTR) {
    }
    close(report[0]);
    if (n != (ssize_t)sizeof f) {
        *pid = p;
        return 0;
    }
    while (waitpid(p, NULL, 0) < 0 && errno == EINTR) {
    }
    errno = f.en;
    if (f.in_dir) return wl_fail_errno(e, "%s: cannot enter the working directory", spawn->dir);
    if (f.en == ENOENT) return wl_fail(e, WL_ENOENT, "%s: command not found", spawn->argv[0]);
    return wl_fail_errno(e, "%s: cannot be executed", spawn->argv[0]);
}

int wl_process_wait(pid_t pid, bool block, bool *done, struct wl_process_result *out, struct wl_err *e)
{
    int status;
    pid_t got;
    *out = (struct wl_process_result) { 0 };
    while ((got = wait4(pid, &status, block ? 0 : WNOHANG, &out->used)) < 0 && errno == EINTR) {
    }
    if (got < 0) return wl_fail_errno(e, "waiting for process %ld", (long)pid);
    *done = got == pid;
    if (!*done) return 0;
    out->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    out->status = out->signal ? 128 + out->signal : WEXITSTATUS(status);
    return 0;
}

/* A command whose output comes through a pipe. */
static int start_piped(const struct wl_process_run *run, pid_t *pid, int *fd, struct wl_err *e)
{
    int fds[2];
    *fd = -1; /* gcc sees a way past the return */
    if (pipe2(fds, O_CLOEXEC)) return wl_fail_errno(e, "%s: cannot start: pipe", run->argv[0]);
    const struct wl_process_spawn spawn = { .argv = run->argv,
                                            .stdin_fd = -1,
                                            .stdout_fd = fds[1],
                                            .stderr_fd = run->merge_stderr ? fds[1] : -1,
                                            .own_group = run->timeout_s > 0 };
    int rc = wl_process_spawn(&spawn, pid, e);
    close(fds[1]);
    if (rc) close(fds[0]);
    *fd = fds[0];
    return rc;
}

enum { FOREVER = -1 };

static int ms_until(int64_t deadline_ns)
{
    int64_t left_ns = deadline_ns - wl_now_ns();
    return left_ns > 0 ? (int)(left_ns / (WL_NS_PER_S / 1000)) + 1 : 0;
}

/* Reads to the end of the file, the deadline (0: none) or the text `until`, true; keeps at most `max` bytes. */
static bool read_output(int fd, int64_t deadline_ns, const struct wl_process_run *run, struct wl_text *to)
{
    char buf[4096];
    for (;;) {
        struct pollfd coming = { .fd = fd, .events = POLLIN };
        int ready = poll(&coming, 1, deadline_ns ? ms_until(deadline_ns) : FOREVER);
        if (ready == 0) return false;
        ssize_t n = ready < 0 ? -1 : read(fd, buf, sizeof buf);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        size_t room = to->n < run->max ? run->max - to->n : 0;
        wl_text_addn(to, buf, (size_t)n < room ? (size_t)n : room);
        if (run->until && strstr(to->s, run->until)) return true;
    }
}

static bool ends_until(pid_t pid, int64_t deadline_ns, struct wl_process_result *out)
{
    enum { POLL_US = 2000 };
    struct wl_err e;
    bool done = false;
    while (wl_process_wait(pid, false, &done, out, &e) == 0 && !done && wl_now_ns() < deadline_ns) usleep(POLL_US);
    return done;
}

static int wait_or_kill(const struct wl_process_run *run, pid_t pid, int64_t deadline_ns, struct wl_process_result *out,
                        struct wl_err *e)
{
    if (ends_until(pid, deadline_ns, out)) return 0;
    kill(-pid, SIGTERM);
    bool gone = ends_until(pid, wl_now_ns() + WL_NS_PER_S, out);
    kill(-pid, SIGKILL); /* with its children */
    if (!gone && !ends_until(pid, wl_now_ns() + WL_NS_PER_S, out))
        return wl_fail(e, WL_EHUNG, "%s: takes longer than %g s and cannot be killed", run->argv[0], run->timeout_s);
    return wl_fail(e, WL_EIO, "%s: took longer than %g s and was killed", run->argv[0], run->timeout_s);
}

int wl_process_run(const struct wl_process_run *run, char **text, struct wl_process_result *out, struct wl_arena *a,
                   struct wl_err *e)
{
    pid_t pid;
    int fd = -1;
    bool done;
    const bool limited = run->timeout_s > 0;
    const int64_t deadline_ns = limited ? wl_now_ns() + (int64_t)(run->timeout_s * WL_NS_PER_S) : 0;
    struct wl_text t = WL_TEXT(a);
    int rc = start_piped(run, &pid, &fd, e);
    if (rc < 0) return rc;
    const bool seen = read_output(fd, deadline_ns, run, &t);
    close(fd);
    if (text) *text = t.s;
    if (seen) {
        rc = wait_or_kill(run, pid, wl_now_ns(), out, e);
        return rc == WL_EHUNG ? rc : wl_fail(e, WL_EINTR, "%s: was killed when it said '%s'", run->argv[0], run->until);
    }
    return limited ? wait_or_kill(run, pid, deadline_ns, out, e) : wl_process_wait(pid, true, &done, out, e);
}

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *wl_process_find_program(const char *name, struct wl_arena *a)
{
    if (strchr(name, '/')) return is_program(name) ? wl_strdup(a, name) : NULL;
    const char *path = getenv("PATH");
    for (const char *s = path ? path : "/usr/local/bin:/usr/bin:/bin";; s++) {
        size_t n = strcspn(s, ":");
        char *full = n ? wl_strf(a, "%.*s/%s", (int)n, s, name) : wl_strdup(a, name);
        if (is_program(full)) return full;
        s += n;
        if (!*s) return NULL;
    }
}

char *wl_shell_quote(struct wl_arena *a, char *const *argv)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
    struct wl_text t = WL_TEXT(a);
    for (; *argv; argv++) {
        const char *s = *argv;
        if (t.n) wl_text_add(&t, " ");
        if (*s && strspn(s, plain) == strlen(s)) {
            wl_text_add(&t, s);
            continue;
        }
        wl_text_add(&t, "'");
        for (; *s; s++) {
            if (*s == '\'')
                wl_text_add(&t, "'\\''");
            else
                wl_text_addn(&t, s, 1);
        }
        wl_text_add(&t, "'");
    }
    return t.s;
}

int wl_shell_split(const char *text, struct wl_strs *out, struct wl_arena *a, struct wl_err *e)
{
    *out = (struct wl_strs) { 0 };
    struct wl_text word = WL_TEXT(a);
    bool in_word = false;
    char quote = 0;
    for (const char *s = text; *s; s++) {
        if (quote) {
            if (*s == quote)
                quote = 0;
            else if (*s == '\\' && quote == '"' && (s[1] == '"' || s[1] == '\\'))
                wl_text_addn(&word, ++s, 1);
            else
                wl_text_addn(&word, s, 1);
        } else if (*s == '\'' || *s == '"') {
            quote = *s;
            in_word = true;
        } else if (*s == '\\') {
            if (!s[1]) return wl_fail(e, WL_EINVAL, "%s: backslash at the end", text);
            wl_text_addn(&word, ++s, 1);
            in_word = true;
        } else if (*s == ' ' || *s == '\t' || *s == '\n') {
            if (in_word) wl_strs_add(a, out, word.s);
            word = WL_TEXT(a);
            in_word = false;
        } else {
            wl_text_addn(&word, s, 1);
            in_word = true;
        }
    }
    if (quote) return wl_fail(e, WL_EINVAL, "%s: unterminated quote %c", text, quote);
    if (in_word) wl_strs_add(a, out, word.s);
    return 0;
}

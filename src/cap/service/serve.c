/* The process that listens: it admits clients and starts a process for each. It opens no driver and reads nothing that
 * a client sends. */
#include "cap/service.h"
#include "cap/service/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SESSIONS_MAX = 64, /* of all users */
    OTHERS_MAX = 8,    /* processes that turn clients away, or restore */
    GROUPS_MAX = 4096,
    RETRY_MS = 100, /* where the system has no process or descriptor left */
};

struct child {
    pid_t pid; /* 0: free */
    bool is_session;
    uid_t user; /* of a session */
};

struct server {
    struct wl_service_policy policy;
    gid_t group;
    const struct wl_cap_opts *opts;
    const struct wl_power_opts *power;
    int fd, signal_fd;
    int waiting; /* a client that has been accepted and has no process yet; -1: none */
    bool warned; /* that it waits */
    struct child v[SESSIONS_MAX + OTHERS_MAX];
    size_t n;
    bool stopping;
};

/* ---- privileges ---- */

/* Being root without any capability suffices for files of /sys; NVIDIA's driver lets only CAP_SYS_ADMIN set limits
 * (os_is_administrator in its source). No program that is started from here gains more. */
static int drop_privileges(bool gpus, struct wl_err *e)
{
    struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct now[2] = { { 0 } }, kept[2] = { { 0 } };
    if (syscall(SYS_capget, &head, now)) return wl_fail_errno(e, "cannot read the capabilities of this process");
    uint32_t bit = gpus ? 1u << CAP_SYS_ADMIN : 0;
    kept[0].effective = kept[0].permitted = now[0].permitted & bit;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_capset, &head, kept))
        return wl_fail_errno(e, "cannot drop the capabilities of this process");
    return 0;
}

/* ---- clients ---- */

/* Is the client root, or was it in the group when it connected? By the kernel's record of the socket, not by the
 * client's pid, which may be another process's by now. */
static bool is_member(const struct server *s, int fd, const struct ucred *peer)
{
    static gid_t groups[GROUPS_MAX];
    socklen_t n = sizeof groups;
    if (peer->uid == 0 || peer->gid == s->group) return true;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &n)) return false;
    for (size_t i = 0; i < n / sizeof *groups; i++)
        if (groups[i] == s->group) return true;
    return false;
}

static size_t count_sessions(const struct server *s)
{
    size_t n = 0;
    for (size_t i = 0; i < WL_COUNT(s->v); i++) n += s->v[i].pid != 0 && s->v[i].is_session;
    return n;
}

static size_t sessions_of(const struct server *s, uid_t user)
{
    size_t n = 0;
    for (size_t i = 0; i < WL_COUNT(s->v); i++) n += s->v[i].pid != 0 && s->v[i].is_session && s->v[i].user == user;
    return n;
}

static int admit(const struct server *s, int fd, struct ucred *peer, struct wl_err *e)
{
    socklen_t n = sizeof *peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, peer, &n)) return wl_fail_errno(e, "cap service: no credentials");
    if (!is_member(s, fd, peer))
        return wl_fail(e, WL_EPERM, "user %u is not in the group %s, which may set caps here", (unsigned)peer->uid,
                       s->policy.group);
    if (sessions_of(s, peer->uid) >= (size_t)s->policy.sessions)
        return wl_fail(e, WL_EPERM, "user %u has %lld connections to the cap service, the maximum of one user",
                       (unsigned)peer->uid, (long long)s->policy.sessions);
    size_t sessions = count_sessions(s);
    return sessions < SESSIONS_MAX ? 0
                                   : wl_fail(e, WL_EUNAVAIL, "the cap service has %zu clients, its maximum", sessions);
}

/* ---- processes ---- */

static struct child *free_child(struct server *s)
{
    for (size_t i = 0; i < WL_COUNT(s->v); i++)
        if (s->v[i].pid == 0) return &s->v[i];
    return NULL;
}

/* A child with the connection (-1: none), which this process closes. It starts only then: whoever closes a connection
 * last also closes the descriptors that the client has passed and nobody has read, which takes as long as the client
 * likes (a TCP socket with SO_LINGER), except in a process that exits. */
static pid_t fork_child(const struct server *s, int fd)
{
    int gate[2];
    char none;
    if (pipe2(gate, O_CLOEXEC)) return -1;
    pid_t pid = fork();
    if (pid == 0) {
        close(gate[1]);
        while (read(gate[0], &none, 1) < 0 && errno == EINTR) {
        }
        close(s->fd);
        close(s->signal_fd);
    } else if (pid > 0 && fd >= 0) {
        close(fd);
    }
    close(gate[0]);
    if (pid != 0) close(gate[1]);
    return pid;
}

/* A session gets SIGTERM when the service dies. */
static void serve_client(const struct server *s, const struct ucred *peer, pid_t parent)
{
    struct wl_service_session session = {
        .policy = &s->policy, .opts = s->opts, .power = s->power, .fd = s->waiting, .peer = *peer
    };
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTERM);
    sigaddset(&stop, SIGINT);
    session.stop_fd = signalfd(-1, &stop, SFD_CLOEXEC);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (session.stop_fd >= 0 && getppid() == parent) wl_service_session_run(&session);
}

/* The client keeps waiting as long as there is no process for it. */
static void start_client(struct server *s)
{
    struct ucred peer = { 0 };
    struct wl_err e;
    struct child *c = free_child(s);
    int rc = admit(s, s->waiting, &peer, &e);
    pid_t self = getpid(), pid = c ? fork_child(s, s->waiting) : -1;
    if (pid == 0) {
        if (rc == 0)
            serve_client(s, &peer, self);
        else
            wl_service_turn_away(s->waiting, &e);
        _exit(0);
    }
    if (pid < 0 && !s->warned) wl_log(WL_WARN, "caps", "a client has to wait: there is no process for it");
    s->warned = pid < 0;
    if (pid < 0) return;
    if (rc < 0) wl_log(WL_INFO, "caps", "refused: %s", e.msg);
    *c = (struct child) { .pid = pid, .is_session = rc == 0, .user = peer.uid };
    s->n++;
    s->waiting = -1;
}

static void collect_children(struct server *s)
{
    pid_t pid;
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
        for (size_t i = 0; i < WL_COUNT(s->v); i++)
            if (s->v[i].pid == pid) {
                s->v[i].pid = 0;
                s->n--;
            }
}

/* A failed accept() leaves the client in the queue, and the socket readable. */
static void accept_one(struct server *s)
{
    s->waiting = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (s->waiting < 0 && errno != EAGAIN) usleep(RETRY_MS * 1000);
}

static void stop_sessions(struct server *s)
{
    s->stopping = true;
    for (size_t i = 0; i < WL_COUNT(s->v); i++)
        if (s->v[i].pid && s->v[i].is_session) kill(s->v[i].pid, SIGTERM);
}

static void read_signal(struct server *s)
{
    struct signalfd_siginfo info;
    if (read(s->signal_fd, &info, sizeof info) == sizeof info && info.ssi_signo != SIGCHLD) stop_sessions(s);
}

/* Until it is asked to stop, and all children have ended; or until it has been idle for so long. Children are collected
 * each time: one that has ended is no longer counted, although its signal was not read yet. */
static void loop(struct server *s, double idle_s)
{
    while (!s->stopping || s->n > 0) {
        bool accepts = !s->stopping && s->waiting < 0, idle = s->n == 0 && accepts;
        struct pollfd fds[] = { { .fd = s->signal_fd, .events = POLLIN },
                                { .fd = accepts ? s->fd : -1, .events = POLLIN } };
        int n = poll(fds, WL_COUNT(fds), s->waiting >= 0 ? RETRY_MS : idle && idle_s > 0 ? (int)(idle_s * 1000) : -1);
        if (n < 0) continue; /* EINTR */
        if (n == 0 && idle) return;
        if (fds[0].revents) read_signal(s);
        if (fds[1].revents) accept_one(s);
        collect_children(s);
        if (s->waiting >= 0 && !s->stopping) start_client(s);
    }
}

/* ---- start ---- */

static int open_signals(struct server *s, struct wl_err *e)
{
    sigset_t all;
    sigemptyset(&all);
    sigaddset(&all, SIGTERM);
    sigaddset(&all, SIGINT);
    sigaddset(&all, SIGCHLD);
    sigprocmask(SIG_BLOCK, &all, NULL);
    s->signal_fd = signalfd(-1, &all, SFD_CLOEXEC);
    return s->signal_fd < 0 ? wl_fail_errno(e, "cap service: signalfd") : 0;
}

/* What an earlier service has left that was killed with its sessions and their guards. */
static void restore_leftovers(const struct server *s)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_restore_results rows;
    struct wl_err e;
    int rc = wl_cap_restore(s->opts, s->power, (struct wl_cap_restore_flags) { 0 }, &rows, a, &e);
    if (rc < 0 && rc != WL_ENOENT) wl_log(WL_WARN, "caps", "%s", e.msg);
    for (size_t i = 0; i < rows.n && rc == 0; i++) {
        const struct wl_restore_result *r = &rows.v[i];
        if (r->state == WL_RESTORE_DONE)
            wl_log(WL_WARN, "caps", "%s: %s of a killed session was restored", r->device, wl_cap_kind_name(r->kind));
        if (r->state == WL_RESTORE_FAILED) wl_log(WL_ERROR, "caps", "%s: not restored: %s", r->device, r->why);
    }
    wl_arena_free(a);
}

/* In a process of its own: a driver that hangs, or a lock that others hold, does not keep clients waiting, and no
 * session inherits an open driver. A session that sets caps meanwhile restores first what is left, too. */
static void start_restoring(struct server *s)
{
    pid_t pid = fork_child(s, -1);
    if (pid <= 0) restore_leftovers(s);
    if (pid == 0) _exit(0);
    if (pid < 0) return;
    *free_child(s) = (struct child) { .pid = pid };
    s->n++;
}

static int find_group(struct server *s, struct wl_err *e)
{
    int64_t number;
    bool is_number = wl_str_to_int(s->policy.group, &number) == 0 && number > 0 && number <= INT32_MAX;
    const struct group *g = is_number ? NULL : getgrnam(s->policy.group);
    if (!g && !is_number)
        return wl_fail(e, WL_ENOENT, "group %s, which may set caps, does not exist: sudo groupadd --system %s",
                       s->policy.group, s->policy.group);
    s->group = g ? g->gr_gid : (gid_t)number;
    return 0;
}

int wl_cap_serve(const struct wl_cap_serve_opts *serve, const struct wl_cap_opts *opts,
                 const struct wl_power_opts *power, struct wl_err *e)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_cap_client nobody = { .pid = -1, .user = -1 };
    struct wl_cap_opts own = *opts;
    struct server s = { .opts = &own, .power = power, .fd = -1, .signal_fd = -1, .waiting = -1 };
    own.client = &nobody;
    int rc = wl_service_policy_read(serve->config ? serve->config : WL_SERVICE_CONFIG, &s.policy, a, e);
    if (rc == 0) rc = find_group(&s, e);
    if (rc == 0) rc = open_signals(&s, e);
    if (rc == 0) rc = s.fd = wl_service_listen(serve->socket, s.group, e);
    if (rc >= 0) rc = drop_privileges(wl_service_policy_has_gpus(&s.policy), e);
    if (rc == 0) {
        start_restoring(&s);
        loop(&s, serve->idle_s);
    }
    if (rc == 0 && serve->socket) unlink(serve->socket);
    /* clients that were not served, and the queue of the socket, are closed by the exit, which does not linger */
    if (s.signal_fd >= 0) close(s.signal_fd);
    wl_arena_free(a);
    return rc < 0 ? rc : 0;
}

/* The process that listens: it admits clients and starts a process for each. It opens no driver and reads nothing that
 * a client sends. */
#include "cap/service/internal.h"

#include "base/trust.h"
#include "cap/service.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SESSIONS_MAX = 64, /* of all users */
    BACKLOG = 32,
    FIRST_PASSED = 3, /* the first descriptor that systemd passes, sd_listen_fds(3) */
    GROUPS_MAX = 4096,
};

struct server {
    struct wl_service_policy policy;
    gid_t group;
    const struct wl_cap_opts *opts;
    const struct wl_power_opts *power;
    int fd, signal_fd;
    struct {
        pid_t pid; /* 0: free */
        uid_t user;
    } v[SESSIONS_MAX];
    size_t n;
    bool stopping;
};

/* ---- the socket ---- */

static int check_passed(int fd, struct wl_err *e)
{
    int listens = 0, type = 0;
    socklen_t n = sizeof listens, m = sizeof type;
    bool ok = getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &n) == 0 &&
              getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &m) == 0 && listens && type == SOCK_SEQPACKET;
    return ok ? fd
              : wl_fail(e, WL_EINVAL,
                        "the passed descriptor is not a listening socket: expected ListenSequentialPacket=");
}

static int passed_socket(struct wl_err *e)
{
    const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
    int64_t p, n;
    if (!pid || !count || wl_str_to_int(pid, &p) < 0 || wl_str_to_int(count, &n) < 0 || p != getpid())
        return wl_fail(e, WL_EUNAVAIL,
                       "systemd has not passed a socket: start the unit wattlaw-caps.socket, or name one "
                       "with --socket");
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    if (n != 1) return wl_fail(e, WL_EINVAL, "systemd has passed %lld sockets: expected one", (long long)n);
    fcntl(FIRST_PASSED, F_SETFD, FD_CLOEXEC);
    return check_passed(FIRST_PASSED, e);
}

/* Removes the socket of a dead service; anything else at that name is left alone. */
static int remove_stale(const struct sockaddr_un *at, struct wl_err *e)
{
    struct stat st;
    if (lstat(at->sun_path, &st)) return errno == ENOENT ? 0 : wl_fail_errno(e, "%s", at->sun_path);
    if (!S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
        return wl_fail(e, WL_EINVAL, "%s: exists and is not a socket of this user", at->sun_path);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    bool dead = fd >= 0 && connect(fd, (const struct sockaddr *)at, sizeof *at) && errno == ECONNREFUSED;
    if (fd >= 0) close(fd);
    if (!dead) return wl_fail(e, WL_EPERM, "%s: another service listens there", at->sun_path);
    return unlink(at->sun_path) ? wl_fail_errno(e, "%s: cannot remove", at->sun_path) : 0;
}

/* In a folder where others can rename nothing, closed to all until its group is set. */
static int make_socket(const char *path, gid_t group, struct wl_err *e)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    struct wl_arena *a = wl_arena_new(NULL);
    bool ours = wl_path_is_ours(wl_path_dir(a, path));
    wl_arena_free(a);
    if (!ours) return wl_fail(e, WL_EPERM, "%s: not an absolute path in a folder that only root can write to", path);
    if (strlen(path) >= sizeof at.sun_path)
        return wl_fail(e, WL_EINVAL, "%s: longer than the %zu characters of a socket's path", path,
                       sizeof at.sun_path - 1);
    memcpy(at.sun_path, path, strlen(path) + 1);
    int rc = remove_stale(&at, e);
    if (rc < 0) return rc;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    mode_t mask = umask(0177);
    bool ok = fd >= 0 && bind(fd, (const struct sockaddr *)&at, sizeof at) == 0;
    umask(mask);
    ok = ok && lchown(path, (uid_t)-1, group) == 0 && chmod(path, 0660) == 0 && listen(fd, BACKLOG) == 0;
    if (ok) return fd;
    wl_fail_errno(e, "%s: cannot listen", path);
    if (fd >= 0) close(fd);
    return e->code;
}

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

static size_t sessions_of(const struct server *s, uid_t user)
{
    size_t n = 0;
    for (size_t i = 0; i < SESSIONS_MAX; i++) n += s->v[i].pid != 0 && s->v[i].user == user;
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
    return s->n < SESSIONS_MAX ? 0 : wl_fail(e, WL_EUNAVAIL, "the cap service has %zu clients, its maximum", s->n);
}

/* The session's own process. It gets SIGTERM when the service dies. */
static _Noreturn void serve_one(const struct server *s, int fd, const struct ucred *peer, pid_t parent)
{
    struct wl_service_session session = {
        .policy = &s->policy, .opts = s->opts, .power = s->power, .fd = fd, .peer = *peer
    };
    sigset_t stop;
    close(s->fd);
    close(s->signal_fd);
    sigemptyset(&stop);
    sigaddset(&stop, SIGTERM);
    sigaddset(&stop, SIGINT);
    session.stop_fd = signalfd(-1, &stop, SFD_CLOEXEC);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (session.stop_fd >= 0 && getppid() == parent) wl_service_session_run(&session);
    _exit(0);
}

static int start_session(struct server *s, int fd, const struct ucred *peer, struct wl_err *e)
{
    size_t free_at = 0;
    pid_t self = getpid(), pid = fork();
    if (pid == 0) serve_one(s, fd, peer, self);
    if (pid < 0) return wl_fail_errno(e, "cap service: no process for this client");
    while (s->v[free_at].pid) free_at++;
    s->v[free_at].pid = pid;
    s->v[free_at].user = peer->uid;
    s->n++;
    return 0;
}

static void collect_sessions(struct server *s)
{
    pid_t pid;
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
        for (size_t i = 0; i < SESSIONS_MAX; i++)
            if (s->v[i].pid == pid) {
                s->v[i].pid = 0;
                s->n--;
            }
}

static void accept_one(struct server *s)
{
    struct ucred peer = { 0 };
    struct wl_err e;
    int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    collect_sessions(s); /* that have ended, but whose signal was not read yet */
    int rc = admit(s, fd, &peer, &e);
    if (rc == 0) rc = start_session(s, fd, &peer, &e);
    if (rc < 0) {
        wl_log(WL_INFO, "caps", "refused: %s", e.msg);
        wl_service_turn_away(fd, &e);
    }
    close(fd);
}

static void stop_sessions(struct server *s)
{
    s->stopping = true;
    for (size_t i = 0; i < SESSIONS_MAX; i++)
        if (s->v[i].pid) kill(s->v[i].pid, SIGTERM);
}

static void read_signal(struct server *s)
{
    struct signalfd_siginfo info;
    if (read(s->signal_fd, &info, sizeof info) != sizeof info) return;
    if (info.ssi_signo == SIGCHLD)
        collect_sessions(s);
    else
        stop_sessions(s);
}

/* Until it is asked to stop, and all sessions have ended; or until it has been idle for so long. */
static void loop(struct server *s, double idle_s)
{
    while (!s->stopping || s->n > 0) {
        struct pollfd fds[] = { { .fd = s->signal_fd, .events = POLLIN },
                                { .fd = s->stopping ? -1 : s->fd, .events = POLLIN } };
        int n = poll(fds, WL_COUNT(fds), idle_s > 0 && s->n == 0 ? (int)(idle_s * 1000) : -1);
        if (n < 0) continue; /* EINTR */
        if (n == 0) return;
        if (fds[0].revents) read_signal(s);
        if (fds[1].revents) accept_one(s);
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
static void restore_leftovers(struct server *s, struct wl_arena *a)
{
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
    struct server s = { .opts = &own, .power = power, .fd = -1, .signal_fd = -1 };
    own.client = &nobody;
    int rc = wl_service_policy_read(serve->config ? serve->config : WL_SERVICE_CONFIG, &s.policy, a, e);
    if (rc == 0) rc = find_group(&s, e);
    if (rc == 0) rc = open_signals(&s, e);
    if (rc == 0) rc = s.fd = serve->socket ? make_socket(serve->socket, s.group, e) : passed_socket(e);
    if (rc >= 0) rc = drop_privileges(wl_service_policy_has_gpus(&s.policy), e);
    if (rc == 0) {
        restore_leftovers(&s, a);
        fcntl(s.fd, F_SETFL, O_NONBLOCK);
        loop(&s, serve->idle_s);
    }
    if (rc == 0 && serve->socket) unlink(serve->socket);
    if (s.fd >= 0) close(s.fd);
    if (s.signal_fd >= 0) close(s.signal_fd);
    wl_arena_free(a);
    return rc < 0 ? rc : 0;
}

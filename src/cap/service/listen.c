/* The socket of the cap service: passed by systemd, or made. */
#include "base/trust.h"
#include "cap/service/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    BACKLOG = 32,
    FIRST_PASSED = 3, /* the first descriptor that systemd passes, sd_listen_fds(3) */
    PASS_RIGHTS = 83, /* SO_PASSRIGHTS, Linux 6.16 */
};

/* ---- passed ---- */

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

/* ---- made ---- */

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

/* ---- either ---- */

int wl_service_listen(const char *path, gid_t group, struct wl_err *e)
{
    int fd = path ? make_socket(path, group, e) : passed_socket(e), no = 0;
    if (fd < 0) return fd;
    /* Passed descriptors are refused where the kernel can; where it cannot, see read_packet (session.c) and
     * start_child (serve.c). */
    setsockopt(fd, SOL_SOCKET, PASS_RIGHTS, &no, sizeof no);
    if (fcntl(fd, F_SETFL, O_NONBLOCK) == 0) return fd;
    wl_fail_errno(e, "the socket of the cap service");
    close(fd);
    return e->code;
}

/* The setter that asks the cap service, and reads through the machine's own setter. */
#include "cap/control.h"
#include "cap/indirect.h"
#include "cap/service.h"
#include "cap/service/internal.h"

#include <errno.h>
#include <grp.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

static const char SETUP[] = "sudo wattlaw setup --system";

const char *wl_cap_service_socket(void)
{
    const char *named = getenv("WATTLAW_CAPS_SOCKET");
    return named && *named ? named : WL_CAP_SERVICE_SOCKET;
}

bool wl_cap_service_exists(void)
{
    struct stat st;
    return stat(wl_cap_service_socket(), &st) == 0 && S_ISSOCK(st.st_mode);
}

/* ---- a conversation ---- */

/* How to join the group of the socket. */
static const char *join_fix(const char *path, struct wl_arena *a)
{
    struct stat st;
    const struct group *g = stat(path, &st) == 0 ? getgrgid(st.st_gid) : NULL;
    if (!g) return "join the group of the socket";
    return wl_strf(a, "sudo gpasswd -a $USER %s, then log in again", g->gr_name);
}

/* Whoever listens could only say that it has set a cap: every value is read back. connect() would wait forever in the
 * queue of a service that accepts nobody. */
static int connect_to(const char *path, double wait_s, const char **fix, struct wl_arena *a, struct wl_err *e)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    if (strlen(path) >= sizeof at.sun_path)
        return wl_fail(e, WL_EINVAL, "%s: longer than the %zu characters of a socket's path", path,
                       sizeof at.sun_path - 1);
    memcpy(at.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    const struct timeval wait = { .tv_sec = (time_t)wait_s, .tv_usec = (suseconds_t)(fmod(wait_s, 1) * 1e6) };
    if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&at, sizeof at) == 0) return fd;
    int en = errno;
    if (fd >= 0) close(fd);
    *fix = en == EACCES   ? join_fix(path, a)
           : en == ENOENT ? SETUP
           : en == EAGAIN ? "sudo systemctl restart wattlaw-caps.service"
                          : "sudo systemctl start wattlaw-caps.socket";
    if (en == EAGAIN)
        return wl_fail(e, WL_EHUNG,
                       "%s: the cap service has accepted nobody for %g s: it hangs, or has too many clients", path,
                       wait_s);
    errno = en;
    if (en == ENOENT) return wl_fail(e, WL_EUNAVAIL, "%s: there is no cap service", path);
    return wl_fail_errno(e, "%s: cannot connect to the cap service", path);
}

static int send_request(int fd, const struct wl_service_packet *request, struct wl_err *e)
{
    char *data = malloc(WL_SERVICE_PACKET_MAX);
    if (!data) return wl_fail(e, WL_ENOMEM, "cap service: no memory for a request");
    int n = wl_service_write(request, data, e);
    int rc = n < 0 ? n : 0;
    if (rc == 0 && send(fd, data, (size_t)n, MSG_NOSIGNAL) != n)
        rc = wl_fail(e, WL_EIO, "the cap service has closed the connection");
    free(data);
    return rc;
}

/* A service that closes the connection unread makes one recv() fail before the next one returns what it has sent. */
static ssize_t recv_sent(int fd, char *data)
{
    ssize_t n = recv(fd, data, WL_SERVICE_PACKET_MAX + 1, 0);
    return n < 0 && errno == ECONNRESET ? recv(fd, data, WL_SERVICE_PACKET_MAX + 1, 0) : n;
}

static int recv_reply(int fd, double wait_s, struct wl_service_packet *reply, struct wl_err *e)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    int64_t until_ns = wl_now_ns() + (int64_t)(wait_s * WL_NS_PER_S);
    int ready;
    do {
        int64_t left_ms = (until_ns - wl_now_ns()) / 1000000;
        ready = poll(&p, 1, left_ms > 0 ? (int)left_ms : 0);
    } while (ready < 0 && errno == EINTR);
    if (ready <= 0) return wl_fail(e, WL_EHUNG, "no answer from the cap service for %g s", wait_s);
    char *data = malloc(WL_SERVICE_PACKET_MAX + 1);
    if (!data) return wl_fail(e, WL_ENOMEM, "cap service: no memory for a reply");
    ssize_t n = recv_sent(fd, data);
    int rc = n > 0 ? wl_service_read_reply(data, (size_t)n, reply, e)
                   : wl_fail(e, WL_EIO, "the cap service has closed the connection");
    free(data);
    return rc;
}

/* Returns when the service's process for this connection has ended, or after a while: a user has few of them. */
static void await_end(int fd)
{
    enum { END_MS = 2000 };
    char byte;
    struct pollfd p = { .fd = fd, .events = POLLIN };
    while (poll(&p, 1, END_MS) > 0 && recv(fd, &byte, 1, 0) > 0) {
    }
}

/* Sends the packet and replaces it by the reply. A service that turns this process away may not read the request. */
static int ask(int fd, double wait_s, struct wl_service_packet *packet, struct wl_err *e)
{
    int sent = send_request(fd, packet, e);
    if (sent < 0 && sent != WL_EIO) return sent;
    int rc = recv_reply(fd, wait_s, packet, e);
    if (rc < 0 || packet->code == 0) return rc;
    return wl_fail(e, packet->code, "the cap service refuses: %s", packet->text);
}

/* While it takes the lock of the state folder, and calls a driver for each limit. */
static double wait_for(const struct wl_cap_opts *o, size_t limits)
{
    enum { LOCK_AND_OPEN = 8 };
    return wl_cap_wait_s(o) * (LOCK_AND_OPEN + (double)limits);
}

/* ---- the setter ---- */

static int ask_list(const struct wl_cap_opts *o, struct wl_service_packet *reply, const char **fix, struct wl_arena *a,
                    struct wl_err *e)
{
    int fd = connect_to(wl_cap_service_socket(), wait_for(o, 0), fix, a, e);
    if (fd < 0) return fd;
    *reply = (struct wl_service_packet) { .verb = WL_SERVICE_LIST };
    int rc = ask(fd, wait_for(o, 0), reply, e);
    if (rc != WL_EHUNG) await_end(fd);
    close(fd);
    if (rc == WL_EPERM) *fix = join_fix(wl_cap_service_socket(), a);
    return rc;
}

static const struct wl_service_limit *find_limit(const struct wl_service_packet *p, const struct wl_control *k)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->v[i].kind == k->kind && wl_str_eq(p->v[i].device, k->device)) return &p->v[i];
    return NULL;
}

static int service_open(const struct wl_setter_context *p, enum wl_cap_kind kind, struct wl_controls *out,
                        const char **fix, struct wl_err *e)
{
    struct wl_service_packet *allowed = wl_new(p->a, struct wl_service_packet);
    size_t before = out->n;
    int rc = ask_list(p->opts, allowed, fix, p->a, e);
    if (rc == 0) rc = wl_indirect_open(&wl_setter_service, p, kind, out, fix, e);
    for (size_t i = before; i < out->n && rc == 0; i++) {
        struct wl_control *k = &out->v[i];
        const struct wl_service_limit *l = find_limit(allowed, k);
        *fix = "ask the administrator to allow it in " WL_SERVICE_CONFIG;
        if (!l)
            return wl_fail(e, WL_EPERM, "the cap service may not set %s of %s (%s)", wl_cap_kind_name(kind), k->device,
                           k->name);
        k->range.min = fmax(k->range.min, l->low);
        k->range.max = fmin(k->range.max, l->high);
    }
    if (rc == 0) *fix = NULL;
    return rc;
}

struct wl_hold {
    int fd;
    double wait_s;
    int64_t keep_ns, next_ns; /* interval, and when to say next that we run */
    bool lost;
};

static int hold_limits(struct wl_hold *h, struct wl_service_packet *packet, struct wl_cap_setting *const *v, size_t n,
                       struct wl_err *e)
{
    enum { KEEPS_PER_LEASE = 6 };
    packet->verb = WL_SERVICE_HOLD;
    for (size_t i = 0; i < n; i++)
        if (!wl_service_add(packet, v[i]->kind, v[i]->requested, NAN, v[i]->device))
            return wl_fail(e, WL_EINVAL, "%s: the cap service takes at most %d limits, of devices with plain names",
                           v[i]->device, WL_SERVICE_LIMITS_MAX);
    int rc = ask(h->fd, h->wait_s, packet, e);
    if (rc < 0) return rc;
    for (size_t i = 0; i < n; i++) {
        const struct wl_control asked = { .kind = v[i]->kind, .device = v[i]->device };
        const struct wl_service_limit *l = find_limit(packet, &asked);
        if (!l) return wl_fail(e, WL_EIO, "the cap service did not answer for %s", v[i]->device);
        v[i]->found = l->low;
    }
    h->keep_ns = (int64_t)(packet->lease_s / KEEPS_PER_LEASE * WL_NS_PER_S);
    return 0;
}

static int service_hold(struct wl_hold **out, const struct wl_cap_opts *opts, struct wl_cap_setting *const *v, size_t n,
                        struct wl_arena *a, struct wl_err *e)
{
    const char *fix;
    struct wl_hold *h = wl_new(a, struct wl_hold);
    *h = (struct wl_hold) { .wait_s = wait_for(opts, n) };
    h->fd = connect_to(wl_cap_service_socket(), h->wait_s, &fix, a, e);
    if (h->fd < 0) return h->fd;
    int rc = hold_limits(h, wl_new(a, struct wl_service_packet), v, n, e);
    if (rc == 0)
        *out = h;
    else
        close(h->fd); /* what was set is restored */
    return rc;
}

/* The service has said why it ends the connection, unless it was killed. */
static int fail_lost(const struct wl_hold *h, struct wl_err *e)
{
    struct wl_service_packet *packet = calloc(1, sizeof *packet);
    struct wl_err none;
    bool said = packet && recv_reply(h->fd, 0, packet, &none) == 0 && packet->code < 0;
    wl_fail(e, WL_EIO, "the cap service has ended, and restored the caps of this run%s%s", said ? ": " : "",
            said ? packet->text : "");
    free(packet);
    return e->code;
}

static int service_keep(struct wl_hold *h, struct wl_err *e)
{
    static const char keep[] = "wattlaw-caps 1 keep\n";
    struct pollfd p = { .fd = h->fd };
    if (h->lost) return 0;
    if (poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLERR)) h->lost = true;
    if (!h->lost && wl_now_ns() >= h->next_ns) {
        ssize_t n = send(h->fd, keep, sizeof keep - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        h->lost = n < 0 && errno != EAGAIN && errno != EINTR;
        h->next_ns = wl_now_ns() + h->keep_ns;
    }
    return h->lost ? fail_lost(h, e) : 0;
}

static int service_release(struct wl_hold *h, struct wl_err *e)
{
    struct wl_service_packet *packet = calloc(1, sizeof *packet);
    if (!packet) {
        close(h->fd);
        return wl_fail(e, WL_ENOMEM, "no memory to ask the cap service; it restores the caps as the connection ends");
    }
    packet->verb = WL_SERVICE_RELEASE;
    int rc = h->lost ? 0 : ask(h->fd, h->wait_s, packet, e);
    if (rc != WL_EHUNG) await_end(h->fd);
    close(h->fd);
    free(packet);
    return rc;
}

const struct wl_setter_ops wl_setter_service = {
    .name = "service",
    .help = "the cap service of this machine, for members of its group",
    .kinds = {
#define SETTING_CAP(member, option, unit, kind, ...) [kind] = true,
#include "settings/settings.def"
    },
    .open = service_open,
    .get = wl_indirect_get,
    .hold = service_hold,
    .keep = service_keep,
    .release = service_release,
    .locked_by_other = wl_indirect_locked_by_other,
};

/* ---- for doctor ---- */

void wl_cap_service_probe(struct wl_cap_service_state *out, struct wl_arena *a)
{
    struct wl_service_packet *allowed = wl_new(a, struct wl_service_packet);
    const struct wl_cap_opts opts = { 0 };
    struct wl_err e;
    *out = (struct wl_cap_service_state) { .socket = wl_cap_service_socket() };
    int rc = ask_list(&opts, allowed, &out->fix, a, &e);
    out->limits = rc == 0 ? allowed->n : 0;
    if (rc == 0 && allowed->n == 0) {
        rc = wl_fail(&e, WL_EPERM, "the cap service may set nothing on this machine");
        out->fix = "sudoedit " WL_SERVICE_CONFIG;
    }
    if (rc < 0) out->why = wl_strdup(a, e.msg);
}

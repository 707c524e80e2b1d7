/* A session: one request of one client. Nothing that the client sends is kept beyond a struct of fixed size, nothing is
 * awaited without a deadline, and no write waits for the client. */
#include "cap/service/internal.h"

#include "cap/control.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A client that has connected has this long to send its request. */
static const double REQUEST_S = 5;

enum { POLL_MS = 1000, PACKET_US = 10000 /* a client that sends more packets has to wait */ };

struct session {
    const struct wl_service_session *of;
    int pid_fd; /* of the client; -1: none */
    struct wl_cap_client client;
    struct wl_service_packet packet; /* the last one read, or to be written */
    struct wl_arena *a;
    bool ended;        /* the connection, the client or the service */
    bool released;     /* as the client has asked: it waits for a reply */
    struct wl_err why; /* code 0: all is restored */
};

/* ---- packets ---- */

static void send_reply(int fd, struct wl_service_packet *reply)
{
    static char data[WL_SERVICE_PACKET_MAX];
    struct wl_err e;
    reply->is_reply = true;
    int n = wl_service_write(reply, data, &e);
    if (n < 0) {
        wl_service_refuse(reply, &e);
        n = wl_service_write(reply, data, &e);
    }
    if (n > 0 && send(fd, data, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        wl_log(WL_DEBUG, "caps", "a client does not take its reply: %s", strerror(errno));
}

void wl_service_turn_away(int fd, const struct wl_err *why)
{
    static struct wl_service_packet reply;
    wl_service_refuse(&reply, why);
    send_reply(fd, &reply);
}

/* Overwrites the request. */
static void start_reply(struct session *s)
{
    s->packet.n = 0;
    s->packet.code = 0;
    s->packet.lease_s = s->of->policy->lease_s;
}

static void refuse(struct session *s, const struct wl_err *why)
{
    wl_log(WL_INFO, "caps", "user %u, process %d: refused: %s", (unsigned)s->of->peer.uid, (int)s->of->peer.pid,
           why->msg);
    wl_service_turn_away(s->of->fd, why);
    s->ended = true;
}

/* Descriptors come with the next packet: there is no room for them (MSG_CTRUNC). */
static bool has_descriptors(int fd)
{
    struct msghdr h = { 0 };
    return recvmsg(fd, &h, MSG_PEEK | MSG_DONTWAIT) >= 0 && h.msg_flags & MSG_CTRUNC;
}

/* False: there was none, or the session has ended. One byte more than allowed is read, to see that a packet is too
 * long. A packet with descriptors stays unread until this process exits: the kernel closes what is read, and that takes
 * as long as the client likes, which would keep caps set although the client is dead (a TCP socket with SO_LINGER). */
static bool read_packet(struct session *s)
{
    static char data[WL_SERVICE_PACKET_MAX + 1];
    struct wl_err e;
    if (has_descriptors(s->of->fd)) {
        wl_fail(&e, WL_EINVAL, "cap service: a packet passes descriptors: expected text alone");
        refuse(s, &e);
        return false;
    }
    ssize_t n = recv(s->of->fd, data, sizeof data, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (n <= 0)
        s->ended = true;
    else if (wl_service_read_request(data, (size_t)n, &s->packet, &e) < 0)
        refuse(s, &e);
    return !s->ended;
}

/* True: a packet was read. False: timed out, or the session has ended. */
static bool await_packet(struct session *s, int timeout_ms)
{
    struct pollfd fds[] = { { .fd = s->of->fd, .events = POLLIN },
                            { .fd = s->pid_fd, .events = POLLIN },
                            { .fd = s->of->stop_fd, .events = POLLIN } };
    if (s->ended || poll(fds, WL_COUNT(fds), timeout_ms) <= 0) return false;
    s->ended = fds[1].revents || fds[2].revents;
    return !s->ended && fds[0].revents && read_packet(s);
}

/* ---- list ---- */

/* A kind that the machine does not have adds nothing. WL_EINVAL: the packet is full. */
static int list_kind(struct session *s, enum wl_cap_kind kind, struct wl_err *e)
{
    struct wl_setter_context context = { .opts = s->of->opts, .power = s->of->power, .all = true, .a = s->a };
    struct wl_controls controls = { 0 };
    const char *fix;
    struct wl_err none;
    double min, max;
    if (wl_controls_open(&context, NULL, kind, &controls, &fix, &none) < 0) return 0;
    for (size_t i = 0; i < controls.n; i++)
        if (wl_service_policy_range(s->of->policy, &controls.v[i], &min, &max, &none) == 0 &&
            !wl_service_add(&s->packet, kind, min, max, controls.v[i].device))
            return wl_fail(e, WL_EINVAL, "cap service: %s: not a plain name, or more than %d limits",
                           controls.v[i].device, WL_SERVICE_LIMITS_MAX);
    return 0;
}

static void list(struct session *s)
{
    start_reply(s);
    struct wl_err e;
    int rc = 0;
    for (int kind = 0; kind < WL_CAP_KINDS && rc == 0; kind++) rc = list_kind(s, kind, &e);
    if (rc < 0)
        refuse(s, &e);
    else
        send_reply(s->of->fd, &s->packet);
}

/* ---- hold ---- */

/* The request as wl_caps_set takes it: one value for each kind. */
static int read_values(struct session *s, struct wl_cap_request *values, struct wl_err *e)
{
    const struct wl_service_packet *p = &s->packet;
    struct wl_cap_target *v = wl_new_array(s->a, struct wl_cap_target, p->n);
    *values = wl_cap_none;
    for (size_t i = 0; i < p->n; i++) {
        double *value = &values->value[p->v[i].kind];
        if (!isnan(*value) && *value != p->v[i].low)
            return wl_fail(e, WL_EINVAL, "%s: %g and %g %s: expected one value for all devices",
                           wl_cap_kind_name(p->v[i].kind), *value, p->v[i].low, wl_cap_kind_unit(p->v[i].kind));
        *value = p->v[i].low;
        v[i] = (struct wl_cap_target) { .kind = p->v[i].kind, .device = wl_strdup(s->a, p->v[i].device) };
    }
    s->client.v = v;
    s->client.n = p->n;
    return 0;
}

static int check_value(const struct session *s, const struct wl_control *k, double value, struct wl_err *e)
{
    double min, max;
    int rc = wl_service_policy_range(s->of->policy, k, &min, &max, e);
    if (rc < 0 || (value >= min && value <= max)) return rc;
    return wl_fail(e, WL_EINVAL, "%s of %s: %g %s is out of range: %.6g to %.6g %s is allowed",
                   wl_cap_kind_name(k->kind), k->device, value, wl_cap_kind_unit(k->kind), min, max,
                   wl_cap_kind_unit(k->kind));
}

/* Each limit exists and may be set to its value, before anything is set. */
static int check_allowed(struct session *s, const struct wl_cap_opts *opts, const struct wl_cap_request *values,
                         struct wl_err *e)
{
    struct wl_setter_context context = { .opts = opts, .power = s->of->power, .all = true, .a = s->a };
    struct wl_controls controls = { 0 };
    int rc = 0;
    for (int kind = 0; kind < WL_CAP_KINDS && rc == 0; kind++) {
        const char *fix;
        if (!isnan(values->value[kind])) rc = wl_controls_open(&context, NULL, kind, &controls, &fix, e);
    }
    for (size_t i = 0; i < controls.n && rc == 0; i++)
        rc = check_value(s, &controls.v[i], values->value[controls.v[i].kind], e);
    if (rc < 0 || controls.n == s->client.n) return rc;
    return wl_fail(e, WL_ENOENT, "%zu of the %zu limits do not exist on this machine", s->client.n - controls.n,
                   s->client.n);
}

static int set(struct session *s, struct wl_caps **caps, const struct wl_cap_opts *opts,
               const struct wl_cap_request *values, struct wl_err *e)
{
    bool kinds[WL_CAP_KINDS];
    for (int k = 0; k < WL_CAP_KINDS; k++) kinds[k] = !isnan(values->value[k]);
    const char *what = wl_strf(s->a, "cap service, for process %lld of user %lld", (long long)s->client.pid,
                               (long long)s->client.user);
    int rc = check_allowed(s, opts, values, e);
    if (rc == 0) rc = wl_caps_reserve(kinds, what, opts, s->of->power, s->a, e);
    return rc < 0 ? rc : wl_caps_set(caps, values, opts, s->of->power, s->a, e);
}

static void reply_settings(struct session *s, const struct wl_caps *caps)
{
    size_t n;
    const struct wl_cap_setting *v = wl_caps_settings(caps, &n);
    start_reply(s);
    for (size_t i = 0; i < n; i++) {
        wl_service_add(&s->packet, v[i].kind, v[i].found, v[i].requested, v[i].device);
        wl_log(WL_INFO, "caps", "user %u, process %d: %s", (unsigned)s->of->peer.uid, (int)s->of->peer.pid,
               wl_cap_describe(&v[i], s->a));
    }
    send_reply(s->of->fd, &s->packet);
}

/* Until the client says that it is done (true), or is no longer there. */
static bool wait_for_release(struct session *s, struct wl_caps *caps)
{
    double lease_s = s->of->policy->lease_s;
    int64_t until_ns = wl_now_ns() + (int64_t)(lease_s * WL_NS_PER_S);
    while (!s->ended) {
        if (await_packet(s, POLL_MS)) {
            if (s->packet.verb == WL_SERVICE_RELEASE) return true;
            struct wl_err e;
            wl_fail(&e, WL_EINVAL, "cap service: expected keep or release while caps are held");
            if (s->packet.verb != WL_SERVICE_KEEP) refuse(s, &e);
            usleep(PACKET_US);
            until_ns = wl_now_ns() + (int64_t)(lease_s * WL_NS_PER_S);
        } else if (!s->ended && wl_now_ns() > until_ns) {
            struct wl_err e;
            wl_fail(&e, WL_EHUNG, "cap service: the client was silent for its lease of %g s: caps are restored",
                    lease_s);
            refuse(s, &e);
        }
        if (!s->ended) wl_caps_poll(caps);
    }
    return false;
}

static void hold(struct session *s)
{
    struct wl_cap_opts opts = *s->of->opts;
    struct wl_cap_request values;
    struct wl_caps *caps = NULL;
    struct wl_err e;
    opts.client = &s->client;
    int rc = read_values(s, &values, &e);
    if (rc == 0) rc = set(s, &caps, &opts, &values, &e);
    if (rc < 0) {
        refuse(s, &e);
        return;
    }
    reply_settings(s, caps);
    s->released = wait_for_release(s, caps);
    if (wl_caps_release(caps, &s->why) < 0) wl_log(WL_ERROR, "caps", "%s", s->why.msg);
}

static void reply_released(struct session *s)
{
    start_reply(s);
    if (s->why.code < 0)
        refuse(s, &s->why);
    else
        send_reply(s->of->fd, &s->packet);
}

/* ---- a session ---- */

/* Readable when the client's process is dead, although another one may have inherited its end of the connection. -1:
 * that cannot be known, or *dead: it is. */
static int open_pid_fd(const struct wl_service_session *s, bool *dead)
{
    enum { PEER_PID_FD = 77 }; /* SO_PEERPIDFD, Linux 6.5: not subject to a reused pid */
    int fd = -1;
    socklen_t n = sizeof fd;
    int rc = getsockopt(s->fd, SOL_SOCKET, PEER_PID_FD, &fd, &n);
    if (rc < 0 && errno == ENOPROTOOPT && s->peer.pid > 0) rc = fd = (int)syscall(SYS_pidfd_open, s->peer.pid, 0);
    *dead = rc < 0 && (errno == ESRCH || errno == EINVAL); /* which one depends on the kernel */
    return rc < 0 ? -1 : fd;
}

/* The arena is freed, and with it the reservation dropped, before the last reply: the client's next connection finds
 * the device free. */
void wl_service_session_run(struct wl_service_session *of)
{
    static struct session s; /* too large for the stack */
    s = (struct session) { .of = of,
                           .client = { .pid = of->peer.pid, .user = (int64_t)of->peer.uid },
                           .a = wl_arena_new(NULL) };
    struct wl_err e;
    s.pid_fd = open_pid_fd(of, &s.ended);
    if (await_packet(&s, (int)(REQUEST_S * 1000))) {
        if (s.packet.verb == WL_SERVICE_LIST)
            list(&s);
        else if (s.packet.verb == WL_SERVICE_HOLD)
            hold(&s);
        else
            wl_fail(&e, WL_EINVAL, "cap service: nothing is held on this connection"), refuse(&s, &e);
    }
    wl_arena_free(s.a);
    if (s.released) reply_released(&s);
}

/* The cap service: its socket, and one connection. */
#ifndef WL_CAP_SERVICE_INTERNAL_H
#define WL_CAP_SERVICE_INTERNAL_H

#include "cap/service/policy.h"
#include "cap/service/protocol.h"

#include <sys/socket.h>

/* The listening socket, with O_NONBLOCK: made at the path for the group, or, without a path, the one that systemd has
 * passed. */
int wl_service_listen(const char *path, gid_t group, struct wl_err *e) WL_MUST_CHECK;

/* The connection, and where its client is. */
struct wl_service_session {
    const struct wl_service_policy *policy;
    const struct wl_cap_opts *opts; /* of the service */
    const struct wl_power_opts *power;
    int fd;
    struct ucred peer; /* of the process that has connected: pid 0 if it is not visible here */
    int stop_fd;       /* readable: the service ends */
};

/* Answers a client until its connection, its process, its lease or the service ends, and restores what it has set. For
 * a process of its own, whose exit closes the connection: a client that waits for that is then no longer counted, and
 * an exit does not wait for what the client has passed. */
void wl_service_session_run(struct wl_service_session *s);

/* Sends a refusal to a client that gets no session. */
void wl_service_turn_away(int fd, const struct wl_err *why);

#endif

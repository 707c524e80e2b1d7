/* One connection of the cap service. */
#ifndef WL_CAP_SERVICE_INTERNAL_H
#define WL_CAP_SERVICE_INTERNAL_H

#include "cap/service/policy.h"
#include "cap/service/protocol.h"

#include <sys/socket.h>

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
 * a process of its own: the connection is closed by its end, so that a client that waits for that is no longer counted.
 */
void wl_service_session_run(struct wl_service_session *s);

/* Sends a refusal to a client that gets no session. */
void wl_service_turn_away(int fd, const struct wl_err *why);

#endif

/* The cap service: a process of root that sets caps for the members of a group, within what root allows, and restores
 * them when the client's connection or process ends. docs/adr/145
 *
 *     wattlaw measure --- socket --- wattlaw serve-caps --- a process per connection --- driver
 */
#ifndef WL_CAP_SERVICE_H
#define WL_CAP_SERVICE_H

#include "base/base.h"

struct wl_cap_opts;
struct wl_power_opts;

#define WL_CAP_SERVICE_SOCKET "/run/wattlaw-caps.socket" /* or $WATTLAW_CAPS_SOCKET */

struct wl_cap_serve_opts {
    const char *config; /* what is allowed, see policy.h */
    const char *socket; /* path to create; NULL: systemd has passed a socket */
    double idle_s;      /* ends after so long without clients; 0: never */
};

/* Serves until SIGTERM or SIGINT. First it restores what an earlier, killed service has left. WL_EINVAL, WL_EPERM: the
 * configuration is wrong, or others can write to it. WL_EUNAVAIL: no socket was passed. */
int wl_cap_serve(const struct wl_cap_serve_opts *serve, const struct wl_cap_opts *opts,
                 const struct wl_power_opts *power, struct wl_err *e) WL_MUST_CHECK;

/* Is there a socket of the service? */
const char *wl_cap_service_socket(void);
bool wl_cap_service_exists(void);

/* What the service says to this process. */
struct wl_cap_service_state {
    const char *socket;
    size_t limits;         /* that it may set */
    const char *why, *fix; /* why it may set none; NULL: it may */
};
void wl_cap_service_probe(struct wl_cap_service_state *out, struct wl_arena *a);

#endif

/* The socket that clients connect to, and the connections that are open. */
#ifndef WL_SERVE_LISTEN_H
#define WL_SERVE_LISTEN_H

#include "base/base.h"

/* A socket that listens on an address ("127.0.0.1", "::1") and port, *port 0: a free one, which is set. Returns its
 * descriptor; WL_EPERM, WL_EIO: it cannot be had. */
int wl_listen(const char *address, int *port, struct wl_err *e) WL_MUST_CHECK;

/* Connections by when they were last asked for something: a client that sends a request a byte at a time would hold one
 * forever. */
struct wl_connections;
struct wl_connection;
struct wl_connections *wl_connections_new(size_t most, struct wl_arena *a);
struct wl_connection *wl_connections_add(struct wl_connections *all, int fd); /* NULL: there are `most` */
void wl_connections_remove(struct wl_connections *all, struct wl_connection *c);

/* A request is complete; its answer has been sent. */
void wl_connection_received(struct wl_connections *all, struct wl_connection *c);
void wl_connection_answered(struct wl_connections *all, struct wl_connection *c);

/* Ends those that have been waiting for a request for longer. */
void wl_connections_end_slow(struct wl_connections *all, int64_t longer_than_ns);

#endif

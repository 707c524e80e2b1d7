#include "serve/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 128 };

union any_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static socklen_t parse(const char *address, int port, union any_address *out)
{
    memset(out, 0, sizeof *out);
    if (inet_pton(AF_INET, address, &out->v4.sin_addr) == 1) {
        out->v4.sin_family = AF_INET;
        out->v4.sin_port = htons((uint16_t)port);
        return sizeof out->v4;
    }
    if (inet_pton(AF_INET6, address, &out->v6.sin6_addr) == 1) {
        out->v6.sin6_family = AF_INET6;
        out->v6.sin6_port = htons((uint16_t)port);
        return sizeof out->v6;
    }
    return 0;
}

static int fail(int fd, const char *address, int port, struct wl_err *e)
{
    const int error = errno;
    if (fd >= 0) close(fd);
    errno = error;
    if (error == EADDRINUSE)
        return wl_fail(e, WL_EIO, "port %d of %s is in use: choose another one with --port (0: a free one)", port,
                       address);
    return wl_fail_errno(e, "cannot listen on port %d of %s", port, address);
}

int wl_listen(const char *address, int *port, struct wl_err *e)
{
    union any_address at;
    socklen_t size = parse(address, *port, &at);
    const int on = 1;
    if (!size) return wl_fail(e, WL_EUSAGE, "--address %s: expected an IPv4 or IPv6 address", address);
    const int fd = socket(at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return fail(fd, address, *port, e);
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on); /* connections of an earlier server may linger */
    if (at.any.sa_family == AF_INET6) (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (bind(fd, &at.any, size) || listen(fd, BACKLOG) || getsockname(fd, &at.any, &size))
        return fail(fd, address, *port, e);
    *port = ntohs(at.any.sa_family == AF_INET6 ? at.v6.sin6_port : at.v4.sin_port);
    return fd;
}

/* ---- connections ---- */

struct wl_connection {
    int fd;
    int64_t waiting_since_ns; /* 0: it is being answered */
    struct wl_connection *next_free;
    bool open;
};

struct wl_connections {
    pthread_mutex_t lock;
    struct wl_connection *v, *free;
    size_t n;
};

static void release(void *all) { pthread_mutex_destroy(&((struct wl_connections *)all)->lock); }

struct wl_connections *wl_connections_new(size_t most, struct wl_arena *a)
{
    struct wl_connections *all = wl_new(a, struct wl_connections);
    *all = (struct wl_connections) { .v = wl_new_array(a, struct wl_connection, most), .n = most };
    pthread_mutex_init(&all->lock, NULL);
    wl_defer(a, release, all);
    for (size_t i = 0; i < most; i++) {
        all->v[i].next_free = all->free;
        all->free = &all->v[i];
    }
    return all;
}

struct wl_connection *wl_connections_add(struct wl_connections *all, int fd)
{
    pthread_mutex_lock(&all->lock);
    struct wl_connection *c = all->free;
    if (c) {
        all->free = c->next_free;
        *c = (struct wl_connection) { .fd = fd, .waiting_since_ns = wl_now_ns(), .open = true };
    }
    pthread_mutex_unlock(&all->lock);
    return c;
}

void wl_connections_remove(struct wl_connections *all, struct wl_connection *c)
{
    if (!c) return;
    pthread_mutex_lock(&all->lock);
    *c = (struct wl_connection) { .next_free = all->free };
    all->free = c;
    pthread_mutex_unlock(&all->lock);
}

static void set_waiting(struct wl_connections *all, struct wl_connection *c, int64_t since_ns)
{
    if (!c) return;
    pthread_mutex_lock(&all->lock);
    c->waiting_since_ns = since_ns;
    pthread_mutex_unlock(&all->lock);
}

void wl_connection_received(struct wl_connections *all, struct wl_connection *c) { set_waiting(all, c, 0); }
void wl_connection_answered(struct wl_connections *all, struct wl_connection *c) { set_waiting(all, c, wl_now_ns()); }

/* The other thread closes the descriptor once it sees the end, after it has removed the connection: under the lock it
 * is still ours. */
void wl_connections_end_slow(struct wl_connections *all, int64_t longer_than_ns)
{
    const int64_t now_ns = wl_now_ns();
    pthread_mutex_lock(&all->lock);
    for (size_t i = 0; i < all->n; i++) {
        const struct wl_connection *c = &all->v[i];
        if (c->open && c->waiting_since_ns && now_ns - c->waiting_since_ns > longer_than_ns) shutdown(c->fd, SHUT_RDWR);
    }
    pthread_mutex_unlock(&all->lock);
}

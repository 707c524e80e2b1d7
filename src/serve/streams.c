#include "serve/streams.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>

enum { STREAMS_MAX = 128, STREAM_BLOCK = 4096 };

struct stream {
    struct wl_streams *all;
    struct MHD_Connection *connection;
    int fd; /* its socket, open as long as the stream is in the list; -1: not known */
    struct wl_event_stream at;
    bool suspended, closed;      /* closed: by the client; it does not count any more */
    struct stream *next, **self; /* *self points to it */
};

struct wl_streams {
    struct wl_events *events;
    struct wl_watch *const *watch;
    pthread_mutex_t lock; /* of what follows */
    struct stream *first;
    size_t n; /* without closed ones */
    bool ended;
};

static ssize_t read_stream(void *cls, uint64_t pos, char *to, size_t n)
{
    struct stream *s = cls;
    struct wl_streams *all = s->all;
    (void)pos;
    pthread_mutex_lock(&all->lock);
    ssize_t got = s->closed    ? MHD_CONTENT_READER_END_WITH_ERROR
                  : all->ended ? MHD_CONTENT_READER_END_OF_STREAM
                               : (ssize_t)wl_events_read(all->events, &s->at, to, n);
    if (got == 0) {
        s->suspended = true; /* under the lock: an event that comes now finds it so */
        MHD_suspend_connection(s->connection);
    }
    pthread_mutex_unlock(&all->lock);
    return got;
}

static void end_stream(void *cls)
{
    struct stream *s = cls;
    struct wl_streams *all = s->all;
    pthread_mutex_lock(&all->lock);
    *s->self = s->next;
    if (s->next) s->next->self = s->self;
    all->n -= !s->closed;
    pthread_mutex_unlock(&all->lock);
    wl_watch_clients(*all->watch, -1);
    free(s);
}

/* The lock is held. */
static void resume(struct stream *s)
{
    if (s->suspended) MHD_resume_connection(s->connection);
    s->suspended = false;
}

/* There are new events, or the server stops. */
static void wake(void *ctx)
{
    struct wl_streams *all = ctx;
    pthread_mutex_lock(&all->lock);
    for (struct stream *s = all->first; s; s = s->next)
        if (all->ended || wl_events_pending(all->events, &s->at)) resume(s);
    pthread_mutex_unlock(&all->lock);
}

/* libmicrohttpd does not look at the socket of a connection that is suspended. The lock is held. */
static void end_closed(struct wl_streams *all)
{
    struct pollfd fds[STREAMS_MAX];
    struct stream *of[STREAMS_MAX];
    nfds_t n = 0;
    for (struct stream *s = all->first; s; s = s->next) {
        if (s->closed) continue;
        of[n] = s;
        fds[n++] = (struct pollfd) { .fd = s->fd, .events = POLLRDHUP };
    }
    if (n == 0 || poll(fds, n, 0) <= 0) return;
    for (nfds_t i = 0; i < n; i++) {
        if (!(fds[i].revents & (POLLRDHUP | POLLHUP | POLLERR))) continue;
        of[i]->closed = true;
        all->n--;
        resume(of[i]);
    }
}

void wl_streams_end_closed(struct wl_streams *all)
{
    pthread_mutex_lock(&all->lock);
    end_closed(all);
    pthread_mutex_unlock(&all->lock);
}

static struct stream *new_stream(struct wl_streams *all, struct MHD_Connection *c, const char *last_event_id)
{
    static const char hello[] = "retry: 2000\nevent: hello\ndata: {\"version\":\"" WL_VERSION "\"}\n\n";
    struct stream *s = malloc(sizeof *s);
    if (!s) return NULL;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    *s = (struct stream) { .all = all, .connection = c, .fd = info ? info->connect_fd : -1 };
    s->at = wl_events_begin(all->events, last_event_id, hello);
    pthread_mutex_lock(&all->lock);
    end_closed(all);
    const bool room = all->n < STREAMS_MAX;
    if (room) {
        s->next = all->first;
        s->self = &all->first;
        if (s->next) s->next->self = &s->next;
        all->first = s;
        all->n++;
    }
    pthread_mutex_unlock(&all->lock);
    if (!room) {
        free(s);
        return NULL;
    }
    wl_watch_clients(*all->watch, 1);
    return s;
}

struct MHD_Response *wl_streams_begin(struct wl_streams *all, struct MHD_Connection *c, const char *last_event_id)
{
    struct stream *s = new_stream(all, c, last_event_id);
    if (!s) return NULL;
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_stream, s, end_stream);
    if (!response) end_stream(s);
    return response;
}

void wl_streams_end(struct wl_streams *all)
{
    pthread_mutex_lock(&all->lock);
    all->ended = true;
    pthread_mutex_unlock(&all->lock);
    wake(all);
}

static void release(void *all) { pthread_mutex_destroy(&((struct wl_streams *)all)->lock); }

struct wl_streams *wl_streams_new(struct wl_events *events, struct wl_watch *const *watch, struct wl_arena *a)
{
    struct wl_streams *all = wl_new(a, struct wl_streams);
    *all = (struct wl_streams) { .events = events, .watch = watch };
    pthread_mutex_init(&all->lock, NULL);
    wl_defer(a, release, all);
    wl_events_on_add(events, wake, all);
    return all;
}

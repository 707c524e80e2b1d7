/* Server-sent events: the last ones, rendered once for all streams. One thread adds, another one copies; a stream is
 * nothing but a position, so that a client that does not read costs no memory. */
#ifndef WL_SERVE_EVENTS_H
#define WL_SERVE_EVENTS_H

#include "base/base.h"

enum { WL_EVENTS_KEPT = 1024 };

struct wl_events;
struct wl_events *wl_events_new(struct wl_arena *a);

/* Called after each event, without a lock: streams that wait go on. */
void wl_events_on_add(struct wl_events *ev, void (*wake)(void *ctx), void *ctx);

/* `data` is JSON in one line. */
void wl_events_add(struct wl_events *ev, const char *name, const char *data);

/* A comment, which keeps connections open and finds those that are not. */
void wl_events_beat(struct wl_events *ev);

/* Nobody watched for a while: what a client has seen before says nothing of what it missed. Every stream gets `reset`.
 */
void wl_events_forget(struct wl_events *ev);

/* A stream: where a client is. */
struct wl_event_stream {
    uint64_t next;     /* number of the event that it gets next */
    size_t at;         /* bytes of it that were copied */
    const char *hello; /* what it gets first; NULL: nothing (any more) */
    char reset[96];
    size_t n_reset;
};

/* Begins after the event that the client saw last; NULL or unknown: from now on, with `reset` where it was known once.
 */
struct wl_event_stream wl_events_begin(struct wl_events *ev, const char *last_event_id, const char *hello);

/* Copies at most n bytes of what the stream has not had. 0: nothing is there. */
size_t wl_events_read(struct wl_events *ev, struct wl_event_stream *s, char *to, size_t n);

/* Is there anything to read? */
bool wl_events_pending(struct wl_events *ev, const struct wl_event_stream *s);

#endif

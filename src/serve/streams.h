/* Streams of events to clients: each is a position in the ring of events, and its connection is suspended while there
 * is nothing new. */
#ifndef WL_SERVE_STREAMS_H
#define WL_SERVE_STREAMS_H

#include "serve/events.h"
#include "serve/watch.h"

#include <microhttpd.h>

/* *watch, which is set before the first stream begins, hears how many there are. Events may come until the arena ends.
 */
struct wl_streams;
struct wl_streams *wl_streams_new(struct wl_events *events, struct wl_watch *const *watch, struct wl_arena *a);

/* The answer to a client that has seen the events up to last_event_id (NULL: none); NULL: there are too many, or memory
 * is short. */
struct MHD_Response *wl_streams_begin(struct wl_streams *all, struct MHD_Connection *c, const char *last_event_id);

/* Ends the streams whose clients have closed their connections, or their half of them. A new stream does so, too. */
void wl_streams_end_closed(struct wl_streams *all);

/* All streams end; none is suspended any more. */
void wl_streams_end(struct wl_streams *all);

#endif

#include "serve/events.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct frame {
    char *text;
    size_t n;
};

struct wl_events {
    pthread_mutex_t lock;
    struct frame ring[WL_EVENTS_KEPT]; /* event i at i % WL_EVENTS_KEPT */
    uint64_t first, end;               /* those that are known: first .. end - 1 */
    uint64_t series;                   /* of this process: ids of an earlier one are unknown */
    void (*wake)(void *ctx);
    void *ctx;
};

static void release(void *events)
{
    struct wl_events *ev = events;
    for (size_t i = 0; i < WL_EVENTS_KEPT; i++) free(ev->ring[i].text);
    pthread_mutex_destroy(&ev->lock);
}

struct wl_events *wl_events_new(struct wl_arena *a)
{
    struct wl_events *ev = wl_new(a, struct wl_events);
    pthread_mutex_init(&ev->lock, NULL);
    ev->series = (uint64_t)wl_wall_ns();
    ev->first = ev->end = 1;
    wl_defer(a, release, ev);
    return ev;
}

void wl_events_on_add(struct wl_events *ev, void (*wake)(void *ctx), void *ctx)
{
    ev->wake = wake;
    ev->ctx = ctx;
}

/* The lock is held. */
static void add(struct wl_events *ev, const char *text)
{
    struct frame *f = &ev->ring[ev->end % WL_EVENTS_KEPT];
    free(f->text);
    f->n = strlen(text);
    f->text = strdup(text);
    if (!f->text) f->n = 0; /* an event is lost; the next `reset` or reload shows what it said */
    ev->end++;
    if (ev->end - ev->first > WL_EVENTS_KEPT) ev->first = ev->end - WL_EVENTS_KEPT;
}

void wl_events_add(struct wl_events *ev, const char *name, const char *data)
{
    struct wl_arena *a = wl_arena_new(NULL);
    pthread_mutex_lock(&ev->lock);
    add(ev, wl_strf(a, "id: %llx-%llu\nevent: %s\ndata: %s\n\n", (unsigned long long)ev->series,
                    (unsigned long long)ev->end, name, data));
    pthread_mutex_unlock(&ev->lock);
    wl_arena_free(a);
    if (ev->wake) ev->wake(ev->ctx);
}

void wl_events_beat(struct wl_events *ev)
{
    pthread_mutex_lock(&ev->lock);
    add(ev, ":\n\n");
    pthread_mutex_unlock(&ev->lock);
    if (ev->wake) ev->wake(ev->ctx);
}

void wl_events_forget(struct wl_events *ev)
{
    pthread_mutex_lock(&ev->lock);
    ev->end++; /* so that a stream that has had the last one gets `reset`, too */
    ev->first = ev->end;
    pthread_mutex_unlock(&ev->lock);
    if (ev->wake) ev->wake(ev->ctx);
}

/* ---- streams ---- */

/* The number in "SERIES-NUMBER"; false: not an id of ours. */
static bool parse_id(const char *id, uint64_t *series, uint64_t *number)
{
    char *end;
    *series = strtoull(id, &end, 16);
    if (end == id || *end != '-') return false;
    const char *rest = end + 1;
    *number = strtoull(rest, &end, 10);
    return end != rest && *end == '\0';
}

/* The lock is held. */
static void set_reset(struct wl_events *ev, struct wl_event_stream *s)
{
    s->next = ev->end;
    s->at = 0;
    s->n_reset = (size_t)snprintf(s->reset, sizeof s->reset, "id: %llx-%llu\nevent: reset\ndata: {}\n\n",
                                  (unsigned long long)ev->series, (unsigned long long)(ev->end - 1));
}

struct wl_event_stream wl_events_begin(struct wl_events *ev, const char *last_event_id, const char *hello)
{
    struct wl_event_stream s = { .hello = hello };
    uint64_t series, number;
    const bool has_id = last_event_id && *last_event_id;
    pthread_mutex_lock(&ev->lock);
    s.next = ev->end;
    if (has_id) {
        const bool known = parse_id(last_event_id, &series, &number) && series == ev->series &&
                           number + 1 >= ev->first && number < ev->end;
        if (known)
            s.next = number + 1;
        else
            set_reset(ev, &s);
    }
    pthread_mutex_unlock(&ev->lock);
    return s;
}

/* Copies what is left of a text of n bytes; true: all of it has been copied. */
static bool copy(const char *text, size_t n, size_t *at, char **to, size_t *room)
{
    size_t part = n - *at < *room ? n - *at : *room;
    memcpy(*to, text + *at, part);
    *at += part;
    *to += part;
    *room -= part;
    if (*at < n) return false;
    *at = 0;
    return true;
}

size_t wl_events_read(struct wl_events *ev, struct wl_event_stream *s, char *to, size_t n)
{
    size_t room = n;
    if (s->hello && copy(s->hello, strlen(s->hello), &s->at, &to, &room)) s->hello = NULL;
    if (s->hello) return n - room;
    pthread_mutex_lock(&ev->lock);
    /* in the middle of an event that has been dropped: the rest of it would not be an event */
    if (s->next < ev->first && s->n_reset == 0) {
        const bool torn = s->at > 0;
        set_reset(ev, s);
        if (torn) { /* the lines that were sent become part of this event, whose name is the last one */
            memmove(s->reset + 1, s->reset, s->n_reset + 1);
            s->reset[0] = '\n';
            s->n_reset++;
        }
    }
    if (s->n_reset > 0 && copy(s->reset, s->n_reset, &s->at, &to, &room)) s->n_reset = 0;
    while (s->n_reset == 0 && room > 0 && s->next < ev->end) {
        const struct frame *f = &ev->ring[s->next % WL_EVENTS_KEPT];
        if (!copy(f->text ? f->text : "", f->n, &s->at, &to, &room)) break;
        s->next++;
    }
    pthread_mutex_unlock(&ev->lock);
    return n - room;
}

bool wl_events_pending(struct wl_events *ev, const struct wl_event_stream *s)
{
    pthread_mutex_lock(&ev->lock);
    const bool pending = s->hello || s->n_reset > 0 || s->next < ev->end;
    pthread_mutex_unlock(&ev->lock);
    return pending;
}

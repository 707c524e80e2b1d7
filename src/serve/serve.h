/* A server of stores for browsers and other programs: docs/reference/serve.md has its paths, docs/adr/169 its threads.
 *
 *   server.c (libmicrohttpd)  ->  site.c: access, cache, routes  ->  handlers  ->  snapshots of stores, law, documents
 *   watch.c: files of stores  ->  events.c  ->  streams of server.c
 *
 * It reads stores and starts nothing. With allow_control it adds requests to them (control.c), by wl_store_control
 * alone. */
#ifndef WL_SERVE_SERVE_H
#define WL_SERVE_SERVE_H

#include "base/base.h"

#include <stdio.h>

struct wl_store;

/* What other commands print of a store: their functions, which serve/ may not see. Each is called by several threads at
 * once, on stores of their own. Members are added to `to`. */
struct wl_serve_documents {
    /* the member "campaigns", as described in docs/reference/serve.md */
    int (*overview)(void *ctx, const char *path, size_t number, struct wl_json *to, struct wl_arena *a,
                    struct wl_err *e);
    /* a run in full; of one that is running, what its facts so far give */
    int (*run)(void *ctx, struct wl_store *s, int64_t run, struct wl_json *to, struct wl_arena *a, struct wl_err *e);
    int (*recommendation)(void *ctx, const char *path, struct wl_json *to, struct wl_arena *a, struct wl_err *e);
    /* the member "cards", as described there */
    int (*card)(void *ctx, const char *path, struct wl_json *to, struct wl_arena *a, struct wl_err *e);
    /* a page with a policy of its own */
    int (*report)(void *ctx, const char *path, struct wl_text *page, struct wl_arena *a, struct wl_err *e);
    /* name: runs.csv, epochs.csv, observations.csv, samples.csv; run 0: all. WL_ENOENT: no such document */
    int (*download)(void *ctx, const char *path, const char *name, int64_t run, FILE *to, struct wl_arena *a,
                    struct wl_err *e);
    /* metrics of all stores, or of a machine; NULL: there are none */
    int (*metrics)(void *ctx, const struct wl_strs *paths, struct wl_metrics *to, struct wl_arena *a, struct wl_err *e);
    void *ctx;
};

struct wl_serve_options {
    const struct wl_strs *paths; /* of the stores */
    const char *address;         /* "127.0.0.1", "::1" */
    int port;                    /* 0: a free one */
    const char *token;           /* NULL: none is needed */
    const char *base;            /* "/" or "/wattlaw" */
    const struct wl_strs *hosts; /* further names of this server */
    int connections;             /* maximum */
    bool allow_control;          /* with a token: campaigns can be paused, runs cancelled and retried */
    const char *user;            /* who runs this server, as requests are stored; with allow_control */
    bool metrics_alone;          /* nothing else is at any path */
    const struct wl_serve_documents *documents;
};

/* The address as a number ("localhost" is 127.0.0.1); WL_EUSAGE: not one. */
int wl_serve_check_address(const char *address, bool *is_loopback, struct wl_err *e) WL_MUST_CHECK;

/* "/wattlaw" of "wattlaw/", "/" of ""; WL_EUSAGE: not a path of plain characters. */
int wl_serve_base_path(const char *given, char **base, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* Reads a token from a file that is its owner's alone. */
int wl_serve_read_token(const char *path, char **token, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* The unit in which the readings of a channel are served: of a counter that of its rate. */
const char *wl_serve_series_unit(bool counter, const char *unit, struct wl_arena *a);

/* Starts the server, which runs until the arena is freed. *url: the address of its page. WL_EUNAVAIL: built without
 * libmicrohttpd; WL_EIO, WL_EPERM: the port cannot be had. */
struct wl_server;
int wl_serve_start(struct wl_server **out, const struct wl_serve_options *options, const char **url, struct wl_arena *a,
                   struct wl_err *e) WL_MUST_CHECK;

/* Call once a second: ends connections whose request does not arrive, and streams whose client has left. */
void wl_serve_tick(struct wl_server *s);

#endif

/* What is at which path: requests become answers. Apart from the library that speaks HTTP (server.h). */
#ifndef WL_SERVE_SITE_H
#define WL_SERVE_SITE_H

#include "serve/access.h"
#include "serve/cache.h"
#include "serve/events.h"
#include "serve/laws.h"
#include "serve/request.h"
#include "serve/serve.h"
#include "serve/snapshot.h"

#include <stdatomic.h>

struct wl_site {
    const struct wl_serve_options *options;
    struct wl_access access;
    struct wl_served **stores;
    size_t n_stores;
    struct wl_events *events;
    struct wl_answer_cache *cache;
    struct wl_site_laws *laws;
    struct wl_site_control *control;                                /* NULL: not allowed */
    bool (*later)(void *ctx, void (*call)(void *what), void *what); /* calls it in another thread; false: it cannot */
    void *later_ctx;
    atomic_bool ending; /* the server stops: what takes long is given up */
    struct wl_arena *a;
};

/* Without `later`, which its owner sets. */
int wl_site_new(struct wl_site **out, const struct wl_serve_options *options, struct wl_arena *a,
                struct wl_err *e) WL_MUST_CHECK;

/* How long an answer takes. */
enum wl_site_work {
    WL_SITE_ANSWERED, /* *out is it */
    WL_SITE_QUICK,    /* reads a store: call wl_site_work in a thread that may wait */
    WL_SITE_SLOW,     /* computes for seconds: in another one */
};

/* Checks a request and answers it where that needs no store. */
enum wl_site_work wl_site_begin(struct wl_site *site, struct wl_http_request *r, struct wl_http_answer *out);

/* The rest, for one that wl_site_begin did not answer. */
void wl_site_work(struct wl_site *site, struct wl_http_request *r, struct wl_http_answer *out);

/* ---- for handlers ---- */

/* The parts of a path that its pattern leaves open: "12" of runs/12/series. */
struct wl_site_parts {
    const char *v[2];
};

typedef void wl_site_handler(struct wl_site *site, const struct wl_http_request *r, const struct wl_site_parts *parts,
                             struct wl_http_answer *out);

/* The store of that number; NULL: none, and *out says so. */
struct wl_served *wl_site_store(struct wl_site *site, const char *number, const struct wl_http_request *r,
                                struct wl_http_answer *out);

/* A run by its id, "1-12", with the rows of its store, to be released; NULL: none, and *out says so. */
struct wl_site_run {
    struct wl_served *served;
    struct wl_snapshot *snapshot;
    const struct wl_run_row *row; /* NULL: there is none, and nothing is to be released */
};
struct wl_site_run wl_site_run(struct wl_site *site, const char *id, const struct wl_http_request *r,
                               struct wl_http_answer *out);

wl_site_handler wl_site_session, wl_site_login, wl_site_logout, wl_site_asset, wl_site_overview, wl_site_runs,
    wl_site_one_run, wl_site_series, wl_site_compare, wl_site_law_list, wl_site_recommendation, wl_site_card, wl_site_event_stream,
    wl_site_report, wl_site_download, wl_site_metrics, wl_site_control_request;

/* control.c: how many requests were taken lately. */
struct wl_site_control *wl_site_control_new(struct wl_arena *a);

/* A row of the table of runs. */
void wl_site_run_json(struct wl_json *o, const struct wl_served *served, const struct wl_snapshot *snapshot,
                      size_t run);

#endif

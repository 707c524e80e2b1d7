/* The parts of `wattlaw serve`: its options (command.c) and what it shows of a store, as docs/reference/serve.md has
 * it. */
#ifndef WL_CMD_WATTLAW_SERVE_INTERNAL_H
#define WL_CMD_WATTLAW_SERVE_INTERNAL_H

#include "cmd/wattlaw/footprint.h"
#include "serve/serve.h"

/* The context of all documents: carbon and cost as the options have them. They may be called by several threads at
 * once. */
struct wl_serve_context {
    const struct wl_footprint *footprint;
};

extern const struct wl_serve_documents wl_serve_documents; /* without its context */

int wl_serve_overview(void *ctx, const char *path, size_t number, struct wl_json *to, struct wl_arena *a,
                      struct wl_err *e) WL_MUST_CHECK;
int wl_serve_run(void *ctx, struct wl_store *s, int64_t run, struct wl_json *to, struct wl_arena *a,
                 struct wl_err *e) WL_MUST_CHECK;
int wl_serve_download(void *ctx, const char *path, const char *name, int64_t run, FILE *to, struct wl_arena *a,
                      struct wl_err *e) WL_MUST_CHECK;
int wl_serve_metrics(void *ctx, const struct wl_strs *paths, struct wl_metrics *m, struct wl_arena *a,
                     struct wl_err *e) WL_MUST_CHECK;

#endif

#include "cmd/wattlaw/recommend/recommend.h"
#include "cmd/wattlaw/report.h"
#include "cmd/wattlaw/serve/internal.h"

/* What `wattlaw recommend --json` prints. */
static int recommendation(void *ctx, const char *path, struct wl_json *to, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_serve_context *c = ctx;
    struct wl_recommend_options o;
    wl_recommend_defaults(&o, a);
    o.footprint = *c->footprint;
    o.json = true;
    return wl_recommend_answer_json(&o, path, to, a, e);
}

/* What `wattlaw report` writes. */
static int report(void *ctx, const char *path, struct wl_text *page, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_serve_context *c = ctx;
    struct wl_footprint footprint = *c->footprint;
    struct wl_report_options what = { .drop_epochs = 1 };
    struct wl_document *d;
    struct wl_store *store;
    int rc = wl_store_open(&store, path, WL_STORE_READ, a, e);
    if (rc == 0) rc = wl_cmd_report_of_store(&footprint, &what, store, a, e);
    if (rc == 0) rc = wl_report_build(&d, store, &what, a, e);
    if (rc == 0) wl_document_html(d, page);
    return rc;
}

const struct wl_serve_documents wl_serve_documents = {
    .overview = wl_serve_overview,
    .run = wl_serve_run,
    .recommendation = recommendation,
    .report = report,
    .download = wl_serve_download,
    .metrics = wl_serve_metrics,
};

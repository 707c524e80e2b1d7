#include "cmd/wattlaw/recommend/recommend.h"
#include "cmd/wattlaw/report.h"
#include "cmd/wattlaw/serve/internal.h"

enum { DROP_EPOCHS = 1 }; /* as the commands do without options */

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

static void add_answer(struct wl_json *list, const struct wl_answer *answer)
{
    struct wl_json *o = wl_json_add_object(list, NULL);
    wl_json_add_str(o, "workload", answer->workload);
    wl_json_add_bool(o, "shown", answer->shown);
    wl_json_add_str(o, "use", answer->use);
    wl_json_add_str(o, "saves", answer->saves);
    wl_json_add_str(o, "sure", answer->sure);
    wl_json_add_str(o, "next", answer->next);
    struct wl_json *notes = wl_json_add_array(o, "notes");
    for (size_t i = 0; i < answer->notes->n; i++) wl_json_add_str(notes, NULL, answer->notes->v[i]);
}

/* What the head of `wattlaw report` says. */
static int card(void *ctx, const char *path, struct wl_json *to, struct wl_arena *a, struct wl_err *e)
{
    struct wl_json *list = wl_json_add_array(to, "cards");
    struct wl_observations obs;
    struct wl_answer *answers;
    struct wl_store *store;
    size_t n = 0;
    (void)ctx;
    int rc = wl_store_open(&store, path, WL_STORE_READ, a, e);
    if (rc == 0) rc = wl_store_observations(store, 0, &obs, a, e);
    if (rc == 0) rc = wl_report_answers(&obs, DROP_EPOCHS, &answers, &n, a, e);
    for (size_t i = 0; i < n; i++) add_answer(list, &answers[i]);
    return rc;
}

/* What `wattlaw report` writes. */
static int report(void *ctx, const char *path, struct wl_text *page, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_serve_context *c = ctx;
    struct wl_footprint footprint = *c->footprint;
    struct wl_report_options what = { .drop_epochs = DROP_EPOCHS };
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
    .card = card,
    .report = report,
    .download = wl_serve_download,
    .metrics = wl_serve_metrics,
};

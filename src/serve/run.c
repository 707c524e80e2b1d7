/* One run. */
#include "serve/site.h"

static void add_head(struct wl_json *root, const struct wl_site_run *run, struct wl_arena *a)
{
    wl_json_add_str(root, "id", wl_strf(a, "%zu-%lld", wl_served_number(run->served), (long long)run->row->id));
    wl_json_add_int(root, "store", (int64_t)wl_served_number(run->served));
    wl_json_add_str(root, "campaign", wl_snapshot_campaign(run->snapshot, run->row->campaign));
}

static int read_run(struct wl_site *site, const struct wl_site_run *run, struct wl_json *root, struct wl_arena *a,
                    struct wl_err *e)
{
    const struct wl_serve_documents *d = site->options->documents;
    struct wl_store *store;
    int rc = wl_store_open(&store, wl_served_path(run->served), WL_STORE_READ, a, e);
    return rc ? rc : d->run(d->ctx, store, run->row->id, root, a, e);
}

void wl_site_one_run(struct wl_site *site, const struct wl_http_request *r, const struct wl_site_parts *parts,
                     struct wl_http_answer *out)
{
    static const char *const none[] = { NULL };
    struct wl_json *root = wl_json_root_object(r->a);
    struct wl_err e;
    if (wl_http_check_params(r, none, &e)) {
        wl_http_answer_failure(out, r->a, &e);
        return;
    }
    struct wl_site_run run = wl_site_run(site, parts->v[0], r, out);
    if (!run.row) return;
    add_head(root, &run, r->a);
    struct wl_arena *scratch = wl_arena_new(r->a);
    const int rc = read_run(site, &run, root, scratch, &e);
    if (rc < 0)
        wl_http_answer_error(out, r->a, rc == WL_ENOENT ? 404 : 500, "%s", e.msg);
    else
        wl_http_answer_json(out, root, r->a);
    wl_arena_free(scratch);
    wl_snapshot_release(run.snapshot);
}

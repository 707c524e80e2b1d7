/* What other commands print of a store, and files to download. */
#include "serve/site.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void wl_site_overview(struct wl_site *site, const struct wl_http_request *r, const struct wl_site_parts *parts,
                      struct wl_http_answer *out)
{
    const struct wl_serve_documents *d = site->options->documents;
    struct wl_json *root = wl_json_root_object(r->a), *list = wl_json_add_array(root, "stores");
    (void)parts;
    for (size_t i = 0; i < site->n_stores; i++) {
        struct wl_served *served = site->stores[i];
        struct wl_snapshot *p = wl_served_get(served);
        struct wl_json *o = wl_json_add_object(list, NULL);
        struct wl_err e = { 0 };
        wl_json_add_int(o, "store", (int64_t)wl_served_number(served));
        wl_json_add_str(o, "path", wl_served_path(served));
        wl_json_add_str(o, "name", wl_served_name(served));
        wl_json_add_int(o, "runs", (int64_t)p->runs.n);
        const int rc =
            p->error ? 0 : d->overview(d->ctx, wl_served_path(served), wl_served_number(served), o, r->a, &e);
        wl_json_add_str(o, "error", p->error ? p->error : rc < 0 ? e.msg : NULL);
        if (!wl_json_get(o, "campaigns")) wl_json_add_array(o, "campaigns");
        wl_snapshot_release(p);
    }
    wl_http_answer_json(out, root, r->a);
}

/* What one of these functions says of the store that is asked for, or why it says nothing. */
static void answer_of_store(struct wl_site *site, const struct wl_http_request *r,
                            int (*add)(void *ctx, const char *path, struct wl_json *to, struct wl_arena *a,
                                       struct wl_err *e),
                            struct wl_http_answer *out)
{
    static const char *const names[] = { "store", NULL };
    struct wl_json *root = wl_json_root_object(r->a);
    struct wl_err e;
    if (wl_http_check_params(r, names, &e)) {
        wl_http_answer_failure(out, r->a, &e);
        return;
    }
    const char *number = wl_http_param(r, "store");
    struct wl_served *served = wl_site_store(site, number ? number : "1", r, out);
    if (!served) return;
    wl_json_add_int(root, "store", (int64_t)wl_served_number(served));
    const int rc = add(site->options->documents->ctx, wl_served_path(served), root, r->a, &e);
    wl_json_add_str(root, "error", rc < 0 ? e.msg : NULL);
    wl_http_answer_json(out, root, r->a);
}

void wl_site_recommendation(struct wl_site *site, const struct wl_http_request *r, const struct wl_site_parts *parts,
                            struct wl_http_answer *out)
{
    (void)parts;
    answer_of_store(site, r, site->options->documents->recommendation, out);
}

void wl_site_card(struct wl_site *site, const struct wl_http_request *r, const struct wl_site_parts *parts,
                  struct wl_http_answer *out)
{
    (void)parts;
    answer_of_store(site, r, site->options->documents->card, out);
}

/* Its own policy, in the page, has the hashes of its scripts and style; this one adds what only a header can say. */
static const char report_policy[] = "frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

void wl_site_report(struct wl_site *site, const struct wl_http_request *r, const struct wl_site_parts *parts,
                    struct wl_http_answer *out)
{
    const struct wl_serve_documents *d = site->options->documents;
    struct wl_text page = WL_TEXT(r->a);
    struct wl_err e;
    struct wl_served *served = wl_site_store(site, parts->v[0], r, out);
    if (!served) return;
    if (d->report(d->ctx, wl_served_path(served), &page, r->a, &e) < 0) {
        wl_http_answer_error(out, r->a, e.code == WL_EJOB ? 404 : 500, "%s", e.msg);
        return;
    }
    *out = (struct wl_http_answer) {
        .status = 200, .type = "text/html; charset=utf-8", .body = page.s, .n_body = page.n, .policy = report_policy
    };
}

/* In the format that the client prefers; never stored, since they are of now. */
void wl_site_metrics(struct wl_site *site, const struct wl_http_request *r, const struct wl_site_parts *parts,
                     struct wl_http_answer *out)
{
    const struct wl_serve_documents *d = site->options->documents;
    const enum wl_metrics_format format = wl_metrics_accepted(r->accept);
    struct wl_text text = WL_TEXT(r->a);
    struct wl_metrics m;
    struct wl_err e;
    (void)parts;
    if (!d->metrics) {
        wl_http_answer_error(out, r->a, 404, "this server has no metrics");
        return;
    }
    wl_metrics_open(&m, &text, format, r->a);
    const int rc = d->metrics(d->ctx, site->options->paths, &m, r->a, &e);
    wl_metrics_close(&m);
    if (rc < 0)
        wl_http_answer_failure(out, r->a, &e);
    else
        *out = (struct wl_http_answer) {
            .status = 200, .type = wl_metrics_media_type(format), .body = text.s, .n_body = text.n
        };
}

/* ---- downloads ---- */

static int write_download(struct wl_site *site, const struct wl_http_request *r, const struct wl_served *served,
                          const char *name, FILE *to, struct wl_err *e)
{
    static const char *const names[] = { "run", NULL };
    const struct wl_serve_documents *d = site->options->documents;
    int64_t run;
    int rc = wl_http_check_params(r, names, e);
    if (rc == 0) rc = wl_http_param_int(r, "run", 0, 1, INT64_MAX, &run, e);
    if (rc == 0) rc = d->download(d->ctx, wl_served_path(served), name, run, to, r->a, e);
    if (rc == 0 && (fflush(to) || ferror(to))) rc = wl_fail_errno(e, "cannot write the file to send");
    return rc;
}

void wl_site_download(struct wl_site *site, const struct wl_http_request *r, const struct wl_site_parts *parts,
                      struct wl_http_answer *out)
{
    struct wl_served *served = wl_site_store(site, parts->v[0], r, out);
    struct wl_err e;
    if (!served) return;
    FILE *file = tmpfile(); /* readings of a run may be more than memory holds; it has no name */
    if (!file) {
        wl_fail_errno(&e, "cannot make the file to send");
        wl_http_answer_failure(out, r->a, &e);
        return;
    }
    if (write_download(site, r, served, parts->v[1], file, &e) < 0) {
        fclose(file);
        wl_http_answer_failure(out, r->a, &e);
        return;
    }
    *out = (struct wl_http_answer) { .status = 200,
                                     .type = "text/csv; charset=utf-8",
                                     .file = file,
                                     .filename = wl_strf(r->a, "%s-%s", wl_served_name(served), parts->v[1]) };
}

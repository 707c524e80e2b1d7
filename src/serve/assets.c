/* The page and its files: a fixed list, so that no path leads anywhere else. */
#include "serve/assets.h"

#include "serve/site.h"

#include <string.h>

static const char page[] = "serve.html", charts[] = "chart.min.js";

/* The name below assets/ of a file; of the page NULL. Chart.js has that of its file where it was found. */
static const char *public_name(const struct wl_asset *asset)
{
    if (strcmp(asset->name, page) == 0) return NULL;
    return strcmp(asset->name, charts) == 0 ? "chart.js" : asset->name;
}

void wl_site_asset(struct wl_site *site, const struct wl_http_request *r, const struct wl_site_parts *parts,
                   struct wl_http_answer *out)
{
    (void)site;
    for (const struct wl_asset *v = wl_serve_assets; v->name; v++) {
        if (!wl_str_eq(public_name(v), parts->v[0])) continue;
        *out = (struct wl_http_answer) {
            .status = 200, .type = v->type, .body = (const char *)v->bytes, .n_body = v->n, .etag = v->etag
        };
        if (r->if_none_match && strstr(r->if_none_match, v->etag))
            *out = (struct wl_http_answer) { .status = 304, .etag = v->etag };
        return;
    }
    wl_http_answer_error(out, r->a, 404, "nothing is at this path");
}

#include "serve/site.h"

#include <pthread.h>
#include <string.h>

/* ---- routes ---- */

enum how {
    AT_ONCE, /* in the thread of all connections */
    QUICK,
    SLOW,
};

struct route {
    const char *path; /* "*": any part */
    enum wl_http_method method;
    bool open;   /* without the token, too */
    bool cached; /* by the state of all stores */
    enum how how;
    wl_site_handler *handler;
};

static const struct route routes[] = {
    { "", WL_HTTP_GET, true, false, AT_ONCE, wl_site_asset },
    { "assets/*", WL_HTTP_GET, true, false, AT_ONCE, wl_site_asset },
    { "api/v1/session", WL_HTTP_GET, true, false, AT_ONCE, wl_site_session },
    { "api/v1/login", WL_HTTP_POST, true, false, AT_ONCE, wl_site_login },
    { "api/v1/logout", WL_HTTP_POST, true, false, AT_ONCE, wl_site_logout },
    { "api/v1/overview", WL_HTTP_GET, false, true, QUICK, wl_site_overview },
    { "api/v1/runs", WL_HTTP_GET, false, true, QUICK, wl_site_runs },
    { "api/v1/runs/*", WL_HTTP_GET, false, true, QUICK, wl_site_one_run },
    { "api/v1/runs/*/series", WL_HTTP_GET, false, true, QUICK, wl_site_series },
    { "api/v1/compare", WL_HTTP_GET, false, true, QUICK, wl_site_compare },
    { "api/v1/laws", WL_HTTP_GET, false, false, QUICK, wl_site_law_list },
    { "api/v1/recommendation", WL_HTTP_GET, false, true, SLOW, wl_site_recommendation },
    { "api/v1/card", WL_HTTP_GET, false, true, SLOW, wl_site_card },
    { "api/v1/control", WL_HTTP_POST, false, false, QUICK, wl_site_control_request },
    { "api/v1/events", WL_HTTP_GET, false, false, AT_ONCE, wl_site_event_stream },
    { "report/*", WL_HTTP_GET, false, true, SLOW, wl_site_report },
    { "download/*/*", WL_HTTP_GET, false, false, SLOW, wl_site_download },
    { "metrics", WL_HTTP_GET, false, false, QUICK, wl_site_metrics },
};

/* Does the path have the form of the pattern? Then parts has what its stars are. */
static bool matches(const char *pattern, const char *path, struct wl_site_parts *parts, struct wl_arena *a)
{
    size_t n = 0;
    *parts = (struct wl_site_parts) { 0 };
    for (;;) {
        const size_t np = strcspn(pattern, "/"), ns = strcspn(path, "/");
        if (np == 1 && *pattern == '*') {
            if (ns == 0 || n == WL_COUNT(parts->v)) return false;
            parts->v[n++] = wl_strndup(a, path, ns);
        } else if (np != ns || strncmp(pattern, path, np) != 0) {
            return false;
        }
        pattern += np;
        path += ns;
        if (!*pattern || !*path) return *pattern == *path;
        pattern++;
        path++;
    }
}

/* NULL: none. *other: there is one of another method. */
static const struct route *route_of(const struct wl_site *site, const struct wl_http_request *r,
                                    struct wl_site_parts *parts, bool *other)
{
    *other = false;
    for (size_t i = 0; i < WL_COUNT(routes); i++) {
        if (site->options->metrics_alone && routes[i].handler != wl_site_metrics) continue;
        if (!matches(routes[i].path, r->path, parts, r->a)) continue;
        if (routes[i].method == r->method) return &routes[i];
        *other = true;
    }
    return NULL;
}

/* ---- answers ---- */

/* Of all stores, as a header has it. The series is that of this process: another one may compute other answers. */
static const char *etag_of(const struct wl_site *site, struct wl_arena *a)
{
    uint64_t h = 0;
    for (size_t i = 0; i < site->n_stores; i++) h = h * 31 + wl_served_state(site->stores[i]);
    return wl_strf(a, "\"%.8s-%016llx\"", site->access.session, (unsigned long long)h);
}

static bool is_known(const struct wl_http_request *r, const char *etag)
{
    return r->if_none_match && strstr(r->if_none_match, etag) != NULL;
}

static void answer_unchanged(struct wl_http_answer *out, const char *etag)
{
    *out = (struct wl_http_answer) { .status = 304, .etag = etag };
}

/* Looks for an answer that is known; *etag: that of the present state. */
static bool answer_cached(struct wl_site *site, const struct wl_http_request *r, const char **etag,
                          struct wl_http_answer *out)
{
    *etag = etag_of(site, r->a);
    if (is_known(r, *etag)) {
        answer_unchanged(out, *etag);
        return true;
    }
    return wl_answer_cache_get(site->cache, r->target, *etag, out, r->a);
}

static bool refuse(struct wl_site *site, const struct wl_http_request *r, struct wl_http_answer *out)
{
    if (!wl_access_accepts_host(&site->access, r)) {
        wl_http_answer_error(out, r->a, 421,
                             "the request is for another host: use the address that wattlaw serve printed, or start it "
                             "with --host NAME");
        return true;
    }
    if (r->method == WL_HTTP_POST && !wl_access_accepts_origin(&site->access, r)) {
        wl_http_answer_error(out, r->a, 403, "the request is from a page of another site");
        return true;
    }
    return false;
}

enum wl_site_work wl_site_begin(struct wl_site *site, struct wl_http_request *r, struct wl_http_answer *out)
{
    struct wl_site_parts parts;
    struct wl_err e;
    const char *etag;
    bool is_base, other;
    *out = (struct wl_http_answer) { 0 };
    wl_http_take_absolute_target(r); /* before the host is looked at */
    if (refuse(site, r, out)) return WL_SITE_ANSWERED;
    if (wl_http_parse_target(r, site->options->base, &is_base, &e)) {
        wl_http_answer_failure(out, r->a, &e);
        return WL_SITE_ANSWERED;
    }
    if (is_base) {
        *out = (struct wl_http_answer) { .status = 308, .location = wl_strf(r->a, "%s/", site->options->base) };
        return WL_SITE_ANSWERED;
    }
    const struct route *route = route_of(site, r, &parts, &other);
    if (!route && other)
        wl_http_answer_error(out, r->a, 405, "this path does not take that method");
    else if (!route)
        wl_http_answer_error(out, r->a, 404, "nothing is at this path%s",
                             site->options->metrics_alone ? ": metrics are at metrics" : "");
    else if (!route->open && !wl_access_knows(&site->access, r))
        wl_http_answer_error(out, r->a, 401, "a token is required");
    else if (route->how == AT_ONCE)
        route->handler(site, r, &parts, out);
    else if (!route->cached || !answer_cached(site, r, &etag, out))
        return route->how == SLOW ? WL_SITE_SLOW : WL_SITE_QUICK;
    return WL_SITE_ANSWERED;
}

void wl_site_work(struct wl_site *site, struct wl_http_request *r, struct wl_http_answer *out)
{
    struct wl_site_parts parts;
    const char *etag = NULL;
    bool other;
    const struct route *route = route_of(site, r, &parts, &other);
    *out = (struct wl_http_answer) { 0 };
    if (site->ending) {
        wl_http_answer_error(out, r->a, 503, "this server stops");
        return;
    }
    /* another request may have computed it while this one waited */
    if (route->cached && answer_cached(site, r, &etag, out)) return;
    route->handler(site, r, &parts, out);
    if (!route->cached || out->status != 200) return;
    out->etag = etag;
    if (out->body) wl_answer_cache_put(site->cache, r->target, out);
}

/* ---- parts of the site ---- */

int wl_site_new(struct wl_site **out, const struct wl_serve_options *o, struct wl_arena *a, struct wl_err *e)
{
    struct wl_site *site = wl_new(a, struct wl_site);
    *site = (struct wl_site) { .options = o, .a = a, .n_stores = o->paths->n, .access.hosts = o->hosts };
    site->stores = wl_new_array(a, struct wl_served *, o->paths->n);
    for (size_t i = 0; i < o->paths->n; i++) site->stores[i] = wl_served_new(o->paths->v[i], i + 1, a);
    site->events = wl_events_new(a);
    site->cache = wl_answer_cache_new(a);
    site->laws = wl_site_laws_new(a);
    if (o->allow_control && o->token) site->control = wl_site_control_new(a);
    *out = site;
    return wl_access_init(&site->access, o->token, o->base, o->port, e);
}

struct wl_served *wl_site_store(struct wl_site *site, const char *number, const struct wl_http_request *r,
                                struct wl_http_answer *out)
{
    int64_t n;
    if (wl_str_to_int(number, &n) == 0 && n >= 1 && (size_t)n <= site->n_stores) return site->stores[n - 1];
    wl_http_answer_error(out, r->a, 404, "%s: no such store: expected 1 to %zu", number, site->n_stores);
    return NULL;
}

struct wl_site_run wl_site_run(struct wl_site *site, const char *id, const struct wl_http_request *r,
                               struct wl_http_answer *out)
{
    struct wl_site_run run = { 0 };
    const char *dash = strchr(id, '-');
    int64_t number;
    if (!dash || wl_str_to_int(dash + 1, &number) < 0) {
        wl_http_answer_error(out, r->a, 404, "%s: expected a run as STORE-NUMBER, such as 1-12", id);
        return run;
    }
    run.served = wl_site_store(site, wl_strndup(r->a, id, (size_t)(dash - id)), r, out);
    if (!run.served) return run;
    run.snapshot = wl_served_get(run.served);
    run.row = wl_snapshot_run(run.snapshot, number);
    if (run.row) return run;
    if (run.snapshot->error)
        wl_http_answer_error(out, r->a, 500, "%s", run.snapshot->error);
    else
        wl_http_answer_error(out, r->a, 404, "%s: no such run", id);
    wl_snapshot_release(run.snapshot);
    return run;
}

/* ---- session ---- */

void wl_site_session(struct wl_site *site, const struct wl_http_request *r, const struct wl_site_parts *parts,
                     struct wl_http_answer *out)
{
    struct wl_json *root = wl_json_root_object(r->a);
    const bool known = wl_access_knows(&site->access, r);
    (void)parts;
    wl_json_add_bool(root, "login", !known);
    wl_json_add_bool(root, "logout", known && site->access.needs_token);
    wl_json_add_bool(root, "control", known && site->control);
    if (known && site->control) wl_json_add_str(root, "csrf", site->access.csrf);
    wl_json_add_str(root, "version", WL_VERSION);
    wl_http_answer_json(out, root, r->a);
}

void wl_site_login(struct wl_site *site, const struct wl_http_request *r, const struct wl_site_parts *parts,
                   struct wl_http_answer *out)
{
    (void)parts;
    if (!site->access.needs_token) {
        wl_http_answer_error(out, r->a, 400, "this server needs no token");
    } else if (!wl_access_is_token(&site->access, wl_http_form_value(r->body, "token", r->a))) {
        wl_http_answer_error(out, r->a, 401, "that is not the token of this server");
    } else {
        *out = (struct wl_http_answer) { .status = 204, .cookie = wl_access_login_cookie(&site->access, r->a) };
    }
}

void wl_site_logout(struct wl_site *site, const struct wl_http_request *r, const struct wl_site_parts *parts,
                    struct wl_http_answer *out)
{
    (void)parts;
    *out = (struct wl_http_answer) { .status = 204, .cookie = wl_access_logout_cookie(&site->access, r->a) };
}

void wl_site_event_stream(struct wl_site *site, const struct wl_http_request *r, const struct wl_site_parts *parts,
                          struct wl_http_answer *out)
{
    (void)site;
    (void)r;
    (void)parts;
    *out = (struct wl_http_answer) { .status = 200, .type = "text/event-stream", .is_events = true };
}

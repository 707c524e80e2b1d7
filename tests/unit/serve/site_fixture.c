#include "site_fixture.h"

#include "synthetic_store.h"

#include <stdio.h>

static int overview(void *ctx, const char *path, size_t number, struct wl_json *to, struct wl_arena *a,
                    struct wl_err *e)
{
    (void)ctx, (void)path, (void)number, (void)a, (void)e;
    wl_json_add_array(to, "campaigns");
    return 0;
}

static int run(void *ctx, struct wl_store *s, int64_t id, struct wl_json *to, struct wl_arena *a, struct wl_err *e)
{
    (void)ctx, (void)s, (void)a, (void)e;
    wl_json_add_int(to, "made", id);
    return 0;
}

static int recommendation(void *ctx, const char *path, struct wl_json *to, struct wl_arena *a, struct wl_err *e)
{
    (void)ctx, (void)path, (void)to, (void)a;
    return wl_fail(e, WL_EINVAL, "too few runs");
}

static int card(void *ctx, const char *path, struct wl_json *to, struct wl_arena *a, struct wl_err *e)
{
    (void)ctx, (void)path, (void)a, (void)e;
    wl_json_add_array(to, "cards");
    return 0;
}

static int report(void *ctx, const char *path, struct wl_text *page, struct wl_arena *a, struct wl_err *e)
{
    (void)ctx, (void)path, (void)a, (void)e;
    wl_text_add(page, "<!doctype html>");
    return 0;
}

static int download(void *ctx, const char *path, const char *name, int64_t id, FILE *to, struct wl_arena *a,
                    struct wl_err *e)
{
    (void)ctx, (void)path, (void)a;
    if (!wl_str_eq(name, "runs.csv")) return wl_fail(e, WL_ENOENT, "%s: no such file", name);
    fprintf(to, "run\n%lld\n", (long long)id);
    return 0;
}

static const struct wl_serve_documents documents = { overview, run, recommendation, card, report, download, NULL };

static bool at_once(void *ctx, void (*call)(void *what), void *what)
{
    (void)ctx;
    call(what);
    return true;
}

struct wl_site *site_fixture(const char *folder, const char *token, const char *base, struct wl_arena *a)
{
    struct wl_strs *paths = wl_new(a, struct wl_strs), *hosts = wl_new(a, struct wl_strs);
    struct wl_serve_options *o = wl_new(a, struct wl_serve_options);
    struct wl_site *site;
    struct wl_err e;
    for (int i = 1; i <= 2; i++) wl_strs_add(a, paths, wl_strf(a, "%s/%d.db", folder, i));
    WL_CHECK(wl_is_file(paths->v[0]) || synthetic_store(paths->v[0], &synthetic_small, a, &e) == 0);
    WL_CHECK(wl_is_file(paths->v[1]) || synthetic_store(paths->v[1], &synthetic_capped, a, &e) == 0);
    *o = (struct wl_serve_options) { .paths = paths,
                                     .address = "127.0.0.1",
                                     .port = 8087,
                                     .token = token,
                                     .base = base,
                                     .hosts = hosts,
                                     .connections = 16,
                                     .allow_control = token != NULL,
                                     .user = "lab@n1",
                                     .documents = &documents };
    WL_CHECK(wl_site_new(&site, o, a, &e) == 0);
    site->later = at_once;
    return site;
}

struct wl_http_answer site_answer(struct wl_site *site, struct wl_http_request *r)
{
    struct wl_http_answer out;
    if (wl_site_begin(site, r, &out) != WL_SITE_ANSWERED) wl_site_work(site, r, &out);
    return out;
}

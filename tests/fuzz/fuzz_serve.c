/* Any request to a server of stores: an answer with a status that the documents list, which is text or JSON. The input
 * is the target, then headers "Name: value", an empty line and the body, as in a request; a target that begins with
 * "POST " is one. */
#include "fuzz.h"

#include "site_fixture.h"

#include <ftw.h>
#include <stdlib.h>
#include <string.h>

static struct wl_site *sites[2]; /* without and with a token */
static char *folder;

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static void remove_stores(void) { nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS); }

static void make_sites(void)
{
    struct wl_arena *a = wl_arena_new(NULL); /* until the end */
    wl_arena_leak(a);
    folder = wl_strf(a, "%s/fuzz-serve-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    WL_CHECK(mkdtemp(folder));
    atexit(remove_stores);
    sites[0] = site_fixture(folder, NULL, "/", a);
    sites[1] = site_fixture(folder, "correct-horse-battery", "/w", a);
    for (size_t i = 0; i < WL_COUNT(sites); i++) sites[i]->n_stores = 1; /* the small one: laws of it take a moment */
}

static char *next_line(char **at)
{
    char *line = *at, *end = strchr(line, '\n');
    *at = end ? end + 1 : line + strlen(line);
    if (end) *end = '\0';
    line[strcspn(line, "\r")] = '\0';
    return line;
}

static void set_header(struct wl_http_request *r, const char *line)
{
    const struct {
        const char *name, **to;
    } headers[] = { { "Host: ", &r->host },
                    { "Cookie: ", &r->cookie },
                    { "Authorization: ", &r->authorization },
                    { "If-None-Match: ", &r->if_none_match },
                    { "Last-Event-ID: ", &r->last_event_id },
                    { "Origin: ", &r->origin },
                    { "Content-Type: ", &r->content_type },
                    { "Sec-Fetch-Site: ", &r->fetch_site },
                    { "X-Wattlaw-CSRF: ", &r->csrf } };
    for (size_t i = 0; i < WL_COUNT(headers); i++)
        if (wl_str_starts(line, headers[i].name)) *headers[i].to = line + strlen(headers[i].name);
}

static void check(const struct wl_http_request *r, const struct wl_http_answer *v, struct wl_arena *a)
{
    static const int statuses[] = { 200, 204, 304, 308, 400, 401, 403, 404, 405, 409, 421, 500 };
    size_t i = 0;
    while (i < WL_COUNT(statuses) && statuses[i] != v->status) i++;
    WL_CHECK(i < WL_COUNT(statuses));
    WL_CHECK(v->n_body == 0 || v->body);
    WL_CHECK(v->status == 204 || v->status == 304 || v->status == 308 || v->type);
    struct wl_json *root;
    if (v->type && strcmp(v->type, "application/json") == 0)
        WL_CHECK(wl_json_parse(wl_strndup(a, v->body, v->n_body), "answer", &root, a, NULL) == 0);
    WL_CHECK(!v->location || strcmp(v->location, "/w/") == 0);
    (void)r;
}

/* A stream that such a client opens ends at what is there. */
static void read_events(const struct wl_site *site, const struct wl_http_request *r)
{
    struct wl_event_stream s = wl_events_begin(site->events, r->last_event_id, NULL);
    char part[100];
    size_t bytes = 0;
    for (size_t n; (n = wl_events_read(site->events, &s, part, sizeof part)) > 0;) bytes += n;
    WL_CHECK(bytes < (1 << 20));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (!folder) make_sites();
    for (size_t i = 0; i < WL_COUNT(sites); i++) {
        struct wl_arena *a = wl_arena_new(NULL);
        char *at = wl_strndup(a, (const char *)data, n), *line = next_line(&at);
        struct wl_http_request r = { .host = "localhost", .n_hosts = 1, .body = "", .a = a };
        r.method = wl_str_starts(line, "POST ") ? WL_HTTP_POST : WL_HTTP_GET;
        r.target = r.method == WL_HTTP_POST ? line + strlen("POST ") : line;
        while (*(line = next_line(&at))) set_header(&r, line);
        r.body = at;
        r.n_body = strlen(at);
        if (sites[i]->control) sites[i]->control = wl_site_control_new(a); /* never too many of them lately */
        struct wl_http_answer v = site_answer(sites[i], &r);
        check(&r, &v, a);
        if (v.is_events) read_events(sites[i], &r);
        if (v.file) fclose(v.file);
        wl_arena_free(a);
    }
    return 0;
}

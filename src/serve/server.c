/* HTTP, by libmicrohttpd: one thread serves all connections and never waits; what reads a store is done by the pool,
 * while the connection is suspended. docs/adr/169 */
#include "serve/listen.h"
#include "serve/pool.h"
#include "serve/site.h"
#include "serve/streams.h"
#include "serve/watch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BODY_MAX = 4096,
    HEADER_BYTES = 32 << 10, /* of a connection, for its request's header and its answer's */
    IDLE_S = 30              /* a client that takes nothing for so long is disconnected */
};
static const int64_t REQUEST_NS = 10 * WL_NS_PER_S;

struct wl_server {
    struct wl_serve_options options; /* with the port that it has */
    struct wl_site *site;
    struct wl_pool *pool;
    struct wl_watch *watch;
    struct wl_connections *connections;
    struct MHD_Daemon *daemon;
    struct wl_streams *streams;
    int listen_fd;
};

/* ---- a request and its answer ---- */

struct exchange {
    struct wl_server *server;
    struct MHD_Connection *connection;
    struct wl_http_request r;
    struct wl_http_answer answer;
    char body[BODY_MAX + 1];
    size_t n_lengths, n_codings;     /* headers that say where the body ends */
    bool begun, too_large, answered; /* answered: by the pool, or at once */
    bool malformed;
};

static struct wl_connection *slot_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

/* The first thing that is known of a request, before its path has been decoded by the library. */
static void *begin_exchange(void *ctx, const char *target, struct MHD_Connection *c)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct exchange *x = wl_new(a, struct exchange);
    x->server = ctx;
    x->connection = c;
    x->r = (struct wl_http_request) { .target = wl_strdup(a, target), .a = a };
    return x;
}

static void end_exchange(void *ctx, struct MHD_Connection *c, void **cls, enum MHD_RequestTerminationCode how)
{
    struct wl_server *server = ctx;
    struct exchange *x = *cls;
    (void)how;
    wl_connection_answered(server->connections, slot_of(c));
    if (!x) return;
    if (x->answer.file) fclose(x->answer.file);
    wl_arena_free(x->r.a);
    *cls = NULL;
}

static enum MHD_Result read_header(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct exchange *x = cls;
    struct wl_http_request *r = &x->r;
    const struct {
        const char *name, **to;
    } headers[] = {
        { "Host", &r->host },
        { "Cookie", &r->cookie },
        { "Authorization", &r->authorization },
        { "If-None-Match", &r->if_none_match },
        { "Last-Event-ID", &r->last_event_id },
        { "Origin", &r->origin },
        { "Accept", &r->accept },
        { "Content-Type", &r->content_type },
        { "X-Wattlaw-CSRF", &r->csrf },
        { "Sec-Fetch-Site", &r->fetch_site },
    };
    (void)kind;
    r->n_hosts += strcasecmp(name, "Host") == 0;
    x->n_lengths += strcasecmp(name, "Content-Length") == 0;
    x->n_codings += strcasecmp(name, "Transfer-Encoding") == 0;
    x->malformed |= !*name || name[strcspn(name, " \t")] || x->n_lengths + x->n_codings > 1 ||
                    (strcasecmp(name, "Transfer-Encoding") == 0 && !wl_str_eq(value, "chunked"));
    if (strcasecmp(name, "Content-Length") == 0 && value && strtoull(value, NULL, 10) > BODY_MAX) x->too_large = true;
    for (size_t i = 0; i < WL_COUNT(headers); i++)
        if (strcasecmp(name, headers[i].name) == 0) *headers[i].to = wl_strdup(r->a, value ? value : "");
    return MHD_YES;
}

static void add_headers(struct MHD_Response *to, const struct wl_http_answer *v, struct wl_arena *a)
{
    static const char policy[] = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
                                 "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
    const char *disposition = v->filename ? wl_strf(a, "attachment; filename=\"%s\"", v->filename) : NULL;
    const struct {
        const char *name, *value;
    } headers[] = {
        { "Content-Type", v->type },
        { "Content-Security-Policy", v->policy ? v->policy : policy },
        { "X-Content-Type-Options", "nosniff" },
        { "X-Frame-Options", "DENY" },
        { "Referrer-Policy", "no-referrer" },
        { "Cross-Origin-Resource-Policy", "same-origin" },
        { "Cross-Origin-Opener-Policy", "same-origin" },
        { "Cache-Control", v->etag ? "no-cache" : "no-store" },
        { "ETag", v->etag },
        { "Location", v->location },
        { "Set-Cookie", v->cookie },
        { "Content-Disposition", disposition },
        { "WWW-Authenticate", v->status == 401 ? "Bearer" : NULL },
        { "X-Accel-Buffering", v->is_events ? "no" : NULL }, /* nginx would keep events back */
    };
    for (size_t i = 0; i < WL_COUNT(headers); i++)
        if (headers[i].value) MHD_add_response_header(to, headers[i].name, headers[i].value);
}

static struct MHD_Response *response_of_file(const struct wl_http_answer *v)
{
    struct stat st;
    const int fd = dup(fileno(v->file));
    struct MHD_Response *response = NULL;
    if (fd >= 0 && fstat(fd, &st) == 0) response = MHD_create_response_from_fd64((uint64_t)st.st_size, fd);
    if (!response && fd >= 0) close(fd);
    return response;
}

static struct MHD_Response *response_of(struct exchange *x)
{
    const struct wl_http_answer *v = &x->answer;
    if (v->file) return response_of_file(v);
    /* the body lives as long as the exchange, or the program */
    if (!v->is_events)
        return MHD_create_response_from_buffer(v->n_body, (void *)(uintptr_t)v->body, MHD_RESPMEM_PERSISTENT);
    struct MHD_Response *response = wl_streams_begin(x->server->streams, x->connection, x->r.last_event_id);
    if (response) return response;
    wl_http_answer_error(&x->answer, x->r.a, 503, "too many streams of events are open");
    return MHD_create_response_from_buffer(v->n_body, (void *)(uintptr_t)v->body, MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result send_answer(struct exchange *x)
{
    struct MHD_Response *response = response_of(x);
    if (!response) return MHD_NO;
    add_headers(response, &x->answer, x->r.a);
    if (x->malformed) MHD_add_response_header(response, "Connection", "close");
    const enum MHD_Result ok = MHD_queue_response(x->connection, (unsigned)x->answer.status, response);
    MHD_destroy_response(response);
    return ok;
}

/* In a thread of the pool. */
static void work(void *what)
{
    struct exchange *x = what;
    wl_site_work(x->server->site, &x->r, &x->answer);
    x->answered = true;
    MHD_resume_connection(x->connection);
}

/* The address that a request is from: of a reverse proxy its own. */
static const char *client_of(struct MHD_Connection *c, struct wl_arena *a)
{
    char text[INET6_ADDRSTRLEN];
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *at = info ? info->client_addr : NULL;
    const void *address =
        !at                         ? NULL
        : at->sa_family == AF_INET6 ? (const void *)&((const struct sockaddr_in6 *)(const void *)at)->sin6_addr
        : at->sa_family == AF_INET  ? (const void *)&((const struct sockaddr_in *)(const void *)at)->sin_addr
                                    : NULL;
    return address && inet_ntop(at->sa_family, address, text, sizeof text) ? wl_strdup(a, text) : NULL;
}

static enum MHD_Result answer(struct exchange *x)
{
    struct wl_server *server = x->server;
    const enum wl_site_work how = wl_site_begin(server->site, &x->r, &x->answer);
    if (how == WL_SITE_ANSWERED) return send_answer(x);
    MHD_suspend_connection(x->connection); /* before the pool has it, which resumes it */
    if (wl_pool_add(server->pool, how == WL_SITE_SLOW ? WL_POOL_SLOW : WL_POOL_QUICK, work, x)) return MHD_YES;
    wl_http_answer_error(&x->answer, x->r.a, 503, "too many requests wait");
    x->answered = true;
    MHD_resume_connection(x->connection);
    return MHD_YES;
}

static enum wl_http_method method_of(const char *name)
{
    if (strcmp(name, MHD_HTTP_METHOD_GET) == 0 || strcmp(name, MHD_HTTP_METHOD_HEAD) == 0) return WL_HTTP_GET;
    return strcmp(name, MHD_HTTP_METHOD_POST) == 0 ? WL_HTTP_POST : WL_HTTP_OTHER;
}

static enum MHD_Result refuse_large(struct exchange *x)
{
    wl_http_answer_error(&x->answer, x->r.a, 413, "expected at most %d bytes in the body of a request", BODY_MAX);
    return send_answer(x);
}

/* One of which a proxy in front may read another body, and what follows as another request (request smuggling). */
static enum MHD_Result refuse_malformed(struct exchange *x)
{
    wl_http_answer_error(&x->answer, x->r.a, 400, "expected one length of the body: Content-Length, or chunked");
    return send_answer(x);
}

/* Called with the header, then with each part of the body, then with nothing; and once more after a suspension. */
static enum MHD_Result handle(void *ctx, struct MHD_Connection *c, const char *url, const char *method,
                              const char *version, const char *part, size_t *n_part, void **cls)
{
    struct wl_server *server = ctx;
    struct exchange *x = *cls;
    (void)url;
    (void)version;
    if (!x) return MHD_NO;
    if (!x->begun) {
        x->begun = true;
        x->r.method = method_of(method);
        MHD_get_connection_values(c, MHD_HEADER_KIND, read_header, x);
        return x->malformed ? refuse_malformed(x) : x->too_large ? refuse_large(x) : MHD_YES;
    }
    if (*n_part) {
        const size_t room = BODY_MAX - x->r.n_body, n = *n_part < room ? *n_part : room;
        x->too_large |= n < *n_part;
        memcpy(x->body + x->r.n_body, part, n);
        x->r.n_body += n;
        *n_part = 0;
        return MHD_YES;
    }
    if (x->answered) return send_answer(x);
    wl_connection_received(server->connections, slot_of(c));
    x->r.body = x->body;
    x->r.client = client_of(c, x->r.a);
    return x->too_large ? refuse_large(x) : answer(x);
}

static void on_connection(void *ctx, struct MHD_Connection *c, void **slot, enum MHD_ConnectionNotificationCode how)
{
    struct wl_server *server = ctx;
    if (how == MHD_CONNECTION_NOTIFY_CLOSED) {
        wl_connections_remove(server->connections, *slot);
        *slot = NULL;
        return;
    }
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info) *slot = wl_connections_add(server->connections, info->connect_fd);
}

/* ---- start and end ---- */

static void log_line(void *ctx, const char *format, va_list ap) WL_PRINTF(2, 0);
static void log_line(void *ctx, const char *format, va_list ap)
{
    char line[300];
    (void)ctx;
    if (vsnprintf(line, sizeof line, format, ap) < 0) return;
    line[strcspn(line, "\r\n")] = '\0';
    wl_log(WL_DEBUG, "serve", "%s", line);
}

static bool later(void *ctx, void (*call)(void *what), void *what)
{
    const struct wl_server *server = ctx;
    return wl_pool_add(server->pool, WL_POOL_SLOW, call, what);
}

/* No connection may be suspended when the daemon ends: streams end, and the pool finishes. */
static void end_server(void *ctx)
{
    struct wl_server *s = ctx;
    if (s->daemon) {
        s->site->ending = true;
        (void)MHD_quiesce_daemon(s->daemon);
        wl_streams_end(s->streams);
        wl_pool_drain(s->pool);
        MHD_stop_daemon(s->daemon);
    }
}

/* Last of all: events may come until their thread has ended. */
static void release(void *ctx)
{
    struct wl_server *s = ctx;
    if (s->listen_fd >= 0) close(s->listen_fd);
}

static int start_daemon(struct wl_server *s, struct wl_err *e)
{
    const unsigned most = (unsigned)s->options.connections;
    s->daemon = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL,
                                 NULL, handle, s, MHD_OPTION_EXTERNAL_LOGGER, log_line, NULL, MHD_OPTION_LISTEN_SOCKET,
                                 s->listen_fd, MHD_OPTION_CONNECTION_LIMIT, most, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
                                 most / 2, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
                                 MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADER_BYTES, MHD_OPTION_STRICT_FOR_CLIENT,
                                 1, MHD_OPTION_URI_LOG_CALLBACK, begin_exchange, s, MHD_OPTION_NOTIFY_COMPLETED,
                                 end_exchange, s, MHD_OPTION_NOTIFY_CONNECTION, on_connection, s, MHD_OPTION_END);
    return s->daemon ? 0 : wl_fail_errno(e, "libmicrohttpd cannot start");
}

static const char *url_of(const struct wl_serve_options *o, struct wl_arena *a)
{
    const bool is_ipv6 = strchr(o->address, ':') != NULL;
    return wl_strf(a, "http://%s%s%s:%d%s%s", is_ipv6 ? "[" : "", o->address, is_ipv6 ? "]" : "", o->port, o->base,
                   o->base[1] ? "/" : "");
}

int wl_serve_start(struct wl_server **out, const struct wl_serve_options *options, const char **url, struct wl_arena *a,
                   struct wl_err *e)
{
    struct wl_server *s = wl_new(a, struct wl_server);
    *s = (struct wl_server) { .options = *options, .listen_fd = -1 };
    wl_defer(a, release, s);
    s->listen_fd = wl_listen(options->address, &s->options.port, e);
    if (s->listen_fd < 0) return s->listen_fd;
    s->connections = wl_connections_new((size_t)options->connections, a);
    int rc = wl_site_new(&s->site, &s->options, a, e);
    if (rc == 0) rc = wl_pool_new(&s->pool, a, e);
    if (rc == 0) s->streams = wl_streams_new(s->site->events, &s->watch, a); /* outlives the thread of the watch */
    if (rc == 0) rc = wl_watch_new(&s->watch, s->site->stores, s->site->n_stores, s->site->events, a, e);
    wl_defer(a, end_server, s); /* before what it uses ends */
    if (rc < 0) return rc;
    s->site->later = later;
    s->site->later_ctx = s;
    rc = start_daemon(s, e);
    if (rc < 0) return rc;
    *url = url_of(&s->options, a);
    *out = s;
    return 0;
}

void wl_serve_tick(struct wl_server *s)
{
    wl_connections_end_slow(s->connections, REQUEST_NS);
    wl_streams_end_closed(s->streams);
}

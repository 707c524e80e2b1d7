#include "cmd/wattlaw/http.h"

#include "cmd/cmd.h"

#include <poll.h>

int wl_http_options(const struct wl_http_opts *o, struct wl_serve_options *out, struct wl_arena *a, struct wl_err *e)
{
    char *token = NULL, *base;
    bool is_loopback;
    int rc = wl_serve_check_address(o->address, &is_loopback, e);
    if (rc == 0 && !is_loopback && !o->token_file)
        rc = wl_fail(
            e, WL_EUSAGE,
            "--address %s: others can reach this address: give --token-file FILE, with a token in its first line "
            "(openssl rand -hex 24 > FILE; chmod 600 FILE)",
            o->address);
    if (rc == 0 && o->token_file) rc = wl_serve_read_token(o->token_file, &token, a, e);
    if (rc == 0) rc = wl_serve_base_path(o->base_path, &base, a, e);
    if (rc < 0) return rc;
    struct wl_strs *hosts = wl_new(a, struct wl_strs);
    for (size_t i = 0; i < o->hosts.n; i++) wl_strs_add(a, hosts, o->hosts.v[i]);
    wl_strs_add(a, hosts, o->address);
    out->address = o->address;
    out->port = (int)o->port;
    out->connections = (int)o->connections;
    out->token = token;
    out->base = base;
    out->hosts = hosts;
    return 0;
}

static void print_start(const struct wl_serve_options *what, const char *url, const char *path)
{
    bool is_loopback = true;
    wl_print("%s%s\n", url, path);
    if (wl_serve_check_address(what->address, &is_loopback, NULL) == 0 && !is_loopback)
        wl_log(WL_WARN, "serve",
               "this address can be reached by others, and HTTP is not encrypted: anybody on the way can read the "
               "token and "
               "the results. Use a reverse proxy with TLS, or ssh -L");
    (void)wl_out_flush();
}

static int wait_for_signal(struct wl_signals *signals, struct wl_server *server)
{
    enum { TICK_MS = 1000 };
    bool from_terminal;
    for (;;) {
        struct pollfd fd = { .fd = wl_signals_fd(signals), .events = POLLIN };
        poll(&fd, 1, TICK_MS);
        if (wl_signals_next(signals, &from_terminal)) return WL_EXIT_OK;
        wl_serve_tick(server);
    }
}

int wl_http_serve(const struct wl_serve_options *what, const char *path, struct wl_signals *signals, struct wl_arena *a,
                  struct wl_err *e)
{
    struct wl_arena *running = wl_arena_new(a);
    struct wl_server *server;
    const char *url;
    int rc = wl_serve_start(&server, what, &url, running, e);
    if (rc == 0) {
        print_start(what, url, path);
        rc = wait_for_signal(signals, server);
    }
    wl_arena_free(running); /* what its threads use is in the caller's arena */
    return rc;
}

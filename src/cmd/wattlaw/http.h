/* Shared by the commands that answer HTTP: where they listen, who may ask, and how they run. docs/reference/serve.md */
#ifndef WL_CMD_WATTLAW_HTTP_H
#define WL_CMD_WATTLAW_HTTP_H

#include "base/base.h"
#include "job/job.h"
#include "serve/serve.h"

struct wl_http_opts {
    const char *address, *token_file, *base_path;
    int64_t port, connections;
    struct wl_strs hosts;
};

/* Rows for a struct that holds a struct wl_http_opts as member `at`. */
/* clang-format off */
#define WL_HTTP_OPT_ROWS(holder, at, default_port)                                                                    \
    { .name = "address", .type = WL_STR, .offset = offsetof(holder, at.address), .def = "127.0.0.1",                  \
      .unit = "ADDRESS", .help = "IP address to listen on; any other than a loopback address requires --token-file" }, \
    { .name = "port", .type = WL_INT, .offset = offsetof(holder, at.port), .def = default_port, .min = 0,             \
      .max = 65535, .help = "TCP port to listen on; 0: a free one, which is printed" },                               \
    { .name = "token-file", .type = WL_STR, .offset = offsetof(holder, at.token_file), .unit = "FILE",                \
      .help = "file whose first line is the token of this server, readable by its owner alone (default: none)" },     \
    { .name = "base-path", .type = WL_STR, .offset = offsetof(holder, at.base_path), .def = "/", .unit = "PATH",      \
      .help = "path below which a reverse proxy shows the server" },                                                  \
    { .name = "host", .type = WL_LINES, .offset = offsetof(holder, at.hosts), .unit = "NAME",                         \
      .help = "further host name that requests may be for, such as that of a reverse proxy (default: none)" },        \
    { .name = "connections", .type = WL_INT, .offset = offsetof(holder, at.connections), .def = "512", .min = 16,     \
      .max = 10000, .help = "maximum number of open connections; one address may have half as many" }
/* clang-format on */

/* Checks the options and sets everything of *out but paths and documents. WL_EUSAGE: an address that others can reach
 * needs a token. */
int wl_http_options(const struct wl_http_opts *o, struct wl_serve_options *out, struct wl_arena *a,
                    struct wl_err *e) WL_MUST_CHECK;

/* Starts the server, prints its address followed by `path`, and answers until a signal comes. Returns the exit status.
 * The signals were opened before any thread was started. */
int wl_http_serve(const struct wl_serve_options *what, const char *path, struct wl_signals *signals, struct wl_arena *a,
                  struct wl_err *e) WL_MUST_CHECK;

#endif

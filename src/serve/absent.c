/* In place of server.c where libmicrohttpd is missing. */
#include "serve/serve.h"

int wl_serve_start(struct wl_server **out, const struct wl_serve_options *options, const char **url, struct wl_arena *a,
                   struct wl_err *e)
{
    (void)out;
    (void)options;
    (void)url;
    (void)a;
    return wl_fail(e, WL_EUNAVAIL,
                   "this wattlaw was built without libmicrohttpd, which serve and exporter need: install "
                   "libmicrohttpd-dev and build it with -Dserve=enabled");
}

void wl_serve_tick(struct wl_server *s) { (void)s; }

/* A site over two made-up stores, without threads or connections: documents of other commands are short texts. */
#ifndef TESTS_SERVE_SITE_FIXTURE_H
#define TESTS_SERVE_SITE_FIXTURE_H

#include "serve/site.h"

/* `folder` exists; the stores are made in it. token NULL: none. */
struct wl_site *site_fixture(const char *folder, const char *token, const char *base, struct wl_arena *a);

/* Answers a request as server.c does, all of it in this thread. */
struct wl_http_answer site_answer(struct wl_site *site, struct wl_http_request *r);

#endif

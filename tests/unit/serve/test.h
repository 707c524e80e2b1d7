/* Shared by the tests of serve/: cmocka, one arena per test, requests as text. */
#ifndef TESTS_SERVE_TEST_H
#define TESTS_SERVE_TEST_H

#include "../arena_test.h"

#include "serve/request.h"

/* A GET of this machine's browser. */
static inline struct wl_http_request request_of(const char *target, struct wl_arena *a)
{
    return (struct wl_http_request) { .target = target, .host = "localhost:8087", .n_hosts = 1, .a = a };
}

#endif

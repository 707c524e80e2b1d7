/* Who may ask: the names under which the server may be reached, the token and its cookie. docs/threat-model.md */
#ifndef WL_SERVE_ACCESS_H
#define WL_SERVE_ACCESS_H

#include "serve/request.h"

enum { WL_ACCESS_SECRET = 65 }; /* 64 hexadecimal digits and a NUL */

struct wl_access {
    const struct wl_strs *hosts; /* names besides loopback: those of the options and the address listened on */
    bool needs_token;
    char token[WL_ACCESS_SECRET];   /* SHA-256 of the token */
    char session[WL_ACCESS_SECRET]; /* value of the cookie: random, of this process */
    char csrf[WL_ACCESS_SECRET];    /* what a page of ours sends with what it changes: no other page can read it */
    char cookie[32];                /* its name, which differs by port: browsers share cookies among ports */
    const char *cookie_path;        /* the base path */
};

/* `token` NULL: none is needed. WL_EIO: the system has no random numbers. */
int wl_access_init(struct wl_access *g, const char *token, const char *base, int port, struct wl_err *e) WL_MUST_CHECK;

/* Reads a token from the first line of a file. WL_EPERM: others can read the file; WL_EINVAL: not a token. */
int wl_access_read_token(const char *path, char **token, struct wl_arena *a, struct wl_err *e) WL_MUST_CHECK;

/* "127.0.0.1", "::1", "localhost" and the like. */
bool wl_access_is_loopback(const char *host);

/* Does the Host header name this server? A page of a foreign site can make its own name lead here (DNS rebinding), but
 * it cannot change the header. Exactly one header has to be there. */
bool wl_access_accepts_host(const struct wl_access *g, const struct wl_http_request *r);

/* A request that a page made says where that page is from: from another site nothing is changed. */
bool wl_access_accepts_origin(const struct wl_access *g, const struct wl_http_request *r);

/* Has the request the cookie, or the token in Authorization? In the same time whatever was sent. */
bool wl_access_knows(const struct wl_access *g, const struct wl_http_request *r);
bool wl_access_is_token(const struct wl_access *g, const char *token);

/* May it change something? With the token in Authorization, which no page of another site can send; or with the cookie,
 * the CSRF token, and no sign of another origin. NULL: yes; else why not. */
const char *wl_access_why_no_change(const struct wl_access *g, const struct wl_http_request *r);

/* Set-Cookie that logs in, and that logs out. */
const char *wl_access_login_cookie(const struct wl_access *g, struct wl_arena *a);
const char *wl_access_logout_cookie(const struct wl_access *g, struct wl_arena *a);

#endif

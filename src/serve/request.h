/* A request and its answer, apart from the library that carries them: what handlers see, and what tests and fuzzers
 * make. Both live in the arena of the request. */
#ifndef WL_SERVE_REQUEST_H
#define WL_SERVE_REQUEST_H

#include "base/base.h"

enum wl_http_method { WL_HTTP_GET, WL_HTTP_POST, WL_HTTP_OTHER }; /* HEAD is GET, whose body is not sent */

struct wl_http_param {
    const char *name, *value;
};

struct wl_http_request {
    enum wl_http_method method;
    const char *target; /* as it was sent: "/wattlaw/api/v1/runs?q=a%20b" */
    const char *host;   /* headers; NULL: not sent */
    size_t n_hosts;     /* Host headers that were sent */
    const char *cookie, *authorization, *if_none_match, *last_event_id, *origin, *accept;
    const char *content_type, *csrf, *fetch_site; /* X-Wattlaw-CSRF, Sec-Fetch-Site */
    const char *client;                           /* address that the connection is from; NULL: not known */
    const char *body;                             /* of a POST, terminated */
    size_t n_body;

    /* by wl_http_parse_target */
    const char *path; /* decoded, below the base path, without its first slash: "api/v1/runs" */
    struct wl_http_param *params;
    size_t n_params;

    struct wl_arena *a;
};

struct wl_http_answer {
    int status;
    const char *type; /* Content-Type */
    const char *body; /* [n_body] */
    size_t n_body;
    FILE *file;           /* instead of the body: open for reading, not buffered; its owner is the answer. NULL: none */
    const char *etag;     /* with its quotes; NULL: the answer is not to be stored */
    const char *policy;   /* Content-Security-Policy; NULL: that of pages of this server */
    const char *location; /* of a redirect; NULL: none */
    const char *cookie;   /* Set-Cookie; NULL: none */
    const char *filename; /* of a download; NULL: none */
    bool is_events;       /* a stream of events (events.h) begins */
};

/* Of a target in absolute form, http://HOST/PATH, the host takes the place of the header Host and the rest that of the
 * target (RFC 9112, section 3.2.2). Others stay. */
void wl_http_take_absolute_target(struct wl_http_request *r);

/* Sets path and parameters from the target. `base`: "/" or "/wattlaw". WL_EINVAL: a target that is not one (what was
 * expected); WL_ENOENT: it is not below the base path. *is_base: it is the base path without its final slash. */
int wl_http_parse_target(struct wl_http_request *r, const char *base, bool *is_base, struct wl_err *e) WL_MUST_CHECK;

/* The value of a form "a=1&b=2", decoded; NULL: it has none of that name, or is malformed. */
const char *wl_http_form_value(const char *form, const char *name, struct wl_arena *a);

/* The value of a cookie; NULL: it was not sent. */
const char *wl_http_cookie(const struct wl_http_request *r, const char *name);

/* ---- parameters ---- */

const char *wl_http_param(const struct wl_http_request *r, const char *name); /* NULL: not given */

/* WL_EINVAL names a parameter that is not among `names` (NULL-terminated), or is given twice. */
int wl_http_check_params(const struct wl_http_request *r, const char *const *names, struct wl_err *e) WL_MUST_CHECK;

/* WL_EINVAL names the parameter, its value and what was expected. */
int wl_http_param_int(const struct wl_http_request *r, const char *name, int64_t fallback, int64_t min, int64_t max,
                      int64_t *out, struct wl_err *e) WL_MUST_CHECK;
int wl_http_param_real(const struct wl_http_request *r, const char *name, double fallback, double *out,
                       struct wl_err *e) WL_MUST_CHECK;
/* One of `n` names; *out its index, `fallback` where it is not given. */
int wl_http_param_choice(const struct wl_http_request *r, const char *name, const char *const *names, size_t n,
                         size_t fallback, size_t *out, struct wl_err *e) WL_MUST_CHECK;

/* ---- answers ---- */

void wl_http_answer_json(struct wl_http_answer *out, const struct wl_json *root, struct wl_arena *a);
void wl_http_answer_error(struct wl_http_answer *out, struct wl_arena *a, int status, const char *fmt, ...)
    WL_PRINTF(4, 5);

/* By the code of an error: WL_EINVAL and WL_EUSAGE are 400, WL_ENOENT is 404, all others 500. */
void wl_http_answer_failure(struct wl_http_answer *out, struct wl_arena *a, const struct wl_err *e);

#endif

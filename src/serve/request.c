#include "serve/request.h"

#include <math.h>
#include <string.h>
#include <strings.h>

enum { TARGET_MAX = 4096, PARAMS_MAX = 32 };

/* ---- decoding ---- */

static int hex(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* Percent-encoding of RFC 3986; NULL: malformed, or a control character, which no name here has. */
static char *decode(const char *s, size_t n, bool is_form, struct wl_arena *a)
{
    char *out = wl_alloc(a, n + 1);
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '%') {
            const int hi = i + 2 < n ? hex(s[i + 1]) : -1, lo = i + 2 < n ? hex(s[i + 2]) : -1;
            if (hi < 0 || lo < 0) return NULL;
            c = (unsigned char)(hi << 4 | lo);
            i += 2;
        } else if (is_form && c == '+') {
            c = ' ';
        }
        if (c < ' ' || c == 0x7f) return NULL;
        out[k++] = (char)c;
    }
    return out;
}

static size_t length_to(const char *s, char end)
{
    const char *at = strchr(s, end);
    return at ? (size_t)(at - s) : strlen(s);
}

/* "a=1&b=2" as pairs; false: malformed, or too many. */
static bool parse_pairs(const char *s, struct wl_http_param **out, size_t *n, struct wl_arena *a)
{
    *out = wl_new_array(a, struct wl_http_param, PARAMS_MAX);
    *n = 0;
    while (*s) {
        const size_t length = length_to(s, '&'), name = length_to(s, '=');
        if (length > 0) {
            const bool has_value = name < length;
            if (*n == PARAMS_MAX) return false;
            struct wl_http_param *p = &(*out)[(*n)++];
            p->name = decode(s, has_value ? name : length, true, a);
            p->value = has_value ? decode(s + name + 1, length - name - 1, true, a) : "";
            if (!p->name || !p->value) return false;
        }
        s += length + (s[length] == '&');
    }
    return true;
}

void wl_http_take_absolute_target(struct wl_http_request *r)
{
    static const char *const schemes[] = { "http://", "https://" };
    for (size_t i = 0; r->target && i < WL_COUNT(schemes); i++) {
        const size_t n = strlen(schemes[i]);
        if (strncasecmp(r->target, schemes[i], n) != 0) continue;
        const char *host = r->target + n, *rest = host + strcspn(host, "/?");
        r->host = wl_strndup(r->a, host, (size_t)(rest - host));
        r->target = *rest == '/' ? rest : wl_strf(r->a, "/%s", rest);
        return;
    }
}

int wl_http_parse_target(struct wl_http_request *r, const char *base, bool *is_base, struct wl_err *e)
{
    const char *target = r->target ? r->target : "", *query = strchr(target, '?');
    const size_t n = query ? (size_t)(query - target) : strlen(target), n_base = strlen(base);
    *is_base = false;
    if (*target != '/' || strlen(target) > TARGET_MAX)
        return wl_fail(e, WL_EINVAL, "expected a path that begins with /, of at most %d bytes", TARGET_MAX);
    const char *path = decode(target, n, false, r->a);
    if (!path) return wl_fail(e, WL_EINVAL, "the path is not percent-encoded text");
    if (query && !parse_pairs(query + 1, &r->params, &r->n_params, r->a))
        return wl_fail(e, WL_EINVAL, "expected at most %d parameters NAME=VALUE, percent-encoded", PARAMS_MAX);
    if (n_base > 1) { /* "/wattlaw" */
        *is_base = strcmp(path, base) == 0;
        if (*is_base) return 0;
        if (strncmp(path, base, n_base) != 0 || path[n_base] != '/')
            return wl_fail(e, WL_ENOENT, "nothing is here: this server is below %s/", base);
        path += n_base;
    }
    r->path = path + 1;
    return 0;
}

const char *wl_http_form_value(const char *form, const char *name, struct wl_arena *a)
{
    struct wl_http_param *params;
    size_t n;
    if (!form || !parse_pairs(form, &params, &n, a)) return NULL;
    for (size_t i = 0; i < n; i++)
        if (strcmp(params[i].name, name) == 0) return params[i].value;
    return NULL;
}

const char *wl_http_cookie(const struct wl_http_request *r, const char *name)
{
    const size_t n = strlen(name);
    for (const char *s = r->cookie ? r->cookie : ""; *s;) {
        while (*s == ' ' || *s == ';') s++;
        const size_t length = length_to(s, ';');
        if (length > n && s[n] == '=' && strncmp(s, name, n) == 0) return wl_strndup(r->a, s + n + 1, length - n - 1);
        s += length;
    }
    return NULL;
}

/* ---- parameters ---- */

const char *wl_http_param(const struct wl_http_request *r, const char *name)
{
    for (size_t i = 0; i < r->n_params; i++)
        if (strcmp(r->params[i].name, name) == 0) return r->params[i].value;
    return NULL;
}

int wl_http_check_params(const struct wl_http_request *r, const char *const *names, struct wl_err *e)
{
    for (size_t i = 0; i < r->n_params; i++) {
        const char *name = r->params[i].name;
        size_t k = 0;
        while (names[k] && strcmp(names[k], name) != 0) k++;
        if (!names[k]) {
            const char *near = wl_str_closest(name, names, k);
            return wl_fail(e, WL_EINVAL, "unknown parameter %s%s%s%s", name, near ? "; did you mean " : "",
                           near ? near : "", near ? "?" : "");
        }
        for (size_t j = 0; j < i; j++)
            if (strcmp(r->params[j].name, name) == 0) return wl_fail(e, WL_EINVAL, "%s is given twice", name);
    }
    return 0;
}

int wl_http_param_int(const struct wl_http_request *r, const char *name, int64_t fallback, int64_t min, int64_t max,
                      int64_t *out, struct wl_err *e)
{
    const char *text = wl_http_param(r, name);
    *out = fallback;
    if (!text) return 0;
    if (wl_str_to_int(text, out) == 0 && *out >= min && *out <= max) return 0;
    return wl_fail(e, WL_EINVAL, "%s=%s: expected a whole number from %lld to %lld", name, text, (long long)min,
                   (long long)max);
}

int wl_http_param_real(const struct wl_http_request *r, const char *name, double fallback, double *out,
                       struct wl_err *e)
{
    static const double MOST_S = 1e9;
    const char *text = wl_http_param(r, name);
    *out = fallback;
    if (!text || (wl_str_to_real(text, out) == 0 && fabs(*out) <= MOST_S)) return 0;
    return wl_fail(e, WL_EINVAL, "%s=%s: expected a number of seconds", name, text);
}

int wl_http_param_choice(const struct wl_http_request *r, const char *name, const char *const *names, size_t n,
                         size_t fallback, size_t *out, struct wl_err *e)
{
    const char *text = wl_http_param(r, name);
    *out = fallback;
    if (!text) return 0;
    for (*out = 0; *out < n; ++*out)
        if (strcmp(names[*out], text) == 0) return 0;
    struct wl_text list = WL_TEXT(r->a);
    for (size_t i = 0; i < n; i++) wl_text_addf(&list, "%s%s", i ? ", " : "", names[i]);
    return wl_fail(e, WL_EINVAL, "%s=%s: expected one of %s", name, text, list.s);
}

/* ---- answers ---- */

void wl_http_answer_json(struct wl_http_answer *out, const struct wl_json *root, struct wl_arena *a)
{
    out->status = 200;
    out->type = "application/json";
    out->body = wl_json_text(root, 0, a);
    out->n_body = strlen(out->body);
}

void wl_http_answer_error(struct wl_http_answer *out, struct wl_arena *a, int status, const char *fmt, ...)
{
    struct wl_json *root = wl_json_root_object(a);
    va_list ap;
    va_start(ap, fmt);
    wl_json_add_str(root, "error", wl_strfv(a, fmt, ap));
    va_end(ap);
    *out = (struct wl_http_answer) { 0 };
    wl_http_answer_json(out, root, a);
    out->status = status;
}

void wl_http_answer_failure(struct wl_http_answer *out, struct wl_arena *a, const struct wl_err *e)
{
    const int status = e->code == WL_EINVAL || e->code == WL_EUSAGE ? 400 : e->code == WL_ENOENT ? 404 : 500;
    wl_http_answer_error(out, a, status, "%s", e->msg);
}

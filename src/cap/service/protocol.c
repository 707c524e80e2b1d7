#include "cap/service/protocol.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char HEAD[] = "wattlaw-caps 1 ";
static const char *const verbs[WL_SERVICE_VERBS] = { "list", "hold", "keep", "release" };

/* Errors that cross the socket; any other is "failed". */
static const struct {
    const char *name;
    int code;
} codes[] = {
    { "failed", WL_EIO },           { "invalid", WL_EINVAL }, { "denied", WL_EPERM },
    { "unavailable", WL_EUNAVAIL }, { "missing", WL_ENOENT }, { "hung", WL_EHUNG },
};

enum { DIGITS_MAX = 7, PLACES_MAX = 3, LEASE_MAX_S = 86400 };

/* ---- reading ---- */

/* What is left of a packet, which need not end in a NUL. */
struct cursor {
    const char *at, *end;
    int line;
};

static int malformed(const struct cursor *c, const char *expected, struct wl_err *e)
{
    return wl_fail(e, WL_EINVAL, "cap service: line %d of the packet: expected %s", c->line, expected);
}

static bool skip(struct cursor *c, const char *text)
{
    size_t n = strlen(text);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, text, n) != 0) return false;
    c->at += n;
    return true;
}

static bool end_line(struct cursor *c)
{
    if (!skip(c, "\n")) return false;
    c->line++;
    return true;
}

/* A word of the characters that names of devices and kinds have. */
static bool read_word(struct cursor *c, char *out, size_t max)
{
    size_t n = 0;
    for (; c->at < c->end && (isalnum((unsigned char)*c->at) || strchr(":./_-", *c->at)) && *c->at; c->at++) {
        if (n == max) return false;
        out[n++] = *c->at;
    }
    out[n] = '\0';
    return n > 0;
}

/* "250", "250.5"; "-" is NAN. No sign, exponent, or other form. */
static bool read_number(struct cursor *c, double *out)
{
    int digits = 0, places = 0;
    double v = 0, scale = 1;
    *out = NAN;
    if (skip(c, "-")) return true;
    for (; c->at < c->end && isdigit((unsigned char)*c->at); c->at++, digits++) v = 10 * v + (*c->at - '0');
    if (digits == 0 || digits > DIGITS_MAX) return false;
    if (skip(c, ".")) {
        for (; c->at < c->end && isdigit((unsigned char)*c->at); c->at++, places++) v += (*c->at - '0') * (scale /= 10);
        if (places == 0 || places > PLACES_MAX) return false;
    }
    *out = v;
    return true;
}

static bool read_kind(struct cursor *c, enum wl_cap_kind *out)
{
    char name[32];
    if (!read_word(c, name, sizeof name - 1)) return false;
    for (int k = 0; k < WL_CAP_KINDS; k++) {
        *out = k;
        if (wl_str_eq(wl_cap_kind_name(k), name)) return true;
    }
    return false;
}

static bool occurs_before(const struct wl_service_packet *p, const struct wl_service_limit *l)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->v[i].kind == l->kind && strcmp(p->v[i].device, l->device) == 0) return true;
    return false;
}

static int read_limits(struct cursor *c, struct wl_service_packet *p, struct wl_err *e)
{
    for (; c->at < c->end; p->n++) {
        if (p->n == WL_SERVICE_LIMITS_MAX) return wl_fail(e, WL_EINVAL, "cap service: more than %zu limits", p->n);
        struct wl_service_limit *l = &p->v[p->n];
        l->high = NAN;
        if (!read_kind(c, &l->kind) || !skip(c, " ")) return malformed(c, "a kind of limit", e);
        if (!read_number(c, &l->low) || !skip(c, " ")) return malformed(c, "a number below 1e7, at most 3 places", e);
        if (p->is_reply && (!read_number(c, &l->high) || !skip(c, " "))) return malformed(c, "a second number", e);
        if (!p->is_reply && !(l->low > 0)) return malformed(c, "a value above 0", e);
        if (!read_word(c, l->device, WL_SERVICE_DEVICE_MAX)) return malformed(c, "the name of a device", e);
        if (occurs_before(p, l)) return malformed(c, "each limit of a device once", e);
        if (!end_line(c)) return malformed(c, "the end of the line after the device", e);
    }
    return 0;
}

static int start(struct cursor *c, const char *data, size_t n, struct wl_service_packet *out, struct wl_err *e)
{
    *c = (struct cursor) { .at = data, .end = data + n, .line = 1 };
    out->n = 0;
    out->code = 0;
    out->lease_s = NAN;
    out->text[0] = '\0';
    if (n > WL_SERVICE_PACKET_MAX)
        return wl_fail(e, WL_EINVAL, "cap service: a packet of more than %d bytes", WL_SERVICE_PACKET_MAX);
    return skip(c, HEAD) ? 0 : malformed(c, "'wattlaw-caps 1', the protocol's version", e);
}

int wl_service_read_request(const char *data, size_t n, struct wl_service_packet *out, struct wl_err *e)
{
    struct cursor c;
    char verb[16];
    int rc = start(&c, data, n, out, e);
    out->is_reply = false;
    if (rc < 0) return rc;
    out->verb = WL_SERVICE_VERBS;
    if (read_word(&c, verb, sizeof verb - 1) && end_line(&c))
        for (int i = 0; i < WL_SERVICE_VERBS; i++)
            if (strcmp(verb, verbs[i]) == 0) out->verb = i;
    if (out->verb == WL_SERVICE_VERBS) return malformed(&c, "list, hold, keep or release", e);
    rc = read_limits(&c, out, e);
    if (rc < 0 || (out->n > 0) == (out->verb == WL_SERVICE_HOLD)) return rc;
    return malformed(&c, out->n ? "no limits" : "the limits to hold", e);
}

/* The rest of the packet is one line. */
static int read_text(struct cursor *c, struct wl_service_packet *out, struct wl_err *e)
{
    size_t n = (size_t)(c->end - c->at);
    if (n < 2 || n > WL_SERVICE_TEXT_MAX + 1 || c->end[-1] != '\n') return malformed(c, "a reason", e);
    for (size_t i = 0; i < n - 1; i++)
        if (c->at[i] < ' ' || c->at[i] > '~') return malformed(c, "printable ASCII", e);
    memcpy(out->text, c->at, n - 1);
    out->text[n - 1] = '\0';
    return 0;
}

int wl_service_read_reply(const char *data, size_t n, struct wl_service_packet *out, struct wl_err *e)
{
    struct cursor c;
    char name[16];
    int rc = start(&c, data, n, out, e);
    out->is_reply = true;
    if (rc < 0) return rc;
    if (skip(&c, "ok ")) {
        bool ok = read_number(&c, &out->lease_s) && out->lease_s > 0 && out->lease_s <= LEASE_MAX_S && end_line(&c);
        return ok ? read_limits(&c, out, e) : malformed(&c, "the lease, s", e);
    }
    if (!skip(&c, "refused ") || !read_word(&c, name, sizeof name - 1) || !end_line(&c))
        return malformed(&c, "ok or refused", e);
    out->code = WL_EIO;
    for (size_t i = 0; i < WL_COUNT(codes); i++)
        if (strcmp(name, codes[i].name) == 0) out->code = codes[i].code;
    return read_text(&c, out, e);
}

/* ---- writing ---- */

bool wl_service_add(struct wl_service_packet *p, enum wl_cap_kind kind, double low, double high, const char *device)
{
    struct wl_service_limit *l = &p->v[p->n];
    struct cursor c = { .at = device, .end = device + strlen(device) };
    if (p->n == WL_SERVICE_LIMITS_MAX) return false;
    if (!read_word(&c, l->device, WL_SERVICE_DEVICE_MAX) || c.at != c.end) return false;
    l->kind = kind;
    l->low = low;
    l->high = high;
    p->n++;
    return true;
}

void wl_service_refuse(struct wl_service_packet *reply, const struct wl_err *why)
{
    size_t n = 0;
    reply->is_reply = true;
    reply->code = why->code < 0 ? why->code : WL_EIO;
    reply->n = 0;
    for (const char *s = why->msg; *s && n < WL_SERVICE_TEXT_MAX; s++)
        reply->text[n++] = (char)(*s < ' ' || *s > '~' ? '?' : *s);
    if (n == 0) reply->text[n++] = '?';
    reply->text[n] = '\0';
}

static const char *code_name(int code)
{
    for (size_t i = 0; i < WL_COUNT(codes); i++)
        if (codes[i].code == code) return codes[i].name;
    return codes[0].name;
}

/* A number as it is read; out of its range, or NAN: "-". */
static void number_text(double v, char text[32])
{
    if (!(v >= 0 && v < 1e7 - 1)) {
        memcpy(text, "-", 2);
        return;
    }
    snprintf(text, 32, "%.3f", v);
    char *end = text + strlen(text);
    while (end[-1] == '0') *--end = '\0';
    if (end[-1] == '.') end[-1] = '\0';
}

int wl_service_write(const struct wl_service_packet *p, char data[WL_SERVICE_PACKET_MAX], struct wl_err *e)
{
    char low[32], high[32];
    size_t n = 0, max = WL_SERVICE_PACKET_MAX;
    number_text(p->lease_s, low);
    if (!p->is_reply)
        n = (size_t)snprintf(data, max, "%s%s\n", HEAD, verbs[p->verb]);
    else if (p->code < 0)
        return snprintf(data, max, "%srefused %s\n%s\n", HEAD, code_name(p->code), p->text);
    else
        n = (size_t)snprintf(data, max, "%sok %s\n", HEAD, low);
    for (size_t i = 0; i < p->n && n < max; i++) {
        const struct wl_service_limit *l = &p->v[i];
        const char *kind = wl_cap_kind_name(l->kind);
        number_text(l->low, low);
        number_text(l->high, high);
        n += (size_t)(p->is_reply ? snprintf(data + n, max - n, "%s %s %s %s\n", kind, low, high, l->device)
                                  : snprintf(data + n, max - n, "%s %s %s\n", kind, low, l->device));
    }
    return n < max ? (int)n : wl_fail(e, WL_EINVAL, "cap service: %zu limits do not fit into a packet", p->n);
}

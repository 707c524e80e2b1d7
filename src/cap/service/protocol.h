/* The protocol of the cap service: packets of ASCII lines over a UNIX socket of type SOCK_SEQPACKET. docs/adr/145
 *
 *     wattlaw-caps 1 list             what may be set, then the connection ends
 *     wattlaw-caps 1 hold             set these limits, all or none; a line for each: KIND VALUE DEVICE
 *     wattlaw-caps 1 keep             the client still runs; no reply
 *     wattlaw-caps 1 release          restore, then the connection ends
 *
 * Replies:
 *
 *     wattlaw-caps 1 ok LEASE_S       to list a line for each limit: KIND MIN MAX DEVICE; to hold: KIND FOUND SET
 * DEVICE wattlaw-caps 1 refused CODE     and a line that says why; the connection ends, and everything is restored
 *
 * Numbers are decimal with at most three places, "-" is none (a clock that was not locked). A packet is whole or
 * refused; nothing is kept from one packet to the next. Parsers allocate nothing. */
#ifndef WL_CAP_SERVICE_PROTOCOL_H
#define WL_CAP_SERVICE_PROTOCOL_H

#include "cap/cap.h"

enum {
    WL_SERVICE_PACKET_MAX = 1 << 17, /* bytes */
    WL_SERVICE_LIMITS_MAX = 2048,    /* of a packet; CPUs may have a clock limit each */
    WL_SERVICE_DEVICE_MAX = 96,      /* characters of a device's name */
    WL_SERVICE_TEXT_MAX = 512,       /* of a reason */
};

enum wl_service_verb { WL_SERVICE_LIST, WL_SERVICE_HOLD, WL_SERVICE_KEEP, WL_SERVICE_RELEASE, WL_SERVICE_VERBS };

/* A line. Request: `low` is the value, `high` NAN. Reply: both numbers. */
struct wl_service_limit {
    enum wl_cap_kind kind;
    double low, high; /* W or MHz; NAN: none */
    char device[WL_SERVICE_DEVICE_MAX + 1];
};

struct wl_service_packet {
    bool is_reply;
    enum wl_service_verb verb;          /* of a request */
    int code;                           /* of a reply: 0, or why it was refused */
    double lease_s;                     /* of a reply without a code: keep has to arrive at least so often */
    char text[WL_SERVICE_TEXT_MAX + 1]; /* of a refusal: printable ASCII */
    struct wl_service_limit v[WL_SERVICE_LIMITS_MAX];
    size_t n;
};

/* WL_EINVAL says which line is wrong, and what was expected. A request has exactly the lines of its verb, and no limit
 * twice. */
int wl_service_read_request(const char *data, size_t n, struct wl_service_packet *out, struct wl_err *e) WL_MUST_CHECK;
int wl_service_read_reply(const char *data, size_t n, struct wl_service_packet *out, struct wl_err *e) WL_MUST_CHECK;

/* The packet as text. Its number of bytes, or WL_EINVAL: it does not fit. */
int wl_service_write(const struct wl_service_packet *p, char data[WL_SERVICE_PACKET_MAX], struct wl_err *e);

/* Adds a limit; false: the packet is full, or the name is too long or has other characters. */
bool wl_service_add(struct wl_service_packet *p, enum wl_cap_kind kind, double low, double high, const char *device);

/* A refusal with the error's message. */
void wl_service_refuse(struct wl_service_packet *reply, const struct wl_err *why);

#endif

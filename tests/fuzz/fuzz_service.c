/* Any packet to the cap service, or from it: refused with a message, or values within their bounds, and a packet that
 * reads back to itself. */
#include "cap/service/protocol.h"
#include "fuzz.h"

#include <math.h>
#include <string.h>

typedef int reader(const char *data, size_t n, struct wl_service_packet *out, struct wl_err *e);

static bool is_number(double v) { return isnan(v) || (v >= 0 && v < 1e7); }

static void check_limits(const struct wl_service_packet *p)
{
    WL_CHECK(p->n <= WL_SERVICE_LIMITS_MAX);
    for (size_t i = 0; i < p->n; i++) {
        size_t length = strlen(p->v[i].device);
        WL_CHECK(p->v[i].kind < WL_CAP_KINDS && length > 0 && length <= WL_SERVICE_DEVICE_MAX);
        WL_CHECK(is_number(p->v[i].low) && is_number(p->v[i].high));
        WL_CHECK(p->is_reply || (p->v[i].low > 0 && isnan(p->v[i].high)));
    }
}

static void check(reader *read, const char *data, size_t n)
{
    static struct wl_service_packet p, same;
    static char text[WL_SERVICE_PACKET_MAX], again[WL_SERVICE_PACKET_MAX];
    struct wl_err e = { 0 };
    if (read(data, n, &p, &e) < 0) {
        WL_CHECK(e.code == WL_EINVAL && wl_str_starts(e.msg, "cap service: "));
        return;
    }
    check_limits(&p);
    WL_CHECK(p.code <= 0 && (p.is_reply ? p.code < 0 || p.lease_s > 0 : p.verb < WL_SERVICE_VERBS));
    int length = wl_service_write(&p, text, &e);
    WL_CHECK(length > 0);
    WL_CHECK(read(text, (size_t)length, &same, &e) == 0 && same.n == p.n && same.code == p.code);
    WL_CHECK(wl_service_write(&same, again, &e) == length && memcmp(text, again, (size_t)length) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    check(wl_service_read_request, (const char *)data, n);
    check(wl_service_read_reply, (const char *)data, n);
    return 0;
}

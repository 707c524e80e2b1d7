/* Any text as the rules of the cap service: refused with a message that names the file, or ranges that are in order. */
#include "cap/service/policy.h"
#include "fuzz.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct wl_arena *a = wl_arena_new(NULL);
    struct wl_service_policy p;
    struct wl_err e = { 0 };
    const struct wl_control gpu = { .device = "GPU-1", .kind = WL_CAP_POWER, .range = { .min = 100, .max = 400 } };
    double min, max;
    if (wl_service_policy_parse("fuzz.conf", wl_strndup(a, (const char *)data, n), &p, a, &e) < 0) {
        WL_CHECK(wl_str_starts(e.msg, "fuzz.conf"));
    } else {
        WL_CHECK(p.lease_s >= 3 && p.sessions >= 1 && p.group);
        if (wl_service_policy_range(&p, &gpu, &min, &max, &e) == 0) WL_CHECK(min >= 100 && min <= max && max <= 400);
    }
    wl_arena_free(a);
    return 0;
}

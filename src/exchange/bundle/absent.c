/* In place of write.c and verify.c where minizip is missing. */
#include "exchange/bundle/bundle.h"

static int absent(struct wl_err *e)
{
    return wl_fail(e, WL_EUNAVAIL, "this wattlaw was built without minizip, which bundles need");
}

int wl_bundle_write(const struct wl_bundle *b, FILE *to, struct wl_err *e)
{
    (void)b;
    (void)to;
    return absent(e);
}

int wl_bundle_verify(const char *path, struct wl_bundle_check *out, struct wl_arena *a, struct wl_err *e)
{
    (void)path;
    (void)a;
    *out = (struct wl_bundle_check) { 0 };
    return absent(e);
}

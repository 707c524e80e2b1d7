#include "campaign/internal.h"

int wl_leftovers_end(const struct wl_strs *run_dirs, double grace_s)
{
    struct wl_victims v = { .run_dirs = run_dirs };
    char text[WL_SURVIVORS_TEXT];
    int left = 0, found = run_dirs->n ? wl_victims_end(&v, grace_s, &left, text, sizeof text) : 0;
    if (left)
        wl_log(WL_WARN, "campaign", "%d process%s of a dead run did not end after SIGKILL: %s", left,
               left > 1 ? "es" : "", text);
    return found;
}

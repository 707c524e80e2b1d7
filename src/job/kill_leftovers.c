#include "job/job.h"
#include "job/kill.h"

int wl_kill_leftovers(const struct wl_strs *run_dirs, double grace_s)
{
    struct wl_kill_set v = { .run_dirs = run_dirs };
    char text[WL_KILL_TEXT_SIZE];
    int left = 0, found = run_dirs->n ? wl_kill_set_terminate(&v, grace_s, &left, text, sizeof text) : 0;
    if (left)
        wl_log(WL_WARN, "campaign", "%d process%s of a dead run did not end after SIGKILL: %s", left,
               left > 1 ? "es" : "", text);
    return found;
}

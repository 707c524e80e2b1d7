#include "cmd/wattlaw/cap_plan.h"

#include <errno.h>

/* Flushed in one piece, as nodes share the output. */
int wl_cmd_cap_plan_print(const struct wl_cap_request *request, const struct wl_cap_opts *opts,
                          const struct wl_power_opts *power, const char *node, struct wl_arena *a, struct wl_err *e)
{
    struct wl_caps *caps;
    size_t n;
    int rc = wl_caps_plan(&caps, request, opts, power, a, e);
    if (rc < 0) return *node ? wl_err_prefix(e, "node %s", wl_host_name(a)) : rc;
    const struct wl_cap_setting *v = wl_caps_settings(caps, &n);
    for (size_t i = 0; i < n; i++) wl_print("%s%s\n", node, wl_cap_describe(&v[i], a));
    wl_print("%sjournal in %s\n", node, wl_cap_state_dir(opts, a));
    errno = wl_out_flush();
    return errno ? wl_fail_errno(e, "stdout") : 0;
}

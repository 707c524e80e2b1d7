#include "power/options.h"

/* Drivers of many GPUs take seconds to initialise. */
double wl_power_wait_s(const struct wl_power_opts *o)
{
    static const double DEFAULT_S = 30;
    return o->wait_s > 0 ? o->wait_s : DEFAULT_S;
}

int wl_sampler_cpu_check(const struct wl_power_opts *o, struct wl_arena *a, struct wl_err *e)
{
    int rc = o->sampler_cpu < 0 ? 0 : wl_affinity_check(o->sampler_cpu, a, e);
    return rc < 0 ? wl_err_prefix(e, "sampler_cpu") : 0;
}

static const char *copy(struct wl_arena *a, const char *text) { return text ? wl_strdup(a, text) : NULL; }

struct wl_power_opts wl_power_opts_copy(const struct wl_power_opts *o, struct wl_arena *a)
{
    struct wl_power_opts c = *o;
    c.sensors = (struct wl_strs) { 0 };
    for (size_t i = 0; i < o->sensors.n; i++) wl_strs_add(a, &c.sensors, o->sensors.v[i]);
    c.replay_file = copy(a, o->replay_file);
    c.nvml_library = copy(a, o->nvml_library);
    c.amd_library = copy(a, o->amd_library);
    c.level_zero_library = copy(a, o->level_zero_library);
    c.calibration = copy(a, o->calibration);
    c.root = copy(a, o->root);
    c.visible = copy(a, o->visible);
    return c;
}

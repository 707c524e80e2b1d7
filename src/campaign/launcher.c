#include "campaign/internal.h"

#include "campaign/batch.h"

const struct wl_launcher wl_launcher_slurm = { .name = "slurm",
                                               .help = "each run is a job of Slurm",
                                               .batch = &wl_batch_slurm };
const struct wl_launcher wl_launcher_allocation = {
    .name = "allocation",
    .help = "each run has nodes of its own in the allocation of Slurm that the sweep is in",
    .batch = &wl_batch_allocation
};
const struct wl_launcher wl_launcher_command = {
    .name = "command",
    .help = "each run is a job of a batch system that the site's commands reach",
    .batch = &wl_batch_command
};

const struct wl_launcher *const wl_launchers[] = { &wl_launcher_local,      &wl_launcher_null,    &wl_launcher_slurm,
                                                   &wl_launcher_allocation, &wl_launcher_command, NULL };

int wl_launcher_find(const char *name, const struct wl_launcher **out, struct wl_err *e)
{
    const char *names[WL_COUNT(wl_launchers)];
    size_t n = 0;
    for (; wl_launchers[n]; n++) {
        names[n] = wl_launchers[n]->name;
        if (!wl_str_eq(names[n], name)) continue;
        *out = wl_launchers[n];
        if (!(*out)->unavailable) return 0;
        return wl_fail(e, WL_EUNAVAIL, "[launch] launcher = %s: %s", name, (*out)->unavailable);
    }
    const char *near = wl_str_closest(name, names, n);
    return wl_fail(e, WL_EINVAL, "[launch] launcher = %s: no such launcher%s%s%s", name, near ? "; did you mean " : "",
                   near ? near : "", near ? "?" : "");
}

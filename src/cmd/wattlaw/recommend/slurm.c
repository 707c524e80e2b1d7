/* Scripts that Slurm runs as root on each node of a job, before and after it. One that fails drains the node, so these
 * only log. */
#include "cmd/wattlaw/recommend/recommend.h"

/* Options of nvidia-smi. */
static const char *set_option(enum wl_cap_kind kind, double value, struct wl_arena *a)
{
    switch (kind) {
    case WL_CAP_POWER: return wl_strf(a, "--power-limit=%.0f", value);
    case WL_CAP_MODULE: return wl_strf(a, "--scope=1 --power-limit=%.0f", value);
    case WL_CAP_CLOCK: return wl_strf(a, "--lock-gpu-clocks=%.0f", value);
    default: return wl_strf(a, "--lock-memory-clocks=%.0f", value);
    }
}

static const char *reset_option(enum wl_cap_kind kind, struct wl_arena *a)
{
    static const char query[] = "\"$(nvidia-smi --id=\"$gpu\" --query-gpu=%s --format=csv,noheader,nounits)\"";
    switch (kind) {
    case WL_CAP_POWER: return wl_strf(a, wl_strf(a, "--power-limit=%s", query), "power.default_limit");
    case WL_CAP_MODULE:
        return wl_strf(a, wl_strf(a, "--scope=1 --power-limit=%s", query), "module.power.default_limit");
    case WL_CAP_CLOCK: return "--reset-gpu-clocks";
    default: return "--reset-memory-clocks";
    }
}

const char *wl_recommend_slurm_script(const struct wl_policy_jobs *jobs, size_t value, bool prolog, struct wl_arena *a)
{
    const enum wl_cap_kind kind = jobs->cap->cap;
    return wl_strf(a,
                   "#!/bin/bash\n"
                   "export PATH=/usr/bin:/bin\n"
                   "for gpu in ${SLURM_JOB_GPUS//,/ }; do\n"
                   "    nvidia-smi --id=\"$gpu\" %s || logger -t wattlaw \"GPU $gpu: the %s was not %s\"\n"
                   "done\n"
                   "exit 0\n",
                   prolog ? set_option(kind, jobs->value[value], a) : reset_option(kind, a), jobs->cap->label,
                   prolog ? "set" : "reset");
}

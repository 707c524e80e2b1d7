/* Slurm sets clocks when it starts a step of a job: sbatch's --gpu-freq and --cpu-freq, which src/campaign passes on,
 * are those of each srun in it (as of 22.05 not of the batch script itself). Plugins and sites may ignore them without
 * a word (srun(1): "if possible"), so they are read back while the job runs. */
#include "cap/indirect.h"

static int slurm_open(const struct wl_setter_context *p, enum wl_cap_kind kind, struct wl_controls *out,
                      const char **fix, struct wl_err *e)
{
    return wl_indirect_open(&wl_setter_slurm, p, kind, out, fix, e);
}

const struct wl_setter_ops wl_setter_slurm = {
    .name = "slurm",
    .help = "Slurm's --gpu-freq and --cpu-freq set the clock; it is read back while the job runs",
    .kinds = { [WL_CAP_CLOCK] = true, [WL_CAP_MEM_CLOCK] = true },
    .open = slurm_open,
    .get = wl_indirect_get,
    .set = wl_indirect_set_nothing,
    .observes = true,
    .watches = true,
};

/* Runs on this machine. */
#include "campaign/internal.h"

static int local_run(struct wl_store *s, int64_t run, const struct wl_run_opts *opts, struct wl_run_result *out,
                     struct wl_arena *a, struct wl_err *e)
{
    struct wl_strs env = wl_launcher_mpi_env(opts->env, a);
    struct wl_run_opts with_env = *opts;
    with_env.env = &env;
    return opts->is_multinode ? wl_run_multinode(s, run, &with_env, out, a, e)
                              : wl_run_measure(s, run, &with_env, out, a, e);
}

const struct wl_launcher wl_launcher_local = {
    .name = "local", .help = "on this machine", .runs = true, .run = local_run
};

/* Launchers that need nothing: this machine, and none. */
#include "campaign/internal.h"

#include <stdlib.h>
#include <unistd.h>

/* Open MPI (4 and 5) refuses root and more ranks than it counts cores, and binds ranks to single cores. We have
 * counted the cores, threads are ours to place, and who starts a campaign as root means it. Other MPIs do not read
 * these. A value that the user has set stays. */
static const char *const mpi_env[][2] = {
    { "OMPI_MCA_rmaps_base_oversubscribe", "1" },
    { "OMPI_MCA_hwloc_base_binding_policy", "none" },
    { "PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe" },
    { "PRTE_MCA_hwloc_default_binding_policy", "none" },
};
static const char *const mpi_root_env[][2] = {
    { "OMPI_ALLOW_RUN_AS_ROOT", "1" },
    { "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1" },
    { "PRTE_ALLOW_RUN_AS_ROOT", "1" },
    { "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1" },
};

static bool given(const struct wl_strs *env, const char *name, struct wl_arena *a)
{
    for (size_t i = 0; i < env->n; i++)
        if (wl_str_starts(env->v[i], wl_strf(a, "%s=", name))) return true;
    return getenv(name) != NULL;
}

static void add(struct wl_strs *env, const char *const pairs[][2], size_t n, struct wl_arena *a)
{
    for (size_t i = 0; i < n; i++)
        if (!given(env, pairs[i][0], a)) wl_strs_add(a, env, wl_strf(a, "%s=%s", pairs[i][0], pairs[i][1]));
}

struct wl_strs wl_launcher_mpi_env(const struct wl_strs *given_env, struct wl_arena *a)
{
    struct wl_strs env = { 0 };
    for (size_t i = 0; given_env && i < given_env->n; i++) wl_strs_add(a, &env, given_env->v[i]);
    add(&env, mpi_env, WL_COUNT(mpi_env), a);
    if (geteuid() == 0) add(&env, mpi_root_env, WL_COUNT(mpi_root_env), a);
    return env;
}

static int local_run(struct wl_store *s, int64_t run, const struct wl_run_opts *how, struct wl_run_result *out,
                     struct wl_arena *a, struct wl_err *e)
{
    struct wl_strs env = wl_launcher_mpi_env(how->env, a);
    struct wl_run_opts with_env = *how;
    with_env.env = &env;
    return how->on_nodes ? wl_run_multinode(s, run, &with_env, out, a, e)
                         : wl_run_measure(s, run, &with_env, out, a, e);
}

const struct wl_launcher wl_launcher_local = {
    .name = "local", .help = "on this machine", .runs = true, .run = local_run
};

/* A run of no length that did nothing: what is left is the cost of the harness. */
static int null_run(struct wl_store *s, int64_t run, const struct wl_run_opts *how, struct wl_run_result *out,
                    struct wl_arena *a, struct wl_err *e)
{
    struct wl_run_begin begin = { .command = wl_shell_quote(a, how->argv),
                                  .version = WL_VERSION,
                                  .at = wl_anchor_now() };
    int rc = wl_store_run_begin(s, run, &begin, e);
    if (rc < 0) return rc;
    *out = (struct wl_run_result) { .status = WL_RUN_DONE, .derived.actual = wl_settings_none };
    out->derived.actual.hardware = "none";
    out->start_ns = out->end_ns = begin.at.mono_ns;
    struct wl_run_end end = wl_run_end_none;
    end.exit_status = 0;
    end.at = begin.at;
    end.flag = "launcher null: nothing was run";
    return wl_store_run_end(s, run, &end, &out->derived, e);
}

const struct wl_launcher wl_launcher_null = { .name = "null", .help = "starts nothing; tries a file", .run = null_run };

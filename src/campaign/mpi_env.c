/* What makes mpirun start ranks as a campaign counts them. */
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

/* What makes mpirun start ranks as a campaign counts them. */
#include "campaign/internal.h"

#include <stdlib.h>
#include <unistd.h>

/* Open MPI (4 and 5) refuses to run as root or with more ranks than cores, and binds ranks to single cores. We have
 * counted the cores, we place the threads, and a campaign that is started as root is meant to run as root. Other MPIs
 * do not read these. Values that the user has set stay. */
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

static bool is_set(const struct wl_strs *env, const char *name, struct wl_arena *a)
{
    for (size_t i = 0; i < env->n; i++)
        if (wl_str_starts(env->v[i], wl_strf(a, "%s=", name))) return true;
    return getenv(name) != NULL;
}

static void add(struct wl_strs *env, const char *const pairs[][2], size_t n, struct wl_arena *a)
{
    for (size_t i = 0; i < n; i++)
        if (!is_set(env, pairs[i][0], a)) wl_strs_add(a, env, wl_strf(a, "%s=%s", pairs[i][0], pairs[i][1]));
}

struct wl_strs wl_launcher_mpi_env(const struct wl_strs *env_of_user, struct wl_arena *a)
{
    struct wl_strs env = { 0 };
    for (size_t i = 0; env_of_user && i < env_of_user->n; i++) wl_strs_add(a, &env, env_of_user->v[i]);
    add(&env, mpi_env, WL_COUNT(mpi_env), a);
    if (geteuid() == 0) add(&env, mpi_root_env, WL_COUNT(mpi_root_env), a);
    return env;
}

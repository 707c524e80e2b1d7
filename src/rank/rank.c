/* The rank that a launcher gave this process, from the environment that it set. */
#include "rank/rank.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The variables of a launcher; it started us only if all four numbers are there. Sources: torch.distributed.run, Open
 * MPI's FAQ "running", MPICH's Hydra (mpiexec of Intel MPI sets the same), srun(1) "OUTPUT ENVIRONMENT VARIABLES". */
static const struct launcher_env {
    const char *name;
    const char *rank, *size, *local_rank, *local_size;
    const char *job[2]; /* distinguishes its jobs; NULL: the parent process does */
} launchers[] = {
    { "torch", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", { "TORCHELASTIC_RUN_ID", "MASTER_PORT" } },
    { "ompi",
      "OMPI_COMM_WORLD_RANK",
      "OMPI_COMM_WORLD_SIZE",
      "OMPI_COMM_WORLD_LOCAL_RANK",
      "OMPI_COMM_WORLD_LOCAL_SIZE",
      { "PMIX_NAMESPACE", NULL } },
    { "hydra", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", { NULL, NULL } },
    { "slurm",
      "SLURM_PROCID",
      "SLURM_STEP_NUM_TASKS",
      "SLURM_LOCALID",
      "SLURM_STEP_TASKS_PER_NODE",
      { "SLURM_JOB_ID", "SLURM_STEP_ID" } },
};

/* A count, -1: the variable is missing or not one. */
static int env_count(const char *name)
{
    const char *text = getenv(name);
    int64_t v;
    return text && wl_str_to_int(text, &v) == 0 && v >= 0 && v < 1 << 24 ? (int)v : -1;
}

/* Slurm run-length encodes the tasks of the nodes: "4(x2),3" is 4, 4 and 3. */
static int tasks_of_node(const char *list, int node)
{
    for (const char *s = list; *s;) {
        char *end;
        long tasks = strtol(s, &end, 10), times = 1;
        if (end == s) return -1;
        if (wl_str_starts(end, "(x")) times = strtol(end + 2, &end, 10);
        if (*end == ')') end++;
        if (node < times) return (int)tasks;
        node -= (int)times;
        s = end + (*end == ',');
        if (*end && *end != ',') return -1;
    }
    return -1;
}

static int local_size_of(const struct launcher_env *l)
{
    const char *text = getenv(l->local_size);
    int node = env_count("SLURM_NODEID");
    if (!text || !wl_str_eq(l->name, "slurm")) return env_count(l->local_size);
    return node < 0 ? -1 : tasks_of_node(text, node);
}

/* "ompi-1234567.1", usable in a file name. Where the launcher does not name its job, the pid of its process on this
 * node does: all local ranks are its children. */
static const char *job_name(const struct launcher_env *l, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    wl_text_add(&t, l->name);
    for (size_t i = 0; i < WL_COUNT(l->job) && l->job[i]; i++) {
        const char *v = getenv(l->job[i]);
        wl_text_addf(&t, "-%s", v ? v : "");
    }
    if (!l->job[0] || !getenv(l->job[0])) wl_text_addf(&t, "-%d", (int)getppid());
    for (char *c = t.s; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-_", *c)) *c = '_';
    return t.s;
}

bool wl_rank_from_env(struct wl_rank *out, struct wl_arena *a)
{
    for (size_t i = 0; i < WL_COUNT(launchers); i++) {
        const struct launcher_env *l = &launchers[i];
        *out = (struct wl_rank) { .rank = env_count(l->rank),
                                  .size = env_count(l->size),
                                  .local_rank = env_count(l->local_rank),
                                  .local_size = local_size_of(l) };
        if (out->rank < 0 || out->size <= 0 || out->local_rank < 0 || out->local_size <= 0) continue;
        if (out->rank >= out->size || out->local_rank >= out->local_size || out->local_size > out->size) continue;
        out->job = job_name(l, a);
        return true;
    }
    return false;
}

/* wattlaw-train: the reference workloads, data-parallel. */
#include "cmd/train/commands.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

/* About as long as waking a thread that sleeps takes, .05 ms, in turns of libgomp's waiting loop: who waits so long
 * before sleeping never loses more than twice what the best choice costs. */
#define SPINS "5000"

/* Threads that wait for work spin that long and then sleep, unless the user decides: more spinning takes energy, and
 * collapses where ranks and loaders share cores; none costs .05 ms for each of some hundred kernels of a step. The
 * OpenMP runtime reads the variables when it is loaded, which was before main: so the program starts once more, as the
 * same process. Where that fails the training runs all the same. */
static void set_omp_wait_policy(char **argv)
{
    char own[PATH_MAX] = "";
    if (getenv("OMP_WAIT_POLICY") || readlink("/proc/self/exe", own, sizeof own - 1) < 0) return;
    if (!setenv("OMP_WAIT_POLICY", "passive", 0) && !setenv("GOMP_SPINCOUNT", SPINS, 0)) execv(own, argv);
}

int main(int argc, char **argv)
{
    set_omp_wait_policy(argv);
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_cmd_program program = {
        .name = "wattlaw-train",
        .usage = "MODEL --data DIR [options]",
        .noun = "model",
        .about = "Trains a reference network, alone or as one of many workers, and marks its epochs for wattlaw.",
        .commands = wl_cmd_train_commands(a),
    };
    int status = wl_cmd_program_main(&program, argc, argv);
    wl_arena_free(a);
    return status;
}

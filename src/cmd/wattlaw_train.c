/* wattlaw-train: the reference workloads, data-parallel. */
#include "cmd/train_cmds.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

/* Threads that wait for work sleep instead of spinning, unless the user decides: spinning takes energy, and collapses
 * where ranks and loaders share cores. The OpenMP runtime reads the variable when it is loaded, which was before main:
 * so the program starts once more, as the same process. Where that fails the training runs all the same. */
static void let_threads_sleep(char **argv)
{
    char own[PATH_MAX] = "";
    if (getenv("OMP_WAIT_POLICY") || readlink("/proc/self/exe", own, sizeof own - 1) < 0) return;
    if (!setenv("OMP_WAIT_POLICY", "passive", 0)) execv(own, argv);
}

int main(int argc, char **argv)
{
    let_threads_sleep(argv);
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_program program = {
        .name = "wattlaw-train",
        .usage = "MODEL --data DIR [options]",
        .noun = "model",
        .about = "Trains a reference network, alone or as one of many workers, and marks its epochs for wattlaw.",
        .commands = wl_train_commands(a),
    };
    int status = wl_program_main(&program, argc, argv);
    wl_arena_free(a);
    return status;
}

/* wattlaw-train: the reference workloads, data-parallel. */
#include "cmd/train/commands.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

/* Turns of libgomp's waiting loop that take about as long as waking a sleeping thread, 0.05 ms: spinning that long
 * before sleeping costs at most twice the best choice. */
#define SPINS "5000"

/* Waiting threads spin that long and then sleep, unless the user sets OMP_WAIT_POLICY: more spinning takes energy, and
 * is slow where ranks and loaders share cores; none costs 0.05 ms for each of some hundred kernels of a step. The
 * OpenMP runtime reads the variables when it is loaded, before main: so the program executes itself once more. If that
 * fails, the training runs with the runtime's defaults. */
static void set_omp_wait_policy(char **argv)
{
    char self[PATH_MAX] = "";
    if (getenv("OMP_WAIT_POLICY") || readlink("/proc/self/exe", self, sizeof self - 1) < 0) return;
    if (!setenv("OMP_WAIT_POLICY", "passive", 0) && !setenv("GOMP_SPINCOUNT", SPINS, 0)) execv(self, argv);
}

int main(int argc, char **argv)
{
    set_omp_wait_policy(argv);
    struct wl_arena *a = wl_arena_new(NULL);
    const struct wl_cmd_program program = {
        .name = "wattlaw-train",
        .usage = "MODEL --data PATH [options] | data SET [options]",
        .noun = "command",
        .about = "Trains a reference network with one or more workers and writes mark lines for wattlaw.",
        .commands = wl_cmd_train_commands(a),
    };
    int status = wl_cmd_program_main(&program, argc, argv);
    wl_arena_free(a);
    return status;
}

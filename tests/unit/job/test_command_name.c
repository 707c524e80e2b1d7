/* Runs are named by their script, not by the interpreter and the launchers before it. */
#include "job/job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

static const char *const programs[] = { "python", "python3", "bash", "env", "sh", "train" };

/* A PATH with these programs alone. */
static void make_path(struct wl_arena *a)
{
    char *folder = wl_strf(a, "%s/command-name-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < WL_COUNT(programs); i++) {
        const char *path = wl_path_join(a, folder, programs[i]);
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fclose(f);
        assert_int_equal(chmod(path, 0755), 0);
    }
    setenv("PATH", folder, 1);
}

static void names(void **state)
{
    (void)state;
    static const struct {
        const char *command, *name;
    } cases[] = {
        { "python train.py", "train.py" },
        { "python3.11 -u src/train.py --lr 1", "train.py" },
        { "/usr/bin/python3 -X dev -W ignore train.py", "train.py" },
        { "python -m train_llm --epochs 3", "train_llm" },
        { "python -um pkg.train", "pkg.train" },
        { "python -c print(1)", "python" },
        { "python", "python" },
        { "bash run.sh", "run.sh" },
        { "bash -e -o pipefail ./run.sh a b", "run.sh" },
        { "sh -c true", "sh" },
        { "torchrun --nproc_per_node 4 train.py --lr 1", "train.py" },
        { "torchrun --nproc_per_node=4 -m train_llm", "train_llm" },
        { "python -m torch.distributed.run --nproc_per_node 2 train.py", "train.py" },
        { "python -m accelerate.commands.launch --num_processes 2 train.py", "train.py" },
        { "srun python train.py", "train.py" },
        { "srun -p gpu -n 4 python3 -u train.py", "train.py" },
        { "mpirun -np 4 train --data d", "train" },
        { "numactl -m 0 python train.py", "train.py" },
        { "env OMP_NUM_THREADS=4 python train.py", "train.py" },
        { "accelerate launch --num_processes 2 train.py", "train.py" },
        { "srun -n 4", "srun" },
        { "./train.py --x", "train.py" },
        { "./build/train --x", "train" },
        { "pythonista a b", "pythonista" },
    };
    struct wl_arena *a = wl_arena_new(NULL);
    make_path(a);
    for (size_t i = 0; i < WL_COUNT(cases); i++) {
        struct wl_strs words = wl_str_split(a, cases[i].command, ' ');
        wl_strs_add(a, &words, "");
        words.v[--words.n] = NULL;
        const char *name = wl_command_name(words.v, a);
        if (!wl_str_eq(name, cases[i].name)) fail_msg("%s: %s, not %s", cases[i].command, name, cases[i].name);
    }
    assert_null(wl_command_name((char *[]) { NULL }, a));
    enum { ENVS = 200000 }; /* env env env ... */
    char **many = wl_new_array(a, char *, ENVS + 1);
    for (size_t i = 0; i < ENVS; i++) many[i] = (char *)"env";
    assert_string_equal(wl_command_name(many, a), "env");
    wl_arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(names) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

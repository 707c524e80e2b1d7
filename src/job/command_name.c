#include "job/command_name.h"

#include <ctype.h>
#include <string.h>

/* Programs that run a script: options that take the next word, and the one that names a module or is a program itself.
 */
struct interpreter {
    const char *name;     /* of the program, perhaps with a version after it: python3.11 */
    const char *valued;   /* letters of options with a value */
    char module, inline_; /* -m MODULE; -c TEXT: there is no script */
};
static const struct interpreter interpreters[] = {
    { "python", "WXQ", 'm', 'c' }, { "pypy", "WX", 'm', 'c' }, { "bash", "oO", 0, 'c' },  { "sh", "o", 0, 'c' },
    { "dash", "o", 0, 'c' },       { "zsh", "o", 0, 'c' },     { "ksh", "o", 0, 'c' },    { "perl", "I", 0, 'e' },
    { "ruby", "I", 0, 'e' },       { "julia", "JtC", 0, 'e' }, { "Rscript", "", 0, 'e' }, { "node", "r", 0, 'e' },
};

/* Programs that start a Python script, or a module after -m. */
static const char *const python_launchers[] = { "torchrun", "accelerate", "deepspeed", "composer" };

/* Programs that start another one, after options of their own. */
static const char *const launchers[] = {
    "srun",   "mpirun", "mpiexec", "orterun",    "horovodrun", "env",         "nice", "ionice",   "time", "timeout",
    "nohup",  "setsid", "stdbuf",  "numactl",    "taskset",    "sudo",        "doas", "xvfb-run", "uv",   "poetry",
    "pipenv", "conda",  "mamba",   "micromamba", "apptainer",  "singularity", "nsys", "ncu",      "chrt", "systemd-run",
};

/* Modules that are launchers: `python -m torch.distributed.run train.py`. */
static const char *const launcher_modules[] = { "torch.distributed.run", "torch.distributed.launch",
                                                "accelerate.commands.launch", "deepspeed.launcher.runner",
                                                "horovod.runner.launch" };

static const char *const script_ends[] = { ".py", ".sh", ".bash", ".jl", ".R", ".pl", ".rb", ".js" };

static bool is_in(const char *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (wl_str_eq(name, list[i])) return true;
    return false;
}

/* "python3.11" is python: only digits and dots follow. */
static const struct interpreter *interpreter_of(const char *program)
{
    for (size_t i = 0; i < WL_COUNT(interpreters); i++) {
        if (!wl_str_starts(program, interpreters[i].name)) continue;
        const char *rest = program + strlen(interpreters[i].name);
        if (rest[strspn(rest, "0123456789.")] == '\0') return &interpreters[i];
    }
    return NULL;
}

static bool is_script(const char *word)
{
    for (size_t i = 0; i < WL_COUNT(script_ends); i++) {
        const size_t n = strlen(word), m = strlen(script_ends[i]);
        if (n > m && wl_str_eq(word + n - m, script_ends[i])) return true;
    }
    return false;
}

/* Launchers in a row: each is a call within that of the one before. */
enum { LAUNCHERS_MAX = 16 };

static const char *name_of(char *const *argv, int launchers_before, struct wl_arena *a);

/* Options of a launcher may take values, and only the launcher knows which. What it starts is the first word that is a
 * script, or a program that is found; values such as "4" and "gpu" are neither. */
static const char *name_after_launcher(char *const *argv, bool python, int launchers_before, struct wl_arena *a)
{
    if (launchers_before == LAUNCHERS_MAX) return NULL;
    for (; *argv; argv++) {
        if (python && (wl_str_eq(*argv, "-m") || wl_str_eq(*argv, "--module"))) return argv[1];
        if (**argv == '-' || strchr(*argv, '=')) continue;
        if (is_script(*argv)) return wl_path_base(*argv);
        if (wl_process_find_program(*argv, a)) return name_of(argv, launchers_before + 1, a);
    }
    return NULL;
}

/* The word after the options of an interpreter. */
static const char *name_after_interpreter(const struct interpreter *by, char *const *argv, int launchers_before,
                                          struct wl_arena *a)
{
    for (; *argv; argv++) {
        if (wl_str_eq(*argv, "--")) return argv[1] ? wl_path_base(argv[1]) : NULL;
        if (**argv != '-') return wl_path_base(*argv);
        if (wl_str_starts(*argv, "--") || !argv[0][1]) continue;
        const char last = argv[0][strlen(*argv) - 1]; /* letters may be put together: -um train */
        if (by->inline_ && last == by->inline_) return NULL;
        if (by->module && last == by->module && argv[1])
            return is_in(argv[1], launcher_modules, WL_COUNT(launcher_modules))
                       ? name_after_launcher(argv + 2, true, launchers_before, a)
                       : argv[1];
        if (strchr(by->valued, last) && argv[1]) argv++;
    }
    return NULL;
}

static const char *name_of(char *const *argv, int launchers_before, struct wl_arena *a)
{
    const char *program = wl_path_base(*argv), *name = NULL;
    const struct interpreter *by = interpreter_of(program);
    if (by)
        name = name_after_interpreter(by, argv + 1, launchers_before, a);
    else if (is_in(program, python_launchers, WL_COUNT(python_launchers)))
        name = name_after_launcher(argv + 1, true, launchers_before, a);
    else if (is_in(program, launchers, WL_COUNT(launchers)))
        name = name_after_launcher(argv + 1, false, launchers_before, a);
    return name && *name ? name : program;
}

const char *wl_command_name(char *const *argv, struct wl_arena *a) { return *argv ? name_of(argv, 0, a) : NULL; }

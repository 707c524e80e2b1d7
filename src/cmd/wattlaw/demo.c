/* wattlaw demo: a sweep of power caps on simulated GPUs, in a folder of its own. Sweep, caps, sensors and analysis are
 * the real ones; the driver (tests/fake) and the training job are simulated, and so is every number. */
#include "cmd/cmd.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern const unsigned char wl_demo_ini[];

struct demo_options {
    const char *folder;
};

static const struct wl_opt options[] = { { .name = "folder",
                                           .type = WL_STR,
                                           .offset = offsetof(struct demo_options, folder),
                                           .def = "wattlaw-demo",
                                           .unit = "FOLDER",
                                           .help =
                                               "new folder of the demo, or that of an interrupted one to continue" },
                                         WL_OPT_END };

static const char *own_path(struct wl_arena *a)
{
    char self[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    return n > 0 ? wl_strndup(a, self, (size_t)n) : "wattlaw";
}

/* The folder with the simulated driver and job: of an installed wattlaw, of its build folder, or WATTLAW_SIMULATOR. */
static int find_simulator(const char *self, const char **out, struct wl_arena *a, struct wl_err *e)
{
    const char *const named = getenv("WATTLAW_SIMULATOR"), *beside = wl_path_dir(a, self);
    const char *const folders[] = { named && *named ? named : WL_SIMULATOR_DIR,
                                    wl_path_join(a, beside, "../libexec/wattlaw"),
                                    wl_path_join(a, beside, "../../tests/fake") };
    for (size_t i = 0; i < WL_COUNT(folders); i++) {
        char real[PATH_MAX];
        if (!realpath(folders[i], real) || !wl_is_file(wl_path_join(a, real, "libnvidia-ml-fake.so")) ||
            !wl_is_file(wl_path_join(a, real, "fake-load")))
            continue;
        *out = wl_strdup(a, real);
        return 0;
    }
    return wl_fail(
        e, WL_EUNAVAIL,
        "the simulated driver (libnvidia-ml-fake.so, fake-load) is not in %s: WATTLAW_SIMULATOR names its folder",
        folders[0]);
}

/* A path becomes part of an INI value, a command line and $WATTLAW_FAKE_NVML. */
static int check_path(const char *path, struct wl_err *e)
{
    const char *bad = strpbrk(path, " \t\n;#'\"\\{}=");
    return bad ? wl_fail(e, WL_EINVAL, "%s: the demo does not work in a path with '%c'", path, *bad) : 0;
}

/* The experiment for this machine. */
static const char *experiment(const char *simulator, struct wl_arena *a)
{
    static const char word[] = "SIMULATOR/";
    struct wl_text t = WL_TEXT(a);
    const char *from = (const char *)wl_demo_ini;
    for (const char *at; (at = strstr(from, word)) != NULL; from = at + strlen(word)) {
        wl_text_addn(&t, from, (size_t)(at - from));
        wl_text_addf(&t, "%s/", simulator);
    }
    wl_text_add(&t, from);
    return t.s;
}

static int write_experiment(const char *path, const char *text, struct wl_err *e)
{
    return wl_file_write(path, text, strlen(text), e);
}

/* An experiment runs commands: one that another user has put here is not ours to run. */
static bool is_ours(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & S_IWOTH);
}

/* Makes the folder, or finds that of an earlier demo; anything else of that name is left alone. */
static int open_folder(const char *given, const char *simulator, const char **folder, struct wl_arena *a,
                       struct wl_err *e)
{
    char real[PATH_MAX];
    const bool made = mkdir(given, 0777) == 0;
    if (!made && errno != EEXIST) return wl_fail_errno(e, "%s", given);
    const char *ini = wl_path_join(a, given, "demo.ini");
    if (!made && !wl_is_file(ini))
        return wl_fail(e, WL_EINVAL, "%s exists and is not the folder of a demo: choose another one with --folder",
                       given);
    if (!made && !(is_ours(given) && is_ours(ini)))
        return wl_fail(e, WL_EPERM, "%s: other users can write to it: choose another folder with --folder", ini);
    if (!realpath(given, real)) return wl_fail_errno(e, "%s", given);
    *folder = wl_strdup(a, real);
    int rc = check_path(*folder, e);
    return rc || !made ? rc : write_experiment(ini, experiment(simulator, a), e);
}

/* The state of caps and of reserved devices is the demo's own too: real GPUs are not concerned. */
static struct wl_strs environment(const char *folder, struct wl_arena *a)
{
    struct wl_strs env = { 0 };
    wl_strs_add(a, &env,
                wl_strf(a, "WATTLAW_FAKE_NVML=gpus=4; profile=A100; world=%s/gpus; state=%s/limits", folder, folder));
    wl_strs_add(a, &env, wl_strf(a, "WATTLAW_STATE_DIR=%s/state", folder));
    wl_strs_add(a, &env, wl_strf(a, "WATTLAW_NODE_DIR=%s/node", folder));
    wl_strs_add(a, &env, "CUDA_VISIBLE_DEVICES=0,1,2,3");
    return env;
}

static void wait_for_command(int sig) { (void)sig; }

/* Ctrl-C reaches the command from the terminal; we end after it. A handler, unlike SIG_IGN, is not inherited. */
static int run_command(const char *folder, char *const *argv, int *status, struct wl_arena *a, struct wl_err *e)
{
    const struct wl_strs env = environment(folder, a);
    struct wl_process_result end;
    bool done;
    pid_t pid;
    wl_print("$ wattlaw %s\n", wl_shell_quote(a, argv + 1));
    if (wl_out_flush() < 0) return wl_fail(e, WL_EIO, "cannot write to stdout");
    const struct wl_process_spawn how = { .argv = argv, .env = &env, .dir = folder, .stdout_fd = -1, .stderr_fd = -1 };
    int rc = wl_process_spawn(&how, &pid, e);
    if (rc < 0) return rc;
    void (*before)(int) = signal(SIGINT, wait_for_command);
    rc = wl_process_wait(pid, true, &done, &end, e);
    signal(SIGINT, before);
    *status = end.status;
    return rc;
}

static int run(void *opts, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    const struct demo_options *o = opts;
    const char *self = own_path(a), *simulator, *folder;
    if (rest->args.n || rest->command) return wl_fail(e, WL_EUSAGE, "expected no arguments");
    int rc = find_simulator(self, &simulator, a, e);
    if (rc == 0) rc = check_path(simulator, e);
    if (rc == 0) rc = open_folder(o->folder, simulator, &folder, a, e);
    if (rc) return rc;
    wl_print("A sweep of power caps on four simulated A100: driver and job are simulated, and so are all numbers.\n\n");
    char *const steps[][6] = {
        { (char *)self, "sweep", "demo.ini", NULL },
        { (char *)self, "recommend", "results", NULL },
    };
    for (size_t i = 0; i < WL_COUNT(steps); i++) {
        int status = 0;
        rc = run_command(folder, steps[i], &status, a, e);
        if (rc < 0 || status) return rc < 0 ? rc : status;
        wl_print("\n");
    }
    wl_print("The experiment is %s/demo.ini, its runs are in %s/results (simulated). Go on there:\n", o->folder,
             o->folder);
    static const char *const next[] = { "show %s/results", "fit %s/results", "compare %s/results --factor power_cap_w",
                                        "report %s/results" };
    for (size_t i = 0; i < WL_COUNT(next); i++) {
        const char *at = strchr(next[i], '%');
        wl_print("  wattlaw %.*s%s%s\n", (int)(at - next[i]), next[i], o->folder, at + 2);
    }
    return WL_EXIT_OK;
}

const struct wl_cmd wl_cmd_demo = {
    .name = "demo",
    .usage = "[--folder FOLDER]",
    .help = "run a sweep of power caps on simulated GPUs, for machines without a GPU",
    .more =
        "Sweep, caps, sensors and analysis are the real ones; the GPU driver and the training job are simulated, and "
        "every\n"
        "number says so. The demo takes about a minute. After an interruption the same command continues it.",
    .options = options,
    .options_size = sizeof(struct demo_options),
    .run = run,
};

/* Runs a test in a world of its own: world COMMAND [ARGUMENT]...
 *
 * What tests on one machine could share is a fresh folder's: files (TMPDIR), caches, wattlaw's state, the place where
 * wattlaws meet. What the caller's own job has set for its ranks and devices is taken away. However the test ends, its
 * folder is removed and no process of it is left; one that it leaves running makes it fail, since the next test would
 * meet it.
 *
 * Its last line on stderr says what processor time the test took (tools/count-tests adds it up): unlike the duration
 * that meson measures, it is nearly the same on a machine that others use too.
 *
 * The test runs below a keeper with a session of its own, to which every orphan of the test comes. meson ends a test by
 * SIGTERM and half a second later SIGKILL to our group: the keeper says what was running then, and has the time it
 * takes. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FAILED = 1, GRACE_S = 20 }; /* guards and daemons of a test that ended may take this long to end */
static const unsigned long long ROOM_BYTES = 1ULL << 30;

static void die(const char *what)
{
    fprintf(stderr, "world: %s: %s\n", what, strerror(errno));
    exit(FAILED);
}

/* ---- the folder ---- */

/* Memory, where many small files that are synced cost no disk. Docker's /dev/shm is small and forbids programs. */
static const char *base(void)
{
    const char *given = getenv("TMPDIR");
    struct statvfs st;
    if (given && *given) return given;
    bool fits = statvfs("/dev/shm", &st) == 0 && !(st.f_flag & (ST_NOEXEC | ST_RDONLY)) &&
                (unsigned long long)st.f_bavail * st.f_frsize >= ROOM_BYTES && access("/dev/shm", W_OK) == 0;
    return fits ? "/dev/shm" : "/tmp";
}

static const struct {
    const char *variable, *name;
} places[] = {
    { "TMPDIR", "tmp" },
    { "XDG_CACHE_HOME", "cache" },
    { "XDG_STATE_HOME", "state" },
    { "WATTLAW_STATE_DIR", "wattlaw" },
    { "WATTLAW_NODE_DIR", "node" },
};

static void make_folder(char *folder, size_t n)
{
    char path[PATH_MAX + 16];
    snprintf(folder, n, "%s/wattlaw-test-XXXXXX", base());
    if (!mkdtemp(folder) || chmod(folder, 0755)) die(folder); /* tests become other users */
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, places[i].name);
        if (mkdir(path, 0755) || setenv(places[i].variable, path, 1)) die(path);
    }
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    if (remove(path) == 0 || errno != EBUSY) return 0;
    (void)!umount2(path, MNT_DETACH); /* a test that was killed over a file system of its own */
    (void)!remove(path);
    return 0;
}

static int open_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)at;
    if (type == FTW_D || type == FTW_DNR) (void)!chmod(path, 0755);
    return 0;
}

static void remove_folder(const char *folder)
{
    if (geteuid() != 0) nftw(folder, open_one, 16, FTW_PHYS);
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- the environment ---- */

/* Variables, and families of them (they end in _), by which a launcher describes its job to the ranks. */
static const char *const callers[] = { "SLURM_",
                                       "PMI_",
                                       "PMIX_",
                                       "OMPI_COMM_WORLD_",
                                       "MPI_LOCALRANKID",
                                       "RANK",
                                       "WORLD_SIZE",
                                       "LOCAL_RANK",
                                       "LOCAL_WORLD_SIZE",
                                       "CUDA_VISIBLE_DEVICES",
                                       "CUDA_DEVICE_ORDER",
                                       "ROCR_VISIBLE_DEVICES",
                                       "NVML_LIBRARY",
                                       "WATTLAW_HOST",
                                       "WATTLAW_MARKS",
                                       "WATTLAW_RUN_DIR",
                                       "WATTLAW_LOCAL_RANKS",
                                       "WATTLAW_RANK",
                                       "CUDA_DRIVER_LIBRARY",
                                       "WATTLAW_JOURNAL",
                                       "COLUMNS",
                                       "NO_COLOR" };

static bool of_the_caller(const char *variable, size_t n)
{
    for (size_t i = 0; i < sizeof callers / sizeof *callers; i++) {
        size_t m = strlen(callers[i]);
        if (n >= m && memcmp(variable, callers[i], m) == 0 && (n == m || callers[i][m - 1] == '_')) return true;
    }
    return false;
}

/* Signals that the caller ignores (nohup, background jobs of scripts) count again: what is tested would ignore them
 * too. */
static void forget_ignored_signals(void)
{
    for (int sig = 1; sig < SIGRTMIN; sig++)
        if (sig != SIGKILL && sig != SIGSTOP) signal(sig, SIG_DFL);
}

static void forget_the_caller(void)
{
    forget_ignored_signals();
    for (char **at = environ; *at;) {
        char name[256];
        size_t n = strcspn(*at, "=");
        snprintf(name, sizeof name, "%.*s", (int)n, *at);
        if (!of_the_caller(*at, n) || unsetenv(name)) at++; /* where one is taken away the next one has moved here */
    }
}

/* ---- processes ---- */

/* Calls `each` for all processes below pid, children before parents; returns how many there are. */
static int below(pid_t pid, void (*each)(pid_t))
{
    char path[64];
    int n = 0, child;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    while (fscanf(f, "%d", &child) == 1) {
        n += 1 + below(child, each);
        each(child);
    }
    fclose(f);
    return n;
}

static void end(pid_t pid) { kill(pid, SIGKILL); }

static void name(pid_t pid, const char *what)
{
    char path[64], words[512];
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(words, 1, sizeof words - 1, f) : 0;
    if (f) fclose(f);
    for (size_t i = 0; i < n; i++)
        if (words[i] == '\0') words[i] = ' ';
    words[n] = '\0';
    if (n) fprintf(stderr, "world: %s: %d %s\n", what, (int)pid, words);
}

static void name_left(pid_t pid) { name(pid, "the test left a process running"); }
static void name_running(pid_t pid) { name(pid, "it was ended while this ran"); }

/* Takes in who has ended. Returns whether anybody is left; *test is set to 0 once the test has ended, with its status.
 */
static bool take_in(pid_t *test, int *status)
{
    for (;;) {
        int s;
        pid_t pid = waitpid(-1, &s, WNOHANG);
        if (pid <= 0) return pid == 0;
        if (pid != *test) continue;
        *status = s;
        *test = 0;
    }
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Waits for the test and what it has started; SIGKILL where they take too long or a signal asks us to end. Returns
 * whether the test and all of it ended by themselves. */
static bool look_after(pid_t test, int *status, const sigset_t *signals)
{
    bool ended_by_signal = false, late = false;
    double until_s = 0;
    while (take_in(&test, status)) {
        if (!test && until_s == 0) until_s = now_s() + GRACE_S;
        if (!late && until_s > 0 && now_s() > until_s) {
            late = true;
            below(getpid(), name_left);
        }
        if (ended_by_signal || late) below(getpid(), end);
        struct timespec step = { .tv_nsec = test && !ended_by_signal ? 500000000 : 5000000 };
        int sig = sigtimedwait(signals, NULL, &step);
        if (sig <= 0 || sig == SIGCHLD || ended_by_signal) continue;
        ended_by_signal = true;
        below(getpid(), name_running);
    }
    return !ended_by_signal && !late;
}

/* Of all that ended below us. */
static void say_processor_time(void)
{
    struct rusage u;
    getrusage(RUSAGE_CHILDREN, &u);
    fprintf(stderr, "world: %.2f s of processor time\n",
            (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec));
}

/* ---- */

static void run(char **command, const sigset_t *old)
{
    sigprocmask(SIG_SETMASK, old, NULL);
    setsid(); /* a test may signal its group */
    execvp(command[0], command);
    fprintf(stderr, "world: %s: %s\n", command[0], strerror(errno));
    _exit(127);
}

/* As the process ended whose status this is. */
static void end_like(int status)
{
    if (WIFEXITED(status)) _exit(WEXITSTATUS(status));
    setrlimit(RLIMIT_CORE, &(struct rlimit) { 0, 0 }); /* it has its own */
    signal(WTERMSIG(status), SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    raise(WTERMSIG(status));
    _exit(FAILED);
}

static void keep(char **command, pid_t parent)
{
    char folder[PATH_MAX];
    sigset_t signals, old;
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &signals, &old);
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (getppid() != parent) _exit(FAILED);
    make_folder(folder, sizeof folder);
    int status = 0;
    pid_t test = fork();
    if (test < 0) die("fork");
    if (test == 0) run(command, &old);
    bool fine = look_after(test, &status, &signals);
    remove_folder(folder);
    say_processor_time();
    if (!fine && WIFEXITED(status) && WEXITSTATUS(status) == 0) _exit(FAILED);
    end_like(status);
}

static volatile sig_atomic_t keeper;
static void pass_on(int sig) { kill(keeper, sig); }

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: world COMMAND [ARGUMENT]...\n");
        return 2;
    }
    forget_the_caller();
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* meson was killed */
    pid_t parent = getpid(), pid = fork();
    if (pid < 0) die("fork");
    if (pid == 0) keep(argv + 1, parent);
    keeper = pid;
    static const int signals[] = { SIGTERM, SIGINT, SIGHUP };
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) signal(signals[i], pass_on);
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) die("wait");
    end_like(status);
}

#include "campaign/internal.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ENVIRON_MAX = 4 << 20, LOOK_AGAIN_US = 10000 };

/* Does the environment, NUL-separated as in /proc/PID/environ, hold WATTLAW_RUN_DIR with one of these values? */
static bool carries(const char *env, size_t n, const struct wl_strs *run_dirs)
{
    static const char name[] = "WATTLAW_RUN_DIR=";
    for (const char *s = env; s < env + n; s += strlen(s) + 1) {
        if (!wl_starts(s, name)) continue;
        for (size_t i = 0; i < run_dirs->n; i++)
            if (wl_streq(s + strlen(name), run_dirs->v[i])) return true;
    }
    return false;
}

/* Sends the signal to every such process; returns how many there are. Those of other users cannot be read. */
static int signal_all(const struct wl_strs *run_dirs, int sig)
{
    struct wl_arena *a = wl_arena_new(NULL);
    int found = 0;
    DIR *dir = opendir("/proc");
    for (const struct dirent *d; dir && (d = readdir(dir));) {
        pid_t pid = (pid_t)atol(d->d_name);
        char *env;
        size_t n;
        if (pid <= 1 || pid == getpid()) continue;
        if (wl_file_read(wl_strf(a, "/proc/%ld/environ", (long)pid), ENVIRON_MAX, &env, &n, a, NULL) < 0) continue;
        if (carries(env, n, run_dirs) && kill(pid, sig) == 0) found++;
    }
    if (dir) closedir(dir);
    wl_arena_free(a);
    return found;
}

int wl_leftovers_end(const struct wl_strs *run_dirs, double grace_s)
{
    if (run_dirs->n == 0) return 0;
    int found = signal_all(run_dirs, SIGTERM), left = found;
    int64_t kill_at_ns = wl_now_ns() + (int64_t)(grace_s * WL_NS_PER_S), give_up_ns = kill_at_ns + WL_STUCK_NS;
    while (left > 0 && wl_now_ns() < give_up_ns) {
        usleep(LOOK_AGAIN_US);
        left = signal_all(run_dirs, wl_now_ns() < kill_at_ns ? 0 : SIGKILL);
    }
    if (left > 0)
        wl_log(WL_WARN, "campaign", "%d process%s of a dead run did not end after SIGKILL (stuck in the kernel?)", left,
               left > 1 ? "es" : "");
    return found;
}

/* Devices that a process keeps to itself while it measures: a lock file each beside the journals. The kernel drops the
 * lock with the process; the file stays and names its last holder. */
#include "cap/internal.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { HOLDER_MAX = 400 };

static void close_lock(void *fd) { close(*(int *)fd); }

/* "GPU-5f0a...", "BOOT-rapl_package-0_long_term": machines may share the folder, and their CPUs have the same names. */
static const char *lock_path(const char *dir, const char *device, struct wl_arena *a)
{
    const char *machine = wl_starts(device, "GPU-") ? "" : wl_strf(a, "%s-", wl_boot_id(a));
    char *name = wl_strf(a, "%s%s.device", machine, device);
    for (char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._-", *c)) *c = '_';
    return wl_path_join(a, dir, name);
}

static int refuse(int fd, const struct wl_knob *k, struct wl_arena *a, struct wl_err *e)
{
    char holder[HOLDER_MAX + 1];
    ssize_t n = pread(fd, holder, HOLDER_MAX, 0);
    const char *who = n > 0 ? wl_strip(a, wl_strndup(a, holder, (size_t)n)) : "another process";
    return wl_fail(e, WL_EPERM, "%s (%s) is in use by %s; wait for it, or give this one other devices", k->device,
                   k->name, who);
}

static int reserve_one(const char *dir, const struct wl_knob *k, const char *what, struct wl_arena *a, struct wl_err *e)
{
    const char *path = lock_path(dir, k->device, a);
    int *fd = wl_new(a, int);
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (*fd < 0) return wl_fail_errno(e, "%s: cannot lock", path);
    wl_defer(a, close_lock, fd);
    if (flock(*fd, LOCK_EX | LOCK_NB))
        return errno == EWOULDBLOCK ? refuse(*fd, k, a, e) : wl_fail_errno(e, "%s", path);
    const char *text = wl_strf(a, "process %d (%s)\n", (int)getpid(), what);
    bool told = ftruncate(*fd, 0) == 0 && pwrite(*fd, text, strlen(text), 0) == (ssize_t)strlen(text);
    return told ? 0 : wl_fail_errno(e, "%s: cannot write", path);
}

/* Two kinds of limits of one device are one reservation. */
static bool seen_before(const struct wl_knobs *knobs, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (wl_streq(knobs->v[k].device, knobs->v[i].device)) return true;
    return false;
}

int wl_caps_reserve(const bool kinds[WL_CAP_KINDS], const char *what, const struct wl_cap_opts *opts,
                    const struct wl_power_opts *power, struct wl_arena *a, struct wl_err *e)
{
    struct wl_setting_place place = { .opts = opts, .power = power, .a = a };
    struct wl_knobs knobs = { 0 };
    const char *dir = wl_cap_state_dir(opts, a), *fix;
    for (int kind = 0; kind < WL_CAP_KINDS; kind++) {
        size_t before = knobs.n;
        struct wl_err none;
        if (kinds[kind] && wl_knobs_open(&place, NULL, kind, &knobs, &fix, &none) < 0) knobs.n = before;
    }
    int rc = 0;
    if (knobs.n > 0) rc = wl_mkdirs(dir, e);
    for (size_t i = 0; i < knobs.n && rc == 0; i++)
        if (!seen_before(&knobs, i)) rc = reserve_one(dir, &knobs.v[i], what, a, e);
    return rc;
}

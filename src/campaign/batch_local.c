/* Stores on a node's own disk: SQLite never opens a file there that another machine sees. docs/adr/158
 *
 *     LOCAL/wattlaw-jobs-UID/NAME/wattlaw.db   the store
 *                                 target       where it belongs; locked while its wattlaw lives
 */
#include "campaign/batch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { FREE_MIN_MB = 64, TARGET_MAX = 8192 };
static const char target_file[] = "target";

/* ---- where ---- */

static bool has_room(const char *folder)
{
    struct statvfs st;
    if (access(folder, W_OK | X_OK) != 0 || statvfs(folder, &st) != 0) return false;
    return (double)st.f_bavail * (double)st.f_frsize >= FREE_MIN_MB * 1048576.0;
}

/* A folder of ours alone: anybody can write to /tmp. */
static int open_base(const char *parent, const char **base, struct wl_arena *a, struct wl_err *e)
{
    struct stat st;
    *base = wl_strf(a, "%s/wattlaw-jobs-%u", parent, (unsigned)geteuid());
    if (mkdir(*base, 0700) != 0 && errno != EEXIST) return wl_fail_errno(e, "%s", *base);
    if (lstat(*base, &st) != 0) return wl_fail_errno(e, "%s", *base);
    if (S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH))) return 0;
    return wl_fail(e, WL_EPERM, "%s: not a folder that only this user can write to", *base);
}

int wl_batch_local_base(const char *given, const char **base, struct wl_arena *a, struct wl_err *e)
{
    const char *const usual[] = { getenv("TMPDIR"), "/tmp", "/dev/shm" };
    if (given && has_room(given)) return open_base(given, base, a, e);
    if (given)
        return wl_fail(e, WL_EIO, "%s on %s: [launch] local_dir has less than %d MB or cannot be written to", given,
                       wl_host_name(a), FREE_MIN_MB);
    for (size_t i = 0; i < WL_COUNT(usual); i++)
        if (usual[i] && *usual[i] && has_room(usual[i])) return open_base(usual[i], base, a, e);
    return wl_fail(
        e, WL_EIO,
        "no folder on %s has %d MB for the job's measurement (looked at TMPDIR, /tmp and /dev/shm; local_dir in "
        "[launch] names another one)",
        wl_host_name(a), FREE_MIN_MB);
}

/* ---- the folder of a store ---- */

void wl_batch_local_release(struct wl_batch_local *l)
{
    if (l->lock >= 0) close(l->lock);
    l->lock = -1;
}

static void release(void *what) { wl_batch_local_release(what); }

/* false: its wattlaw, or a guard of it, lives. */
static bool lock_target(struct wl_batch_local *l, int flags, struct wl_arena *a)
{
    l->lock = open(wl_path_join(a, l->dir, target_file), flags | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (l->lock >= 0 && flock(l->lock, LOCK_EX | LOCK_NB) == 0) return true;
    wl_batch_local_release(l);
    return false;
}

/* Another one where what a killed job left could not be salvaged, or a batch system has begun to count again. */
static int make_folder(struct wl_batch_local *l, const char *path, struct wl_arena *a, struct wl_err *e)
{
    enum { NAMES_MAX = 1000 };
    l->dir = path;
    for (int n = 2; mkdir(l->dir, 0700) != 0; n++) {
        if (errno != EEXIST || n > NAMES_MAX) return wl_fail_errno(e, "%s", l->dir);
        l->dir = wl_strf(a, "%s-%d", path, n);
    }
    l->store = wl_path_join(a, l->dir, WL_STORE_FILE);
    return 0;
}

int wl_batch_local_make(struct wl_batch_local *l, const char *path, const char *target, struct wl_arena *a,
                        struct wl_err *e)
{
    *l = (struct wl_batch_local) { .lock = -1 };
    int rc = make_folder(l, path, a, e);
    if (rc < 0) return rc;
    if (!lock_target(l, O_RDWR | O_CREAT | O_EXCL, a)) return wl_fail_errno(e, "%s/%s", l->dir, target_file);
    wl_defer(a, release, l);
    const bool written = write(l->lock, target, strlen(target)) == (ssize_t)strlen(target);
    return written ? 0 : wl_fail_errno(e, "%s/%s", l->dir, target_file);
}

bool wl_batch_local_read(struct wl_batch_local *l, const char *dir, struct wl_strs *target, struct wl_arena *a)
{
    char *text;
    *l = (struct wl_batch_local) { .dir = dir, .store = wl_path_join(a, dir, WL_STORE_FILE), .lock = -1 };
    if (wl_file_read(wl_path_join(a, dir, target_file), TARGET_MAX, &text, NULL, a, NULL) < 0) return false;
    *target = wl_str_split(a, text, '\n');
    return true;
}

bool wl_batch_local_lock(struct wl_batch_local *l, double wait_s, struct wl_arena *a)
{
    const int64_t until_ns = wl_now_ns() + (int64_t)(wait_s * WL_NS_PER_S);
    while (!lock_target(l, O_RDWR, a)) {
        if (wl_now_ns() >= until_ns) return false;
        wl_sleep_until(wl_now_ns() + WL_NS_PER_S / 10);
    }
    return true;
}

/* The files that are made there; the folder stays if something else is in it. */
void wl_batch_local_remove(struct wl_batch_local *l, struct wl_arena *a)
{
    static const char *const files[] = { WL_STORE_FILE, WL_STORE_FILE "-lock", WL_STORE_FILE "-wal",
                                         WL_STORE_FILE "-shm", target_file };
    for (size_t i = 0; i < WL_COUNT(files); i++) unlink(wl_path_join(a, l->dir, files[i]));
    rmdir(l->dir);
    wl_batch_local_release(l);
}

/* Power of packages, memory and node includes that of other jobs on the node. */
#include "run/node_sharing.h"
#include "rank/rank.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

/* A wattlaw that measures locks the byte of its process number in this file; the kernel drops the lock with the
 * process. */
static const char file[] = "measuring";

static void close_file(void *what)
{
    struct wl_node_sharing *s = what;
    close(s->fd);
}

void wl_node_sharing_begin(struct wl_node_sharing *s, struct wl_arena *a)
{
    struct wl_err e;
    const char *folder;
    *s = (struct wl_node_sharing) { .a = a, .fd = -1 };
    int dir = wl_runtime_dir_open(&folder, a, &e);
    if (dir >= 0) {
        s->fd = openat(dir, file, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
        if (s->fd < 0) wl_fail_errno(&e, "%s/%s", folder, file);
    }
    if (s->fd < 0) {
        s->why = wl_strf(a, "another run on this node would not be noticed: %s", e.msg);
        return;
    }
    wl_defer(a, close_file, s);
    struct flock ours = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = getpid(), .l_len = 1 };
    s->seen = fcntl(s->fd, F_OFD_SETLK, &ours) != 0; /* fails if a process in another container has that number */
    wl_node_sharing_check(s);
}

void wl_node_sharing_check(struct wl_node_sharing *s)
{
    struct flock any = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    if (s->fd >= 0 && fcntl(s->fd, F_OFD_GETLK, &any) == 0) s->seen |= any.l_type != F_UNLCK;
}

/* The affinity mask has the CPUs that the cgroup of a batch job allows. */
static const char *describe_affinity(struct wl_arena *a)
{
    cpu_set_t set;
    long all = sysconf(_SC_NPROCESSORS_ONLN);
    if (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) >= all) return NULL;
    return wl_strf(a,
                   "shared node: this job may use %d of the %ld CPUs; energy of packages, memory and node includes "
                   "that of other jobs",
                   CPU_COUNT(&set), all);
}

const char *wl_node_sharing_note(struct wl_node_sharing *s)
{
    wl_node_sharing_check(s);
    if (!s->seen && s->why) return s->why;
    if (!s->seen) return describe_affinity(s->a);
    return "shared node: another run was measured here at the same time; energy of packages, memory and node is that "
           "of both runs";
}

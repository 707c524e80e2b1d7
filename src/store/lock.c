/* Which runs and campaigns are alive: byte locks in PATH-lock, one byte a run or campaign.
 *
 * They are open-file-description locks (F_OFD_SETLK): the kernel drops them when the process dies, however it dies,
 * a process number that is used again does not matter, and two connections of one process do not share them. The
 * file stays empty. It is a file of its own because closing any descriptor of the database would drop the locks that
 * SQLite holds on it.
 */
#include "store/lock.h"

#include "store/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Even places are runs, odd ones campaigns; ids of 2^62 and beyond, which only a forged store has, wrap. */
static int64_t place(int64_t id, bool campaign) { return (int64_t)(((uint64_t)id << 1 | campaign) & INT64_MAX); }

int64_t wl_lock_of_run(int64_t run) { return place(run, false); }
int64_t wl_lock_of_campaign(int64_t campaign) { return place(campaign, true); }

static char *lock_path(struct wl_store *s) { return wl_strf(s->arena, "%s-lock", s->file); }

static struct flock one_byte(short type, int64_t number)
{
    return (struct flock) { .l_type = type, .l_whence = SEEK_SET, .l_start = number, .l_len = 1 };
}

static int open_lock_file(struct wl_store *s, struct wl_err *e)
{
    if (s->lock_fd >= 0) return 0;
    char *path = lock_path(s);
    s->lock_fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    return s->lock_fd < 0 ? wl_fail_errno(e, "%s: cannot open the lock file", path) : 0;
}

int wl_store_lock(struct wl_store *s, int64_t number, struct wl_err *e)
{
    int rc = open_lock_file(s, e);
    if (rc) return rc;
    struct flock lock = one_byte(F_WRLCK, number);
    if (fcntl(s->lock_fd, F_OFD_SETLK, &lock) == 0) return 1;
    if (errno == EAGAIN || errno == EACCES) return 0;
    return wl_fail_errno(e, "%s-lock: this file system does not lock", s->path);
}

void wl_store_unlock(struct wl_store *s, int64_t number)
{
    struct flock lock = one_byte(F_UNLCK, number);
    if (s->lock_fd >= 0) fcntl(s->lock_fd, F_OFD_SETLK, &lock);
}

int wl_store_locked(struct wl_store *s, int64_t number)
{
    int fd = open(lock_path(s), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return -1;
    struct flock lock = one_byte(F_WRLCK, number);
    int rc = fcntl(fd, F_OFD_GETLK, &lock);
    close(fd);
    return rc ? -1 : lock.l_type != F_UNLCK;
}

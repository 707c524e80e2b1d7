/* The folder of a run's files: runs/N below that of the store, or another name if that one belongs to another run. */
#include "run/run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char marks[] = "marks";
enum { NAMES_MAX = 10000 };

static bool is_empty(int fd)
{
    DIR *d = fdopendir(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    int n = 0;
    if (!d) return false;
    while (n <= 2 && readdir(d)) n++; /* . and .. */
    closedir(d);
    return n <= 2;
}

/* A new folder, or an empty one of ours that a failed start has left. Creating the file of marks decides between two
 * processes that want the same folder. 1: it is ours, 0: it is not. */
static int claim_folder(const char *dir, struct wl_err *e)
{
    struct stat st;
    if (mkdir(dir, 0777) != 0 && errno != EEXIST) return wl_fail_errno(e, "%s: cannot make the run's folder", dir);
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), file = -1;
    if (fd < 0) return 0;
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && is_empty(fd)) {
        file = openat(fd, marks, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (file < 0 && errno != EEXIST) {
            int rc = wl_fail_errno(e, "%s/%s: cannot write", dir, marks);
            close(fd);
            return rc;
        }
    }
    close(fd);
    if (file >= 0) close(file);
    return file >= 0;
}

int wl_run_folder_create(const char *base, const char **name, const char **dir, struct wl_arena *a, struct wl_err *e)
{
    const char *wanted = *name;
    for (int i = 1; i <= NAMES_MAX; i++) {
        *name = i == 1 ? wanted : wl_strf(a, "%s-%d", wanted, i);
        *dir = wl_path_join(a, base, *name);
        int rc = i == 1 ? wl_mkdirs(wl_path_dir(a, *dir), e) : 0;
        if (rc == 0) rc = claim_folder(*dir, e);
        if (rc < 0) return rc;
        if (rc == 0) continue;
        if (i > 1)
            wl_log(WL_INFO, "campaign",
                   "%s belongs to another run and is left unchanged: the files of this run are in %s", wanted, *name);
        return 0;
    }
    return wl_fail(e, WL_EINVAL, "%s/%s: this name and the next %d are taken", base, wanted, NAMES_MAX);
}

void wl_run_folder_discard(const char *dir)
{
    struct stat st;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return;
    if (fstatat(fd, marks, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) && st.st_size == 0)
        unlinkat(fd, marks, 0);
    close(fd);
    rmdir(dir); /* fails if it is not empty */
}

int wl_run_folder_create_file(const char *dir, const char *name, const char **path, struct wl_arena *a,
                              struct wl_err *e)
{
    for (int i = 1; i <= NAMES_MAX; i++) {
        *path = wl_path_join(a, dir, i == 1 ? name : wl_strf(a, "%s-%d", name, i));
        int fd = open(*path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (fd >= 0) return fd;
        if (errno != EEXIST) return wl_fail_errno(e, "%s: cannot write the log", *path);
    }
    return wl_fail(e, WL_EINVAL, "%s/%s: this name and the next %d are taken", dir, name, NAMES_MAX);
}

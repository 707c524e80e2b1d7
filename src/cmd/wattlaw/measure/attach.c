#include "cmd/wattlaw/measure/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    MOST_BYTES = 4 << 20, /* of a command line */
    TRIES = 20, /* a program that was just started has no command line yet, for less than a tenth of a second */
    PAUSE_US = 10000,
};

static int check_control(int fd, struct wl_err *e)
{
    int type;
    socklen_t size = sizeof type;
    if (fd < 0) return 0;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) || type != SOCK_STREAM || fcntl(fd, F_SETFD, FD_CLOEXEC))
        return wl_fail(e, WL_EUSAGE, "--control %d: expected the descriptor of a stream socket", fd);
    return 0;
}

/* Words that are separated by NUL. A process may overwrite them. */
static char **words(char *text, size_t n, struct wl_arena *a)
{
    size_t count = 0, k = 0;
    for (size_t i = 0; i < n; i++) count += !text[i];
    char **argv = wl_new_array(a, char *, count + 2);
    for (size_t i = 0; i < n; i += strlen(text + i) + 1) argv[k++] = text + i;
    return argv;
}

/* "" where it has none: it has ended, is the kernel's. */
static int read_command_line(pid_t pid, char **text, size_t *n, struct wl_arena *a, struct wl_err *e)
{
    const char *path = wl_strf(a, "/proc/%d/cmdline", (int)pid);
    int rc;
    for (int i = 0; (rc = wl_file_read(path, MOST_BYTES, text, n, a, e)) == 0 && (!*n || !**text) && i < TRIES; i++)
        usleep(PAUSE_US);
    return rc;
}

int wl_measure_attach_open(const struct wl_measure_attach *at, char ***argv, struct wl_arena *a, struct wl_err *e)
{
    char *text;
    size_t n;
    if (!at->pid && at->control < 0) return 0;
    if (!at->pid) return wl_fail(e, WL_EUSAGE, "--control is for a process that --attach names");
    if (*argv) return wl_fail(e, WL_EUSAGE, "--attach measures a running process: leave out -- and the command");
    if (at->pid == getpid()) return wl_fail(e, WL_EUSAGE, "--attach %d: that is wattlaw itself", (int)at->pid);
    int rc = check_control((int)at->control, e);
    if (rc < 0) return rc;
    if (read_command_line((pid_t)at->pid, &text, &n, a, e) < 0)
        return wl_fail(e, WL_EINVAL, "--attach %d: there is no such process", (int)at->pid);
    if (!n || !*text)
        return wl_fail(e, WL_EINVAL, "--attach %d: not a program (it has ended, or is the kernel's)", (int)at->pid);
    *argv = words(text, n, a);
    return 0;
}

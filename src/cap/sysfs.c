#include "cap/sysfs.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 4096 };

char *wl_sysfs_line(const char *path, struct wl_arena *a)
{
    char *text;
    if (wl_file_read(path, LINE_MAX_BYTES, &text, NULL, a, NULL) < 0) return NULL;
    text[strcspn(text, "\n")] = '\0';
    return wl_str_strip(a, text);
}

double wl_sysfs_number(const char *path, double per_unit, struct wl_arena *a)
{
    const char *text = wl_sysfs_line(path, a);
    double v;
    return text && wl_str_to_real(text, &v) == 0 ? v / per_unit : NAN;
}

int wl_sysfs_get(const struct wl_control *k, double *set, double *enforced, struct wl_err *e)
{
    const struct wl_sysfs_file *f = k->state;
    struct wl_arena *a = wl_arena_new(NULL);
    *set = wl_sysfs_number(f->path, f->per_unit, a);
    *enforced = NAN;
    wl_arena_free(a);
    return isnan(*set) ? wl_fail(e, WL_EIO, "%s: not a number", f->path) : 0;
}

/* One write of the whole number, as the kernel requires. Without O_TRUNC, which the kernel does not need: a process
 * that is killed after truncation would leave an empty file in a recorded tree. There, the rest of a longer number
 * remains after the newline. */
int wl_sysfs_set(const struct wl_control *k, double value, struct wl_err *e)
{
    const struct wl_sysfs_file *f = k->state;
    char text[32];
    int n = snprintf(text, sizeof text, "%lld\n", llround(value * f->per_unit));
    int fd = open(f->path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return wl_fail_errno(e, "%s: cannot set %.*s", f->path, n - 1, text);
    int rc = write(fd, text, (size_t)n) == n ? 0 : wl_fail_errno(e, "%s: cannot set %.*s", f->path, n - 1, text);
    close(fd);
    return rc;
}

int wl_sysfs_probe(const struct wl_control *k, const char **fix, struct wl_err *e)
{
    const struct wl_sysfs_file *f = k->state;
    if (access(f->path, W_OK) == 0) return 0;
    *fix =
        "sudo wattlaw setup --system and join its group, run wattlaw as root (sudo), or name the site's wrapper with "
        "--cap-command or --cap-clock-command";
    return wl_fail_errno(e, "%s: cannot be written", f->path);
}

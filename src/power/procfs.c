#include "power/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void close_fd(void *fd) { close((int)(intptr_t)fd); }

int wl_procfs_open(const char *root, const char *path, struct wl_arena *a, struct wl_err *e)
{
    const char *full = wl_strf(a, "%s%s", root, path);
    int fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return wl_fail_errno(e, "%s", full);
    wl_defer(a, close_fd, (void *)(intptr_t)fd);
    return fd;
}

int wl_procfs_read(int fd, char *buf, size_t size)
{
    ssize_t n;
    do n = pread(fd, buf, size - 1, 0);
    while (n < 0 && errno == EINTR);
    if (n < 0) return -errno;
    buf[n] = '\0';
    return (int)n;
}

char *wl_procfs_text(struct wl_arena *a, const char *path)
{
    char buf[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return NULL;
    int n = wl_procfs_read(fd, buf, sizeof buf);
    close(fd);
    return n < 0 ? NULL : wl_str_strip(a, buf);
}

/* "pid (name) state ppid pgrp ... utime stime cutime cstime ... starttime vsize rss": the name may hold any character,
 * so fields count from the last ')'. */
bool wl_process_stat_parse(const char *text, struct wl_process_stat *out)
{
    enum { STATE, PPID, PGRP, UTIME = 11, STIME, CUTIME, CSTIME, STARTTIME = 19, VSIZE, RSS, FIELDS };
    const char *from = strchr(text, '('), *at = strrchr(text, ')');
    if (!from || !at || at < from || at[1] != ' ') return false;
    const size_t n = (size_t)(at - from - 1), most = sizeof out->name - 1;
    memcpy(out->name, from + 1, n < most ? n : most);
    out->name[n < most ? n : most] = '\0';
    at += 2;
    out->state = *at++;
    int64_t v[FIELDS] = { 0 };
    for (int i = PPID; i < FIELDS; i++) {
        char *end;
        v[i] = strtoll(at, &end, 10);
        if (end == at) return false;
        at = end;
    }
    out->parent = (pid_t)v[PPID];
    out->group = (pid_t)v[PGRP];
    out->started = (uint64_t)v[STARTTIME];
    out->own_ticks = v[UTIME] + v[STIME];
    out->children_ticks = v[CUTIME] + v[CSTIME];
    out->rss_pages = v[RSS];
    return true;
}

/* Writes "PID/stat": without stdio, since a sensor's reading calls it for every process of a job. */
static void stat_path(char *to, pid_t pid)
{
    char digits[16];
    int n = 0;
    do digits[n++] = (char)('0' + pid % 10);
    while ((pid /= 10) > 0);
    while (n > 0) *to++ = digits[--n];
    memcpy(to, "/stat", sizeof "/stat");
}

bool wl_process_stat_read(int folder, pid_t pid, struct wl_process_stat *out)
{
    char path[32], text[1024];
    stat_path(path, pid);
    int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    int n = wl_procfs_read(fd, text, sizeof text);
    close(fd);
    return n > 0 && wl_process_stat_parse(text, out);
}

/* What a failed read says: static text. */
static const char *why_of(int error)
{
    switch (error) {
    case EACCES:
    case EPERM: return "no permission to read the file";
    case EIO: return "the file cannot be read: input/output error";
    case ENODEV:
    case ENXIO: return "the file cannot be read: the device is gone";
    case EISDIR: return "the path is a folder, not a file";
    case ESPIPE: return "the path is a pipe, not a file";
    case EAGAIN:
    case EBUSY: return "the file cannot be read: the device is busy";
    default: return "the file cannot be read";
    }
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

const char *wl_procfs_count(int fd, const char *unit, uint64_t *out)
{
    char buf[96], *end;
    int n = wl_procfs_read(fd, buf, sizeof buf);
    if (n < 0) return why_of(-n);
    if (n == 0) return "the file is empty";
    const char *at = buf + strspn(buf, " ");
    if (*at < '0' || *at > '9') return *at == '-' ? "the file holds a negative number" : "the file holds no number";
    errno = 0;
    *out = strtoull(at, &end, 10);
    if (errno == ERANGE) return "the number in the file is too large";
    if (!is_blank(*end) && *end != '\0') return "there is more than a number in the file";
    while (is_blank(*end)) end++;
    if (!unit) return *end == '\0' && end == buf + n ? NULL : "there is more than a number in the file";
    size_t length = strlen(unit);
    bool named = strncmp(end, unit, length) == 0 && (is_blank(end[length]) || end[length] == '\0');
    return named ? NULL : "the number in the file has another unit";
}

struct wl_strs wl_hwmon_find(const char *root, const char *driver, struct wl_arena *a)
{
    const char *class = wl_strf(a, "%s/sys/class/hwmon", root);
    struct wl_strs names = { 0 }, found = { 0 };
    if (wl_dir_list(class, &names, a, NULL) < 0) return found;
    for (size_t i = 0; i < names.n; i++) {
        const char *folder = wl_path_join(a, class, names.v[i]);
        if (wl_str_eq(wl_procfs_text(a, wl_path_join(a, folder, "name")), driver)) wl_strs_add(a, &found, folder);
    }
    return found;
}

enum { MAX_CPUS = 1 << 16 }; /* Linux knows 8192; more is a broken file */

size_t wl_cpu_list(const char *text, int *cpus, size_t max)
{
    size_t n = 0;
    for (const char *at = text; *at;) {
        char *end;
        long from = strtol(at, &end, 10), to = from;
        if (end == at) break;
        if (*end == '-') to = strtol(end + 1, &end, 10);
        if (from < 0 || to > MAX_CPUS) break;
        for (long cpu = from; cpu <= to; cpu++, n++) {
            if (n < max) cpus[n] = (int)cpu;
        }
        at = *end == ',' ? end + 1 : end;
    }
    return n;
}

bool wl_pci_has_gpu(const char *root, const char *vendor, struct wl_arena *a)
{
    const char *folder = wl_strf(a, "%s/sys/bus/pci/devices", root);
    struct wl_strs names = { 0 };
    if (wl_dir_list(folder, &names, a, NULL) < 0) return false;
    for (size_t i = 0; i < names.n; i++) {
        char *of = wl_procfs_text(a, wl_strf(a, "%s/%s/vendor", folder, names.v[i]));
        if (!wl_str_eq(of, vendor)) continue;
        char *class = wl_procfs_text(a, wl_strf(a, "%s/%s/class", folder, names.v[i]));
        if (class && (wl_str_starts(class, "0x03") || wl_str_starts(class, "0x12"))) return true;
    }
    return false;
}

/* By the SoC id (JEP106 manufacturer NVIDIA, part T241), which some firmware does not report, else by the board
 * manufacturer's product name. */
bool wl_cpu_is_grace(const char *root, struct wl_arena *a)
{
    static const char *const names[] = { "product_family", "product_name" };
    char *chip = wl_procfs_text(a, wl_strf(a, "%s/sys/devices/soc0/soc_id", root));
    if (chip) return wl_str_starts(chip, "jep106:036b:0241");
    for (size_t i = 0; i < WL_COUNT(names); i++) {
        char *name = wl_procfs_text(a, wl_strf(a, "%s/sys/devices/virtual/dmi/id/%s", root, names[i]));
        if (name && strstr(name, "Grace")) return true;
    }
    return false;
}

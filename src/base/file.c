#include "base/file.h"

#include "base/trust.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int wl_file_open(const char *path, struct wl_err *e)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return wl_fail_errno(e, "%s: cannot open", path);
    if (fstat(fd, &st) || !S_ISDIR(st.st_mode)) return fd;
    close(fd);
    return wl_fail(e, WL_EINVAL, "%s: expected a file, but this is a folder", path);
}

static void close_stream(void *f) { fclose(f); }

int wl_file_stream(const char *path, FILE **f, struct wl_arena *a, struct wl_err *e)
{
    int fd = wl_file_open(path, e);
    if (fd < 0) return fd;
    *f = fdopen(fd, "rb");
    if (!*f) {
        int rc = wl_fail_errno(e, "%s: cannot open", path);
        close(fd);
        return rc;
    }
    wl_defer(a, close_stream, *f);
    return 0;
}

/* Reads until the end of the file or `max` + 1 bytes. */
static int read_all(int fd, const char *path, size_t max, struct wl_text *t, struct wl_err *e)
{
    char buf[16384];
    for (;;) {
        ssize_t n = read(fd, buf, sizeof buf);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return wl_fail_errno(e, "%s: cannot read", path);
        if (n == 0) return 0;
        wl_text_addn(t, buf, (size_t)n);
        if (t->n > max) return wl_fail(e, WL_EINVAL, "%s: is larger than %zu bytes", path, max);
    }
}

int wl_file_read(const char *path, size_t max, char **text, size_t *n, struct wl_arena *a, struct wl_err *e)
{
    int fd = wl_file_open(path, e);
    if (fd < 0) return fd;
    struct wl_text t = WL_TEXT(a);
    int rc = read_all(fd, path, max, &t, e);
    close(fd);
    if (rc) return rc;
    *text = t.s;
    if (n) *n = t.n;
    return 0;
}

static void unmap(void *what)
{
    struct wl_file_mapping *m = what;
    munmap((void *)m->p, m->n);
}

static int map(int fd, const char *path, struct wl_file_mapping *m, struct wl_err *e)
{
    struct stat st;
    if (fstat(fd, &st)) return wl_fail_errno(e, "%s", path);
    if (!S_ISREG(st.st_mode) || st.st_size == 0) return 0;
    void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) return wl_fail_errno(e, "mapping %s", path);
    *m = (struct wl_file_mapping) { p, (size_t)st.st_size };
    return 0;
}

int wl_file_map(const char *path, const char *what, struct wl_file_mapping *out, struct wl_arena *a, struct wl_err *e)
{
    *out = (struct wl_file_mapping) { NULL, 0 };
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return wl_fail_errno(e, "%s%s%s", what, *what ? " " : "", path);
    struct wl_file_mapping *m = wl_new(a, struct wl_file_mapping);
    int rc = map(fd, path, m, e);
    close(fd);
    if (rc || !m->p) return rc;
    wl_defer(a, unmap, m);
    *out = *m;
    return 0;
}

char *wl_file_tail(const char *path, size_t max, struct wl_arena *a)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return wl_strdup(a, "");
    off_t size = lseek(fd, 0, SEEK_END);
    off_t from = size > (off_t)max ? size - (off_t)max : 0;
    char *s = wl_alloc(a, max + 1);
    size_t n = 0;
    while (n < max) {
        ssize_t got = pread(fd, s + n, max - n, from + (off_t)n);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        n += (size_t)got;
    }
    close(fd);
    s[n] = '\0';
    char *line = from > 0 ? strchr(s, '\n') : NULL;
    return line && line[1] ? line + 1 : s;
}

int wl_mkdirs_made(const char *path, size_t *made, struct wl_err *e)
{
    char at[4096];
    size_t n = strlen(path);
    *made = 0;
    if (n == 0 || n >= sizeof at) return wl_fail(e, WL_EINVAL, "\"%s\": not the name of a folder", path);
    memcpy(at, path, n + 1);
    for (char *p = at + 1;; p++) {
        if (*p && *p != '/') continue;
        char c = *p;
        *p = '\0';
        if (wl_is_planted_link(at))
            return wl_fail(e, WL_EPERM, "%s: a symbolic link of another user, in a folder where anybody may write", at);
        const bool is_new = mkdir(at, 0777) == 0;
        if (!is_new && errno != EEXIST) return wl_fail_errno(e, "%s: cannot create the folder", at);
        if (is_new && *made == 0) *made = (size_t)(p - at);
        if (!is_new && p[-1] != '/') *made = 0; /* "a/" is "a" */
        *p = c;
        if (!c) break;
    }
    if (!wl_is_dir(path)) return wl_fail(e, WL_EIO, "%s: is not a folder", path);
    return 0;
}

int wl_mkdirs(const char *path, struct wl_err *e)
{
    size_t made;
    return wl_mkdirs_made(path, &made, e);
}

void wl_rmdirs(const char *path, size_t made)
{
    char at[4096];
    size_t n = strlen(path);
    if (made == 0 || n >= sizeof at) return;
    memcpy(at, path, n + 1);
    while ((rmdir(at) == 0 || errno == ENOENT) && n > made) { /* ENOENT: it could not be made */
        while (n > made && at[n - 1] != '/') n--;
        while (n > made && at[n - 1] == '/') n--;
        at[n] = '\0';
    }
}

bool wl_is_file(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode);
}

bool wl_is_dir(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

char *wl_path_absolute(struct wl_arena *a, const char *path)
{
    char *here = *path == '/' ? NULL : getcwd(NULL, 0);
    char *full = here ? wl_path_join(a, here, path) : wl_strdup(a, path);
    free(here);
    return full;
}

char *wl_path_join(struct wl_arena *a, const char *dir, const char *name)
{
    if (name[0] == '/' || !*dir) return wl_strdup(a, name);
    return wl_strf(a, "%s%s%s", dir, dir[strlen(dir) - 1] == '/' ? "" : "/", name);
}

const char *wl_path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

char *wl_path_dir(struct wl_arena *a, const char *path) { return wl_strdup(a, dirname(wl_strdup(a, path))); }

static int by_name(const void *x, const void *y) { return strcmp(*(char *const *)x, *(char *const *)y); }

int wl_dir_list(const char *path, struct wl_strs *out, struct wl_arena *a, struct wl_err *e)
{
    *out = (struct wl_strs) { 0 };
    DIR *d = opendir(path);
    if (!d) return wl_fail_errno(e, "%s: cannot list the folder", path);
    struct dirent *entry;
    while ((errno = 0, entry = readdir(d)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) wl_strs_add(a, out, entry->d_name);
    int en = errno;
    closedir(d);
    errno = en;
    if (en) return wl_fail_errno(e, "%s: cannot list the folder", path);
    if (out->n) qsort(out->v, out->n, sizeof *out->v, by_name);
    return 0;
}

#include "power/node/process_list.h"

#include "power/procfs.h"

#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct snapshot {
    struct wl_listed_process *v;
    size_t n, cap;
    int64_t t_ns;
};

struct wl_process_list {
    struct wl_arena *a;
    DIR *dir;
    struct snapshot now, before;
    double tick_s, page_bytes;
};

static void close_dir(void *dir) { closedir(dir); }

int wl_process_list_open(struct wl_process_list **out, const char *root, struct wl_arena *a, struct wl_err *e)
{
    struct wl_process_list *l = wl_new(a, struct wl_process_list);
    const char *path = wl_strf(a, "%s/proc", root);
    l->dir = opendir(path);
    if (!l->dir) return wl_fail_errno(e, "%s", path);
    wl_defer(a, close_dir, l->dir);
    l->a = a;
    l->tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK);
    l->page_bytes = (double)sysconf(_SC_PAGESIZE);
    *out = l;
    return 0;
}

static int by_pid(const void *x, const void *y)
{
    const struct wl_listed_process *a = x, *b = y;
    return (a->pid > b->pid) - (a->pid < b->pid);
}

/* The same process at the last reading; NULL: there was none. */
static const struct wl_listed_process *before(const struct wl_process_list *l, const struct wl_listed_process *p)
{
    const struct snapshot *b = &l->before;
    const struct wl_listed_process *found = b->n ? bsearch(p, b->v, b->n, sizeof *b->v, by_pid) : NULL;
    return found && found->started == p->started ? found : NULL;
}

/* Threads of the kernel have kthreadd (2) for a parent, and use no memory of their own. */
static bool is_kernel_thread(pid_t pid, const struct wl_process_stat *s)
{
    enum { KTHREADD = 2 };
    return s->rss_pages == 0 && (pid == KTHREADD || s->parent == KTHREADD);
}

static bool read_process(const struct wl_process_list *l, const char *name, struct wl_listed_process *out)
{
    struct wl_process_stat stat;
    struct stat folder;
    const pid_t pid = (pid_t)strtol(name, NULL, 10);
    if (!wl_process_stat_read(dirfd(l->dir), pid, &stat) || is_kernel_thread(pid, &stat)) return false;
    const bool seen = fstatat(dirfd(l->dir), name, &folder, 0) == 0;
    *out = (struct wl_listed_process) { .pid = pid,
                                        .user = seen ? (int64_t)folder.st_uid : -1,
                                        .cpu_pct = NAN,
                                        .rss_bytes = (double)stat.rss_pages * l->page_bytes,
                                        .started = stat.started,
                                        .ticks = stat.own_ticks };
    memcpy(out->name, stat.name, sizeof out->name);
    return true;
}

const struct wl_listed_process *wl_process_list_read(struct wl_process_list *l, size_t *n)
{
    const struct snapshot spare = l->before;
    l->before = l->now;
    l->now = spare;
    l->now.n = 0;
    l->now.t_ns = wl_now_ns();
    rewinddir(l->dir);
    for (struct dirent *entry; (entry = readdir(l->dir));) {
        if (!isdigit((unsigned char)entry->d_name[0])) continue;
        WL_GROW(l->a, l->now.v, l->now.n, l->now.cap);
        if (read_process(l, entry->d_name, &l->now.v[l->now.n])) l->now.n++;
    }
    if (l->now.n) qsort(l->now.v, l->now.n, sizeof *l->now.v, by_pid);
    const double span_s = (double)(l->now.t_ns - l->before.t_ns) / WL_NS_PER_S;
    for (size_t i = 0; i < l->now.n; i++) {
        const struct wl_listed_process *old = before(l, &l->now.v[i]);
        if (old && span_s > 0)
            l->now.v[i].cpu_pct = 100 * (double)(l->now.v[i].ticks - old->ticks) * l->tick_s / span_s;
    }
    *n = l->now.n;
    return l->now.v;
}

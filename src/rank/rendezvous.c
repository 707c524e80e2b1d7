#include "rank/rendezvous.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAGIC = 0x776c7462 }; /* "wltb"; the last byte is the layout's version */

struct wl_slot *wl_rendezvous_own_slot(const struct wl_local_ranks *t) { return &t->shared->slots[t->self.local_rank]; }

/* ---- locks ---- */

enum { LEADER_BYTE = 0, FIRST_SLOT_BYTE = 1 };

static struct flock lock_of(short type, int at, int n)
{
    return (struct flock) { .l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = n };
}

static bool try_lock(int fd, int at)
{
    struct flock l = lock_of(F_WRLCK, at, 1);
    return fcntl(fd, F_OFD_SETLK, &l) == 0;
}

/* Does another process hold one of these bytes (n 0: any)? */
static bool locked_by_other(int fd, int at, int n)
{
    struct flock l = lock_of(F_WRLCK, at, n);
    return fcntl(fd, F_OFD_GETLK, &l) == 0 && l.l_type != F_UNLCK;
}

bool wl_rendezvous_take_lead(struct wl_local_ranks *t) { return try_lock(t->fd, LEADER_BYTE); }

bool wl_rendezvous_is_alive(const struct wl_local_ranks *t, int slot)
{
    return locked_by_other(t->fd, FIRST_SLOT_BYTE + slot, 1);
}

/* ---- the folder ---- */

int wl_rendezvous_lock_folder(const struct wl_local_ranks *t, struct wl_err *e)
{
    int fd = openat(t->dir, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || flock(fd, LOCK_EX)) {
        int rc = wl_fail_errno(e, "%s/lock: cannot lock", t->folder);
        if (fd >= 0) close(fd);
        return rc;
    }
    return fd;
}

/* ---- joining ---- */

void wl_rendezvous_leave(struct wl_local_ranks *t)
{
    if (t->shared) munmap(t->shared, t->bytes);
    if (t->fd >= 0) close(t->fd);
    t->shared = NULL;
    t->fd = -1;
}

/* Writes the magic first: a file without one is not ours (is_rendezvous). */
static int make_file(const struct wl_local_ranks *t, struct wl_err *e)
{
    struct wl_rendezvous head = { .magic = MAGIC, .n_slots = (uint32_t)t->self.local_size };
    int fd = openat(t->dir, t->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return wl_fail_errno(e, "%s", t->path);
    if (write(fd, &head, sizeof head) == sizeof head && ftruncate(fd, (off_t)t->bytes) == 0) return fd;
    int rc = wl_fail_errno(e, "%s", t->path);
    unlinkat(t->dir, t->name, 0);
    close(fd);
    return rc;
}

static int open_file(const struct wl_local_ranks *t, struct wl_err *e)
{
    int fd = openat(t->dir, t->name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    return fd < 0 ? wl_fail_errno(e, "%s", t->path) : fd;
}

static int map_rendezvous(struct wl_local_ranks *t, const char *name, bool make, struct wl_err *e)
{
    struct stat st;
    t->name = name;
    t->path = wl_path_join(t->a, t->folder, name);
    t->bytes = sizeof *t->shared + (size_t)t->self.local_size * sizeof(struct wl_slot);
    t->fd = make ? make_file(t, e) : open_file(t, e);
    if (t->fd < 0) return t->fd;
    int rc = 0;
    if (fstat(t->fd, &st) || (size_t)st.st_size != t->bytes)
        rc = wl_fail(e, WL_EINVAL, "%s: belongs to another job or to another version of wattlaw", t->path);
    if (rc == 0) {
        void *at = mmap(NULL, t->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, 0);
        if (at != MAP_FAILED)
            t->shared = at;
        else
            rc = wl_fail_errno(e, "%s", t->path);
    }
    if (rc < 0) wl_rendezvous_leave(t);
    return rc;
}

static bool can_take_slot(const struct wl_local_ranks *t)
{
    const struct wl_rendezvous *r = t->shared;
    return r->magic == MAGIC && r->n_slots == (uint32_t)t->self.local_size && r->state != WL_RENDEZVOUS_CLOSED &&
           r->state != WL_RENDEZVOUS_REFUSED && wl_rendezvous_own_slot(t)->state == WL_SLOT_FREE &&
           !locked_by_other(t->fd, FIRST_SLOT_BYTE + t->self.local_rank, 1);
}

/* HOST-JOB.GENERATION */
static bool is_rendezvous_name(const char *name)
{
    int64_t generation;
    const char *dot = strrchr(name, '.');
    return dot && dot > name && strchr(name, '-') && dot[1] != '-' && dot[1] != '+' &&
           wl_str_to_int(dot + 1, &generation) == 0;
}

/* Is it the regular file of a rendezvous, of this layout version or another? */
static bool is_rendezvous(int fd)
{
    struct stat st;
    uint32_t magic;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && pread(fd, &magic, sizeof magic, 0) == sizeof magic &&
           (magic & ~0xffu) == (MAGIC & ~0xffu);
}

/* Removes the rendezvous if no process holds it any more; true: it exists, and a process holds it. */
static bool remove_stale(const struct wl_local_ranks *t, const char *name)
{
    int fd = is_rendezvous_name(name) ? openat(t->dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
    bool found = fd >= 0 && is_rendezvous(fd), live = found && locked_by_other(fd, 0, 0);
    if (fd >= 0) close(fd);
    if (found && !live) unlinkat(t->dir, name, 0);
    return live;
}

/* Opens the rendezvous of the lowest generation in which our slot is free; *next: an unused generation. Removes those
 * that no process holds any more, of other jobs too. 1: opened; 0: there is none. */
static int find_rendezvous(struct wl_local_ranks *t, const char *prefix, long *next, struct wl_err *e)
{
    struct wl_strs names;
    long best = -1;
    int rc = wl_dir_list(t->folder, &names, t->a, e);
    *next = 0;
    for (size_t i = 0; i < names.n && rc == 0; i++) {
        bool live = remove_stale(t, names.v[i]);
        if (!wl_str_starts(names.v[i], prefix)) continue;
        long generation = strtol(names.v[i] + strlen(prefix), NULL, 10);
        if (generation >= *next) *next = generation + 1;
        struct wl_err other;
        if (!live || map_rendezvous(t, names.v[i], false, &other) < 0) continue;
        if (can_take_slot(t) && (best < 0 || generation < best)) best = generation;
        wl_rendezvous_leave(t);
    }
    if (rc < 0 || best < 0) return rc;
    rc = map_rendezvous(t, wl_strf(t->a, "%s%ld", prefix, best), false, e);
    return rc ? rc : 1;
}

static int make_rendezvous(struct wl_local_ranks *t, const char *prefix, long generation, struct wl_err *e)
{
    return map_rendezvous(t, wl_strf(t->a, "%s%ld", prefix, generation), true, e);
}

static int take_slot(struct wl_local_ranks *t, struct wl_err *e)
{
    struct wl_slot *s = wl_rendezvous_own_slot(t);
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (!try_lock(t->fd, FIRST_SLOT_BYTE + t->self.local_rank)) return wl_fail_errno(e, "%s: cannot lock", t->path);
    s->rank = t->self.rank;
    snprintf(s->visible, sizeof s->visible, "%s", visible ? visible : "");
    s->state = WL_SLOT_TAKEN;
    t->is_leader = wl_rendezvous_take_lead(t);
    return 0;
}

struct other_rendezvous {
    const char *prefix, *found; /* the folder */
    struct wl_arena *a;
};

static void find_rendezvous_in(void *ctx, int dir, const char *folder)
{
    struct other_rendezvous *s = ctx;
    struct wl_strs names;
    if (wl_dir_list(folder, &names, s->a, NULL) < 0) return;
    for (size_t i = 0; i < names.n && !s->found; i++) {
        if (!wl_str_starts(names.v[i], s->prefix)) continue;
        int fd = openat(dir, names.v[i], O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0 && is_rendezvous(fd) && locked_by_other(fd, 0, 0)) s->found = folder;
        if (fd >= 0) close(fd);
    }
}

/* If the folder is renamed between the start of two ranks, or the disk is full, they could meet in two rendezvous, and
 * each leader would count the energy of the whole node. Each rank checks after it has taken its slot, so that at least
 * one of two sees the other. */
static int check_one_rendezvous(const struct wl_local_ranks *t, const char *prefix, struct wl_err *e)
{
    struct other_rendezvous s = { .prefix = prefix, .a = t->a };
    wl_runtime_dir_others(t->dir, find_rendezvous_in, &s, t->a);
    if (!s.found) return 0;
    return wl_fail(
        e, WL_EJOB,
        "ranks of this job meet in two folders, %s and %s: start it again, or name one folder in WATTLAW_NODE_DIR",
        t->folder, s.found);
}

int wl_rendezvous_join(struct wl_local_ranks *t, struct wl_err *e)
{
    const char *prefix = wl_strf(t->a, "%s-%s.", wl_host_name(t->a), t->self.job);
    long next;
    int lock = wl_rendezvous_lock_folder(t, e);
    if (lock < 0) return lock;
    int rc = find_rendezvous(t, prefix, &next, e);
    if (rc == 0) rc = make_rendezvous(t, prefix, next, e);
    if (rc >= 0) rc = take_slot(t, e);
    close(lock);
    return rc < 0 ? rc : check_one_rendezvous(t, prefix, e);
}

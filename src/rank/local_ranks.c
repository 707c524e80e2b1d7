/* The ranks of one job on one node, each under a wattlaw of its own: who measures, and what the others tell it.
 *
 * They meet at a board, a file in memory that all of them map: DIR/HOST-JOB.GENERATION (DIR: meeting.c), a seat for
 * each local rank. A byte lock stands for the lead and one for each seat. The kernel drops them when a process dies,
 * however it dies, so a dead leader is followed by whoever takes the byte next, and a dead rank is told from one that
 * still works. A job that calls wattlaw several times in a row has a board (a generation) each time. docs/adr/062 */
#include "rank/local_ranks.h"
#include "rank/rank.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAGIC = 0x776c7462, /* "wltb"; the last byte is the layout's version */
    PATH_BYTES = 4096,
    WHY_BYTES = 512,
    VISIBLE_BYTES = 1024,
    LOOK_AGAIN_US = 2000,
};

/* A rank that has not come by then is not waited for: it may have failed to start. */
static const int64_t JOIN_TIMEOUT_NS = 10 * WL_NS_PER_S;

enum slot_state { SLOT_FREE, SLOT_TAKEN, SLOT_ENDED };
struct seat {
    _Atomic int state; /* enum slot_state */
    _Atomic int job;   /* first process of its command, 0: not yet */
    int rank;
    int status, signal; /* of its command, once ENDED */
    int64_t end_ns;
    char visible[VISIBLE_BYTES]; /* its CUDA_VISIBLE_DEVICES; "": not set */
};

enum rendezvous_state { GATHERING, RUNNING, REFUSED, CLOSED };
struct board {
    uint32_t magic, seats;
    _Atomic int state; /* enum rendezvous_state; what follows is set before RUNNING or REFUSED */
    int64_t run;
    _Atomic int64_t start_ns; /* of the run; 0: not yet */
    char store[PATH_BYTES], dir[PATH_BYTES];
    char why[WHY_BYTES];
    struct seat seat[];
};

struct wl_local_ranks {
    struct wl_rank me;
    struct wl_arena *a;
    const char *folder; /* for messages: files are opened by its descriptor */
    int dir;
    const char *name, *path; /* of the board: in the folder, and whole for messages */
    struct board *board;
    size_t bytes;
    int fd; /* of the board; its byte locks are ours */
    bool leads;
    int lost; /* rank of the leader that died before us, -1: none did */
};

static struct seat *my_slot(const struct wl_local_ranks *t) { return &t->board->seat[t->me.local]; }

/* ---- locks ---- */

enum { LEAD = 0, FIRST_SLOT_BYTE = 1 };

static struct flock lock_of(short type, int at, int n)
{
    return (struct flock) { .l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = n };
}

static bool take(int fd, int at)
{
    struct flock l = lock_of(F_WRLCK, at, 1);
    return fcntl(fd, F_OFD_SETLK, &l) == 0;
}

/* Does somebody else hold one of these bytes (n 0: any)? */
static bool held(int fd, int at, int n)
{
    struct flock l = lock_of(F_WRLCK, at, n);
    return fcntl(fd, F_OFD_GETLK, &l) == 0 && l.l_type != F_UNLCK;
}

/* ---- the folder ---- */

/* Nobody joins or clears away while this is held; closing releases it. */
static int lock_folder(const struct wl_local_ranks *t, struct wl_err *e)
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

static void close_rendezvous(struct wl_local_ranks *t)
{
    if (t->board) munmap(t->board, t->bytes);
    if (t->fd >= 0) close(t->fd);
    t->board = NULL;
    t->fd = -1;
}

/* Its magic first: what is found without one is not ours (is_rendezvous). */
static int make_file(const struct wl_local_ranks *t, struct wl_err *e)
{
    struct board head = { .magic = MAGIC, .seats = (uint32_t)t->me.locals };
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
    t->bytes = sizeof *t->board + (size_t)t->me.locals * sizeof(struct seat);
    t->fd = make ? make_file(t, e) : open_file(t, e);
    if (t->fd < 0) return t->fd;
    int rc = 0;
    if (fstat(t->fd, &st) || (size_t)st.st_size != t->bytes)
        rc = wl_fail(e, WL_EINVAL, "%s: another job's, or of another version", t->path);
    if (rc == 0) {
        void *at = mmap(NULL, t->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, 0);
        if (at != MAP_FAILED)
            t->board = at;
        else
            rc = wl_fail_errno(e, "%s", t->path);
    }
    if (rc < 0) close_rendezvous(t);
    return rc;
}

static bool slot_is_free(const struct wl_local_ranks *t)
{
    const struct board *b = t->board;
    return b->magic == MAGIC && b->seats == (uint32_t)t->me.locals && b->state != CLOSED && b->state != REFUSED &&
           my_slot(t)->state == SLOT_FREE && !held(t->fd, FIRST_SLOT_BYTE + t->me.local, 1);
}

/* HOST-JOB.GENERATION */
static bool is_rendezvous_name(const char *name)
{
    int64_t generation;
    const char *dot = strrchr(name, '.');
    return dot && dot > name && strchr(name, '-') && dot[1] != '-' && dot[1] != '+' &&
           wl_str_to_int(dot + 1, &generation) == 0;
}

/* The regular file of a board of this layout or another. */
static bool is_rendezvous(int fd)
{
    struct stat st;
    uint32_t magic;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && pread(fd, &magic, sizeof magic, 0) == sizeof magic &&
           (magic & ~0xffu) == (MAGIC & ~0xffu);
}

/* Removes the board if nobody holds it any more; true: it is there and somebody does. */
static bool remove_stale(const struct wl_local_ranks *t, const char *name)
{
    int fd = is_rendezvous_name(name) ? openat(t->dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
    bool board = fd >= 0 && is_rendezvous(fd), live = board && held(fd, 0, 0);
    if (fd >= 0) close(fd);
    if (board && !live) unlinkat(t->dir, name, 0);
    return live;
}

/* Takes the seat on the board of the lowest generation where it is free; *next: a generation that there is not yet.
 * Boards that nobody holds any more are cleared away, of other jobs too. 1: seated. */
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
        if (slot_is_free(t) && (best < 0 || generation < best)) best = generation;
        close_rendezvous(t);
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
    struct seat *s = my_slot(t);
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (!take(t->fd, FIRST_SLOT_BYTE + t->me.local)) return wl_fail_errno(e, "%s: cannot lock", t->path);
    s->rank = t->me.rank;
    snprintf(s->visible, sizeof s->visible, "%s", visible ? visible : "");
    s->state = SLOT_TAKEN;
    t->leads = take(t->fd, LEAD);
    return 0;
}

struct elsewhere {
    const char *prefix, *found; /* the folder */
    struct wl_arena *a;
};

static void look(void *ctx, int dir, const char *folder)
{
    struct elsewhere *s = ctx;
    struct wl_strs names;
    if (wl_dir_list(folder, &names, s->a, NULL) < 0) return;
    for (size_t i = 0; i < names.n && !s->found; i++) {
        if (!wl_str_starts(names.v[i], s->prefix)) continue;
        int fd = openat(dir, names.v[i], O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0 && is_rendezvous(fd) && held(fd, 0, 0)) s->found = folder;
        if (fd >= 0) close(fd);
    }
}

/* Who takes our folder's name away between two ranks, or fills the disk, could make two teams of them, and each would
 * count its energy for all. Each rank looks after it has sat down, so that one of two at least sees the other. */
static int check_one_rendezvous(const struct wl_local_ranks *t, const char *prefix, struct wl_err *e)
{
    struct elsewhere s = { .prefix = prefix, .a = t->a };
    wl_runtime_dir_others(t->dir, look, &s, t->a);
    if (!s.found) return 0;
    return wl_fail(e, WL_EJOB,
                   "ranks of this job meet in two folders, %s and %s: start it again, or name one by WATTLAW_NODE_DIR",
                   t->folder, s.found);
}

static int join(struct wl_local_ranks *t, struct wl_err *e)
{
    const char *prefix = wl_strf(t->a, "%s-%s.", wl_host_name(t->a), t->me.job);
    long next;
    int lock = lock_folder(t, e);
    if (lock < 0) return lock;
    int rc = find_rendezvous(t, prefix, &next, e);
    if (rc == 0) rc = make_rendezvous(t, prefix, next, e);
    if (rc >= 0) rc = take_slot(t, e);
    close(lock);
    return rc < 0 ? rc : check_one_rendezvous(t, prefix, e);
}

/* A leader that ends before its run began refuses it, so that nobody waits. */
static void release(void *what)
{
    struct wl_local_ranks *t = what;
    if (!t->board) return;
    if (t->leads && t->board->state == GATHERING) wl_local_ranks_refuse(t, "it ended before its run began");
    close_rendezvous(t);
}

static const char ENV[] = "WATTLAW_TEAM";

int wl_local_ranks_join(struct wl_local_ranks **out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_local_ranks *t = wl_new(a, struct wl_local_ranks);
    *t = (struct wl_local_ranks) { .a = a, .dir = -1, .fd = -1, .lost = -1 };
    *out = NULL;
    if (!wl_rank_from_env(&t->me, a) || t->me.size == 1) return 0;
    const char *above = getenv(ENV); /* what a rank starts under its wattlaw has the rank's environment */
    if (above && wl_str_eq(above, t->me.job)) return 0;
    wl_defer(a, release, t);
    t->dir = wl_runtime_dir_open(&t->folder, a, e);
    int rc = t->dir < 0 ? t->dir : join(t, e);
    if (rc == 0) *out = t;
    return rc;
}

bool wl_local_ranks_has_rank0(const struct wl_local_ranks *t)
{
    for (uint32_t i = 0; i < t->board->seats; i++)
        if (t->board->seat[i].state != SLOT_FREE && t->board->seat[i].rank == 0) return true;
    return false;
}

bool wl_local_ranks_is_leader(const struct wl_local_ranks *t) { return t->leads; }
const struct wl_rank *wl_local_ranks_self(const struct wl_local_ranks *t) { return &t->me; }
char *wl_local_ranks_env(const struct wl_local_ranks *t, struct wl_arena *a)
{
    return wl_strf(a, "%s=%s", ENV, t->me.job);
}

/* ---- before the run ---- */

static bool all_slots_taken(const struct wl_local_ranks *t)
{
    for (uint32_t i = 0; i < t->board->seats; i++)
        if (t->board->seat[i].state == SLOT_FREE) return false;
    return true;
}

bool wl_local_ranks_wait_all(struct wl_local_ranks *t)
{
    int64_t until_ns = wl_now_ns() + JOIN_TIMEOUT_NS;
    while (!all_slots_taken(t) && wl_now_ns() < until_ns) usleep(LOOK_AGAIN_US);
    return all_slots_taken(t);
}

const char *wl_local_ranks_visible_gpus(const struct wl_local_ranks *t, struct wl_arena *a)
{
    struct wl_strs all = { 0 };
    for (uint32_t i = 0; i < t->board->seats; i++) {
        const struct seat *s = &t->board->seat[i];
        if (s->state == SLOT_FREE || !*s->visible) continue;
        struct wl_strs words = wl_str_split(a, s->visible, ',');
        for (size_t k = 0; k < words.n; k++) {
            bool known = false;
            for (size_t j = 0; j < all.n; j++) known |= wl_str_eq(all.v[j], words.v[k]);
            if (!known) wl_strs_add(a, &all, words.v[k]);
        }
    }
    struct wl_text t2 = WL_TEXT(a);
    for (size_t i = 0; i < all.n; i++) wl_text_addf(&t2, "%s%s", i ? "," : "", all.v[i]);
    return all.n ? t2.s : NULL;
}

int wl_local_ranks_begin_run(struct wl_local_ranks *t, const char *store, const char *dir, int64_t run,
                             struct wl_err *e)
{
    struct board *b = t->board;
    char *full = realpath(store, NULL);
    bool fits = full && strlen(full) < sizeof b->store && strlen(dir) < sizeof b->dir;
    if (fits) {
        memcpy(b->store, full, strlen(full) + 1);
        memcpy(b->dir, dir, strlen(dir) + 1);
    }
    free(full);
    if (!fits) return wl_fail(e, WL_EINVAL, "%s: the path is too long for the ranks of this node", dir);
    b->run = run;
    b->state = RUNNING;
    return 0;
}

void wl_local_ranks_refuse(struct wl_local_ranks *t, const char *why)
{
    if (!t->leads || t->board->state != GATHERING) return;
    snprintf(t->board->why, sizeof t->board->why, "%s", why);
    t->board->state = REFUSED;
    unlinkat(t->dir, t->name, 0); /* who has a seat reads it on */
}

/* The board has the rank of who leads in no place of its own: it is the seat whose owner we replaced. */
static int dead_leader(const struct wl_local_ranks *t)
{
    for (uint32_t i = 0; i < t->board->seats; i++) {
        const struct seat *s = &t->board->seat[i];
        if (s->state == SLOT_TAKEN && (int)i != t->me.local && !held(t->fd, FIRST_SLOT_BYTE + (int)i, 1))
            return s->rank;
    }
    return -1;
}

bool wl_local_ranks_take_lead(struct wl_local_ranks *t)
{
    if (t->leads || t->board->state == CLOSED || t->board->state == REFUSED || !take(t->fd, LEAD)) return false;
    if (t->board->state == CLOSED) return false; /* its leader came to an end in between */
    t->leads = true;
    t->lost = dead_leader(t);
    return true;
}

int wl_local_ranks_wait_leader(struct wl_local_ranks *t, const char **dir, struct wl_err *e)
{
    while (t->board->state == GATHERING && !wl_local_ranks_take_lead(t)) usleep(LOOK_AGAIN_US);
    *dir = t->board->dir;
    if (t->board->state != REFUSED) return 0;
    return wl_fail(e, WL_EJOB, "the wattlaw that measures this node refused: %s", t->board->why);
}

/* ---- during the run ---- */

struct wl_local_ranks_run wl_local_ranks_run(const struct wl_local_ranks *t)
{
    const struct board *b = t->board;
    return (
        struct wl_local_ranks_run) { .store = b->store, .run = b->run, .start_ns = b->start_ns, .lost_rank = t->lost };
}

void wl_local_ranks_set_started(struct wl_local_ranks *t, pid_t job, int64_t start_ns)
{
    my_slot(t)->job = (int)job;
    if (t->leads) t->board->start_ns = start_ns;
}

void wl_local_ranks_set_ended(struct wl_local_ranks *t, const struct wl_job_exit *end)
{
    struct seat *s = my_slot(t);
    s->status = end->exit.status;
    s->signal = end->exit.signal;
    s->end_ns = end->t_ns;
    s->state = SLOT_ENDED;
}

bool wl_local_ranks_done(const struct wl_local_ranks *t)
{
    const struct board *b = t->board;
    if (!t->leads) return b->state == CLOSED;
    for (uint32_t i = 0; i < b->seats; i++)
        if (b->seat[i].state == SLOT_TAKEN && ((int)i == t->me.local || held(t->fd, FIRST_SLOT_BYTE + (int)i, 1)))
            return false;
    return true;
}

size_t wl_local_ranks_list(const struct wl_local_ranks *t, struct wl_local_rank *out)
{
    const struct board *b = t->board;
    for (uint32_t i = 0; i < b->seats; i++) {
        const struct seat *s = &b->seat[i];
        bool ended = s->state == SLOT_ENDED;
        out[i] = (struct wl_local_rank) { .rank = s->rank,
                                          .job = s->job,
                                          .came = s->state != SLOT_FREE,
                                          .ended = ended,
                                          .us = (int)i == t->me.local,
                                          .end_ns = ended ? s->end_ns : 0,
                                          .status = ended ? s->status : 0,
                                          .signal = ended ? s->signal : 0 };
    }
    return b->seats;
}

void wl_local_ranks_close(struct wl_local_ranks *t)
{
    struct wl_err e;
    if (!t->leads) return;
    int lock = lock_folder(t, &e);
    t->board->state = CLOSED;
    unlinkat(t->dir, t->name, 0);
    if (lock >= 0) close(lock);
}

/* The ranks of one node: a control block that all map, a barrier on it, and regions of memory that all see.
 *
 * The barrier is one counter and one generation number. Waiting goes from spinning (only where every rank can have a
 * core) over sched_yield to a futex, so that ranks that share cores do not burn each other's time; sleepers look for
 * dead ranks ten times a second.
 */
#include "nn/comm/internal.h"

#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SPIN_NS = 20 * 1000, YIELD_NS = 200 * 1000, LOOK_NS = 100 * 1000 * 1000 };

enum state { HERE, LEFT, GAVE_UP, DIED }; /* DIED is never written, only found */

size_t wl_shm_control_size(int size)
{
    return sizeof(struct wl_shm_control) + (size_t)size * sizeof(struct wl_shm_slot);
}

void wl_shm_set_peer(struct wl_shm_control *ctl, int rank, int world_rank, pid_t pid)
{
    struct wl_shm_slot *s = &ctl->slot[rank];
    atomic_store(&s->world_rank, world_rank);
    atomic_store(&s->pid, pid);
}

/* ---- waiting --------------------------------------------------------------------------------------------------- */

static void futex_wake_all(_Atomic uint32_t *word) { syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0); }

static void futex_sleep(_Atomic uint32_t *word, uint32_t while_it_is, int64_t at_most_ns)
{
    struct timespec t = { .tv_nsec = at_most_ns };
    syscall(SYS_futex, word, FUTEX_WAIT, while_it_is, &t, NULL, 0);
}

static void pause_cpu(void)
{
#if defined __x86_64__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}

static bool process_ended(struct wl_shm *g, int r, int pid)
{
    if (g->pidfd[r] < 0) g->pidfd[r] = (int)syscall(SYS_pidfd_open, pid, 0);
    if (g->pidfd[r] < 0) return kill(pid, 0) != 0; /* gone, or a kernel before 5.3 */
    struct pollfd p = { .fd = g->pidfd[r], .events = POLLIN };
    return poll(&p, 1, 0) > 0;
}

/* Is there a rank that will not come any more? One that died comes first: others give up because of it. */
static int look_for_lost(struct wl_shm *g, bool may_have_left, struct wl_err *e)
{
    int gone = 0;
    for (int r = 0; r < g->size; r++) {
        struct wl_shm_slot *s = &g->ctl->slot[r];
        int pid = atomic_load(&s->pid), state = atomic_load(&s->state), name = atomic_load(&s->world_rank);
        if (r == g->rank || pid == 0) continue;
        if (state == HERE && process_ended(g, r, pid)) /* it may have said something just before its end */
            state = atomic_load(&s->state) == HERE ? DIED : atomic_load(&s->state);
        if (state == DIED) return wl_fail(e, WL_EJOB, "rank %d (process %d) died", name, pid);
        if (state == GAVE_UP) gone = wl_fail(e, WL_EJOB, "rank %d gave up%s%s", name, *s->why ? ": " : "", s->why);
        if (state == LEFT && !gone && !may_have_left)
            gone = wl_fail(e, WL_EJOB, "rank %d (process %d) ended before the others", name, pid);
    }
    return gone;
}

int wl_shm_find_lost(struct wl_shm *g, struct wl_err *e) { return look_for_lost(g, true, e); }

static bool spin_until_past(struct wl_shm *g, uint32_t generation)
{
    _Atomic uint32_t *now = &g->ctl->generation;
    int64_t start = wl_now_ns();
    for (int64_t waited = 0; waited < YIELD_NS; waited = wl_now_ns() - start) {
        for (int i = 0; i < 64; i++) {
            if (atomic_load_explicit(now, memory_order_acquire) != generation) return true;
            if (g->may_spin && waited < SPIN_NS)
                pause_cpu();
            else
                sched_yield();
        }
    }
    return false;
}

static int wait_until_past(struct wl_shm *g, uint32_t generation, struct wl_err *e)
{
    if (spin_until_past(g, generation)) return 0;
    for (;;) {
        atomic_fetch_add(&g->ctl->sleepers, 1);
        futex_sleep(&g->ctl->generation, generation, LOOK_NS);
        atomic_fetch_sub(&g->ctl->sleepers, 1);
        if (atomic_load(&g->ctl->generation) != generation) return 0;
        int rc = look_for_lost(g, false, e);
        /* A rank may leave right after the barrier that it completed: then there is nothing to complain about. */
        if (rc && atomic_load(&g->ctl->generation) == generation) return rc;
    }
}

int wl_shm_barrier(struct wl_shm *g, struct wl_err *e)
{
    struct wl_shm_control *ctl = g->ctl;
    if (g->failure.code) {
        if (e) *e = g->failure;
        return g->failure.code;
    }
    uint32_t generation = atomic_load(&ctl->generation); /* cannot move before this rank has arrived */
    if (atomic_fetch_add(&ctl->arrived, 1) + 1 == (uint32_t)g->size) {
        atomic_store(&ctl->arrived, 0);
        atomic_store(&ctl->generation, generation + 1);
        if (atomic_load(&ctl->sleepers)) futex_wake_all(&ctl->generation);
        return 0;
    }
    struct wl_err why = { 0 };
    int rc = wait_until_past(g, generation, &why);
    if (!rc) return 0;
    g->failure = why;
    if (e) *e = why;
    return rc;
}

void wl_shm_abort(struct wl_shm *g, const char *why)
{
    struct wl_shm_slot *s = &g->ctl->slot[g->rank];
    if (atomic_load(&s->state) != GAVE_UP) snprintf(s->why, sizeof s->why, "%s", why ? why : "");
    atomic_store(&g->ctl->slot[g->rank].state, GAVE_UP);
    futex_wake_all(&g->ctl->generation);
}

/* ---- joining and leaving --------------------------------------------------------------------------------------- */

static void leave(void *group)
{
    struct wl_shm *g = group;
    int here = HERE;
    atomic_compare_exchange_strong(&g->ctl->slot[g->rank].state, &here, LEFT);
    for (struct wl_shm_region *r = g->regions; r != g->staging; r = r->next)
        for (int i = 0; i < g->size; i++)
            if (r->part[i]) munmap(r->part[i], r->n_bytes);
    for (int r = 0; r < g->size; r++)
        if (g->pidfd[r] >= 0) close(g->pidfd[r]);
}

static struct wl_shm_region *add_region(struct wl_shm *g, size_t n_bytes)
{
    struct wl_shm_region *r = wl_new(g->arena, struct wl_shm_region);
    *r = (struct wl_shm_region) { .next = g->regions,
                                  .index = g->regions ? g->regions->index + 1 : 0,
                                  .n_bytes = n_bytes,
                                  .part = wl_new_array(g->arena, char *, (size_t)g->size) };
    g->regions = r;
    return r;
}

int wl_shm_join(struct wl_shm **out, struct wl_shm_control *ctl, int rank, int size, int world_rank, struct wl_arena *a,
                struct wl_err *e)
{
    struct wl_shm *g = wl_new(a, struct wl_shm);
    *g = (struct wl_shm) { .ctl = ctl,
                           .rank = rank,
                           .size = size,
                           .may_spin = sysconf(_SC_NPROCESSORS_ONLN) >= size,
                           .pidfd = wl_new_array(a, int, (size_t)size),
                           .arena = a };
    g->staging = add_region(g, WL_SHM_STAGING_BYTES);
    for (int r = 0; r < size; r++) {
        g->pidfd[r] = -1;
        g->staging->part[r] = g->ctl->slot[r].staging;
    }
    wl_shm_set_peer(ctl, rank, world_rank, getpid());
    wl_defer(a, leave, g);
    *out = g;
    return wl_shm_barrier(g, e);
}

/* ---- regions --------------------------------------------------------------------------------------------------- */

static int map_parts(struct wl_shm *g, struct wl_shm_region *region, struct wl_err *e)
{
    for (int r = 0; r < g->size; r++) {
        struct wl_shm_slot *s = &g->ctl->slot[r];
        if (r == g->rank) continue;
        if (s->fd < 0) return wl_fail(e, WL_ENOMEM, "rank %d has no shared memory", atomic_load(&s->world_rank));
        void *p;
        int rc = wl_shm_map_of(atomic_load(&s->pid), s->fd, region->n_bytes, &p, e);
        if (rc) return rc;
        region->part[r] = p;
    }
    return 0;
}

int wl_shm_region_new(struct wl_shm *g, size_t n_bytes, struct wl_shm_region **out, struct wl_err *e)
{
    struct wl_shm_region *region = add_region(g, n_bytes);
    int fd = -1;
    void *memory = NULL;
    int made = wl_shm_map(n_bytes, &fd, &memory, e);
    region->part[g->rank] = memory;
    g->ctl->slot[g->rank].fd = fd;
    struct wl_err failure = { 0 };
    int rc = wl_shm_barrier(g, &failure); /* all have theirs, or failed */
    int mapped = made || rc ? 0 : map_parts(g, region, e);
    if (!rc) rc = wl_shm_barrier(g, &failure); /* all have mapped it */
    if (fd >= 0) close(fd);
    if (made || mapped) return made ? made : mapped;
    if (rc) {
        *e = failure;
        return rc;
    }
    *out = region;
    return 0;
}

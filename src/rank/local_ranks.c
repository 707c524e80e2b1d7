#include "rank/local_ranks.h"
#include "rank/rendezvous.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { POLL_INTERVAL_US = 2000 };

/* A rank that has not joined by then is not waited for: it may have failed to start. */
static const int64_t JOIN_TIMEOUT_NS = 10 * WL_NS_PER_S;

/* A leader that ends before its run began refuses it, so that nobody waits. */
static void release(void *what)
{
    struct wl_local_ranks *t = what;
    if (!t->shared) return;
    if (t->is_leader && t->shared->state == WL_RENDEZVOUS_GATHERING)
        wl_local_ranks_refuse(t, "it ended before its run began");
    wl_rendezvous_leave(t);
}

/* Names the job whose rank an ancestor process is. */
static const char ENV[] = "WATTLAW_LOCAL_RANKS";

int wl_local_ranks_join(struct wl_local_ranks **out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_local_ranks *t = wl_new(a, struct wl_local_ranks);
    *t = (struct wl_local_ranks) { .a = a, .dir = -1, .fd = -1, .lost_rank = -1 };
    *out = NULL;
    if (!wl_rank_from_env(&t->self, a) || t->self.size == 1) return 0;
    const char *ancestor = getenv(ENV); /* the command of a rank inherits the rank's environment */
    if (ancestor && wl_str_eq(ancestor, t->self.job)) return 0;
    wl_defer(a, release, t);
    t->dir = wl_runtime_dir_open(&t->folder, a, e);
    int rc = t->dir < 0 ? t->dir : wl_rendezvous_join(t, e);
    if (rc == 0) *out = t;
    return rc;
}

bool wl_local_ranks_has_rank0(const struct wl_local_ranks *t)
{
    for (uint32_t i = 0; i < t->shared->n_slots; i++)
        if (t->shared->slots[i].state != WL_SLOT_FREE && t->shared->slots[i].rank == 0) return true;
    return false;
}

bool wl_local_ranks_is_leader(const struct wl_local_ranks *t) { return t->is_leader; }
const struct wl_rank *wl_local_ranks_self(const struct wl_local_ranks *t) { return &t->self; }
char *wl_local_ranks_env(const struct wl_local_ranks *t, struct wl_arena *a)
{
    return wl_strf(a, "%s=%s", ENV, t->self.job);
}

/* ---- before the run ---- */

static bool all_slots_taken(const struct wl_local_ranks *t)
{
    for (uint32_t i = 0; i < t->shared->n_slots; i++)
        if (t->shared->slots[i].state == WL_SLOT_FREE) return false;
    return true;
}

bool wl_local_ranks_wait_all(struct wl_local_ranks *t)
{
    int64_t until_ns = wl_now_ns() + JOIN_TIMEOUT_NS;
    while (!all_slots_taken(t) && wl_now_ns() < until_ns) usleep(POLL_INTERVAL_US);
    return all_slots_taken(t);
}

const char *wl_local_ranks_visible_gpus(const struct wl_local_ranks *t, struct wl_arena *a)
{
    struct wl_strs all = { 0 };
    for (uint32_t i = 0; i < t->shared->n_slots; i++) {
        const struct wl_slot *s = &t->shared->slots[i];
        if (s->state == WL_SLOT_FREE || !*s->visible) continue;
        struct wl_strs words = wl_str_split(a, s->visible, ',');
        for (size_t k = 0; k < words.n; k++) {
            bool known = false;
            for (size_t j = 0; j < all.n; j++) known |= wl_str_eq(all.v[j], words.v[k]);
            if (!known) wl_strs_add(a, &all, words.v[k]);
        }
    }
    struct wl_text joined = WL_TEXT(a);
    for (size_t i = 0; i < all.n; i++) wl_text_addf(&joined, "%s%s", i ? "," : "", all.v[i]);
    return all.n ? joined.s : NULL;
}

int wl_local_ranks_begin_run(struct wl_local_ranks *t, const char *store, const char *dir, int64_t run,
                             struct wl_err *e)
{
    struct wl_rendezvous *r = t->shared;
    char *full = realpath(store, NULL);
    bool fits = full && strlen(full) < sizeof r->store && strlen(dir) < sizeof r->dir;
    if (fits) {
        memcpy(r->store, full, strlen(full) + 1);
        memcpy(r->dir, dir, strlen(dir) + 1);
    }
    free(full);
    if (!fits) return wl_fail(e, WL_EINVAL, "%s: the path is too long for the ranks of this node", dir);
    r->run = run;
    r->state = WL_RENDEZVOUS_RUNNING;
    return 0;
}

void wl_local_ranks_refuse(struct wl_local_ranks *t, const char *why)
{
    if (!t->is_leader || t->shared->state != WL_RENDEZVOUS_GATHERING) return;
    snprintf(t->shared->why, sizeof t->shared->why, "%s", why);
    t->shared->state = WL_RENDEZVOUS_REFUSED;
    unlinkat(t->dir, t->name, 0); /* ranks that have joined can still read it */
}

/* The rendezvous does not store which rank leads: the dead leader is in the slot that is taken and whose process is
 * dead. */
static int dead_leader(const struct wl_local_ranks *t)
{
    for (uint32_t i = 0; i < t->shared->n_slots; i++) {
        const struct wl_slot *s = &t->shared->slots[i];
        if (s->state == WL_SLOT_TAKEN && (int)i != t->self.local_rank && !wl_rendezvous_is_alive(t, (int)i))
            return s->rank;
    }
    return -1;
}

bool wl_local_ranks_take_lead(struct wl_local_ranks *t)
{
    if (t->is_leader || t->shared->state == WL_RENDEZVOUS_CLOSED || t->shared->state == WL_RENDEZVOUS_REFUSED ||
        !wl_rendezvous_take_lead(t))
        return false;
    if (t->shared->state == WL_RENDEZVOUS_CLOSED) return false; /* the leader closed it in between */
    t->is_leader = true;
    t->lost_rank = dead_leader(t);
    return true;
}

int wl_local_ranks_wait_leader(struct wl_local_ranks *t, const char **dir, struct wl_err *e)
{
    while (t->shared->state == WL_RENDEZVOUS_GATHERING && !wl_local_ranks_take_lead(t)) usleep(POLL_INTERVAL_US);
    *dir = t->shared->dir;
    if (t->shared->state != WL_RENDEZVOUS_REFUSED) return 0;
    return wl_fail(e, WL_EJOB, "the wattlaw that measures this node gave up: %s", t->shared->why);
}

/* ---- during the run ---- */

struct wl_local_ranks_run wl_local_ranks_run(const struct wl_local_ranks *t)
{
    const struct wl_rendezvous *r = t->shared;
    return (struct wl_local_ranks_run) {
        .store = r->store, .run = r->run, .start_ns = r->start_ns, .lost_rank = t->lost_rank
    };
}

void wl_local_ranks_set_started(struct wl_local_ranks *t, pid_t job, int64_t start_ns)
{
    wl_rendezvous_own_slot(t)->job = (int)job;
    if (t->is_leader) t->shared->start_ns = start_ns;
}

void wl_local_ranks_set_ended(struct wl_local_ranks *t, const struct wl_job_exit *end)
{
    struct wl_slot *s = wl_rendezvous_own_slot(t);
    s->status = end->exit.status;
    s->signal = end->exit.signal;
    s->end_ns = end->t_ns;
    s->state = WL_SLOT_ENDED;
}

bool wl_local_ranks_done(const struct wl_local_ranks *t)
{
    const struct wl_rendezvous *r = t->shared;
    if (!t->is_leader) return r->state == WL_RENDEZVOUS_CLOSED;
    for (uint32_t i = 0; i < r->n_slots; i++)
        if (r->slots[i].state == WL_SLOT_TAKEN && ((int)i == t->self.local_rank || wl_rendezvous_is_alive(t, (int)i)))
            return false;
    return true;
}

size_t wl_local_ranks_list(const struct wl_local_ranks *t, struct wl_local_rank *out)
{
    const struct wl_rendezvous *r = t->shared;
    for (uint32_t i = 0; i < r->n_slots; i++) {
        const struct wl_slot *s = &r->slots[i];
        bool ended = s->state == WL_SLOT_ENDED;
        out[i] = (struct wl_local_rank) { .rank = s->rank,
                                          .job = s->job,
                                          .joined = s->state != WL_SLOT_FREE,
                                          .ended = ended,
                                          .is_self = (int)i == t->self.local_rank,
                                          .end_ns = ended ? s->end_ns : 0,
                                          .status = ended ? s->status : 0,
                                          .signal = ended ? s->signal : 0 };
    }
    return r->n_slots;
}

void wl_local_ranks_close(struct wl_local_ranks *t)
{
    struct wl_err e;
    if (!t->is_leader) return;
    int lock = wl_rendezvous_lock_folder(t, &e);
    t->shared->state = WL_RENDEZVOUS_CLOSED;
    unlinkat(t->dir, t->name, 0);
    if (lock >= 0) close(lock);
}

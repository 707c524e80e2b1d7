#include "run/peer_ranks.h"

#include <signal.h>
#include <string.h>

void wl_peer_ranks_init(struct wl_peer_ranks *m, struct wl_local_ranks *ranks, struct wl_arena *a)
{
    size_t n = (size_t)wl_local_ranks_self(ranks)->local_size;
    *m = (struct wl_peer_ranks) { .ranks = ranks, .a = a, .v = wl_new_array(a, struct wl_local_rank, n) };
    m->watched = wl_new_array(a, bool, n);
}

void wl_peer_ranks_watch(struct wl_peer_ranks *m, struct wl_sampler *sampler)
{
    size_t n = wl_local_ranks_list(m->ranks, m->v);
    for (size_t i = 0; i < n; i++) {
        if (m->v[i].is_self || !m->v[i].job || m->watched[i]) continue;
        wl_sampler_watch(sampler, m->v[i].job);
        m->watched[i] = true;
    }
}

static const char *failure_of(const struct wl_peer_ranks *m, const struct wl_local_rank *peer)
{
    if (!peer->ended) return wl_strf(m->a, "rank %d: its wattlaw was killed", peer->rank);
    if (peer->signal)
        return wl_strf(m->a, "rank %d: ended by signal %d (%s)", peer->rank, peer->signal, strsignal(peer->signal));
    return wl_strf(m->a, "rank %d: exit status %d", peer->rank, peer->status);
}

/* The first command that failed determines the result of the run, our own before others. */
void wl_peer_ranks_judge(struct wl_peer_ranks *m, struct wl_run_result *out)
{
    size_t n = wl_local_ranks_list(m->ranks, m->v);
    m->exit = out->exit;
    for (size_t i = 0; i < n; i++) {
        const struct wl_local_rank *peer = &m->v[i];
        if (peer->is_self || !peer->joined) continue;
        if (peer->end_ns > out->end_ns) out->end_ns = peer->end_ns;
        if (out->status != WL_RUN_DONE || (peer->ended && peer->status == 0)) continue;
        out->status = WL_RUN_FAILED;
        out->error = failure_of(m, peer);
        m->exit.status = peer->ended ? peer->status : 128 + SIGKILL;
        m->exit.signal = peer->ended ? peer->signal : SIGKILL;
    }
}

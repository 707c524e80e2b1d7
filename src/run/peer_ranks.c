/* What the leader of a team does about the other ranks. */
#include "run/peer_ranks.h"

#include <signal.h>
#include <string.h>

void wl_peer_ranks_init(struct wl_peer_ranks *m, struct wl_local_ranks *team, struct wl_arena *a)
{
    size_t n = (size_t)wl_local_ranks_self(team)->locals;
    *m = (struct wl_peer_ranks) { .team = team, .a = a, .v = wl_new_array(a, struct wl_local_rank, n) };
    m->watched = wl_new_array(a, bool, n);
}

void wl_peer_ranks_watch(struct wl_peer_ranks *m, struct wl_sampler *sampler)
{
    size_t n = wl_local_ranks_list(m->team, m->v);
    for (size_t i = 0; i < n; i++) {
        if (m->v[i].us || !m->v[i].job || m->watched[i]) continue;
        wl_sampler_watch(sampler, m->v[i].job);
        m->watched[i] = true;
    }
}

static const char *failure_of(const struct wl_peer_ranks *m, const struct wl_local_rank *mate)
{
    if (!mate->ended) return wl_strf(m->a, "rank %d: its wattlaw was killed", mate->rank);
    if (mate->signal)
        return wl_strf(m->a, "rank %d: ended by signal %d (%s)", mate->rank, mate->signal, strsignal(mate->signal));
    return wl_strf(m->a, "rank %d: exit status %d", mate->rank, mate->status);
}

/* The first that failed speaks for the run, our own command before others. */
void wl_peer_ranks_judge(struct wl_peer_ranks *m, struct wl_run_result *out)
{
    size_t n = wl_local_ranks_list(m->team, m->v);
    m->exit = out->exit;
    for (size_t i = 0; i < n; i++) {
        const struct wl_local_rank *mate = &m->v[i];
        if (mate->us || !mate->came) continue;
        if (mate->end_ns > out->end_ns) out->end_ns = mate->end_ns;
        if (out->status != WL_RUN_DONE || (mate->ended && mate->status == 0)) continue;
        out->status = WL_RUN_FAILED;
        out->error = failure_of(m, mate);
        m->exit.status = mate->ended ? mate->status : 128 + SIGKILL;
        m->exit.signal = mate->ended ? mate->signal : SIGKILL;
    }
}

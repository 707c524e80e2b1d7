/* Which cores a rank computes on. Ranks of a node take turns over the cores that the outside (taskset, mpirun, Slurm)
 * leaves them: first one hardware thread of each core, so that two ranks share a core only when the cores are used up.
 */
#include "nn/comm/internal.h"

#include <stdlib.h>

enum { MAX_LIST = 4096 }; /* bytes of a sibling list */

/* How many of the CPUs in `list` ("0,64" or "0-1") that are in the set come before `cpu`. */
static int allowed_before(const char *list, const cpu_set_t *may, int cpu)
{
    int before = 0;
    for (char *end; *list; list = *end == ',' ? end + 1 : end) {
        long from = strtol(list, &end, 10), to = from;
        if (end == list || from < 0) break;
        if (*end == '-') to = strtol(end + 1, &end, 10);
        for (long i = from; i <= to && i < cpu; i++) before += CPU_ISSET((size_t)i, may) != 0;
    }
    return before;
}

/* 0 for the first allowed hardware thread of its core, 1 for the second; 0 where the system does not say. */
static int turn_on_core(const cpu_set_t *may, const char *cpus, int cpu, struct wl_arena *a)
{
    char *list = NULL;
    const char *path = wl_strf(a, "%s/cpu%d/topology/thread_siblings_list", cpus, cpu);
    if (wl_file_read(path, MAX_LIST, &list, NULL, a, &(struct wl_err) { 0 })) return 0;
    return allowed_before(list, may, cpu);
}

size_t wl_affinity_order(const cpu_set_t *may, const char *cpus, int *order)
{
    struct wl_arena *a = wl_arena_new(NULL);
    int *turn = wl_new_array(a, int, CPU_SETSIZE);
    size_t n = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET((size_t)cpu, may)) continue;
        int mine = turn_on_core(may, cpus, cpu, a);
        size_t at = n++;
        for (; at > 0 && turn[at - 1] > mine; at--) {
            turn[at] = turn[at - 1];
            order[at] = order[at - 1];
        }
        turn[at] = mine;
        order[at] = cpu;
    }
    wl_arena_free(a);
    return n;
}

/* "0,2,5" */
static const char *cpus_text(const cpu_set_t *set, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    wl_text_add(&t, "");
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, set)) wl_text_addf(&t, "%s%zu", t.n ? "," : "", cpu);
    return t.s;
}

static cpu_set_t share_of(const struct wl_comm *c, int threads, const int *order)
{
    cpu_set_t share;
    CPU_ZERO(&share);
    for (int i = 0; i < threads; i++) CPU_SET((size_t)order[c->node_rank * threads + i], &share);
    return share;
}

void wl_comm_pin(const struct wl_comm *c, int threads)
{
    cpu_set_t may, share;
    if (sched_getaffinity(0, sizeof may, &may)) {
        wl_log(WL_WARN, "comm", "not pinned: the system does not say which CPUs this process may use");
        return;
    }
    struct wl_arena *a = wl_arena_new(NULL);
    int *order = wl_new_array(a, int, CPU_SETSIZE);
    size_t cpus = wl_affinity_order(&may, "/sys/devices/system/cpu", order);
    if (cpus < (size_t)c->node_size * (size_t)threads) {
        wl_log(WL_INFO, "comm", "left on CPU %s, as it was started: too few for %d worker%s of %d thread%s",
               cpus_text(&may, a), c->node_size, c->node_size == 1 ? "" : "s", threads, threads == 1 ? "" : "s");
    } else {
        share = share_of(c, threads, order);
        if (sched_setaffinity(0, sizeof share, &share))
            wl_log(WL_WARN, "comm", "not pinned: the system refused CPU %s", cpus_text(&share, a));
        else
            wl_log(WL_INFO, "comm", "pinned to CPU %s of %s", cpus_text(&share, a), cpus_text(&may, a));
    }
    wl_arena_free(a);
}

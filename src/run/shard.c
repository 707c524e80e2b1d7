/* The files of shards: STORE-shards/JOB/HOST.N-of-SIZE.db, where N of the job's SIZE ranks are on that host; of a
 * campaign's run RUN_DIR/nodes/HOST.N-of-SIZE.db. */
#include "run/internal.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { POLL_INTERVAL_US = 100000 };

const char *wl_shard_folder(const struct wl_local_ranks *ranks, const char *store, const char *node_of,
                            struct wl_arena *a)
{
    if (node_of) return wl_path_join(a, node_of, "nodes");
    const struct wl_rank *me = ranks ? wl_local_ranks_self(ranks) : NULL;
    if (!me || me->size == me->local_size) return NULL;
    size_t n = strlen(store);
    if (n > 3 && wl_str_eq(store + n - 3, ".db")) n -= 3;
    return wl_strf(a, "%.*s-shards/%s", (int)n, store, me->job);
}

const char *wl_shard_path(const char *folder, const struct wl_local_ranks *ranks, struct wl_arena *a)
{
    const struct wl_rank *me = ranks ? wl_local_ranks_self(ranks) : NULL;
    return wl_strf(a, "%s/%s.%d-of-%d.db", folder, wl_host_name(a), me ? me->local_size : 1, me ? me->size : 1);
}

int wl_shard_list(const char *folder, struct wl_strs *paths, int *size, struct wl_arena *a)
{
    struct wl_strs names;
    int found = 0;
    *paths = (struct wl_strs) { 0 };
    *size = 0;
    if (wl_dir_list(folder, &names, a, NULL) < 0) return 0;
    for (size_t i = 0; i < names.n; i++) {
        const char *name = names.v[i], *of = strstr(name, "-of-");
        int here, all, end = 0;
        while (of && of > name && of[-1] != '.') of--;
        if (!of || sscanf(of, "%d-of-%d.db%n", &here, &all, &end) != 2 || of[end] != '\0') continue;
        wl_strs_add(a, paths, wl_path_join(a, folder, name));
        found += here;
        *size = all;
    }
    return found;
}

int wl_shard_collect(const struct wl_local_ranks *ranks, const char *store, double wait_s, int64_t *run, size_t *nodes,
                     struct wl_arena *a, struct wl_err *e)
{
    const char *folder = wl_shard_folder(ranks, store, NULL, a);
    int64_t until_ns = wl_now_ns() + (int64_t)(wait_s * WL_NS_PER_S);
    struct wl_strs paths;
    struct wl_store *s;
    int size, found, rc = wl_store_open(&s, store, WL_STORE_CREATE, a, e);
    if (rc < 0) return rc;
    do {
        found = wl_shard_list(folder, &paths, &size, a);
        *nodes = paths.n;
        rc = found == 0 || found < size ? wl_fail(e, WL_ENOENT, "%d of %d ranks have stored theirs", found, size)
                                        : wl_shard_merge(s, &paths, NULL, run, a, e);
        if (rc < 0) usleep(POLL_INTERVAL_US);
    } while (rc < 0 && wl_now_ns() < until_ns);
    wl_store_close(s);
    return rc < 0 ? wl_err_prefix(e, "the nodes' shards are not merged yet (wattlaw merge --store %s %s/*.db)", store,
                                  folder)
                  : 0;
}

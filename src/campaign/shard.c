/* Where the nodes of a job put what they measure, and how the first of them finds it all:
 * STORE-shards/JOB/HOST.N-of-SIZE.db, N of the job's SIZE ranks being on that host. */
#include "campaign/internal.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LOOK_AGAIN_US = 100000 };

static const char *folder_of(const struct wl_team *t, const char *store, struct wl_arena *a)
{
    size_t n = strlen(store);
    if (n > 3 && wl_streq(store + n - 3, ".db")) n -= 3;
    return wl_strf(a, "%.*s-shards/%s", (int)n, store, wl_team_rank(t)->job);
}

const char *wl_team_shard(const struct wl_team *t, const char *store, struct wl_arena *a)
{
    const struct wl_rank *me = wl_team_rank(t);
    if (me->size == me->locals) return NULL;
    return wl_strf(a, "%s/%s.%d-of-%d.db", folder_of(t, store, a), wl_host_name(a), me->locals, me->size);
}

/* The shards that are there; returns how many ranks they stand for. */
static int ranks_found(const char *folder, struct wl_strs *paths, struct wl_arena *a)
{
    struct wl_strs names;
    int ranks = 0;
    *paths = (struct wl_strs) { 0 };
    if (wl_dir_list(folder, &names, a, NULL) < 0) return 0;
    for (size_t i = 0; i < names.n; i++) {
        const char *name = names.v[i], *of = strstr(name, "-of-");
        int here, size, end = 0;
        while (of && of > name && of[-1] != '.') of--;
        if (!of || sscanf(of, "%d-of-%d.db%n", &here, &size, &end) != 2 || of[end] != '\0') continue;
        wl_strs_add(a, paths, wl_path_join(a, folder, name));
        ranks += here;
    }
    return ranks;
}

int wl_shards_gather(const struct wl_team *t, const char *store, double wait_s, int64_t *run, size_t *nodes,
                     struct wl_arena *a, struct wl_err *e)
{
    const char *folder = folder_of(t, store, a);
    int64_t until_ns = wl_now_ns() + (int64_t)(wait_s * WL_NS_PER_S);
    struct wl_strs paths;
    struct wl_store *s;
    int size = wl_team_rank(t)->size, found, rc = wl_store_open(&s, store, WL_STORE_CREATE, a, e);
    if (rc < 0) return rc;
    do {
        found = ranks_found(folder, &paths, a);
        *nodes = paths.n;
        rc = found < size ? wl_fail(e, WL_ENOENT, "%d of %d ranks are there", found, size)
                          : wl_shards_merge(s, &paths, run, a, e);
        if (rc < 0) usleep(LOOK_AGAIN_US);
    } while (rc < 0 && wl_now_ns() < until_ns);
    wl_store_close(s);
    return rc < 0
               ? wl_prefix(e, "the nodes' shards are not merged yet (wattlaw merge --store %s %s/*.db)", store, folder)
               : 0;
}

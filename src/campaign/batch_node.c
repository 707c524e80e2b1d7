/* One node's part of a run on several nodes: measured in a store on the node's own disk, which becomes the node's shard
 * in the run's folder when it is complete. docs/adr/161 */
#include "campaign/batch.h"

#include <string.h>

struct wl_batch_node {
    struct wl_batch_local local;
    const char *shard;
    struct wl_arena *a;
};

/* A command that measures a second time in the same run adds a run to the shard. */
static int take_over_shard(const struct wl_batch_node *n, struct wl_err *e)
{
    return wl_is_file(n->shard) ? wl_batch_shard_copy_to(n->shard, n->local.store, e) : 0;
}

int wl_batch_node_open(struct wl_batch_node **out, const char *local_dir, const char *shard, struct wl_arena *a,
                       struct wl_err *e)
{
    struct wl_batch_node *n = wl_new(a, struct wl_batch_node);
    const char *base;
    *n = (struct wl_batch_node) { .shard = wl_path_absolute(a, shard), .a = a };
    int rc = wl_batch_local_base(local_dir, &base, a, e);
    if (rc < 0) return rc;
    wl_batch_salvage(base, NULL, a);
    const char *dir = wl_strf(a, "%s/part-%016llx", base, (unsigned long long)wl_hash_fnv1a(n->shard));
    rc = wl_batch_local_make(&n->local, dir, wl_strf(a, "%s\n%s\n", WL_BATCH_LOCAL_PART, n->shard), a, e);
    if (rc == 0) rc = take_over_shard(n, e);
    if (rc == 0) *out = n;
    return rc;
}

const char *wl_batch_node_store(const struct wl_batch_node *n) { return n->local.store; }

int wl_batch_node_ship(struct wl_batch_node *n, struct wl_err *e)
{
    struct wl_run_row row;
    int rc = wl_batch_shard_seal(n->local.store, NULL, &row, n->a, e);
    if (rc == 0) rc = wl_batch_shard_copy_to(n->local.store, n->shard, e);
    if (rc == 0 || rc == WL_ENOENT) wl_batch_local_remove(&n->local, n->a);
    if (rc == 0 || rc == WL_ENOENT) return rc;
    return wl_err_prefix(e, "this node's part of the run stays in %s on %s", n->local.dir, wl_host_name(n->a));
}

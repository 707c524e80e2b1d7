/* wattlaw merge: the stores of a run's nodes become one run. */
#include "campaign/campaign.h"
#include "cmd/cmd.h"

#include <stdio.h>

struct options {
    const char *store;
};

static const struct wl_opt rows[] = {
    { .name = "store",
      .type = WL_STR,
      .offset = offsetof(struct options, store),
      .def = WL_STORE_FILE,
      .unit = "PATH",
      .help = "store to add the merged run to" },
    WL_OPT_END,
};

static int run(void *options, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    const struct options *o = options;
    struct wl_store *s;
    int64_t id;
    if (rest->args.n == 0) return wl_fail(e, WL_EUSAGE, "expected the STOREs of the nodes");
    int rc = wl_store_open(&s, o->store, WL_STORE_CREATE, a, e);
    if (rc < 0) return rc;
    rc = wl_shard_merge(s, &rest->args, NULL, &id, a, e);
    if (rc < 0) wl_store_discard(s, NULL);
    if (rc < 0) return rc;
    wl_print("run %lld in %s: %zu nodes\n", (long long)id, wl_store_path(s), rest->args.n);
    return WL_EXIT_OK;
}

const struct wl_cmd wl_cmd_merge = {
    .name = "merge",
    .usage = "[options] STORE...",
    .help = "merge the stores of the nodes of a run into one run",
    .more = "Each STORE is from one node; its newest run is taken. The stores are not changed.\n"
            "\n"
            "  wattlaw merge --store wattlaw.db wattlaw-shards/*/*.db",
    .options = rows,
    .options_size = sizeof(struct options),
    .run = run,
};

/* wattlaw rebuild: recomputes everything derived from the samples and marks of a store. */
#include "campaign/campaign.h"
#include "cmd/wattlaw/store.h"

#include <math.h>

struct rebuild_options {
    const char *campaign;
    int64_t run;
};

static const struct wl_opt options[] = {
    { .name = "campaign",
      .type = WL_STR,
      .offset = offsetof(struct rebuild_options, campaign),
      .unit = "NAME",
      .help = "name of the campaign of the store (default: all campaigns)" },
    { .name = "run",
      .type = WL_INT,
      .offset = offsetof(struct rebuild_options, run),
      .def = "0",
      .min = 0,
      .max = 1e15,
      .help = "number of the run to rebuild; 0: all runs that ended" },
    WL_OPT_END,
};

static int open_store(const struct wl_opts_args *rest, struct wl_store **out, struct wl_arena *a, struct wl_err *e)
{
    char *path;
    if (rest->args.n != 1) return wl_fail(e, WL_EUSAGE, "expected one STORE, not %zu", rest->args.n);
    int rc = wl_store_find(rest->args.v[0], &path, a, e);
    return rc ? rc : wl_store_open(out, path, WL_STORE_WRITE, a, e);
}

static int run(void *given, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    const struct rebuild_options *o = given;
    struct wl_run_filter filter = { .run = o->run };
    struct wl_run_rows runs;
    struct wl_store *s;
    struct wl_progress bar;
    size_t done = 0, failed = 0;
    int rc = open_store(rest, &s, a, e);
    if (rc == 0) rc = wl_cmd_campaign_find(s, o->campaign, &filter.campaign, a, e);
    if (rc == 0) rc = wl_store_runs(s, &filter, &runs, a, e);
    if (rc) return rc;
    if (o->run && runs.n == 0) return wl_fail(e, WL_ENOENT, "%s: no run %lld", wl_store_path(s), (long long)o->run);
    if (wl_store_version_found(s) < WL_STORE_VERSION)
        wl_print("%s: upgraded from store version %lld to %d\n", wl_store_path(s), (long long)wl_store_version_found(s),
                 WL_STORE_VERSION);
    wl_progress_start(&bar, "rebuilding");
    for (size_t i = 0; i < runs.n && (rc == 0 || rc == WL_EINVAL); i++) {
        wl_progress_update(&bar, (double)i, (double)runs.n, -1, NULL);
        if (!wl_run_can_be_derived(&runs.v[i])) continue;
        rc = wl_run_rebuild(s, &runs.v[i], a, e);
        if (rc == WL_EINVAL) {
            wl_progress_clear(&bar);
            wl_eprint("error: run %lld is left as it was: %s\n", (long long)runs.v[i].id, e->msg);
        }
        *(rc == 0 ? &done : &failed) += 1;
    }
    wl_progress_clear(&bar);
    if (rc && rc != WL_EINVAL) return rc;
    wl_print("%zu of %zu runs rebuilt\n", done, runs.n);
    if (failed) return wl_fail(e, WL_EINVAL, "%s: %zu runs cannot be rebuilt", wl_store_path(s), failed);
    return WL_EXIT_OK;
}

const struct wl_cmd wl_cmd_rebuild = {
    .name = "rebuild",
    .usage = "[options] STORE",
    .help = "recompute the epochs, energies and statistics of a store from its samples and marks",
    .more = "For stores written by an older version of wattlaw, and after an upgrade that changes a computation. "
            "Samples, marks\n"
            "and logs are never changed; each run is replaced as a whole or not at all. A store of an older version is "
            "upgraded to\n"
            "the newest one; commands that only read a store never upgrade it.",
    .options = options,
    .options_size = sizeof(struct rebuild_options),
    .run = run,
};

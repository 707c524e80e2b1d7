/* wattlaw cancel: jobs of a campaign in the queue of a batch system. */
#include "campaign/campaign.h"
#include "cmd/wattlaw/store.h"

#include <string.h>

struct options {
    struct wl_strs set;
};

static const struct wl_opt rows[] = {
    { .name = "set",
      .type = WL_LINES,
      .offset = offsetof(struct options, set),
      .unit = "SECTION.KEY=VALUE",
      .help = "override a key of the experiment, as in the sweep that submitted the jobs (default: none)" },
    WL_OPT_END,
};

static int read_runs(const struct wl_strs *words, struct wl_ints *runs, struct wl_arena *a, struct wl_err *e)
{
    runs->v = wl_new_array(a, int64_t, words->n);
    runs->n = 0;
    for (size_t i = 1; i < words->n; i++)
        if (wl_str_to_int(words->v[i], &runs->v[runs->n++]) < 0 || runs->v[i - 1] < 1)
            return wl_fail(e, WL_EUSAGE, "%s: expected the number of a run", words->v[i]);
    return 0;
}

static int cancel(const struct wl_experiment *x, const struct wl_ints *runs, struct wl_arena *a, struct wl_err *e)
{
    struct wl_store *s;
    char *path;
    int64_t campaign;
    size_t n;
    int rc = wl_store_find(x->campaign.store, &path, a, e);
    if (rc == 0) rc = wl_store_open(&s, path, WL_STORE_WRITE, a, e);
    if (rc == 0) rc = wl_cmd_campaign_find(s, x->campaign.name, &campaign, a, e);
    if (rc == 0) rc = wl_batch_cancel(x, s, campaign, runs, &n, a, e);
    if (rc < 0) return rc;
    wl_print(
        "%zu job%s cancelled; the next wattlaw sweep counts their runs as failed, and --retry-failed repeats them\n", n,
        n == 1 ? "" : "s");
    return WL_EXIT_OK;
}

static bool is_store(const char *name)
{
    const char *dot = strrchr(name, '.');
    return wl_is_dir(name) || (dot && wl_str_eq(dot, ".db"));
}

/* The experiment is that of the user's file: a store may come from anybody, and its commands are not run. */
static int run(void *options, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    const struct options *o = options;
    struct wl_experiment x;
    struct wl_ints runs;
    if (rest->args.n == 0) return wl_fail(e, WL_EUSAGE, "expected the experiment file of a campaign");
    if (is_store(rest->args.v[0]))
        return wl_fail(e, WL_EUSAGE, "%s: expected the experiment file of the sweep, not its store", rest->args.v[0]);
    int rc = read_runs(&rest->args, &runs, a, e);
    if (rc == 0) rc = wl_experiment_read(rest->args.v[0], &o->set, &x, a, e);
    return rc < 0 ? rc : cancel(&x, &runs, a, e);
}

const struct wl_cmd wl_cmd_cancel = {
    .name = "cancel",
    .usage = "[options] FILE.ini [RUN...]",
    .help = "cancel jobs of a campaign in the queue of its batch system",
    .more = "FILE.ini is the experiment file of the sweep; without RUNs all jobs of its campaign are cancelled. Their "
            "runs\n"
            "stay cancelled. Runs that were not submitted yet are not affected: a wattlaw sweep that follows submits "
            "them.\n"
            "\n"
            "    wattlaw cancel lab1.ini\n"
            "    wattlaw cancel lab1.ini 12 17",
    .options = rows,
    .options_size = sizeof(struct options),
    .run = run,
};

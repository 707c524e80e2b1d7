/* wattlaw cancel: runs of a campaign, and jobs of one in the queue of a batch system. */
#include "campaign/campaign.h"
#include "cmd/wattlaw/control.h"
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
      .help = "override a key of the experiment, as in the sweep itself (default: none)" },
    WL_OPT_END,
};

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
    wl_print("%zu job%s cancelled; a run that has not finished counts as failed in the next wattlaw sweep, and "
             "--retry-failed "
             "repeats it\n",
             n, n == 1 ? "" : "s");
    return WL_EXIT_OK;
}

static bool is_store(const char *name)
{
    const char *dot = strrchr(name, '.');
    return wl_is_dir(name) || (dot && wl_str_eq(dot, ".db"));
}

/* Of a campaign without a batch system, or whose jobs its sweep is to cancel. */
static int cancel_runs(const char *store, const char *campaign, const struct wl_ints *runs, struct wl_arena *a,
                       struct wl_err *e)
{
    if (runs->n == 0)
        return wl_fail(e, WL_EUSAGE,
                       "%s: expected the numbers of the runs to cancel (wattlaw pause stops a whole campaign from "
                       "beginning runs)",
                       store);
    return wl_cmd_control(WL_CONTROL_CANCEL, store, campaign, runs, false, a, e);
}

/* The experiment is that of the user's file: a store may come from anybody, and its commands are not run. */
static int run(void *options, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    const struct options *o = options;
    struct wl_experiment x;
    struct wl_ints runs;
    if (rest->args.n == 0)
        return wl_fail(e, WL_EUSAGE,
                       "expected the experiment file of a campaign, or its RESULTS and the numbers of runs");
    const char *of = rest->args.v[0];
    int rc = wl_cmd_run_numbers(&rest->args, 1, &runs, a, e);
    if (rc < 0) return rc;
    if (is_store(of) && o->set.n) return wl_fail(e, WL_EUSAGE, "--set: expected an experiment file, not %s", of);
    if (is_store(of)) return cancel_runs(of, NULL, &runs, a, e);
    rc = wl_experiment_read(of, &o->set, &x, a, e);
    if (rc < 0) return rc;
    return wl_experiment_is_batch(&x) ? cancel(&x, &runs, a, e)
                                      : cancel_runs(x.campaign.store, x.campaign.name, &runs, a, e);
}

const struct wl_cmd wl_cmd_cancel = {
    .name = "cancel",
    .usage = "[options] FILE.ini [RUN...] | RESULTS RUN...",
    .help = "cancel runs of a campaign, or its jobs in the queue of a batch system",
    .more =
        "A run that has not begun does not begin; the job of one that runs gets SIGTERM, and its caps are restored. "
        "Both count as\n"
        "failed; wattlaw retry gives them another attempt. The sweep continues with the next run.\n"
        "\n"
        "FILE.ini is the experiment file of the sweep; of a batch system all jobs are cancelled where no RUN is "
        "given. Runs that were\n"
        "not submitted yet are not affected then: a wattlaw sweep that follows submits them. RESULTS is the folder "
        "or .db file of\n"
        "the campaign.\n"
        "\n"
        "    wattlaw cancel lab1 12 17\n"
        "    wattlaw cancel cluster.ini",
    .options = rows,
    .options_size = sizeof(struct options),
    .run = run,
};

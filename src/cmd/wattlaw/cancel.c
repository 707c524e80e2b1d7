/* wattlaw cancel: jobs of a campaign in the queue of a batch system. */
#include "campaign/campaign.h"
#include "cmd/wattlaw/store.h"

struct options {
    const char *campaign;
};

static const struct wl_opt rows[] = {
    { .name = "campaign",
      .type = WL_STR,
      .offset = offsetof(struct options, campaign),
      .unit = "NAME",
      .help = "name of the campaign of the store (default: its only one)" },
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

static const struct wl_campaign_row *find(const struct wl_campaign_rows *campaigns, int64_t id)
{
    for (size_t i = 0; i < campaigns->n; i++)
        if (campaigns->v[i].id == id) return &campaigns->v[i];
    return campaigns->n == 1 ? &campaigns->v[0] : NULL;
}

static int cancel(struct wl_store *s, const struct options *o, const struct wl_ints *runs, struct wl_arena *a,
                  struct wl_err *e)
{
    struct wl_campaign_rows campaigns;
    struct wl_experiment x;
    int64_t id;
    size_t n;
    int rc = wl_cmd_campaign_find(s, o->campaign, &id, a, e);
    if (rc == 0) rc = wl_store_campaigns(s, &campaigns, a, e);
    if (rc < 0) return rc;
    const struct wl_campaign_row *row = find(&campaigns, id);
    if (!row)
        return wl_fail(e, WL_EUSAGE, "%s has %zu campaigns: expected --campaign NAME", wl_store_path(s), campaigns.n);
    rc = wl_experiment_parse(wl_store_path(s), row->experiment ? row->experiment : "", NULL, &x, a, e);
    if (rc == 0) rc = wl_batch_cancel(&x, s, row->id, runs, &n, a, e);
    if (rc < 0) return rc;
    wl_print(
        "%zu job%s cancelled; the next wattlaw sweep counts their runs as failed, and --retry-failed repeats them\n", n,
        n == 1 ? "" : "s");
    return WL_EXIT_OK;
}

static int run(void *options, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    struct wl_ints runs;
    struct wl_store *s;
    char *path;
    if (rest->args.n == 0) return wl_fail(e, WL_EUSAGE, "expected the STORE of a campaign");
    int rc = read_runs(&rest->args, &runs, a, e);
    if (rc == 0) rc = wl_store_find(rest->args.v[0], &path, a, e);
    if (rc == 0) rc = wl_store_open(&s, path, WL_STORE_WRITE, a, e);
    return rc < 0 ? rc : cancel(s, options, &runs, a, e);
}

const struct wl_cmd wl_cmd_cancel = {
    .name = "cancel",
    .usage = "[options] STORE [RUN...]",
    .help = "cancel jobs of a campaign in the queue of its batch system",
    .more =
        "STORE is a .db file or the folder of a campaign; without RUNs all of its jobs are cancelled. Their runs stay\n"
        "cancelled. Runs that were not submitted yet are not affected: a wattlaw sweep that follows submits them.\n"
        "\n"
        "    wattlaw cancel lab1\n"
        "    wattlaw cancel lab1 12 17",
    .options = rows,
    .options_size = sizeof(struct options),
    .run = run,
};

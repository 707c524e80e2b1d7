/* wattlaw status: what a campaign has done, what went wrong, what is left. */
#include "cmd/wattlaw/store.h"
#include "store/store.h"

#include <math.h>
#include <stdlib.h>

struct status_options {
    const char *campaign;
    bool json;
};

static const struct wl_opt status_rows[] = {
    { .name = "campaign",
      .type = WL_STR,
      .offset = offsetof(struct status_options, campaign),
      .unit = "NAME",
      .help = "name of the campaign of the store (default: all campaigns)" },
    { .name = "json",
      .type = WL_FLAG,
      .offset = offsetof(struct status_options, json),
      .help = "print the results as JSON" },
    WL_OPT_END,
};

/* ---- counting ---- */

/* The state of a campaign. Of each repeat the last attempt counts. */
struct campaign_status {
    const struct wl_campaign_row *campaign;
    size_t count[WL_RUN_INTERRUPTED + 1];
    size_t dead;                   /* of the running ones: their wattlaw has ended */
    size_t waiting, in_job, ended; /* of the planned ones: their jobs wait, run, have ended and are to be collected */
    size_t flagged;                /* of the done ones */
    double time_s;                 /* of the runs that are done */
    struct wl_amount energy;
    bool energy_missing;
    double left_s; /* NAN: no run is done yet */
    const struct wl_run_row **failed;
    size_t n_failed;
    const struct wl_trial_row **skipped;
    size_t n_skipped;
};

static size_t all_runs(const struct campaign_status *st)
{
    size_t n = 0;
    for (size_t i = 0; i < WL_COUNT(st->count); i++) n += st->count[i];
    return n;
}

/* Planned, interrupted and dead runs, which the next sweep will run. */
static size_t runs_left(const struct campaign_status *st)
{
    return st->count[WL_RUN_PLANNED] + st->count[WL_RUN_INTERRUPTED] + st->count[WL_RUN_RUNNING];
}

/* Those of the planned ones that were handed to a batch system. */
static void count_jobs(struct campaign_status *st, const struct wl_submission_rows *jobs, const struct wl_run_row *r)
{
    for (size_t i = 0; i < jobs->n; i++) {
        const char *state = jobs->v[i].state;
        if (jobs->v[i].run != r->id || wl_str_eq(state, WL_SUBMISSION_REFUSED)) continue;
        st->in_job += wl_str_eq(state, WL_SUBMISSION_RUNNING);
        st->ended += wl_str_eq(state, WL_SUBMISSION_ENDED);
        st->waiting += wl_str_eq(state, WL_SUBMISSION_WAITING) || wl_str_eq(state, WL_SUBMISSION_SENT);
        return;
    }
}

static size_t in_queue(const struct campaign_status *st) { return st->waiting + st->in_job + st->ended; }

static int by_repeat(const void *x, const void *y)
{
    const struct wl_run_row *a = *(const struct wl_run_row *const *)x, *b = *(const struct wl_run_row *const *)y;
    if (a->trial != b->trial) return a->trial < b->trial ? -1 : 1;
    if (a->repeat != b->repeat) return a->repeat < b->repeat ? -1 : 1;
    return (a->attempt > b->attempt) - (a->attempt < b->attempt);
}

/* The last attempt of each repeat, by trial. */
static size_t last_attempts(const struct wl_run_rows *runs, int64_t campaign, const struct wl_run_row **out)
{
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < runs->n; i++)
        if (runs->v[i].campaign == campaign) out[n++] = &runs->v[i];
    if (n) qsort(out, n, sizeof *out, by_repeat);
    for (size_t i = 0; i < n; i++) {
        bool same = i + 1 < n && out[i]->trial == out[i + 1]->trial && out[i]->repeat == out[i + 1]->repeat;
        if (!same) out[kept++] = out[i];
    }
    return kept;
}

static void count_done(struct campaign_status *st, const struct wl_run_row *r)
{
    const struct wl_amount energy = wl_cmd_run_energy(r);
    if (!isnan(r->time_s)) st->time_s += r->time_s;
    if (isnan(r->energy_j))
        st->energy_missing = true;
    else
        wl_amount_add(&st->energy, &energy);
    st->flagged += r->flag != NULL;
}

static void count_runs(struct campaign_status *st, struct wl_store *s, const struct wl_submission_rows *jobs,
                       const struct wl_run_row **v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct wl_run_row *r = v[i];
        st->count[r->status]++;
        if (r->status == WL_RUN_RUNNING && wl_store_run_is_alive(s, r) == 0) st->dead++;
        if (r->status == WL_RUN_PLANNED) count_jobs(st, jobs, r);
        if (r->status == WL_RUN_DONE) count_done(st, r);
        if (r->status == WL_RUN_FAILED) st->failed[st->n_failed++] = r;
    }
}

/* A future run takes the mean time of its trial's runs, or else of all runs; a running one the rest of that. */
static double time_left(const struct wl_run_row **v, size_t n, const struct campaign_status *st)
{
    size_t done = st->count[WL_RUN_DONE];
    double left_s = 0, now_ns = (double)wl_wall_ns();
    if (done == 0) return NAN;
    for (size_t i = 0, k; i < n; i = k) {
        double sum_s = 0, runs = 0, mean_s;
        for (k = i; k < n && v[k]->trial == v[i]->trial; k++)
            if (v[k]->status == WL_RUN_DONE && !isnan(v[k]->time_s)) sum_s += v[k]->time_s, runs++;
        mean_s = runs > 0 ? sum_s / runs : st->time_s / (double)done;
        for (size_t j = i; j < k; j++) {
            if (v[j]->status == WL_RUN_DONE || v[j]->status == WL_RUN_FAILED) continue;
            double gone_s = v[j]->status == WL_RUN_RUNNING ? (now_ns - (double)v[j]->start.wall_ns) / 1e9 : 0;
            left_s += fmax(mean_s - gone_s, 0);
        }
    }
    return left_s;
}

static struct campaign_status campaign_status_of(struct wl_store *s, const struct wl_campaign_row *c,
                                                 const struct wl_run_rows *runs, const struct wl_trial_rows *trials,
                                                 const struct wl_submission_rows *jobs, struct wl_arena *a)
{
    struct campaign_status st = { .campaign = c, .energy.unit = "J" };
    const struct wl_run_row **last = wl_new_array(a, const struct wl_run_row *, runs->n);
    size_t n = last_attempts(runs, c->id, last);
    st.failed = wl_new_array(a, const struct wl_run_row *, n);
    st.skipped = wl_new_array(a, const struct wl_trial_row *, trials->n);
    count_runs(&st, s, jobs, last, n);
    st.left_s = time_left(last, n, &st);
    for (size_t i = 0; i < trials->n; i++)
        if (trials->v[i].campaign == c->id && trials->v[i].skipped) st.skipped[st.n_skipped++] = &trials->v[i];
    return st;
}

/* ---- text ---- */

static void print_count(size_t n, const char *what, const char *more)
{
    if (n) wl_print(", %zu %s%s", n, what, more);
}

static void print_left(const struct campaign_status *st, struct wl_arena *a)
{
    size_t alive = st->count[WL_RUN_RUNNING] - st->dead, left = runs_left(st);
    if (left == 0)
        wl_print("  left     nothing\n");
    else if (isnan(st->left_s))
        wl_print("  left     %zu run%s\n", left, left == 1 ? "" : "s");
    else
        wl_print("  left     %zu run%s, about %s\n", left, left == 1 ? "" : "s", wl_human_time(a, st->left_s));
    if (left && alive == 0)
        wl_print("           %s with `wattlaw sweep` and the same experiment file\n",
                 in_queue(st) ? "collect and go on" : "resume");
}

static void print_energy(const struct campaign_status *st, struct wl_arena *a)
{
    if (st->count[WL_RUN_DONE] == 0) return;
    wl_print("  time     %s in runs that are done\n", wl_human_time(a, st->time_s));
    if (st->energy.value > 0 || !st->energy_missing)
        wl_print("  energy   %s%s\n", wl_amount_text(&st->energy, a),
                 st->energy_missing ? ", missing in some runs" : "");
    else
        wl_print("  energy   not measured\n");
}

static void print_failed(const struct campaign_status *st, struct wl_arena *a)
{
    if (st->n_failed) wl_fprint_in(WL_STDOUT, WL_BAD, "  failed\n");
    for (size_t i = 0; i < st->n_failed; i++) {
        const struct wl_run_row *r = st->failed[i];
        wl_print("    run %lld, %s repeat %lld: %s\n", (long long)r->id, wl_cmd_settings_text(&r->set, a),
                 (long long)r->repeat, wl_cmd_run_end(r, a));
        struct wl_strs lines = wl_str_split(a, r->log_tail ? r->log_tail : "", '\n');
        for (size_t k = 0; k < lines.n; k++)
            if (*lines.v[k]) wl_print("      | %s\n", lines.v[k]);
    }
}

/* One line per reason: a single trial is named by its settings, several are counted. */
static void print_skipped(const struct campaign_status *st, struct wl_arena *a)
{
    if (st->n_skipped) wl_print("  cannot run here\n");
    for (size_t i = 0; i < st->n_skipped; i++) {
        const char *reason = st->skipped[i]->skipped;
        size_t before = 0, same = 0;
        for (size_t k = 0; k < st->n_skipped; k++) {
            if (!wl_str_eq(st->skipped[k]->skipped, reason)) continue;
            before += k < i;
            same++;
        }
        if (before) continue;
        wl_print("    %s: %s\n",
                 same > 1 ? wl_strf(a, "%zu trials", same) : wl_cmd_settings_text(&st->skipped[i]->set, a), reason);
    }
}

static void print_text(const struct campaign_status *st, struct wl_arena *a)
{
    wl_print("%s, started %s, wattlaw %s\n", st->campaign->name, wl_clock_iso(a, st->campaign->created_wall_ns),
             st->campaign->version ? st->campaign->version : "?");
    wl_print("  runs     %zu of %zu done", st->count[WL_RUN_DONE], all_runs(st));
    print_count(st->count[WL_RUN_RUNNING] - st->dead, "running", "");
    print_count(st->count[WL_RUN_FAILED], "failed", "");
    print_count(st->count[WL_RUN_INTERRUPTED] + st->dead, "interrupted", "");
    print_count(st->waiting, "waiting in the queue", "");
    print_count(st->in_job, "running in jobs", "");
    print_count(st->ended, "ended and not collected", "");
    print_count(st->count[WL_RUN_PLANNED] - in_queue(st), in_queue(st) ? "not submitted" : "not started", "");
    print_count(st->flagged, "flagged", " and excluded from the analysis");
    wl_print("\n");
    print_energy(st, a);
    print_left(st, a);
    print_failed(st, a);
    print_skipped(st, a);
}

/* ---- JSON ---- */

static void add_failed(struct wl_json *list, const struct wl_run_row *r, struct wl_arena *a)
{
    struct wl_json *o = wl_json_add_object(list, NULL);
    wl_json_add_int(o, "run", r->id);
    wl_json_add_int(o, "repeat", r->repeat);
    wl_cmd_settings_json(&r->set, wl_json_add_object(o, "settings"));
    wl_json_add_str(o, "error", wl_cmd_run_end(r, a));
    wl_json_add_number(o, "exit_status", r->exit_status);
    wl_json_add_number(o, "signal", r->signal);
    wl_json_add_str(o, "log_tail", r->log_tail);
}

static void add_json(struct wl_json *list, const struct campaign_status *st, struct wl_arena *a)
{
    struct wl_json *o = wl_json_add_object(list, NULL), *runs;
    wl_json_add_str(o, "campaign", st->campaign->name);
    wl_json_add_str(o, "started", wl_clock_iso(a, st->campaign->created_wall_ns));
    wl_json_add_str(o, "version", st->campaign->version);
    runs = wl_json_add_object(o, "runs");
    wl_json_add_int(runs, "all", (int64_t)all_runs(st));
    wl_json_add_int(runs, "done", (int64_t)st->count[WL_RUN_DONE]);
    wl_json_add_int(runs, "running", (int64_t)(st->count[WL_RUN_RUNNING] - st->dead));
    wl_json_add_int(runs, "failed", (int64_t)st->count[WL_RUN_FAILED]);
    wl_json_add_int(runs, "interrupted", (int64_t)(st->count[WL_RUN_INTERRUPTED] + st->dead));
    wl_json_add_int(runs, "planned", (int64_t)st->count[WL_RUN_PLANNED]);
    wl_json_add_int(runs, "waiting_in_queue", (int64_t)st->waiting);
    wl_json_add_int(runs, "running_in_jobs", (int64_t)st->in_job);
    wl_json_add_int(runs, "not_collected", (int64_t)st->ended);
    wl_json_add_int(runs, "left", (int64_t)runs_left(st));
    wl_json_add_int(runs, "flagged", (int64_t)st->flagged);
    wl_json_add_real(o, "time_s", st->time_s);
    wl_json_add_real(o, "energy_j", st->energy_missing && st->energy.value == 0 ? NAN : st->energy.value);
    wl_json_add_bool(o, "energy_complete", !st->energy_missing);
    wl_json_add_bool(o, "estimated", st->energy.from & WL_ESTIMATED);
    wl_json_add_bool(o, "simulated", st->energy.from & WL_SIMULATED);
    wl_json_add_real(o, "left_s", st->left_s);
    struct wl_json *failed = wl_json_add_array(o, "failed"), *skipped = wl_json_add_array(o, "skipped");
    for (size_t i = 0; i < st->n_failed; i++) add_failed(failed, st->failed[i], a);
    for (size_t i = 0; i < st->n_skipped; i++) {
        struct wl_json *trial = wl_json_add_object(skipped, NULL);
        wl_cmd_settings_json(&st->skipped[i]->set, wl_json_add_object(trial, "settings"));
        wl_json_add_str(trial, "reason", st->skipped[i]->skipped);
    }
}

/* ---- the command ---- */

static void print_all(struct wl_store *s, const struct status_options *o, int64_t only,
                      const struct wl_campaign_rows *campaigns, const struct wl_run_rows *runs,
                      const struct wl_trial_rows *trials, const struct wl_submission_rows *jobs, struct wl_arena *a)
{
    struct wl_json *root = wl_json_root_object(a), *list = wl_json_add_array(root, "campaigns");
    for (size_t i = 0; i < campaigns->n; i++) {
        if (only && campaigns->v[i].id != only) continue;
        struct campaign_status st = campaign_status_of(s, &campaigns->v[i], runs, trials, jobs, a);
        if (o->json)
            add_json(list, &st, a);
        else
            print_text(&st, a);
    }
    if (o->json)
        wl_json_print(root);
    else if (campaigns->n == 0)
        wl_print("%s: no campaign yet\n", wl_store_path(s));
}

static int run(void *options, const struct wl_opts_args *rest, struct wl_arena *a, struct wl_err *e)
{
    const struct status_options *o = options;
    struct wl_store *s;
    int64_t campaign;
    struct wl_campaign_rows campaigns;
    struct wl_run_rows runs;
    struct wl_trial_rows trials;
    struct wl_submission_rows jobs;
    int rc = wl_cmd_store_open(rest, &s, a, e);
    if (rc == 0) rc = wl_cmd_campaign_find(s, o->campaign, &campaign, a, e);
    if (rc == 0) rc = wl_store_campaigns(s, &campaigns, a, e);
    if (rc == 0) rc = wl_store_runs(s, &(struct wl_run_filter) { .campaign = campaign }, &runs, a, e);
    if (rc == 0) rc = wl_store_trials(s, campaign, &trials, a, e);
    if (rc == 0) rc = wl_store_submissions(s, campaign, &jobs, a, e);
    if (rc) return rc;
    print_all(s, o, campaign, &campaigns, &runs, &trials, &jobs, a);
    return WL_EXIT_OK;
}

const struct wl_cmd wl_cmd_status = {
    .name = "status",
    .usage = "[options] [STORE]",
    .help = "show what a campaign has done, what failed and why, and what is left",
    .more = "STORE is a .db file or the folder of a campaign (default: wattlaw.db, where measure writes).\n"
            "Of each repeat the last attempt counts.\n"
            "\n"
            "    wattlaw status lab1\n"
            "    wattlaw status lab1 --json | jq '.campaigns[0].runs'",
    .options = status_rows,
    .options_size = sizeof(struct status_options),
    .run = run,
};

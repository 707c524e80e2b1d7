#include "cmd/wattlaw/campaign_status.h"

#include <math.h>
#include <stdlib.h>

/* What a store holds, with what is looked up by the number of a run sorted by it. */
struct contents {
    struct wl_store *s;
    struct wl_campaign_rows campaigns;
    struct wl_run_rows runs;
    struct wl_trial_rows trials;
    struct wl_submission_rows jobs;
    struct wl_gpu_count_rows gpus;
    const struct wl_run_row **by_id;
    int64_t now_ns;
    struct wl_arena *a;
};

size_t wl_status_all(const struct wl_campaign_status *st)
{
    size_t n = 0;
    for (size_t i = 0; i < WL_COUNT(st->count); i++) n += st->count[i];
    return n;
}

size_t wl_status_left(const struct wl_campaign_status *st)
{
    return st->count[WL_RUN_PLANNED] + st->count[WL_RUN_INTERRUPTED] + st->count[WL_RUN_RUNNING];
}

size_t wl_status_in_queue(const struct wl_campaign_status *st) { return st->waiting + st->in_job + st->ended; }

size_t wl_status_running(const struct wl_campaign_status *st)
{
    return st->count[WL_RUN_RUNNING] - st->dead + st->in_job + st->ended;
}

size_t wl_status_waiting(const struct wl_campaign_status *st) { return wl_status_left(st) - wl_status_running(st); }

/* ---- jobs ---- */

static int by_id(const void *x, const void *y)
{
    const struct wl_run_row *a = *(const struct wl_run_row *const *)x, *b = *(const struct wl_run_row *const *)y;
    return (a->id > b->id) - (a->id < b->id);
}

static const struct wl_run_row *run_of(const struct contents *c, int64_t id)
{
    const struct wl_run_row key = { .id = id }, *const at = &key;
    const struct wl_run_row *const *found =
        c->runs.n ? bsearch(&at, c->by_id, c->runs.n, sizeof *c->by_id, by_id) : NULL;
    return found ? *found : NULL;
}

/* Those of a planned run that were handed to a batch system. */
static void count_job(struct wl_campaign_status *st, const struct wl_submission_row *job)
{
    st->in_job += wl_str_eq(job->state, WL_SUBMISSION_RUNNING);
    st->ended += wl_str_eq(job->state, WL_SUBMISSION_ENDED);
    st->waiting += wl_str_eq(job->state, WL_SUBMISSION_WAITING) || wl_str_eq(job->state, WL_SUBMISSION_SENT);
}

static int64_t between(int64_t t_ns, int64_t least_ns, int64_t most_ns)
{
    return t_ns < least_ns ? least_ns : t_ns > most_ns ? most_ns : t_ns;
}

/* The end is that of the run where it is known: the sweep may see it much later. The node's clock may be another one,
 * and a store may hold any number. */
static struct wl_queue_stay stay_of(const struct contents *c, const struct wl_submission_row *job,
                                    const struct wl_run_row *r)
{
    const bool closed = r->status == WL_RUN_DONE || r->status == WL_RUN_FAILED;
    const int64_t from_ns = between(job->sent_wall_ns, 0, c->now_ns);
    int64_t to_ns = job->ended_wall_ns == WL_NO_NS ? c->now_ns : job->ended_wall_ns;
    if (closed && r->stop.wall_ns != WL_NO_NS && r->stop.wall_ns < to_ns) to_ns = r->stop.wall_ns;
    return (struct wl_queue_stay) { from_ns, between(to_ns, from_ns, c->now_ns), closed };
}

static void count_jobs(const struct contents *c, struct wl_campaign_status *st)
{
    struct wl_queue_stay *stays = wl_new_array(c->a, struct wl_queue_stay, c->jobs.n);
    size_t n = 0;
    for (size_t i = 0; i < c->jobs.n; i++) {
        const struct wl_submission_row *job = &c->jobs.v[i];
        const struct wl_run_row *r = run_of(c, job->run);
        if (!r || r->campaign != st->campaign->id || wl_str_eq(job->state, WL_SUBMISSION_REFUSED)) continue;
        if (r->status == WL_RUN_PLANNED) count_job(st, job);
        stays[n++] = stay_of(c, job, r);
    }
    st->has_queue = n > 0;
    st->rate = wl_queue_rate_of(stays, n, wl_status_left(st), c->now_ns);
}

/* ---- runs ---- */

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

static void add_energy(struct wl_amount *sum, bool *missing, const struct wl_run_row *r)
{
    const struct wl_amount energy = wl_cmd_run_energy(r);
    if (isnan(r->energy_j))
        *missing = true;
    else
        wl_amount_add(sum, &energy);
}

static void count_runs(struct wl_campaign_status *st, struct wl_store *s, const struct wl_run_row **v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct wl_run_row *r = v[i];
        st->count[r->status]++;
        if (r->status == WL_RUN_RUNNING) {
            if (wl_store_run_is_alive(s, r) == 0)
                st->dead++;
            else
                st->running[st->n_running++] = r;
        }
        if (r->status == WL_RUN_FAILED) st->failed[st->n_failed++] = r;
        if (r->status != WL_RUN_DONE) continue;
        if (!isnan(r->time_s)) st->time_s += r->time_s;
        add_energy(&st->energy, &st->energy_missing, r);
        st->flagged += r->flag != NULL;
    }
}

static int by_run(const void *x, const void *y)
{
    const struct wl_gpu_count_row *a = x, *b = y;
    return (a->run > b->run) - (a->run < b->run);
}

static double gpus_of(const struct contents *c, int64_t run)
{
    const struct wl_gpu_count_row key = { .run = run };
    const struct wl_gpu_count_row *found =
        c->gpus.n ? bsearch(&key, c->gpus.v, c->gpus.n, sizeof *c->gpus.v, by_run) : NULL;
    return found ? (double)found->gpus : 0;
}

/* One worker and one thread are what a campaign asks for where it says nothing else. */
static double cores_of(const struct wl_settings *set)
{
    return (isnan(set->workers) ? 1 : set->workers) * (isnan(set->threads) ? 1 : set->threads);
}

static void add_used(const struct contents *c, struct wl_campaign_status *st)
{
    for (size_t i = 0; i < c->runs.n; i++) {
        const struct wl_run_row *r = &c->runs.v[i];
        if (r->campaign != st->campaign->id || r->status < WL_RUN_DONE || isnan(r->time_s)) continue;
        st->used.core_s += r->time_s * cores_of(&r->set);
        st->used.gpu_s += r->time_s * gpus_of(c, r->id);
        add_energy(&st->used.energy, &st->used.energy_missing, r);
    }
}

/* Runs that follow each other: a future one takes the mean time of its trial's runs, or else of all runs; a running one
 * the rest of that. */
static double time_left(const struct wl_run_row **v, size_t n, const struct wl_campaign_status *st, int64_t now_ns)
{
    size_t done = st->count[WL_RUN_DONE];
    double left_s = 0;
    if (done == 0) return NAN;
    for (size_t i = 0, k; i < n; i = k) {
        double sum_s = 0, runs = 0, mean_s;
        for (k = i; k < n && v[k]->trial == v[i]->trial; k++)
            if (v[k]->status == WL_RUN_DONE && !isnan(v[k]->time_s)) sum_s += v[k]->time_s, runs++;
        mean_s = runs > 0 ? sum_s / runs : st->time_s / (double)done;
        for (size_t j = i; j < k; j++) {
            if (v[j]->status == WL_RUN_DONE || v[j]->status == WL_RUN_FAILED) continue;
            double gone_s = v[j]->status == WL_RUN_RUNNING ? ((double)now_ns - (double)v[j]->start.wall_ns) / 1e9 : 0;
            left_s += fmax(mean_s - fmax(gone_s, 0), 0); /* the clock may have been set back */
        }
    }
    return left_s;
}

/* ---- all of it ---- */

static int status_of(const struct contents *c, const struct wl_campaign_row *campaign, struct wl_campaign_status *out,
                     struct wl_err *e)
{
    enum { REQUESTS = 20 };
    struct wl_campaign_status st = { .campaign = campaign, .energy.unit = "J", .used.energy.unit = "J" };
    int rc = wl_store_control_state(c->s, campaign->id, &st.control, c->a, e);
    if (rc == 0) rc = wl_store_controls(c->s, campaign->id, REQUESTS, &st.requests, c->a, e);
    if (rc < 0) return rc;
    const struct wl_run_row **last = wl_new_array(c->a, const struct wl_run_row *, c->runs.n);
    size_t n = last_attempts(&c->runs, campaign->id, last);
    st.failed = wl_new_array(c->a, const struct wl_run_row *, n);
    st.running = wl_new_array(c->a, const struct wl_run_row *, n);
    st.skipped = wl_new_array(c->a, const struct wl_trial_row *, c->trials.n);
    count_runs(&st, c->s, last, n);
    count_jobs(c, &st);
    add_used(c, &st);
    st.beside = wl_neighbours_effect_of(&c->runs, campaign->id, c->a);
    st.left_s = wl_status_left(&st) == 0 ? 0 : st.has_queue ? st.rate.left_s : time_left(last, n, &st, c->now_ns);
    for (size_t i = 0; i < c->trials.n; i++)
        if (c->trials.v[i].campaign == campaign->id && c->trials.v[i].skipped)
            st.skipped[st.n_skipped++] = &c->trials.v[i];
    *out = st;
    return 0;
}

static int read_contents(struct contents *c, int64_t campaign, struct wl_err *e)
{
    int rc = wl_store_campaigns(c->s, &c->campaigns, c->a, e);
    if (rc == 0) rc = wl_store_runs(c->s, &(struct wl_run_filter) { .campaign = campaign }, &c->runs, c->a, e);
    if (rc == 0) rc = wl_store_trials(c->s, campaign, &c->trials, c->a, e);
    if (rc == 0) rc = wl_store_submissions(c->s, campaign, &c->jobs, c->a, e);
    if (rc == 0) rc = wl_store_gpu_counts(c->s, campaign, &c->gpus, c->a, e);
    if (rc < 0) return rc;
    c->by_id = wl_new_array(c->a, const struct wl_run_row *, c->runs.n);
    for (size_t i = 0; i < c->runs.n; i++) c->by_id[i] = &c->runs.v[i];
    if (c->runs.n) qsort(c->by_id, c->runs.n, sizeof *c->by_id, by_id);
    return 0;
}

int wl_status_read(const char *campaign, const struct wl_opts_args *rest, struct wl_status *out, struct wl_arena *a,
                   struct wl_err *e)
{
    struct contents c = { .a = a, .now_ns = wl_wall_ns() };
    int64_t only = 0;
    *out = (struct wl_status) { 0 };
    int rc = wl_cmd_store_open(rest, &c.s, a, e);
    if (rc == 0) rc = wl_cmd_campaign_find(c.s, campaign, &only, a, e);
    if (rc == 0) rc = read_contents(&c, only, e);
    if (rc < 0) return rc;
    out->store = wl_store_path(c.s);
    out->v = wl_new_array(a, struct wl_campaign_status, c.campaigns.n);
    for (size_t i = 0; i < c.campaigns.n && rc == 0; i++)
        if (!only || c.campaigns.v[i].id == only) rc = status_of(&c, &c.campaigns.v[i], &out->v[out->n++], e);
    wl_store_close(c.s);
    return rc;
}

/* ---- texts ---- */

const char *wl_status_left_text(const struct wl_campaign_status *st, struct wl_arena *a)
{
    if (isnan(st->left_s)) return NULL;
    const char *about = wl_strf(a, "about %s", wl_human_time(a, st->left_s));
    return st->has_queue
               ? wl_strf(a, "%s (%s to %s)", about, wl_human_time(a, st->rate.lo_s), wl_human_time(a, st->rate.hi_s))
               : about;
}

const char *wl_status_paused_text(const struct wl_campaign_status *st, struct wl_arena *a)
{
    if (!st->control.paused) return NULL;
    return wl_strf(a, "by %s since %s%s: wattlaw resume goes on", st->control.by,
                   wl_clock_iso(a, st->control.since_wall_ns),
                   st->count[WL_RUN_RUNNING] > st->dead ? ", a run that is running goes on to its end" : "");
}

/* Energy first, so that a narrow terminal keeps its mark (simulated) beside it. */
const char *wl_status_used_text(const struct wl_campaign_status *st, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    if (st->used.core_s == 0) return "0 core-hours";
    if (st->used.energy.value > 0 || !st->used.energy_missing)
        wl_text_addf(&t, "%s%s, ", wl_amount_text(&st->used.energy, a),
                     st->used.energy_missing ? " (some runs have none)" : "");
    wl_text_addf(&t, "%s core-hours", wl_number_text(st->used.core_s / 3600, a));
    if (st->used.gpu_s > 0) wl_text_addf(&t, ", %s GPU-hours", wl_number_text(st->used.gpu_s / 3600, a));
    if (!(st->used.energy.value > 0) && st->used.energy_missing) wl_text_add(&t, ", energy not measured");
    return t.s;
}

#include "tune/stored.h"
#include "tune/outcome.h"

#include <math.h>

static int find_campaign(struct wl_tune *t, int64_t *id, struct wl_err *e)
{
    struct wl_campaign_rows rows;
    *id = 0;
    int rc = wl_store_campaigns(t->store, &rows, t->a, e);
    for (size_t i = 0; i < rows.n && rc == 0; i++)
        if (wl_str_eq(rows.v[i].name, t->opts->name)) *id = rows.v[i].id;
    return rc;
}

/* The first run of a folder is the job; others are its windows. */
static const struct wl_run_row *job_of(const struct wl_run_rows *rows, const struct wl_run_row *r)
{
    const struct wl_run_row *first = r;
    for (size_t i = 0; i < rows->n; i++)
        if (r->folder && wl_str_eq(rows->v[i].folder, r->folder) && rows->v[i].id < first->id) first = &rows->v[i];
    return first;
}

static bool has_windows(const struct wl_run_rows *rows, const struct wl_run_row *r)
{
    for (size_t i = 0; i < rows->n; i++)
        if (r->folder && wl_str_eq(rows->v[i].folder, r->folder) && rows->v[i].id != r->id) return true;
    return false;
}

/* The candidate of a run; c->n: none. */
static size_t candidate_of(const struct wl_tune_candidates *c, const struct wl_run_row *r)
{
    double value = wl_setting_real(wl_setting_of_cap(c->kind), &r->set);
    for (size_t i = 0; i < c->n; i++)
        if (fabs(c->value[i] - value) < 1e-6 * c->value[i]) return i;
    return c->n;
}

static int read_outcome(struct wl_tune *t, const struct wl_run_row *r, struct wl_tune_window *w, struct wl_err *e)
{
    struct wl_epoch_rows epochs;
    struct wl_energy_rows energies;
    int rc = wl_store_epochs(t->store, r->id, &epochs, t->a, e);
    if (rc == 0) rc = wl_store_energies(t->store, r->id, &energies, t->a, e);
    if (rc < 0) return rc;
    struct wl_tune_rows rows = { epochs.v, epochs.n, energies.v, energies.n, r->time_s };
    struct wl_err unusable;
    rc = w->is_whole ? wl_tune_outcome_of_run(&rows, t->candidates->n_devices, w, &unusable)
                     : wl_tune_outcome_of_window(&rows, t->candidates->n_devices, w, &unusable);
    if (rc < 0) return 0;
    if (!w->is_whole) {
        t->steps = (int64_t)epochs.v[0].updates;
        if (w->candidate == t->candidates->reference) t->reference_s = epochs.v[0].time_s;
    }
    wl_tune_add_window(t, w);
    return 0;
}

static int take_run(struct wl_tune *t, const struct wl_run_rows *rows, const struct wl_run_row *r, const char *host,
                    struct wl_err *e)
{
    const struct wl_run_row *job = job_of(rows, r);
    struct wl_tune_window w = { .candidate = candidate_of(t->candidates, r), .run = r->id, .job = -job->id };
    w.is_whole = job == r;
    bool usable = r->status == WL_RUN_DONE && !r->flag && wl_str_eq(r->host, host) && w.candidate < t->candidates->n;
    return !usable || (w.is_whole && has_windows(rows, r)) ? 0 : read_outcome(t, r, &w, e);
}

/* A window that was cut short has fewer steps than the others, and the reference is never cut. */
static void forget_steps_of_cut(struct wl_tune *t, int64_t steps) { t->steps = steps > t->steps ? steps : t->steps; }

int wl_tune_load(struct wl_tune *t, const char *command, struct wl_err *e)
{
    int64_t campaign, most = 0;
    struct wl_run_rows rows = { 0 };
    int rc = find_campaign(t, &campaign, e);
    if (rc == 0 && campaign)
        rc = wl_store_runs(t->store, &(struct wl_run_filter) { .campaign = campaign }, &rows, t->a, e);
    const char *host = wl_host_name(t->a);
    for (size_t i = 0; i < rows.n && rc == 0; i++) {
        const struct wl_run_row *r = &rows.v[i];
        if (r->command && !wl_str_eq(r->command, command))
            return wl_fail(e, WL_EINVAL,
                           "%s: the search \"%s\" is of another command: %s. Name this one with --name, or another "
                           "store with --store",
                           wl_store_path(t->store), t->opts->name, r->command);
        rc = take_run(t, &rows, r, host, e);
        forget_steps_of_cut(t, most);
        most = t->steps;
    }
    t->before = t->windows.n;
    return rc;
}

/* Jobs of a campaign that the user cancels, while its sweep may be following them. */
#include "campaign/batch.h"

static bool is_asked(const struct wl_ints *runs, int64_t run)
{
    for (size_t i = 0; i < runs->n; i++)
        if (runs->v[i] == run) return true;
    return runs->n == 0;
}

static int check_found(const struct wl_ints *runs, const struct wl_batch_queue *q, struct wl_err *e)
{
    for (size_t i = 0; i < runs->n; i++) {
        bool found = false;
        for (size_t k = 0; k < q->n_open; k++) found |= q->open[k].row.run == runs->v[i] && !q->open[k].ended;
        if (!found) return wl_fail(e, WL_ENOENT, "run %lld has no job in the queue", (long long)runs->v[i]);
    }
    return 0;
}

int wl_batch_cancel(const struct wl_experiment *x, struct wl_store *store, int64_t campaign, const struct wl_ints *runs,
                    size_t *n, struct wl_arena *a, struct wl_err *e)
{
    struct wl_sweep_result result = { .campaign = campaign };
    struct wl_sweep s = { .x = x, .out = &result, .store = store, .a = a };
    struct wl_batch_queue q = { .s = &s };
    struct wl_strs jobs = { 0 };
    *n = 0;
    int rc = wl_launcher_find(x->launch.launcher, &s.launcher, e);
    if (rc == 0 && !s.launcher->batch)
        rc = wl_fail(e, WL_EINVAL, "campaign %s has launcher = %s: its runs are not jobs of a batch system",
                     x->campaign.name, x->launch.launcher);
    if (rc == 0) rc = wl_batch_queue_read(&q, a, e);
    if (rc == 0) rc = check_found(runs, &q, e);
    for (size_t i = 0; i < q.n_open && rc == 0; i++) {
        const struct wl_submission_row *row = &q.open[i].row;
        if (q.open[i].ended || !is_asked(runs, row->run)) continue;
        rc = wl_store_cancel_submission(store, row->id, e);
        if (row->job) wl_strs_add(a, &jobs, row->job);
        (*n)++;
    }
    return rc || jobs.n == 0 ? rc : s.launcher->batch->cancel(x, &jobs, a, e);
}

const char *wl_batch_output_path(const char *folder, const struct wl_submission_row *row, struct wl_arena *a)
{
    return wl_batch_output_find(folder, row, NULL, a);
}

/* How a sweep ended: text and JSON, limits, what to do next. */
#include "cmd/wattlaw/stop_at.h"
#include "cmd/wattlaw/sweep/internal.h"

#include <math.h>

static void result_json(const struct wl_sweep_view *v, const struct wl_sweep_result *r, struct wl_arena *a)
{
    struct wl_json *root = wl_json_root_object(a);
    wl_json_add_str(root, "campaign", v->x->campaign.name);
    wl_json_add_str(root, "store", r->store);
    wl_json_add_int(root, "runs", (int64_t)r->planned);
    wl_json_add_int(root, "done", (int64_t)r->done);
    wl_json_add_int(root, "done_before", (int64_t)r->done_before);
    if (wl_experiment_is_batch(v->x)) {
        wl_json_add_int(root, "in_queue", (int64_t)r->in_queue);
        wl_json_add_int(root, "not_submitted", (int64_t)r->not_submitted);
    }
    if (r->n_limits) wl_stop_at_states_json(r->limits, r->n_limits, NAN, root);
    if (v->grid) wl_sweep_trials_json(v->grid, root);
    struct wl_json *failed = wl_json_add_array(root, "failed");
    for (size_t i = 0; i < r->n_failed; i++) {
        struct wl_json *o = wl_json_add_object(failed, NULL);
        wl_json_add_int(o, "run", r->failed[i].run);
        wl_json_add_str(o, "trial", r->failed[i].trial);
        wl_json_add_int(o, "repeat", r->failed[i].repeat);
        wl_json_add_str(o, "error", r->failed[i].error);
        wl_json_add_str(o, "last_line", r->failed[i].last_line);
        wl_json_add_str(o, "log", r->failed[i].log);
    }
    wl_json_print(root);
}

static void print_failed(const struct wl_failed_run *f)
{
    wl_print("failed  run %lld  %s, repeat %lld: %s", (long long)f->run, f->trial, (long long)f->repeat, f->error);
    if (f->last_line) wl_print(": %.*s", WL_SWEEP_LINE_MAX, f->last_line);
    if (f->log) wl_print(" (%s)", f->log);
    wl_print("\n");
}

static void result_text(const struct wl_experiment *x, const struct wl_sweep_result *r)
{
    wl_print("%zu of %zu runs of campaign %s are done: %s\n", r->done, r->planned, x->campaign.name, r->store);
    for (size_t i = 0; i < r->n_failed; i++) print_failed(&r->failed[i]);
    if (r->n_failed) wl_print("use --retry-failed to run these again\n");
    if (r->in_queue + r->not_submitted)
        wl_print("%zu job%s in the queue, %zu run%s not submitted: the same command collects and goes on\n",
                 r->in_queue, r->in_queue == 1 ? "" : "s", r->not_submitted, r->not_submitted == 1 ? "" : "s");
    if (r->done) wl_print("next: wattlaw recommend %s; wattlaw report %s\n", r->store, r->store);
}

static const struct wl_run_limit_state *limit_reached(const struct wl_sweep_result *r)
{
    for (size_t i = 0; i < r->n_limits; i++)
        if (r->limits[i].reached) return &r->limits[i];
    return NULL;
}

/* What the campaign has used of its limits, and what all of its runs are expected to. */
static void print_limits(const struct wl_sweep_result *r, struct wl_arena *a)
{
    for (size_t i = 0; i < r->n_limits; i++) {
        const struct wl_run_limit_state *s = &r->limits[i];
        wl_eprint("limit of %s: %s used", s->limit.text, wl_run_limit_used(s, s->used, a));
        if (r->done < r->planned && !isnan(s->forecast))
            wl_eprint(", all %zu runs take about %s", r->planned, wl_run_limit_forecast(s, a));
        wl_eprint("\n");
    }
}

/* The end of a sweep at a limit: not an error. */
static int stopped_at_limit(const struct wl_sweep_view *v, const struct wl_sweep_result *r, const struct wl_err *e,
                            struct wl_arena *a)
{
    wl_eprint("%s\n", e->msg);
    print_limits(r, a);
    wl_eprint("%zu of %zu runs are done and stored in %s; the same command with a larger --stop-at goes on\n", r->done,
              r->planned, r->store);
    if (v->json) result_json(v, r, a);
    return WL_EXIT_LIMIT;
}

/* The message after a sweep that ended early. */
static int ended_early(const struct wl_sweep_view *v, const struct wl_sweep_result *r, int rc, struct wl_err *e)
{
    if (!v->grid || (r->done == 0 && rc != WL_EINTR)) return rc; /* nothing was run: the error says why */
    wl_eprint("%zu of %zu runs are done and stored in %s; the same command resumes with the rest\n", r->done,
              r->planned, r->store);
    return rc < 0 && e->code == rc ? rc : WL_EXIT_FAILED;
}

int wl_sweep_view_end(const struct wl_sweep_view *v, const struct wl_sweep_result *r, int rc, struct wl_arena *a,
                      struct wl_err *e)
{
    if (rc == WL_EINTR && limit_reached(r)) return stopped_at_limit(v, r, e, a);
    if (rc < 0) return ended_early(v, r, rc, e);
    print_limits(r, a);
    if (v->json)
        result_json(v, r, a);
    else if (r->planned)
        result_text(v->x, r);
    if (r->planned == 0) return wl_sweep_is_empty(v->x, e);
    return r->n_failed ? WL_EXIT_FAILED : WL_EXIT_OK;
}

/* The derived rows of a stored run, computed anew. */
#include "run/run.h"

bool wl_run_can_be_derived(const struct wl_run_row *r)
{
    bool ended = r->status == WL_RUN_DONE || r->status == WL_RUN_FAILED || r->status == WL_RUN_INTERRUPTED;
    return ended && r->start.mono_ns != WL_NO_NS && r->stop.mono_ns != WL_NO_NS && r->sampling_asked_s > 0;
}

int wl_run_rebuild(struct wl_store *s, const struct wl_run_row *r, struct wl_arena *a, struct wl_err *e)
{
    struct wl_arena *scratch = wl_arena_new(a);
    struct wl_derived d;
    struct wl_derive_opts opts = {
        r->start.mono_ns, r->stop.mono_ns, r->sampling_asked_s, r->idle_s, r->own_cpu_s, r->other_run, NULL
    };
    int rc = wl_derive(s, r->id, &opts, &d, NULL, scratch, e);
    d.actual.hardware = r->set.hardware;                         /* not in the marks */
    if (!d.actual.workload) d.actual.workload = r->set.workload; /* perhaps not in the marks */
    if (rc == 0) rc = wl_store_derive(s, r->id, &d, e);
    wl_arena_free(scratch);
    return rc;
}

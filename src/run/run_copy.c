/* The facts of a run, copied from one store into another. */
#include "run/internal.h"

const struct wl_device_row *wl_run_copy_device(const struct wl_device_rows *devices, int64_t id)
{
    for (size_t i = 0; i < devices->n; i++)
        if (devices->v[i].id == id) return &devices->v[i];
    return NULL;
}

static int copy_channel(const struct wl_run_copy *c, const struct wl_channel_row *from, struct wl_arena *a,
                        struct wl_err *e)
{
    const struct wl_device_row *device = wl_run_copy_device(c->devices, from->device);
    struct wl_channel_row to = *from;
    struct wl_readings r;
    int64_t id;
    if (!device) return 0;
    int rc = wl_store_add_device(c->to, device, &to.device, e);
    to.run = c->to_run;
    if (rc == 0) rc = wl_store_add_channel(c->to, &to, &id, e);
    if (rc == 0) rc = wl_store_readings(c->from, from->id, INT64_MIN, INT64_MAX, &r, a, e);
    struct wl_sample_row *rows = wl_new_array(a, struct wl_sample_row, rc ? 0 : r.n);
    for (size_t i = 0; rc == 0 && i < r.n; i++)
        rows[i] = (struct wl_sample_row) { id, r.t_ns[i] + c->shift_ns, r.value[i] };
    return rc ? rc : wl_store_add_samples(c->to, rows, r.n, e);
}

static int copy_marks(const struct wl_run_copy *c, struct wl_arena *a, struct wl_err *e)
{
    struct wl_mark_rows marks;
    int rc = wl_store_read_marks(c->from, c->from_run, &marks, a, e);
    for (size_t i = 0; rc == 0 && i < marks.n; i++) marks.v[i].t_ns += c->shift_ns;
    return rc ? rc : wl_store_add_marks(c->to, c->to_run, marks.v, marks.n, e);
}

static int copy_log(const struct wl_run_copy *c, struct wl_arena *a, struct wl_err *e)
{
    struct wl_log_rows log;
    int rc = wl_store_read_log(c->from, c->from_run, &log, a, e);
    for (size_t i = 0; rc == 0 && i < log.n; i++)
        rc = wl_store_add_log(c->to, c->to_run, log.v[i].level, log.v[i].area,
                              wl_strf(a, "%s%s", c->log_prefix, log.v[i].message), e);
    return rc;
}

int wl_run_copy_facts(const struct wl_run_copy *c, struct wl_arena *a, struct wl_err *e)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < c->channels->n; i++) {
        struct wl_arena *one = wl_arena_new(a); /* the readings of a channel at a time */
        rc = copy_channel(c, &c->channels->v[i], one, e);
        wl_arena_free(one);
    }
    if (rc == 0) rc = copy_marks(c, a, e);
    return rc ? rc : copy_log(c, a, e);
}

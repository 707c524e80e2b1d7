/* A run that is under way: its caps change, it is stopped, and parts of it become runs of their own. docs/adr/118 */
#include "run/active_run.h"
#include "run/internal.h"

#include <math.h>
#include <stdio.h>

/* ---- caps ---- */

/* A GPU that was unlocked while it is busy needs a moment to reach its clock; until then it looks as if somebody else
 * had locked it (WL_EPERM). */
static int set_with_retry(struct wl_active_run *run, const struct wl_cap_request *to, struct wl_err *e)
{
    enum { RETRY_MS = 100 };
    int64_t until_ns = wl_now_ns() + WL_NS_PER_S;
    for (;;) {
        struct wl_caps *caps;
        int rc = wl_caps_set(&caps, to, run->opts->cap_opts, run->power, run->a, e);
        if (rc == 0) run->caps = caps;
        if (rc != WL_EPERM || wl_now_ns() >= until_ns) return rc;
        wl_sleep_until(wl_now_ns() + RETRY_MS * (WL_NS_PER_S / 1000));
    }
}

int wl_run_change_caps(struct wl_active_run *run, const struct wl_cap_request *to, struct wl_err *e)
{
    struct wl_caps *before = run->caps;
    run->caps = NULL;
    int rc = before ? wl_caps_release(before, e) : 0;
    if (rc < 0) run->out->caps_left = wl_strdup(run->a, e->msg);
    return rc < 0 || !to || !wl_cap_is_requested(to) ? rc : set_with_retry(run, to, e);
}

const struct wl_cap_setting *wl_run_caps_now(struct wl_active_run *run, size_t *n, const char **flag,
                                             struct wl_arena *a)
{
    *n = 0;
    *flag = run->caps ? wl_caps_check(run->caps) : NULL;
    const struct wl_cap_setting *now = run->caps ? wl_caps_settings(run->caps, n) : NULL;
    struct wl_cap_setting *copy = wl_new_array(a, struct wl_cap_setting, *n);
    for (size_t i = 0; i < *n; i++) copy[i] = now[i];
    return copy;
}

/* ---- its end ---- */

void wl_run_stop(struct wl_active_run *run, enum wl_run_status as, const char *why)
{
    wl_run_command_stop(&run->command, as, why);
}

const char *wl_run_log_tail(const struct wl_active_run *run, struct wl_arena *a)
{
    return wl_run_command_read_log(&run->command, a);
}

/* ---- parts ---- */

struct copying {
    struct wl_active_run *run;
    const struct wl_run_part *part;
    int64_t to; /* the part's run */
    struct wl_arena *a;
};

static double period_s(const struct wl_active_run *run)
{
    struct wl_sampler_stats s;
    wl_sampler_stats(run->recorder.sampler, &s);
    return s.period_s;
}

int64_t wl_run_part_margin_ns(const struct wl_active_run *run) { return wl_max_gap_ns(period_s(run)); }

/* The readings of a channel within the part and a margin on both sides. */
static int copy_channel(const struct copying *c, const struct wl_channel_row *from, struct wl_err *e)
{
    struct wl_store *s = c->run->recorder.store;
    struct wl_channel_row row = *from;
    struct wl_readings r;
    int64_t to, margin_ns = wl_run_part_margin_ns(c->run);
    row.run = c->to;
    struct wl_arena *a = wl_arena_new(c->a);
    int rc = wl_store_add_channel(s, &row, &to, e);
    if (rc == 0)
        rc = wl_store_readings(s, from->id, c->part->begin_ns - margin_ns, c->part->end_ns + margin_ns, &r, a, e);
    struct wl_sample_row *rows = wl_new_array(a, struct wl_sample_row, rc ? 0 : r.n);
    for (size_t i = 0; rc == 0 && i < r.n; i++) rows[i] = (struct wl_sample_row) { to, r.t_ns[i], r.value[i] };
    if (rc == 0) rc = wl_store_add_samples(s, rows, r.n, e);
    wl_arena_free(a);
    return rc;
}

static int copy_channels(const struct copying *c, struct wl_err *e)
{
    struct wl_channel_rows from;
    int rc = wl_store_channels(c->run->recorder.store, c->run->recorder.run, &from, c->a, e);
    for (size_t i = 0; rc == 0 && i < from.n; i++) rc = copy_channel(c, &from.v[i], e);
    return rc;
}

static const char *end_fields(const struct wl_run_part *p, struct wl_arena *a)
{
    struct wl_text t = WL_TEXT(a);
    wl_text_add(&t, "epoch=1");
    if (!isnan(p->samples)) wl_text_addf(&t, " samples=%.0f", p->samples);
    if (!isnan(p->updates)) wl_text_addf(&t, " updates=%.0f", p->updates);
    return t.s;
}

/* The run's start marks, which say what it is, and one epoch. */
static int copy_marks(const struct copying *c, struct wl_err *e)
{
    struct wl_mark_rows from;
    const struct wl_run_part *p = c->part;
    int rc = wl_store_read_marks(c->run->recorder.store, c->run->recorder.run, &from, c->a, e);
    if (rc < 0) return rc;
    struct wl_mark_row *rows = wl_new_array(c->a, struct wl_mark_row, from.n + 2);
    size_t n = 0;
    for (size_t i = 0; i < from.n; i++)
        if (wl_str_eq(from.v[i].word, wl_mark_word_name(WL_MARK_START))) rows[n++] = from.v[i];
    rows[n++] = (struct wl_mark_row) { p->begin_ns, 0, wl_mark_word_name(WL_MARK_EPOCH_BEGIN), "epoch=1" };
    rows[n++] = (struct wl_mark_row) { p->end_ns, 0, wl_mark_word_name(WL_MARK_EPOCH_END), end_fields(p, c->a) };
    return wl_store_add_marks(c->run->recorder.store, c->to, rows, n, e);
}

static int begin_part(struct copying *c, struct wl_err *e)
{
    const struct wl_run_opts *opts = c->run->opts;
    struct wl_store *s = c->run->recorder.store;
    struct wl_run_begin begin = { .folder = opts->stored_dir,
                                  .command = wl_shell_quote(c->a, opts->argv),
                                  .version = WL_VERSION,
                                  .at = wl_anchor_at(c->part->begin_ns) };
    int rc = wl_run_plan(s, c->part->campaign, c->part->set, &c->to, e);
    if (rc == 0) rc = wl_store_run_begin(s, c->to, &begin, e);
    return rc == 0 && c->part->note ? wl_store_add_log(s, c->to, "info", "tune", c->part->note, e) : rc;
}

static int end_part(struct copying *c, struct wl_run_result *out, struct wl_err *e)
{
    const struct wl_run_part *p = c->part;
    struct wl_sampler_stats sampled;
    struct wl_store *s = c->run->recorder.store;
    wl_sampler_stats(c->run->recorder.sampler, &sampled);
    struct wl_derive_opts opts = { p->begin_ns, p->end_ns, sampled.period_s, NAN, NAN, NAN, NULL };
    int rc = wl_derive(s, c->to, &opts, &out->derived, &out->scope_label, c->a, e);
    if (rc < 0) return rc;
    out->derived.actual.hardware = wl_hardware_name(c->run->recorder.sensors, c->a);
    if (!out->derived.actual.workload) out->derived.actual.workload = c->run->opts->workload;
    struct wl_run_end end = wl_run_end_none;
    end.exit_status = 0;
    end.flag = p->flag;
    end.at = wl_anchor_at(p->end_ns);
    end.sampling_asked_s = sampled.period_s;
    end.sampling_period_s = sampled.achieved_period_s;
    struct wl_run_result caps = { .caps = p->caps, .n_caps = p->n_caps };
    end.caps = wl_run_cap_rows(&caps, c->a);
    end.n_caps = p->n_caps;
    return wl_store_run_end(s, c->to, &end, &out->derived, e);
}

static int write_part(struct copying *c, struct wl_run_result *out, struct wl_err *e)
{
    int rc = begin_part(c, e);
    if (rc == 0) rc = copy_channels(c, e);
    if (rc == 0) rc = copy_marks(c, e);
    return rc ? rc : end_part(c, out, e);
}

int wl_run_store_part(struct wl_active_run *run, const struct wl_run_part *part, struct wl_run_result *out,
                      struct wl_arena *a, struct wl_err *e)
{
    struct copying c = { .run = run, .part = part, .a = a };
    struct wl_store *s = run->recorder.store;
    *out = (struct wl_run_result) { .cooldown = wl_cooldown_none, .slurm = wl_slurm_energy_none };
    wl_recorder_store_all(&run->recorder);
    if (run->recorder.store_rc) return wl_fail(e, run->recorder.store_rc, "%s", run->recorder.store_err.msg);
    int rc = wl_store_begin(s, e);
    if (rc == 0) rc = write_part(&c, out, e);
    if (rc == 0) rc = wl_store_commit(s, e);
    if (rc < 0) wl_store_rollback(s);
    run->has_parts |= rc == 0;
    out->run = c.to;
    out->store = wl_store_path(s);
    return rc;
}

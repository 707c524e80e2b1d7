/* One measured run. `sweep` and `measure` both end up here. */
#include "campaign/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    DRAIN_MAX = 4096,
    MARKS_MAX = 64,
    FLUSH_NS = WL_NS_PER_S / 10 * 8, /* a killed wattlaw loses less than a second of samples */
    TICK_MS = 100,
    IDLE_MS = 800,
    BROKEN_SHOWN = 5,
    LOG_TAIL_BYTES = 4096,
};

/* A run while it goes on. */
struct live {
    struct wl_store *store;
    int64_t run;
    const struct wl_run_how *how;
    struct wl_run_result *out;
    struct wl_arena *a;
    struct wl_job *job;
    int log_fd;
    const char *log_path;
    struct wl_pump *pumps[2];
    size_t n_pumps;
    struct wl_mark_regex *regex;
    struct wl_sensors *sensors;
    struct wl_sampler *sampler;
    struct wl_caps *caps; /* NULL: none are set */
    int64_t *device_ids, *channel_ids;
    struct wl_sample *drained;     /* [DRAIN_MAX] */
    struct wl_sample_row *samples; /* [DRAIN_MAX] */
    struct wl_mark_tail *tail;
    struct wl_mark *marks;    /* [MARKS_MAX] */
    struct wl_mark_row *rows; /* [MARKS_MAX] */
    size_t n_marks;
    int64_t flushed_ns, cpu0_ns;
    bool timed_out, stopped;
    int stop_signal; /* the first that came; 0: none */
    int store_rc;    /* the first failure of the store, and its message */
    struct wl_err store_err;
};

/* ---- facts into the store ---- */

/* From the first failure on nothing more is written; a campaign's job is stopped, a measured command goes on. */
static void store_failed(struct live *l, int rc, const struct wl_err *e)
{
    if (rc >= 0 || l->store_rc) return;
    l->store_rc = rc;
    l->store_err = *e;
    wl_store_rollback(l->store);
    if (l->how->pass_through)
        wl_log(WL_ERROR, "store", "%s; the command goes on without being stored", e->msg);
    else if (l->job)
        wl_job_stop(l->job, false);
}

static int by_channel_and_time(const void *x, const void *y)
{
    const struct wl_sample_row *a = x, *b = y;
    if (a->channel != b->channel) return a->channel < b->channel ? -1 : 1;
    return (a->t_ns > b->t_ns) - (a->t_ns < b->t_ns);
}

static int store_samples(struct live *l, struct wl_err *e)
{
    size_t n;
    int rc = 0;
    while ((n = wl_sampler_drain(l->sampler, l->drained, DRAIN_MAX)) > 0) {
        for (size_t i = 0; i < n; i++)
            l->samples[i] = (struct wl_sample_row) { l->channel_ids[l->drained[i].channel], l->drained[i].t_ns,
                                                     l->drained[i].value };
        qsort(l->samples, n, sizeof *l->samples, by_channel_and_time);
        if (rc == 0 && !l->store_rc) rc = wl_store_samples(l->store, l->samples, n, e);
    }
    return rc;
}

static int store_marks(struct live *l, struct wl_err *e)
{
    for (size_t i = 0; i < l->n_marks; i++)
        l->rows[i] = (struct wl_mark_row) { l->marks[i].t_ns, l->marks[i].rank, wl_mark_word_name(l->marks[i].word),
                                            l->marks[i].fields };
    int rc = l->store_rc ? 0 : wl_store_marks(l->store, l->run, l->rows, l->n_marks, e);
    l->n_marks = 0;
    return rc;
}

static void add_mark(struct live *l, const struct wl_mark *m)
{
    struct wl_err e;
    if (l->n_marks == MARKS_MAX) store_failed(l, store_marks(l, &e), &e);
    l->marks[l->n_marks++] = *m;
}

static void broken_mark(struct live *l, const struct wl_err *why)
{
    struct wl_err e;
    if (l->out->broken_marks++ >= BROKEN_SHOWN) return;
    wl_log(WL_WARN, "mark", "%s", why->msg);
    if (!l->store_rc) store_failed(l, wl_store_log(l->store, l->run, "warn", "mark", why->msg, &e), &e);
}

/* What the workload wrote since the last call; `last`: it is gone, half a line will not become a whole one. */
static void read_marks(struct live *l, bool last)
{
    struct wl_mark m;
    struct wl_err e;
    for (;;) {
        int rc = last ? wl_mark_tail_last(l->tail, &m, &e) : wl_mark_tail_next(l->tail, &m, &e);
        if (rc == 0) return;
        if (rc > 0) {
            add_mark(l, &m);
        } else {
            broken_mark(l, &e);
            if (rc == WL_EIO) return;
        }
    }
}

/* One short transaction. */
static void flush(struct live *l, bool last)
{
    struct wl_err e;
    l->flushed_ns = wl_now_ns();
    if (!l->store_rc) store_failed(l, wl_store_begin(l->store, &e), &e);
    read_marks(l, last);
    store_failed(l, store_marks(l, &e), &e);
    store_failed(l, store_samples(l, &e), &e);
    if (!l->store_rc) store_failed(l, wl_store_commit(l->store, &e), &e);
}

/* ---- marks from the output ---- */

static void on_regex_mark(void *ctx, const struct wl_mark *m) { add_mark(ctx, m); }

static void on_line(void *ctx, int64_t t_ns, const char *line, size_t n)
{
    struct live *l = ctx;
    struct wl_err e;
    if (wl_mark_regex_line(l->regex, t_ns, line, n, &e) < 0) broken_mark(l, &e);
}

/* ---- start ---- */

/* Marks are appended: those of a run of the same number, whose store was removed, must not count again. */
static int open_files(struct live *l, struct wl_err *e)
{
    const char *dir = l->how->dir;
    int rc = wl_mkdirs(dir, e);
    if (rc < 0) return rc;
    const char *marks = wl_path_join(l->a, dir, "marks");
    if (unlink(marks) != 0 && errno != ENOENT) return wl_fail_errno(e, "%s: cannot remove old marks", marks);
    l->tail = wl_mark_tail_new(marks, l->a);
    l->log_fd = -1;
    if (l->how->pass_through) return 0;
    l->log_path = wl_path_join(l->a, dir, "log");
    l->log_fd = open(l->log_path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    return l->log_fd < 0 ? wl_fail_errno(e, "%s: cannot write the run's log", l->log_path) : 0;
}

static void close_log(void *what)
{
    struct live *l = what;
    if (l->log_fd >= 0) close(l->log_fd);
    l->log_fd = -1;
}

/* Expressions need the output to run through us: both streams of a measured command, the one log of a campaign. */
static int open_pumps(struct live *l, struct wl_err *e)
{
    if (!l->how->regex || !wl_mark_regex_wanted(l->how->regex)) return 0;
    int rc = wl_mark_regex_new(&l->regex, l->how->regex, on_regex_mark, l, l->a, e);
    l->n_pumps = l->how->pass_through ? 2 : 1;
    for (size_t i = 0; i < l->n_pumps && rc == 0; i++)
        rc = wl_pump_open(&l->pumps[i], l->how->pass_through ? (int)i + 1 : l->log_fd, on_line, l, l->a, e);
    return rc;
}

static int prepare_job(struct live *l, struct wl_err *e)
{
    const struct wl_run_how *how = l->how;
    struct wl_strs *env = wl_new(l->a, struct wl_strs);
    wl_strs_add(l->a, env, wl_strf(l->a, "WATTLAW_MARKS=%s", wl_path_join(l->a, how->dir, "marks")));
    wl_strs_add(l->a, env, wl_strf(l->a, "WATTLAW_RUN_DIR=%s", how->dir));
    for (size_t i = 0; how->env && i < how->env->n; i++) wl_strs_add(l->a, env, how->env->v[i]);
    struct wl_job_spec *spec = wl_new(l->a, struct wl_job_spec);
    *spec = (struct wl_job_spec) { .argv = how->argv,
                                   .env = env,
                                   .cwd = how->cwd,
                                   .stdin_fd = how->pass_through ? 0 : -1,
                                   .stdout_fd = l->log_fd,
                                   .stderr_fd = l->log_fd,
                                   .pass_through = how->pass_through,
                                   .grace_s = how->grace_s };
    if (l->n_pumps) spec->stdout_fd = spec->stderr_fd = wl_pump_job_end(l->pumps[0]);
    if (l->n_pumps == 2) spec->stderr_fd = wl_pump_job_end(l->pumps[1]);
    int rc = wl_job_prepare(&l->job, spec, l->a, e);
    for (size_t i = 0; i < l->n_pumps && rc == 0; i++) wl_pump_started(l->pumps[i]);
    return rc;
}

static int start_sampler(struct live *l, struct wl_err *e)
{
    l->drained = wl_new_array(l->a, struct wl_sample, DRAIN_MAX);
    l->samples = wl_new_array(l->a, struct wl_sample_row, DRAIN_MAX);
    l->marks = wl_new_array(l->a, struct wl_mark, MARKS_MAX);
    l->rows = wl_new_array(l->a, struct wl_mark_row, MARKS_MAX);
    int rc = wl_sensors_open(&l->sensors, l->how->power, l->a, e);
    if (rc < 0) return rc;
    l->device_ids = wl_new_array(l->a, int64_t, l->sensors->n_devices);
    l->channel_ids = wl_new_array(l->a, int64_t, l->sensors->n_channels);
    rc = wl_sampler_start(&l->sampler, l->sensors, l->how->power->rate_hz, l->a, e);
    if (rc == 0) wl_sampler_watch(l->sampler, wl_job_pid(l->job));
    return rc;
}

static int set_caps(struct live *l, struct wl_err *e)
{
    const struct wl_run_how *how = l->how;
    struct wl_caps *caps;
    if (!how->cap || !wl_cap_asked(how->cap)) return 0;
    int rc = wl_caps_set(&caps, how->cap, how->cap_opts, how->power, l->a, e);
    if (rc == 0) l->caps = caps;
    return rc;
}

/* The host is part of a device's identity in the store. */
static int store_devices(struct live *l, struct wl_err *e)
{
    const struct wl_sensors *s = l->sensors;
    char host[256] = "unknown";
    gethostname(host, sizeof host - 1);
    int rc = 0;
    for (size_t i = 0; i < s->n_devices && rc == 0; i++) {
        const struct wl_device *d = &s->devices[i];
        struct wl_json *info = wl_json_root_object(l->a);
        if (d->bus_id) wl_json_add_str(info, "bus_id", d->bus_id);
        struct wl_device_row row = { .host = host,
                                     .uuid = d->uuid,
                                     .sensor = d->sensor,
                                     .number = d->index,
                                     .name = d->name,
                                     .info = d->bus_id ? wl_json_text(info, 0, l->a) : NULL };
        rc = wl_store_device(l->store, &row, &l->device_ids[i], e);
    }
    for (size_t i = 0; i < s->n_channels && rc == 0; i++) {
        const struct wl_channel *c = &s->channels[i];
        struct wl_channel_row row = { .run = l->run,
                                      .device = l->device_ids[c->device],
                                      .quantity = wl_quantity_name(c->quantity),
                                      .unit = wl_quantity_unit(c->quantity),
                                      .scope = wl_scope_name(c->scope),
                                      .variant = wl_variant_name(c->variant),
                                      .counter = wl_quantity_counts(c->quantity),
                                      .estimated = c->estimated,
                                      .simulated = c->simulated };
        rc = wl_store_channel(l->store, &row, &l->channel_ids[i], e);
    }
    return rc;
}

static struct wl_anchor anchor_at(int64_t mono_ns)
{
    struct wl_anchor now = wl_anchor_now();
    return (struct wl_anchor) { .mono_ns = mono_ns, .wall_ns = now.wall_ns - (now.mono_ns - mono_ns) };
}

/* The run begins in the store right behind the start of its command, so that its start is the command's. A wattlaw
 * that dies in between leaves a run that is still planned and a job that its guard ends. */
static int store_begin(struct live *l, struct wl_err *e)
{
    struct wl_run_begin begin = { .folder = l->how->stored_dir,
                                  .command = wl_shell_quote(l->a, l->how->argv),
                                  .version = WL_VERSION,
                                  .at = anchor_at(l->out->start_ns) };
    int rc = wl_store_run_begin(l->store, l->run, &begin, e);
    if (rc == 0) rc = wl_store_begin(l->store, e);
    if (rc == 0) rc = store_devices(l, e);
    if (rc == 0) rc = wl_store_commit(l->store, e);
    if (rc < 0) wl_store_rollback(l->store);
    return rc;
}

/* ---- while it runs ---- */

static void on_signals(struct live *l)
{
    bool from_terminal;
    for (int sig; (sig = wl_signals_next(l->how->signals, &from_terminal));) {
        bool again = l->stop_signal != 0;
        if (!again) l->stop_signal = sig;
        if (!l->how->pass_through)
            wl_job_stop(l->job, again);
        else if (!from_terminal) /* what the terminal sent, the command has had already */
            wl_job_signal(l->job, sig);
    }
}

static double elapsed_s(const struct live *l) { return (double)(wl_now_ns() - l->out->start_ns) / WL_NS_PER_S; }

static void check_timeout(struct live *l)
{
    if (l->timed_out || l->how->timeout_s <= 0 || elapsed_s(l) < l->how->timeout_s) return;
    l->timed_out = true;
    wl_job_stop(l->job, false);
}

/* Milliseconds until something is due. */
static int patience_ms(const struct live *l)
{
    int ms = l->how->tick ? TICK_MS : IDLE_MS;
    if (l->how->timeout_s > 0 && !l->timed_out) {
        double left_ms = (l->how->timeout_s - elapsed_s(l)) * 1e3 + 1;
        if (left_ms < ms) ms = left_ms > 0 ? (int)left_ms : 0;
    }
    return ms;
}

static void watch(struct live *l)
{
    for (bool done = false; !done;) {
        struct pollfd fds[4] = { { .fd = wl_job_fd(l->job), .events = POLLIN },
                                 { .fd = l->how->signals ? wl_signals_fd(l->how->signals) : -1, .events = POLLIN } };
        for (size_t i = 0; i < l->n_pumps; i++) fds[2 + i] = wl_pump_waits_for(l->pumps[i]);
        if (poll(fds, (nfds_t)(2 + l->n_pumps), patience_ms(l)) > 0) {
            if (fds[1].revents) on_signals(l);
            for (size_t i = 0; i < l->n_pumps; i++)
                if (fds[2 + i].revents) wl_pump_move(l->pumps[i]);
            done = fds[0].revents != 0;
        }
        check_timeout(l);
        if (wl_now_ns() - l->flushed_ns >= FLUSH_NS) flush(l, false);
        if (l->caps) wl_caps_tend(l->caps);
        if (l->how->tick) l->how->tick(l->how->ctx, elapsed_s(l));
    }
}

/* ---- the end ---- */

static const char *failure(const struct live *l, const struct wl_job_exit *x)
{
    if (l->timed_out) return wl_strf(l->a, "took longer than %g s and was stopped", l->how->timeout_s);
    if (x->exit.signal) return wl_strf(l->a, "ended by signal %d (%s)", x->exit.signal, strsignal(x->exit.signal));
    return wl_strf(l->a, "exit status %d", x->exit.status);
}

static bool is_stop(int sig) { return sig == SIGINT || sig == SIGTERM || sig == SIGHUP || sig == SIGQUIT; }

static void judge(struct live *l, const struct wl_job_exit *x)
{
    struct wl_run_result *out = l->out;
    out->exit = x->exit;
    out->status = WL_RUN_DONE;
    if (l->timed_out || x->exit.status != 0) {
        out->status = WL_RUN_FAILED;
        out->error = failure(l, x);
    }
    /* a job that makes a clean end when it is stopped has not done its work */
    if (is_stop(l->stop_signal) && (x->exit.status != 0 || !l->how->pass_through)) {
        out->status = WL_RUN_INTERRUPTED;
        out->error = wl_strf(l->a, "stopped by the user (signal %d, %s)", l->stop_signal, strsignal(l->stop_signal));
    }
    if (x->leftovers)
        wl_log(WL_WARN, "campaign", "%d process%s outlived the command and %s ended", x->leftovers,
               x->leftovers > 1 ? "es" : "", x->leftovers > 1 ? "were" : "was");
}

/* What the kernel has accounted to this process since cpu0; its children, guard and job, are not in it. */
static double own_cpu_s(const struct live *l) { return (double)(wl_process_cpu_ns() - l->cpu0_ns) / WL_NS_PER_S; }

static void store_note(struct live *l, const char *level, const char *text)
{
    struct wl_err e;
    if (!l->store_rc) store_failed(l, wl_store_log(l->store, l->run, level, "cap", text, &e), &e);
}

/* Read back, put back, and both told in the run's log. */
static void end_caps(struct live *l)
{
    struct wl_err e;
    struct wl_run_result *out = l->out;
    if (!l->caps) return;
    out->flag = wl_caps_check(l->caps);
    out->caps = wl_caps_settings(l->caps, &out->n_caps);
    int rc = wl_caps_release(l->caps, &e);
    for (size_t i = 0; i < out->n_caps; i++) store_note(l, "info", wl_cap_describe(&out->caps[i], l->a));
    if (out->flag) wl_log(WL_WARN, "cap", "%s: the run is flagged", out->flag);
    if (rc == 0) return;
    wl_log(WL_ERROR, "cap", "%s", e.msg);
    store_note(l, "error", e.msg);
}

static void note_achieved(struct live *l)
{
    struct wl_run_result *out = l->out;
    out->achieved = wl_new_array(l->a, const char *, out->n_caps);
    for (size_t i = 0; i < out->n_caps; i++) {
        out->achieved[i] = wl_cap_achieved(out, &out->caps[i], l->a);
        if (out->achieved[i]) store_note(l, "info", out->achieved[i]);
    }
}

static int store_end(struct live *l, struct wl_err *e)
{
    struct wl_run_result *out = l->out;
    const struct wl_sampler_stats *s = &out->sampling;
    int rc =
        wl_derive(l->store, l->run, out->start_ns, out->end_ns, s->period_s, &out->derived, &out->scope_label, l->a, e);
    if (rc < 0) return rc;
    note_achieved(l);
    out->derived.actual.hardware = wl_hardware_name(l->sensors, l->a);
    struct wl_run_end end = wl_run_end_none;
    end.status = out->status;
    if (out->exit.signal)
        end.signal = out->exit.signal;
    else if (!out->not_started)
        end.exit_status = out->exit.status;
    end.error = out->error;
    end.flag = out->flag;
    end.log_tail = l->log_path && out->status != WL_RUN_DONE ? wl_file_tail(l->log_path, LOG_TAIL_BYTES, l->a) : NULL;
    end.at = anchor_at(out->end_ns);
    end.sampling_asked_s = s->period_s;
    end.sampling_period_s = s->achieved_period_s;
    end.ticks = (double)s->ticks;
    end.ticks_skipped = (double)s->skipped;
    end.samples_lost = (double)s->lost;
    end.own_cpu_s = out->own_cpu_s = own_cpu_s(l);
    return wl_store_run_end(l->store, l->run, &end, &out->derived, e);
}

/* The command has ended, or could not be started. */
static int finish(struct live *l, const struct wl_job_exit *x, struct wl_err *e)
{
    wl_sampler_stop(l->sampler);
    for (size_t i = 0; i < l->n_pumps; i++) wl_pump_finish(l->pumps[i]);
    if (l->regex) wl_mark_regex_end(l->regex, x->t_ns, x->exit.status == 0 && !l->out->not_started);
    l->out->end_ns = x->t_ns;
    end_caps(l);
    flush(l, true);
    wl_sampler_stats(l->sampler, &l->out->sampling);
    l->out->sensors = l->sensors;
    l->out->device_ids = l->device_ids;
    l->out->channel_ids = l->channel_ids;
    if (!l->store_rc) store_failed(l, store_end(l, e), e);
    if (l->store_rc) return wl_fail(e, l->store_rc, "%s", l->store_err.msg);
    return 0;
}

static int not_started(struct live *l, int code, struct wl_err *e)
{
    struct wl_run_result *out = l->out;
    out->not_started = code;
    out->status = WL_RUN_FAILED;
    out->error = wl_strdup(l->a, e->msg);
    out->start_ns = wl_now_ns();
    int rc = store_begin(l, e);
    return rc < 0 ? rc : finish(l, &(struct wl_job_exit) { .t_ns = wl_now_ns() }, e);
}

int wl_run_measured(struct wl_store *s, int64_t run, const struct wl_run_how *how, struct wl_run_result *out,
                    struct wl_arena *a, struct wl_err *e)
{
    *out = (struct wl_run_result) { 0 };
    struct live *l = wl_new(a, struct live);
    *l = (struct live) { .store = s, .run = run, .how = how, .out = out, .a = a, .log_fd = -1 };
    l->cpu0_ns = wl_process_cpu_ns();
    wl_defer(a, close_log, l);
    int rc = open_files(l, e);
    if (rc == 0) rc = open_pumps(l, e);
    if (rc == 0) rc = prepare_job(l, e);
    struct wl_err why;
    int caps_rc = rc == 0 ? set_caps(l, &why) : 0;
    if (caps_rc < 0 && how->pass_through) return wl_fail(e, caps_rc, "%s", why.msg); /* nothing has begun */
    if (rc == 0) rc = start_sampler(l, e); /* behind the caps: its first readings are of a machine that has them */
    if (rc < 0) return rc;
    if (caps_rc < 0) return not_started(l, wl_fail(e, caps_rc, "%s", why.msg), e);
    rc = wl_job_go(l->job, &out->start_ns, e);
    if (rc < 0) return not_started(l, rc, e);
    if (l->regex) wl_mark_regex_start(l->regex, out->start_ns);
    rc = store_begin(l, e);
    if (rc < 0 && !how->pass_through) return rc; /* the arena ends the job */
    store_failed(l, rc, e);
    l->flushed_ns = wl_now_ns();
    watch(l);
    struct wl_job_exit x = { 0 };
    rc = wl_job_end(l->job, &x, e);
    if (rc < 0) { /* the guard was killed: how the command ended is not known */
        out->status = WL_RUN_FAILED;
        out->error = wl_strdup(a, e->msg);
        wl_leftovers_end(&(struct wl_strs) { .v = (char *[]) { (char *)how->dir }, .n = 1 }, how->grace_s);
        x = (struct wl_job_exit) { .t_ns = wl_now_ns(), .exit = { .status = 128 + SIGKILL, .signal = SIGKILL } };
        return finish(l, &x, e);
    }
    judge(l, &x);
    return finish(l, &x, e);
}

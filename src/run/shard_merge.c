/* The shards of a run's nodes become one run. Each node's wattlaw has written its own store, with times on its own
 * clock; here all readings and marks are moved to the clock of one node. docs/adr/063 */
#include "run/internal.h"

#include <math.h>

/* What a node measured. */
struct shard {
    const char *path;
    struct wl_store *store;
    struct wl_run_row run;
    struct wl_device_rows devices;
    struct wl_channel_rows channels;
    struct wl_mark_rows marks;
    struct wl_cap_rows caps;
    struct wl_node_row node; /* its anchors, and the shift of its times to the clock of the first node */
};

struct merge {
    struct wl_store *to;
    struct wl_arena *a;
    struct shard *v; /* the one with rank 0 first */
    size_t n;
    int64_t begin_ns, end_ns;
    const char *apart;              /* why the clocks of the nodes seem to differ; NULL: they do not */
    struct wl_shard_merge_job *job; /* NULL: the run is a new one */
};

/* ---- reading ---- */

/* The anchors of the shard's own node. */
static int read_node(struct shard *s, struct wl_arena *a, struct wl_err *e)
{
    struct wl_node_rows nodes;
    int rc = wl_store_nodes(s->store, s->run.id, &nodes, a, e);
    if (rc < 0) return rc;
    if (nodes.n != 1)
        return wl_fail(e, WL_EINVAL, "%s: not a shard: its run was measured on %zu nodes, expected 1", s->path,
                       nodes.n);
    s->node = nodes.v[0];
    s->node.first = false;
    if (wl_anchor_is_plausible(&s->node.start) && wl_anchor_is_plausible(&s->node.stop)) return 0;
    return wl_fail(e, WL_EINVAL, "%s: not a shard: the times of its node are out of range", s->path);
}

static int open_shard(struct shard *s, const char *path, struct wl_arena *a, struct wl_err *e)
{
    struct wl_run_rows runs;
    *s = (struct shard) { .path = path };
    int rc = wl_store_open(&s->store, path, WL_STORE_READ, a, e);
    if (rc == 0) rc = wl_store_runs(s->store, &(struct wl_run_filter) { 0 }, &runs, a, e);
    if (rc < 0) return rc;
    if (runs.n == 0) return wl_fail(e, WL_EINVAL, "%s: has no run", path);
    s->run = runs.v[runs.n - 1]; /* the newest, if a shard was used repeatedly */
    if (s->run.status == WL_RUN_PLANNED || s->run.status == WL_RUN_RUNNING || s->run.stop.mono_ns == WL_NO_NS)
        return wl_fail(e, WL_EINVAL, "%s: its run is %s: a shard can be merged once its node has closed it", path,
                       wl_run_status_names[s->run.status]);
    rc = wl_store_devices(s->store, s->run.id, &s->devices, a, e);
    if (rc == 0) rc = wl_store_channels(s->store, s->run.id, &s->channels, a, e);
    if (rc == 0) rc = wl_store_read_marks(s->store, s->run.id, &s->marks, a, e);
    if (rc == 0) rc = wl_store_caps(s->store, s->run.id, &s->caps, a, e);
    return rc ? rc : read_node(s, a, e);
}

static bool has_rank_0(const struct shard *s)
{
    for (size_t i = 0; i < s->marks.n; i++)
        if (s->marks.v[i].rank == 0) return true;
    return false;
}

/* The same boot of the same host is one node, whatever the names of its files. */
static int check_distinct_nodes(const struct merge *m, struct wl_err *e)
{
    for (size_t i = 0; i < m->n; i++)
        for (size_t k = 0; k < i; k++)
            if (wl_str_eq(m->v[i].run.boot_id, m->v[k].run.boot_id) && wl_str_eq(m->v[i].run.host, m->v[k].run.host))
                return wl_fail(e, WL_EINVAL, "%s and %s are from the same node, %s", m->v[k].path, m->v[i].path,
                               m->v[i].run.host);
    return 0;
}

static int open_shards(struct merge *m, const struct wl_strs *paths, struct wl_err *e)
{
    int rc = 0;
    m->v = wl_new_array(m->a, struct shard, paths->n);
    for (size_t i = 0; i < paths->n && rc == 0; i++) rc = open_shard(&m->v[m->n++], paths->v[i], m->a, e);
    for (size_t i = 1; i < m->n && rc == 0; i++)
        if (has_rank_0(&m->v[i]) && !has_rank_0(&m->v[0])) {
            struct shard first = m->v[0];
            m->v[0] = m->v[i];
            m->v[i] = first;
        }
    return rc ? rc : check_distinct_nodes(m, e);
}

/* ---- clocks ---- */

static int64_t offset_ns(const struct wl_anchor *at) { return at->wall_ns - at->mono_ns; }

/* Monotonic clocks are related through the wall clocks; nodes with one boot id share theirs. */
static void relate_clocks(struct wl_node_row *node, const struct wl_node_row *first)
{
    if (wl_str_eq(node->boot_id, first->boot_id)) return;
    int64_t at_start = offset_ns(&node->start) - offset_ns(&first->start);
    int64_t at_stop = offset_ns(&node->stop) - offset_ns(&first->stop);
    node->shift_ns = at_start / 2 + at_stop / 2;
    node->drift_s = ((double)at_stop - (double)at_start) / WL_NS_PER_S;
}

/* The ranks of a job begin together and end together. A node that was late for both, and by the same time, has another
 * wall clock: that its readings were shifted by this much would show nowhere. */
static void check_clock(struct merge *m, const struct shard *s)
{
    static const double LATE_S = 5, SAME_S = 1;
    const struct wl_node_row *first = &m->v[0].node, *node = &s->node;
    const double begin_s = (double)(node->start.mono_ns + node->shift_ns - first->start.mono_ns) / WL_NS_PER_S;
    const double end_s = (double)(node->stop.mono_ns + node->shift_ns - first->stop.mono_ns) / WL_NS_PER_S;
    if (m->apart || fabs(begin_s) < LATE_S || fabs(begin_s - end_s) > SAME_S) return;
    m->apart = wl_strf(m->a, "%s began and ended %.1f s %s %s by their clocks, which seem to differ (is NTP running?)",
                       node->host, fabs(begin_s), begin_s > 0 ? "after" : "before", first->host);
}

/* From the start of the last node to the end of the first one all of them measure. */
static int find_window(struct merge *m, struct wl_err *e)
{
    m->begin_ns = INT64_MIN;
    m->end_ns = INT64_MAX;
    for (size_t i = 0; i < m->n; i++) {
        struct wl_node_row *node = &m->v[i].node;
        relate_clocks(node, &m->v[0].node);
        int64_t begin = node->start.mono_ns + node->shift_ns, end = node->stop.mono_ns + node->shift_ns;
        if (begin > m->begin_ns) m->begin_ns = begin;
        if (end < m->end_ns) m->end_ns = end;
        check_clock(m, &m->v[i]);
    }
    if (m->begin_ns < m->end_ns) return 0;
    return wl_fail(
        e, WL_EINVAL,
        "the shards are not from one run, or the clocks of the nodes differ (is NTP running on all of them?): by "
        "their clocks, one node ended %.3f s before another began",
        (double)(m->begin_ns - m->end_ns) / WL_NS_PER_S);
}

/* ---- writing ---- */

/* A device that two nodes with one boot id have measured is copied once. */
static bool seen_before(const struct merge *m, const struct shard *s, const struct wl_device_row *d)
{
    for (const struct shard *t = m->v; t < s; t++)
        for (size_t i = 0; wl_str_eq(t->run.boot_id, s->run.boot_id) && i < t->devices.n; i++)
            if (wl_str_eq(t->devices.v[i].uuid, d->uuid) && wl_str_starts(d->uuid, "GPU-")) return true;
    return false;
}

static int copy_shard(struct merge *m, const struct shard *s, int64_t run, struct wl_err *e)
{
    struct wl_channel_rows channels = { .v = wl_new_array(m->a, struct wl_channel_row, s->channels.n) };
    for (size_t i = 0; i < s->channels.n; i++) {
        const struct wl_device_row *device = wl_run_copy_device(&s->devices, s->channels.v[i].device);
        if (device && !seen_before(m, s, device)) channels.v[channels.n++] = s->channels.v[i];
    }
    const struct wl_run_copy copy = { .from = s->store,
                                      .from_run = s->run.id,
                                      .to = m->to,
                                      .to_run = run,
                                      .devices = &s->devices,
                                      .channels = &channels,
                                      .shift_ns = s->node.shift_ns,
                                      .log_prefix = wl_strf(m->a, "%s: ", s->run.host) };
    return wl_run_copy_facts(&copy, m->a, e);
}

static int plan_run(const struct merge *m, int64_t *run, struct wl_err *e)
{
    struct wl_settings set = wl_settings_none;
    for (const struct wl_setting *r = wl_settings_table; r->name; r++)
        if (r->is_cap) wl_setting_set_real(r, &set, wl_setting_real(r, &m->v[0].run.set));
    return wl_run_plan(m->to, "measure", &set, run, e);
}

static struct wl_anchor anchor_at(const struct shard *first, int64_t mono_ns)
{
    return (struct wl_anchor) { .mono_ns = mono_ns, .wall_ns = mono_ns + offset_ns(&first->node.start) };
}

static void add_nodes(const struct merge *m, struct wl_run_end *end)
{
    size_t n_caps = 0;
    for (size_t i = 0; i < m->n; i++) n_caps += m->v[i].caps.n;
    struct wl_node_row *nodes = wl_new_array(m->a, struct wl_node_row, m->n);
    struct wl_cap_row *caps = wl_new_array(m->a, struct wl_cap_row, n_caps);
    for (size_t i = 0; i < m->n; i++) {
        const struct shard *s = &m->v[i];
        nodes[end->n_nodes] = s->node;
        nodes[end->n_nodes++].first = i == 0;
        for (size_t k = 0; k < s->caps.n; k++) caps[end->n_caps++] = s->caps.v[k];
    }
    end->nodes = nodes;
    end->caps = caps;
}

/* The longest wait and the highest temperature of all nodes. */
static void add_cooldown(struct wl_cooldown *to, const struct wl_run_row *r, struct wl_arena *a)
{
    bool missing = !isnan(r->cooldown.asked_c) && isnan(r->cooldown.begin_c);
    bool missed = !isnan(to->asked_c) && isnan(to->begin_c);
    to->begin_c = missing || missed ? NAN : fmax(to->begin_c, r->cooldown.begin_c);
    to->asked_c = fmax(to->asked_c, r->cooldown.asked_c);
    to->waited_s = fmax(to->waited_s, r->cooldown.waited_s);
    if (!to->why && r->cooldown.why) to->why = wl_strf(a, "%s: %s", r->host, r->cooldown.why);
}

/* Of sampling the worst node counts, of failures the first. */
static struct wl_run_end combined_end(const struct merge *m)
{
    struct wl_run_end end = wl_run_end_none;
    end.at = anchor_at(&m->v[0], m->end_ns);
    end.exit_status = m->v[0].run.exit_status;
    end.sampler_cpu = m->v[0].run.sampler_cpu;
    end.ticks = end.ticks_skipped = end.samples_lost = end.own_cpu_s = 0;
    for (size_t i = 0; i < m->n; i++) {
        const struct wl_run_row *r = &m->v[i].run;
        if (end.status == WL_RUN_DONE && r->status != WL_RUN_DONE) {
            end.status = r->status;
            end.error = wl_strf(m->a, "%s: %s", r->host, r->error ? r->error : "failed");
            end.exit_status = r->exit_status;
            end.signal = r->signal;
        }
        if (!end.flag && r->flag) end.flag = wl_strf(m->a, "%s: %s", r->host, r->flag);
        end.sampling_asked_s = fmax(end.sampling_asked_s, r->sampling_asked_s);
        end.sampling_period_s = fmax(end.sampling_period_s, r->sampling_period_s);
        end.ticks += r->ticks;
        end.ticks_skipped += r->ticks_skipped;
        end.samples_lost += r->samples_lost;
        end.own_cpu_s += r->own_cpu_s;
        end.other_run = fmax(end.other_run, r->other_run); /* seen on one of them */
        if (!end.flag) end.flag = m->apart;
        if (r->sampler_cpu != end.sampler_cpu) end.sampler_cpu = NAN;
        add_cooldown(&end.cooldown, r, m->a);
    }
    add_nodes(m, &end);
    return end;
}

/* The result of the job's launcher counts before those of the nodes. */
static void apply_job_result(const struct merge *m, struct wl_run_end *end)
{
    struct wl_shard_merge_job *job = m->job;
    if (job->status != WL_RUN_DONE) {
        end->status = job->status;
        end->error = job->error;
    }
    end->log_tail = job->log_tail;
    end->slurm = job->slurm;
    job->status = end->status;
    job->error = end->error;
    job->flag = end->flag;
}

static int write_run(struct merge *m, int64_t *run, struct wl_err *e)
{
    const struct wl_run_row *first = &m->v[0].run;
    struct wl_run_begin begin = { .host = first->host,
                                  .boot_id = first->boot_id,
                                  .folder = first->folder,
                                  .command = first->command,
                                  .version = first->version,
                                  .training = first->training,
                                  .stop_at = first->stop_at,
                                  .slurm = first->slurm_job,
                                  .at = anchor_at(&m->v[0], m->begin_ns) };
    struct wl_run_end end = combined_end(m);
    struct wl_derived derived;
    int rc = m->job ? 0 : plan_run(m, run, e);
    if (rc == 0 && !m->job) rc = wl_store_run_begin(m->to, *run, &begin, e);
    if (m->job) apply_job_result(m, &end);
    if (m->job) end.began = &begin;
    for (size_t i = 0; i < m->n && rc == 0; i++) rc = copy_shard(m, &m->v[i], *run, e);
    struct wl_derive_opts opts = {
        m->begin_ns, m->end_ns, end.sampling_asked_s, NAN, end.own_cpu_s, end.other_run, NULL
    };
    if (rc == 0) rc = wl_derive(m->to, *run, &opts, &derived, NULL, m->a, e);
    if (rc < 0) return rc;
    derived.actual.hardware = first->set.hardware;
    derived.actual.nodes = (double)m->n;
    if (!derived.actual.workload) derived.actual.workload = first->set.workload;
    if (m->job) m->job->derived = derived;
    return wl_store_run_end(m->to, *run, &end, &derived, e);
}

int wl_shard_merge(struct wl_store *to, const struct wl_strs *paths, struct wl_shard_merge_job *job, int64_t *run,
                   struct wl_arena *a, struct wl_err *e)
{
    struct merge *m = wl_new(a, struct merge);
    *m = (struct merge) { .to = to, .a = a, .job = job };
    int rc = open_shards(m, paths, e);
    if (rc == 0) rc = find_window(m, e);
    if (rc == 0) rc = wl_store_begin(to, e);
    if (rc == 0) {
        rc = write_run(m, run, e);
        if (rc == 0) rc = wl_store_commit(to, e);
        if (rc < 0) wl_store_rollback(to);
    }
    for (size_t i = 0; i < m->n; i++) wl_store_close(m->v[i].store);
    return rc;
}

/* A job of a batch system has measured itself in a store of its own; its run becomes one of the campaign's.
 * docs/adr/158 */
#include "run/internal.h"

/* What the shard says of its run. */
struct contents {
    struct wl_device_rows devices;
    struct wl_channel_rows channels;
    struct wl_node_rows nodes;
    struct wl_cap_rows caps;
    struct wl_placement_rows placement;
};

static int read_contents(const struct wl_shard_take *t, struct contents *c, struct wl_arena *a, struct wl_err *e)
{
    int rc = wl_store_devices(t->from, t->row->id, &c->devices, a, e);
    if (rc == 0) rc = wl_store_channels(t->from, t->row->id, &c->channels, a, e);
    if (rc == 0) rc = wl_store_nodes(t->from, t->row->id, &c->nodes, a, e);
    if (rc == 0) rc = wl_store_caps(t->from, t->row->id, &c->caps, a, e);
    return rc ? rc : wl_store_placements(t->from, t->row->id, &c->placement, a, e);
}

static struct wl_run_end end_of(const struct wl_shard_take *t, const struct contents *c)
{
    const struct wl_run_row *r = t->row;
    return (struct wl_run_end) { .status = t->status,
                                 .exit_status = r->exit_status,
                                 .signal = r->signal,
                                 .error = t->error,
                                 .log_tail = r->log_tail,
                                 .flag = r->flag,
                                 .at = r->stop,
                                 .sampling_asked_s = r->sampling_asked_s,
                                 .sampling_period_s = r->sampling_period_s,
                                 .ticks = r->ticks,
                                 .ticks_skipped = r->ticks_skipped,
                                 .samples_lost = r->samples_lost,
                                 .own_cpu_s = r->own_cpu_s,
                                 .sampler_cpu = r->sampler_cpu,
                                 .other_run = r->other_run,
                                 .cooldown = r->cooldown,
                                 .slurm = r->slurm,
                                 .idle_s = r->idle_s,
                                 .nodes = c->nodes.v,
                                 .n_nodes = c->nodes.n,
                                 .caps = c->caps.v,
                                 .n_caps = c->caps.n };
}

static struct wl_run_begin begin_of(const struct wl_run_row *r)
{
    return (struct wl_run_begin) { .host = r->host,
                                   .boot_id = r->boot_id,
                                   .folder = r->folder,
                                   .command = r->command,
                                   .version = r->version,
                                   .training = r->training,
                                   .stop_at = r->stop_at,
                                   .slurm = r->slurm_job,
                                   .at = r->start };
}

static int derive(struct wl_store *to, int64_t run, const struct wl_shard_take *take, struct wl_run_result *out,
                  struct wl_arena *a, struct wl_err *e)
{
    const struct wl_run_row *r = take->row;
    const struct wl_derive_opts opts = { .start_ns = r->start.mono_ns,
                                         .end_ns = r->stop.mono_ns,
                                         .period_s = r->sampling_asked_s,
                                         .idle_s = r->idle_s,
                                         .own_cpu_s = r->own_cpu_s,
                                         .other_run = r->other_run };
    return wl_derive(to, run, &opts, &out->derived, &out->scope_label, a, e);
}

/* A run that was killed has no end: its readings and marks are kept, as after any crash, and nothing is derived. */
int wl_shard_take_run(struct wl_store *to, int64_t run, const struct wl_shard_take *take, struct wl_run_result *out,
                      struct wl_arena *a, struct wl_err *e)
{
    const struct wl_run_row *r = take->row;
    struct contents c;
    const struct wl_run_begin begin = begin_of(r);
    *out = (struct wl_run_result) { .status = take->status,
                                    .log_tail = take->row->log_tail,
                                    .error = take->error,
                                    .run = run,
                                    .store = wl_store_path(to),
                                    .start_ns = r->start.mono_ns,
                                    .end_ns = r->stop.mono_ns,
                                    .flag = r->flag,
                                    .cooldown = r->cooldown,
                                    .slurm = r->slurm,
                                    .derived.actual = wl_settings_none };
    int rc = read_contents(take, &c, a, e);
    if (rc == 0) rc = wl_store_run_begin(to, run, &begin, e);
    const struct wl_run_copy copy = { .from = take->from,
                                      .from_run = r->id,
                                      .to = to,
                                      .to_run = run,
                                      .devices = &c.devices,
                                      .channels = &c.channels,
                                      .log_prefix = "" };
    if (rc == 0) rc = wl_run_copy_facts(&copy, a, e);
    if (rc == 0 && c.placement.n) rc = wl_store_add_placement(to, run, c.placement.v, e);
    if (rc == 0 && r->stop.mono_ns != WL_NO_NS) rc = derive(to, run, take, out, a, e);
    if (rc < 0) return rc;
    out->derived.actual.hardware = r->set.hardware;
    if (c.nodes.n > 1) out->derived.actual.nodes = (double)c.nodes.n;
    if (!out->derived.actual.workload) out->derived.actual.workload = r->set.workload;
    const struct wl_run_end end = end_of(take, &c);
    return wl_store_run_end(to, run, &end, &out->derived, e);
}

int wl_shard_take_late(struct wl_store *to, int64_t run, const struct wl_shard_take *take, struct wl_arena *a,
                       struct wl_err *e)
{
    struct contents c;
    int rc = read_contents(take, &c, a, e);
    const struct wl_run_copy copy = { .from = take->from,
                                      .from_run = take->row->id,
                                      .to = to,
                                      .to_run = run,
                                      .devices = &c.devices,
                                      .channels = &c.channels,
                                      .log_prefix = "" };
    return rc ? rc : wl_run_copy_facts(&copy, a, e);
}

/* Runs. Inputs go up on gpu->copies while the run before computes; steps are enqueued on gpu->compute, by the plan, or
 * by the graph that was captured of them at the variant's second run: the first one sets up what libraries set up late.
 * Copies of gradients to the host go on gpu->reductions. Only end, wait, put and get wait. */
#include "nn/gpu/internal.h"

#include <string.h>

static CUdeviceptr on_device(const void *at) { return (CUdeviceptr)(uintptr_t)at; }

/* ---- begin ---- */

static int upload(void *device, const struct wl_device_io *io, struct wl_err *e)
{
    struct wl_gpu *g = device;
    const struct wl_staging *in = &io->input;
    int rc = wl_gpu_enter(g, e);
    if (rc) return rc;
    WL_CUDA_CALL(&g->cuda, StreamWaitEvent, g->copies, g->state->taken, 0);
    if (in->bytes) WL_CUDA_CALL(&g->cuda, MemcpyHtoDAsync, on_device(io->landing), in->host, in->bytes, g->copies);
    WL_CUDA_CALL(&g->cuda, EventRecord, g->state->uploaded[io->slot], g->copies);
    return 0;
}

static int wait_upload(void *device, int slot, struct wl_err *e)
{
    struct wl_gpu *g = device;
    int rc = wl_gpu_enter(g, e);
    if (rc) return rc;
    WL_CUDA_CALL(&g->cuda, EventSynchronize, g->state->uploaded[slot]);
    return 0;
}

static int take_inputs(struct wl_gpu *g, const struct wl_device_io *io, struct wl_err *e)
{
    WL_CUDA_CALL(&g->cuda, StreamWaitEvent, g->compute, g->state->uploaded[io->slot], 0);
    if (io->input.bytes)
        WL_CUDA_CALL(&g->cuda, MemcpyDtoDAsync, on_device(io->input.at), on_device(io->landing), io->input.bytes,
                     g->compute);
    WL_CUDA_CALL(&g->cuda, EventRecord, g->state->taken, g->compute);
    return 0;
}

/* Outside of what is captured, so that graphs need not know where inputs come from. */
static int begin(void *device, const struct wl_run *r, const struct wl_device_io *io, const struct wl_counts *counts,
                 struct wl_err *e)
{
    struct wl_gpu *g = device;
    struct wl_gpu_state *s = g->state;
    int rc = wl_gpu_enter(g, e);
    if (rc) return rc;
    *s->block = (struct wl_gpu_block) {
        .run = { .update = r->update, .first_sample = r->first_sample, .loss_scale = r->loss_scale },
        .counts = { .loss_sum = counts->loss_sum,
                    .samples = counts->samples,
                    .top1 = counts->top1,
                    .top5 = counts->top5 },
    };
    s->running = true;
    s->training = r->training;
    s->first = r->first;
    s->n_laps = 0;
    WL_CUDA_CALL(&g->cuda, MemcpyHtoDAsync, s->block_at, s->block, sizeof *s->block, g->compute);
    rc = take_inputs(g, io, e);
    return rc || s->copies_current ? rc : wl_gpu_copy_parameters(g, e);
}

/* ---- run ---- */

/* What goes on on other streams comes before the end of the run. */
static int join(struct wl_gpu *g, struct wl_err *e)
{
    struct wl_gpu_state *s = g->state;
    if (!s->forked_off) return 0;
    s->forked_off = false;
    WL_CUDA_CALL(&g->cuda, EventRecord, s->joined, g->reductions);
    WL_CUDA_CALL(&g->cuda, StreamWaitEvent, g->compute, s->joined, 0);
    return 0;
}

static int enqueue(struct wl_gpu *g, wl_enqueue_fn *all, void *of, struct wl_err *e)
{
    int rc = all(of, e);
    const int joined = join(g, rc ? NULL : e);
    return rc ? rc : joined;
}

static int instantiate(struct wl_gpu *g, CUgraph graph, CUgraphExec *out, struct wl_err *e)
{
    const CUresult rc = g->cuda.GraphInstantiateWithFlags(out, graph, 0);
    g->cuda.GraphDestroy(graph);
    return rc ? wl_cuda_fail(&g->cuda, "GraphInstantiateWithFlags", rc, e) : 0;
}

/* The capture is ended where a step fails too. */
static int capture(struct wl_gpu *g, CUgraphExec *out, wl_enqueue_fn *all, void *of, struct wl_err *e)
{
    CUgraph graph = NULL;
    WL_CUDA_CALL(&g->cuda, StreamBeginCapture, g->compute, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    g->state->capturing = true;
    int rc = enqueue(g, all, of, e);
    g->state->capturing = false;
    const CUresult cu = g->cuda.StreamEndCapture(g->compute, &graph);
    if (!rc && cu) rc = wl_cuda_fail(&g->cuda, "StreamEndCapture", cu, e);
    if (!rc) return instantiate(g, graph, out, e);
    if (graph) g->cuda.GraphDestroy(graph);
    return rc;
}

/* Laps are events, which a graph would not record: a plan that times its steps enqueues them each time. */
static int run(void *device, enum wl_variant v, wl_enqueue_fn *all, void *of, struct wl_err *e)
{
    struct wl_gpu *g = device;
    struct wl_gpu_state *s = g->state;
    struct wl_gpu_variant *variant = &s->variants[v];
    int rc = 0;
    if (variant->runs == 0 || s->made_laps) {
        rc = enqueue(g, all, of, e);
        if (!rc) variant->runs++;
        return rc;
    }
    if (!variant->graph) rc = capture(g, &variant->graph, all, of, e);
    if (rc) return rc;
    WL_CUDA_CALL(&g->cuda, GraphLaunch, variant->graph, g->compute);
    return 0;
}

/* The device's own `first` and `training`; what changes from run to run is in g->run. */
static int step(void *device, const struct wl_step *s, struct wl_err *e)
{
    const struct wl_gpu *g = device;
    const struct wl_run r = {
        .training = g->state->training, .first = g->state->first, .update = -1, .first_sample = -1
    };
    return s->run(s, &r, e);
}

/* ---- copies of gradients ---- */

static struct wl_gpu_fetch *fetch_of(struct wl_gpu *g, size_t event)
{
    struct wl_gpu_state *s = g->state;
    while (s->n_fetches <= event) {
        WL_GROW(g->arena, s->fetches, s->n_fetches, s->cap_fetches);
        s->fetches[s->n_fetches++] = (struct wl_gpu_fetch) { 0 };
    }
    return &s->fetches[event];
}

/* Memory that graphs may copy to: the caller's, or ours where that is not page-locked. Made at a variant's first run.
 */
static int place_fetch(struct wl_gpu *g, struct wl_gpu_fetch *f, void *to, size_t bytes, struct wl_err *e)
{
    f->to = f->at = to;
    f->bytes = bytes;
    if (!f->done) WL_CUDA_CALL(&g->cuda, EventCreate, &f->done, CU_EVENT_DISABLE_TIMING);
    if (wl_gpu_page_locked(g, to, bytes)) return 0;
    if (f->room < bytes) {
        int rc = wl_gpu_host_memory(g, bytes, "a bucket of gradients", &f->own, e);
        if (rc) return rc;
        f->room = bytes;
    }
    f->at = f->own;
    return 0;
}

static int record_done(struct wl_gpu *g, CUevent e_done, struct wl_err *e)
{
    if (g->state->capturing)
        WL_CUDA_CALL(&g->cuda, EventRecordWithFlags, e_done, g->reductions, CU_EVENT_RECORD_EXTERNAL);
    else
        WL_CUDA_CALL(&g->cuda, EventRecord, e_done, g->reductions);
    return 0;
}

static int fork_reductions(struct wl_gpu *g, struct wl_err *e)
{
    WL_CUDA_CALL(&g->cuda, EventRecord, g->state->forked, g->compute);
    WL_CUDA_CALL(&g->cuda, StreamWaitEvent, g->reductions, g->state->forked, 0);
    g->state->forked_off = true;
    return 0;
}

static int get_async(void *device, void *to, const void *from, size_t bytes, size_t event, struct wl_err *e)
{
    struct wl_gpu *g = device;
    struct wl_gpu_fetch *f = fetch_of(g, event);
    int rc = place_fetch(g, f, to, bytes, e);
    if (rc) return rc;
    rc = fork_reductions(g, e);
    if (rc) return rc;
    WL_CUDA_CALL(&g->cuda, MemcpyDtoHAsync, f->at, on_device(from), bytes, g->reductions);
    return record_done(g, f->done, e);
}

static int wait(void *device, size_t event, struct wl_err *e)
{
    struct wl_gpu *g = device;
    const struct wl_gpu_state *s = g->state;
    if (event >= s->n_fetches) return wl_fail(e, WL_EINVAL, "copy %zu is not part of the run", event);
    const struct wl_gpu_fetch *f = &s->fetches[event];
    WL_CUDA_CALL(&g->cuda, EventSynchronize, f->done);
    if (f->at != f->to) memcpy(f->to, f->at, f->bytes);
    return 0;
}

/* ---- sums over ranks ---- */

static int enter(void *device, struct wl_err *e) { return wl_gpu_enter(device, e); }

static void *sum_stream(void *device) { return ((struct wl_gpu *)device)->reductions; }

static int sum(void *device, wl_device_sum_fn *make, void *of, float *at, size_t n, struct wl_err *e)
{
    int rc = fork_reductions(device, e);
    return rc ? rc : make(of, at, n, e);
}

static int join_sums(void *device, struct wl_err *e) { return join(device, e); }

/* Of all variants: which of them hold sums need not be known. A graph that runs goes when it has ended. */
static void forget_graphs(void *device)
{
    struct wl_gpu *g = device;
    (void)!wl_gpu_enter(g, NULL); /* a GPU that has failed refuses; its graphs end all the same */
    for (int v = 0; v < WL_RUN_VARIANTS; v++) {
        if (g->state->variants[v].graph) g->cuda.GraphExecDestroy(g->state->variants[v].graph);
        g->state->variants[v].graph = NULL;
    }
}

/* ---- times ---- */

/* Where an event cannot be made or recorded the time is lost, and the run's own error says why. */
/* The processor does not compute meanwhile: there is no processor time to add. */
static void lap(void *device, struct wl_step_time *time)
{
    struct wl_gpu *g = device;
    struct wl_gpu_state *s = g->state;
    if (s->n_laps == s->made_laps) {
        WL_GROW(g->arena, s->laps, s->made_laps, s->cap_laps);
        s->laps[s->made_laps] = (struct wl_gpu_lap) { 0 };
        if (g->cuda.EventCreate(&s->laps[s->made_laps].at, CU_EVENT_DEFAULT)) return;
        s->made_laps++;
    }
    s->laps[s->n_laps].seconds = time ? &time->wall_s : NULL;
    if (!g->cuda.EventRecord(s->laps[s->n_laps].at, g->compute)) s->n_laps++;
}

static void add_laps(struct wl_gpu *g)
{
    const struct wl_gpu_state *s = g->state;
    for (size_t i = 1; i < s->n_laps; i++) {
        float ms = 0;
        if (!s->laps[i].seconds) continue;
        if (!g->cuda.EventElapsedTime(&ms, s->laps[i - 1].at, s->laps[i].at)) *s->laps[i].seconds += (double)ms / 1e3;
    }
}

/* ---- end ---- */

static int fail_step(const struct wl_gpu *g, struct wl_err *e)
{
    const struct wl_gpu_counts *c = &g->state->block->counts;
    const struct wl_program *p = g->state->program;
    const int32_t i = c->error_step;
    const char *name = i >= 0 && (size_t)i < p->n_steps ? p->steps[i]->node->name : "a step";
    if (c->error == WL_GPU_ZERO_TARGET) return wl_fail(e, WL_EINVAL, "%s (forward): a target is 0 everywhere", name);
    return wl_fail(e, WL_EINVAL, "%s: error %u", name, c->error);
}

static int end(void *device, const struct wl_device_io *io, struct wl_counts *counts, struct wl_err *e)
{
    struct wl_gpu *g = device;
    struct wl_gpu_state *s = g->state;
    s->running = false;
    WL_CUDA_CALL(&g->cuda, MemcpyDtoHAsync, s->block, s->block_at, sizeof *s->block, g->compute);
    if (!s->training && io->output.bytes)
        WL_CUDA_CALL(&g->cuda, MemcpyDtoHAsync, io->output.host, on_device(io->output.at), io->output.bytes,
                     g->compute);
    WL_CUDA_CALL(&g->cuda, StreamSynchronize, g->compute);
    add_laps(g);
    const struct wl_gpu_counts *c = &s->block->counts;
    if (c->error) return fail_step(g, e);
    *counts = (struct wl_counts) {
        .loss_sum = c->loss_sum, .samples = c->samples, .top1 = c->top1, .top5 = c->top5, .overflow = c->overflow
    };
    return 0;
}

/* ---- facts ---- */

static size_t huge_bytes(void *device, const void *at, size_t bytes)
{
    (void)device, (void)at, (void)bytes;
    return 0;
}

static int threads(void *device) { return ((const struct wl_gpu *)device)->state->threads; }

static const char *machine(void *device, const char *library, struct wl_arena *a)
{
    const struct wl_gpu *g = device;
    int version = 0;
    if (g->cuda.DriverGetVersion(&version)) version = 0;
    return wl_strf(a, "%s, driver of CUDA %d.%d, %s", g->name, version / 1000, version / 10 % 100, library);
}

const struct wl_device_ops wl_gpu_device = {
    .align = 256, /* what MemAlloc gives, and more than any library asks for */
    .host_addressable = false,
    .bucket_bytes = 32u << 20, /* NCCL's bandwidth is that of large sums */
    .memory = wl_gpu_memory,
    .host_memory = wl_gpu_host_memory,
    .release = wl_gpu_release,
    .available = wl_gpu_available,
    .huge_bytes = huge_bytes,
    .put = wl_gpu_put,
    .get = wl_gpu_get,
    .upload = upload,
    .wait_upload = wait_upload,
    .begin = begin,
    .run = run,
    .end = end,
    .step = step,
    .add = wl_gpu_add,
    .round = wl_gpu_round,
    .get_async = get_async,
    .wait = wait,
    .enter = enter,
    .sum_stream = sum_stream,
    .sum = sum,
    .join_sums = join_sums,
    .forget_sums = forget_graphs,
    .check_finite = wl_gpu_check_finite,
    .lap = lap,
    .sum_moments = wl_gpu_sum_moments,
    .update = wl_gpu_update,
    .update_statistics = wl_gpu_update_statistics,
    .threads = threads,
    .machine = machine,
    .peaks = wl_gpu_peaks,
};

/* ---- open ---- */

static void close_state(void *gpu)
{
    struct wl_gpu *g = gpu;
    struct wl_gpu_state *s = g->state;
    forget_graphs(g); /* the context is that of this thread then */
    while (s->n_allocations) wl_gpu_release(g, s->allocations[0].at, s->allocations[0].bytes);
    for (size_t i = 0; i < s->n_fetches; i++)
        if (s->fetches[i].done) g->cuda.EventDestroy(s->fetches[i].done);
    for (size_t i = 0; i < s->made_laps; i++) g->cuda.EventDestroy(s->laps[i].at);
    const CUevent events[] = { s->uploaded[0], s->uploaded[1], s->taken, s->forked, s->joined };
    for (size_t i = 0; i < WL_COUNT(events); i++)
        if (events[i]) g->cuda.EventDestroy(events[i]);
    const CUstream streams[] = { g->compute, g->copies, g->reductions };
    for (size_t i = 0; i < WL_COUNT(streams); i++)
        if (streams[i]) g->cuda.StreamDestroy(streams[i]);
}

static int make_streams(struct wl_gpu *g, struct wl_err *e)
{
    struct wl_gpu_state *s = g->state;
    CUstream *const streams[] = { &g->compute, &g->copies, &g->reductions };
    CUevent *const events[] = { &s->uploaded[0], &s->uploaded[1], &s->taken, &s->forked, &s->joined };
    for (size_t i = 0; i < WL_COUNT(streams); i++)
        WL_CUDA_CALL(&g->cuda, StreamCreate, streams[i], CU_STREAM_NON_BLOCKING);
    for (size_t i = 0; i < WL_COUNT(events); i++)
        WL_CUDA_CALL(&g->cuda, EventCreate, events[i], CU_EVENT_DISABLE_TIMING);
    return 0;
}

int wl_gpu_open_state(struct wl_gpu *g, struct wl_err *e)
{
    struct wl_gpu_state *s = g->state;
    void *at = NULL;
    wl_defer(g->arena, close_state, g);
    int rc = make_streams(g, e);
    if (!rc) rc = wl_gpu_memory(g, sizeof *s->block, "what changes from run to run", &at, e);
    if (!rc) rc = wl_gpu_host_memory(g, sizeof *s->block, "what changes from run to run", (void **)&s->block, e);
    if (rc) return rc;
    s->block_at = on_device(at);
    g->run = &((struct wl_gpu_block *)at)->run;
    g->counts = &((struct wl_gpu_block *)at)->counts;
    return wl_gpu_find_update_kernels(g, e);
}

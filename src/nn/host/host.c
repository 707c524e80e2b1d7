/* Host memory as a device: everything is done when a call returns, and inputs are used in place. */
#include "nn/host/host.h"

#include "nn/threads.h"

#include <math.h>
#include <string.h>

/* ---- memory ---- */

static int memory(void *device, size_t bytes, const char *what, void **at, struct wl_err *e)
{
    (void)device;
    return wl_host_map(bytes, what, at, e);
}

static void release(void *device, void *at, size_t bytes)
{
    (void)device;
    wl_host_unmap(at, bytes);
}

static size_t huge_bytes(void *device, const void *at, size_t bytes)
{
    (void)device;
    return wl_host_huge_bytes(at, bytes);
}

static int get(void *device, void *to, const void *from, size_t bytes, struct wl_err *e)
{
    (void)device, (void)e;
    memcpy(to, from, bytes);
    return 0;
}

static int put(void *device, void *to, const void *from, size_t bytes, struct wl_err *e)
{
    struct wl_host *h = device;
    h->copies_current = false; /* of parameters, if it is one */
    return get(device, to, from, bytes, e);
}

/* ---- a run ---- */

static int copy_staged(const struct wl_staging *s, bool up)
{
    if (s->host != s->at) memcpy(up ? s->at : s->host, up ? s->host : s->at, s->bytes);
    return 0;
}

static int begin(void *device, const struct wl_run *r, const struct wl_device_io *io, const struct wl_counts *counts,
                 struct wl_err *e)
{
    (void)e;
    struct wl_host *h = device;
    omp_set_num_threads(h->threads);
    h->run = *r;
    *io->counts = *counts;
    if (!h->copies_current) wl_host_write_copies(h);
    return copy_staged(&io->input, true);
}

static int run(void *device, enum wl_variant v, wl_enqueue_fn *all, void *of, struct wl_err *e)
{
    (void)device, (void)v;
    return all(of, e);
}

static int end(void *device, const struct wl_device_io *io, struct wl_counts *counts, struct wl_err *e)
{
    (void)e;
    const struct wl_host *h = device;
    *counts = *io->counts;
    return h->run.training ? 0 : copy_staged(&io->output, false);
}

static int step(void *device, const struct wl_step *s, struct wl_err *e)
{
    const struct wl_host *h = device;
    return s->run(s, &h->run, e);
}

static int add(void *device, float *restrict to, const float *restrict part, size_t n, struct wl_err *e)
{
    (void)device, (void)e;
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < n; i++) to[i] += part[i];
    return 0;
}

static int round_floats(void *device, float *v, size_t n, enum wl_dtype type, struct wl_err *e)
{
    (void)device, (void)e;
    const bool f16 = type == WL_F16;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        v[i] = f16 ? wl_f16_to_f32(wl_f32_to_f16(v[i])) : wl_bf16_to_f32(wl_f32_to_bf16(v[i]));
    return 0;
}

static int get_async(void *device, void *to, const void *from, size_t bytes, size_t event, struct wl_err *e)
{
    (void)event;
    return get(device, to, from, bytes, e);
}

static int wait(void *device, size_t event, struct wl_err *e)
{
    (void)device, (void)event, (void)e;
    return 0;
}

static int check_finite(void *device, const float *v, size_t n, const struct wl_device_io *io, struct wl_err *e)
{
    (void)device, (void)e;
    size_t bad = 0;
#pragma omp parallel for schedule(static) reduction(+ : bad)
    for (size_t i = 0; i < n; i++) bad += !isfinite(v[i]);
    if (bad) io->counts->overflow = true;
    return 0;
}

static void lap(void *device, struct wl_step_time *time)
{
    struct wl_host *h = device;
    const int64_t now_ns = wl_now_ns(), cpu_ns = wl_clock_process_cpu_ns();
    if (time) {
        time->wall_s += (double)(now_ns - h->lap_ns) / (double)WL_NS_PER_S;
        time->cpu_s += (double)(cpu_ns - h->lap_cpu_ns) / (double)WL_NS_PER_S;
    }
    h->lap_ns = now_ns;
    h->lap_cpu_ns = cpu_ns;
}

static int sum_moments(const struct wl_step *s, const struct wl_run *r, struct wl_err *e)
{
    (void)e;
    struct wl_channels ch = wl_channels_of(s->node->in[0]);
    double n = (double)ch.n * (double)ch.area;
    const float unbiased[2] = { 1, n > 1 ? (float)(n / (n - 1)) : 1 };
    for (int k = 0; k < 2; k++) {
        const float *batch = s->uses[k].buf->at;
        float *sum = s->uses[2 + k].buf->at;
        for (int64_t c = 0; c < ch.c; c++) sum[c] = (r->first ? 0 : sum[c]) + unbiased[k] * batch[c];
    }
    return 0;
}

/* ---- between runs ---- */

static int update(void *device, const struct wl_optim_ops *kind, const struct wl_optim *o,
                  const struct wl_optim_span *s, size_t n, double lr, struct wl_err *e)
{
    (void)e;
    struct wl_host *h = device;
    omp_set_num_threads(h->threads);
    for (size_t i = 0; i < n; i++) wl_host_update(h, kind, o, &s[i], lr);
    return 0;
}

static int update_statistics(void *device, const struct wl_statistic *statistics, size_t count, int micro_batches,
                             struct wl_err *e)
{
    (void)device, (void)e;
    for (size_t i = 0; i < count; i++) {
        const struct wl_statistic *s = &statistics[i];
        float *running = s->running->at, share = (float)s->tensor->momentum;
        const float *sum = s->sum->at;
        const int64_t n = wl_dims_count(&s->tensor->dims);
        for (int64_t c = 0; c < n; c++) running[c] += share * (sum[c] / (float)micro_batches - running[c]);
    }
    return 0;
}

/* ---- facts ---- */

static int threads(void *device) { return ((struct wl_host *)device)->threads; }

static const char *machine(void *device, const char *library, struct wl_arena *a)
{
    const int n = threads(device);
    return wl_strf(a, "%s, %s, %d thread%s", wl_host_cpu_name(a), library, n, n == 1 ? "" : "s");
}

void wl_host_init(struct wl_host *h, int n)
{
    *h = (struct wl_host) { .threads = n ? n : omp_get_max_threads() };
    omp_set_num_threads(h->threads);
}

int wl_host_open(struct wl_program *p, int n, struct wl_err *e)
{
    (void)e;
    struct wl_host *h = wl_new(p->arena, struct wl_host);
    wl_host_init(h, n);
    p->device = h;
    return 0;
}

const struct wl_device_ops wl_host_device = {
    .align = WL_ALIGN,
    .host_addressable = true,
    .bucket_bytes = 4u << 20, /* stays in the cache */
    .memory = memory,
    .host_memory = memory,
    .release = release,
    .huge_bytes = huge_bytes,
    .put = put,
    .get = get,
    .begin = begin,
    .run = run,
    .end = end,
    .step = step,
    .add = add,
    .round = round_floats,
    .get_async = get_async,
    .wait = wait,
    .check_finite = check_finite,
    .lap = lap,
    .sum_moments = sum_moments,
    .update = update,
    .update_statistics = update_statistics,
    .threads = threads,
    .machine = machine,
    .measure_peaks = wl_host_measure_peaks,
};

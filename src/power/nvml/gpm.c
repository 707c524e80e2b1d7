/* GPM: profiling counters of Hopper GPUs and newer. A reading is the difference of two samples at least 100 ms apart,
 * which is how often the GPU refreshes them; it needs no profiler but may need permission. */
#include "power/nvml/sensor.h"

#include <math.h>

static const int64_t min_interval_ns = WL_NS_PER_S / 10;

/* Rates are integrated to counters, so that they can be read over any window. */
static const struct row {
    unsigned metric;
    enum wl_quantity quantity;
    bool rate; /* MiB/s; else a share in % */
} rows[] = {
    { NVML_GPM_METRIC_SM_UTIL, WL_SM_ACTIVE, false },
    { NVML_GPM_METRIC_SM_OCCUPANCY, WL_SM_OCCUPANCY, false },
    { NVML_GPM_METRIC_ANY_TENSOR_UTIL, WL_TENSOR_ACTIVE, false },
    { NVML_GPM_METRIC_DRAM_BW_UTIL, WL_DRAM_ACTIVE, false },
    { NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC, WL_NVLINK_TX, true },
    { NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC, WL_NVLINK_RX, true },
    { NVML_GPM_METRIC_PCIE_TX_PER_SEC, WL_PCIE_TX, true },
    { NVML_GPM_METRIC_PCIE_RX_PER_SEC, WL_PCIE_RX, true },
};
_Static_assert(WL_COUNT(rows) <= WL_COUNT(((struct wl_nvml_gpm *)0)->v), "more metrics than a GPU has room for");

struct held {
    const struct wl_nvml *lib;
    nvmlGpmSample_t sample;
};

static void free_sample(void *arg)
{
    const struct held *h = arg;
    h->lib->GpmSampleFree(h->sample);
}

static nvmlReturn_t new_sample(const struct wl_nvml *lib, nvmlGpmSample_t *out, struct wl_arena *a)
{
    nvmlReturn_t rc = lib->GpmSampleAlloc(out);
    if (rc != NVML_SUCCESS) return rc;
    struct held *h = wl_new(a, struct held);
    *h = (struct held) { .lib = lib, .sample = *out };
    wl_defer(a, free_sample, h);
    return rc;
}

static nvmlReturn_t compute(const struct wl_nvml *lib, struct wl_nvml_gpm *g)
{
    g->get.version = NVML_GPM_VERSION;
    g->get.numMetrics = (unsigned)g->n;
    g->get.sample1 = g->before;
    g->get.sample2 = g->now;
    for (int i = 0; i < g->n; i++) g->get.metrics[i] = (nvmlGpmMetric_t) { .metricId = rows[g->v[i].row].metric };
    return lib->GpmMetricsGet(&g->get);
}

/* Reads all metrics over a first interval and keeps those that succeed. */
static nvmlReturn_t keep_answered(struct wl_sensor *s, struct wl_nvml_device *u, struct wl_nvml_gpm *g)
{
    const struct wl_nvml *lib = &((struct wl_nvml_sensor *)s->state)->lib;
    nvmlReturn_t rc = lib->GpmSampleGet(u->handle, g->before);
    if (rc == NVML_SUCCESS) {
        (void)!wl_sleep_until(wl_now_ns() + min_interval_ns);
        rc = lib->GpmSampleGet(u->handle, g->now);
    }
    for (size_t i = 0; i < WL_COUNT(rows); i++) g->v[g->n++] = (struct wl_nvml_gpm_channel) { .row = (int)i };
    if (rc == NVML_SUCCESS) rc = compute(lib, g);
    g->n = 0;
    for (size_t i = 0; i < WL_COUNT(rows) && rc == NVML_SUCCESS; i++) {
        if (g->get.metrics[i].nvmlReturn != NVML_SUCCESS) continue;
        int channel = wl_nvml_add_channel(s, u, rows[i].quantity, WL_SCOPE_GPU, WL_VARIANT_NONE);
        if (channel >= 0) g->v[g->n++] = (struct wl_nvml_gpm_channel) { .row = (int)i, .channel = channel };
    }
    return rc;
}

static bool has_functions(const struct wl_nvml *lib)
{
    return lib->GpmQueryDeviceSupport && lib->GpmSampleAlloc && lib->GpmSampleFree && lib->GpmSampleGet &&
           lib->GpmMetricsGet;
}

const char *wl_nvml_gpm_probe(struct wl_sensor *s, struct wl_nvml_device *u, const char **fix)
{
    const struct wl_nvml *lib = &((struct wl_nvml_sensor *)s->state)->lib;
    if (!has_functions(lib)) return "profiling counters: the driver lacks the functions (older than 525)";
    if (u->processes.mig) return "profiling counters: not available on a GPU that is split into MIG instances";
    nvmlGpmSupport_t support = { .version = NVML_GPM_VERSION };
    if (lib->GpmQueryDeviceSupport(u->handle, &support) != NVML_SUCCESS || !support.isSupportedDevice)
        return "profiling counters: only on Hopper GPUs and newer";
    struct wl_nvml_gpm *g = wl_new(s->arena, struct wl_nvml_gpm);
    nvmlReturn_t rc = new_sample(lib, &g->before, s->arena);
    if (rc == NVML_SUCCESS) rc = new_sample(lib, &g->now, s->arena);
    if (rc == NVML_SUCCESS) rc = keep_answered(s, u, g);
    if (rc == NVML_ERROR_NO_PERMISSION) {
        *fix = "echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' | sudo tee /etc/modprobe.d/nvidia-gpm.conf"
               "    (then reload the nvidia module, or reboot)";
        return "profiling counters: restricted to the administrator";
    }
    if (rc != NVML_SUCCESS || g->n == 0) return "profiling counters: the GPU does not answer";
    u->gpm = g;
    return NULL;
}

/* A share slightly above 100 % is rounding; far above it the reading is invalid. */
static void set_share(struct wl_reading *out, double pct, int64_t from, int64_t to)
{
    const double max_pct = 100.5;
    if (!(pct >= 0 && pct <= max_pct))
        wl_reading_fail(out, "NVML: profiling share outside 0 to 100 %");
    else
        wl_reading_mean(out, pct, from, to);
}

static void take(struct wl_nvml_gpm *g, int i, int64_t from, int64_t to, struct wl_reading *out)
{
    struct wl_nvml_gpm_channel *c = &g->v[i];
    const nvmlGpmMetric_t *m = &g->get.metrics[i];
    struct wl_reading *r = &out[c->channel];
    if (m->nvmlReturn != NVML_SUCCESS) {
        wl_reading_fail(r, wl_nvml_error_text(m->nvmlReturn));
    } else if (!rows[c->row].rate) {
        set_share(r, m->value, from, to);
    } else if (isfinite(m->value) && m->value >= 0) {
        c->sum += m->value * 1048576 * (double)(to - from) / WL_NS_PER_S;
        *r = (struct wl_reading) { .value = c->sum, .t_ns = to };
    } else {
        wl_reading_fail(r, "NVML: invalid profiling rate");
    }
}

void wl_nvml_gpm_read(const struct wl_sensor *s, struct wl_nvml_device *u, struct wl_reading *out)
{
    const struct wl_nvml *lib = &((const struct wl_nvml_sensor *)s->state)->lib;
    struct wl_nvml_gpm *g = u->gpm;
    int64_t t = wl_now_ns();
    if (!g || t - g->before_ns < min_interval_ns) return;
    nvmlReturn_t rc = lib->GpmSampleGet(u->handle, g->now);
    if (rc == NVML_SUCCESS && g->before_ns != 0) rc = compute(lib, g);
    if (rc != NVML_SUCCESS) {
        for (int i = 0; i < g->n; i++) wl_reading_fail(&out[g->v[i].channel], wl_nvml_error_text(rc));
        return;
    }
    for (int i = 0; i < g->n && g->before_ns != 0; i++) take(g, i, g->before_ns, t, out);
    nvmlGpmSample_t older = g->before;
    g->before = g->now;
    g->now = older;
    g->before_ns = t;
}

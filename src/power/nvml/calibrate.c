/* A calibration run on one GPU: this thread runs the load, another one polls the sensors. */
#include "power/nvml/calibrate.h"

#include "power/calibration/cuda_load.h"
#include "power/calibration/fit.h"
#include "power/calibration/waves.h"
#include "power/nvml/limits.h"
#include "power/nvml/sensor.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/* The waves that reveal the update period, from which the others are chosen. */
static const struct wl_wave probe = { 0.2, 8 };

/* The longest update period: slower sensors would take minutes. */
static const double MAX_UPDATE_S = 1;

/* Idle time before the load, so that a 1 s mean no longer includes the load's preparation, and after it. */
static const double BEFORE_S = 2, AFTER_S = 0.5;
static const int64_t POLL_NS = WL_NS_PER_S / 1000;

enum { INSTANT, AVERAGE, DRIVER, SENSORS, MAX_READINGS = 1 << 17 };

static const struct {
    enum wl_quantity quantity;
    enum wl_power_variant variant;
} sensors[SENSORS] = { [INSTANT] = { WL_POWER, WL_VARIANT_INSTANT },
                       [AVERAGE] = { WL_POWER_AVERAGE, WL_VARIANT_AVERAGE },
                       [DRIVER] = { WL_POWER, WL_VARIANT_DRIVER } };

struct calibrating {
    const struct wl_nvml *lib;
    nvmlDevice_t gpu;
    const struct wl_calibrate_options *opts;
    struct wl_cuda_load *load;
    bool present[SENSORS];
    /* written by the polling thread */
    int64_t *t_ns;          /* [MAX_READINGS] */
    double *value[SENSORS]; /* [MAX_READINGS] */
    _Atomic size_t n;
    _Atomic bool done;
    /* written by the load's thread */
    int64_t *edges;
    size_t n_edges, edges_cap;
    double elapsed_s, total_s;
};

/* ---- The sensors ---- */

static void read_powers(const struct calibrating *c, double out[SENSORS])
{
    unsigned mw;
    out[INSTANT] = out[AVERAGE] = out[DRIVER] = NAN;
    if (c->lib->DeviceGetFieldValues) wl_nvml_fields_powers(c->lib, c->gpu, &out[INSTANT], &out[AVERAGE]);
    bool ask = isnan(out[INSTANT]) && c->lib->DeviceGetPowerUsage;
    if (ask && c->lib->DeviceGetPowerUsage(c->gpu, &mw) == NVML_SUCCESS) out[DRIVER] = mw * 1e-3;
}

/* The sensors that the GPU has: those that can be read now. */
static int find_sensors(struct calibrating *c, struct wl_arena *a, struct wl_err *e)
{
    double powers[SENSORS];
    bool any = false;
    read_powers(c, powers);
    c->t_ns = wl_new_array(a, int64_t, MAX_READINGS);
    for (int s = 0; s < SENSORS; s++) {
        c->present[s] = isfinite(powers[s]);
        any = any || c->present[s];
        if (c->present[s]) c->value[s] = wl_new_array(a, double, MAX_READINGS);
    }
    return any ? 0 : wl_fail(e, WL_EUNAVAIL, "the GPU has no power reading");
}

/* Was this thread preempted during a reading? Then its instant is not known. */
static bool was_preempted(int64_t took_ns, int64_t *quickest_ns)
{
    const int64_t MARGIN_NS = POLL_NS / 5;
    if (took_ns < *quickest_ns) *quickest_ns = took_ns;
    return took_ns > 8 * *quickest_ns + MARGIN_NS;
}

static void *poll_sensors(void *calibrating)
{
    struct calibrating *c = calibrating;
    int64_t quickest_ns = INT64_MAX / 16;
    for (size_t n = 0; n < MAX_READINGS && !atomic_load(&c->done); n++) {
        double powers[SENSORS];
        int64_t before = wl_now_ns();
        read_powers(c, powers);
        int64_t after = wl_now_ns();
        bool preempted = was_preempted(after - before, &quickest_ns);
        c->t_ns[n] = before + (after - before) / 2;
        for (int s = 0; s < SENSORS; s++)
            if (c->present[s]) c->value[s][n] = preempted ? NAN : powers[s];
        atomic_store(&c->n, n + 1);
        int64_t next = before + POLL_NS;
        if (next > after && wl_sleep_until(next) < 0) continue; /* a signal: the load's thread handles it */
    }
    return NULL;
}

static struct wl_time_series series_of(const struct calibrating *c, int sensor)
{
    return (struct wl_time_series) { c->t_ns, c->value[sensor], atomic_load(&c->n) };
}

/* ---- The load ---- */

static int report_progress(struct calibrating *c, const char *note, struct wl_err *e)
{
    if (c->opts->stop && c->opts->stop()) return wl_fail(e, WL_EINTR, "stopped");
    if (c->opts->progress) c->opts->progress(c->opts->data, c->elapsed_s, c->total_s, note);
    return 0;
}

static int idle(struct calibrating *c, double seconds, const char *note, struct wl_err *e)
{
    int64_t until = wl_now_ns() + (int64_t)(seconds * WL_NS_PER_S);
    int rc = report_progress(c, note, e);
    while (rc == 0 && wl_now_ns() < until)
        if (wl_sleep_until(until) < 0) rc = report_progress(c, note, e);
    c->elapsed_s += seconds;
    return rc;
}

static void add_edge(struct calibrating *c, int64_t t_ns, struct wl_arena *a)
{
    WL_GROW(a, c->edges, c->n_edges, c->edges_cap);
    c->edges[c->n_edges++] = t_ns;
}

static int run_wave(struct calibrating *c, const struct wl_wave *w, struct wl_arena *a, struct wl_err *e)
{
    const char *note = wl_strf(a, "square waves of %s", wl_human_time(a, w->period_s));
    int64_t half_ns = (int64_t)(w->period_s / 2 * WL_NS_PER_S), at = wl_now_ns();
    int rc = 0;
    for (int k = 0; k < w->periods && rc == 0; k++) {
        int64_t began_ns, ended_ns;
        at = wl_now_ns() > at + half_ns ? wl_now_ns() : at; /* preempted: the wave begins later, no wave is shorter */
        rc = wl_cuda_load_run(c->load, at + half_ns, &began_ns, &ended_ns, e);
        if (rc < 0) return rc;
        add_edge(c, began_ns, a);
        add_edge(c, ended_ns, a);
        at += 2 * half_ns;
        while (rc == 0 && wl_now_ns() < at)
            if (wl_sleep_until(at) < 0) rc = report_progress(c, note, e);
        c->elapsed_s += w->period_s;
        if (rc == 0) rc = report_progress(c, note, e);
    }
    return rc;
}

static double length_s(const struct wl_wave *w) { return w->period_s * w->periods; }

/* The update period of the instant sensor, else of the driver's, else of the mean, from the readings so far. */
static double probed_update_s(const struct calibrating *c, struct wl_arena *a)
{
    struct wl_time_series s = series_of(c, c->present[INSTANT] ? INSTANT : c->present[DRIVER] ? DRIVER : AVERAGE);
    return wl_calibration_update_s(&s, a);
}

static int run_waves(struct calibrating *c, struct wl_arena *a, struct wl_err *e)
{
    struct wl_wave waves[WL_MAX_WAVES];
    c->total_s = BEFORE_S + length_s(&probe) + AFTER_S;
    int rc = idle(c, BEFORE_S, "idle", e);
    if (rc == 0) rc = run_wave(c, &probe, a, e);
    if (rc < 0) return rc;
    double update_s = probed_update_s(c, a);
    if (!(update_s <= MAX_UPDATE_S))
        return wl_fail(e, WL_EINVAL,
                       "the power reading did not change during %.1f s of a load that was switched on and off",
                       length_s(&probe));
    size_t n = wl_calibration_waves(update_s, waves);
    for (size_t i = 0; i < n; i++) c->total_s += length_s(&waves[i]);
    for (size_t i = 0; i < n && rc == 0; i++) rc = run_wave(c, &waves[i], a, e);
    return rc ? rc : idle(c, AFTER_S, "idle", e);
}

static int run_load_and_poll(struct calibrating *c, struct wl_arena *a, struct wl_err *e)
{
    pthread_t poller;
    int failed = pthread_create(&poller, NULL, poll_sensors, c);
    if (failed) return wl_fail(e, WL_ENOMEM, "cannot start a thread: %s", strerror(failed));
    int rc = run_waves(c, a, e);
    atomic_store(&c->done, true);
    pthread_join(poller, NULL);
    return rc;
}

/* ---- Before and after ---- */

static int refuse_other_processes(const struct wl_gpus *g, size_t i, const struct calibrating *c, struct wl_err *e)
{
    enum { MAX_PROCESSES = 64 };
    const struct wl_device *d = &g->devices[i];
    nvmlProcessInfo_t processes[MAX_PROCESSES];
    unsigned n = MAX_PROCESSES, mig = 0, after_reset;
    if (c->lib->DeviceGetMigMode && c->lib->DeviceGetMigMode(c->gpu, &mig, &after_reset) == NVML_SUCCESS && mig)
        return wl_fail(e, WL_EUNAVAIL, "%s is split into MIG instances: its power is the sum of all", d->uuid);
    if (c->opts->force) return 0;
    nvmlReturn_t rc = c->lib->DeviceGetComputeRunningProcesses
                          ? c->lib->DeviceGetComputeRunningProcesses(c->gpu, &n, processes)
                          : NVML_ERROR_FUNCTION_NOT_FOUND;
    if (rc == NVML_ERROR_INSUFFICIENT_SIZE)
        return wl_fail(e, WL_EUNAVAIL, "%s: more than %d processes use it", d->uuid, MAX_PROCESSES);
    if (rc != NVML_SUCCESS)
        return wl_fail(e, WL_EUNAVAIL, "%s: cannot tell whether other processes use it (%s); --force calibrates anyway",
                       d->uuid, wl_nvml_error_text(rc));
    for (unsigned k = 0; k < n; k++)
        if (processes[k].pid != (unsigned)getpid())
            return wl_fail(e, WL_EUNAVAIL, "%s: process %u uses it; --force calibrates anyway", d->uuid,
                           processes[k].pid);
    return 0;
}

/* One sensor; false: it could not be fitted, and a note says why. */
static bool fit_one(const struct wl_device *d, const struct calibrating *c, int sensor, const struct wl_fitted *rise_s,
                    struct wl_calibrations *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_time_series readings = series_of(c, sensor);
    struct wl_load_edges load = { c->edges, c->n_edges };
    struct wl_calibration fitted = { .uuid = d->uuid,
                                     .name = d->name,
                                     .driver = c->lib->driver,
                                     .quantity = sensors[sensor].quantity,
                                     .variant = sensors[sensor].variant,
                                     .date = wl_clock_iso(a, wl_wall_ns()),
                                     .simulated = c->lib->simulated };
    if (wl_calibration_fit(&readings, &load, rise_s, &fitted, a, e) < 0) {
        const char *quantity = wl_quantity_name(fitted.quantity);
        wl_strs_add(a, &out->notes, wl_strf(a, "%s: %s: %s", d->uuid, quantity, e->msg));
        return false;
    }
    WL_GROW(a, out->v, out->n, out->cap);
    out->v[out->n++] = fitted;
    return true;
}

/* The sensor with the shortest window first: it shows how fast the power rises. */
static int fit_all(const struct wl_device *d, const struct calibrating *c, struct wl_calibrations *out,
                   struct wl_arena *a, struct wl_err *e)
{
    int best = c->present[INSTANT] ? INSTANT : DRIVER;
    bool is_instant = c->present[best] && fit_one(d, c, best, NULL, out, a, e);
    struct wl_fitted rise_s = is_instant ? out->v[out->n - 1].rise_s : (struct wl_fitted) { 0 };
    bool is_mean = c->present[AVERAGE] && fit_one(d, c, AVERAGE, is_instant ? &rise_s : NULL, out, a, e);
    return is_instant || is_mean ? 0 : wl_err_prefix(e, "%s", d->uuid);
}

int wl_calibrate(const struct wl_gpus *g, size_t i, const struct wl_calibrate_options *opts,
                 struct wl_calibrations *out, struct wl_arena *a, struct wl_err *e)
{
    struct wl_arena *own = wl_arena_new(a); /* releases the context when done */
    struct calibrating c = { .lib = &g->lib->nvml, .gpu = g->lib->handles[i], .opts = opts };
    int rc = refuse_other_processes(g, i, &c, e);
    if (rc == 0 && !g->devices[i].bus_id)
        rc = wl_fail(e, WL_EUNAVAIL, "%s: its PCI address is not known", g->devices[i].uuid);
    if (rc == 0) rc = find_sensors(&c, own, e);
    if (rc == 0) rc = wl_cuda_load_open(&c.load, opts->cuda_library, g->devices[i].bus_id, own, e);
    if (rc == 0 && g->simulated && !wl_cuda_load_simulated(c.load))
        rc = wl_fail(e, WL_EINVAL, "the GPU is simulated but the CUDA driver is not: the load would not reach the GPU");
    if (rc == 0) rc = run_load_and_poll(&c, own, e);
    if (rc == 0) rc = fit_all(&g->devices[i], &c, out, a, e);
    wl_arena_free(own);
    return rc;
}

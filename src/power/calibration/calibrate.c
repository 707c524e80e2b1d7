/* A calibration run on one GPU: this thread plays the load, another one follows the sensors. */
#include "power/calibration/calibrate.h"

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

/* The waves by which the update period is found, which chooses the other ones. */
static const struct wl_wave probe = { 0.2, 8 };

/* A sensor that moves more seldom would need minutes. */
static const double SLOWEST_S = 1;

/* Rest before the load, so that a mean of a second has forgotten how the load was prepared, and behind it. */
static const double BEFORE_S = 2, BEHIND_S = 0.5;
static const int64_t POLL_NS = WL_NS_PER_S / 1000;

enum { INSTANT, AVERAGE, DRIVER, SENSORS, MOST_READINGS = 1 << 17 };

static const struct {
    enum wl_quantity quantity;
    enum wl_variant variant;
} sensors[SENSORS] = { [INSTANT] = { WL_POWER, WL_VARIANT_INSTANT },
                       [AVERAGE] = { WL_POWER_AVERAGE, WL_VARIANT_AVERAGE },
                       [DRIVER] = { WL_POWER, WL_VARIANT_DRIVER } };

struct calibrating {
    const struct wl_nvml *lib;
    nvmlDevice_t gpu;
    const struct wl_calibrate_options *how;
    struct wl_cuda_load *load;
    bool there[SENSORS];
    /* written by the follower */
    int64_t *t_ns;          /* [MOST_READINGS] */
    double *value[SENSORS]; /* [MOST_READINGS] */
    _Atomic size_t n;
    _Atomic bool done;
    /* written by the player */
    int64_t *edges;
    size_t n_edges, edges_cap;
    double played_s, total_s;
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

/* Which of them the GPU has: those that answer now. */
static int find_sensors(struct calibrating *c, struct wl_arena *a, struct wl_err *e)
{
    double powers[SENSORS];
    bool any = false;
    read_powers(c, powers);
    c->t_ns = wl_new_array(a, int64_t, MOST_READINGS);
    for (int s = 0; s < SENSORS; s++) {
        c->there[s] = isfinite(powers[s]);
        any = any || c->there[s];
        if (c->there[s]) c->value[s] = wl_new_array(a, double, MOST_READINGS);
    }
    return any ? 0 : wl_fail(e, WL_EUNAVAIL, "the GPU has no power reading");
}

/* A reading during which this thread was held up is of nobody knows when. */
static bool was_held_up(int64_t took_ns, int64_t *quickest_ns)
{
    const int64_t MARGIN_NS = POLL_NS / 5;
    if (took_ns < *quickest_ns) *quickest_ns = took_ns;
    return took_ns > 8 * *quickest_ns + MARGIN_NS;
}

static void *follow(void *calibrating)
{
    struct calibrating *c = calibrating;
    int64_t quickest_ns = INT64_MAX / 16;
    for (size_t n = 0; n < MOST_READINGS && !atomic_load(&c->done); n++) {
        double powers[SENSORS];
        int64_t before = wl_now_ns();
        read_powers(c, powers);
        int64_t after = wl_now_ns();
        bool held_up = was_held_up(after - before, &quickest_ns);
        c->t_ns[n] = before + (after - before) / 2;
        for (int s = 0; s < SENSORS; s++)
            if (c->there[s]) c->value[s][n] = held_up ? NAN : powers[s];
        atomic_store(&c->n, n + 1);
        int64_t next = before + POLL_NS;
        if (next > after && wl_sleep_until(next) < 0) continue; /* a signal: the player looks after it */
    }
    return NULL;
}

static struct wl_time_series series_of(const struct calibrating *c, int sensor)
{
    return (struct wl_time_series) { c->t_ns, c->value[sensor], atomic_load(&c->n) };
}

/* ---- The load ---- */

static int go_on(struct calibrating *c, const char *note, struct wl_err *e)
{
    if (c->how->stop && c->how->stop()) return wl_fail(e, WL_EINTR, "stopped");
    if (c->how->progress) c->how->progress(c->how->data, c->played_s, c->total_s, note);
    return 0;
}

static int rest(struct calibrating *c, double seconds, const char *note, struct wl_err *e)
{
    int64_t until = wl_now_ns() + (int64_t)(seconds * WL_NS_PER_S);
    int rc = go_on(c, note, e);
    while (rc == 0 && wl_now_ns() < until)
        if (wl_sleep_until(until) < 0) rc = go_on(c, note, e);
    c->played_s += seconds;
    return rc;
}

static void add_edge(struct calibrating *c, int64_t t_ns, struct wl_arena *a)
{
    WL_GROW(a, c->edges, c->n_edges, c->edges_cap);
    c->edges[c->n_edges++] = t_ns;
}

static int play(struct calibrating *c, const struct wl_wave *w, struct wl_arena *a, struct wl_err *e)
{
    const char *note = wl_strf(a, "square waves of %s", wl_human_time(a, w->period_s));
    int64_t half_ns = (int64_t)(w->period_s / 2 * WL_NS_PER_S), at = wl_now_ns();
    int rc = 0;
    for (int k = 0; k < w->periods && rc == 0; k++) {
        int64_t began_ns, ended_ns;
        at = wl_now_ns() > at + half_ns ? wl_now_ns() : at; /* held up: the wave begins later, no wave is shorter */
        rc = wl_cuda_load_run(c->load, at + half_ns, &began_ns, &ended_ns, e);
        if (rc < 0) return rc;
        add_edge(c, began_ns, a);
        add_edge(c, ended_ns, a);
        at += 2 * half_ns;
        while (rc == 0 && wl_now_ns() < at)
            if (wl_sleep_until(at) < 0) rc = go_on(c, note, e);
        c->played_s += w->period_s;
        if (rc == 0) rc = go_on(c, note, e);
    }
    return rc;
}

static double length_s(const struct wl_wave *w) { return w->period_s * w->periods; }

/* The update period of the sensor that is not a mean of a second, as far as it was followed. */
static double probed_update_s(const struct calibrating *c, struct wl_arena *a)
{
    struct wl_time_series s = series_of(c, c->there[INSTANT] ? INSTANT : c->there[DRIVER] ? DRIVER : AVERAGE);
    return wl_calibration_update_s(&s, a);
}

static int play_all(struct calibrating *c, struct wl_arena *a, struct wl_err *e)
{
    struct wl_wave waves[WL_MAX_WAVES];
    c->total_s = BEFORE_S + length_s(&probe) + BEHIND_S;
    int rc = rest(c, BEFORE_S, "at rest", e);
    if (rc == 0) rc = play(c, &probe, a, e);
    if (rc < 0) return rc;
    double update_s = probed_update_s(c, a);
    if (!(update_s <= SLOWEST_S))
        return wl_fail(e, WL_EINVAL, "the power reading did not move within %.1f s of a load that went on and off",
                       length_s(&probe));
    size_t n = wl_calibration_waves(update_s, waves);
    for (size_t i = 0; i < n; i++) c->total_s += length_s(&waves[i]);
    for (size_t i = 0; i < n && rc == 0; i++) rc = play(c, &waves[i], a, e);
    return rc ? rc : rest(c, BEHIND_S, "at rest", e);
}

static int run_load_and_poll(struct calibrating *c, struct wl_arena *a, struct wl_err *e)
{
    pthread_t follower;
    int failed = pthread_create(&follower, NULL, follow, c);
    if (failed) return wl_fail(e, WL_ENOMEM, "no thread: %s", strerror(failed));
    int rc = play_all(c, a, e);
    atomic_store(&c->done, true);
    pthread_join(follower, NULL);
    return rc;
}

/* ---- Before and behind ---- */

static int refuse_other_processes(const struct wl_gpus *g, size_t i, const struct calibrating *c, struct wl_err *e)
{
    enum { ROOM = 64 };
    const struct wl_device *d = &g->devices[i];
    nvmlProcessInfo_t processes[ROOM];
    unsigned n = ROOM, mig = 0, after_reset;
    if (c->lib->DeviceGetMigMode && c->lib->DeviceGetMigMode(c->gpu, &mig, &after_reset) == NVML_SUCCESS && mig)
        return wl_fail(e, WL_EUNAVAIL, "%s is split into MIG instances: its power is that of all of them", d->uuid);
    if (c->how->force) return 0;
    nvmlReturn_t rc = c->lib->DeviceGetComputeRunningProcesses
                          ? c->lib->DeviceGetComputeRunningProcesses(c->gpu, &n, processes)
                          : NVML_ERROR_FUNCTION_NOT_FOUND;
    if (rc == NVML_ERROR_INSUFFICIENT_SIZE)
        return wl_fail(e, WL_EUNAVAIL, "%s: more than %d processes use it", d->uuid, ROOM);
    if (rc != NVML_SUCCESS)
        return wl_fail(e, WL_EUNAVAIL, "%s: whether others use it is not told (%s); --force calibrates all the same",
                       d->uuid, wl_nvml_error_text(rc));
    for (unsigned k = 0; k < n; k++)
        if (processes[k].pid != (unsigned)getpid())
            return wl_fail(e, WL_EUNAVAIL, "%s: process %u uses it; --force calibrates all the same", d->uuid,
                           processes[k].pid);
    return 0;
}

/* One sensor; false: it could not be fitted, which is noted. */
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

/* The sharp sensor first: it tells how fast the power rises. */
static int fit_all(const struct wl_device *d, const struct calibrating *c, struct wl_calibrations *out,
                   struct wl_arena *a, struct wl_err *e)
{
    int sharp = c->there[INSTANT] ? INSTANT : DRIVER;
    bool is_sharp = c->there[sharp] && fit_one(d, c, sharp, NULL, out, a, e);
    struct wl_fitted rise_s = is_sharp ? out->v[out->n - 1].rise_s : (struct wl_fitted) { 0 };
    bool is_mean = c->there[AVERAGE] && fit_one(d, c, AVERAGE, is_sharp ? &rise_s : NULL, out, a, e);
    return is_sharp || is_mean ? 0 : wl_err_prefix(e, "%s", d->uuid);
}

int wl_calibrate(const struct wl_gpus *g, size_t i, const struct wl_calibrate_options *how, struct wl_calibrations *out,
                 struct wl_arena *a, struct wl_err *e)
{
    struct wl_arena *own = wl_arena_new(a); /* the context goes when the GPU is done */
    struct calibrating c = { .lib = &g->lib->nvml, .gpu = g->lib->handles[i], .how = how };
    int rc = refuse_other_processes(g, i, &c, e);
    if (rc == 0 && !g->devices[i].bus_id)
        rc = wl_fail(e, WL_EUNAVAIL, "%s: its PCI address is not told", g->devices[i].uuid);
    if (rc == 0) rc = find_sensors(&c, own, e);
    if (rc == 0) rc = wl_cuda_load_open(&c.load, how->cuda_library, g->devices[i].bus_id, own, e);
    if (rc == 0 && g->simulated && !wl_cuda_load_simulated(c.load))
        rc = wl_fail(e, WL_EINVAL, "the GPU is simulated and the CUDA driver is not: the load would not reach it");
    if (rc == 0) rc = run_load_and_poll(&c, own, e);
    if (rc == 0) rc = fit_all(&g->devices[i], &c, out, a, e);
    wl_arena_free(own);
    return rc;
}

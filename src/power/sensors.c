#include "power/sensors.h"

#include "base/thread.h"
#include "power/node/cpu_stat.h"
#include "power/sensor.h"

#include <math.h>

/* ---- Selection ---- */

/* If several measure the whole node, the first one counts: meters with an energy counter come before those without. The
 * estimate comes after all that measure: it is used if they have no power. */
const struct wl_sensor_ops *const wl_sensor_table[] = {
    &wl_sensor_nvml, &wl_sensor_amd,  &wl_sensor_level_zero, &wl_sensor_rapl,      &wl_sensor_cray, &wl_sensor_acpi,
    &wl_sensor_ipmi, &wl_sensor_proc, &wl_sensor_replay,     &wl_sensor_cpu_model, &wl_sensor_null, NULL,
};

enum { N_SENSORS = WL_COUNT(wl_sensor_table) - 1 };

static bool in_list(const struct wl_strs *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++) {
        if (wl_str_eq(list->v[i], name)) return true;
    }
    return false;
}

static int check_names(const struct wl_strs *asked, struct wl_arena *a, struct wl_err *e)
{
    const char *names[N_SENSORS + 1] = { "auto" };
    struct wl_text all = WL_TEXT(a);
    wl_text_add(&all, names[0]);
    for (int i = 0; i < N_SENSORS; i++) {
        names[i + 1] = wl_sensor_table[i]->name;
        wl_text_addf(&all, ", %s", names[i + 1]);
    }
    for (size_t i = 0; i < asked->n; i++) {
        const char *word = asked->v[i];
        bool known = false;
        for (size_t k = 0; k < WL_COUNT(names); k++) known |= wl_str_eq(word, names[k]);
        if (known) continue;
        const char *near = wl_str_closest(word, names, WL_COUNT(names));
        return wl_fail(e, WL_EINVAL, "sensors: unknown sensor '%s'%s%s%s", word, near ? ", did you mean " : " (",
                       near ? near : all.s, near ? "?" : ")");
    }
    return 0;
}

/* Does an open sensor measure energy or power? */
static bool measures_energy(const struct wl_sensors *all)
{
    for (size_t i = 0; i < all->n_open; i++) {
        const struct wl_sensor *s = all->open[i];
        for (size_t c = 0; c < s->n_channels; c++) {
            if (s->channels[c].quantity == WL_ENERGY || s->channels[c].quantity == WL_POWER) return true;
        }
    }
    return false;
}

/* Why a sensor is not opened, or NULL: it is. */
static const char *why_unused(const struct wl_sensors *all, const struct wl_sensor_ops *ops,
                              const struct wl_power_opts *o)
{
    if (in_list(&o->sensors, ops->name)) return NULL;
    if (!in_list(&o->sensors, "auto")) return "not requested";
    if (ops == &wl_sensor_replay) return o->replay_file ? NULL : "plays a recording, on request only";
    if (ops == &wl_sensor_null) return "measures nothing, on request only";
    if (ops == &wl_sensor_ipmi) return "costs kernel CPU time at each reading: enable it with --sensors auto,ipmi";
    if (ops == &wl_sensor_cpu_model && measures_energy(all)) return "an estimate is not needed: power is measured";
    return NULL;
}

/* ---- Opening one ---- */

/* All that the thread touches which opens a sensor. */
struct opening {
    struct wl_sensor *sensor;
    struct wl_power_opts opts;
    struct wl_err why;
    int code;
};

/* Opens the sensor and reads it once: that measures the cost of a reading and is the start of differences. */
static void open_now(void *arg)
{
    struct opening *o = arg;
    struct wl_sensor *s = o->sensor;
    o->code = s->ops->open(s, &o->opts, &o->why);
    if (o->code < 0) return;
    s->readings = wl_new_array(s->arena, struct wl_reading, s->n_channels);
    int64_t t0 = wl_now_ns();
    wl_sensor_read(s, WL_DUE_ALL);
    s->read_s = (double)(wl_now_ns() - t0) / WL_NS_PER_S;
}

static void free_arena(void *arena) { wl_arena_free(arena); }

static int open_one(struct wl_sensors *all, struct wl_cpu_stat *cpu_stat, const struct wl_sensor_ops *ops,
                    const struct wl_power_opts *o, struct wl_sensor_info *info, struct wl_arena *a, struct wl_err *e)
{
    if (ops->unavailable) return wl_fail(e, WL_EUNAVAIL, "%s", ops->unavailable);
    struct wl_arena *own = wl_arena_new(NULL);
    struct wl_sensor *s = wl_new(own, struct wl_sensor);
    struct opening *t = wl_new(own, struct opening);
    *s = (struct wl_sensor) { .ops = ops, .arena = own, .cpu_stat = cpu_stat };
    *t = (struct opening) { .sensor = s, .opts = wl_power_opts_copy(o, own) };
    double wait_s = wl_power_wait_s(o);
    if (!wl_thread_call_timeout(open_now, t, (int64_t)(wait_s * WL_NS_PER_S))) {
        wl_arena_leak(own);
        return wl_fail(e, WL_EUNAVAIL, "no answer within %g s (--sensor-wait): the driver hangs", wait_s);
    }
    if (t->code < 0) {
        int code = wl_fail(e, t->code, "%s", t->why.msg);
        info->fix = s->fix ? wl_strdup(a, s->fix) : NULL;
        if (!wl_thread_call_timeout(free_arena, own, WL_DRIVER_TIMEOUT_NS)) wl_arena_leak(own);
        return code;
    }
    all->open[all->n_open++] = s;
    info->state = WL_SENSOR_OPEN;
    info->source = s->source;
    info->reason = s->reason;
    info->fix = s->fix;
    info->read_s = s->read_s;
    info->n_devices = s->n_devices;
    info->n_channels = s->n_channels;
    return 0;
}

/* ---- Closing ---- */

struct closing {
    struct wl_arena **arenas;
    size_t n;
};

static void close_now(void *arg)
{
    struct closing *c = arg;
    while (c->n > 0) wl_arena_free(c->arenas[--c->n]);
}

/* An abandoned sensor is not closed: its memory is leaked. */
static void close_all(void *sensors)
{
    const struct wl_sensors *all = sensors;
    struct wl_arena *own = wl_arena_new(NULL);
    struct closing *c = wl_new(own, struct closing);
    *c = (struct closing) { .arenas = wl_new_array(own, struct wl_arena *, all->n_open + 1) };
    bool abandoned = false;
    for (size_t i = 0; i < all->n_open; i++) abandoned = abandoned || all->open[i]->abandoned;
    if (abandoned)
        wl_arena_leak(all->shared);
    else
        c->arenas[c->n++] = all->shared; /* closed last */
    for (size_t i = 0; i < all->n_open; i++) {
        if (all->open[i]->abandoned)
            wl_arena_leak(all->open[i]->arena);
        else
            c->arenas[c->n++] = all->open[i]->arena;
    }
    if (wl_thread_call_timeout(close_now, c, WL_DRIVER_TIMEOUT_NS))
        wl_arena_free(own);
    else
        wl_arena_leak(own);
}

/* ---- All of them ---- */

/* Joins the devices and channels of all sensors; each sensor remembers its first channel. */
static void join(struct wl_sensors *all, struct wl_arena *a)
{
    for (size_t i = 0; i < all->n_open; i++) {
        all->n_devices += all->open[i]->n_devices;
        all->n_channels += all->open[i]->n_channels;
    }
    all->devices = wl_new_array(a, struct wl_device, all->n_devices);
    all->channels = wl_new_array(a, struct wl_channel, all->n_channels);
    size_t d = 0, c = 0;
    for (size_t i = 0; i < all->n_open; i++) {
        struct wl_sensor *s = all->open[i];
        s->first_channel = c;
        for (size_t k = 0; k < s->n_channels; k++, c++) {
            all->channels[c] = s->channels[k];
            all->channels[c].device += (int)d;
        }
        for (size_t k = 0; k < s->n_devices; k++, d++) all->devices[d] = s->devices[k];
    }
}

int wl_sensors_open(struct wl_sensors **out, const struct wl_power_opts *opts, struct wl_arena *a, struct wl_err *e)
{
    struct wl_power_opts o = *opts;
    char *auto_word[] = { (char *)"auto" };
    if (o.sensors.n == 0) o.sensors = (struct wl_strs) { .v = auto_word, .n = 1 };
    if (!o.root) o.root = "";
    int code = check_names(&o.sensors, a, e);
    if (code < 0) return code;

    struct wl_sensors *all = wl_new(a, struct wl_sensors);
    all->info = wl_new_array(a, struct wl_sensor_info, N_SENSORS);
    all->n_info = N_SENSORS;
    all->open = wl_new_array(a, struct wl_sensor *, N_SENSORS);
    all->shared = wl_arena_new(NULL);
    struct wl_cpu_stat *cpu_stat = wl_cpu_stat_new(all->shared);
    wl_defer(a, close_all, all);
    for (int i = 0; i < N_SENSORS; i++) {
        const struct wl_sensor_ops *ops = wl_sensor_table[i];
        struct wl_sensor_info *info = &all->info[i];
        *info = (struct wl_sensor_info) { .name = ops->name, .help = ops->help, .read_s = NAN };
        info->reason = why_unused(all, ops, &o);
        info->state = WL_SENSOR_UNUSED;
        if (info->reason) continue;
        struct wl_err why = { 0 };
        code = open_one(all, cpu_stat, ops, &o, info, a, &why);
        if (code == 0) continue;
        if (in_list(&o.sensors, ops->name) || code == WL_EINVAL) {
            return wl_fail(e, code, "sensor %s: %s%s%s", ops->name, why.msg, info->fix ? "; to fix it: " : "",
                           info->fix ? info->fix : "");
        }
        info->state = WL_SENSOR_UNAVAILABLE;
        info->reason = wl_strdup(a, why.msg);
    }
    join(all, a);
    *out = all;
    return 0;
}

void wl_sensors_notes(const struct wl_sensors *s, struct wl_strs *out, struct wl_arena *a)
{
    for (size_t i = 0; i < s->n_open; i++) {
        const struct wl_sensor *sensor = s->open[i];
        if (sensor->ops->notes && !sensor->abandoned) sensor->ops->notes(sensor, out, a);
    }
}

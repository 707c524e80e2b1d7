#include "power/internal.h"

#include <math.h>

/* Where several give the power of the whole node, the first one counts: a meter with an energy counter comes before one
 * without. The estimate comes behind all that measures: it is taken where they give no power. */
const struct wl_sensor_ops *const wl_sensor_table[] = {
    &wl_sensor_nvml, &wl_sensor_amd,  &wl_sensor_level_zero, &wl_sensor_rapl,      &wl_sensor_cray, &wl_sensor_acpi,
    &wl_sensor_ipmi, &wl_sensor_proc, &wl_sensor_replay,     &wl_sensor_cpu_model, &wl_sensor_null, NULL,
};

enum { N_SENSORS = WL_COUNT(wl_sensor_table) - 1 };

int wl_sensor_add_device(struct wl_sensor *s, const struct wl_device *d)
{
    WL_GROW(s->arena, s->devices, s->n_devices, s->cap_devices);
    s->devices[s->n_devices] = *d;
    s->devices[s->n_devices].sensor = s->ops->name;
    return (int)s->n_devices++;
}

int wl_sensor_add_channel(struct wl_sensor *s, int device, enum wl_quantity q, enum wl_scope scope,
                          enum wl_variant variant)
{
    WL_GROW(s->arena, s->channels, s->n_channels, s->cap_channels);
    s->channels[s->n_channels] =
        (struct wl_channel) { .device = device, .quantity = q, .scope = scope, .variant = variant, .update_s = NAN };
    return (int)s->n_channels++;
}

void wl_sensor_add_fact(struct wl_sensor *s, int device, const char *key, const char *value)
{
    struct wl_device *d = &s->devices[device];
    struct wl_fact *facts = wl_new_array(s->arena, struct wl_fact, d->n_facts + 1);
    for (size_t i = 0; i < d->n_facts; i++) facts[i] = d->facts[i];
    facts[d->n_facts++] = (struct wl_fact) { .key = key, .value = value };
    d->facts = facts;
}

void wl_sensors_notes(const struct wl_sensors *s, struct wl_strs *out, struct wl_arena *a)
{
    for (size_t i = 0; i < s->n_open; i++) {
        const struct wl_sensor *sensor = s->open[i];
        if (sensor->ops->notes) sensor->ops->notes(sensor, out, a);
    }
}

bool wl_is_repeat(struct wl_repeats *r, const struct wl_reading *reading, double update_s)
{
    int64_t update_ns = isfinite(update_s) ? (int64_t)(update_s * WL_NS_PER_S) : 0;
    if (update_ns > WL_REPEAT_NS) update_ns = WL_REPEAT_NS;
    if (!isfinite(reading->value)) return false;
    if (r->kept_ns != 0 && reading->value == r->value && reading->t_ns - r->kept_ns < update_ns) return true;
    *r = (struct wl_repeats) { .value = reading->value, .kept_ns = reading->t_ns };
    return false;
}

void wl_reading_set(struct wl_reading *r, double value, int64_t t0_ns)
{
    r->value = value;
    r->t_ns = t0_ns + (wl_now_ns() - t0_ns) / 2;
    r->why = NULL;
}

void wl_reading_mean(struct wl_reading *r, double value, int64_t from_ns, int64_t to_ns)
{
    *r = (struct wl_reading) { .value = value, .t_ns = from_ns + (to_ns - from_ns) / 2 };
}

void wl_reading_fail(struct wl_reading *r, const char *why)
{
    r->value = NAN;
    r->t_ns = wl_now_ns();
    r->why = why;
}

void wl_sensor_read(struct wl_sensor *s, bool all)
{
    for (size_t i = 0; i < s->n_channels; i++) s->readings[i] = (struct wl_reading) { .value = NAN };
    s->ops->read(s, all, s->readings);
}

bool wl_budget_due(const struct wl_budget *b, bool all) { return all || wl_now_ns() >= b->due_ns; }

void wl_budget_spent(struct wl_budget *b, int64_t cpu0_ns)
{
    b->due_ns = wl_now_ns() + (wl_thread_cpu_ns() - cpu0_ns) * b->share;
}

/* ---- Opening ---- */

static bool in_list(const struct wl_strs *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++) {
        if (wl_streq(list->v[i], name)) return true;
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
        for (size_t k = 0; k < WL_COUNT(names); k++) known |= wl_streq(word, names[k]);
        if (known) continue;
        const char *near = wl_closest(word, names, WL_COUNT(names));
        return wl_fail(e, WL_EINVAL, "sensors: there is no sensor '%s'%s%s%s", word, near ? ", did you mean " : " (",
                       near ? near : all.s, near ? "?" : ")");
    }
    return 0;
}

/* Does anything open measure energy or power? */
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

/* Why a sensor is left out, or NULL: it is to be opened. */
static const char *why_unused(const struct wl_sensors *all, const struct wl_sensor_ops *ops,
                              const struct wl_power_opts *o)
{
    if (in_list(&o->sensors, ops->name)) return NULL;
    if (!in_list(&o->sensors, "auto")) return "not asked for";
    if (ops == &wl_sensor_replay) return o->replay_file ? NULL : "plays a recording when it is asked for";
    if (ops == &wl_sensor_null) return "measures nothing, for tests";
    if (ops == &wl_sensor_ipmi) return "costs the kernel CPU time at each reading: ask for it with --sensors auto,ipmi";
    if (ops == &wl_sensor_cpu_model && measures_energy(all)) return "an estimate is not needed: power is measured";
    return NULL;
}

/* Opens one sensor and reads it once: that tells what a reading costs and gives differences their start. */
static int open_one(struct wl_sensors *all, const struct wl_sensor_ops *ops, const struct wl_power_opts *o,
                    struct wl_sensor_info *info, struct wl_arena *a, struct wl_err *e)
{
    if (ops->unavailable) return wl_fail(e, WL_EUNAVAIL, "%s", ops->unavailable);
    struct wl_arena *own = wl_arena_new(a);
    struct wl_sensor *s = wl_new(own, struct wl_sensor);
    s->ops = ops;
    s->arena = own;
    int code = ops->open(s, o, e);
    if (code < 0) {
        info->fix = s->fix ? wl_strdup(a, s->fix) : NULL;
        wl_arena_free(own);
        return code;
    }
    s->readings = wl_new_array(own, struct wl_reading, s->n_channels);
    int64_t t0 = wl_now_ns();
    wl_sensor_read(s, true);
    s->read_s = (double)(wl_now_ns() - t0) / WL_NS_PER_S;
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

/* One list of devices and one of channels; a sensor remembers where its channels start. */
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
    for (int i = 0; i < N_SENSORS; i++) {
        const struct wl_sensor_ops *ops = wl_sensor_table[i];
        struct wl_sensor_info *info = &all->info[i];
        *info = (struct wl_sensor_info) { .name = ops->name, .help = ops->help, .read_s = NAN };
        info->reason = why_unused(all, ops, &o);
        info->state = WL_SENSOR_UNUSED;
        if (info->reason) continue;
        struct wl_err why = { 0 };
        code = open_one(all, ops, &o, info, a, &why);
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

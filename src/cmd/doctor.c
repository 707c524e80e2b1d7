/* wattlaw doctor: what can be measured and capped on this machine, and the exact command that would fix what cannot. */
#include "cmd/doctor.h"
#include "cmd/cmd.h"
#include "power/power.h"

#include <math.h>
#include <unistd.h>

struct doctor_options {
    struct wl_power_opts power;
    struct wl_cap_opts cap;
    struct doctor_calibration calibration;
    double seconds;
    bool json;
};

static const struct wl_opt doctor_rows[] = {
    WL_POWER_OPT_ROWS(struct doctor_options, power),
    WL_CAP_OPT_ROWS(struct doctor_options, cap, "cap-"),
    { .name = "for",
      .type = WL_DURATION,
      .offset = offsetof(struct doctor_options, seconds),
      .def = "1s",
      .min = 0,
      .max = 3600,
      .help = "how long the sensors are sampled" },
    { .name = "calibrate",
      .type = WL_FLAG,
      .offset = offsetof(struct doctor_options, calibration.asked),
      .help =
          "put square waves of load on the NVIDIA GPUs, or the one that is named, and keep what their power sensors "
          "make of that" },
    { .name = "force",
      .type = WL_FLAG,
      .offset = offsetof(struct doctor_options, calibration.force),
      .help = "with --calibrate: although other processes use the GPU" },
    { .name = "cuda-library",
      .type = WL_STR,
      .offset = offsetof(struct doctor_options, calibration.cuda_library),
      .help = "path of libcuda.so.1, when it is not where the loader looks" },
    { .name = "json", .type = WL_FLAG, .offset = offsetof(struct doctor_options, json), .help = "print JSON" },
    WL_OPT_END,
};

/* All that is shown, found before anything is printed. */
struct findings {
    struct doctor_machine machine;
    struct doctor_caps caps;
    const struct doctor_program *programs;
    size_t n_programs;
    const struct wl_sensors *sensors;
    double *latest; /* [channel], NAN: no good reading */
    struct wl_channel_stats *channels;
    struct wl_sampler_stats sampler;
    struct wl_strs notes; /* what the sensors noticed while they were sampled */
    double sampled_s;
    const char *basis; /* where the energy of a run comes from, NULL: nowhere */
};

/* ---- Finding ---- */

static void keep_latest(struct findings *f, struct wl_sampler *s)
{
    struct wl_sample buffer[1024];
    size_t n;
    while ((n = wl_sampler_drain(s, buffer, WL_COUNT(buffer))) > 0) {
        for (size_t i = 0; i < n; i++) {
            if (isfinite(buffer[i].value)) f->latest[buffer[i].channel] = buffer[i].value;
        }
    }
}

static int sample(struct findings *f, struct wl_sensors *sensors, const struct doctor_options *o, struct wl_arena *a,
                  struct wl_err *e)
{
    struct wl_sampler *s;
    size_t n = sensors->n_channels;
    f->latest = wl_new_array(a, double, n);
    f->channels = wl_new_array(a, struct wl_channel_stats, n);
    for (size_t i = 0; i < n; i++) f->latest[i] = NAN;
    int64_t start = wl_now_ns(), end = start + (int64_t)(o->seconds * WL_NS_PER_S);
    int code = wl_sampler_start(&s, sensors, o->power.rate_hz, a, e);
    if (code < 0) return code;
    wl_sampler_watch(s, getpid());
    for (int64_t now = start; now < end && code == 0; now = wl_now_ns()) {
        int64_t next = now + WL_NS_PER_S;
        code = wl_sleep_until(next < end ? next : end);
        keep_latest(f, s);
    }
    wl_sampler_stop(s);
    keep_latest(f, s);
    f->sampled_s = (double)(wl_now_ns() - start) / WL_NS_PER_S;
    wl_sampler_stats(s, &f->sampler);
    wl_sensors_notes(sensors, &f->notes, a);
    for (size_t i = 0; i < n; i++) wl_sampler_channel_stats(s, i, &f->channels[i]);
    return code < 0 ? wl_fail(e, code, "stopped") : 0;
}

static int find(struct findings *f, const struct doctor_options *o, struct wl_arena *a, struct wl_err *e)
{
    struct wl_sensors *sensors;
    int code = wl_sensors_open(&sensors, &o->power, a, e);
    if (code == 0) code = sample(f, sensors, o, a, e);
    if (code < 0) return code;
    struct wl_energy_source *sources = wl_new_array(a, struct wl_energy_source, sensors->n_channels);
    wl_energy_sources(sensors->channels, sensors->n_channels, sources, &f->basis);
    f->sensors = sensors;
    doctor_caps_find(&f->caps, &o->cap, &o->power, a);
    doctor_machine_read(&f->machine, a);
    f->n_programs = doctor_programs_find(&f->programs, a);
    return 0;
}

/* The highest rate at which reading takes at most half of the time, of those that can be asked for. */
static double highest_rate_hz(const struct wl_sensor_info *info) { return fmin(1000, 0.5 / fmax(info->read_s, 1e-9)); }

static double cpu_share_pct(const struct findings *f)
{
    return f->sampled_s > 0 ? 100 * (double)f->sampler.cpu_ns / WL_NS_PER_S / f->sampled_s : NAN;
}

/* ---- Text ---- */

static const char *const state_words[] = {
    [WL_SENSOR_OPEN] = "yes", [WL_SENSOR_UNAVAILABLE] = "no", [WL_SENSOR_UNUSED] = "unused"
};

static void print_machine(const struct doctor_machine *m, struct wl_arena *a)
{
    printf("Machine\n  %s, %s\n  %s, %d CPUs", m->host, m->kernel, m->cpu, m->cpus);
    if (m->usable_cpus != m->cpus) printf(" (%d usable here)", m->usable_cpus);
    printf(", %s of memory\n", wl_human_bytes(a, m->memory_bytes));
}

static void print_sensors(const struct wl_sensors *s, struct wl_arena *a)
{
    puts("\nSensors");
    for (size_t i = 0; i < s->n_info; i++) {
        const struct wl_sensor_info *info = &s->info[i];
        printf("  %-10s %-7s %s\n", info->name, state_words[info->state], info->help);
        if (info->source) printf("  %19s%s\n", "", info->source);
        if (info->state == WL_SENSOR_OPEN)
            printf("  %19s%zu channels; a reading takes %s: up to %.0f Hz\n", "", info->n_channels,
                   wl_human_time(a, info->read_s), highest_rate_hz(info));
        if (info->reason) printf("  %19s%s\n", "", info->reason);
        if (info->fix) printf("  %19sfix: %s\n", "", info->fix);
    }
}

static const char *label_of(const struct wl_channel *c)
{
    return c->simulated ? "simulated" : c->estimated ? "estimated" : "";
}

/* The last failure, else what marks the readings: what they are, and how the sensor shows what it measures. */
static const char *note_of(const struct findings *f, size_t i, struct wl_arena *a)
{
    const struct wl_channel *c = &f->sensors->channels[i];
    struct wl_gauge g = wl_gauge_of(&f->sensors->devices[c->device], c);
    const char *shows = wl_gauge_words(&g, c->calibration ? c->calibration->date : NULL, a), *label = label_of(c);
    if (f->channels[i].last_why) return f->channels[i].last_why;
    return shows ? wl_strf(a, "%s%s%s", label, *label ? ", " : "", shows) : label;
}

static void print_channels(const struct findings *f, struct wl_arena *a)
{
    const struct wl_sensors *s = f->sensors;
    if (s->n_channels == 0) return;
    printf("\nReadings (%.3g s at %.3g Hz)\n", f->sampled_s, 1 / f->sampler.period_s);
    struct wl_table t = wl_table_new(a);
    static const char *const heads[] = { "  device", "scope", "quantity", "kind" };
    for (size_t i = 0; i < WL_COUNT(heads); i++) wl_table_column(&t, heads[i], false);
    wl_table_column(&t, "latest", true);
    wl_table_column(&t, "unit", false);
    wl_table_column(&t, "good", true);
    wl_table_column(&t, "failed", true);
    wl_table_column(&t, "moves each", true);
    wl_table_column(&t, "note", false);
    for (size_t i = 0; i < s->n_channels; i++) {
        const struct wl_channel *c = &s->channels[i];
        const struct wl_device *d = &s->devices[c->device];
        if (d->bus_id) /* several of one product are told apart */
            wl_table_cellf(&t, "  %d: %s", d->index, d->name);
        else
            wl_table_cellf(&t, "  %s", d->name);
        wl_table_cell(&t, wl_scope_name(c->scope));
        wl_table_cell(&t, wl_quantity_name(c->quantity));
        wl_table_cell(&t, wl_variant_name(c->variant));
        wl_table_real(&t, f->latest[i], 5);
        wl_table_cell(&t, wl_quantity_unit(c->quantity));
        wl_table_cellf(&t, "%llu", (unsigned long long)f->channels[i].samples);
        wl_table_cellf(&t, "%llu", (unsigned long long)f->channels[i].errors);
        wl_table_cell(&t, isnan(c->update_s) ? "" : wl_human(a, c->update_s, "s"));
        wl_table_cell(&t, note_of(f, i, a));
        wl_table_row(&t);
    }
    wl_table_print(&t, stdout, 0);
}

/* What a device is, and what is to be known of its readings. */
static void print_devices(const struct findings *f)
{
    const struct wl_sensors *s = f->sensors;
    bool any = false;
    for (size_t i = 0; i < s->n_devices; i++) {
        const struct wl_device *d = &s->devices[i];
        if (d->n_facts == 0) continue;
        if (!any) puts("\nDevices");
        any = true;
        printf("  %d: %s, %s%s%s\n   ", d->index, d->name, d->uuid, d->bus_id ? ", " : "", d->bus_id ? d->bus_id : "");
        for (size_t k = 0; k < d->n_facts; k++)
            printf("%s %s %s", k > 0 ? "," : "", d->facts[k].key, d->facts[k].value);
        putchar('\n');
    }
    for (size_t i = 0; i < f->notes.n; i++) printf("  note: %s\n", f->notes.v[i]);
}

static void print_sampler(const struct findings *f)
{
    const struct wl_sampler_stats *s = &f->sampler;
    puts("\nSampling");
    if (f->basis)
        printf("  the energy of a run comes from: %s\n", f->basis);
    else
        puts("  no energy: nothing here measures or estimates it");
    printf("  period %.4g ms asked, ", 1e3 * s->period_s);
    if (isfinite(s->achieved_period_s)) printf("%.4g ms achieved, ", 1e3 * s->achieved_period_s);
    printf("%llu ticks skipped, %d thread%s, %.2f %% of one core\n", (unsigned long long)s->skipped, s->threads,
           s->threads == 1 ? "" : "s", cpu_share_pct(f));
}

static void print_programs(const struct findings *f)
{
    puts("\nPrograms");
    for (size_t i = 0; i < f->n_programs; i++) {
        const struct doctor_program *p = &f->programs[i];
        printf("  %-10s %-7s %s", p->name, p->path ? "yes" : "no", p->purpose);
        if (p->path) printf(": %s%s%s", p->path, p->version ? ", " : "", p->version ? p->version : "");
        putchar('\n');
        if (!p->path && p->fix) printf("  %19sfix: %s\n", "", p->fix);
    }
}

/* ---- JSON ---- */

static void json_sensors(const struct findings *f, struct wl_json *root)
{
    static const char *const states[] = {
        [WL_SENSOR_OPEN] = "open", [WL_SENSOR_UNAVAILABLE] = "unavailable", [WL_SENSOR_UNUSED] = "unused"
    };
    struct wl_json *list = wl_json_add_array(root, "sensors");
    for (size_t i = 0; i < f->sensors->n_info; i++) {
        const struct wl_sensor_info *info = &f->sensors->info[i];
        bool open = info->state == WL_SENSOR_OPEN;
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "name", info->name);
        wl_json_add_str(o, "state", states[info->state]);
        wl_json_add_str(o, "source", info->source);
        wl_json_add_str(o, "reason", info->reason);
        wl_json_add_str(o, "fix", info->fix);
        wl_json_add_real(o, "read_s", info->read_s);
        wl_json_add_real(o, "highest_rate_hz", open ? highest_rate_hz(info) : NAN);
    }
}

static void json_channels(const struct findings *f, struct wl_json *root)
{
    struct wl_json *list = wl_json_add_array(root, "channels");
    for (size_t i = 0; i < f->sensors->n_channels; i++) {
        const struct wl_channel *c = &f->sensors->channels[i];
        const struct wl_device *d = &f->sensors->devices[c->device];
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "sensor", d->sensor);
        wl_json_add_str(o, "device", d->name);
        wl_json_add_str(o, "uuid", d->uuid);
        wl_json_add_str(o, "bus_id", d->bus_id);
        wl_json_add_str(o, "scope", wl_scope_name(c->scope));
        wl_json_add_str(o, "quantity", wl_quantity_name(c->quantity));
        wl_json_add_str(o, "variant", wl_variant_name(c->variant));
        wl_json_add_str(o, "unit", wl_quantity_unit(c->quantity));
        wl_json_add_bool(o, "estimated", c->estimated);
        wl_json_add_bool(o, "simulated", c->simulated);
        struct wl_gauge g = wl_gauge_of(d, c);
        wl_json_add_real(o, "update_s", g.update_s);
        wl_json_add_real(o, "window_s", g.window_s);
        wl_json_add_real(o, "delay_s", g.delay_s);
        wl_json_add_str(o, "calibrated", c->calibration ? c->calibration->date : NULL);
        wl_json_add_real(o, "latest", f->latest[i]);
        wl_json_add_int(o, "good", (int64_t)f->channels[i].samples);
        wl_json_add_int(o, "failed", (int64_t)f->channels[i].errors);
        wl_json_add_str(o, "last_failure", f->channels[i].last_why);
    }
}

static void json_devices(const struct findings *f, struct wl_json *root)
{
    struct wl_json *list = wl_json_add_array(root, "devices");
    for (size_t i = 0; i < f->sensors->n_devices; i++) {
        const struct wl_device *d = &f->sensors->devices[i];
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "sensor", d->sensor);
        wl_json_add_str(o, "name", d->name);
        wl_json_add_str(o, "uuid", d->uuid);
        wl_json_add_str(o, "bus_id", d->bus_id);
        for (size_t k = 0; k < d->n_facts; k++) wl_json_add_str(o, d->facts[k].key, d->facts[k].value);
    }
    struct wl_json *notes = wl_json_add_array(root, "notes");
    for (size_t i = 0; i < f->notes.n; i++) wl_json_add_str(notes, NULL, f->notes.v[i]);
}

static void json_machine(const struct findings *f, struct wl_json *root)
{
    const struct doctor_machine *m = &f->machine;
    struct wl_json *o = wl_json_add_object(root, "machine");
    wl_json_add_str(o, "host", m->host);
    wl_json_add_str(o, "kernel", m->kernel);
    wl_json_add_str(o, "cpu", m->cpu);
    wl_json_add_int(o, "cpus", m->cpus);
    wl_json_add_int(o, "usable_cpus", m->usable_cpus);
    wl_json_add_real(o, "memory_bytes", m->memory_bytes);
    struct wl_json *list = wl_json_add_array(root, "programs");
    for (size_t i = 0; i < f->n_programs; i++) {
        const struct doctor_program *p = &f->programs[i];
        struct wl_json *row = wl_json_add_object(list, NULL);
        wl_json_add_str(row, "name", p->name);
        wl_json_add_str(row, "purpose", p->purpose);
        wl_json_add_str(row, "path", p->path);
        wl_json_add_str(row, "version", p->version);
        wl_json_add_str(row, "fix", p->path ? NULL : p->fix);
    }
}

static void json_sampler(const struct findings *f, struct wl_json *root)
{
    const struct wl_sampler_stats *s = &f->sampler;
    struct wl_json *o = wl_json_add_object(root, "sampler");
    wl_json_add_real(o, "sampled_s", f->sampled_s);
    wl_json_add_real(o, "period_s", s->period_s);
    wl_json_add_real(o, "achieved_period_s", s->achieved_period_s);
    wl_json_add_int(o, "ticks", (int64_t)s->ticks);
    wl_json_add_int(o, "skipped", (int64_t)s->skipped);
    wl_json_add_int(o, "failed", (int64_t)s->errors);
    wl_json_add_int(o, "threads", s->threads);
    wl_json_add_real(o, "cpu_share_pct", cpu_share_pct(f));
    wl_json_add_int(o, "memory_bytes", (int64_t)s->memory_bytes);
}

static void print_json(const struct findings *f, struct wl_arena *a)
{
    struct wl_json *root = wl_json_root_object(a);
    wl_json_add_str(root, "version", WL_VERSION);
    json_machine(f, root);
    json_sensors(f, root);
    json_channels(f, root);
    json_devices(f, root);
    doctor_caps_json(&f->caps, root);
    wl_json_add_str(root, "energy_from", f->basis);
    json_sampler(f, root);
    wl_json_print(root, stdout);
}

static int run(void *options, const struct wl_rest *rest, struct wl_arena *a, struct wl_err *e)
{
    const struct doctor_options *o = options;
    size_t most = o->calibration.asked ? 1 : 0;
    if (rest->args.n > most)
        return wl_fail(e, WL_EUSAGE, "doctor takes no argument '%s'%s", rest->args.v[most],
                       most ? "" : " without --calibrate");
    if (o->calibration.asked)
        return doctor_calibrate(&o->calibration, &o->power, rest->args.n ? rest->args.v[0] : NULL, o->json, a, e);
    struct findings f = { 0 };
    int code = find(&f, o, a, e);
    if (code < 0) return code;
    if (o->json) {
        print_json(&f, a);
        return WL_EXIT_OK;
    }
    print_machine(&f.machine, a);
    print_sensors(f.sensors, a);
    print_channels(&f, a);
    print_devices(&f);
    doctor_caps_print(&f.caps, a);
    print_sampler(&f);
    print_programs(&f);
    return WL_EXIT_OK;
}

const struct wl_cmd wl_cmd_doctor = {
    .name = "doctor",
    .usage = "[options] [--calibrate [DEVICE]]",
    .help = "what can be measured and capped here, and the exact command that would fix what cannot",
    .more =
        "Every sensor is tried, sampled for a second and listed with what it reads, how fast it can be read and, "
        "where\n"
        "it cannot, the reason and the fix. A sensor that is named with --sensors and cannot be read is an error.\n\n"
        "  wattlaw doctor --sensors rapl && echo CPU energy can be measured\n"
        "  wattlaw doctor --calibrate 0     how GPU 0's power sensors show what they measure, in a quarter of a minute",
    .options = doctor_rows,
    .options_size = sizeof(struct doctor_options),
    .run = run,
};

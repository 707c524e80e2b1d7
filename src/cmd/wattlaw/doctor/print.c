/* What `wattlaw doctor` found, as text. */
#include "cmd/wattlaw/doctor/doctor.h"

#include "cmd/wattlaw/screen.h"

#include <math.h>

static const char *const state_words[] = {
    [WL_SENSOR_OPEN] = "yes", [WL_SENSOR_UNAVAILABLE] = "no", [WL_SENSOR_UNUSED] = "unused"
};

static void print_machine(const struct wl_doctor_machine *m, struct wl_arena *a)
{
    wl_print("Machine\n  %s, %s\n  %s, %d CPUs", m->host, m->kernel, m->cpu, m->cpus);
    if (m->usable_cpus != m->cpus) wl_print(" (%d usable here)", m->usable_cpus);
    wl_print(", %s of memory\n", wl_human_bytes(a, m->memory_bytes));
}

static void print_sensors(const struct wl_sensors *s, struct wl_arena *a)
{
    wl_print("\nSensors\n");
    for (size_t i = 0; i < s->n_info; i++) {
        const struct wl_sensor_info *info = &s->info[i];
        wl_print("  %-10s ", info->name);
        wl_fprint_in(WL_STDOUT, info->state == WL_SENSOR_OPEN ? WL_GOOD : WL_PLAIN, "%-7s", state_words[info->state]);
        wl_print(" %s\n", info->help);
        if (info->source) wl_print("  %19s%s\n", "", info->source);
        if (info->state == WL_SENSOR_OPEN)
            wl_print("  %19s%zu channels; a reading takes %s: up to %.0f Hz\n", "", info->n_channels,
                     wl_human_time(a, info->read_s), wl_doctor_highest_rate_hz(info));
        if (info->reason) wl_print("  %19s%s\n", "", info->reason);
        if (info->fix) wl_print("  %19sfix: %s\n", "", info->fix);
    }
}

static enum wl_provenance provenance_of(const struct wl_channel *c)
{
    return wl_provenance_of(c->estimated, c->simulated);
}

/* The last failure, else the sensor's response: update period, window and delay. */
static const char *note_of(const struct wl_doctor_findings *f, size_t i, struct wl_arena *a)
{
    const struct wl_channel *c = &f->sensors->channels[i];
    struct wl_sensor_response g = wl_sensor_response_of(&f->sensors->devices[c->device], c);
    const char *shows = wl_sensor_response_text(&g, c->calibration ? c->calibration->date : NULL, a);
    if (f->channels[i].last_why) return f->channels[i].last_why;
    return shows;
}

static void print_channels(const struct wl_doctor_findings *f, bool all, struct wl_arena *a)
{
    const struct wl_sensors *s = f->sensors;
    if (s->n_channels == 0) return;
    wl_print("\nReadings (%.3g s at %.3g Hz)\n", f->sampled_s, 1 / f->sampler.period_s);
    struct wl_table t = wl_table_new(a);
    static const char *const heads[] = { "  device", "scope", "quantity", "kind" };
    for (size_t i = 0; i < WL_COUNT(heads); i++) wl_table_column(&t, heads[i], false);
    wl_table_provenance_column(&t);
    wl_table_column(&t, "latest", true);
    wl_table_column(&t, "unit", false);
    wl_table_column(&t, "good", true);
    wl_table_column(&t, "failed", true);
    wl_table_column(&t, "update period", true);
    wl_table_column(&t, "note", false);
    for (size_t i = 0; i < s->n_channels; i++) {
        const struct wl_channel *c = &s->channels[i];
        const struct wl_device *d = &s->devices[c->device];
        if (d->bus_id) /* the index distinguishes GPUs of one product */
            wl_table_cellf(&t, "  %d: %s", d->index, d->name);
        else
            wl_table_cellf(&t, "  %s", d->name);
        wl_table_cell(&t, wl_scope_name(c->scope));
        wl_table_cell(&t, wl_quantity_name(c->quantity));
        wl_table_cell(&t, wl_variant_name(c->variant));
        const struct wl_amount latest = wl_amount_of(f->latest[i], wl_quantity_unit(c->quantity), provenance_of(c));
        wl_table_provenance(&t, latest.from);
        wl_table_amount(&t, &latest, 5);
        wl_table_cell(&t, wl_quantity_unit(c->quantity));
        wl_table_cellf(&t, "%llu", (unsigned long long)f->channels[i].samples);
        wl_table_cellf(&t, "%llu", (unsigned long long)f->channels[i].errors);
        wl_table_cell(&t, isnan(c->update_s) ? "" : wl_human(a, c->update_s, "s"));
        wl_table_cell(&t, note_of(f, i, a));
        wl_table_row(&t);
    }
    wl_table_keep(&t, "quantity");
    wl_screen_table(&t, all);
}

/* Facts about devices, and notes on their readings. */
static void print_devices(const struct wl_doctor_findings *f)
{
    const struct wl_sensors *s = f->sensors;
    bool any = false;
    for (size_t i = 0; i < s->n_devices; i++) {
        const struct wl_device *d = &s->devices[i];
        if (d->n_facts == 0) continue;
        if (!any) wl_print("\nDevices\n");
        any = true;
        wl_print("  %d: %s, %s%s%s\n   ", d->index, d->name, d->uuid, d->bus_id ? ", " : "",
                 d->bus_id ? d->bus_id : "");
        for (size_t k = 0; k < d->n_facts; k++)
            wl_print("%s %s %s", k > 0 ? "," : "", d->facts[k].key, d->facts[k].value);
        wl_print("\n");
    }
    for (size_t i = 0; i < f->notes.n; i++) wl_print("  note: %s\n", f->notes.v[i]);
}

static void print_sampler(const struct wl_doctor_findings *f)
{
    const struct wl_sampler_stats *s = &f->sampler;
    wl_print("\nSampling\n");
    if (f->basis)
        wl_print("  the energy of a run comes from: %s\n", f->basis);
    else
        wl_print("  no energy: nothing here measures or estimates energy\n");
    wl_print("  period %.4g ms requested, ", 1e3 * s->period_s);
    if (isfinite(s->achieved_period_s)) wl_print("%.4g ms achieved, ", 1e3 * s->achieved_period_s);
    wl_print("%llu ticks skipped, %d thread%s, %.2f %% of one core\n", (unsigned long long)s->skipped, s->threads,
             s->threads == 1 ? "" : "s", wl_doctor_cpu_share_pct(f));
}

/* What happens to a job's processes when wattlaw is killed. */
static void print_jobs(const struct wl_doctor_machine *m)
{
    wl_print("\nJobs\n");
    if (m->job_cgroups) {
        wl_print("  each in its own cgroup below %s: none of its processes outlives wattlaw\n", m->job_cgroups);
        return;
    }
    wl_print(
        "  without their own cgroup: %s\n"
        "  if wattlaw and its guard are both killed by SIGKILL, processes that cleared their environment survive;\n"
        "  processes that fork without pause may take long to end\n"
        "  fix: systemd-run --user --scope -p Delegate=yes wattlaw ...\n",
        m->no_cgroups);
}

static void print_programs(const struct wl_doctor_findings *f)
{
    wl_print("\nPrograms\n");
    for (size_t i = 0; i < f->n_programs; i++) {
        const struct wl_doctor_program *p = &f->programs[i];
        wl_print("  %-10s %-7s %s", p->name, p->path ? "yes" : "no", p->purpose);
        if (p->path) wl_print(": %s%s%s", p->path, p->version ? ", " : "", p->version ? p->version : "");
        wl_print("\n");
        if (!p->path && p->fix) wl_print("  %19sfix: %s\n", "", p->fix);
    }
}

void wl_doctor_print(const struct wl_doctor_findings *f, bool all, struct wl_arena *a)
{
    print_machine(&f->machine, a);
    print_sensors(f->sensors, a);
    print_channels(f, all, a);
    print_devices(f);
    wl_doctor_caps_print(&f->caps, a);
    print_sampler(f);
    print_jobs(&f->machine);
    print_programs(f);
    wl_doctor_training_print(&f->training, a);
}

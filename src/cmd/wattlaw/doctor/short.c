/* What `wattlaw doctor` found, on one screen: first whether energy is measured, and what to do where it is not. */
#include "cmd/wattlaw/doctor/doctor.h"
#include "cmd/wattlaw/screen.h"

#include <math.h>

static bool is_estimated(const struct wl_sensors *s)
{
    bool measured = false, estimated = false;
    for (size_t i = 0; i < s->n_channels; i++) {
        const struct wl_channel *c = &s->channels[i];
        if (c->quantity != WL_POWER && c->quantity != WL_ENERGY) continue;
        measured |= !c->estimated && !c->simulated;
        estimated |= c->estimated;
    }
    return estimated && !measured;
}

static void print_energy(const struct wl_doctor_findings *f)
{
    wl_print("energy     ");
    if (!f->basis)
        wl_fprint_in(WL_STDOUT, WL_BAD, "no: nothing here measures or estimates energy");
    else
        wl_fprint_in(WL_STDOUT, is_estimated(f->sensors) ? WL_CAUTION : WL_GOOD, "yes: %s", f->basis);
    wl_print("\n");
}

/* "sensors    yes: rapl, proc" */
static void print_state(const struct wl_sensors *s, enum wl_sensor_state state, const char *label, const char *word,
                        struct wl_arena *a)
{
    struct wl_text names = WL_TEXT(a);
    for (size_t i = 0; i < s->n_info; i++)
        if (s->info[i].state == state) wl_text_addf(&names, "%s%s", names.n ? ", " : "", s->info[i].name);
    if (!names.n) return;
    wl_print("%-10s ", label);
    wl_fprint_in(WL_STDOUT, state == WL_SENSOR_OPEN ? WL_GOOD : WL_PLAIN, "%s", word);
    wl_print(": %s\n", names.s);
}

static void print_sensors(const struct wl_doctor_findings *f, struct wl_arena *a)
{
    const struct wl_sensors *s = f->sensors;
    print_state(s, WL_SENSOR_OPEN, "sensors", "yes", a);
    print_state(s, WL_SENSOR_UNAVAILABLE, "", "no", a);
    print_state(s, WL_SENSOR_UNUSED, "", "unused", a);
    for (size_t i = 0; i < s->n_info; i++)
        if (s->info[i].state != WL_SENSOR_OPEN && s->info[i].fix)
            wl_print("%-10s %s: %s\n%-10s fix: %s\n", "", s->info[i].name,
                     s->info[i].reason ? s->info[i].reason : "off", "", s->info[i].fix);
}

static void print_failures(const struct wl_doctor_findings *f)
{
    const struct wl_sensors *s = f->sensors;
    for (size_t i = 0; i < s->n_channels; i++) {
        const struct wl_channel *c = &s->channels[i];
        if (!f->channels[i].errors) continue;
        wl_fprint_in(WL_STDOUT, WL_CAUTION, "%-10s", "failing");
        wl_print(" %s of %s: %s\n", wl_quantity_name(c->quantity), s->devices[c->device].name,
                 f->channels[i].last_why ? f->channels[i].last_why : "the reason was not recorded");
    }
    for (size_t i = 0; i < f->notes.n; i++) wl_print("%-10s %s\n", "note", f->notes.v[i]);
}

static void print_caps(const struct wl_doctor_caps *c)
{
    wl_print("caps       ");
    for (int k = 0; k < WL_CAP_KINDS; k++) {
        wl_print("%s%s ", k ? ", " : "", wl_doctor_cap_names[k]);
        wl_fprint_in(WL_STDOUT, c->can[k].why ? WL_PLAIN : WL_GOOD, c->can[k].why ? "no" : "yes");
        if (c->can[k].simulated) wl_print(" (simulated)");
    }
    wl_print("\n");
    for (int k = 0; k < WL_CAP_KINDS; k++)
        if (c->can[k].why && c->can[k].fix)
            wl_print("%-10s %s: %s\n%-10s fix: %s\n", "", wl_doctor_cap_names[k], c->can[k].why, "", c->can[k].fix);
    if (c->left_why) wl_print("%-10s left: unknown, %s\n", "", c->left_why);
    if (c->left) {
        wl_print("%-10s ", "");
        wl_fprint_in(WL_STDOUT, WL_CAUTION, "left: %zu caps of crashed runs", c->left);
        wl_print("\n%-10s fix: wattlaw restore\n", "");
    }
}

static void print_programs(const struct wl_doctor_findings *f, struct wl_arena *a)
{
    struct wl_text found = WL_TEXT(a);
    for (size_t i = 0; i < f->n_programs; i++)
        if (f->programs[i].path) wl_text_addf(&found, "%s%s", found.n ? ", " : "", f->programs[i].name);
    wl_print("programs   yes: %s\n", found.n ? found.s : "none");
    for (size_t i = 0; i < f->n_programs; i++)
        if (!f->programs[i].path)
            wl_print("%-10s no: %s (%s)%s%s\n", "", f->programs[i].name, f->programs[i].purpose,
                     f->programs[i].fix ? "; fix: " : "", f->programs[i].fix ? f->programs[i].fix : "");
}

/* The first part that is missing decides; --all has the others. */
static void print_training(const struct wl_doctor_training *t)
{
    const char *why = t->no_gpus;
    for (int i = WL_DOCTOR_PARTS; i-- > 0;)
        if (t->part[i].why) why = t->part[i].why;
    wl_print("training   on GPUs ");
    if (!why) wl_fprint_in(WL_STDOUT, WL_GOOD, "yes");
    if (!why) wl_print(": wattlaw-train --backend gpu, %d GPU%s\n", t->n_gpus, t->n_gpus == 1 ? "" : "s");
    if (why) wl_print("no: %s\n", why);
}

void wl_doctor_print_short(const struct wl_doctor_findings *f, struct wl_arena *a)
{
    const struct wl_doctor_machine *m = &f->machine;
    print_energy(f);
    print_sensors(f, a);
    print_failures(f);
    print_caps(&f->caps);
    wl_print("machine    %s: %s, %d CPUs, %s of memory\n", m->host, m->cpu, m->usable_cpus,
             wl_human_bytes(a, m->memory_bytes));
    if (f->sampler.achieved_period_s > 0)
        wl_print("sampling   every %.4g ms, %.2f %% of one core\n", 1e3 * f->sampler.achieved_period_s,
                 wl_doctor_cpu_share_pct(f));
    else
        wl_print("sampling   period unknown: a single round of readings; try a longer --for\n");
    wl_print("jobs       %s\n",
             m->job_cgroups ? "each in its own cgroup" : "without their own cgroup: processes may outlive wattlaw");
    print_programs(f, a);
    print_training(&f->training);
    wl_screen_print_rest("the reason of each \"no\", readings, devices and paths");
}

#include "cmd/wattlaw/attribution.h"
#include "cmd/wattlaw/format.h"
#include "cmd/wattlaw/screen.h"
#include "cmd/wattlaw/show/show.h"
#include "cmd/wattlaw/unused.h"
#include "cmd/wattlaw/work.h"
#include "power/power.h"

#include <math.h>
#include <string.h>

static void line(const char *name, const char *value)
{
    if (value && *value) wl_print("  %-9s %s\n", name, value);
}

/* What must not be overlooked, or is the answer. */
static void line_in(enum wl_style style, const char *name, const char *value)
{
    if (!value || !*value) return;
    wl_print("  %-9s ", name);
    wl_fprint_in(WL_STDOUT, style, "%s", value);
    wl_print("\n");
}

/* What the run was; one screen leaves out where its files are. */
static void print_origin(const struct wl_run_row *r, bool shortened, struct wl_arena *a)
{
    line("settings", wl_settings_text(&r->set, a));
    if (!shortened || r->attempt > 1)
        line("repeat", wl_strf(a, "%lld%s", (long long)r->repeat,
                               r->attempt > 1 ? wl_strf(a, ", attempt %lld", (long long)r->attempt) : ""));
    line("command", r->command);
    if (!shortened) line("folder", r->folder);
    if (!shortened) line("host", r->host);
    if (r->source) line("imported", wl_strf(a, "from a file of the format %s", r->source));
    line("training", r->training);
    line("slurm job", wl_work_slurm_job_text(&r->slurm_job, a));
    if (!shortened && r->start.wall_ns != WL_NO_NS) line("started", wl_clock_iso(a, r->start.wall_ns));
}

/* Where the batch system put it, and what it shared its nodes with. */
static void print_placement(const struct wl_show_details *d, struct wl_arena *a)
{
    if (!d->placement.n) return;
    const struct wl_placement_row *p = d->placement.v;
    struct wl_text t = WL_TEXT(a);
    if (p->nodes) wl_text_addf(&t, "nodes %s", p->nodes);
    if (p->switches) wl_text_addf(&t, "%sswitches %s", t.n ? "; " : "", p->switches);
    if (!isnan(p->queue_wait_s))
        wl_text_addf(&t, "%swaited %s in the queue", t.n ? "; " : "", wl_human_time(a, p->queue_wait_s));
    if (p->other_jobs && *p->other_jobs)
        wl_text_addf(&t, "%sother jobs on its nodes: %s", t.n ? "; " : "", p->other_jobs);
    line("placement", t.s);
}

static void print_end(const struct wl_run_row *r, struct wl_arena *a)
{
    wl_print("run %lld, %s\n", (long long)r->id, wl_run_status_names[r->status]);
    line_in(WL_BAD, "ended", wl_cmd_run_end(r, a));
    if (!isnan(r->time_s)) line_in(WL_ANSWER, "time", wl_human_time(a, r->time_s));
}

/* What its numbers must not be read without. */
static void print_circumstances(const struct wl_run_row *r, struct wl_arena *a)
{
    line("limit", r->stop_at);
    line_in(WL_CAUTION, "flagged", r->flag);
    line_in(r->load.busy ? WL_CAUTION : WL_PLAIN, "machine", wl_format_load(&r->load, r->time_s, a));
}

static void print_use(const struct wl_run_row *r, struct wl_arena *a)
{
    if (!isnan(r->util_pct)) line("util", wl_strf(a, "%.1f %%", r->util_pct));
    if (!isnan(r->input_pct)) line("input", wl_strf(a, "waited %.1f %% of the epoch time for data", r->input_pct));
    if (!isnan(r->power_capped_pct))
        line("throttled", wl_format_throttling(r->power_capped_pct, r->thermal_capped_pct, a));
    line("clocks", wl_format_clocks(r, a));
    line("cooldown", wl_format_cooldown(&r->cooldown, a));
    line("caps", wl_format_caps_acted(r, a));
}

static void print_energy(const struct wl_show_details *d, struct wl_arena *a)
{
    const struct wl_run_row *r = d->run;
    const char *why = wl_show_energy_why(d, NAN);
    const struct wl_amount energy = wl_cmd_run_energy(r), power = wl_cmd_run_power(r);
    if (isnan(energy.value))
        line("energy", why ? wl_strf(a, "unknown: %s", why) : "not measured");
    else
        line_in(WL_ANSWER, "energy", wl_strf(a, "%s, mean %s", wl_amount_text(&energy, a), wl_amount_text(&power, a)));
}

static void print_job_energy(const struct wl_show_details *d, struct wl_arena *a)
{
    const struct wl_job_energy job = wl_job_energy_of(d->attributions.v, d->attributions.n, a);
    const struct wl_strs lines = wl_job_energy_lines(&job, a);
    for (size_t i = 0; i < lines.n; i++) wl_print("  %-9s %s\n", i == 0 ? "job's" : "", lines.v[i]);
}

static void print_spans(const struct wl_show_details *d, struct wl_arena *a)
{
    const struct wl_span_row *steps = wl_work_span(d->spans.v, d->spans.n, WL_SPAN_STEPS),
                             *unsaved = wl_work_span(d->spans.v, d->spans.n, WL_SPAN_UNSAVED);
    if (steps) line("steps", wl_work_steps_text(steps, a));
    if (unsaved) line(d->run->status == WL_RUN_DONE ? "unsaved" : "lost", wl_work_unsaved_text(unsaved, a));
}

/* GPUs of the run that did nothing; with their hosts where there are several. */
static const char *unused_of(const struct wl_show_details *d, struct wl_arena *a)
{
    struct wl_gpu_use *gpus = wl_new_array(a, struct wl_gpu_use, d->stats.n);
    size_t n = 0;
    for (size_t i = 0; i < d->stats.n; i++) {
        const struct wl_channel_row *c = wl_show_channel(d, d->stats.v[i].channel);
        const struct wl_device_row *device = c ? wl_show_device(d, c->device) : NULL;
        if (!device || !isnan(d->stats.v[i].epoch) || wl_quantity_from(c->quantity) != WL_SM_UTIL) continue;
        gpus[n++] = (struct wl_gpu_use) { d->nodes.n > 1 ? device->host : NULL, device->number, d->stats.v[i].mean };
    }
    return wl_unused_gpus(gpus, n, a);
}

/* The longest reading period among the power and energy channels, over the run: a sensor may be read less often than
 * the sampler's threads tick. NAN: unknown. */
static double slowest_s(const struct wl_show_details *d)
{
    double slowest = NAN;
    for (size_t i = 0; i < d->stats.n; i++) {
        const struct wl_channel_row *c = wl_show_channel(d, d->stats.v[i].channel);
        int quantity = c && isnan(d->stats.v[i].epoch) ? wl_quantity_from(c->quantity) : -1;
        if (quantity == WL_POWER || quantity == WL_ENERGY) slowest = fmax(slowest, d->stats.v[i].period_s);
    }
    return slowest;
}

static void print_sampling(const struct wl_show_details *d, struct wl_arena *a)
{
    const struct wl_run_row *r = d->run;
    struct wl_text t = WL_TEXT(a);
    if (!isnan(r->sampling_period_s)) wl_text_addf(&t, "one tick every %s", wl_human(a, r->sampling_period_s, "s"));
    if (!isnan(r->sampling_asked_s)) wl_text_addf(&t, " (requested: %s)", wl_human(a, r->sampling_asked_s, "s"));
    double slowest = slowest_s(d);
    if (!isnan(slowest)) wl_text_addf(&t, ", power and energy every %s (slowest channel)", wl_human(a, slowest, "s"));
    if (!isnan(r->ticks)) wl_text_addf(&t, ", %.0f ticks", r->ticks);
    if (!isnan(r->ticks_skipped)) wl_text_addf(&t, ", %.0f skipped", r->ticks_skipped);
    if (!isnan(r->samples_lost)) wl_text_addf(&t, ", %.0f readings lost", r->samples_lost);
    if (!isnan(r->own_cpu_s)) wl_text_addf(&t, ", %s of CPU time", wl_human(a, r->own_cpu_s, "s"));
    if (!isnan(r->sampler_cpu)) wl_text_addf(&t, ", on CPU %.0f", r->sampler_cpu);
    line("sampling", wl_str_starts(t.s, ", ") ? t.s + 2 : t.s);
}

/* The names of all metrics, in the order of first appearance. */
static struct wl_strs metric_names(const struct wl_show_details *d, struct wl_arena *a)
{
    struct wl_strs names = { 0 };
    for (size_t i = 0; i < d->metrics.n; i++) {
        bool known = isnan(d->metrics.v[i].epoch);
        for (size_t k = 0; k < names.n; k++) known = known || strcmp(names.v[k], d->metrics.v[i].name) == 0;
        if (!known) wl_strs_add(a, &names, d->metrics.v[i].name);
    }
    return names;
}

static double metric_at(const struct wl_show_details *d, double epoch, const char *name)
{
    for (size_t i = 0; i < d->metrics.n; i++)
        if (d->metrics.v[i].epoch == epoch && strcmp(d->metrics.v[i].name, name) == 0) return d->metrics.v[i].value;
    return NAN;
}

/* The time that an epoch waited for data is shown as a share of the epoch's time. */
static bool is_wait(const char *metric) { return wl_str_eq(metric, "input_s"); }

static double metric_shown(const struct wl_show_details *d, const struct wl_epoch_row *epoch, const char *metric)
{
    double value = metric_at(d, (double)epoch->epoch, metric);
    return is_wait(metric) ? 100 * value / epoch->time_s : value;
}

/* "val_mae meV": with its unit, like the other heads. */
static const char *metric_head(const struct wl_show_details *d, const char *metric, struct wl_arena *a)
{
    if (is_wait(metric)) return "input %";
    for (size_t i = 0; i < d->metric_defs.n; i++) {
        const struct wl_metric_def_row *v = &d->metric_defs.v[i];
        if (wl_str_eq(v->name, metric) && v->unit) return wl_strf(a, "%s %s", metric, v->unit);
    }
    return metric;
}

static void print_epochs(const struct wl_show_details *d, bool shortened, struct wl_arena *a)
{
    enum { SHOWN = 6 };
    const size_t from = shortened && d->epochs.n > SHOWN ? d->epochs.n - SHOWN : 0;
    struct wl_strs metrics = metric_names(d, a);
    struct wl_table t = wl_table_new(a);
    wl_table_column(&t, "epoch", true);
    wl_table_unit_column(&t, "time s", "time", "s", 5);
    wl_table_column(&t, "samples/s", true);
    wl_table_column(&t, "updates", true);
    wl_table_provenance_column(&t);
    wl_table_unit_column(&t, "energy J", "energy", "J", 4);
    wl_table_unit_column(&t, "power W", "power", "W", 4);
    for (size_t i = 0; i < metrics.n; i++) wl_table_column(&t, metric_head(d, metrics.v[i], a), true);
    for (size_t i = from; i < d->epochs.n; i++) {
        const struct wl_epoch_row *v = &d->epochs.v[i];
        const struct wl_amount energy = wl_show_epoch_energy(d, v->epoch),
                               power = wl_amount_of(energy.value / v->time_s, "W", energy.from);
        wl_table_cellf(&t, "%lld", (long long)v->epoch);
        wl_table_aligned(&t, v->time_s);
        wl_table_real(&t, v->samples / v->time_s, 4);
        wl_table_int(&t, v->updates);
        wl_table_provenance(&t, isnan(energy.value) ? WL_MEASURED : energy.from);
        wl_table_amount(&t, &energy, 0);
        wl_table_amount(&t, &power, 0);
        for (size_t k = 0; k < metrics.n; k++) wl_table_real(&t, metric_shown(d, v, metrics.v[k]), 4);
        wl_table_row(&t);
    }
    if (!d->epochs.n) return;
    wl_print("\n");
    if (from) wl_print("the last %d of %zu epochs\n", SHOWN, d->epochs.n);
    wl_screen_table(&t, d->all);
}

/* Why epochs have no energy. */
static void print_missing(const struct wl_show_details *d)
{
    for (size_t i = 0; i < d->epochs.n; i++) {
        const char *why = wl_show_energy_why(d, (double)d->epochs.v[i].epoch);
        if (why) wl_print("energy of epoch %lld unknown: %s\n", (long long)d->epochs.v[i].epoch, why);
    }
}

static void print_log_tail(const struct wl_run_row *r, struct wl_arena *a)
{
    struct wl_strs lines = wl_str_split(a, r->log_tail ? r->log_tail : "", '\n');
    if (lines.n) wl_print("\nlast lines of the log\n");
    for (size_t i = 0; i < lines.n; i++)
        if (*lines.v[i] || i + 1 < lines.n) wl_print("  | %s\n", lines.v[i]);
}

/* Messages of wattlaw during the run: caps found and enforced, marks ignored. */
static void print_notes(const struct wl_show_details *d, bool shortened)
{
    bool any = false;
    for (size_t i = 0; i < d->log.n; i++) {
        if (shortened && wl_str_eq(d->log.v[i].level, "info")) continue;
        if (!any) wl_print("\nnotes\n");
        wl_print("  %-5s %-4s %s\n", d->log.v[i].level, d->log.v[i].area, d->log.v[i].message);
        any = true;
    }
}

void wl_show_text(const struct wl_show_details *d, struct wl_arena *a)
{
    const bool shortened = wl_screen_is_short(d->all);
    print_end(d->run, a);
    const bool job_first = wl_str_eq(d->attribute, "job");
    if (job_first) print_job_energy(d, a);
    print_energy(d, a);
    if (!job_first) print_job_energy(d, a);
    print_spans(d, a);
    line("slurm", wl_format_slurm_energy(&d->run->slurm, a));
    print_circumstances(d->run, a);
    print_use(d->run, a);
    line("not used", unused_of(d, a));
    print_origin(d->run, shortened, a);
    print_placement(d, a);
    if (!shortened) print_sampling(d, a);
    if (!shortened) wl_show_energies(d, a);
    if (!shortened) wl_show_caps(d, a);
    if (!shortened) wl_show_nodes(d, a);
    print_epochs(d, shortened, a);
    print_missing(d);
    if (!shortened) wl_show_phases(d, a);
    if (!shortened) wl_show_channels(d, a);
    if (d->rules) {
        wl_print("\n");
        wl_rules_print(d->rules, WL_STDOUT, a);
    }
    print_notes(d, shortened);
    if (d->run->status != WL_RUN_DONE) print_log_tail(d->run, a);
    if (shortened) wl_screen_print_rest("energy by device, caps, nodes, all epochs, phases, sensors, sampling");
}

/* The summary as text. */
#include "cmd/wattlaw/measure/summary.h"

#include "cmd/wattlaw/attribution.h"
#include "cmd/wattlaw/format.h"
#include "cmd/wattlaw/stop_at.h"
#include "cmd/wattlaw/store.h"
#include "cmd/wattlaw/totals.h"
#include "cmd/wattlaw/unused.h"
#include "cmd/wattlaw/work.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The entry of a scope to print: the chosen one, else one with a known energy. */
static const struct wl_scope_total *best_of(const struct wl_scope_total *sums, size_t n, const char *scope)
{
    const struct wl_scope_total *best = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!wl_str_eq(sums[i].scope, scope)) continue;
        if (!best || (sums[i].chosen && !best->chosen) || (isnan(best->energy.value) && !best->chosen)) best = &sums[i];
    }
    return best;
}

/* Devices of one scope may count by different methods; show --run lists them. */
static const char *method_words(const char *method)
{
    if (wl_str_eq(method, "combined")) return "counter, with the integral where it was not read";
    return wl_str_eq(method, "mixed") ? "counter or integral, whichever covers each device better" : method;
}

/* The second method checks the first one, except for a model, where both are the same. */
static void print_check(const struct wl_scope_total *sums, size_t n, const struct wl_scope_total *best,
                        struct wl_arena *a)
{
    for (size_t i = 0; i < n; i++) {
        const struct wl_scope_total *other = &sums[i];
        if (!wl_str_eq(other->scope, best->scope) || other == best || (best->energy.from & WL_ESTIMATED) ||
            isnan(other->energy.value))
            continue;
        if (other->devices != best->devices || wl_str_eq(best->method, "mixed")) continue;
        bool counted = wl_str_eq(best->method, "counter");
        const double counter_j = counted ? best->energy.value : other->energy.value,
                     integral_j = counted ? other->energy.value : best->energy.value;
        const struct wl_amount value = wl_amount_of(other->energy.value, "J", other->energy.from);
        wl_eprint("; %s by %s%s", wl_amount_text(&value, a), other->method,
                  wl_format_counter_ratio(counter_j, integral_j, a));
    }
}

/* Idle power before and after the command, summed over the devices of the scope. */
static void print_above_idle(const struct wl_run_result *r, const struct wl_scope_total *sum, struct wl_arena *a)
{
    double before_w = 0, after_w = 0;
    for (size_t i = 0; i < r->derived.n_energies; i++) {
        const struct wl_energy_row *row = &r->derived.energies[i];
        bool of_sum = sum->chosen ? row->chosen : wl_str_eq(row->method, sum->method);
        if (!wl_totals_is_whole_run(row->epoch) || !wl_str_eq(row->scope, sum->scope) || !of_sum) continue;
        before_w += row->idle_before_w;
        after_w += row->idle_after_w;
    }
    const enum wl_provenance from = sum->energy.from;
    if (isnan(sum->idle.value)) {
        if (!isnan(before_w) || !isnan(after_w))
            wl_eprint("  above idle   unknown: others used the machine while its idle power was measured\n");
        return;
    }
    const struct wl_amount above = wl_amount_of(sum->energy.value - sum->idle.value, "J", from),
                           before = wl_amount_of(before_w, "W", from), after = wl_amount_of(after_w, "W", from);
    wl_eprint("  above idle   %s: idle power %s before and %s after the command\n", wl_amount_text(&above, a),
              wl_amount_text(&before, a), wl_amount_text(&after, a));
}

/* One line per scope. */
static void print_energies(const struct wl_run_result *r, struct wl_arena *a)
{
    struct wl_scope_total *sums = wl_new_array(a, struct wl_scope_total, 2 * r->derived.n_energies);
    size_t n = wl_totals_by_scope(r, sums);
    if (n == 0) wl_eprint("  energy       not measured: see wattlaw doctor\n");
    for (size_t i = 0; i < n; i++) {
        const struct wl_scope_total *best = best_of(sums, n, sums[i].scope);
        bool said = false;
        for (size_t k = 0; k < i; k++) said = said || wl_str_eq(sums[k].scope, best->scope);
        if (said || (isnan(best->energy.value) && !best->chosen)) continue;
        if (isnan(best->energy.value)) {
            wl_eprint("  energy       unknown, %s: %s\n", best->scope,
                      best->why ? best->why : "the reason was not recorded");
            continue;
        }
        wl_eprint("  energy       ");
        wl_fprint_in(WL_STDERR, WL_ANSWER, "%s", wl_amount_text(&best->energy, a));
        wl_eprint(", mean %s, %s", wl_amount_text(&best->mean, a), best->scope);
        if (!(best->energy.from & WL_ESTIMATED)) wl_eprint(" by %s", method_words(best->method));
        print_check(sums, n, best, a);
        wl_eprint("\n");
        print_above_idle(r, best, a);
    }
}

static void print_utilisation(const struct wl_run_result *r, struct wl_arena *a)
{
    static const struct {
        enum wl_quantity quantity;
        const char *what;
    } shown[] = { { WL_CPU_UTIL, "CPU busy" }, { WL_SM_UTIL, "GPU busy" }, { WL_RSS, "memory" } };
    for (size_t i = 0; i < r->derived.n_stats; i++) {
        const struct wl_stat_row *row = &r->derived.stats[i];
        const struct wl_channel *c = wl_totals_channel(r, row->channel);
        if (!c || !wl_totals_is_whole_run(row->epoch) || isnan(row->mean)) continue;
        for (size_t k = 0; k < WL_COUNT(shown); k++) {
            if (c->quantity != shown[k].quantity || (c->quantity == WL_RSS && isnan(row->max))) continue;
            if (c->quantity == WL_RSS)
                wl_eprint("  %-12s at most %s\n", shown[k].what, wl_human_bytes(a, row->max));
            else if (c->scope == WL_SCOPE_NODE)
                wl_eprint("  %-12s %.1f %% of the machine\n", shown[k].what, row->mean);
            else
                wl_eprint("  %-12s %.1f %% (%s)\n", shown[k].what, row->mean, r->sensors->devices[c->device].name);
        }
    }
}

static void print_unused(const struct wl_run_result *r, struct wl_arena *a)
{
    struct wl_gpu_use *gpus = wl_new_array(a, struct wl_gpu_use, r->derived.n_stats);
    size_t n = 0;
    for (size_t i = 0; i < r->derived.n_stats; i++) {
        const struct wl_stat_row *row = &r->derived.stats[i];
        const struct wl_channel *c = wl_totals_channel(r, row->channel);
        if (c && c->quantity == WL_SM_UTIL && wl_totals_is_whole_run(row->epoch))
            gpus[n++] = (struct wl_gpu_use) { NULL, r->sensors->devices[c->device].index, row->mean };
    }
    const char *text = wl_unused_gpus(gpus, n, a);
    if (text) wl_eprint("  not used     %s\n", text);
}

static void print_epochs(const struct wl_run_result *r, int64_t run, struct wl_arena *a)
{
    enum { SHOWN = 20, ON_SCREEN = 8 };
    const size_t n = r->derived.n_epochs, most = wl_out_width(WL_STDERR) ? ON_SCREEN : SHOWN;
    const size_t from = n > most ? n - most : 0;
    if (from)
        wl_eprint("  epochs       the last %zu of %zu (wattlaw show --run %lld has all)\n", most, n, (long long)run);
    for (size_t i = from; i < n; i++) {
        const struct wl_epoch_row *row = &r->derived.epochs[i];
        const struct wl_amount energy = wl_totals_energy(r, (double)row->epoch);
        wl_eprint("  epoch %-6lld %s", (long long)row->epoch, wl_human_time(a, row->time_s));
        const char *why = wl_totals_why_missing(r, (double)row->epoch);
        if (!isnan(energy.value))
            wl_eprint(", %s", wl_amount_text(&energy, a));
        else if (why)
            wl_eprint(", energy unknown: %s", why);
        if (row->samples > 0 && row->time_s > 0) wl_eprint(", %.1f samples/s", row->samples / row->time_s);
        wl_eprint("\n");
    }
    if (r->broken_marks) wl_eprint("  marks        %lld invalid lines ignored\n", (long long)r->broken_marks);
}

static void print_spans(const struct wl_run_result *r, struct wl_arena *a)
{
    const struct wl_span_row *steps = wl_work_span(r->derived.spans, r->derived.n_spans, WL_SPAN_STEPS),
                             *unsaved = wl_work_span(r->derived.spans, r->derived.n_spans, WL_SPAN_UNSAVED);
    if (steps) wl_eprint("  steps        %s\n", wl_work_steps_text(steps, a));
    if (unsaved && r->status != WL_RUN_DONE) wl_eprint("  lost         %s\n", wl_work_unsaved_text(unsaved, a));
}

static void print_throttling(const struct wl_run_result *r, struct wl_arena *a)
{
    double power_pct = wl_totals_throttled_pct(r, WL_POWER_CAPPED),
           thermal_pct = wl_totals_throttled_pct(r, WL_THERMAL_CAPPED);
    if (!isnan(power_pct)) wl_eprint("  throttled    %s\n", wl_format_throttling(power_pct, thermal_pct, a));
}

static void print_update_period(const struct wl_run_result *r, struct wl_arena *a)
{
    const struct wl_channel *c = wl_totals_slowest_power(r);
    if (!c) return;
    struct wl_sensor_response g = wl_sensor_response_of(&r->sensors->devices[c->device], c);
    const char *shows = wl_sensor_response_text(&g, c->calibration ? c->calibration->date : NULL, a);
    wl_eprint(", power updated every %s%s%s", wl_human_time(a, c->update_s), shows ? " and " : "", shows ? shows : "");
}

static void print_caps(const struct wl_run_result *r, struct wl_arena *a)
{
    for (size_t i = 0; i < r->n_caps; i++) {
        wl_eprint("  cap          %s\n", wl_cap_describe(&r->caps[i], a));
        if (r->achieved && r->achieved[i]) wl_eprint("  achieved     %s\n", r->achieved[i]);
    }
}

static void print_footprint(const struct wl_run_result *r, const struct wl_footprint *f, struct wl_arena *a)
{
    const struct wl_amount energy = wl_totals_energy(r, NAN);
    if (!isnan(energy.value)) wl_cmd_footprint_print(f, &energy, 12, WL_STDERR, a);
}

/* The job's part says something where others used the machine, or the job may not use all of it. */
static void print_job_energy(const struct wl_run_result *r, bool always, struct wl_arena *a)
{
    const struct wl_derived *d = &r->derived;
    const struct wl_job_energy job = wl_job_energy_of(d->attributions, d->n_attributions, a);
    const struct wl_strs lines = wl_job_energy_lines(&job, a);
    if (!always && !(d->load && d->load->busy) && !(job.reserved.lo < 1)) return;
    for (size_t i = 0; i < lines.n; i++) wl_eprint("  %-12s %s\n", i == 0 ? "job's energy" : "", lines.v[i]);
}

static void print_caution(const char *name, const char *text)
{
    wl_eprint("  ");
    wl_fprint_in(WL_STDERR, WL_CAUTION, "%-12s", name);
    wl_eprint(" %s\n", text);
}

void wl_measure_print(const struct wl_run_result *r, int64_t run, const char *store, const char *attribute,
                      const struct wl_footprint *f, const struct wl_run_limits *limits, struct wl_arena *a)
{
    double time_s = (double)(r->end_ns - r->start_ns) / WL_NS_PER_S;
    wl_eprint("wattlaw measure\n  time         ");
    wl_fprint_in(WL_STDERR, WL_ANSWER, "%s", wl_human_time(a, time_s));
    if (r->error) wl_fprint_in(WL_STDERR, WL_BAD, ", %s", r->error);
    wl_eprint("\n");
    const bool job_first = wl_str_eq(attribute, "job");
    if (job_first) print_job_energy(r, true, a);
    print_energies(r, a);
    if (!job_first) print_job_energy(r, false, a);
    print_footprint(r, f, a);
    const struct wl_amount energy = wl_totals_energy(r, NAN);
    if (limits) wl_stop_at_print(limits, &energy, a);
    print_utilisation(r, a);
    print_unused(r, a);
    print_throttling(r, a);
    const char *cooled = wl_format_cooldown(&r->cooldown, a);
    if (*cooled) wl_eprint("  cooldown     %s\n", cooled);
    const char *slurm = wl_format_slurm_energy(&r->slurm, a);
    if (*slurm) wl_eprint("  slurm        %s\n", slurm);
    print_caps(r, a);
    for (size_t i = 0; i < r->notes.n; i++) wl_eprint("  note         %s\n", r->notes.v[i]);
    if (r->flag) print_caution("flagged", r->flag);
    if (r->derived.load && r->derived.load->busy) print_caution("busy machine", r->derived.load->busy);
    print_epochs(r, run, a);
    print_spans(r, a);
    for (size_t i = 0; i < r->gaps.n; i++) wl_eprint("  gap          %s\n", r->gaps.v[i]);
    const struct wl_sampler_stats *s = &r->sampling;
    wl_eprint("  measuring    %s CPU time", wl_human_time(a, r->own_cpu_s));
    if (time_s >= WL_OVERHEAD_MIN_TIME_S) wl_eprint(" (%.2g %% of a core)", 100 * r->own_cpu_s / time_s);
    const struct wl_amount own = wl_totals_overhead(r);
    if (!isnan(own.value)) wl_eprint(", about %s of CPU energy by its share of CPU time", wl_amount_text(&own, a));
    wl_eprint(", %llu samples", (unsigned long long)s->samples);
    if (s->achieved_period_s > 0) wl_eprint(" every %s", wl_human_time(a, s->achieved_period_s));
    if (!isnan(r->sampler_cpu)) wl_eprint(" on CPU %.0f", r->sampler_cpu);
    print_update_period(r, a);
    if (s->skipped + s->lost + s->errors)
        wl_eprint("; %llu skipped, %llu lost, %llu failed", (unsigned long long)s->skipped, (unsigned long long)s->lost,
                  (unsigned long long)s->errors);
    wl_eprint("\n  stored       run %lld in %s\n", (long long)run, store);
}

#include "cmd/measure_summary.h"

#include "cmd/stores.h"
#include "cmd/words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const double J_PER_KWH = 3.6e6;

static bool whole_run(double epoch) { return isnan(epoch); }

static const struct wl_channel *channel_of(const struct wl_run_result *r, int64_t id)
{
    for (size_t i = 0; i < r->sensors->n_channels; i++)
        if (r->channel_ids[i] == id) return &r->sensors->channels[i];
    return NULL;
}

/* One line a scope and method: devices of a scope do not overlap. */
struct scope_sum {
    const char *scope, *method;
    double energy_j, lo_j, hi_j, mean_w, idle_j;
    bool estimated, simulated, chosen;
};

static size_t sum_scopes(const struct wl_run_result *r, struct scope_sum *out)
{
    size_t n = 0;
    for (size_t i = 0; i < r->derived.n_energies; i++) {
        const struct wl_energy_row *row = &r->derived.energies[i];
        if (!whole_run(row->epoch)) continue;
        size_t k = 0;
        while (k < n && !(wl_streq(out[k].scope, row->scope) && wl_streq(out[k].method, row->method))) k++;
        if (k == n) out[n++] = (struct scope_sum) { .scope = row->scope, .method = row->method };
        out[k].energy_j += row->energy_j;
        out[k].lo_j += row->energy_lo_j;
        out[k].hi_j += row->energy_hi_j;
        out[k].idle_j += row->idle_j;
        out[k].mean_w += row->mean_power_w;
        out[k].estimated |= row->estimated;
        out[k].simulated |= row->simulated;
        out[k].chosen |= row->chosen;
    }
    return n;
}

static const char *mark_of(bool is_estimated, bool is_simulated)
{
    if (is_simulated) return " (simulated)";
    return is_estimated ? " (estimated)" : "";
}

/* The entry of a scope to print: the one that counts, else the one that is known. */
static const struct scope_sum *best_of(const struct scope_sum *sums, size_t n, const char *scope)
{
    const struct scope_sum *best = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!wl_streq(sums[i].scope, scope)) continue;
        if (!best || (sums[i].chosen && !best->chosen) || (isnan(best->energy_j) && !best->chosen)) best = &sums[i];
    }
    return best;
}

/* A second method is a check of the first one where something was measured; of a model both are one thing. */
static void print_check(const struct scope_sum *sums, size_t n, const struct scope_sum *best, struct wl_arena *a)
{
    for (size_t i = 0; i < n; i++) {
        const struct scope_sum *other = &sums[i];
        if (!wl_streq(other->scope, best->scope) || other == best || best->estimated || isnan(other->energy_j))
            continue;
        bool counted = wl_streq(best->method, "counter");
        fprintf(stderr, "; %s by %s%s", wl_human(a, other->energy_j, "J"), other->method,
                wl_words_ratio(counted ? best->energy_j : other->energy_j, counted ? other->energy_j : best->energy_j,
                               a));
    }
}

/* The rest before and behind the command is summed over the devices of the scope. */
static void print_above_idle(const struct wl_run_result *r, const struct scope_sum *sum, struct wl_arena *a)
{
    double before_w = 0, after_w = 0;
    for (size_t i = 0; i < r->derived.n_energies; i++) {
        const struct wl_energy_row *row = &r->derived.energies[i];
        if (!whole_run(row->epoch) || !wl_streq(row->scope, sum->scope) || !wl_streq(row->method, sum->method))
            continue;
        before_w += row->idle_before_w;
        after_w += row->idle_after_w;
    }
    fprintf(stderr, "  above idle   %s%s: at rest %s before and %s behind the command\n",
            wl_human(a, sum->energy_j - sum->idle_j, "J"), mark_of(sum->estimated, sum->simulated),
            isnan(before_w) ? "unknown" : wl_human(a, before_w, "W"),
            isnan(after_w) ? "unknown" : wl_human(a, after_w, "W"));
}

/* One line a scope. */
static void print_energies(const struct wl_run_result *r, struct wl_arena *a)
{
    struct scope_sum *sums = wl_new_array(a, struct scope_sum, r->derived.n_energies);
    size_t n = sum_scopes(r, sums);
    if (n == 0) fputs("  energy       not measured: wattlaw doctor says why\n", stderr);
    for (size_t i = 0; i < n; i++) {
        const struct scope_sum *best = best_of(sums, n, sums[i].scope);
        bool said = false;
        for (size_t k = 0; k < i; k++) said = said || wl_streq(sums[k].scope, best->scope);
        if (said || (isnan(best->energy_j) && !best->chosen)) continue;
        if (isnan(best->energy_j)) {
            fprintf(stderr, "  energy       unknown, %s: the run was too short to integrate\n", best->scope);
            continue;
        }
        fprintf(stderr, "  energy       %s%s, mean %s, %s", wl_human(a, best->energy_j, "J"),
                wl_words_energy_range(best->lo_j, best->hi_j, a), wl_human(a, best->mean_w, "W"), best->scope);
        if (!best->estimated) fprintf(stderr, " by %s", best->method);
        fputs(mark_of(best->estimated, best->simulated), stderr);
        print_check(sums, n, best, a);
        fputc('\n', stderr);
        if (!isnan(best->idle_j)) print_above_idle(r, best, a);
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
        const struct wl_channel *c = channel_of(r, row->channel);
        if (!c || !whole_run(row->epoch) || isnan(row->mean)) continue;
        for (size_t k = 0; k < WL_COUNT(shown); k++) {
            if (c->quantity != shown[k].quantity || (c->quantity == WL_RSS && isnan(row->max))) continue;
            if (c->quantity == WL_RSS)
                fprintf(stderr, "  %-12s at most %s\n", shown[k].what, wl_human_bytes(a, row->max));
            else if (c->scope == WL_SCOPE_NODE)
                fprintf(stderr, "  %-12s %.1f %% of the machine\n", shown[k].what, row->mean);
            else
                fprintf(stderr, "  %-12s %.1f %% (%s)\n", shown[k].what, row->mean,
                        r->sensors->devices[c->device].name);
        }
    }
}

/* The energy of an epoch over the chosen devices; NAN where it is not known. */
static double epoch_energy(const struct wl_run_result *r, int64_t epoch)
{
    double sum = 0;
    bool any = false;
    for (size_t i = 0; i < r->derived.n_energies; i++) {
        const struct wl_energy_row *row = &r->derived.energies[i];
        if (!row->chosen || row->epoch != (double)epoch) continue;
        sum += row->energy_j;
        any = true;
    }
    return any ? sum : NAN;
}

static void print_epochs(const struct wl_run_result *r, struct wl_arena *a)
{
    enum { SHOWN = 20 };
    size_t n = r->derived.n_epochs, from = n > SHOWN ? n - SHOWN : 0;
    for (size_t i = from; i < n; i++) {
        const struct wl_epoch_row *row = &r->derived.epochs[i];
        double energy_j = epoch_energy(r, row->epoch);
        fprintf(stderr, "  epoch %-6lld %s", (long long)row->epoch, wl_human_time(a, row->time_s));
        if (!isnan(energy_j)) fprintf(stderr, ", %s", wl_human(a, energy_j, "J"));
        if (row->samples > 0 && row->time_s > 0) fprintf(stderr, ", %.1f samples/s", row->samples / row->time_s);
        fputs("\n", stderr);
    }
    if (r->broken_marks) fprintf(stderr, "  marks        %lld broken lines left out\n", (long long)r->broken_marks);
}

/* Mean over GPUs of the share of the run in which something held the clock down, %; NAN: not told. */
static double held_pct(const struct wl_run_result *r, enum wl_quantity q)
{
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < r->derived.n_stats; i++) {
        const struct wl_stat_row *row = &r->derived.stats[i];
        const struct wl_channel *c = channel_of(r, row->channel);
        if (!c || c->quantity != q || !whole_run(row->epoch)) continue;
        sum += 100 * row->mean;
        n++;
    }
    return n > 0 ? sum / (double)n : NAN;
}

static void print_held(const struct wl_run_result *r, struct wl_arena *a)
{
    double power_pct = held_pct(r, WL_POWER_CAPPED), thermal_pct = held_pct(r, WL_THERMAL_CAPPED);
    if (!isnan(power_pct)) fprintf(stderr, "  held down    %s\n", wl_words_held(power_pct, thermal_pct, a));
}

/* The slowest of the power sensors; NULL: of none it is known how often it moves. */
static const struct wl_channel *slowest_power(const struct wl_run_result *r)
{
    const struct wl_channel *slowest = NULL;
    for (size_t i = 0; i < r->sensors->n_channels; i++) {
        const struct wl_channel *c = &r->sensors->channels[i];
        if (c->quantity != WL_POWER || !(c->update_s > 0)) continue;
        if (!slowest || c->update_s > slowest->update_s) slowest = c;
    }
    return slowest;
}

static void print_habits(const struct wl_run_result *r, struct wl_arena *a)
{
    const struct wl_channel *c = slowest_power(r);
    if (!c) return;
    struct wl_gauge g = wl_gauge_of(&r->sensors->devices[c->device], c);
    const char *shows = wl_gauge_words(&g, c->calibration ? c->calibration->date : NULL, a);
    fprintf(stderr, ", power moves every %s%s%s", wl_human_time(a, c->update_s), shows ? " and " : "",
            shows ? shows : "");
}

static void print_caps(const struct wl_run_result *r, struct wl_arena *a)
{
    for (size_t i = 0; i < r->n_caps; i++) {
        fprintf(stderr, "  cap          %s\n", wl_cap_describe(&r->caps[i], a));
        if (r->achieved && r->achieved[i]) fprintf(stderr, "  achieved     %s\n", r->achieved[i]);
    }
}

/* Of shorter runs most of the cost is opening sensors and the store, which is no share of anything. */
static const double SHARE_FROM_S = 1;

/* Busy time of all CPUs of the machine, s; NAN: not read. */
static double busy_cpu_s(const struct wl_run_result *r, double time_s)
{
    for (size_t i = 0; i < r->derived.n_stats; i++) {
        const struct wl_stat_row *row = &r->derived.stats[i];
        const struct wl_channel *c = channel_of(r, row->channel);
        if (c && whole_run(row->epoch) && c->quantity == WL_CPU_UTIL && c->scope == WL_SCOPE_NODE)
            return row->mean / 100 * (double)sysconf(_SC_NPROCESSORS_ONLN) * time_s;
    }
    return NAN;
}

/* What measuring took of the CPUs' energy, by its share of their busy time: an estimate; NAN: theirs did not count, or
 * the run is too short. */
static double own_energy_j(const struct wl_run_result *r)
{
    double time_s = (double)(r->end_ns - r->start_ns) / WL_NS_PER_S, cpus_j = NAN;
    for (size_t i = 0; i < r->derived.n_energies; i++) {
        const struct wl_energy_row *row = &r->derived.energies[i];
        bool cpus =
            wl_streq(row->scope, wl_scope_name(WL_SCOPE_PACKAGE)) || wl_streq(row->scope, wl_scope_name(WL_SCOPE_DRAM));
        if (row->chosen && whole_run(row->epoch) && cpus) cpus_j = (isnan(cpus_j) ? 0 : cpus_j) + row->energy_j;
    }
    double share = r->own_cpu_s / busy_cpu_s(r, time_s);
    return time_s >= SHARE_FROM_S && share <= 1 ? share * cpus_j : NAN;
}

/* Of the devices that count, in kWh, and its marks. */
static double chosen_kwh(const struct wl_run_result *r, const char **marks)
{
    double sum_j = 0;
    bool any = false, estimated = false, simulated = false;
    for (size_t i = 0; i < r->derived.n_energies; i++) {
        const struct wl_energy_row *row = &r->derived.energies[i];
        if (!row->chosen || !whole_run(row->epoch)) continue;
        any = true;
        sum_j += row->energy_j;
        estimated |= row->estimated;
        simulated |= row->simulated;
    }
    *marks = mark_of(estimated, simulated);
    return any ? sum_j / J_PER_KWH : NAN;
}

static void print_footprint(const struct wl_run_result *r, const struct wl_footprint *f, struct wl_arena *a)
{
    const char *marks;
    double kwh = chosen_kwh(r, &marks);
    if (!isnan(kwh)) wl_footprint_print(f, kwh, marks, 12, stderr, a);
}

void wl_measure_print(const struct wl_run_result *r, int64_t run, const char *store, const struct wl_footprint *f,
                      struct wl_arena *a)
{
    double time_s = (double)(r->end_ns - r->start_ns) / WL_NS_PER_S;
    fprintf(stderr, "wattlaw measure\n  time         %s%s%s\n", wl_human_time(a, time_s), r->error ? ", " : "",
            r->error ? r->error : "");
    print_energies(r, a);
    print_footprint(r, f, a);
    print_utilisation(r, a);
    print_held(r, a);
    const char *cooled = wl_words_cooldown(&r->cooldown, a);
    if (*cooled) fprintf(stderr, "  cooled       %s\n", cooled);
    const char *slurm = wl_words_slurm(&r->slurm, a);
    if (*slurm) fprintf(stderr, "  slurm        %s\n", slurm);
    print_caps(r, a);
    for (size_t i = 0; i < r->notes.n; i++) fprintf(stderr, "  note         %s\n", r->notes.v[i]);
    if (r->flag) fprintf(stderr, "  flagged      %s\n", r->flag);
    print_epochs(r, a);
    for (size_t i = 0; i < r->gaps.n; i++) fprintf(stderr, "  gap          %s\n", r->gaps.v[i]);
    const struct wl_sampler_stats *s = &r->sampling;
    fprintf(stderr, "  measuring    %s CPU time", wl_human_time(a, r->own_cpu_s));
    if (time_s >= SHARE_FROM_S) fprintf(stderr, " (%.2g %% of a core)", 100 * r->own_cpu_s / time_s);
    double own_j = own_energy_j(r);
    if (!isnan(own_j)) fprintf(stderr, ", about %s by its share of the CPUs' time", wl_human(a, own_j, "J"));
    fprintf(stderr, ", %llu samples", (unsigned long long)s->samples);
    if (s->achieved_period_s > 0) fprintf(stderr, " every %s", wl_human_time(a, s->achieved_period_s));
    if (!isnan(r->sampler_cpu)) fprintf(stderr, " on CPU %.0f", r->sampler_cpu);
    print_habits(r, a);
    if (s->skipped + s->lost + s->errors)
        fprintf(stderr, "; %llu skipped, %llu lost, %llu failed", (unsigned long long)s->skipped,
                (unsigned long long)s->lost, (unsigned long long)s->errors);
    fprintf(stderr, "\n  stored       run %lld in %s\n", (long long)run, store);
}

static void json_energies(const struct wl_run_result *r, struct wl_json *root, struct wl_arena *a)
{
    struct scope_sum *sums = wl_new_array(a, struct scope_sum, r->derived.n_energies);
    size_t n = sum_scopes(r, sums);
    struct wl_json *list = wl_json_add_array(root, "energies");
    for (size_t i = 0; i < n; i++) {
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "scope", sums[i].scope);
        wl_json_add_str(o, "method", sums[i].method);
        wl_json_add_real(o, "energy_j", sums[i].energy_j);
        wl_json_add_real(o, "energy_lo_j", sums[i].lo_j);
        wl_json_add_real(o, "energy_hi_j", sums[i].hi_j);
        wl_json_add_real(o, "idle_j", sums[i].idle_j);
        wl_json_add_real(o, "mean_power_w", sums[i].mean_w);
        wl_json_add_bool(o, "estimated", sums[i].estimated);
        wl_json_add_bool(o, "simulated", sums[i].simulated);
        wl_json_add_bool(o, "chosen", sums[i].chosen);
    }
}

static void json_stats(const struct wl_run_result *r, struct wl_json *root)
{
    struct wl_json *list = wl_json_add_array(root, "means");
    for (size_t i = 0; i < r->derived.n_stats; i++) {
        const struct wl_stat_row *row = &r->derived.stats[i];
        const struct wl_channel *c = channel_of(r, row->channel);
        if (!c || !whole_run(row->epoch)) continue;
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "device", r->sensors->devices[c->device].uuid);
        wl_json_add_str(o, "quantity", wl_quantity_name(c->quantity));
        wl_json_add_str(o, "scope", wl_scope_name(c->scope));
        wl_json_add_real(o, "mean", row->mean);
        wl_json_add_real(o, "min", row->min);
        wl_json_add_real(o, "max", row->max);
    }
}

static void json_held(const struct wl_run_result *r, struct wl_json *root)
{
    wl_json_add_real(root, "power_capped_pct", held_pct(r, WL_POWER_CAPPED));
    wl_json_add_real(root, "thermal_capped_pct", held_pct(r, WL_THERMAL_CAPPED));
    struct wl_json *list = wl_json_add_array(root, "notes");
    for (size_t i = 0; i < r->notes.n; i++) wl_json_add_str(list, NULL, r->notes.v[i]);
}

static void json_caps(const struct wl_run_result *r, struct wl_json *root)
{
    struct wl_json *list = wl_json_add_array(root, "caps");
    for (size_t i = 0; i < r->n_caps; i++) {
        const struct wl_cap_setting *s = &r->caps[i];
        struct wl_json *o = wl_json_add_object(list, NULL);
        wl_json_add_str(o, "device", s->device);
        wl_json_add_str(o, "kind", wl_cap_kind_name(s->kind));
        wl_json_add_str(o, "setter", s->setter);
        wl_json_add_real(o, "requested", s->requested);
        wl_json_add_real(o, "found", s->found);
        wl_json_add_real(o, "enforced", s->enforced);
        wl_json_add_real(o, "at_end", s->at_end);
        wl_json_add_real(o, "min", s->range.min);
        wl_json_add_real(o, "max", s->range.max);
        wl_json_add_real(o, "default", s->standard);
        wl_json_add_bool(o, "simulated", s->simulated);
    }
    wl_json_add_str(root, "flag", r->flag);
    wl_cmd_cooldown_json(&r->cooldown, root);
    wl_cmd_slurm_json(&r->slurm, root);
}

int wl_measure_json(const char *path, const struct wl_run_result *r, int64_t run, const char *store,
                    const struct wl_footprint *f, const struct wl_rule_checks *rules, struct wl_arena *a,
                    struct wl_err *e)
{
    struct wl_json *root = wl_json_root_object(a);
    wl_json_add_str(root, "store", store);
    wl_json_add_int(root, "run", run);
    wl_json_add_str(root, "status", wl_run_status_names[r->status]);
    wl_json_add_int(root, "exit_status", r->exit.status);
    wl_json_add_real(root, "time_s", (double)(r->end_ns - r->start_ns) / WL_NS_PER_S);
    json_energies(r, root, a);
    const char *marks;
    struct wl_json *footprint = wl_json_add_object(root, "footprint");
    wl_footprint_json(f, footprint);
    wl_footprint_energy_json(f, chosen_kwh(r, &marks), footprint);
    if (rules) wl_rules_json(rules, wl_json_add_object(root, "rules"));
    json_stats(r, root);
    json_held(r, root);
    json_caps(r, root);
    struct wl_json *epochs = wl_json_add_array(root, "epochs");
    for (size_t i = 0; i < r->derived.n_epochs; i++) {
        const struct wl_epoch_row *row = &r->derived.epochs[i];
        struct wl_json *o = wl_json_add_object(epochs, NULL);
        wl_json_add_int(o, "epoch", row->epoch);
        wl_json_add_real(o, "time_s", row->time_s);
        wl_json_add_real(o, "energy_j", epoch_energy(r, row->epoch));
        wl_json_add_real(o, "samples", row->samples);
    }
    wl_json_add_real(root, "sampling_period_s", r->sampling.achieved_period_s);
    const struct wl_channel *slowest = slowest_power(r);
    wl_json_add_real(root, "power_update_s", slowest ? slowest->update_s : NAN);
    wl_json_add_str(root, "power_calibrated", slowest && slowest->calibration ? slowest->calibration->date : NULL);
    wl_json_add_real(root, "own_cpu_s", r->own_cpu_s);
    wl_json_add_real(root, "own_energy_j", own_energy_j(r));
    wl_json_add_number(root, "sampler_cpu", r->sampler_cpu);
    const char *text = wl_json_text(root, 2, a);
    if (!wl_streq(path, "-")) return wl_file_write(path, wl_strf(a, "%s\n", text), strlen(text) + 1, e);
    fprintf(stderr, "%s\n", text);
    return 0;
}

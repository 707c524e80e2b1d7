#include "cmd/wattlaw/totals.h"

#include <math.h>
#include <unistd.h>

const struct wl_channel *wl_totals_channel(const struct wl_run_result *r, int64_t id)
{
    for (size_t i = 0; i < r->sensors->n_channels; i++)
        if (r->channel_ids[i] == id) return &r->sensors->channels[i];
    return NULL;
}

static void add_row(struct wl_scope_total *to, const struct wl_energy_row *row)
{
    const enum wl_provenance from = wl_provenance_of(row->estimated, row->simulated);
    const struct wl_amount energy = wl_amount_between(row->energy_j, row->energy_lo_j, row->energy_hi_j, "J", from),
                           mean = wl_amount_of(row->mean_power_w, "W", from),
                           idle = wl_amount_of(row->idle_j, "J", from);
    wl_amount_add(&to->energy, &energy);
    wl_amount_add(&to->mean, &mean);
    wl_amount_add(&to->idle, &idle);
    to->chosen |= row->chosen;
    to->devices++;
    if (!to->why && isnan(row->energy_j)) to->why = row->why;
}

static struct wl_scope_total *sum_of(struct wl_scope_total *sums, size_t *n, const char *scope, const char *method)
{
    for (size_t i = 0; i < *n; i++)
        if (wl_str_eq(sums[i].scope, scope) && wl_str_eq(sums[i].method, method)) return &sums[i];
    struct wl_scope_total *sum = &sums[(*n)++];
    *sum = (struct wl_scope_total) { .scope = scope, .method = method };
    sum->energy.unit = sum->idle.unit = "J";
    sum->mean.unit = "W";
    return sum;
}

/* True if the chosen rows of a scope have different methods. */
static bool is_mixed(const struct wl_run_result *r, const char *scope)
{
    const char *method = NULL;
    for (size_t i = 0; i < r->derived.n_energies; i++) {
        const struct wl_energy_row *row = &r->derived.energies[i];
        if (!row->chosen || !wl_totals_is_whole_run(row->epoch) || !wl_str_eq(row->scope, scope)) continue;
        if (method && !wl_str_eq(row->method, method)) return true;
        method = row->method;
    }
    return false;
}

size_t wl_totals_by_scope(const struct wl_run_result *r, struct wl_scope_total *out)
{
    size_t n = 0;
    for (size_t i = 0; i < r->derived.n_energies; i++) {
        const struct wl_energy_row *row = &r->derived.energies[i];
        if (!wl_totals_is_whole_run(row->epoch)) continue;
        add_row(sum_of(out, &n, row->scope, row->method), row);
        if (row->chosen && is_mixed(r, row->scope)) add_row(sum_of(out, &n, row->scope, "mixed"), row);
    }
    for (size_t i = 0; i < n; i++)
        if (is_mixed(r, out[i].scope)) out[i].chosen = wl_str_eq(out[i].method, "mixed");
    return n;
}

/* True for a row of this epoch (NAN: of the run). */
static bool is_of(const struct wl_energy_row *row, double epoch)
{
    return wl_totals_is_whole_run(epoch) ? wl_totals_is_whole_run(row->epoch) : row->epoch == epoch;
}

const char *wl_totals_why_missing(const struct wl_run_result *r, double epoch)
{
    for (size_t i = 0; i < r->derived.n_energies; i++) {
        const struct wl_energy_row *row = &r->derived.energies[i];
        if (row->chosen && is_of(row, epoch) && isnan(row->energy_j)) return row->why;
    }
    return NULL;
}

struct wl_amount wl_totals_energy(const struct wl_run_result *r, double epoch)
{
    struct wl_amount sum = { .unit = "J" };
    bool any = false;
    for (size_t i = 0; i < r->derived.n_energies; i++) {
        const struct wl_energy_row *row = &r->derived.energies[i];
        if (!row->chosen || !is_of(row, epoch)) continue;
        const struct wl_amount part = wl_amount_between(row->energy_j, row->energy_lo_j, row->energy_hi_j, "J",
                                                        wl_provenance_of(row->estimated, row->simulated));
        wl_amount_add(&sum, &part);
        any = true;
    }
    return any ? sum : wl_amount_of(NAN, "J", WL_MEASURED);
}

double wl_totals_throttled_pct(const struct wl_run_result *r, enum wl_quantity q)
{
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < r->derived.n_stats; i++) {
        const struct wl_stat_row *row = &r->derived.stats[i];
        const struct wl_channel *c = wl_totals_channel(r, row->channel);
        if (!c || c->quantity != q || !wl_totals_is_whole_run(row->epoch)) continue;
        sum += 100 * row->mean;
        n++;
    }
    return n > 0 ? sum / (double)n : NAN;
}

const struct wl_channel *wl_totals_slowest_power(const struct wl_run_result *r)
{
    const struct wl_channel *slowest = NULL;
    for (size_t i = 0; i < r->sensors->n_channels; i++) {
        const struct wl_channel *c = &r->sensors->channels[i];
        if (c->quantity != WL_POWER || !(c->update_s > 0)) continue;
        if (!slowest || c->update_s > slowest->update_s) slowest = c;
    }
    return slowest;
}

/* Busy time of all CPUs of the machine, s; NAN: not read. */
static double busy_cpu_s(const struct wl_run_result *r, double time_s)
{
    for (size_t i = 0; i < r->derived.n_stats; i++) {
        const struct wl_stat_row *row = &r->derived.stats[i];
        const struct wl_channel *c = wl_totals_channel(r, row->channel);
        if (c && wl_totals_is_whole_run(row->epoch) && c->quantity == WL_CPU_UTIL && c->scope == WL_SCOPE_NODE)
            return row->mean / 100 * (double)sysconf(_SC_NPROCESSORS_ONLN) * time_s;
    }
    return NAN;
}

struct wl_amount wl_totals_overhead(const struct wl_run_result *r)
{
    double time_s = (double)(r->end_ns - r->start_ns) / WL_NS_PER_S, cpus_j = NAN;
    enum wl_provenance from = WL_ESTIMATED;
    for (size_t i = 0; i < r->derived.n_energies; i++) {
        const struct wl_energy_row *row = &r->derived.energies[i];
        bool cpus = wl_str_eq(row->scope, wl_scope_name(WL_SCOPE_PACKAGE)) ||
                    wl_str_eq(row->scope, wl_scope_name(WL_SCOPE_DRAM));
        if (!row->chosen || !wl_totals_is_whole_run(row->epoch) || !cpus) continue;
        cpus_j = (isnan(cpus_j) ? 0 : cpus_j) + row->energy_j;
        from |= wl_provenance_of(row->estimated, row->simulated);
    }
    double share = r->own_cpu_s / busy_cpu_s(r, time_s);
    return wl_amount_of(time_s >= WL_OVERHEAD_MIN_TIME_S && share <= 1 ? share * cpus_j : NAN, "J", from);
}

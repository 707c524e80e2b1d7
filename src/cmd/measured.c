#include "cmd/measured.h"

#include <math.h>
#include <unistd.h>

const struct wl_channel *wl_measured_channel(const struct wl_run_result *r, int64_t id)
{
    for (size_t i = 0; i < r->sensors->n_channels; i++)
        if (r->channel_ids[i] == id) return &r->sensors->channels[i];
    return NULL;
}

size_t wl_measured_sums(const struct wl_run_result *r, struct wl_scope_sum *out)
{
    size_t n = 0;
    for (size_t i = 0; i < r->derived.n_energies; i++) {
        const struct wl_energy_row *row = &r->derived.energies[i];
        if (!wl_measured_whole(row->epoch)) continue;
        size_t k = 0;
        while (k < n && !(wl_streq(out[k].scope, row->scope) && wl_streq(out[k].method, row->method))) k++;
        if (k == n) out[n++] = (struct wl_scope_sum) { .scope = row->scope, .method = row->method };
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

const char *wl_measured_mark(bool is_estimated, bool is_simulated)
{
    if (is_simulated) return is_estimated ? " (estimated, simulated)" : " (simulated)";
    return is_estimated ? " (estimated)" : "";
}

double wl_measured_epoch_j(const struct wl_run_result *r, int64_t epoch)
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

double wl_measured_held_pct(const struct wl_run_result *r, enum wl_quantity q)
{
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < r->derived.n_stats; i++) {
        const struct wl_stat_row *row = &r->derived.stats[i];
        const struct wl_channel *c = wl_measured_channel(r, row->channel);
        if (!c || c->quantity != q || !wl_measured_whole(row->epoch)) continue;
        sum += 100 * row->mean;
        n++;
    }
    return n > 0 ? sum / (double)n : NAN;
}

const struct wl_channel *wl_measured_slowest_power(const struct wl_run_result *r)
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
        const struct wl_channel *c = wl_measured_channel(r, row->channel);
        if (c && wl_measured_whole(row->epoch) && c->quantity == WL_CPU_UTIL && c->scope == WL_SCOPE_NODE)
            return row->mean / 100 * (double)sysconf(_SC_NPROCESSORS_ONLN) * time_s;
    }
    return NAN;
}

double wl_measured_own_j(const struct wl_run_result *r)
{
    double time_s = (double)(r->end_ns - r->start_ns) / WL_NS_PER_S, cpus_j = NAN;
    for (size_t i = 0; i < r->derived.n_energies; i++) {
        const struct wl_energy_row *row = &r->derived.energies[i];
        bool cpus =
            wl_streq(row->scope, wl_scope_name(WL_SCOPE_PACKAGE)) || wl_streq(row->scope, wl_scope_name(WL_SCOPE_DRAM));
        if (row->chosen && wl_measured_whole(row->epoch) && cpus) cpus_j = (isnan(cpus_j) ? 0 : cpus_j) + row->energy_j;
    }
    double share = r->own_cpu_s / busy_cpu_s(r, time_s);
    return time_s >= WL_MEASURED_SHARE_FROM_S && share <= 1 ? share * cpus_j : NAN;
}

double wl_measured_j(const struct wl_run_result *r, const char **mark)
{
    double sum_j = 0;
    bool any = false, estimated = false, simulated = false;
    for (size_t i = 0; i < r->derived.n_energies; i++) {
        const struct wl_energy_row *row = &r->derived.energies[i];
        if (!row->chosen || !wl_measured_whole(row->epoch)) continue;
        any = true;
        sum_j += row->energy_j;
        estimated |= row->estimated;
        simulated |= row->simulated;
    }
    *mark = wl_measured_mark(estimated, simulated);
    return any ? sum_j : NAN;
}
